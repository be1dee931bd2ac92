//! A script of a plan: its text and its limits. What it does is the crate `script`'s.

use serde::{Deserialize, Serialize};

use super::{DataOrder, DataSet};
use crate::error::{PlanError, conflict, need, value};
use crate::kept::Kept;
use crate::load::Load;
use crate::redact::{REDACTED, Secrets};
use crate::units::is_time;

/// A Lua script with the hooks of wrk. It begins with the one request of its plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Script {
    /// Its file, as the user gave it, for messages.
    pub path: String,
    /// The content of the file.
    pub source: Kept<u8>,
    /// The arguments of `init`, from index 1 on.
    pub arguments: Vec<String>,
    /// The script is untrusted: no files, no processes, no native code, limits on memory and
    /// instructions.
    pub sandbox: bool,
    /// Its limits.
    pub limits: ScriptLimits,
}

/// The limits of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScriptLimits {
    /// Time for one call of one of its functions, above zero.
    pub call_ns: u64,
    /// The longest response body kept for the script.
    pub body_bytes: u64,
    /// Sandbox: memory of one thread's state.
    pub memory_bytes: u64,
    /// Sandbox: instructions of one call.
    pub instructions: u64,
}

impl Script {
    /// Whether it can be run, with these data sets, which it finds in `wrk.user`.
    pub(super) fn check(&self, data: &[DataSet], load: &Load) -> Result<(), PlanError> {
        need(is_time(self.limits.call_ns), "script.limits.call_ns", "is a time above zero")?;
        const OWN: [&str; 3] = ["index", "row", "state"];
        if let Some(set) = data.iter().find(|set| OWN.contains(&set.name.as_str())) {
            let name = &set.name;
            let problem = format!(
                "a data set of a script cannot be named {name:?}, because wrk.user.{name} is something else; give it another name"
            );
            return Err(value("--data", problem));
        }
        if !load.is_open() && data.iter().any(|set| set.order == DataOrder::Once) {
            let why = "in a closed load each connection is one user, who keeps its row; use another order, or add --rate";
            return Err(conflict("--script", "data in the order once", why));
        }
        Ok(())
    }

    /// Leaves out what may be secret.
    pub(super) fn redact(&mut self, secrets: Secrets) {
        self.source = self.source.redacted();
        if secrets == Secrets::Hidden {
            self.arguments.fill(REDACTED.to_owned());
        }
    }
}
