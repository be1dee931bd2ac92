//! `candor man`: manual pages, generated from the definition of the command line, so that they cannot
//! disagree with it.
//!
//! Packages install the output of `--dir`. The pages contain no date and no path: equal sources give
//! equal bytes.

use std::path::PathBuf;
use std::process::ExitCode;

use candor_files::{create_directory, write_atomically};
use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::console;
use crate::exit::{Exit, UserError};

pub(crate) const EXAMPLES: &str = "\
Examples:
  candor man run | man -l -
      Read the page of `candor run` in the pager.
  candor man --dir ~/.local/share/man/man1
      Write all pages where `man candor-run` finds them.";

/// The section of the manual.
const SECTION: &str = "1";
/// Commands whose help is a fixed text, because their options are not clap's.
const VERBATIM: [&str; 3] = ["wrk", "h2load", "ghz"];

#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// Print the page of this command [default: the page of candor itself]
    #[arg(value_name = "COMMAND", conflicts_with = "dir")]
    command: Option<String>,
    /// Write all pages to this directory: candor.1, candor-run.1 and so on
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(crate) fn man(arguments: &ManArguments, candor: Command) -> Result<ExitCode, UserError> {
    let pages = pages(candor);
    if let Some(dir) = &arguments.dir {
        let cannot_write = |error: &dyn std::fmt::Display| {
            UserError::could_not_run(format!("cannot write pages to {}: {error}", dir.display()))
        };
        create_directory(dir).map_err(|error| cannot_write(&error))?;
        for (name, page) in &pages {
            let path = dir.join(format!("{name}.{SECTION}"));
            write_atomically(&path, page.as_bytes()).map_err(|error| cannot_write(&error))?;
        }
        return Ok(Exit::Fine.into());
    }
    let wanted = match arguments.command.as_deref() {
        None | Some("candor") => "candor".to_owned(),
        Some(command) => format!("candor-{}", command.trim_start_matches("candor-")),
    };
    let Some((_, page)) = pages.iter().find(|(name, _)| *name == wanted) else {
        let names: Vec<_> =
            pages.iter().filter_map(|(name, _)| name.strip_prefix("candor-")).collect();
        return Err(UserError::usage(format!(
            "unknown command {:?}; the commands are {}",
            arguments.command.as_deref().unwrap_or_default(),
            names.join(", ")
        )));
    };
    console::print(page)?;
    Ok(Exit::Fine.into())
}

/// Names and pages, the page of `candor` itself first.
pub(crate) fn pages(candor: Command) -> Vec<(String, String)> {
    let without_help = |command: Command| command.disable_help_subcommand(true);
    let mut candor = without_help(candor).mut_subcommands(without_help);
    candor.build();
    let commands: Vec<_> =
        candor.get_subcommands().filter(|command| !command.is_hide_set()).collect();
    let names: Vec<String> = commands.iter().map(|command| name(command)).collect();
    let mut pages = vec![("candor".to_owned(), page(&candor, &names))];
    let beside = ["candor".to_owned()];
    for command in commands {
        pages.push((name(command), page(command, &beside)));
        let above = [name(command)];
        let below = command.get_subcommands().filter(|one| !one.is_hide_set());
        pages.extend(below.map(|one| (name(one), page(one, &above))));
    }
    pages
}

/// `candor-run`.
fn name(command: &Command) -> String {
    command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned()
}

fn page(command: &Command, see_also: &[String]) -> String {
    let mut command = command.clone();
    let usage = command.render_usage().to_string();
    command = command.override_usage(usage.trim_start_matches("Usage: ").to_owned());
    let help = command.render_long_help().to_string();
    let is_verbatim = VERBATIM.contains(&command.get_name());
    let after = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    let is_candor = command.has_subcommands();
    let version = format!("candor {}", env!("CARGO_PKG_VERSION"));
    // With an empty date, the version would move to its place.
    let man = Man::new(command).section(SECTION).date(" ").source(version).manual("Candor");

    let mut page = Vec::new();
    let written = man
        .render_title(&mut page)
        .and_then(|()| man.render_name_section(&mut page))
        .and_then(|()| match is_verbatim {
            true => verbatim("DESCRIPTION", &help).to_writer(&mut page),
            false => man
                .render_synopsis_section(&mut page)
                .and_then(|()| man.render_description_section(&mut page))
                .and_then(|()| match is_candor {
                    true => man.render_subcommands_section(&mut page),
                    false => Ok(()),
                })
                .and_then(|()| man.render_options_section(&mut page))
                .and_then(|()| footer(&after).to_writer(&mut page)),
        })
        .and_then(|()| references(see_also).to_writer(&mut page));
    written.expect("memory can be written to");
    String::from_utf8(page).expect("pages are made of strings")
}

/// Text with its line breaks.
fn verbatim(heading: &str, text: &str) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", [heading]).control("nf", []);
    for line in text.trim_end().lines() {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
    roff
}

/// The text after the options in the help: examples and lists keep their line breaks, sentences are
/// refilled.
fn footer(text: &str) -> Roff {
    let mut roff = Roff::new();
    let mut in_notes = false;
    for paragraph in text.split("\n\n") {
        let (first, rest) = paragraph.split_once('\n').unwrap_or((paragraph, ""));
        if first.ends_with(':') && rest.starts_with(' ') {
            let heading = first.trim_end_matches(':').to_uppercase();
            roff.extend([verbatim(&heading, rest)]);
            in_notes = false;
        } else if let Some(codes) = paragraph.strip_prefix("Exit codes: ") {
            roff.control("SH", ["EXIT STATUS"]).text([roman(codes)]);
            in_notes = false;
        } else if !paragraph.is_empty() {
            match in_notes {
                true => roff.control("PP", []),
                false => roff.control("SH", ["NOTES"]),
            };
            roff.text([roman(paragraph)]);
            in_notes = true;
        }
    }
    roff
}

fn references(names: &[String]) -> Roff {
    let names: Vec<String> = names.iter().map(|name| format!("{name}({SECTION})")).collect();
    let mut roff = Roff::new();
    roff.control("SH", ["SEE ALSO"]).text([roman(names.join(", "))]);
    roff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_footer_becomes_sections() {
        let text = "Examples:\n  candor -c 5\n      Five.\n\nTimes take s\nand m.\n\nMore.\n\nExit codes: 0 fine";
        let roff = footer(text).to_roff();
        let sections: Vec<_> = roff.lines().filter(|line| line.starts_with(".SH")).collect();
        assert_eq!(sections, [".SH EXAMPLES", ".SH NOTES", ".SH \"EXIT STATUS\""]);
        assert!(roff.contains(".nf\n  candor \\-c 5\n      Five.\n.fi\n"), "{roff}");
        assert!(roff.contains(".PP\nMore."), "{roff}");
    }
}
