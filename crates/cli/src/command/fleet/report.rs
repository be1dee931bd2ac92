//! `candor fleet report`: the result of a run whose `candor run` was killed, from what its agents
//! and the broker's stream have.

use std::path::PathBuf;
use std::process::ExitCode;

use candor_fleet::RunId;
use candor_plan::Place;
use candor_plan::redact::Typed;
use candor_render::Depth;
use candor_report::Document;
use candor_report::json;
use clap::Args;

use super::OperatorFlag;
use crate::exit::{Exit, UserError};
use crate::facts::facts;
use crate::fleet::{Fleet, Open};
use crate::{console, forms, last, measure, outputs};

#[derive(Debug, Args)]
pub(super) struct ReportArguments {
    /// The run, as in the agents' audit files [default: the last one]
    #[arg(value_name = "RUN", value_parser = super::run)]
    run: Option<RunId>,
    #[command(flatten)]
    operator: OperatorFlag,
    /// Write the result document to FILE
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(super) fn report(arguments: &ReportArguments, typed: Typed) -> Result<ExitCode, UserError> {
    let ReportArguments { run, operator, json: file } = arguments;
    let open = Open::find(&operator.operator, *run)?;
    let fleet = Fleet::of(&operator.operator)?;
    let interrupt = measure::interrupt();
    console::say(format_args!(
        "candor fleet report: asking agents and broker for the results of run {}; silent agents have 30 s",
        open.key.run
    ));
    let record = fleet.recall(&open, &interrupt.next_run())?;
    let document = Document::new(&facts(typed), &open.plan, &record);
    open.close();
    let text = || json::render(&document);
    let is_kept = last::keep(false, text);
    if let Some(file) = file {
        outputs::write(&Place::File(file.clone()), &text())?;
    }
    console::report(false, |style| forms::of_run(&document, Depth::Short, style, is_kept))?;
    Ok(match document.lost_agents().next() {
        None if document.nothing_worked() || document.mostly_failed() => Exit::CouldNotRun,
        None => Exit::Fine,
        Some(_) => Exit::Degraded,
    }
    .into())
}
