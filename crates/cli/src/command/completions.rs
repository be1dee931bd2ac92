//! `candor completions`: completion scripts for shells, generated from the definition of the command
//! line.

use std::process::ExitCode;

use clap::{Args, Command, ValueEnum};
use clap_complete::{Shell, generate};

use crate::console;
use crate::exit::{Exit, UserError};

pub(crate) const EXAMPLES: &str = "\
Examples:
  candor completions bash > ~/.local/share/bash-completion/completions/candor
      bash: works in new shells, if the package bash-completion is installed.
  candor completions zsh > ~/.zfunc/_candor
      zsh: ~/.zfunc must be in fpath before compinit is called in ~/.zshrc.
  candor completions fish > ~/.config/fish/completions/candor.fish
      fish: works at once.";

#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: For,
}

/// Shells with tested completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum For {
    Bash,
    Zsh,
    Fish,
}

pub(crate) fn completions(
    arguments: &CompletionsArguments,
    candor: Command,
) -> Result<ExitCode, UserError> {
    let shell = match arguments.shell {
        For::Bash => Shell::Bash,
        For::Zsh => Shell::Zsh,
        For::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    generate(shell, &mut with_options_of_run(candor), "candor", &mut script);
    console::print(&String::from_utf8(script).expect("scripts are made of strings"))?;
    Ok(Exit::Fine.into())
}

/// `candor -c 5` is `candor run -c 5`: without a command, the options of `run` are completed.
fn with_options_of_run(candor: Command) -> Command {
    let options: Vec<_> = candor
        .find_subcommand("run")
        .map(|run| run.get_arguments().filter(|arg| !arg.is_positional()).cloned().collect())
        .unwrap_or_default();
    candor.args(options)
}
