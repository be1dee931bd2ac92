//! The command line: the commands and their options.
//!
//! `candor URL` is `candor run URL`: a word that is not a command's name is an argument of `run`.

use candor_plan::options::EXAMPLES;
use candor_plan::suggest::is_near;
use candor_plan::{Secrets, redact};
use candor_report::visible;
use candor_serve::ServeOptions;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

#[cfg(feature = "fleet")]
use crate::command::agent::AgentArguments;
use crate::command::bench::BenchArguments;
use crate::command::board::BoardArguments;
use crate::command::ci::CiArguments;
use crate::command::clients::ClientsArguments;
use crate::command::compare::CompareArguments;
use crate::command::completions::CompletionsArguments;
#[cfg(feature = "fleet")]
use crate::command::fleet::FleetArguments;
use crate::command::history::HistoryArguments;
use crate::command::import::ImportArguments;
use crate::command::man::ManArguments;
use crate::command::peak::PeakArguments;
use crate::command::report::ReportArguments;
use crate::command::run::RunArguments;
use crate::command::sweep::SweepArguments;
use crate::command::try_out::TryArguments;
use crate::command::verify::VerifyArguments;
use crate::console;
use crate::exit::{Exit, UserError};
use crate::meant::{HOSTS, is_name_of_file, is_nearly_command, may_be_host, no_host, no_plan};
use crate::{input, others, refusals};

const EXAMPLES_OF_ALL: &str = "\
Examples:
  candor -c 50 -d 30s http://localhost:8080/
      How many requests a second can the server take? A closed loop over 50 connections.
  candor -R 5k -d 30s http://localhost:8080/
      How fast are responses at 5,000 requests a second?
  candor peak --objective 'p99 < 10ms' http://localhost:8080/
      What is the highest rate with a p99 below 10 ms?
  candor compare http://localhost:8080/ http://localhost:8081/
      Which of the two servers is slower, and how certain is it?
  candor run --help
      Every option of a run, with more examples.";

const EXIT_CODES: &str = "\
Exit codes: 0 fine; 1 could not run, or all or most requests failed; 2 usage; 3 an objective was not \
met; 4 the result is not trustworthy (the ledger does not balance, a figure is impossible, or \
--strict and a warning); 5 an agent of the fleet was lost, the rest is reported; 6 cannot tell \
whether an objective is met: too few samples, or a machine too noisy; 130 interrupted, the partial \
result is reported. They are the same in every command.";

const USAGE: &str = "candor [OPTIONS] [URL]\n       candor COMMAND [OPTIONS]...";
const RUN_USAGE: &str = "candor [run] [OPTIONS] [URL]\n       candor run [OPTIONS] PLAN.toml [URL]";
const WS_USAGE: &str = "candor ws [OPTIONS] [URL]";
const WS_EXAMPLES: &str = "\
Examples:
  candor ws -R 5k -c 100 --message 'ping ${seq}' localhost:8080/chat
      When do echoes come, at 5,000 messages a second on 100 WebSockets?
  candor ws -R 5k --in-flight 100 --reply-field 'id=*;' --message 'id=${seq};x' localhost:8080/rpc
      Replies in any order, matched by their field.
  candor ws -c 1k -R 10 --no-reply --message 'hello' localhost:8080/feed
      What does the server send by itself?";
const GRPC_USAGE: &str = "candor grpc [OPTIONS] [URL] [PACKAGE.SERVICE/METHOD]";
const GRPC_EXAMPLES: &str = "\
Examples:
  candor grpc -R 5k -d 30s localhost:50051 shop.Orders/Get -d '{\"id\": ${seq}}'
      When do responses come, at 5,000 calls a second, each with another number?
  candor grpc -c 1 --streams 50 -d 30s --proto orders.proto localhost:50051 shop.Orders/Get
      How many calls a second can the server take? A closed loop, 50 calls at a time.
  candor grpc -R 100 --expect 'gap p99 < 20ms' localhost:50051 shop.Orders/Watch -d '{}'
      When do the messages of a stream come?
  candor grpc -H 'authorization: Bearer 1234' --deadline 1s https://shop.example/ shop.Orders/Get
      With metadata and a deadline, over TLS.";
