//! Suites from their text to their directory, against simulated servers: no sockets, no time.

use std::path::Path;

use crate::common::MS;
use candor_engine::{Control, drive};
use candor_lab::matrix::{About, Directory, Kind};
use candor_lab::suite::content::Contents;
use candor_lab::suite::matrix::{Matrix, Selection, check_plans, expand};
use candor_lab::suite::model::{ServerKind, Suite};
use candor_lab::suite::run::fingerprint;
use candor_lab::suite::{Bench, CellPlan, KIND, file, run};
use candor_lab::{LabError, Outcome};
use candor_plan::options::{Options, ReadFile};
use candor_render::{Depth, compose, csv};
use candor_report::document::{Host, Tool};
use candor_report::experiment::suite::Suite as SuiteDocument;
use candor_report::{Document, Facts};
use candor_testkit::sim::{Fifo, Link, SimReactor};

struct NoFiles;

impl ReadFile for NoFiles {
    fn read(&self, _: &Path) -> std::io::Result<Vec<u8>> {
        Err(std::io::Error::other("no files here"))
    }
}

/// Servers `fast` (1 ms a request) and `slow` (2 ms), one at a time; `broken` never starts.
pub(super) struct Simulated {
    pub(super) made: Vec<String>,
    rates: Vec<Option<f64>>,
    /// Interrupts at this trial, from 1.
    interrupt_at: Option<usize>,
}

impl Simulated {
    pub(super) fn new(interrupt_at: Option<usize>) -> Self {
        Simulated { made: Vec::new(), rates: Vec::new(), interrupt_at }
    }
}

impl Bench for Simulated {
    fn trial(
        &mut self,
        cell: &CellPlan,
        _: u64,
        mut options: Options,
    ) -> Result<Document, LabError> {
        if self.interrupt_at == Some(self.made.len() + 1) {
            return Err(LabError::Interrupted);
        }
        self.made.push(format!("{} {:?}", cell.key(), options.load.seed));
        self.rates.push(options.load.rate.map(|rate| rate.per_s_f64()));
        let service_ns = match cell.server.name.as_str() {
            "fast" => MS,
            "slow" => 2 * MS,
            name => {
                return Err(LabError::Target {
                    name: name.to_owned(),
                    problem: "it ended at once".to_owned(),
                    log_tail: Vec::new(),
                });
            }
        };
        options.url = Some("http://127.0.0.1/".to_owned());
        options.connecting.no_pin = true;
        let (plan, _) = options.build(&Contents { files: &NoFiles }).expect("a plan");
        let plan = plan.with(|parts| {
            parts.threads.count = Some(1);
            // The simulated server gives every request the same response.
            parts.work.requests_mut().iter_mut().for_each(|one| {
                one.expect = candor_plan::Expect {
                    status: candor_plan::StatusSet::below_400(),
                    body: candor_plan::BodyExpect::Any,
                };
            });
        });
        let plan = plan.expect("a plan");
        let reactor = SimReactor::new(Fifo::new(service_ns), Link::default());
        let record = drive(&plan, reactor, &Control::default());
        let facts = Facts { started_unix_ms: self.made.len() as u64, ..Facts::default() };
        Ok(Document::new(&facts, &plan, &record))
    }
}

pub(super) const SMALL: &str = r#"
name = "small"
about = "a suite of tests"
rounds = 3
scenarios = ["hello", "json"]
protocols = ["h1"]

[run]
duration = "1s"
connections = 4
threads = 1
pacing = "sleep"

[[server]]
name = "fast"
url = "http://fast/"
scenarios = ["all"]

[[server]]
name = "slow"
url = "http://slow/"
scenarios = ["hello"]

[[load]]
name = "tail"
of-peak = ["50%", "90%"]

[[load]]
name = "closed"
"#;

