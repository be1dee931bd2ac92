//! Flags: each is available in TOML too, the help is readable, bad values are refused with their
//! place.

use crate::common::{Command, flags};
use candor_plan::options::{Options, RequestOptions};
use candor_plan::{looks_like_plan, plan_file::keys_of};
use clap::CommandFactory;

#[test]
fn every_flag_has_a_key_and_every_key_a_flag() {
    let command = Command::command();
    let mut names: Vec<String> = command
        .get_arguments()
        .filter(|argument| !["help", "version"].contains(&argument.get_id().as_str()))
        .map(|argument| argument.get_long().unwrap_or(argument.get_id().as_str()).to_owned())
        .collect();
    // The tables of a plan have no flag.
    names.extend(["journey", "request", "target"].map(str::to_owned));
    names.sort();
    let mut keys: Vec<&str> = keys_of::<Options>().to_vec();
    keys.sort_unstable();
    assert_eq!(names, keys);
    assert!(keys.len() > 40, "{keys:?}");
}

#[test]
fn every_flag_parses_by_its_long_name_in_toml() {
    let files = [include_str!("every_key.toml"), include_str!("other_keys.toml")];
    let values = files.map(|text| text.parse::<toml::Table>().unwrap());
    let command = Command::command();
    for argument in command.get_arguments().filter(|argument| argument.get_id() != "help") {
        let name = argument.get_long().unwrap_or(argument.get_id().as_str());
        let value = values.iter().find_map(|file| file.get(name)).expect(name).clone();
        let text = toml::Table::from_iter([(name.to_owned(), value)]).to_string();
        let options = Options::from_toml("plan.toml", &text)
            .unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_ne!(options, Options::default(), "{text} had no effect");
        let merged = Options::default().or(options.clone());
        assert_eq!(merged, options, "{text} is lost under flags that say nothing");
        let over = options.clone().or(Options::default());
        assert_eq!(over, options, "{text} is lost over a plan that says nothing");
    }
}

#[test]
fn the_definition_is_sound_and_keeps_the_commands_description() {
    Command::command().debug_assert();
    let short = Command::command().render_help().to_string();
    let long = Command::command().render_long_help().to_string();
    assert!(short.starts_with("The command's own description"), "{short}");
    assert!(long.starts_with("The command's own description"), "{long}");
    for heading in [
        "Load",
        "Requests",
        "Script",
        "Expected responses",
        "Streams of events",
        "Network",
        "HTTP/2",
        "TLS",
        "Timeouts",
        "Recording",
        "Output",
        "Progress",
    ] {
        assert!(short.contains(&format!("\n{heading}:\n")), "{heading} is missing in {short}");
    }
    assert!(long.contains("Examples:") && long.len() > short.len());
    for argument in Command::command().get_arguments() {
        assert!(argument.get_help().is_some(), "{} has no help", argument.get_id());
    }
}

#[test]
fn flags_mean_what_they_mean_in_wrk() {
    let options =
        flags(&["-c", "1k", "-t2", "-d", "30", "-R2k", "--timeout", "2", "http://h/"]).unwrap();
    assert_eq!(options.load.connections.unwrap().get(), 1_000);
    assert_eq!(options.load.threads.unwrap().get(), 2);
    assert_eq!(options.load.duration.unwrap().get(), 30_000_000_000);
    assert_eq!(options.load.rate.unwrap().events, 2_000);
    assert_eq!(options.timeouts.timeout.unwrap().get(), 2_000_000_000);
}

#[test]
fn bad_values_are_refused_with_the_flag_and_the_remedy() {
    let table: [(&[&str], &str); 12] = [
        (
            &["-R", "0"],
            "invalid value '0' for '--rate <RATE>': a rate must be above zero; write events \
             per time, such as 20k, 20k/s, 30/m or 0.01/s",
        ),
        (
            &["-R", "-5"],
            "invalid value '-5' for '--rate <RATE>': a rate cannot be negative; write events per \
             time, such as 20k, 20k/s, 30/m or 0.01/s",
        ),
        (
            &["-R", "NaN"],
            "invalid value 'NaN' for '--rate <RATE>': not a rate; write events per time, such as \
             20k, 20k/s, 30/m or 0.01/s",
        ),
        (
            &["-R", "2G"],
            "invalid value '2G' for '--rate <RATE>': too large; a rate can be at most 1G/s",
        ),
        (
            &["-d", "0"],
            "invalid value '0' for '--duration <TIME>': a duration must be above zero; write \
             a number and a unit, such as 250us, 10ms, 1.5s, 30 or 2m",
        ),
        (
            &["-n", "0"],
            "invalid value '0' for '--requests <N>': a count must be above zero; write a \
             whole number such as 100, 1k or 2M",
        ),
        (
            &["-c", "0"],
            "invalid value '0' for '--connections <N>': a count must be above zero; write a \
             whole number such as 100, 1k or 2M",
        ),
        (
            &["-p", "0"],
            "invalid value '0' for '--pipeline <N>': a count must be above zero; write a \
             whole number such as 100, 1k or 2M",
        ),
        (
            &["--digits", "6"],
            "invalid value '6' for '--digits <N>': histograms keep 1 to 5 digits; write a number \
             from 1 to 5",
        ),
        (
            &["-H", "nonsense"],
            "invalid value 'nonsense' for '--header <HEADER>': a header needs a colon; write \
             `Name: value`",
        ),
        (
            &["-X", "GET /"],
            "invalid value 'GET /' for '--method <METHOD>': not a method; write a word without \
             blanks, such as GET or PUT",
        ),
        (
            &["--load", "rmap 1..2 over 5s"],
            "invalid value 'rmap 1..2 over 5s' for '--load <SHAPE>': part 1: unknown shape \
             \"rmap\"; write one of hold, ramp, step, burst, replay; did you mean \"ramp\"?",
        ),
    ];
    for (arguments, message) in table {
        let error = flags(arguments).expect_err(message).to_string();
        let first_line = error.lines().next().unwrap_or_default();
        assert_eq!(first_line, format!("error: {message}"), "{arguments:?}");
    }
}

#[test]
fn a_plan_is_told_from_a_url() {
    assert!(looks_like_plan("plan.toml") && looks_like_plan("./a/b.TOML"));
    assert!(
        !looks_like_plan("http://h/x.toml")
            && !looks_like_plan("localhost:8080")
            && !looks_like_plan(".toml")
    );
}

#[test]
fn tables_of_a_plan_have_these_keys() {
    assert_eq!(
        keys_of::<RequestOptions>(),
        [
            "name",
            "method",
            "path",
            "url",
            "target",
            "header",
            "headers",
            "body",
            "json",
            "body-file",
            "form",
            "chunked",
            "expect-continue",
            "pieces",
            "piece-gap",
            "break-off-after",
            "call",
            "weight",
            "expect-status",
            "expect-body-bytes",
            "expect-body",
            "reply",
            "wait",
            "stream",
            "stream-error",
            "stream-end",
            "tokens",
            "token",
            "input-tokens",
            "llm",
            "think",
            "repeat",
            "when",
            "capture",
            "once"
        ]
    );
}