const TRY_USAGE: &str = "candor try [OPTIONS] PLAN.toml [URL]\n       candor try [OPTIONS] URL";
const CI_USAGE: &str = "candor ci [OPTIONS] [NAME=]BASE [NAME=]HEAD\n       candor ci [OPTIONS] --base REV --head REV [--build COMMAND] --run COMMAND";
const COMPARE_USAGE: &str = "candor compare [OPTIONS] [NAME=]A [NAME=]B...";

/// Load-test an HTTP server, with numbers that you can trust.
///
/// `candor URL` is short for `candor run URL`. Without a URL it measures its own embedded target.
#[derive(Debug, Parser)]
#[command(name = "candor", version, arg_required_else_help = false)]
#[command(after_long_help = footer(EXAMPLES_OF_ALL), override_usage = USAGE)]
struct Candor {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure a server once: closed loop, or open with --rate or --load
    ///
    /// A closed loop sends a connection's next request when the response to its last one is
    /// complete. An open load sends by a schedule, independent of the server, and counts latency
    /// from when a request was due. Without a URL the embedded target is measured, in a process of
    /// its own.
    #[command(after_long_help = footer(EXAMPLES), override_usage = RUN_USAGE)]
    Run(Box<RunArguments>),
    /// Send messages over WebSockets, and time their replies
    ///
    /// The same as `run` with a URL of ws:// or wss://, which may be left out here. A message is due, sent, and
    /// answered by the next message of the server, by one with the same field (--reply-field), or by none
    /// (--no-reply). Without a URL the embedded target is measured.
    #[command(after_long_help = footer(WS_EXAMPLES), override_usage = WS_USAGE)]
    Ws(Box<RunArguments>),
    /// Call a method of gRPC, and time its messages
    ///
    /// The same as `run` with --call METHOD. The message is JSON, and -d takes it too if it begins with {, as with
    /// other clients. The schema comes from --proto, from --protoset, or from the server itself (reflection). A call is
    /// a success if its status is OK. Without a URL the embedded target is measured.
    #[command(after_long_help = footer(GRPC_EXAMPLES), override_usage = GRPC_USAGE)]
    Grpc(Box<RunArguments>),
    /// Find the highest rate that a server can take, or that meets an objective
    ///
    /// A closed loop finds the ceiling: connections are doubled, then refined. With objectives,
    /// open loads below it close in on the peak. Reports the confidence, whether loader or server
    /// was the limit, and where latency begins to climb. Without a URL and without --target, it
    /// measures the embedded target.
    #[command(after_long_help = crate::command::peak::EXAMPLES)]
    Peak(Box<PeakArguments>),
    /// Measure latency at fractions of the peak, or at listed rates
    ///
    /// Measures each rate several times, in random order; reports response and service time from
    /// p50 to p99.99 and the maximum.
    #[command(after_long_help = crate::command::sweep::EXAMPLES)]
    Sweep(Box<SweepArguments>),
    /// Compare servers, plans or saved results: is one of them slower, and how certain is it
    ///
    /// Runs rounds, each with one run of every variant in random order, so that drift of the
    /// machine affects all alike. Prints the difference with an interval, and claims no difference
    /// that could be chance.
    #[command(after_long_help = crate::command::compare::EXAMPLES, override_usage = COMPARE_USAGE)]
    Compare(Box<CompareArguments>),
    /// Check whether head is slower than base: a gate for CI, with the noise floor of its machine
    ///
    /// Runs rounds, each with one run of head and two of base, every order equally often. What the two runs of base
    /// differ by is the noise floor: no difference below it fails. Exit codes: 3, head fails or is slower than
    /// --fail-if-slower allows, or an objective is not met; 0, it is not; 6, cannot tell.
    #[command(after_long_help = crate::command::ci::EXAMPLES, override_usage = CI_USAGE)]
    Ci(Box<CiArguments>),
    /// Measure a suite: servers × scenarios × protocols × loads, into a directory
    ///
    /// Servers are started one at a time, fresh for each run. The order within rounds is random;
    /// each cell is represented by its run with the median rate. An interrupted suite resumes where
    /// it stopped.
    #[command(after_long_help = crate::command::bench::EXAMPLES)]
    Bench(Box<BenchArguments>),
    /// Score and rank servers in the profiles of a suite: throughput, and CPU per request at a rate
    ///
    /// Measures the suite as `candor bench` does, in the same directory. Servers that the rounds cannot tell apart
    /// share a rank; a server that fails its checks has no score.
    #[command(after_long_help = crate::command::board::EXAMPLES)]
    Board(Box<BoardArguments>),
    /// Measure HTTP client libraries: pool size × concurrency, into a directory
    ///
    /// Each library is behind a driver, a program in any language, started fresh for each run. The
    /// order within rounds is random; each cell is represented by its run with the median rate. The
    /// server's own count must agree with the driver's in every cell. An interrupted suite resumes
    /// where it stopped.
    #[command(after_long_help = crate::command::clients::EXAMPLES)]
    Clients(Box<ClientsArguments>),
    /// Run shares of plans on this machine, as an agent of a fleet
    ///
    /// The agent connects to the fleet's broker and listens nowhere. It starts what an operator of its
    /// policy has signed, within the policy, and stops by itself when it no longer hears from the run's
    /// coordinator. Ends with Ctrl-C.
    #[cfg(feature = "fleet")]
    #[command(after_long_help = crate::command::agent::EXAMPLES)]
    Agent(AgentArguments),
    /// Set up a fleet of agents; show and stop them
    #[cfg(feature = "fleet")]
    #[command(after_long_help = crate::command::fleet::EXAMPLES)]
    Fleet(FleetArguments),
    /// Run the embedded target: every scenario, and faults on demand; or the truth server
    #[command(after_long_help = crate::command::serve::EXAMPLES)]
    Serve(Box<ServeOptions>),
    /// Prove on this machine that the figures are right: known results beside measured ones
    ///
    /// Starts a server whose every response leaves at a computed time, sends loads with calculated
    /// results, and compares each request with the schedule, the server's log and theory. Takes
    /// under two minutes; end other work first. Also prints the smallest differences that this
    /// machine can show. Exit code 4: a result is not as expected.
    #[command(after_long_help = crate::command::verify::EXAMPLES)]
    Verify(VerifyArguments),
    /// Render saved results again
    #[command(after_long_help = crate::command::report::EXAMPLES)]
    Report(ReportArguments),
    /// List results kept with `run --keep`, compare them, and show how their figures changed
    ///
    /// Results of one plan on one machine are a trend, and where the level of a figure changed is found by ranks and judged
    /// by permutations: a figure that has not changed shows a change in at most 1 % of all cases, each time that one looks.
    #[command(after_long_help = crate::command::history::EXAMPLES)]
    History(Box<HistoryArguments>),
    /// Send each request of a plan once, and show what came: look before you shoot
    ///
    /// Makes every step of each journey as one user, and shows the request, the response, what was
    /// captured and what was expected. Says what would break. Secrets are hidden.
    #[command(after_long_help = crate::command::try_out::EXAMPLES, override_usage = TRY_USAGE)]
    Try(Box<TryArguments>),
    /// Make a plan from curl commands, a HAR file, an OpenAPI description, a Postman collection or a log
    ///
    /// Prints the plan as a person would have written it: other hosts and static files left out, secrets moved to
    /// variables of the environment, values of responses that come again captured, a comment where it had to guess.
    #[command(after_long_help = crate::command::import::EXAMPLES)]
    Import(ImportArguments),
    /// The command lines and the output of wrk and wrk2
    #[command(alias = "wrk2", override_help = crate::command::wrk::HELP, disable_help_flag = true)]
    Wrk(ToolArguments),
    /// The command line and the output of h2load
    #[command(override_help = crate::command::h2load::HELP, disable_help_flag = true)]
    H2load(ToolArguments),
    /// The command line and the output of ghz
    #[command(override_help = crate::command::ghz::HELP, disable_help_flag = true)]
    Ghz(ToolArguments),
    /// Print manual pages, or write all of them to a directory
    #[command(after_long_help = crate::command::man::EXAMPLES)]
    Man(ManArguments),
    /// Print completions for a shell
    #[command(after_long_help = crate::command::completions::EXAMPLES)]
    Completions(CompletionsArguments),
}

