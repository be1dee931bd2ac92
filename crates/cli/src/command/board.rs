//! `candor board`: a suite, measured as by `candor bench`, with a score and a rank for each server.

use std::path::PathBuf;
use std::process::ExitCode;

use candor_plan::redact::Typed;
use candor_render::Depth;
use candor_report::{findings, json};
use clap::Args;

use crate::exit::{Exit, UserError};
use crate::forms::{BOARD, SUITE};
use crate::suite::{SuiteArguments, exit};

pub(crate) const EXAMPLES: &str = "\
Examples:
  candor board suites/httparena.toml
      Measures the profiles of HttpArena, into the directory httparena-results.
  candor board suites/httparena.toml --servers embedded,nginx --scenarios pipelined --duration 1s
      A quick part of it.
  candor board suites/httparena.toml --format markdown > board.md
      The table as Markdown. What is measured already is not measured again.
  candor report httparena-results/board.json
      The same table later.

The file is a suite, as of candor bench. Each profile (a scenario over a protocol under a load) is
scored by throughput, or by the server's CPU time per request where a rate was asked for. Servers
whose intervals overlap share a rank, and a server that fails its checks has no score.

The directory has board.json (candor.board/1), board.md, board.html and board.csv beside the files
of candor bench. docs/suites.md has the formula.";

/// The page of a board in its directory.
const PAGE: &str = "board.html";

#[derive(Debug, Args)]
pub(crate) struct BoardArguments {
    /// The suite's file
    #[arg(value_name = "SUITE.toml")]
    suite: PathBuf,
    #[command(flatten)]
    how: SuiteArguments,
}

pub(crate) fn board(arguments: &BoardArguments, typed: Typed) -> Result<ExitCode, UserError> {
    let how = &arguments.how;
    let Some(measured) = how.measure(&arguments.suite, "board", typed)? else {
        return Ok(Exit::Fine.into());
    };
    let (directory, outcome) = (&measured.directory, &measured.outcome);
    how.flags.write(directory, &SUITE, &outcome.document)?;
    let board = findings::board(&outcome.document);
    let page = (BOARD.page)(&board, Depth::Full);
    directory.write("board.json", &json::any(&board))?;
    directory.write("board.csv", &(BOARD.csv)(&board))?;
    directory.write("board.md", &page.markdown())?;
    directory.write(PAGE, &page.html())?;
    how.flags.finish(directory, PAGE, &BOARD, &board, outcome.stopped.as_ref(), || exit(&measured))
}
