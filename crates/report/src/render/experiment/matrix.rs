//! What the READMEs of matrices have in common, of servers and of client libraries: what was measured,
//! when, on what, and how to go on.

use super::super::lines::{Lines, code, escaped};
use crate::experiment::matrix::Heading;
use crate::render::words;

/// The title, and what the suite is about.
pub(super) fn title(title: &str, heading: &Heading) -> Lines {
    let mut out = Lines::default();
    out.heading(1, format!("{title}: {}", escaped(&heading.name)));
    if !heading.about.is_empty() {
        out.line(escaped(&heading.about));
        out.blank();
    }
    out
}

/// By which command it was measured, of which file, and on which day.
pub(super) fn captured(out: &mut Lines, command: &str, heading: &Heading) {
    let started = heading.started_at.split('T').next().unwrap_or_default();
    let on = if started.is_empty() { String::new() } else { format!(" on {}", escaped(started)) };
    out.line(format!(
        "Captured by {} {} from {}{on}.",
        code(command),
        escaped(&heading.tool.version),
        code(&heading.file)
    ));
    out.blank();
}

/// Said of a matrix of which trials are missing.
pub(super) fn not_complete(out: &mut Lines, (made, all): (u64, u64)) {
    out.line(format!(
        "> **Not complete.** {made} of {all} trials are there; the command below goes on where it was \
         interrupted."
    ));
    out.blank();
}

/// The machine, and who has which of its cores.
pub(super) fn hardware(out: &mut Lines, heading: &Heading) {
    let Heading { host, cores: split, .. } = heading;
    out.fixed("**Hardware / runtime**\n\n");
    let cores = host.cores.map(|n| format!(" ({n} cores)")).unwrap_or_default();
    let cpu = host.cpu.as_deref().unwrap_or("unknown");
    out.line(format!("- CPU: {}{cores}", escaped(cpu)));
    for (name, value) in [
        ("Kernel", &host.kernel),
        ("Virtualisation", &host.virtualisation),
        ("CPU governor", &host.governor),
    ] {
        if let Some(value) = value {
            out.line(format!("- {name}: {}", escaped(value)));
        }
    }
    if !split.is_empty() {
        out.line(format!("- Cores: {}", escaped(split)));
    }
}

/// The command that measures it again.
pub(super) fn again(out: &mut Lines, heading: &Heading) {
    let mut command = Lines::default();
    command.line(heading.arguments.join(" "));
    out.line("Run it again with:");
    out.blank();
    out.code(command);
    out.blank();
    if let Some(note) = words::left_out(&heading.arguments) {
        out.line(note);
        out.blank();
    }
}