/// Another tool's command line, parsed as that tool parses it.
#[derive(Debug, Args)]
pub(crate) struct ToolArguments {
    /// Options of the tool and a URL
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    pub(crate) words: Vec<String>,
}

fn footer(examples: &str) -> String {
    format!("{examples}\n\n{EXIT_CODES}")
}

/// The arguments, which must be UTF-8.
pub(crate) fn from_environment() -> Result<Vec<String>, UserError> {
    std::env::args_os()
        .map(|argument| {
            argument.into_string().map_err(|argument| {
                UserError::usage(format!("argument {argument:?} is not valid UTF-8"))
            })
        })
        .collect()
}

/// `candor grpc -d '{…}'`: JSON is the message, as with other clients, but a number is a duration; `@` is standard input.
pub(crate) fn with_message(mut words: Vec<String>) -> Vec<String> {
    if words.get(1).is_none_or(|word| word != "grpc") {
        return words;
    }
    for at in 2..words.len() {
        let (option, joined) = match words[at].as_str() {
            "-d" | "--data" => (at, words.get(at + 1).cloned()),
            word => match word.strip_prefix("-d").or_else(|| word.strip_prefix("--data=")) {
                Some(value) => (at, Some(value.to_owned())),
                None => continue,
            },
        };
        let is_apart = matches!(words[option].as_str(), "-d" | "--data");
        let Some(value) = joined else { continue };
        let (long, value) = match value.as_str() {
            "@" => ("--body-file", "-".to_owned()),
            json if is_message(json.trim()) => ("--body", value),
            _ => continue,
        };
        match is_apart {
            true => (words[option], words[option + 1]) = (long.to_owned(), value),
            false => words[option] = format!("{long}={value}"),
        }
    }
    words
}