fn suite(text: &str) -> Suite {
    file::parse("small.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

fn matrix(suite: &Suite, selection: &Selection) -> Result<Matrix, LabError> {
    expand(suite, selection, &|_| None)
}

/// One server over several versions of HTTP: what is of QUIC alone is in the cells that have it.
#[test]
fn keys_of_quic_are_for_its_cells() {
    let text = "name = 'versions'\nrounds = 1\nscenarios = ['hello']\nprotocols = ['h1', 'h2-tls', 'h3']\n\
                [run]\nconnections = 2\ncc = 'bbr'\nmtu = 1300\n[[server]]\nname = 'one'\nembedded = true\n";
    let suite = suite(text);
    let matrix = matrix(&suite, &Selection::default()).unwrap();
    check_plans(&matrix, &Contents { files: &NoFiles }).unwrap();
    let quic = |cell: &CellPlan| {
        let http2 = &cell.run.http2;
        (cell.protocol.to_string(), http2.h3, http2.cc.is_some(), http2.mtu.is_some())
    };
    let of = |name: &str, is_quic| (name.to_owned(), is_quic, is_quic, is_quic);
    let cells: Vec<_> = matrix.cells.iter().map(quic).collect();
    assert_eq!(cells, [of("h1", false), of("h2-tls", false), of("h3", true)]);
}

fn about() -> About {
    About {
        tool: Tool { name: "candor".to_owned(), version: "0.0".to_owned() },
        arguments: vec!["candor".to_owned(), "bench".to_owned(), "small.toml".to_owned()],
        host: Host::default(),
        secrets: Default::default(),
        cores: "target 0, loader 1".to_owned(),
    }
}

fn measured(
    text: &str,
    directory: &Path,
    bench: &mut dyn Bench,
) -> Result<Outcome<SuiteDocument>, LabError> {
    selected(text, &Selection::default(), directory, bench)
}

pub(super) fn selected(
    text: &str,
    selection: &Selection,
    directory: &Path,
    bench: &mut dyn Bench,
) -> Result<Outcome<SuiteDocument>, LabError> {
    let suite = suite(text);
    let matrix = matrix(&suite, selection)?;
    check_plans(&matrix, &Contents { files: &NoFiles })?;
    let fingerprint = fingerprint(&suite, selection, &NoFiles);
    let store = open(directory, &KIND, &fingerprint)?;
    run(&suite, &matrix, about(), &store, bench, &mut ())
}

/// A directory whose trials are of the machine of [`about`].
fn open(path: &Path, kind: &'static Kind, fingerprint: &str) -> Result<Directory, LabError> {
    Directory::open(path, kind, fingerprint, &about().host)
}

pub(super) fn names(selection: &[&str]) -> Option<Vec<String>> {
    Some(selection.iter().map(|&name| name.to_owned()).collect())
}

#[test]
fn every_built_in_scenario_is_there_and_builds_what_it_can() {
    let suite = suite("[[server]]\nname = 'embedded'\nembedded = true\n");
    assert_eq!(suite.scenarios.len(), 45);
    let main = suite.scenarios.iter().filter(|one| one.sets.contains(&"main".to_owned()));
    assert_eq!(main.count(), 14);
    let matrix = matrix(&suite, &Selection::default()).unwrap();
    check_plans(&matrix, &Contents { files: &NoFiles }).unwrap();
    assert_eq!(matrix.notes, []);
    let plan_of = |name: &str| {
        let cell = matrix.cells.iter().find(|cell| cell.scenario.name == name).unwrap();
        let run = Options { url: Some("ws://127.0.0.1:9/".to_owned()), ..cell.run.clone() };
        run.build(&Contents { files: &NoFiles })
    };
    let (plan, _) = plan_of("websocket_msg_throughput").unwrap();
    assert_eq!(
        (&*plan.work.requests()[0].path, plan.work.requests()[0].body.whole().len()),
        ("/ws/echo", 1024)
    );
    assert!(plan.wire.websocket().is_some());
    let fanout = matrix.cells.iter().find(|cell| cell.scenario.name == "sse_fanout").unwrap();
    assert_eq!(fanout.run.load.connections.map(|one| one.get()), Some(500));
    let routes = matrix.cells.iter().find(|cell| cell.scenario.name == "varied_paths_router");
    assert_eq!(routes.unwrap().run.requests.request.len(), 100);
    // The matrix includes TLS only for the scenario that needs it.
    let tls: Vec<_> = matrix.cells.iter().filter(|cell| cell.protocol.is_tls()).collect();
    let handshakes = |cell: &&&CellPlan| cell.scenario.name == "tls_handshake_throughput";
    assert_eq!(tls.iter().filter(handshakes).count(), 1);
}

#[test]
fn mistakes_are_told_with_line_key_and_remedy() {
    let server = "[[server]]\nname = \"a\"\n";
    for (text, words) in [
        (
            "[[server]]\nname = \"a\"\nembeded = true\n",
            &["s.toml:3:1", "embeded", "did you mean \"embedded\""][..],
        ),
        ("[run]\nconections = 5\n", &["s.toml:2:1", "did you mean \"connections\""]),
        ("[run]\nduration = \"5x\"\n", &["s.toml:2:12", "run.duration", "not a duration"]),
        ("rounds = 0\n[[server]]\nname = \"a\"\nembedded = true\n", &["s.toml:1:10", "1 to 1000"]),
        (
            "scenarios = [\"helo\"]\n",
            &["s.toml:1:14", "no scenario \"helo\"", "did you mean \"hello\""],
        ),
        ("name = \"x\"\n", &["there is no server", "[[server]]"]),
        (server, &["s.toml:2:8", "no way to start or reach", "embedded = true"]),
        (
            "[[server]]\nname = \"a\"\ncommand = []\nscenarios = [\"all\"]\n",
            &["s.toml:3:11", "command is empty"],
        ),
        (
            "[[server]]\nname = \"a\"\ncommand = \"./a 'b\"\nscenarios = [\"all\"]\n",
            &["s.toml:3:11", "a ' is not closed"],
        ),
        (
            "[[server]]\nname = \"a\"\nurl = \"http://a/\"\n",
            &["s.toml:2:8", "scenarios that the server supports"],
        ),
        ("[[server]]\nname = \"../a\"\nembedded = true\n", &["s.toml:2:8", "cannot be the name"]),
        (
            "[[server]]\nname = \"a\"\nembedded = true\n[[server]]\nname = \"a\"\nembedded = true\n",
            &["s.toml:5:8", "two servers"],
        ),
        (
            "[[server]]\nname = \"a\"\nembedded = true\nprotocols = [\"h4\"]\n",
            &["s.toml:4:14", "no protocol \"h4\"", "h1, h2, h1-tls, h2-tls, h3"],
        ),
        (
            "[[server]]\nname = \"a\"\ncommand = [\"x\"]\nscenarios = [\"all\"]\nready = \"tpc\"\n",
            &["s.toml:5:9", "did you mean \"tcp\""],
        ),
        (
            "[[server]]\nname = \"a\"\ncommand = [\"x\"]\nurl = \"http://127.0.0.1:{port}\"\nscenarios = [\"all\"]\nfiles = { \"../x\" = \"\" }\n",
            &["s.toml:6", "outside"],
        ),
        (
            "[[scenario]]\nname = \"mine\"\n[[scenario.request]]\npth = \"/\"\n",
            &["s.toml:4:1", "did you mean \"path\""],
        ),
        ("[[scenario]]\nname = \"mine\"\n", &["s.toml:2:8", "[[scenario.request]]"]),
        (
            "[[scenario]]\nname = \"mine\"\neach = \"9..1\"\nrequest = [{ path = \"/{i}\" }]\n",
            &["s.toml:3:8", "0..99"],
        ),
        (
            "[[server]]\nname = \"a\"\nembedded = true\n[[load]]\nname = \"tail\"\nof-peak = [\"90%\"]\n",
            &["s.toml:5:8", "without of-peak"],
        ),
        (
            "[[server]]\nname = \"a\"\nembedded = true\n[[load]]\nname = \"t\"\nof-peak = [\"much\"]\n",
            &["s.toml:6:12", "write e.g."],
        ),
        ("rounds = \n", &["s.toml:1:10", "not valid TOML"]),
        (
            "[[server]]\nname = \"a\"\nembedded = true\n[[scenario]]\nname = \"mine\"\nrequest = [{ path = \"/\" }]\n[scenario.run]\nchunked = 256\n",
            &[
                "s.toml:8:1",
                "chunked: no request of the scenario \"mine\"",
                "`body-file`",
                "leave `chunked` out",
            ],
        ),
        (
            "scenarios = [\"hello\", \"json\"]\n[run]\nconnections = 5\nexpect-continue = true\n[[server]]\nname = \"a\"\nembedded = true\n",
            &[
                "s.toml:4:1",
                "expect-continue: no request of the suite's scenarios",
                "leave `expect-continue` out",
            ],
        ),
        (
            "scenarios = [\"hello\", \"chunked_request_body\"]\n[[server]]\nname = \"a\"\nembedded = true\nscenarios = [\"hello\"]\nrun = { break-off-after = 5 }\n",
            &["s.toml:6:9", "of the server \"a\""],
        ),
        (
            "scenarios = [\"hello\"]\n[[server]]\nname = \"a\"\nembedded = true\n[[load]]\nname = \"x\"\n[[load]]\nname = \"y\"\n[load.run]\nchunked = 1\n",
            &["s.toml:10:1", "of the suite's scenarios"],
        ),
    ] {
        let message = match file::parse("s.toml", text) {
            Ok(_) => panic!("{text} was taken"),
            Err(error) => error.to_string(),
        };
        for word in words {
            assert!(message.contains(word), "{word:?} is not in {message:?} of\n{text}");
        }
    }
}

/// A command is a list of words, or a line that is split as a shell splits it.
#[test]
fn a_command_is_words_or_a_line() {
    let command = |text: &str| {
        let head =
            "[[server]]\nname = \"a\"\nurl = \"http://127.0.0.1:{port}/\"\nscenarios = [\"all\"]\n";
        match &suite(&format!("{head}command = {text}\n")).servers[0].kind {
            ServerKind::Command(command) => command.command.clone(),
            other => panic!("{other:?}"),
        }
    };
    let words = ["./a", "--on", "127.0.0.1:{port}", "two words"];
    assert_eq!(command(r#"["./a", "--on", "127.0.0.1:{port}", "two words"]"#), words);
    assert_eq!(command(r#""./a --on 127.0.0.1:{port} 'two words'""#), words);
}

#[test]
fn what_cannot_be_done_is_a_note_or_an_error_if_it_was_asked_for() {
    let suite = suite(SMALL);
    let all = matrix(&suite, &Selection::default()).unwrap();
    // fast has two scenarios and slow one, each closed and at two shares of the peak.
    assert_eq!(all.cells.len(), 9);
    assert_eq!(all.notes.len(), 1);
    assert_eq!(
        (all.notes[0].what.as_str(), all.notes[0].why.as_str()),
        ("slow", "does not support json")
    );
    let keys: Vec<_> = all.cells.iter().map(CellPlan::key).collect();
    assert_eq!(keys[0], "hello.h1.fast.closed");
    assert!(keys[3..].iter().all(|key| key.ends_with("pct")), "{keys:?}");
    assert_eq!(all.cells[3].peak_key().as_deref(), Some("hello.h1.fast.closed"));

    let refused = |selection: Selection| matrix(&suite, &selection).unwrap_err().to_string();
    let asked = Selection {
        servers: names(&["slow"]),
        scenarios: names(&["json"]),
        ..Selection::default()
    };
    assert!(refused(asked).contains("slow: by the suite it does not support json"));
    let typo = Selection { servers: names(&["fats"]), ..Selection::default() };
    assert!(refused(typo).contains("it has fast, slow; did you mean \"fast\"?"));
    let tail = Selection { loads: names(&["tail"]), ..Selection::default() };
    assert!(refused(tail).contains("a share of the peak of closed"));
    let h2 = Selection { protocols: names(&["h2"]), ..Selection::default() };
    assert!(refused(h2).contains("fast: does not support h2"));

    // Of many names it is said first how many there are.
    let every = Selection { scenarios: names(&["all"]), ..Selection::default() };
    let notes = matrix(&suite, &every).unwrap().notes;
    let own = notes.iter().find(|note| note.what == "slow").unwrap();
    let (count, listed) = own.why.split_once(": ").unwrap();
    let listed = listed.split(", ").count();
    assert!(listed > 3 && count == format!("does not support {listed} scenarios"), "{own:?}");

    // A program that is not installed.
    let gone = |server: &candor_lab::suite::model::Server| {
        (server.name == "slow").then(|| "the program x is not installed here".to_owned())
    };
    let left = expand(&suite, &Selection::default(), &gone).unwrap();
    assert!(left.notes[0].why.contains("not installed") && left.cells.len() == 6);
    let asked = Selection { servers: names(&["slow"]), ..Selection::default() };
    assert!(expand(&suite, &asked, &gone).unwrap_err().to_string().contains("not installed"));
}

#[test]
fn a_load_may_have_rounds_of_its_own() {
    let text = SMALL.replace("name = \"tail\"\n", "name = \"tail\"\nrounds = 1\n");
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Simulated::new(None);
    let suite = measured(&text, directory.path(), &mut bench).unwrap().document;
    // Three cells at their peaks, thrice; six below them, once.
    assert_eq!((suite.progress(), bench.made.len()), ((15, 15), 15));
    assert!(suite.cells.iter().all(|cell| cell.trials.len() == cell.of_peak.map_or(3, |_| 1)));
    assert!(
        compose::suite(&suite, Depth::Full)
            .markdown()
            .contains("after 0 ns of warm-up, 1 run a cell")
    );
    // Typed options apply to all loads.
    let selection = Selection { rounds: Some(2), ..Selection::default() };
    let typed = matrix(&self::suite(&text), &selection).unwrap();
    assert!(typed.cells.iter().all(|cell| cell.rounds == 2));
    let wrong = file::parse("small.toml", &text.replace("rounds = 1", "rounds = 0")).unwrap_err();
    assert!(wrong.to_string().contains("small.toml:26:10: rounds = 0: write 1 to 1000"), "{wrong}");
}

#[test]
fn a_suite_is_measured_below_each_cells_own_peak() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Simulated::new(None);
    let suite = measured(SMALL, directory.path(), &mut bench).unwrap().document;
    assert!(suite.complete && suite.failures.is_empty());
    assert_eq!(suite.progress(), (27, 27));
    assert!(bench.rates[..9].iter().all(Option::is_none), "peaks come first");
    assert!(bench.rates[9..].iter().all(Option::is_some));
    // 1 and 2 ms a request, one at a time.
    let rate = |server: &str| {
        let trial = suite.cells.iter().find(|one| {
            (one.of_peak.is_none() && one.server == server && one.load == "closed")
                && (one.scenario == "hello" && one.protocol == "h1")
        });
        let trial = trial.and_then(|cell| cell.speaker()).unwrap();
        trial.figures.rate_per_s.unwrap()
    };
    assert!((rate("fast") - 1000.0).abs() < 10.0, "{}", rate("fast"));
    assert!((rate("slow") - 500.0).abs() < 10.0, "{}", rate("slow"));
    for cell in suite.cells.iter().filter(|cell| cell.of_peak.is_some()) {
        let asked = cell.speaker().unwrap().figures.asked_per_s.unwrap();
        let wanted = rate(&cell.server) * cell.of_peak.unwrap();
        assert!((asked / wanted - 1.0).abs() < 0.005, "{}: {asked} {wanted}", cell.name());
        assert_eq!(cell.peak_per_s, Some(rate(&cell.server)));
    }
    // Rounds differ in their order and in their seeds.
    let keys: Vec<Vec<String>> = bench.made[..9]
        .chunks(3)
        .map(|round| round.iter().map(|one| one.split(' ').next().unwrap().to_owned()).collect())
        .collect();
    assert!(keys.iter().any(|round| *round != keys[0]), "{keys:?}");
    assert!(bench.made[0].ends_with("Some(1)") && bench.made[8].ends_with("Some(3)"));

    let readme = compose::suite(&suite, Depth::Full).markdown();
    for part in [
        "# Benchmark results: small",
        "| scenario | in flight | fast req/s | slow req/s | fast p50 / p99 | slow p50 / p99 |",
        "| `json` | 4 | ",
        "### hello, h1, tail",
        "| server | of peak | target | achieved | mean | p50 | p75 | p90 | p95 | p99 | p99.9 | p99.99 | max |",
        "| slow | 90 % | ",
        "- Left out: slow: does not support json",
    ] {
        assert!(readme.contains(part), "{part} is not in\n{readme}");
    }
    let rows = csv::suite(&suite);
    assert_eq!(rows.lines().count(), 28);
    let columns = csv::SUITE_COLUMNS.split(',').count();
    assert!(rows.lines().all(|line| line.split(',').count() == columns), "{rows}");
    let speak = rows.lines().filter(|line| line.split(',').nth(7) == Some("1")).count();
    assert_eq!(speak, 9, "one row speaks for each cell");
}

#[test]
fn an_interruption_costs_the_trial_that_was_going_on() {
    let directory = tempfile::tempdir().unwrap();
    let mut first = Simulated::new(Some(14));
    let outcome = measured(SMALL, directory.path(), &mut first).unwrap();
    assert!(matches!(outcome.stopped, Some(LabError::Interrupted)));
    assert!(!outcome.document.complete);
    assert_eq!(outcome.document.progress(), (13, 27));
    assert!(
        compose::suite(&outcome.document, Depth::Full)
            .markdown()
            .contains("**NOT COMPLETE** 13 of 27 trials")
    );

    // One of the trials is damaged meanwhile: only that one is repeated.
    let damaged = directory.path().join(Directory::trial("hello.h1.fast.closed", 2, ""));
    std::fs::write(&damaged, "{").unwrap();
    let mut second = Simulated::new(None);
    let outcome = measured(SMALL, directory.path(), &mut second).unwrap();
    assert!(outcome.stopped.is_none() && outcome.document.complete);
    assert_eq!(second.made.len(), 27 - 12);
    assert!(second.made.iter().any(|one| one.starts_with("hello.h1.fast.closed")));
    let kept: Vec<_> = first.made.iter().filter(|one| second.made.contains(one)).collect();
    assert_eq!(kept.len(), 1, "{kept:?}");

    // Complete now: no trial is made, and the result is the same.
    let mut third = Simulated::new(None);
    let again = measured(SMALL, directory.path(), &mut third).unwrap().document;
    assert!(third.made.is_empty());
    // Text keeps floats to the last bit but one.
    assert_eq!(csv::suite(&again), csv::suite(&outcome.document));
    let saved = std::fs::read_to_string(directory.path().join("suite.json")).unwrap();
    let saved: candor_report::experiment::suite::Suite = serde_json::from_str(&saved).unwrap();
    assert_eq!(csv::suite(&saved), csv::suite(&again));
}

#[test]
fn a_directory_is_of_one_suite() {
    let directory = tempfile::tempdir().unwrap();
    measured(SMALL, directory.path(), &mut Simulated::new(Some(2))).unwrap();
    let other = SMALL.replace("connections = 4", "connections = 5");
    let error = measured(&other, directory.path(), &mut Simulated::new(None)).unwrap_err();
    assert!(error.to_string().contains("another suite"), "{error}");
    std::fs::write(directory.path().join("suite.json"), "{}").unwrap();
    let error = measured(SMALL, directory.path(), &mut Simulated::new(None)).unwrap_err();
    assert!(error.to_string().contains("damaged"), "{error}");
    // A directory that is not ours stays as it was.
    let foreign = tempfile::tempdir().unwrap();
    std::fs::write(foreign.path().join("thesis.tex"), "").unwrap();
    let error = measured(SMALL, foreign.path(), &mut Simulated::new(None)).unwrap_err();
    assert!(error.to_string().contains("no suite's"), "{error}");
    assert_eq!(std::fs::read_dir(foreign.path()).unwrap().count(), 1);
}

#[test]
fn a_directory_is_one_processs_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let first = open(directory.path(), &KIND, "f").unwrap();
    let also = first.clone();
    drop(first);
    let error = open(directory.path(), &KIND, "f").unwrap_err().to_string();
    let holder = format!("another candor bench (process {})", std::process::id());
    assert!(error.contains(&holder), "{error}");
    drop(also);
    // Nothing was measured: the directory still has no owner.
    open(directory.path(), &KIND, "g").unwrap();
}

#[test]
fn what_profiles_is_checked_and_only_for_servers_of_ours() {
    let with = |line: &str| SMALL.replace("rounds = 3", &format!("rounds = 3\n{line}"));
    let suite = suite(&with("profile-command = 'perf record -p {pid} -o {out}'"));
    let error = matrix(&suite, &Selection::default()).unwrap_err().to_string();
    assert!(error.contains("nothing") && error.contains("fast: it is not managed"), "{error}");
    let named = Selection { servers: names(&["fast"]), ..Selection::default() };
    assert!(matrix(&suite, &named).unwrap_err().to_string().starts_with("fast: it is not managed"));
    let error = file::parse("s.toml", &with("profile-command = 'perf \"'")).unwrap_err();
    assert!(error.to_string().contains("s.toml:5:19"), "{error}");
    assert!(error.to_string().contains("not closed"), "{error}");
    // The profiler is part of the directory's fingerprint.
    let typed = Selection { profile_command: Some("perf".to_owned()), ..Selection::default() };
    let of = |selection| fingerprint(&suite, selection, &NoFiles);
    let usual = Selection::default();
    assert_ne!(of(&typed), of(&usual));
    let longer = Selection { duration: "9s".parse().ok(), ..Selection::default() };
    assert_ne!(of(&longer), of(&usual));
    // These options do not change a trial.
    let more = Selection { rounds: Some(9), show_secrets: true, ..Selection::default() };
    assert_eq!(of(&more), of(&usual));
}

#[test]
fn a_scenario_is_requests_or_a_script_which_is_found_from_the_suite() {
    let text = "[[server]]\nname = 'a'\nembedded = true\n\
                [[scenario]]\nname = 'mine'\n[scenario.run]\nscript = 'load.lua'\n";
    let suite = file::parse("suites/s.toml", text).unwrap();
    let mine = suite.scenarios.iter().find(|one| one.name == "mine").unwrap();
    assert_eq!(mine.run.script.script.as_deref(), Some(Path::new("suites/load.lua")));
}

#[test]
fn options_about_bodies_stand_beside_a_body() {
    let server = "[[server]]\nname = 'a'\nembedded = true\n";
    let mine = "[[scenario]]\nname = 'mine'\n";
    for text in [
        // With several requests or scenarios it applies to those with a body.
        format!("{server}[run]\nchunked = 5\n"),
        format!(
            "scenarios = ['mine']\n{server}{mine}request = [{{ path = '/' }}, {{ body = 'x' }}]\n[scenario.run]\nchunked = 5\n"
        ),
        // The body is in another table.
        format!(
            "scenarios = ['mine']\n{server}{mine}request = [{{ path = '/' }}]\n[scenario.run]\nchunked = 5\n[run]\nbody = 'x'\n"
        ),
        format!(
            "scenarios = ['mine']\n{server}run = {{ chunked = 5 }}\n{mine}request = [{{ path = '/' }}]\n[scenario.run]\nbody-file = 'x'\n"
        ),
    ] {
        suite(&text);
    }
}

/// The only file: its name and its text.
struct OneFile(&'static str, &'static str);

impl ReadFile for OneFile {
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        match path == Path::new(self.0) {
            true => Ok(self.1.into()),
            false => Err(std::io::ErrorKind::NotFound.into()),
        }
    }
}

#[test]
fn a_file_that_changed_makes_another_suite() {
    let of = |lines: &str, files: &dyn ReadFile| {
        let text = format!(
            "[[server]]\nname = 'a'\nembedded = true\n[[scenario]]\nname = 'mine'\n{lines}\n"
        );
        let suite = file::parse("suites/s.toml", &text).unwrap_or_else(|error| panic!("{error}"));
        fingerprint(&suite, &Selection::default(), files)
    };
    for (lines, name) in [
        ("[scenario.run]\nscript = 'x'", "suites/x"),
        ("[[scenario.request]]\nbody-file = 'x'", "suites/x"),
        (
            "request = [{ path = '/' }]\n[[load]]\nname = 'l'\nrun = { load = 'replay x' }",
            "suites/x",
        ),
        ("request = [{ path = '/' }]\n[run]\ncacert = '/x'", "/x"),
    ] {
        let before = of(lines, &OneFile(name, "before"));
        assert_eq!(of(lines, &OneFile(name, "before")), before, "{lines}");
        assert_ne!(of(lines, &OneFile(name, "after")), before, "{lines}");
        assert_ne!(of(lines, &OneFile(name, "")), of(lines, &NoFiles), "{lines}");
    }
    // Content that candor generates is not a file.
    let made = "[[scenario.request]]\nbody-file = 'candor:letters/5'";
    assert_eq!(of(made, &OneFile("candor:letters/5", "x")), of(made, &NoFiles));

    let directory = tempfile::tempdir().unwrap();
    let script = "[scenario.run]\nscript = 'load.lua'";
    let [before, after] = ["wrk.method = 'PUT'", "wrk.method = 'GET'"]
        .map(|text| of(script, &OneFile("suites/load.lua", text)));
    let store = open(directory.path(), &KIND, &before).unwrap();
    let host = about().host;
    let document =
        serde_json::json!({ "format": "candor.suite/1", "fingerprint": before, "host": host });
    store.write("suite.json", &document.to_string()).unwrap();
    drop(store);
    let error = open(directory.path(), &KIND, &after).unwrap_err().to_string();
    assert!(error.contains("older state of this one"), "{error}");
    open(directory.path(), &KIND, &before).unwrap();
    // The kernel's version may change, the number of cores may not.
    let newer = Host { kernel: Some("7".to_owned()), ..about().host };
    Directory::open(directory.path(), &KIND, &before, &newer).unwrap();
    let other = Host { cores: Some(64), ..about().host };
    let error = Directory::open(directory.path(), &KIND, &before, &other).unwrap_err().to_string();
    assert!(error.contains("another machine (unknown; this one: 64 cores)"), "{error}");
}

#[test]
fn a_server_that_fails_is_given_up_and_the_others_go_on() {
    let text =
        SMALL.replace("name = \"slow\"", "name = \"broken\"").replace("rounds = 3", "rounds = 5");
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Simulated::new(None);
    let suite = measured(&text, directory.path(), &mut bench).unwrap().document;
    assert!(suite.complete);
    let tried = bench.made.iter().filter(|one| one.contains(".broken.")).count();
    assert_eq!(tried, 2);
    assert_eq!(suite.progress(), (30, 45));
    assert_eq!(suite.failures.len(), 15);
    assert!(suite.failures[0].why.contains("ended at once"));
    assert!(
        suite.failures[2].why.contains("given up") || suite.failures[3].why.contains("given up")
    );
    assert!(
        suite
            .failures
            .iter()
            .any(|one| one.why.contains("its peak is unknown") || one.why.contains("given up"))
    );
    assert!(compose::suite(&suite, Depth::Full).markdown().contains("- Failed: "));
}

/// Every suite of the repository is right, and so is the example of the guide.
#[test]
fn a_suite_without_loads_has_one_that_is_called_what_it_is() {
    let name = |run| {
        let text =
            format!("scenarios = [\"hello\"]\n{run}[[server]]\nname = \"a\"\nembedded = true\n");
        let suite = suite(&text);
        assert_eq!(suite.loads.len(), 1);
        suite.loads[0].name.clone()
    };
    assert_eq!(name(""), "closed");
    assert_eq!(name("[run]\nrate = \"2k\"\n"), "open");
    assert_eq!(name("[run]\nload = \"ramp 1..10 over 10s\"\n"), "open");
}

#[test]
fn the_suites_of_the_repository_are_right() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files: Vec<_> = std::fs::read_dir(root.join("suites"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        // Those of client libraries are read in clients.rs.
        .filter(|path| !path.to_string_lossy().contains("http-clients"))
        .collect();
    files.sort();
    assert_eq!(files.len(), 11, "{files:?}");
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let suite = file::parse(&path.display().to_string(), &text)
            .unwrap_or_else(|error| panic!("{error}"));
        let matrix = matrix(&suite, &Selection::default()).unwrap();
        check_plans(&matrix, &Contents { files: &NoFiles })
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
    let page = std::fs::read_to_string(root.join("docs/suites.md")).unwrap();
    let example = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let suite = suite(example);
    assert_eq!((suite.servers.len(), suite.loads.len(), suite.scenarios.len()), (3, 2, 15));
}
