//! Translates ghz's options to those of a Candor run: the only place that does so.

use candor_plan::load::Shape;
use candor_plan::options::{Options, ReadFile, RequestOptions};
use candor_plan::values::{Header, Nanos, PositiveNanos, SmallCount};
use candor_plan::{Outputs, Plan, PlanError, Rate};

use super::arguments::{Asked, AtEnd, Schedule};
use super::data;
use crate::getopt::{Refusal, text};

/// ghz's defaults.
const CONCURRENCY: u32 = 50;
const TOTAL: u64 = 200;
const TIMEOUT_NS: u64 = 20_000_000_000;
/// Instead of no timeout: a call that hangs would end no run.
const LONGEST_NS: u64 = 24 * 3_600_000_000_000;
/// The calls of a connection with `--async`: what most servers allow is less.
const MANY: u32 = 1000;

/// The plan of a run, and where its results go.
pub(super) fn build(asked: &Asked, files: &dyn ReadFile) -> Result<(Plan, Outputs), Refusal> {
    let messages = messages(asked, files)?;
    let options = options(asked, files)?;
    // In turn, unless the method takes all of them: its schema says so.
    let in_turn = built(in_turn(options.clone(), &messages, asked), files)?;
    let streams = |plan: &Plan| {
        plan.work
            .requests()
            .iter()
            .filter_map(|one| one.call)
            .all(|call| call.kind.client_streams())
    };
    if !streams(&in_turn.0) || messages.len() == 1 && asked.stream_call_count.is_none() {
        return Ok(in_turn);
    }
    let count = asked.stream_call_count.map_or(messages.len(), |count| count.get() as usize);
    let all: Vec<&str> = messages.iter().map(String::as_str).cycle().take(count).collect();
    let mut options = options;
    options.requests.body = Some(all.join("\n"));
    built(options, files)
}

fn built(options: Options, files: &dyn ReadFile) -> Result<(Plan, Outputs), Refusal> {
    options.build(files).map_err(|error| match error {
        PlanError::Url { .. } => Refusal(format!("host: {error}")),
        PlanError::Value { option, problem } => {
            Refusal(format!("{}: {problem}", option.trim_start_matches('-')))
        }
        other => Refusal::new(other),
    })
}

/// The messages, with holes of ours.
fn messages(asked: &Asked, files: &dyn ReadFile) -> Result<Vec<String>, Refusal> {
    let given = match (&asked.data, &asked.data_file) {
        (Some(data), _) => data.clone(),
        (None, Some(file)) => text(files, file, "-D")?,
        (None, None) => "{}".to_owned(),
    };
    Ok(data::messages(&data::holes(&given, asked.is_literal)?))
}

fn in_turn(mut options: Options, messages: &[String], asked: &Asked) -> Options {
    match messages {
        [one] => options.requests.body = Some(one.clone()),
        many => {
            let table = |message: &String| RequestOptions {
                name: asked.call.as_ref().map(|call| call.name().to_owned()),
                body: Some(message.clone()),
                ..RequestOptions::default()
            };
            options.requests.request = many.iter().map(table).collect();
        }
    }
    options
}

/// All options but the messages.
fn options(asked: &Asked, files: &dyn ReadFile) -> Result<Options, Refusal> {
    let scheme = if asked.insecure { "http" } else { "https" };
    let host = asked.host.strip_prefix("dns:///").unwrap_or(&asked.host);
    let mut options = Options { url: Some(format!("{scheme}://{host}/")), ..Options::default() };
    options.calls.call.clone_from(&asked.call);
    // As with ghz, .proto counts more.
    match &asked.proto {
        Some(proto) => {
            let folder = proto.parent().unwrap_or("".as_ref()).to_owned();
            options.calls.proto = vec![proto.clone()];
            if !asked.import_paths.is_empty() {
                options.calls.import_path = asked.import_paths.clone();
                options.calls.import_path.extend([folder, ".".into()]);
            }
        }
        None => options.calls.protoset.clone_from(&asked.protoset),
    }
    options.requests.header = metadata(asked, files)?;
    if !asked.insecure {
        options.tls.insecure = asked.skip_tls;
        if !asked.skip_tls {
            options.tls.cacert.clone_from(&asked.cacert);
        }
        options.tls.cert.clone_from(&asked.cert);
        options.tls.key.clone_from(&asked.key);
        options.tls.sni.clone_from(&asked.cname);
    }
    let timeout = asked.timeout.unwrap_or_else(|| PositiveNanos::new(TIMEOUT_NS));
    options.calls.deadline = timeout;
    options.timeouts.timeout = timeout.or_else(|| PositiveNanos::new(LONGEST_NS));
    options.timeouts.connect_timeout = asked.connect_timeout;
    options.websocket.max_message = asked.max_receive;
    options.output.json.clone_from(&asked.result);
    options.output.show_secrets = asked.show_secrets;
    load(asked, options)
}