/// Whether a text is JSON, and no time.
fn is_message(text: &str) -> bool {
    text.starts_with(['{', '[', '"']) || ["true", "false", "null"].contains(&text)
}

/// The typed command. Ends the process on `--help`, `--version` and usage errors.
pub(crate) fn parse(typed: &[String]) -> Command {
    let hosts = || std::fs::read_to_string(HOSTS).unwrap_or_default();
    if let [_, name, rest @ ..] = typed
        && let Some(said) = others::instead(name, rest)
        && !may_be_host(name, &hosts())
    {
        console::lines(&said);
        std::process::exit(Exit::Usage as i32);
    }
    let all = command();
    let commands: Vec<String> =
        all.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    let matches = all.try_get_matches_from(with_command(typed));
    // What stands behind a mistyped command is wrong for a run.
    let mistyped =
        typed.get(1).filter(|word| matches.is_err() && is_nearly_command(word, &commands));
    let word = matches.as_ref().ok().and_then(only_word).or(mistyped.map(String::as_str));
    if let Some(word) = word
        && !may_be_host(word, &hosts())
    {
        console::lines(&no_host(word, &commands));
        std::process::exit(Exit::Usage as i32);
    }
    if let Some(word) = matches.as_ref().ok().and_then(any_url)
        && is_name_of_file(word, &hosts())
    {
        console::lines(&no_plan(word));
        std::process::exit(Exit::Usage as i32);
    }
    match matches.and_then(|matches| Candor::from_arg_matches(&matches)) {
        Ok(candor) => candor.command,
        // Help, which is a page of ours.
        Err(error) if !error.use_stderr() => error.exit(),
        Err(error) => {
            console::lines(&refusal(error, &with_command(typed)));
            std::process::exit(Exit::Usage as i32);
        }
    }
}

/// What a run has for its URL.
fn only_word(matches: &clap::ArgMatches) -> Option<&str> {
    let ("run", run) = matches.subcommand()? else { return None };
    run.get_one::<String>("url").map(String::as_str)
}

/// What a command that takes a URL or a plan has for it.
fn any_url(matches: &clap::ArgMatches) -> Option<&str> {
    let ("run" | "ws" | "grpc" | "try", command) = matches.subcommand()? else { return None };
    command.get_one::<String>("url").map(String::as_str)
}

/// The command of these words.
fn named<'a>(all: &'a mut clap::Command, words: &[String]) -> &'a mut clap::Command {
    all.build();
    let mut found = all;
    for word in words.iter().skip(1) {
        if found.find_subcommand(word).is_none() {
            break;
        }
        found = found.find_subcommand_mut(word).expect("it was found");
    }
    found
}

