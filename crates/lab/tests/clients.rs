//! Client suites from their text to their directory, with drivers that are functions: no process, no
//! socket, no time.

use std::collections::BTreeMap;
use std::path::Path;

use candor_lab::clients::matrix::Absent;
use candor_lab::clients::model::{Asked, Client, PoolRule, Pools, Server, Suite};
use candor_lab::clients::protocol::{Answer, Counts, Described};
use candor_lab::clients::{Bench, CellPlan, KIND, Matrix, Measured, Selection, expand, file, run};
use candor_lab::matrix::{About, Directory, Kind, Trouble};
use candor_lab::{LabError, Outcome};
use candor_record::Histogram;
use candor_render::{Depth, compose, csv};
use candor_report::Style;
use candor_report::document::{Host, Tool};
use candor_report::experiment::clients::Clients;

const SMALL: &str = r#"
name = "small"
rounds = 3
concurrencies = [4, 64]
duration = "2s"

[server]
embedded = true

[[client]]
name = "good"
command = ["driver", "--client", "good"]
null-client = "nothing"

[[client]]
name = "other"
command = ["driver", "--client", "other"]

[[client]]
name = "nothing"
command = ["driver", "--client", "null"]
null = true
"#;

fn suite(text: &str) -> Suite {
    file::parse("small.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

fn described(client: &Client) -> Described {
    let word = |text: &str| text.to_owned();
    Described { client: client.name.clone(), version: word("1.0"), runtime: word("Test 1") }
}

fn matrix(suite: &Suite, selection: &Selection) -> Result<Matrix, LabError> {
    expand(suite, selection, &mut |client| Ok(Ok(described(client))))
}

fn names(names: &[&str]) -> Option<Vec<String>> {
    Some(names.iter().map(|&name| name.to_owned()).collect())
}

/// A reply with requests of 1 ms each, a hundred of them outside of the window.
fn answer(ok: u64, errors: &[(&str, u64)]) -> Answer {
    let mut latency = Histogram::new(3);
    (0..ok).for_each(|n| latency.record(1_000_000 + n));
    let errors = errors.iter().map(|&(kind, count)| (kind.to_owned(), count)).collect();
    Answer {
        window_ns: 2_000_000_000,
        inside: Counts { ok, errors },
        outside: Counts { ok: 100, errors: BTreeMap::new() },
        examples: BTreeMap::new(),
        latency,
    }
}

/// A bench that is a function of the cell and of how often it was measured.
struct Fake<F> {
    made: Vec<String>,
    of: F,
}

impl<F: FnMut(&str, usize) -> Result<(Answer, u64), Trouble>> Bench for Fake<F> {
    fn trial(&mut self, cell: &CellPlan, _: &Asked) -> Result<Measured, Trouble> {
        let key = cell.key();
        let times = self.made.iter().filter(|one| **one == key).count();
        self.made.push(key.clone());
        let (answer, server_answered) = (self.of)(&key, times)?;
        let started_unix_ms = self.made.len() as u64;
        Ok(Measured { started_unix_ms, answer, server_answered, cpu_s: 0.042 })
    }
}

/// A correct reply, with which the server's count agrees.
fn right(key: &str, times: usize) -> (Answer, u64) {
    let answer = answer(2000 + 10 * times as u64, &[]);
    let server = if key.starts_with("nothing") { 0 } else { answer.total().all() };
    (answer, server)
}

fn open(path: &Path, kind: &'static Kind, fingerprint: &str) -> Result<Directory, LabError> {
    Directory::open(path, kind, fingerprint, &Host::default())
}

fn measured(
    directory: &Path,
    of: impl FnMut(&str, usize) -> Result<(Answer, u64), Trouble>,
) -> (Outcome<Clients>, Vec<String>) {
    let suite = suite(SMALL);
    let selection = Selection::default();
    let matrix = matrix(&suite, &selection).unwrap();
    let store = open(directory, &KIND, &run::fingerprint(&suite, &selection)).unwrap();
    let about = About {
        tool: Tool { name: "candor".to_owned(), version: "0.0".to_owned() },
        arguments: vec!["candor".to_owned(), "clients".to_owned()],
        host: Host::default(),
        secrets: Default::default(),
        cores: "server 0, drivers 1".to_owned(),
    };
    let mut bench = Fake { made: Vec::new(), of };
    let outcome =
        run::run(&suite, &matrix, &selection, about, &store, &mut bench, &mut ()).unwrap();
    (outcome, bench.made)
}

#[test]
fn what_is_left_out_of_a_file_has_a_default() {
    let client = "[[client]]\nname = 'a'\ncommand = ['x']\n";
    let least = suite(&format!("concurrencies = [4]\n{client}"));
    assert_eq!(least.head.name, "small", "the file's name");
    assert_eq!(least.pools, Pools::Rule(PoolRule::Plus(1)));
    assert_eq!((least.head.rounds, least.head.seed, least.asked.duration.as_secs()), (3, 1, 5));
    assert_eq!((least.asked.expect_status, least.asked.expect_body_bytes), (200, Some(12)));
    let Server::Command { command, .. } = &least.server else { panic!("{:?}", least.server) };
    assert_eq!(command.join(" "), "beam/bin/target --server raw --scenario httpc_bench");
    // The response of another server is not known.
    let other = format!("concurrencies = [4]\n[server]\ncommand = ['mine']\n{client}");
    assert_eq!(suite(&other).asked.expect_body_bytes, None);
    let path = format!("concurrencies = [4]\n[server]\nembedded = true\npath = '/json'\n{client}");
    let path = suite(&path);
    assert_eq!((path.asked.path.as_deref(), path.asked.expect_body_bytes), (Some("/json"), None));
}

#[test]
fn the_suites_in_the_repository_are_right() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suites");
    for (name, cells) in [("http-clients.toml", 9 * 11), ("http-clients-quick.toml", 0)] {
        let text = std::fs::read_to_string(directory.join(name)).unwrap();
        let suite = file::parse(name, &text).unwrap_or_else(|error| panic!("{error}"));
        let matrix = matrix(&suite, &Selection::default()).unwrap();
        let sending = matrix.cells.iter().filter(|cell| !cell.client.is_null).count();
        assert!(sending >= cells && sending > 0, "{name}: {sending}");
    }
    let page = std::fs::read_to_string(directory.join("../docs/clients.md")).unwrap();
    let example = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    assert_eq!(suite(example).clients.len(), 2);
}

#[test]
fn mistakes_are_told_with_line_key_and_remedy() {
    let client = "[[client]]\nname = \"a\"\ncommand = [\"x\"]\n";
    let with = |line: &str| format!("concurrencies = [4]\n{line}\n{client}");
    for (text, words) in [
        (with("concurency = 4"), &["s.toml:2:1", "did you mean \"concurrencies\""][..]),
        (with("pool = \"concurrency * 2\""), &["s.toml:2:8", "\"concurrency + 1\""]),
        (with("pool = \"concurrency\"\npools = [4]"), &["s.toml:3:9", "leave one of them out"]),
        (with("pools = []"), &["s.toml:2:9", "empty"]),
        (with("pools = [4, 0]"), &["s.toml:2:13", "write 1 to"]),
        (with("pools = [4, 4]"), &["s.toml:2:13", "twice"]),
        (with("rounds = 0"), &["s.toml:2:10", "1 to 1000"]),
        (with("duration = \"5x\""), &["s.toml:2:12", "duration", "not a duration"]),
        (with("[server]\nembeded = true"), &["s.toml:3:1", "did you mean \"embedded\""]),
        (with("[server]\nembedded = true\ncommand = [\"x\"]"), &["s.toml:4:11", "leave one of"]),
        (with("[server]\narguments = [\"x\"]"), &["s.toml:3:13", "embedded = true"]),
        (with("[server]\ncommand = []"), &["s.toml:3:11", "command is empty"]),
        (with("[server]\nexpect-status = 99"), &["s.toml:3:17", "100 to 599"]),
        (with("[server]\npath = \"x\""), &["s.toml:3:8", "path"]),
        (client.to_owned(), &["callers", "concurrencies = [4, 64, 256]"]),
        ("concurrencies = [4]\n".to_owned(), &["there is no client", "[[client]]"]),
        (format!("{}{client}", with("")), &["s.toml:7:8", "two clients"]),
        (with("").replace("\"a\"", "\"a/b\""), &["s.toml:4:8", "cannot be the name"]),
        (with("").replace("[\"x\"]", "[]"), &["s.toml:5:11", "command is empty"]),
        (
            with("") + "null-client = \"b\"\n",
            &["s.toml:6:15", "no client \"b\" with `null = true`"],
        ),
        (with("") + "comand = \"b\"\n", &["s.toml:6:1", "did you mean \"command\""]),
        ("concurrencies = \n".to_owned(), &["s.toml:1:17", "not valid TOML"]),
    ] {
        let message = match file::parse("s.toml", &text) {
            Ok(_) => panic!("{text} was taken"),
            Err(error) => error.to_string(),
        };
        for word in words {
            assert!(message.contains(word), "{word:?} is not in {message:?} of\n{text}");
        }
    }
}

#[test]
fn pools_follow_the_callers_or_are_combined_with_them() {
    let suite = suite(SMALL);
    let keys = |selection: &Selection| -> Vec<String> {
        matrix(&suite, selection).unwrap().cells.iter().map(CellPlan::key).collect()
    };
    let all = ["good.p5.c4", "good.p65.c64", "other.p5.c4", "other.p65.c64"];
    let nulls = ["nothing.p5.c4", "nothing.p65.c64"];
    assert_eq!(keys(&Selection::default()), [&all[..], &nulls].concat());
    let product = Selection {
        clients: names(&["other", "nothing"]),
        pools: Some("1,2".parse().unwrap()),
        concurrencies: Some(vec![8, 9]),
        ..Selection::default()
    };
    // A null client has no connections.
    let wanted = ["other.p1.c8", "other.p2.c8", "other.p1.c9", "other.p2.c9"];
    assert_eq!(keys(&product), [&wanted[..], &["nothing.p1.c8", "nothing.p1.c9"]].concat());
    let typo = Selection { clients: names(&["god"]), ..Selection::default() };
    let error = matrix(&suite, &typo).unwrap_err().to_string();
    assert!(error.contains("it has good, other, nothing; did you mean \"good\"?"), "{error}");
}

#[test]
fn a_client_that_is_missing_is_a_note_or_an_error_if_it_was_asked_for() {
    let suite = suite(&SMALL.replace("null = true", "null = true\nneeds = \"luck\""));
    let of = |selection: &Selection, broken: bool| {
        expand(&suite, selection, &mut |client| {
            Ok(match (client.name.as_str(), broken) {
                ("nothing", false) => Err(Absent::Missing("it is not installed".to_owned())),
                ("nothing", true) => Err(Absent::Broken("it printed garbage".to_owned())),
                _ => Ok(described(client)),
            })
        })
    };
    let left = of(&Selection::default(), false).unwrap();
    assert_eq!((left.cells.len(), left.notes.len(), left.failures.len()), (4, 1, 0));
    assert_eq!(left.notes[0].why, "it is not installed (it needs luck)");
    let left = of(&Selection::default(), true).unwrap();
    assert_eq!((left.cells.len(), left.notes.len(), left.failures.len()), (4, 0, 1));
    let asked = Selection { clients: names(&["nothing"]), ..Selection::default() };
    for broken in [false, true] {
        let error = of(&asked, broken).unwrap_err();
        assert!(matches!(error, LabError::Usage(_)));
        assert!(error.to_string().starts_with("nothing: it "), "{error}");
    }
    let none =
        expand(&suite, &Selection::default(), &mut |_| Ok(Err(Absent::Missing("gone".to_owned()))));
    assert!(none.unwrap_err().to_string().contains("no client of the suite small"));
}

#[test]
fn every_cell_is_measured_in_rounds_of_their_own_order() {
    let directory = tempfile::tempdir().unwrap();
    let (outcome, made) = measured(directory.path(), |key, times| Ok(right(key, times)));
    let clients = outcome.document;
    assert!(clients.complete && clients.failures.is_empty() && clients.wrong() == 0);
    assert_eq!(clients.progress(), (18, 18));
    let rounds: Vec<Vec<String>> = made
        .chunks(6)
        .map(|round| {
            let mut sorted = round.to_vec();
            sorted.sort();
            assert_eq!(sorted.windows(2).filter(|two| two[0] == two[1]).count(), 0, "{round:?}");
            round.to_vec()
        })
        .collect();
    assert!(rounds.iter().any(|round| *round != rounds[0]), "{rounds:?}");
    // 2000, 2010 and 2020 in 2 s: the median represents the cell.
    let cell = &clients.cells[0];
    let speaker = cell.speaker().unwrap();
    assert_eq!((speaker.round, speaker.rate_per_s), (2, 1005.0));
    assert_eq!(cell.spread.unwrap().rate_high_per_s, 1010.0);
    assert_eq!((speaker.requests, speaker.server_answered, speaker.outside), (2110, 2110, 100));
    assert_eq!(speaker.cpu_us_per_request, Some(0.042 * 1e6 / 2110.0));
    assert_eq!(clients.overhead_us(cell), Some(0.042 * 1e6 / 2110.0));
    // This many samples bound the p99, but not the p99.9.
    let p99 = speaker.latency.p99_ns.unwrap();
    assert!((1_001_900..1_002_900).contains(&p99), "{p99}");
    assert_eq!(speaker.latency.p999_ns, None);
    assert_eq!(speaker.latency.max_ns, Some(1_002_009));
    // A second run has nothing left to do.
    let (again, made) = measured(directory.path(), |key, _| panic!("{key} again"));
    assert_eq!((made.len(), again.document.cells), (0, clients.cells));
}

#[test]
fn counts_that_do_not_agree_are_marked_and_made_again() {
    let directory = tempfile::tempdir().unwrap();
    let trials = |ending: &str| {
        let all = std::fs::read_dir(directory.path().join("trials")).unwrap();
        all.filter(|one| one.as_ref().unwrap().file_name().to_str().unwrap().ends_with(ending))
            .count()
    };
    let (outcome, _) = measured(directory.path(), |key, times| {
        let (answer, server) = right(key, times);
        Ok((answer, if key == "other.p5.c4" && times == 1 { server + 1 } else { server }))
    });
    let clients = outcome.document;
    assert_eq!((clients.wrong(), clients.progress()), (1, (18, 18)));
    let cell = clients.cells.iter().find(|one| one.client == "other").unwrap();
    let wrong = cell.wrong().next().unwrap();
    assert_eq!(wrong.disagreement.as_deref(), Some("the driver counts 2,110, the server 2,111"));
    assert_ne!(cell.speaker().unwrap().round, wrong.round);
    assert_eq!((trials(".wrong.json"), trials(".json")), (1, 18));
    let rows = csv::clients(&clients);
    let columns = csv::CLIENTS_COLUMNS.split(',').count();
    assert!(rows.lines().all(|line| line.split(',').count() == columns), "{rows}");
    assert!(
        compose::clients(&clients, Depth::Full)
            .markdown()
            .contains("the driver counts 2,110, the server 2,111")
    );

    let (again, made) = measured(directory.path(), |key, times| Ok(right(key, times)));
    assert_eq!(made, ["other.p5.c4"]);
    assert_eq!((again.document.wrong(), trials(".wrong.json"), trials(".json")), (0, 0, 18));
}

#[test]
fn errors_are_told_by_kind() {
    let directory = tempfile::tempdir().unwrap();
    let (outcome, _) = measured(directory.path(), |key, times| {
        if !key.starts_with("other") {
            return Ok(right(key, times));
        }
        // The server has responded to 20 of 50 that timed out.
        let late = answer(900, &[("timeout", 50), ("body", 50)]);
        Ok((late, 900 + 100 + 50 + 20))
    });
    let clients = outcome.document;
    assert_eq!(clients.wrong(), 0);
    let cell = clients.cells.iter().find(|one| one.client == "other").unwrap();
    let speaker = cell.speaker().unwrap();
    assert_eq!((speaker.failed(), speaker.failed_share), (100, Some(0.1)));
    assert!(
        compose::clients(&clients, Depth::Terminal)
            .text(Style::PLAIN)
            .contains("5.00 % body, 5.00 % timeout"),
        "{}",
        compose::clients(&clients, Depth::Terminal).text(Style::PLAIN)
    );
}

#[test]
fn a_driver_that_fails_is_a_failure_and_the_run_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let broken = |key: &str, times| match key.starts_with("other") {
        true => Err(Trouble::Cell("the driver ended by signal 9".to_owned())),
        false => Ok(right(key, times)),
    };
    let (outcome, made) = measured(directory.path(), broken);
    let clients = outcome.document;
    assert!(clients.complete);
    assert_eq!((clients.progress(), clients.failures.len()), ((12, 18), 6));
    // Three times in a row, and no more.
    assert_eq!(made.iter().filter(|key| key.starts_with("other")).count(), 3);
    assert!(clients.failures[5].why.contains("given up"), "{:?}", clients.failures);
    // The next time it is tried again.
    let (outcome, made) = measured(directory.path(), |key, times| Ok(right(key, times)));
    assert!(made.iter().all(|key| key.starts_with("other")) && made.len() == 6, "{made:?}");
    assert!(outcome.document.failures.is_empty());
}

