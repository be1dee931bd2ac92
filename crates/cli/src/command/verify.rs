//! `candor verify`: known results beside measured ones, and the smallest visible differences.

use std::fmt::Write as _;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use candor_files::write_atomically;
use candor_lab::Ahead;
use candor_lab::verify::{self, Answer, CHECKS, Finding, Floor, Length, Line, Settings};
use candor_plan::options::WatchingOptions;
use candor_plan::units::{fmt_count, fmt_duration_ns, fmt_plural};
use candor_plan::values::{Count, PositiveNanos};
use candor_plan::{Pacing, ReactorChoice};
use candor_report::Host;
use candor_report::json;
use clap::Args;
use serde::Serialize;

use crate::console;
use crate::exit::{Exit, UserError};
use crate::show::{Asked, Show};

pub(crate) const EXAMPLES: &str = "\
Examples:
  candor verify
      All checks and the noise floor, in under two minutes.
  candor verify --quick
      The same with fewer requests, in under half a minute.
  candor verify --only closed --only pause
      Two of the checks.
  candor verify --json verify.json
      Keep the findings in a file.";

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// The same checks with fewer requests, in under half a minute
    #[arg(long)]
    quick: bool,
    /// Run only this check, without the noise floor; may be repeated
    #[arg(long, value_name = "CHECK")]
    only: Vec<String>,
    /// How loads wait for due times; a load that cannot wait in this way spins
    #[arg(long, value_name = "WAY", default_value = "spin")]
    pacing: Pacing,
    /// How loads wait for network events; where io_uring is not possible, it is epoll
    #[arg(long, value_name = "WAY", default_value = "auto")]
    reactor: ReactorChoice,
    /// Requests of each Poisson run, instead of as many as fit
    #[arg(long, value_name = "N")]
    requests: Option<Count>,
    /// Service time of each request of a Poisson run
    #[arg(long, value_name = "TIME", default_value = "10ms")]
    service_time: PositiveNanos,
    /// Independent queues of a Poisson run, each with the whole load: N times the requests
    #[arg(long, value_name = "N", default_value = "1")]
    queues: NonZeroU32,
    /// Write the findings as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Print nothing
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    watching: WatchingOptions,
}

/// All findings; the document of `--json`.
#[derive(Serialize)]
struct Verification {
    format: &'static str,
    version: &'static str,
    quick: bool,
    pacing: Pacing,
    reactor: ReactorChoice,
    host: Host,
    /// The worst answer of the checks.
    answer: Answer,
    elapsed_s: f64,
    checks: Vec<Finding>,
    noise_floor: Vec<Floor>,
}

pub(crate) fn verify(arguments: &VerifyArguments) -> Result<ExitCode, UserError> {
    let settings = settings(arguments)?;
    let begun = Instant::now();
    say(arguments, &header())?;
    let mut steps = Steps::begin(arguments)?;
    let mut printed = Ok(());
    let checks = verify::run(&settings, |finding| {
        steps.done(&outcome(finding), finding.answer == Answer::No);
        printed =
            std::mem::replace(&mut printed, Ok(())).and_then(|()| say(arguments, &text(finding)));
    })?;
    printed?;
    let noise_floor = match arguments.only.is_empty() {
        true => verify::noise_floor(settings.length)?,
        false => Vec::new(),
    };
    steps.show.end();
    say(arguments, &floor_text(&noise_floor))?;
    let verification = Verification {
        format: "candor.verify/2",
        version: env!("CARGO_PKG_VERSION"),
        quick: arguments.quick,
        pacing: arguments.pacing,
        reactor: arguments.reactor,
        host: candor_engine::host(),
        answer: checks.iter().map(|finding| finding.answer).max().unwrap_or(Answer::Yes),
        elapsed_s: begun.elapsed().as_secs_f64(),
        checks,
        noise_floor,
    };
    say(arguments, &summary(&verification))?;
    if let Some(path) = &arguments.json {
        write(path, &verification)?;
    }
    let exit = match verification.answer {
        Answer::Yes => Exit::Fine,
        Answer::CannotTell => Exit::CannotTell,
        Answer::No => Exit::NotTrustworthy,
    };
    Ok(exit.into())
}

/// The progress display: each check by its title, and the noise floor.
struct Steps {
    show: Show,
    /// The steps ahead, the next one last.
    ahead: Vec<String>,
    present: String,
}

impl Steps {
    fn begin(arguments: &VerifyArguments) -> Result<Self, UserError> {
        let asked = Asked {
            quiet: arguments.quiet,
            tui: arguments.watching.tui.unwrap_or_default(),
            progress: arguments.watching.progress.unwrap_or_default(),
            shares_stdout: false,
        };
        let is_wanted =
            |id: &str| arguments.only.is_empty() || arguments.only.iter().any(|o| o == id);
        let wanted = CHECKS.iter().filter(|check| is_wanted(check.id));
        let mut ahead: Vec<String> = wanted.map(|check| check.title.to_owned()).collect();
        ahead.extend(arguments.only.is_empty().then(|| "noise floor of this machine".to_owned()));
        ahead.reverse();
        let show = Show::start(asked, "verify", None, None)?;
        let mut steps = Steps { show, ahead, present: String::new() };
        steps.next();
        Ok(steps)
    }

