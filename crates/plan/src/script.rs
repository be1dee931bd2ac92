//! A script of a plan: its text and its limits. What it does is the crate `script`'s.

use serde::{Deserialize, Serialize};

use crate::kept::Kept;

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