#[test]
fn what_was_made_survives_an_interruption() {
    let directory = tempfile::tempdir().unwrap();
    let mut left = 7;
    let (outcome, _) = measured(directory.path(), |key, times| {
        left -= 1;
        match left {
            0 => Err(Trouble::Everything(LabError::Interrupted)),
            _ => Ok(right(key, times)),
        }
    });
    assert!(matches!(outcome.stopped, Some(LabError::Interrupted)));
    assert!(!outcome.document.complete);
    assert_eq!(outcome.document.progress(), (6, 18));
    let (outcome, made) = measured(directory.path(), |key, times| Ok(right(key, times)));
    assert_eq!((made.len(), outcome.document.progress()), (12, (18, 18)));
    // The fingerprint of a suite is stable, across compilers and types.
    assert_eq!(run::fingerprint(&suite(SMALL), &Selection::default()), "ef7c008e");
    // Of another suite, or with other options.
    let other = Selection { embedded: true, ..Selection::default() };
    let refused = open(directory.path(), &KIND, &run::fingerprint(&suite(SMALL), &other));
    let error = refused.unwrap_err().to_string();
    assert!(error.contains("it has trials of another suite"), "{error}");
}

#[test]
fn a_directory_is_one_processs_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let first = open(directory.path(), &KIND, "f").unwrap();
    let also = first.clone();
    drop(first);
    let error = open(directory.path(), &KIND, "f").unwrap_err().to_string();
    let holder = format!("another candor clients (process {})", std::process::id());
    assert!(error.contains(&holder), "{error}");
    drop(also);
    // Nothing was measured: the directory still has no owner.
    drop(open(directory.path(), &KIND, "g").unwrap());
    // A suite of servers is another kind of directory, once it has trials.
    let (outcome, _) = measured(directory.path(), |key, times| Ok(right(key, times)));
    assert!(outcome.stopped.is_none());
    let error = open(directory.path(), &candor_lab::suite::KIND, "g").unwrap_err().to_string();
    assert!(error.contains("no suite's"), "{error}");
}
