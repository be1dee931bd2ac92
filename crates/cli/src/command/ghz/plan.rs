//! Translates ghz's options to those of a Candor run: the only place that does so.

use std::path::{Path, PathBuf};

use candor_grpc::Codec;
use candor_plan::load::Shape;
use candor_plan::options::{Options, ReadFile, RequestOptions};
use candor_plan::values::{Count, Header, Nanos, PositiveNanos, Size, SmallCount};
use candor_plan::{Outputs, Plan, PlanError, Rate, Trace};

use super::arguments::{Asked, AtEnd, Schedule};
use super::data;
use crate::getopt::{Refusal, text};

/// ghz's defaults.
pub(super) const CONCURRENCY: u32 = 50;
pub(super) const TOTAL: u64 = 200;
pub(super) const TIMEOUT_NS: u64 = 20_000_000_000;
/// Instead of no timeout: a call that hangs would end no run.
const LONGEST_NS: u64 = 24 * 3_600_000_000_000;
/// The calls of a connection with `--async`: what most servers allow is less.
const MANY: u32 = 1000;
/// The longest response, unless the options have another: that of ghz.
const LONGEST_BYTES: u64 = i32::MAX as u64;
/// The highest rate of a schedule without an end.
const MOST_PER_S: f64 = 1e9;

/// The plan of a run, and where its results go.
pub(super) fn build(asked: &Asked, files: &dyn ReadFile) -> Result<(Plan, Outputs), Refusal> {
    let (plan, outputs) = untraced(asked, files)?;
    if !asked.needs_calls() {
        return Ok((plan, outputs));
    }
    let plan = plan.with(|parts| parts.recording.trace = Some(Trace::All)).map_err(Refusal::new)?;
    Ok((plan, outputs))
}

fn untraced(asked: &Asked, files: &dyn ReadFile) -> Result<(Plan, Outputs), Refusal> {
    let options = options(asked, files)?;
    let messages = match &asked.binary {
        Some(file) => binary(asked, file, &options, files)?,
        None => messages(asked, files)?,
    };
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
    Ok(data::messages(&data::holes(&given, asked.is_literal, &known(asked))?))
}

fn known(asked: &Asked) -> data::Known<'_> {
    data::Known {
        call: asked.call.as_ref(),
        name: asked.name.as_deref(),
        workers: asked.concurrency.map_or(CONCURRENCY, SmallCount::get),
        connections: asked.connections.map_or(1, SmallCount::get),
    }
}

/// The messages of a file in binary, as JSON: the schema says how they are read.
fn binary(
    asked: &Asked,
    file: &Path,
    options: &Options,
    files: &dyn ReadFile,
) -> Result<Vec<String>, Refusal> {
    let wrong = |problem: &str| Refusal(format!("binary: {}: {problem}", file.display()));
    let bytes = files.read(file).map_err(|error| wrong(&error.to_string()))?;
    let (plan, _) = built(in_turn(options.clone(), &["{}".to_owned()], asked), files)?;
    let schema = plan.wire.calls().and_then(|calls| calls.schema().ok());
    let method = schema.and_then(|schema| schema.method(&plan.work.requests()[0].path).ok());
    let method = method.ok_or_else(|| wrong("the method has no schema"))?;
    let parts = match method.kind.client_streams() {
        true => data::counted(&bytes)
            .ok_or_else(|| wrong("messages of a stream have their length in front, as a varint"))?,
        false => vec![&bytes[..]],
    };
    let shown = parts.into_iter().map(|part| {
        let json = candor_grpc::show(&method.input, Codec::Proto, part, usize::MAX);
        // What looks like a hole is text.
        json.map(|json| json.replace("${", "$${")).map_err(|error| wrong(&error.to_string()))
    });
    shown.collect()
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
    let (host, socket) = endpoint(&asked.host);
    let mut options = Options { url: Some(format!("{scheme}://{host}/")), ..Options::default() };
    options.connecting.unix_socket = socket;
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
    options.websocket.max_message = asked.max_receive.or(Some(Size(LONGEST_BYTES)));
    options.output.json.clone_from(&asked.result);
    options.output.show_secrets = asked.show_secrets;
    load(asked, options)
}

/// The host of a target as gRPC names it, and its socket if that is a unix one.
fn endpoint(target: &str) -> (&str, Option<PathBuf>) {
    for scheme in ["unix://", "unix:"] {
        if let Some(path) = target.strip_prefix(scheme) {
            return ("localhost", Some(path.into()));
        }
    }
    let schemes = ["dns:///", "passthrough:///", "passthrough:", "dns:"];
    let host = schemes.iter().find_map(|scheme| target.strip_prefix(scheme));
    (host.unwrap_or(target), None)
}