fn metadata(asked: &Asked, files: &dyn ReadFile) -> Result<Vec<Header>, Refusal> {
    let given = match (&asked.metadata, &asked.metadata_file) {
        (Some(given), _) => given.clone(),
        (None, Some(file)) => text(files, file, "-M")?,
        (None, None) => "{}".to_owned(),
    };
    let given = data::metadata(&given)?;
    let authority = asked.authority.iter().map(|name| ("Host".to_owned(), name.clone()));
    given
        .into_iter()
        .chain(authority)
        .map(|(name, value)| {
            let value = data::holes(&value, asked.is_literal)?;
            Header::new(&name, &value).map_err(|error| Refusal(format!("metadata: {error}")))
        })
        .collect()
}

/// How calls are timed, and when the run ends.
fn load(asked: &Asked, mut options: Options) -> Result<Options, Refusal> {
    let count = |given: Option<SmallCount>, default| given.map_or(default, SmallCount::get);
    let (calls, connections) = (count(asked.concurrency, CONCURRENCY), count(asked.connections, 1));
    if connections > calls {
        return Err(Refusal::new("connections: there are more than calls at a time; raise -c"));
    }
    options.load.connections = SmallCount::new(connections);
    options.load.threads = asked.cpus.and_then(|cpus| SmallCount::new(cpus.get().min(connections)));
    let streams = if asked.is_async { MANY } else { calls.div_ceil(connections) };
    options.http2.streams = SmallCount::new(streams);
    match asked.duration {
        Some(duration) => options.load.duration = Some(duration),
        None => {
            options.load.requests = asked.total.or_else(|| candor_plan::values::Count::new(TOTAL));
            options.load.duration = asked.max_duration;
        }
    }
    options.load.drain = match asked.at_end {
        AtEnd::Wait => options.timeouts.timeout.map(|timeout| Nanos(timeout.get())),
        AtEnd::GiveUp if asked.duration.is_some() => Some(Nanos(0)),
        AtEnd::GiveUp => None,
    };
    match asked.schedule {
        Schedule::Const => {
            options.load.rate = asked.rps.map(|count| Rate::per_second(count.get()));
            if asked.is_async && options.load.rate.is_none() {
                return Err(Refusal::new(
                    "async: without a rate there is no end to the calls in flight; add -r",
                ));
            }
        }
        Schedule::Step | Schedule::Line => options.load.load = Some(shape(asked)?),
    }
    Ok(options)
}

