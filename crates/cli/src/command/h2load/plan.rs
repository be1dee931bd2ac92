//! Translates h2load's options to those of a Candor run: the only place that does so.

use std::io;
use std::path::{Path, PathBuf};

use candor_plan::load::{Part, Shape};
use candor_plan::options::{Options, ReadFile, RequestOptions};
use candor_plan::url::HttpUrl;
use candor_plan::values::{
    Direct, Method, Names, Nanos, PositiveNanos, RequestPath, SmallCount, WindowBits,
};
use candor_plan::{Outputs, Plan, PlanError, Rate, Secrets, StatusSet, Trace};

use super::arguments::{Asked, Timing};
use super::script::{self, Script};
use super::values::connect_to;
use crate::getopt::{Refusal, text};

/// h2load waits forever; here a request times out after this time, unless `-N` or `-T` allow more.
const PATIENCE_NS: u64 = 30_000_000_000;
/// h2load's limit for the windows of QUIC.
const MOST_QUIC_WINDOW_BITS: u8 = 26;
/// The drain, which is limited because it keeps a script that calls h2load waiting.
const LONGEST_DRAIN_NS: u64 = 5_000_000_000;

/// The plan of a run, and where its results go.
pub(super) fn build(asked: &Asked, files: &dyn ReadFile) -> Result<(Plan, Outputs), Refusal> {
    let script = match &asked.timing {
        Timing::Script { file, most } => {
            Some(script::parse(&text(files, file, "--timing-script-file")?, most.as_ref())?)
        }
        _ => None,
    };
    let uris = uris(asked, script.as_ref(), files)?;
    let files = WithSchedule { files, schedule: script.as_ref().map(|one| one.schedule(asked)) };
    let options = options(asked, &uris, script.as_ref())?;
    let (plan, outputs) = options.build(&files).map_err(|error| match error {
        PlanError::Url { url, .. } => Refusal(format!("invalid URI: {url}")),
        other => Refusal::new(other),
    })?;
    let trace = asked.log_file.is_some().then_some(Trace::All);
    Ok((plan.with(|parts| parts.recording.trace = trace).map_err(Refusal::new)?, outputs))
}

/// All URIs in order, from the script, the input file or the command line.
fn uris(
    asked: &Asked,
    script: Option<&Script>,
    files: &dyn ReadFile,
) -> Result<Vec<String>, Refusal> {
    if let Some(script) = script {
        return Ok(script.uris.clone());
    }
    let Some(file) = &asked.input_file else { return Ok(asked.uris.clone()) };
    let text = text(files, file, "-i")?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let uris: Vec<String> = lines.map(str::to_owned).collect();
    if uris.is_empty() { Err(Refusal::new("No URI given")) } else { Ok(uris) }
}

/// The options of the run.
fn options(asked: &Asked, uris: &[String], script: Option<&Script>) -> Result<Options, Refusal> {
    let no_uri = || Refusal::new("no URI available");
    let (base, unix_socket) =
        match asked.base.as_deref().map(|base| (base, base.strip_prefix("unix:"))) {
            None => (None, None),
            Some((_, Some(path))) => (None, Some(PathBuf::from(path))),
            Some((base, None)) => (Some(base), None),
        };
    let first = base.map_or_else(|| uris.first().map(String::as_str).ok_or_else(no_uri), Ok)?;
    let invalid = |uri: &str| Refusal(format!("invalid URI: {}", Secrets::Hidden.url(uri)));
    if !first.contains("://") {
        return Err(invalid(first));
    }
    let origin = HttpUrl::parse(first).map_err(|_| invalid(first))?;
    let paths: Result<Vec<RequestPath>, Refusal> =
        uris.iter().map(|uri| path(uri).ok_or_else(|| invalid(uri))).collect();
    let paths = paths?;
    let first_path = paths.first().cloned().ok_or_else(no_uri)?.into_string();
    let scheme = if origin.is_https { "https" } else { "http" };
    let is_get = asked.data.is_none();
    let url = Some(format!("{scheme}://{}{first_path}", origin.authority));
    let mut options = Options { url, ..Options::default() };
    // h2load knows of no proxy.
    options.connecting.noproxy = [Direct::all()].into();
    options.load.connections = Some(asked.clients);
    options.load.threads = Some(asked.threads);
    options.load.drain = Some(Nanos(LONGEST_DRAIN_NS));
    options.requests.header.clone_from(&asked.headers);
    options.requests.method = method(asked, is_get)?;
    options.requests.literal = true;
    options.requests.body_file.clone_from(&asked.data);
    options.requests.connection_lifetime = asked.active_timeout;
    // As in h2load, a response of any status has a time; the output counts statuses separately.
    options.expected.expect_status = Some(StatusSet { ranges: vec![(100, 999)] });
    options.connecting.unix_socket = unix_socket;
    let other = asked.connect_to.as_ref().map(|to| connect_to(to, origin.port));
    options.connecting.connect_to = other.transpose()?;
    options.timeouts.idle_timeout = asked.inactivity_timeout;
    options.timeouts.timeout = PositiveNanos::new(patience_ns(asked));
    options.recording.interval = asked.interval;
    options.output.json.clone_from(&asked.result);
    options.output.show_secrets = asked.show_secrets;
    if !options.requests.header.iter().any(|one| one.name().eq_ignore_ascii_case("user-agent")) {
        let agent = format!("User-Agent: h2load candor/{}", env!("CARGO_PKG_VERSION"));
        options.requests.header.push(agent.parse().map_err(Refusal::new)?);
    }
    if paths.len() > 1 {
        let table = |path| RequestOptions { path: Some(path), ..RequestOptions::default() };
        options.requests.request = paths.into_iter().map(table).collect();
    }
    let options = spoken(options, asked, origin.is_https)?;
    let options = timed(options, asked, script)?;
    Ok(connecting(options, asked))
}