/// Whether the command of these words has this option, and shows it.
fn has_option(words: &[String], option: &str) -> bool {
    has(named(&mut command(), words), option)
}

/// Whether a command has this option, and shows it.
pub(crate) fn has(command: &clap::Command, option: &str) -> bool {
    command.get_arguments().filter(|one| !one.is_hide_set()).any(|one| {
        let is_long = one.get_long().is_some_and(|long| option.strip_prefix("--") == Some(long));
        is_long || one.get_short().is_some_and(|short| option == format!("-{short}"))
    })
}

/// The parser's own message about these words. It repeats no value that may be a secret, and no value begins a line
/// in it.
fn refusal(mut error: clap::Error, words: &[String]) -> String {
    let of_context = |error: &clap::Error, kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let argument = of_context(&error, ContextKind::InvalidArg).unwrap_or_default();
    let name = argument.trim_start_matches('-').split([' ', '=']).next().unwrap_or_default();
    let kind = redact::kind_of_option(name).filter(|_| argument.starts_with("--"));
    let value = of_context(&error, ContextKind::InvalidValue);
    if let Some(value) = &value {
        let shown = match kind {
            // A header without a colon: which one, and no word of its value.
            Some(redact::Kind::Header) => {
                let name = value.split([' ', '=', ':']).next().unwrap_or_default();
                let more = if name.len() < value.len() { " …" } else { "" };
                format!("{}{more}", visible(&redact::refused(name)))
            }
            // The scheme may be what is wrong.
            Some(redact::Kind::Url) if value.contains("://") => {
                visible(&Secrets::Hidden.url(value)).into_owned()
            }
            Some(_) => redact::REDACTED.to_owned(),
            None => visible(&redact::refused(value)).into_owned(),
        };
        error.insert(ContextKind::InvalidValue, ContextValue::String(shown));
    }
    // Only an argument that does not exist was typed; all others are named as they are declared.
    let typed = match error.kind() {
        ErrorKind::UnknownArgument => ContextKind::InvalidArg,
        _ => ContextKind::InvalidSubcommand,
    };
    let unknown = of_context(&error, typed);
    if let Some(text) = &unknown {
        error.insert(typed, ContextValue::String(shown_argument(text)));
        // To write it behind `--`, which is hardly meant.
        error.remove(ContextKind::Suggested);
        // The parser's usage has the options typed, and one that it suggests.
        let usage = named(&mut command(), words).render_usage();
        error.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
        if let Some(ours) = others::counterpart(text).filter(|ours| has_option(words, ours)) {
            error.insert(ContextKind::SuggestedArg, ContextValue::String(ours.to_owned()));
        } else if of_context(&error, ContextKind::SuggestedArg)
            .is_some_and(|known| !is_near(name, known.trim_start_matches('-')))
        {
            error.remove(ContextKind::SuggestedArg);
        }
        // Of a run, which has a length in every command that makes some.
        if others::is_needless(text) && has_option(words, "--duration") {
            return format!(
                "candor: unexpected argument '{text}' found: Candor always does that; leave it out\n\nFor more information, try '--help'.\n"
            );
        }
        if text.starts_with('-') && text[1..].starts_with(|c: char| c.is_ascii_digit()) {
            return "candor: no option has a negative number as its value\n\nFor more information, try '--help'.\n".to_owned();
        }
    }
    // The words of the value's type quote it, in part perhaps. The parser would print them as they are, but for what
    // it takes for a terminal's sequences: there is no finding them again in its text.
    if let Some(why) = std::error::Error::source(&error).map(ToString::to_string) {
        let why = redact::without_refused(&why, value.as_deref().unwrap_or_default());
        let shown = of_context(&error, ContextKind::InvalidValue).unwrap_or_default();
        let why = visible(&why);
        let is_body = argument.starts_with("--duration ")
            && value.as_ref().is_some_and(|text| text.contains(['{', '[', '"', '=', '&', '@']));
        let is_url = value.is_some_and(|text| text.contains("://"));
        let body = match argument.as_str() {
            _ if is_body => "; -d is the duration, a body is written with -b",
            // As with curl, where it has no value.
            "--location <N>" if is_url => "; --location 5 follows up to 5 redirects",
            _ => "",
        };
        return format!(
            "candor: invalid value '{shown}' for '{argument}': {why}{body}\n\nFor more information, try '--help'.\n"
        );
    }
    let mut text = error.render().to_string();
    // The parser's tips repeat what they are about.
    for raw in [unknown, value].into_iter().flatten().filter(|raw| !raw.is_empty()) {
        text = text.replace(&raw, &shown_argument(&raw));
    }
    match text.strip_prefix("error: ") {
        Some(said) => format!("candor: {said}"),
        None => text,
    }
}

