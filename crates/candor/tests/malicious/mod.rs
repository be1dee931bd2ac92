//! Malicious servers, through the binary: whatever a server does, the run ends in time with a named
//! outcome and a documented exit code, its ledger balances, its memory is bounded, and no text of
//! the server controls the terminal.
//!
//! As an ordinary test, each server gets one short run on one of the two reactors. With
//! `CANDOR_MALICIOUS=full` (`make hostile`), each gets a run of a second on both reactors, one
//! after the other, and the table of outcomes is printed.
#![allow(clippy::print_stdout, reason = "the table is what is asked for")]

mod h1;
mod h2;
mod mixed;
mod quic;
mod tls;

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{CANDOR, Candor, Document, Outcome};
use candor_testkit::peer::{Over, Peer, Player};

/// The memory limit of a run against any server: a run of four connections needs a third of it.
const MOST_KIB: u64 = 64 << 10;

/// The margin for runs to end, beyond their duration and drain, on a busy machine.
const MARGIN: Duration = Duration::from_secs(8);

type Play = dyn Fn(u64, &mut Player) -> Result<(), Over> + Send + Sync;

/// A malicious server, and the expected outcome of a run against it.
struct Server {
    name: &'static str,
    /// The flags of a run against it, besides the limits.
    flags: Vec<&'static str>,
    is_tls: bool,
    /// Whether the run has a number of requests and no duration.
    is_counted: bool,
    /// The permitted outcomes of requests: `ok`, kinds of errors, `no connection` (exit code 1), or
    /// `nothing sent`. On a busy machine `timeout` is always permitted.
    outcomes: &'static [&'static str],
    play: Arc<Play>,
}

impl Server {
    fn new(
        name: &'static str,
        flags: &[&'static str],
        outcomes: &'static [&'static str],
        play: impl Fn(u64, &mut Player) -> Result<(), Over> + Send + Sync + 'static,
    ) -> Server {
        let flags = flags.to_vec();
        Server { name, flags, is_tls: false, is_counted: false, outcomes, play: Arc::new(play) }
    }
}

/// Repeats `piece` to fill a large write, for a fast flood.
fn many(piece: impl AsRef<[u8]>) -> Vec<u8> {
    let piece = piece.as_ref();
    piece.repeat((64 << 10) / piece.len() + 1)
}

/// The times of a run against a server.
struct Times {
    duration: &'static str,
    timeout: &'static str,
    drain: &'static str,
    sum: Duration,
}

const SHORT: Times =
    Times { duration: "300ms", timeout: "200ms", drain: "200ms", sum: Duration::from_millis(500) };
const FULL: Times =
    Times { duration: "1s", timeout: "600ms", drain: "500ms", sum: Duration::from_millis(1500) };

/// A line of the table.
struct Row {
    text: String,
    faults: Vec<String>,
}

