//! `candor try`: each request of a plan once, as one user of each journey, to look at.
//!
//! A try is a run: the engine makes it, over the plan's connections, with its data and captures. It differs in that
//! every request leaves once, one after the other, and that what goes over the connection is kept. This module makes
//! the plan of a try and judges what came of it; [`show`] has the text, [`mask`] hides secrets in it.

mod json;
mod mask;
mod plan;
mod show;

use std::process::ExitCode;

use candor_lab::{LabError, Site};
use candor_plan::Plan;
use candor_plan::options::Options;
use candor_record::EndReason;
use clap::Args;

use self::show::View;
use crate::exit::{Exit, UserError};
use crate::onlooker::Onlooker;
use crate::scenario::Meant;
use crate::target_flags::TargetFlags;
use crate::{console, input, measure, refusals};

pub(crate) const EXAMPLES: &str = "\
Examples:
  candor try plan.toml
      Each step of each journey, as one user makes it: what was sent, came and was captured.
  candor try -X POST -H 'Content-Type: application/json' --body '{}' http://localhost:8080/orders
      A request of your own.
  candor try plan.toml --show-secrets > exchanges.txt
      The same with passwords, tokens and cookies.

Load, duration and think times of the plan do not matter here. A step that is repeated is made once.
The condition of a step (when) is honoured: a step whose condition is empty is not made. Nothing is
kept; values that are known to be secret are hidden.

Exit codes: 0 every response is as expected, and has what is to be captured; 1 could not run;
2 usage; 3 something would break; 130 interrupted.";

#[derive(Debug, Args)]
pub(crate) struct TryArguments {
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    target: TargetFlags,
    /// After a plan: URL that overrides the plan's
    #[arg(value_name = "URL")]
    instead: Option<String>,
}

pub(crate) fn try_out(arguments: TryArguments) -> Result<ExitCode, UserError> {
    let TryArguments { mut options, target, instead } = arguments;
    refusals::check("try", &options)?;
    input::look_for_slips(&options)?;
    let plan_file = input::take_plan_file(&mut options, instead)?;
    if let Some(file) = &plan_file {
        options = options.or(input::plan(file)?);
    }
    // The target is not watched: nothing is measured.
    let (Site { running, .. }, scenario) = target.site(&mut options, true)?;
    let plan = scenario.build(options).map_err(|error| match &plan_file {
        Some(file) => error.of_part(format_args!("with {file}")),
        None => error,
    });
    let tried = plan.and_then(|(plan, _, meant)| try_all(&plan, &meant));
    measure::end(Site { running, ..Site::default() });
    tried.map(ExitCode::from)
}

fn try_all(plan: &Plan, meant: &Meant) -> Result<Exit, UserError> {
    let interrupt = measure::interrupt();
    let trials = plan::trials(plan).map_err(UserError::usage)?;
    let rows = plan::rows(plan, &trials, &interrupt.next_run()).map_err(LabError::from)?;
    let style = console::stdout_style();
    let mut problems = Vec::new();
    let mut tried = 0;
    console::print(&show::beginning(plan, style))?;
    for (trial, rows) in trials.iter().zip(&rows) {
        let mut onlooker = Onlooker::default();
        let made = measure::run_part(
            &mut Site::default(),
            &trial.plan,
            Some(trial.part),
            &interrupt,
            &mut onlooker,
        );
        let (run, _) = made?;
        let exchanged = onlooker.exchanged();
        tried += exchanged.len();
        let mut view = View::new(trial, rows, &exchanged, &run.record, style);
        console::print(&view.text())?;
        problems.append(&mut view.problems);
        let end = run.record.end;
        // An error of a script.
        run.ended().map_err(UserError::from)?;
        match end {
            EndReason::Interrupted => return Ok(Exit::Interrupted),
            EndReason::GaveUp => {
                return Err(UserError::could_not_run(
                    "no response came any more; check that the server is still running",
                ));
            }
            EndReason::DataFailed => {
                let why = match plan.wire.calls() {
                    None => "a data file has changed; try again",
                    Some(_) => {
                        "a value does not fit its field of a message; a numeric field takes a number"
                    }
                };
                return Err(UserError::could_not_run(why));
            }
            _ => {}
        }
    }
    console::print(&show::ending(tried, &problems, style))?;
    meant.check(&interrupt)?;
    Ok(if problems.is_empty() { Exit::Fine } else { Exit::ExpectationNotMet })
}