fn metadata(asked: &Asked, files: &dyn ReadFile) -> Result<Vec<Header>, Refusal> {
    let given = match (&asked.metadata, &asked.metadata_file) {
        (Some(given), _) => given.clone(),
        (None, Some(file)) => text(files, file, "-M")?,
        (None, None) => "{}".to_owned(),
    };
    let (given, known) = (data::metadata(&given)?, known(asked));
    let authority = asked.authority.iter().map(|name| ("Host".to_owned(), name.clone()));
    given
        .into_iter()
        .chain(authority)
        .map(|(name, value)| {
            let value = data::holes(&value, asked.is_literal, &known)?;
            Header::new(&name, &value).map_err(|error| Refusal(format!("metadata: {error}")))
        })
        .collect()
}

/// How calls are timed, and when the run ends.
fn load(asked: &Asked, mut options: Options) -> Result<Options, Refusal> {
    let count = |given: Option<SmallCount>, default| given.map_or(default, SmallCount::get);
    let connections = count(asked.connections, 1);
    let calls = match asked.workers_change {
        false => count(asked.concurrency, CONCURRENCY),
        true => most_workers(asked)?.max(connections),
    };
    if connections > calls {
        return Err(Refusal::new("connections: there are more than calls at a time; raise -c"));
    }
    options.load.connections = SmallCount::new(connections);
    options.load.threads = asked.cpus.and_then(|cpus| SmallCount::new(cpus.get().min(connections)));
    let streams = match (asked.is_async, asked.duration) {
        (false, _) => calls.div_ceil(connections),
        (true, Some(_)) => MANY,
        // All of them at once, as far as a connection may have them.
        (true, None) => {
            let total = asked.total.map_or(TOTAL, Count::get);
            total.div_ceil(connections.into()).clamp(1, MANY.into()) as u32
        }
    };
    options.http2.streams = SmallCount::new(streams);
    match asked.duration {
        Some(duration) => options.load.duration = Some(duration),
        None => {
            options.load.requests = asked.total.or_else(|| Count::new(TOTAL));
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
        }
        Schedule::Step | Schedule::Line => options.load.load = Some(shape(asked)?),
    }
    Ok(options)
}

/// Where calls come at a rate, they need the most workers of a schedule at most; how many there are before is not theirs to
/// feel. Without a rate the workers are the load.
fn most_workers(asked: &Asked) -> Result<u32, Refusal> {
    let has_rate = asked.rps.is_some() || asked.schedule != Schedule::Const;
    match asked.workers.most().and_then(SmallCount::new) {
        Some(most) if has_rate => Ok(most.get()),
        Some(_) => Err(Refusal::new(
            "concurrency-schedule: without a rate the concurrency is the same in the whole run; add -r, or use --load-schedule",
        )),
        None => Err(Refusal::new(
            "concurrency-schedule: it has no highest number of workers up to 1,000,000; add --concurrency-end",
        )),
    }
}