/// An argument that was refused. The name of an option is shown: in lower case, with a digit at most, it is no secret.
fn shown_argument(text: &str) -> String {
    let is_name = text.len() <= 32
        && text.starts_with("--")
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        && text.chars().filter(char::is_ascii_digit).count() <= 1;
    if is_name { text.to_owned() } else { visible(&redact::refused(text)).into_owned() }
}

/// The whole command line. The argument that is a URL for other commands is the baseline of comparisons.
pub(crate) fn command() -> clap::Command {
    let baseline = |command: clap::Command, name, help, long| {
        command.mut_arg("url", |url| {
            // clap moves a changed argument to the end of the list, so its position is set again.
            url.index(1).value_name(name).help(help).long_help(long)
        })
    };
    Candor::command()
        .mut_subcommand("compare", |compare| {
            let help = "The baseline: a URL, a command, a plan or saved results";
            baseline(compare, "[NAME=]A", help, format!("{help}; see below"))
        })
        .mut_subcommand("ci", |ci| {
            let help = "The base: a command, a URL or a plan";
            baseline(ci, "[NAME=]BASE", help, format!("{help}; see below"))
        })
        .mut_subcommands(|command| {
            let refused: Vec<&str> =
                refusals::of(command.get_name()).map(|one| one.option).collect();
            command.mut_args(|one| {
                let is_refused = one.get_long().is_some_and(|long| refused.contains(&long));
                // A URL behind the options of a group would stand among them.
                let one = if one.is_positional() { one.help_heading(None::<&str>) } else { one };
                let is_hidden = one.is_hide_set() || is_refused;
                one.hide(is_hidden)
            })
        })
        .mut_subcommands(|command| match command.get_name() {
            "peak" | "sweep" | "compare" | "ci" => command.mut_args(with_usual_length),
            _ => command,
        })
}

/// The length of an experiment's runs in the place of a single run's.
fn with_usual_length(one: clap::Arg) -> clap::Arg {
    let [single, usual] = match one.get_id().as_str() {
        "duration" => ["[default: 10s", &format!("[default: {}", input::DURATION)],
        "warm_up" => ["[default: 0]", &format!("[default: {}]", input::WARM_UP)],
        _ => return one,
    };
    let told = |text: Option<&clap::builder::StyledStr>| {
        text.map(|text| text.to_string().replace(single, usual)).unwrap_or_default()
    };
    let (short, long) = (told(one.get_help()), told(one.get_long_help()));
    one.help(short).long_help(long)
}