/// A rate that changes, in the words of our loads.
fn shape(asked: &Asked) -> Result<Shape, Refusal> {
    let Asked { load_start: start, load_step: step, load_end, load_max_duration, .. } = asked;
    let lacks = |option: &str| Refusal(format!("{option}: is required for this schedule"));
    if *step == 0 {
        return Err(lacks("load-step"));
    }
    let step_s = asked.load_step_duration.map_or(1.0, |one| one.get() as f64 / 1e9);
    if asked.schedule == Schedule::Step && asked.load_step_duration.is_none() {
        return Err(lacks("load-step-duration"));
    }
    // Without an end, the longest time decides where it is.
    let end = match (load_end, load_max_duration) {
        (Some(end), _) => *end,
        (None, Some(most)) => {
            let steps = most.get() as f64 / 1e9 / step_s;
            (*start as f64 + *step as f64 * steps).max(0.0) as u64
        }
        (None, None) => return Err(lacks("load-end or load-max-duration")),
    };
    if (end > *start) != (*step > 0) {
        return Err(Refusal::new("load-step: it leads away from load-end; change its sign"));
    }
    let by = step.unsigned_abs();
    let changing = match asked.schedule {
        // A step of no calls at all is left out.
        Schedule::Step => {
            let (from, to) = ((*start).max(u64::from(*start == 0) * by), end.max(1));
            match from == to {
                true => format!("hold {from} for {step_s}s"),
                false => format!("step {from}..{to} by {by} every {step_s}s"),
            }
        }
        _ => format!("ramp {start}..{end} over {}s", end.abs_diff(*start) as f64 / by as f64),
    };
    let text = format!("{changing}; hold {}", end.max(1));
    text.parse().map_err(|error| Refusal(format!("load-schedule: {error}")))
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::Path;

    use candor_plan::{Load, Segment};

    use super::super::Name;
    use super::super::arguments::{Request, parse};
    use super::*;

    /// Files of the tests.
    struct Memory;

    impl ReadFile for Memory {
        fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
            match path.to_str() {
                Some("a.proto" | "p/a.proto") => Ok(b"syntax = 'proto3'; package a; message M { int64 id = 1; string s = 2; }\
                    service S { rpc One(M) returns (M); rpc Many(stream M) returns (M); }"
                    .to_vec()),
                Some("c.json") => Ok(br#"{"proto": "a.proto", "call": "a.S/One", "total": 7, "host": "h:1", "insecure": true}"#.to_vec()),
                Some("m.json") => Ok(br#"{"x-id": "{{.RequestNumber}}"}"#.to_vec()),
                _ => Err(io::ErrorKind::NotFound.into()),
            }
        }
    }

    fn built_of(words: &[&str]) -> Result<Plan, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        match parse(Name::CandorGhz, &words, &Memory) {
            Ok(Request::Run(asked)) => {
                build(&asked, &Memory).map(|(plan, _)| plan).map_err(|refusal| refusal.0)
            }
            Ok(other) => panic!("{words:?}: {other:?}"),
            Err(refusal) => Err(refusal.0),
        }
    }

    const FIXED: [&str; 5] = ["--insecure", "--proto=a.proto", "--call", "a.S.One", "h:1"];

    fn plan(words: &[&str]) -> Plan {
        built_of(&[&FIXED[..], words].concat()).unwrap()
    }

    #[test]
    fn the_defaults_are_those_of_ghz() {
        let plan = plan(&[]);
        assert_eq!(plan.stop.count, Some(200));
        assert_eq!((plan.connections.count, plan.connections.streams), (1, 50));
        assert_eq!(plan.timeouts.request_ns, 20_000_000_000);
        assert_eq!(plan.work.requests()[0].path, "/a.S/One");
        let deadline =
            plan.work.requests()[0].headers.iter().find(|(name, _)| name == "grpc-timeout");
        assert_eq!(deadline.unwrap().1, "20000000u");
        assert!(!plan.load.is_open());
    }

    #[test]
    fn concurrency_is_shared_by_connections() {
        let one = plan(&["-c", "20", "--connections", "5"]).connections.clone();
        assert_eq!((one.count, one.streams), (5, 4));
        assert!(built_of(&[&FIXED[..], &["-c", "2", "--connections", "5"]].concat()).is_err());
    }

    #[test]
    fn rates_and_their_schedules() {
        let segments = |words: &[&str]| match &plan(words).load {
            Load::Open(open) => open.segments.clone(),
            other => panic!("{other:?}"),
        };
        let hold = |rate, duration_ns| Segment::Hold { rate: Rate::per_second(rate), duration_ns };
        assert_eq!(segments(&["-r", "100"]), [hold(100, None)]);
        let step = [
            "--load-schedule=step",
            "--load-start=50",
            "--load-step=10",
            "--load-end=70",
            "--load-step-duration=5s",
        ];
        let s = |s: u64| Some(s * 1_000_000_000);
        assert_eq!(
            segments(&step),
            [hold(50, s(5)), hold(60, s(5)), hold(70, s(5)), hold(70, None)]
        );
        let line = ["--load-schedule=line", "--load-start=200", "--load-step=-2", "--load-end=50"];
        let ramp = Segment::Ramp {
            from: Rate::per_second(200),
            to: Rate::per_second(50),
            duration_ns: 75_000_000_000,
        };
        assert_eq!(segments(&line), [ramp, hold(50, None)]);
        let wrong = ["--load-schedule=line", "--load-start=200", "--load-step=2", "--load-end=50"];
        assert!(built_of(&[&FIXED[..], &wrong].concat()).unwrap_err().contains("change its sign"));
        assert!(built_of(&[&FIXED[..], &["--async"]].concat()).unwrap_err().contains("add -r"));
    }

    #[test]
    fn data_are_in_turn_or_the_messages_of_a_stream() {
        let two = r#"[{"id": 1}, {"id": {{.RequestNumber}}}]"#;
        let plan_of = plan(&["-d", two]);
        assert_eq!(plan_of.work.requests().len(), 2);
        assert!(plan_of.work.requests()[1].holes && !plan_of.work.requests()[0].holes);
        let many = |words: &[&str]| {
            let fixed = ["--insecure", "--proto=a.proto", "--call", "a.S.Many", "h:1"];
            let plan = built_of(&[&fixed[..], words].concat()).unwrap();
            assert_eq!(plan.work.requests().len(), 1);
            plan.work.requests()[0].call.unwrap().messages
        };
        assert_eq!(many(&["-d", two]), 2);
        assert_eq!(many(&["-d", two, "--stream-call-count", "5"]), 5);
        assert_eq!(many(&["-d", "{}"]), 1);
        assert_eq!(many(&["-d", "{}", "--stream-call-count", "3"]), 3);
    }

    #[test]
    fn options_of_a_file_and_of_the_command_line() {
        let of_file = built_of(&["--config", "c.json"]).unwrap();
        assert_eq!((of_file.stop.count, of_file.target.authority.as_str()), (Some(7), "h:1"));
        let both = built_of(&["--config=c.json", "-n", "9", "other:2", "-M", "m.json"]).unwrap();
        assert_eq!((both.stop.count, both.target.authority.as_str()), (Some(9), "other:2"));
        assert!(both.work.requests()[0].headers.iter().any(|(name, value)| (
            name.as_str(),
            value.as_str()
        ) == (
            "x-id", "${seq}"
        )));
    }

    #[test]
    fn what_is_not_supported_is_refused_by_name() {
        let says = |words: &[&str], part: &str| {
            let refusal = built_of(&[&FIXED[..], words].concat()).unwrap_err();
            assert!(refusal.contains(part), "{words:?}: {refusal}");
        };
        says(&["-e"], "messages are not compressed");
        says(&["-O", "html"], "html is not supported");
        says(&["--stream-interval=1s"], "all messages of a call are sent at once");
        says(&["--concurrency-schedule=step"], "--load-schedule");
        says(&["-d", "{{.WorkerID}}"], "{{.WorkerID}} is not supported");
        says(&["-d", "{\"sid\": 1}"], "has no field \"sid\"");
        says(&["--nothing"], "unrecognized option '--nothing'");
        assert!(built_of(&["--insecure", "h:1"]).unwrap_err().contains("--call"));
        assert!(built_of(&["--call", "a.B/C"]).unwrap_err().contains("HOST:PORT"));
    }

    #[test]
    fn no_command_line_panics() {
        let corpus = [
            "--insecure --proto=a.proto --call a.S/One -d {\"id\":{{.RequestNumber}}} -c 5 -n 10 h:1",
            "--skipTLS --proto a.proto --call=a.S.Many -r 10 -z 1m30s --connections=2 -m {\"a\":\"b\"} h:1",
            "--config=c.json --load-schedule=step --load-start=5 --load-step=-1 --load-end=1 -O pretty",
        ];
        for words in candor_testkit::mutate::Mutations::of_texts(&corpus, 1).take(3000) {
            let words: Vec<&str> = words.split(' ').collect();
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            if let Ok(Request::Run(asked)) = parse(Name::CandorGhz, &words, &Memory) {
                let _ = build(&asked, &Memory);
            }
        }
    }
}