/// The path of a URI, or a path itself.
fn path(uri: &str) -> Option<RequestPath> {
    match uri.contains("://") {
        true => HttpUrl::parse(uri).ok()?.path.parse().ok(),
        false => uri.parse().ok(),
    }
}

fn method(asked: &Asked, is_get: bool) -> Result<Option<Method>, Refusal> {
    match &asked.method {
        Some(method) => Ok(Some(method.parse().map_err(Refusal::new)?)),
        None if is_get => Ok(None),
        None => Ok(Some("POST".parse().map_err(Refusal::new)?)),
    }
}

fn patience_ns(asked: &Asked) -> u64 {
    let more = [asked.inactivity_timeout, asked.active_timeout];
    more.into_iter().flatten().map(PositiveNanos::get).fold(PATIENCE_NS, u64::max)
}

/// The protocol and its settings.
fn spoken(mut options: Options, asked: &Asked, is_https: bool) -> Result<Options, Refusal> {
    let offered: Vec<&str> = asked.spoken.alpn.iter().map(String::as_str).collect();
    let is_h3 = offered == ["h3"];
    let is_h1 = match (is_https, &offered[..]) {
        (false, _) => asked.spoken.h1_in_clear && !is_h3,
        (true, ["http/1.1"]) => true,
        (true, _) => false,
    };
    options.http2.h1 = is_h1;
    options.http2.h3 = is_h3;
    options.http2.h2c = !is_h1 && !is_h3 && !is_https;
    options.http2.h2 = is_https && offered == ["h2"];
    if is_https {
        if offered.len() > 1 {
            options.tls.alpn = Some(names(&asked.spoken.alpn)?);
        }
        options.tls.sni.clone_from(&asked.sni);
        // h2load checks no certificates.
        options.tls.insecure = true;
        if !asked.ciphers.names.is_empty() {
            options.tls.tls_ciphers = Some(names(&asked.ciphers.names)?);
        }
        if !asked.groups.names.is_empty() {
            options.tls.tls_groups = Some(names(&asked.groups.names)?);
        }
    }
    if is_h1 {
        // As in h2load, bodies are not pipelined.
        options.requests.pipeline = if asked.data.is_some() { None } else { Some(asked.streams) };
        return Ok(options);
    }
    options.http2.streams = Some(asked.streams);
    options.http2.window_bits = asked.window_bits;
    options.http2.connection_window_bits = asked.connection_window_bits;
    options.http2.header_table_size = asked.table_size;
    if is_h3 {
        // h2load's default is above it, too.
        let capped = |bits: Option<WindowBits>| match bits {
            Some(bits) if bits.get() <= MOST_QUIC_WINDOW_BITS => Some(bits),
            _ => WindowBits::of_any_size(MOST_QUIC_WINDOW_BITS),
        };
        options.http2.window_bits = capped(asked.window_bits);
        options.http2.connection_window_bits = capped(asked.connection_window_bits);
        return Ok(options);
    }
    options.http2.max_frame_size = asked.frame_size;
    options.http2.encoder_header_table_size = asked.encoder_table_size;
    Ok(options)
}

fn names(list: &[String]) -> Result<Names, Refusal> {
    list.join(",").parse().map_err(Refusal::new)
}