    fn next(&mut self) {
        let Some(present) = self.ahead.pop() else { return };
        self.present = present;
        let next: Vec<String> = self.ahead.iter().rev().cloned().collect();
        let ahead = Ahead { steps: Some(next.len() as u64), next, most_ns: None };
        self.show.begins(&self.present, ahead, None);
    }

    fn done(&mut self, outcome: &str, is_failure: bool) {
        self.show.done(&self.present, outcome, is_failure);
        self.next();
    }
}

/// A check in half a sentence.
fn outcome(finding: &Finding) -> String {
    let with = |answer| finding.lines.iter().filter(|line| line.answer == answer).count();
    let of = finding.lines.len();
    match (with(Answer::No), with(Answer::CannotTell)) {
        (0, 0) => format!("{} as expected", fmt_plural(of as u64, "line")),
        (0, untold) => format!("{untold} of {of} cannot be told"),
        (wrong, _) => format!("{wrong} of {of} not as expected"),
    }
}

fn settings(arguments: &VerifyArguments) -> Result<Settings, UserError> {
    let known: Vec<&str> = CHECKS.iter().map(|check| check.id).collect();
    if let Some(unknown) = arguments.only.iter().find(|id| !known.contains(&id.as_str())) {
        let known = known.join(", ");
        let unknown = candor_plan::redact::refused(unknown);
        return Err(UserError::usage(format!("there is no check {unknown}; there are {known}")));
    }
    Ok(Settings {
        length: if arguments.quick { Length::Quick } else { Length::Full },
        pacing: arguments.pacing,
        reactor: arguments.reactor,
        only: arguments.only.clone(),
        poisson_requests: arguments.requests.map(|one| one.get()),
        poisson_service_ns: arguments.service_time.get(),
        poisson_queues: arguments.queues,
    })
}

fn say(arguments: &VerifyArguments, text: &str) -> Result<(), UserError> {
    if arguments.quiet { Ok(()) } else { console::print(text) }
}

fn write(path: &Path, verification: &Verification) -> Result<(), UserError> {
    write_atomically(path, json::any(verification).as_bytes()).map_err(UserError::could_not_run)
}

fn header() -> String {
    row("", "expected", "measured", "")
}

fn row(what: &str, expected: &str, measured: &str, ok: &str) -> String {
    let line = format!("  {what:<44}{expected:>20}  {measured:>12}  {ok}");
    format!("{}\n", line.trim_end())
}

fn text(finding: &Finding) -> String {
    let runs = finding.lines.iter().map(|line| line.runs).max().unwrap_or(1);
    let again = if runs > 1 { format!(", done {runs} times") } else { String::new() };
    let mut text = format!("\n{}: {}{again}\n", finding.id, finding.title);
    let mut told = None;
    for line in &finding.lines {
        let Line { what, detail, answer, .. } = line;
        text += &row(what, &line.expected_text(), &line.measured_text(), word(*answer));
        if let Some(detail) =
            detail.as_ref().filter(|detail| told.replace(*detail) != Some(*detail))
        {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "      {detail}");
        }
    }
    text
}

fn word(answer: Answer) -> &'static str {
    match answer {
        Answer::Yes => "yes",
        Answer::CannotTell => "cannot tell",
        Answer::No => "no",
    }
}

fn floor_text(floors: &[Floor]) -> String {
    if floors.is_empty() {
        return String::new();
    }
    let mut text =
        "\nNoise floor of this machine: loader and network overhead of a response that\n\
        takes no time. Smaller differences between servers cannot be seen here.\n\
        \x20      rate       lag p50       lag p99   round trip p50           p99         least\n"
            .to_owned();
    for floor in floors {
        let time = |ns: f64| fmt_duration_ns(ns.round() as u64);
        let _ = writeln!(
            text,
            "{:>9}/s{:>14}{:>14}{:>17}{:>14}{:>14}",
            fmt_count(floor.rate_per_s),
            time(floor.send_lag.p50_ns),
            time(floor.send_lag.p99_ns),
            time(floor.round_trip.p50_ns),
            time(floor.round_trip.p99_ns),
            time(floor.round_trip.min_ns),
        );
    }
    text
}

fn summary(verification: &Verification) -> String {
    let lines = verification.checks.iter().flat_map(|finding| &finding.lines);
    let count = lines.clone().count() as u64;
    let with = |answer| lines.clone().filter(move |line: &&Line| line.answer == answer);
    let took = format!("{:.0} s", verification.elapsed_s);
    match verification.answer {
        Answer::Yes => format!("\nYES: {} as expected, in {took}.\n", fmt_plural(count, "line")),
        Answer::CannotTell => format!(
            "\nCANNOT TELL: {} of {count} in {took}; all others are as expected.\n\
             The machine paused Candor too often to measure these times. End other work, give the loader\n\
             and the server a core of their own, and rerun.\n",
            with(Answer::CannotTell).count()
        ),
        Answer::No => {
            let wrong = with(Answer::No).count();
            let why = match lines.clone().any(Line::is_contradiction) {
                true => {
                    "A line that holds on any machine, however busy, does not hold here: the figures of\n\
                     this build cannot be trusted. Please report it, with the output of --json.\n"
                }
                false => {
                    "Only times are off, but in most of the runs, and without the requests that a pause of\n\
                     the machine touched. End other work and rerun. If the same lines say no again, please\n\
                     report it, with the output of --json.\n"
                }
            };
            format!("\nNO: {wrong} of {count} not as expected, in {took}.\n{why}")
        }
    }
}
