//! What the READMEs of matrices have in common, of servers and of client libraries: what was measured,
//! when, on what, and how to go on.

use std::fmt::Write as _;

use super::table::escaped;
use crate::experiment::matrix::Heading;
use crate::render::words;

/// The title, and what the suite is about.
pub(super) fn title(title: &str, heading: &Heading) -> String {
    let mut out = format!("# {title}: {}\n\n", heading.name);
    if !heading.about.is_empty() {
        let _ = write!(out, "{}\n\n", escaped(&heading.about));
    }
    out
}

/// By which command it was measured, of which file, and on which day.
pub(super) fn captured(out: &mut String, command: &str, heading: &Heading) {
    let started = heading.started_at.split('T').next().unwrap_or_default();
    let on = if started.is_empty() { String::new() } else { format!(" on {started}") };
    let _ = writeln!(
        out,
        "Captured by `{command}` {} from `{}`{on}.\n",
        heading.tool.version, heading.file
    );
}

/// Said of a matrix of which trials are missing.
pub(super) fn not_complete(out: &mut String, (made, all): (u64, u64)) {
    let _ = writeln!(
        out,
        "> **Not complete.** {made} of {all} trials are there; the command below goes on where it was \
         interrupted.\n"
    );
}

/// The machine, and who has which of its cores.
pub(super) fn hardware(out: &mut String, heading: &Heading) {
    let Heading { host, cores: split, .. } = heading;
    let _ = writeln!(out, "**Hardware / runtime**\n");
    let cores = host.cores.map(|n| format!(" ({n} cores)")).unwrap_or_default();
    let cpu = host.cpu.as_deref().unwrap_or("unknown");
    let _ = writeln!(out, "- CPU: {}{cores}", escaped(cpu));
    for (name, value) in [
        ("Kernel", &host.kernel),
        ("Virtualisation", &host.virtualisation),
        ("CPU governor", &host.governor),
    ] {
        if let Some(value) = value {
            let _ = writeln!(out, "- {name}: {}", escaped(value));
        }
    }
    if !split.is_empty() {
        let _ = writeln!(out, "- Cores: {}", escaped(split));
    }
}

/// The command that measures it again.
pub(super) fn again(out: &mut String, heading: &Heading) {
    let _ = writeln!(out, "Run it again with:\n\n```\n{}\n```\n", heading.arguments.join(" "));
    if let Some(note) = words::left_out(&heading.arguments) {
        let _ = writeln!(out, "{note}\n");
    }
}