/// How requests are timed, and when the run ends.
fn timed(mut options: Options, asked: &Asked, script: Option<&Script>) -> Result<Options, Refusal> {
    match &asked.timing {
        Timing::Requests(count) => options.load.requests = Some(*count),
        Timing::Duration { main, warm_up } => {
            options.load.duration = Some(*main);
            options.load.warm_up = Some(*warm_up);
        }
        Timing::Script { .. } => {
            options.load.load = Some(Shape { parts: vec![Part::Replay(SCHEDULE.into())] });
            options.requests.sequence = script.map_or(Vec::new(), |script| script.sequence(asked));
        }
    }
    if let Some(Rate { events, per_ns }) = asked.rps {
        // The rate of each client; all clients share one exact schedule.
        let events = events.checked_mul(u64::from(asked.clients.get()));
        let rate = events.map(|events| Rate { events, per_ns });
        options.load.rate =
            Some(rate.ok_or_else(|| Refusal::new("--rps: Invalid value: too large"))?);
    }
    Ok(options)
}

/// New connections at a rate: each makes its share of the requests and then ends.
fn connecting(mut options: Options, asked: &Asked) -> Options {
    if asked.connect_rate.is_some() {
        options.load.connect_rate = asked.connect_rate;
        options.load.connect_during_run = true;
        if let Timing::Requests(count) = asked.timing {
            let share = count.get().div_ceil(u64::from(SmallCount::get(asked.clients)));
            options.requests.requests_per_connection = candor_plan::values::Count::new(share);
        }
    }
    options
}

/// The name of the file with the schedule of a timing script.
const SCHEDULE: &str = "the timing script";

/// Files, and the schedule of a timing script as one of them.
struct WithSchedule<'a> {
    files: &'a dyn ReadFile,
    schedule: Option<String>,
}

