//! A remedy in the command at hand: one with flags that the command does not have is one of `candor run`, and says so.
//!
//! The remedies are `remedy.rs`'s, which knows no command line.

use crate::{arguments, remedy};

/// A remedy as it is for the command of these words.
pub(crate) fn to_words(remedy: String, words: &[String]) -> String {
    let words = arguments::with_command(words);
    fitting(remedy, words.get(1).map_or("run", String::as_str), &arguments::command())
}

/// The same for this command. A remedy that a run does not have either belongs to an error of other commands, and the
/// words of a fleet are followed by those of a run.
fn fitting(remedy: String, name: &str, all: &clap::Command) -> String {
    match name == "fleet" || has_flags(name, all, &remedy) || !has_flags("run", all, &remedy) {
        true => remedy,
        false => remedy::of_run(remedy),
    }
}

/// Whether a command has every flag of a text. What stands in backticks is a command of its own.
fn has_flags(name: &str, all: &clap::Command, text: &str) -> bool {
    let outside = text.split('`').step_by(2).flat_map(str::split_whitespace);
    let names = outside.map(|word| word.trim_end_matches([',', '.', ';']));
    let mut flags = names.filter(|word| word.starts_with('-'));
    let command = all.find_subcommand(name);
    flags.all(|flag| command.is_some_and(|command| arguments::has(command, flag)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts of the remedies that name a flag.
    fn texts() -> impl Iterator<Item = String> {
        let joined = include_str!("remedy.rs").replace("\\\n", " ");
        let texts = joined.split('"').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
        texts.into_iter().filter(|text| text.split_whitespace().any(|word| word.starts_with('-')))
    }

    /// Every remedy, in every command: each flag is one of the command, or of the run that the text names.
    #[test]
    fn a_remedy_fits_the_command() {
        let all = arguments::command();
        let names: Vec<&str> = all.get_subcommands().map(clap::Command::get_name).collect();
        assert!(texts().count() > 20);
        for text in texts() {
            let has = |name: &&str| has_flags(name, &all, &text);
            assert!(names.iter().any(has), "no command has the flags of: {text}");
            for name in names.iter().filter(|name| **name != "fleet") {
                let told = fitting(text.clone(), name, &all);
                let fits = has(name) || !has(&"run");
                assert_eq!(
                    told,
                    if fits { text.clone() } else { remedy::of_run(text.clone()) },
                    "{name}"
                );
            }
        }
        let told = |name: &str| fitting("ask for fewer with -c".to_owned(), name, &all);
        assert_eq!(told("peak"), "ask for fewer with -c");
        assert_eq!(told("verify"), "with candor run: ask for fewer with -c");
    }
}