#[test]
fn each_ends_in_time_with_a_named_outcome_and_in_little_memory() {
    let full = std::env::var_os("CANDOR_MALICIOUS").is_some_and(|value| value == "full");
    // Part of a name, to run only some servers.
    let only = std::env::var("CANDOR_MALICIOUS_ONLY").unwrap_or_default();
    let kinds = [("h1", h1::servers()), ("h2", h2::servers()), ("tls", tls::servers())];
    let mut jobs = Vec::new();
    for (kind, servers) in kinds {
        for (index, server) in servers.into_iter().enumerate() {
            let reactors =
                if full { &["epoll", "uring"][..] } else { &[["epoll", "uring"][index % 2]] };
            if server.name.contains(&only) {
                let server = Arc::new(server);
                jobs.extend(reactors.iter().map(|reactor| (kind, Arc::clone(&server), *reactor)));
            }
        }
    }
    let (times, at_once) = if full { (&FULL, 1) } else { (&SHORT, 4) };
    let (next, rows) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                while let Some((kind, server, reactor)) =
                    jobs.get(next.fetch_add(1, Ordering::SeqCst))
                {
                    let row = meet(kind, server, reactor, times);
                    println!("{}", row.text);
                    rows.lock().unwrap().push(row);
                }
            });
        }
    });
    let rows = rows.into_inner().unwrap();
    let faults: Vec<_> = rows.iter().flat_map(|row| &row.faults).map(String::as_str).collect();
    println!("{} runs, {} faults", rows.len(), faults.len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Runs against a server and judges the run.
fn meet(kind: &str, server: &Server, reactor: &str, times: &Times) -> Row {
    let play = Arc::clone(&server.play);
    let peer = Peer::start_with(move |number, player| play(number, player));
    let scheme = if server.is_tls { "https" } else { "http" };
    let url = format!("{scheme}://{}/", peer.addr());
    let limits = [
        ("--timeout", times.timeout),
        ("--drain", times.drain),
        ("--connect-timeout", "5s"),
        ("-d", times.duration),
    ];
    let mut arguments = vec!["-c", "4", "-t", "1", "--reactor", reactor, "--json", "result.json"];
    for (flag, value) in limits {
        let is_own = server.flags.contains(&flag) || (flag == "-d" && server.is_counted);
        if !is_own {
            arguments.extend([flag, value]);
        }
    }
    arguments.extend(&server.flags);
    arguments.push(&url);
    let candor = Candor::start_as(std::process::Command::new(CANDOR), |directory, command| {
        // For all servers it would be 1.5 GB.
        if server.flags.iter().any(|flag| flag.contains("upload")) {
            fs::write(directory.join("upload"), vec![b'u'; 8 << 20]).unwrap();
        }
        command.args(&arguments).current_dir(directory);
    });
    let ended = candor.finish_within(times.sum + MARGIN + MARGIN / 2);
    let name = format!("{kind:3}  {:60.60}  {reactor:5}", server.name);
    match ended {
        Err(said) => {
            let text = format!("{name}  did not end");
            Row { faults: vec![format!("{text}: {said}")], text }
        }
        Ok(outcome) => {
            let seen = judged(server, times, &outcome);
            let (outcomes, mut faults) = seen;
            let (ms, kib, code) = (outcome.wall.as_millis(), outcome.peak_kib, outcome.code());
            let text = format!("{name}  {outcomes:34}  exit {code:3}  {ms:5} ms  {kib:6} KiB");
            faults.iter_mut().for_each(|fault| *fault = format!("{text}: {fault}"));
            Row { text, faults }
        }
    }
}

/// The outcomes of the requests, and the violations.
fn judged(server: &Server, times: &Times, outcome: &Outcome) -> (String, Vec<String>) {
    let mut faults = Vec::new();
    let mut wrong = |what: String| faults.push(what);
    if outcome.wall > times.sum + MARGIN {
        wrong("takes too long".to_owned());
    }
    if outcome.peak_kib > MOST_KIB {
        wrong("needs too much memory".to_owned());
    }
    let printed = format!("{}{}", outcome.stdout, outcome.stderr);
    if printed.chars().any(is_command) {
        wrong(format!("prints commands of a terminal: {printed:?}"));
    }
    let seen = match outcome.code() {
        1 if !outcome.files().contains(&"result.json".to_owned()) => {
            if !outcome.stderr.starts_with("candor: ") {
                wrong(format!("no sentence: {printed:?}"));
            }
            BTreeSet::from(["no connection".to_owned()])
        }
        // 0: measured. 1: nothing could be measured. 4: measured, but not trustworthy.
        code @ (0 | 1 | 4) => {
            let document = outcome.document();
            let seen = outcomes(&document);
            if seen.contains("nothing sent") && code == 0 {
                wrong("nothing was sent, and the exit code is 0".to_owned());
            }
            if seen.contains("ok") && document.number("/rate/achieved_per_s") == 0.0 {
                wrong("requests were answered at a rate of 0".to_owned());
            }
            if document.list("/intervals").len() > 10 {
                wrong(format!("{} intervals", document.list("/intervals").len()));
            }
            seen
        }
        code => {
            wrong(format!("exit code {code}: {printed}"));
            BTreeSet::new()
        }
    };
    let seen: Vec<_> = seen.iter().map(String::as_str).collect();
    let unexpected = seen.iter().find(|&&one| one != "timeout" && !server.outcomes.contains(&one));
    if seen.is_empty() {
        wrong(format!("no outcome: {printed}"));
    }
    if let Some(one) = unexpected {
        wrong(format!("{one} is none of {:?}: {printed}", server.outcomes));
    }
    (seen.join(", "), faults)
}

/// The outcomes of the requests of a run. (Reading the document has checked its ledger.)
fn outcomes(document: &Document) -> BTreeSet<String> {
    let mut seen: BTreeSet<_> = document.errors().into_keys().collect();
    if document.ledger("ok") > 0 {
        seen.insert("ok".to_owned());
    }
    if document.ledger("sent") == 0 {
        seen.insert("nothing sent".to_owned());
    }
    seen
}

/// Whether a terminal may interpret the character instead of showing it: control characters, and
/// those that change the direction of text.
fn is_command(char: char) -> bool {
    let turns = matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (char.is_control() && char != '\n')
}