impl ReadFile for WithSchedule<'_> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match &self.schedule {
            Some(schedule) if path == Path::new(SCHEDULE) => Ok(schedule.clone().into_bytes()),
            _ => self.files.read(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use candor_plan::{HttpVersion, Load, Segment, Work};

    use super::super::Name;
    use super::super::arguments::{Request, parse};
    use super::*;

    /// Files of the tests.
    struct Memory;

    impl ReadFile for Memory {
        fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
            match path.to_str() {
                Some("uris") => Ok(b"http://h:1/a\nhttps://elsewhere/b?c\n\n/d\n".to_vec()),
                Some("script") => Ok(b"0\thttp://h:1/a\n1.5\thttp://h:1/b\n4\t/a\n".to_vec()),
                Some("body") => Ok(b"xyz".to_vec()),
                _ => Err(io::ErrorKind::NotFound.into()),
            }
        }
    }

    fn built(words: &str) -> Result<Plan, String> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        match parse(Name::H2load, &words) {
            Ok(Request::Run(asked)) => {
                build(&asked, &Memory).map(|(plan, _)| plan).map_err(|refusal| refusal.0)
            }
            other => panic!("{words:?}: {other:?}"),
        }
    }

    #[test]
    fn no_command_line_panics() {
        let corpus = [
            "-n 100 -c 10 -m 5 -t 2 -w 30 -W 30 -H a:b http://h:1/a https://elsewhere/b",
            "-D 10 --warm-up-time=1 -T 5 -N 3 -r 10 --rate-period=1s -p h2c http://h/",
            "-i uris --timing-script-file=script --base-uri=http://h/ -d body --connect-to=a:1",
            "--npn-list=h2,http/1.1 --ciphers=ECDHE --groups=X25519 --h1 --log-file=x -f 32k",
        ];
        for words in candor_testkit::mutate::Mutations::of_texts(&corpus, 1).take(5000) {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            if let Ok(Request::Run(asked)) = parse(Name::H2load, &words) {
                let _ = build(&asked, &Memory);
            }
        }
    }

    fn plan(words: &str) -> Plan {
        built(words).unwrap()
    }

    fn paths(plan: &Plan) -> Vec<&str> {
        plan.work.requests().iter().map(|one| one.path.as_str()).collect()
    }

    #[test]
    fn what_is_spoken_follows_the_scheme_and_the_lists() {
        let http = |words: &str| plan(words).target.http;
        assert_eq!(http("http://h/"), HttpVersion::H2);
        assert_eq!(http("--h1 http://h/"), HttpVersion::H1);
        assert_eq!(http("-p http/1.1 http://h/"), HttpVersion::H1);
        assert_eq!(http("https://h/"), HttpVersion::Negotiated);
        assert_eq!(http("--npn-list=h2 https://h/"), HttpVersion::H2);
        assert_eq!(http("--h1 https://h/"), HttpVersion::H1);
        let alpn = plan("--npn-list=http/1.1,h2 https://h/").target.tls.clone().unwrap().alpn;
        assert_eq!(alpn, ["http/1.1", "h2"]);
    }

    #[test]
    fn http_3_is_for_https_and_has_the_windows_of_quic() {
        for words in ["--h3 https://h/", "--alpn-list=h3 -m8 -f 32K https://h/"] {
            let plan = plan(words);
            let windows = &plan.connections.windows;
            assert_eq!(plan.target.http, HttpVersion::H3);
            assert_eq!(plan.target.tls.clone().unwrap().alpn, ["h3"]);
            assert_eq!((windows.stream_bits, windows.connection_bits), (26, 26));
        }
        let small = &plan("--h3 -m8 -w20 -W 21 --header-table-size=8K https://h/").connections;
        assert_eq!((small.streams, small.frames.header_table_bytes), (8, 8192));
        assert_eq!((small.windows.stream_bits, small.windows.connection_bits), (20, 21));
        let words = "--h3 http://h/";
        assert!(built(words).unwrap_err().contains("QUIC is always encrypted"), "{words}");
    }

    #[test]
    fn the_name_in_the_handshake_is_the_one_that_was_asked_for() {
        let name = |words: &str| plan(words).target.tls.clone().map(|tls| tls.server_name);
        assert_eq!(name("--sni=other.example https://h/"), Some("other.example".to_owned()));
        assert_eq!(name("https://h/"), Some("h".to_owned()));
        assert_eq!(name("--sni=other.example http://h/"), None, "clear text has none");
    }

    #[test]
    fn streams_are_a_pipeline_over_http_1_and_windows_are_what_was_asked() {
        let one =
            &plan("-n20 -c2 -m8 -w10 -W16 -f 32K --header-table-size=0 http://h/").connections;
        assert_eq!((one.streams, one.pipeline, one.windows.stream_bits), (8, 1, 10));
        assert_eq!((one.frames.max_bytes, one.frames.header_table_bytes), (32768, 0));
        assert_eq!(plan("--h1 -n20 -c2 -m8 http://h/").connections.pipeline, 8);
        assert_eq!(plan("--h1 -n20 -c2 -m8 -d body http://h/").connections.pipeline, 1);
        assert_eq!(plan("-d body http://h/").work.requests()[0].method, "POST");
    }

    #[test]
    fn uris_are_taken_in_turn_and_the_first_says_where() {
        let plan = plan("-i uris -n9 -c3");
        assert_eq!(paths(&plan), ["/a", "/b?c", "/d"]);
        assert_eq!(plan.target.authority, "h:1");
        let based = self::plan("-B http://other:7 -i uris");
        assert_eq!((based.target.authority.as_str(), paths(&based)[0]), ("other:7", "/a"));
        let unix = self::plan("-B unix:/tmp/s http://h/x");
        assert_eq!(unix.target.endpoint, candor_plan::Endpoint::Unix { path: "/tmp/s".into() });
        assert_eq!(built("nowhere/"), Err("invalid URI: nowhere/".to_owned()));
    }

    #[test]
    fn the_rate_of_each_client_is_one_exact_rate_of_all() {
        let Load::Open(load) = &plan("--rps 3 -c 7 -n 70 http://h/").load else { panic!("open") };
        let rate = Rate::per_second(21);
        assert_eq!(load.segments, [Segment::Hold { rate, duration_ns: None }]);
    }

    #[test]
    fn connections_at_a_rate_have_their_share_of_the_requests() {
        let one = &plan("-r 2 --rate-period 500ms -c 8 -n 80 http://h/").connections;
        assert_eq!(one.connect_rate, Some(Rate { events: 2, per_ns: 500_000_000 }));
        assert_eq!((one.requests_per_connection, one.connect_during_run), (Some(10), true));
    }

    #[test]
    fn every_client_follows_the_script() {
        let plan = plan("--timing-script-file script -c 2");
        let Load::Open(load) = &plan.load else { panic!("open") };
        let offsets_ns = [0, 0, 1_500_000, 1_500_000, 4_000_000, 4_000_000];
        assert_eq!(load.segments, [Segment::replay(offsets_ns)]);
        // A path alone belongs to the server of the first URI.
        assert_eq!(paths(&plan), ["/a", "/b", "/a"]);
        let Work::Requests(requests) = &plan.work else { panic!("{:?}", plan.work) };
        assert_eq!(requests.sequence.whole(), [0, 0, 1, 1, 2, 2]);
        let short = self::plan("--timing-script-file script -n 1 -c 1");
        assert_eq!(paths(&short), ["/a"]);
    }
}