/// The seconds after which the run has ended, whatever its schedule has until then. A rate that grows by `step` every
/// `step_s` has sent `start·t + step·t²/(2·step_s)` calls after t seconds.
fn longest_s(asked: &Asked, step_s: f64) -> f64 {
    let s = |time: PositiveNanos| time.get() as f64 / 1e9;
    if let Some(duration) = asked.duration {
        return s(duration);
    }
    let (start, slope) = (asked.load_start as f64, asked.load_step as f64 / step_s);
    let total = asked.total.map_or(TOTAL, Count::get) as f64;
    // A rate that falls ends at zero, or its calls before.
    let root = (start * start + 2.0 * slope * total).max(0.0).sqrt();
    let by_calls = (root - start) / slope + step_s;
    asked.max_duration.map_or(by_calls, |most| by_calls.min(s(most)))
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
    // Without an end, the longest time decides where it is, and without that the end of the run.
    let end = match load_end {
        Some(end) => *end,
        None => {
            let most_s = match load_max_duration {
                Some(most) => most.get() as f64 / 1e9,
                None => longest_s(asked, step_s),
            };
            let steps = if load_max_duration.is_some() {
                most_s / step_s
            } else {
                (most_s / step_s).ceil()
            };
            (*start as f64 + *step as f64 * steps).clamp(0.0, MOST_PER_S) as u64
        }
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
                Some("one.bin") => Ok(vec![8, 7, 18, 4, b'$', b'{', b'x', b'}']),
                Some("many.bin") => Ok(vec![2, 8, 7, 2, 8, 9]),
                Some("d.json") => Ok(br#"{"id": 7}"#.to_vec()),
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
    }

    #[test]
    fn a_schedule_without_an_end_lasts_as_long_as_the_run() {
        let segments = |words: &[&str]| match &plan(words).load {
            Load::Open(open) => open.segments.clone(),
            other => panic!("{other:?}"),
        };
        let per_s = Rate::per_second;
        let ramp = |from, to, duration_s: u64| Segment::Ramp {
            from: per_s(from),
            to: per_s(to),
            duration_ns: duration_s * 1_000_000_000,
        };
        let hold = |rate, duration_ns| Segment::Hold { rate: per_s(rate), duration_ns };
        let line = ["--load-schedule=line", "--load-start=10", "--load-step=5"];
        let told = segments(&[&line[..], &["-z", "20s"]].concat());
        assert_eq!(told, [ramp(10, 110, 20), hold(110, None)]);
        // 10·t + 5·t²/2 calls are 400 after 10.8 s.
        let told = segments(&[&line[..], &["-n", "400"]].concat());
        assert_eq!(told, [ramp(10, 70, 12), hold(70, None)]);
        let falls = ["--load-schedule=line", "--load-start=40", "--load-step=-2", "-n", "900"];
        assert_eq!(segments(&falls), [ramp(40, 0, 20), hold(1, None)]);
        let step = ["--load-schedule=step", "--load-start=5", "--load-step=5"];
        let told = segments(&[&step[..], &["--load-step-duration=4s", "-z", "10s"]].concat());
        let s4 = Some(4_000_000_000);
        assert_eq!(told, [hold(5, s4), hold(10, s4), hold(15, s4), hold(20, s4), hold(20, None)]);
    }

    #[test]
    fn calls_without_a_rate_leave_all_at_once() {
        let of = |words: &[&str]| {
            let plan = plan(words);
            assert!(!plan.load.is_open());
            (plan.connections.count, plan.connections.streams)
        };
        assert_eq!(of(&["--async"]), (1, 200));
        assert_eq!(of(&["--async", "-n", "10000", "--connections", "4"]), (4, 1000));
        assert_eq!(of(&["--async", "-z", "5s"]), (1, 1000));
    }

    #[test]
    fn workers_that_change_have_room_for_the_most_of_them() {
        let streams = |words: &[&str]| {
            let fixed = ["--concurrency-schedule=step", "--concurrency-step=5", "-r", "10"];
            plan(&[&fixed[..], words].concat()).connections.streams
        };
        assert_eq!(streams(&["--concurrency-start=5", "--concurrency-end=50"]), 50);
        let down = ["--concurrency-start=50", "--concurrency-step=-5"];
        assert_eq!(streams(&down), 50);
        let by_time = ["--concurrency-start=20", "--concurrency-max-duration=30s"];
        assert_eq!(streams(&by_time), 170);
        assert_eq!(streams(&[&by_time[..], &["--concurrency-step-duration=10s"]].concat()), 35);
    }

    #[test]
    fn targets_of_grpc_are_read() {
        let of = |host: &str| {
            let words = ["--insecure", "--proto=a.proto", "--call", "a.S.One", host];
            let plan = built_of(&words).unwrap();
            (plan.target.authority.clone(), plan.target.endpoint.to_string())
        };
        assert_eq!(of("passthrough:///h:1").0, "h:1");
        assert_eq!(of("dns:///h:1").0, "h:1");
        for host in ["unix:/run/s", "unix:///run/s"] {
            let (authority, endpoint) = of(host);
            assert_eq!(authority, "localhost");
            assert!(endpoint.contains("/run/s"), "{endpoint}");
        }
    }

    #[test]
    fn messages_in_binary_are_those_of_the_file() {
        let request = |method: &str, file: &str| {
            let words = ["--insecure", "--proto=a.proto", "--call", method, "h:1", "-B", file];
            built_of(&words).map(|plan| plan.work.requests()[0].clone())
        };
        let one = request("a.S.One", "one.bin").unwrap();
        assert_eq!(one.body.whole(), [0, 0, 0, 0, 8, 8, 7, 18, 4, b'$', b'{', b'x', b'}']);
        let many = request("a.S.Many", "many.bin").unwrap();
        assert_eq!(many.call.unwrap().messages, 2);
        assert_eq!(many.body.whole(), [0, 0, 0, 0, 2, 8, 7, 0, 0, 0, 0, 2, 8, 9]);
        assert!(request("a.S.One", "none.bin").unwrap_err().contains("none.bin"));
        assert!(request("a.S.Many", "one.bin").unwrap_err().contains("a varint"));
    }

    #[test]
    fn the_longest_response_is_that_of_ghz() {
        let bytes = |words: &[&str]| plan(words).wire.calls().unwrap().message_bytes;
        assert_eq!(bytes(&[]), (1 << 31) - 1);
        assert_eq!(bytes(&["--max-recv-message-size", "4MB"]), 4_000_000);
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
        let of_file = plan(&["-d", "@d.json"]);
        assert_eq!(of_file.work.requests()[0].body.whole(), [0, 0, 0, 0, 2, 8, 7]);
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
        says(&["-O", "prometheus"], "prometheus is not supported");
        says(&["-O", "yaml"], "is not known; write summary, json, ");
        says(&["--stream-interval=1s"], "all messages of a call are sent at once");
        says(&["--concurrency-schedule=step", "--concurrency-start=5"], "it has no highest number");
        let line = ["--concurrency-schedule=line", "--concurrency-start=5", "--concurrency-end=9"];
        says(&line, "add -r, or use --load-schedule");
        says(&["-d", "{{.InputName}}"], "{{.InputName}} is not supported");
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
            "--insecure --proto=a.proto --call a.S.Many -B many.bin --async --skipFirst 3 -O csv unix:/s",
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