/// Inserts `run` if no command was typed.
pub(crate) fn with_command(typed: &[String]) -> Vec<String> {
    let mut all = typed.to_vec();
    let command = command();
    let is_known = |word: &str| {
        matches!(word, "help" | "-h" | "--help" | "-V" | "--version")
            || command.get_subcommands().any(|one| one.get_name() == word)
    };
    if !typed.get(1).is_some_and(|word| is_known(word)) {
        all.insert(typed.len().min(1), "run".to_owned());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(typed: &[&str]) -> Vec<String> {
        with_command(&typed.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn what_is_no_command_is_an_argument_of_run() {
        assert_eq!(resolved(&["candor"]), ["candor", "run"]);
        assert_eq!(resolved(&["candor", "-c", "5"]), ["candor", "run", "-c", "5"]);
        assert_eq!(resolved(&["candor", "http://a/"]), ["candor", "run", "http://a/"]);
        assert_eq!(resolved(&["candor", "run", "serve"]), ["candor", "run", "serve"]);
        assert_eq!(resolved(&["candor", "serve"]), ["candor", "serve"]);
        assert_eq!(resolved(&["candor", "--help"]), ["candor", "--help"]);
    }

    #[test]
    fn a_message_of_grpc_is_a_body() {
        let words = |typed: &[&str]| {
            with_message(typed.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(
            words(&[
                "candor",
                "grpc",
                "-d",
                "{}",
                "-d",
                "5s",
                "-d[1]",
                "--data",
                " {\"a\":1}",
                "-d"
            ]),
            [
                "candor",
                "grpc",
                "--body",
                "{}",
                "-d",
                "5s",
                "--body=[1]",
                "--body",
                " {\"a\":1}",
                "-d"
            ]
        );
        assert_eq!(words(&["candor", "grpc", "-d", "@"]), ["candor", "grpc", "--body-file", "-"]);
        for (value, option) in
            [("\"text\"", "--body"), ("true", "--body"), ("5", "-d"), ("10s", "-d")]
        {
            assert_eq!(words(&["candor", "grpc", "-d", value])[2..], [option, value]);
        }
        assert_eq!(words(&["candor", "run", "-d", "{}"]), ["candor", "run", "-d", "{}"]);
        assert_eq!(
            words(&["candor", "grpc", "--data", "u=u.csv", "--deadline", "{"]),
            ["candor", "grpc", "--data", "u=u.csv", "--deadline", "{"]
        );
    }

    #[test]
    fn a_refusal_names_declared_arguments_and_hides_typed_ones() {
        let refused = |typed: &[&str]| {
            let typed =
                with_command(&typed.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
            refusal(command().try_get_matches_from(&typed).unwrap_err(), &typed)
        };
        let conflict = refused(&["candor", "bench", "a.toml", "--list-scenarios"]);
        assert!(
            conflict.contains("'[SUITE.toml]' cannot be used with '--list-scenarios'"),
            "{conflict}"
        );
        let unknown = refused(&["candor", "bench", "--S3cretToken42"]);
        assert!(!unknown.contains("S3cret"), "{unknown}");
        let header = refused(&["candor", "-H", "X-Key s3cret hunter", "http://h/"]);
        assert!(header.contains("'X-Key …'") && !header.contains("cret"), "{header}");
        assert!(!header.contains("hunter"), "{header}");
        let name = refused(&["candor", "-H", "Bad Name: s3cret", "http://h/"]);
        assert!(name.contains("\"Bad Name\" is not the name of a header"), "{name}");
        assert!(!name.contains("cret"), "{name}");
    }

    #[test]
    fn an_unknown_option_is_named_with_ours_for_it() {
        let said = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            refusal(command().try_get_matches_from(&words).unwrap_err(), &words)
        };
        for (typed, ours) in [
            ("--http2", "'--h2'"),
            ("--http3", "'--h3'"),
            ("-z", "'-d'"),
            ("--disable-keepalive", "'--no-keepalive'"),
            ("--target-ready-timeout", "'--target-timeout'"),
            ("--metrics", "'--out'"),
            ("--vus", "'-c'"),
            ("--qps", "'-R'"),
            ("--conections", "'--connections'"),
        ] {
            let said = said(&["candor", "run", typed, "http://h/"]);
            assert!(said.contains(&format!("'{typed}'")) && said.contains(ours), "{said}");
            assert!(!said.contains("as a value"), "{said}");
            assert!(said.starts_with("candor: "), "{said}");
        }
        // Only what the command at hand has.
        for (command, typed, ours) in [
            ("serve", "--vus", "'-c'"),
            ("serve", "--http2", "'--h2'"),
            ("verify", "--qps", "'-R'"),
            ("man", "--output", "'--json'"),
        ] {
            let said = said(&["candor", command, typed]);
            assert!(said.contains(typed) && !said.contains(ours), "{said}");
            assert!(said.contains(&format!("Usage: candor {command} ")), "{said}");
        }
        let body = said(&["candor", "run", "-d", "{\"a\":1}", "http://h/"]);
        assert!(body.contains("a body is written with -b"), "{body}");
        assert!(!said(&["candor", "run", "-d", "5parsec"]).contains("-b"));
        assert!(said(&["candor", "run", "-c", "-1"]).contains("a negative number"));
    }

    #[test]
    fn what_has_no_name_is_no_option_of_a_group() {
        for command in command().get_subcommands() {
            for one in command.get_positionals() {
                assert_eq!(one.get_help_heading(), None, "{} {one}", command.get_name());
            }
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }
}
