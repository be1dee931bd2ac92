//! The script of a plan, with its bounds.

use super::Files;
use crate::error::{PlanError, exclude};
use crate::options::Options;
use crate::units::NS_PER_S;
use crate::work::{Script, ScriptLimits};

/// No hook of a load test takes this long, unless it never returns.
const DEFAULT_CALL_NS: u64 = 10 * NS_PER_S;
/// Responses for scripts are seldom larger than a hundredth of this.
const BODY_BYTES: u64 = 16 << 20;
/// Memory of a sandbox: enough for a table of a million short strings.
const MEMORY_BYTES: u64 = 256 << 20;
/// Instructions of a sandboxed call: about a second.
const INSTRUCTIONS: u64 = 100_000_000;

pub(super) fn script(
    options: &Options,
    files: &mut Files<'_>,
) -> Result<Option<Script>, PlanError> {
    let Some(file) = &options.script.script else {
        let of_scripts = [
            ("--script-arg", !options.script.script_arg.is_empty()),
            ("--script-timeout", options.script.script_timeout.is_some()),
            ("--script-body-limit", options.script.script_body_limit.is_some()),
            ("--sandbox", options.script.sandbox),
        ];
        let why = "there is no script; add --script, or leave it out";
        return exclude(of_scripts, "a run without a script", why).map(|()| None);
    };
    Ok(Some(Script {
        path: file.display().to_string(),
        source: files.read("--script", file)?.into(),
        arguments: options.script.script_arg.clone(),
        sandbox: options.script.sandbox,
        limits: ScriptLimits {
            call_ns: options.script.script_timeout.map_or(DEFAULT_CALL_NS, |one| one.get()),
            body_bytes: options.script.script_body_limit.map_or(BODY_BYTES, |one| one.0),
            memory_bytes: MEMORY_BYTES,
            instructions: INSTRUCTIONS,
        },
    }))
}
