//! Requests with holes, on the wire: every request is told from all others, and what a server reads is the same for
//! any number of threads.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

use crate::common::*;
use candor_engine::{Control, EngineError, run};
use candor_plan::{Arrivals, DataFormat, DataOrder, DataSet, Load, Parts, Request};
use candor_record::EndReason;

/// What came: request line, header lines but Host, body; joined.
type Log = Arc<Mutex<Vec<String>>>;

/// A server that reads as HTTP asks and keeps what it read. `at` is called with the number of each request.
fn server(at: impl Fn(usize) + Clone + Send + 'static) -> (SocketAddr, Log) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    let log = Log::default();
    let kept = Arc::clone(&log);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (log, at) = (Arc::clone(&log), at.clone());
            thread::spawn(move || serve(stream, &log, at));
        }
    });
    (address, kept)
}

fn serve(mut stream: TcpStream, log: &Log, at: impl Fn(usize)) -> Option<()> {
    let mut input = BufReader::new(stream.try_clone().ok()?);
    loop {
        let mut whole = String::new();
        let mut body_bytes = 0;
        loop {
            let mut line = String::new();
            if input.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if line == "\r\n" {
                break;
            }
            if let Some(length) = line.strip_prefix("Content-Length: ") {
                body_bytes = length.trim().parse().ok()?;
            }
            if !line.starts_with("Host:") {
                whole += &line;
            }
        }
        let mut body = vec![0; body_bytes];
        input.read_exact(&mut body).ok()?;
        whole += &String::from_utf8_lossy(&body);
        let mut log = log.lock().expect("the log");
        log.push(whole);
        at(log.len());
        drop(log);
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").ok()?;
    }
}

fn users(file: &Path, order: DataOrder) -> DataSet {
    DataSet {
        name: "users".to_owned(),
        file: file.to_owned(),
        format: DataFormat::Csv,
        order,
        columns: vec!["name".to_owned(), "note".to_owned()],
        content: None,
    }
}

fn filled(path: &str, body: &str) -> Request {
    Request {
        target: 0,
        method: "POST".to_owned(),
        headers: vec![("Content-Type".to_owned(), "application/json".to_owned())],
        body: body.as_bytes().to_vec().into(),
        holes: true,
        ..get(path)
    }
}

/// `count` rows in a file, with notes that need an escape.
fn rows(directory: &Path, count: usize) -> std::path::PathBuf {
    let file = directory.join("users.csv");
    let row = |one| format!("user {one},\"a \"\"note\"\", {one}\"\n");
    let text: String = (0..count).map(row).collect();
    std::fs::write(&file, format!("name,note\n{text}")).expect("a file");
    file
}

fn plan_for(address: SocketAddr, load: Parts) -> Parts {
    let mut plan = load;
    plan.target.endpoint =
        candor_plan::Endpoint::Tcp { host: "127.0.0.1".to_owned(), port: address.port() };
    plan
}

#[test]
fn the_same_requests_for_any_number_of_threads() {
    let directory = tempfile::tempdir().unwrap();
    let file = rows(directory.path(), 37);
    let body = "{\"name\":\"${users.name}\",\"note\":${users.note},\"n\":${random 1..1000000}}";
    let mut seen = Vec::new();
    for (threads, arrivals) in [
        (1, Arrivals::Constant),
        (4, Arrivals::Constant),
        (1, Arrivals::Poisson),
        (4, Arrivals::Poisson),
    ] {
        let (address, log) = server(|_| {});
        let mut plan = plan_for(address, plan(8, open(2_000, arrivals), 150 * MS));
        plan.threads.count = Some(threads);
        plan.data = vec![users(&file, DataOrder::Shuffle)];
        plan.work = vec![
            filled("/${users.name}?id=${uuid}&i=${seq}&c=${choice a,b}", body),
            // One without holes takes its turn among them.
            get("/plain"),
        ]
        .into();
        let record = run(&checked(&plan), &Control::default(), &mut ()).unwrap();
        let ledger = &record.total.ledger;
        assert!(ledger.balances() && ledger.ok == ledger.sent, "{ledger:?}");
        let log = std::mem::take(&mut *log.lock().unwrap());
        assert_eq!(log.len() as u64, ledger.ok);
        let with_holes: Vec<String> =
            log.into_iter().filter(|one| one.starts_with("POST")).collect();
        let set: BTreeSet<String> = with_holes.iter().cloned().collect();
        assert_eq!(set.len(), with_holes.len(), "no two are the same");
        assert!(set.len() > 100, "{}", set.len());
        seen.push(set);
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[2], seen[3]);
    let one = seen[0].iter().find(|one| one.contains("i=0&")).unwrap();
    let (head, body) = one.split_at(one.rfind('\n').unwrap() + 1);
    assert!(head.starts_with("POST /user%20"), "{one}");
    assert!(head.contains("Content-Type: application/json\r\n"), "{one}");
    assert!(
        body.starts_with("{\"name\":\"user ") && body.contains("\"note\":\"a \\\"note\\\", "),
        "{one}"
    );
}

#[test]
fn rows_that_are_used_once_end_the_run() {
    let directory = tempfile::tempdir().unwrap();
    let file = rows(directory.path(), 53);
    for (load, threads) in [(closed(0), 1), (closed(0), 3), (open(1_000, Arrivals::Constant), 2)] {
        let (address, log) = server(|_| {});
        let mut plan = plan_for(address, plan(6, load, 20_000 * MS));
        plan.threads.count = Some(threads);
        plan.data = vec![users(&file, DataOrder::Once)];
        plan.work = vec![Request { holes: true, ..get("/${users.name}") }].into();
        let record = run(&checked(&plan), &Control::default(), &mut ()).unwrap();
        assert_eq!(record.end, EndReason::RowsUsed);
        assert_eq!(record.total.ledger.ok, 53, "{:?}", record.total.ledger);
        let log: BTreeSet<String> = std::mem::take(&mut *log.lock().unwrap()).into_iter().collect();
        let expected: BTreeSet<String> =
            (0..53).map(|one| format!("GET /user%20{one} HTTP/1.1\r\n")).collect();
        assert_eq!(log, expected);
        // As many rows as requests, or more, end nothing.
        plan.stop.count = Some(53);
        let record = run(&checked(&plan), &Control::default(), &mut ()).unwrap();
        assert_eq!(record.end, EndReason::Count);
    }
}

#[test]
fn rows_are_used_once_by_random_arrivals_and_in_a_warm_up_too() {
    let directory = tempfile::tempdir().unwrap();
    let file = rows(directory.path(), 53);
    let loads = [closed(2 * MS), open(1_000, Arrivals::Constant), open(1_000, Arrivals::Poisson)];
    for (load, warm_up_ns) in loads.into_iter().flat_map(|load| [(load.clone(), 0), (load, 8 * MS)])
    {
        let mut seen = Vec::new();
        for threads in [1, 3] {
            let (address, log) = server(|_| {});
            let mut plan = plan_for(address, plan(6, load.clone(), 20_000 * MS));
            plan.threads.count = Some(threads);
            plan.recording.warm_up_ns = warm_up_ns;
            plan.data = vec![users(&file, DataOrder::Once)];
            plan.work = vec![Request { holes: true, ..get("/${seq}/${users.name}") }].into();
            let record = run(&checked(&plan), &Control::default(), &mut ()).unwrap();
            assert_eq!(record.end, EndReason::RowsUsed);
            assert_eq!(record.total.ledger.ok < 53, warm_up_ns > 0, "{:?}", record.total.ledger);
            let log: Vec<String> = std::mem::take(&mut *log.lock().unwrap());
            let names = log.iter().map(|one| one.split('/').nth(2).unwrap().to_owned());
            let names: BTreeSet<String> = names.collect();
            assert_eq!((log.len(), names.len()), (53, 53), "each row once");
            seen.push(log.into_iter().collect::<BTreeSet<_>>());
        }
        // How a closed load goes is the server's affair.
        if let Load::Open(_) = load {
            assert_eq!(seen[0], seen[1], "the same for any number of threads");
        }
    }
    // Nobody is left to be measured.
    let (address, _) = server(|_| {});
    let load = open(1_000, Arrivals::Poisson);
    let mut plan = plan_for(address, plan(1, load, 20_000 * MS));
    plan.recording.warm_up_ns = 2_000 * MS;
    plan.data = vec![users(&file, DataOrder::Once)];
    plan.work = vec![Request { holes: true, ..get("/${users.name}") }].into();
    let error = run(&checked(&plan), &Control::default(), &mut ()).unwrap_err().to_string();
    assert!(error.starts_with("the warm-up takes all 53 rows"), "{error}");
}

#[test]
fn a_file_that_changes_ends_the_run_and_sends_nothing_wrong() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("users.csv");
    // Larger than what is held in memory.
    let row = |one: usize| format!("user{one},{}\n", "x".repeat(1000));
    let text: String = (0..12_000).map(row).collect();
    std::fs::write(&file, format!("name,note\n{text}")).unwrap();
    let changed = file.clone();
    let (address, log) = server(move |number| {
        if number == 200 {
            std::fs::write(&changed, "name,note\nother,y\n").unwrap();
        }
    });
    let mut plan = plan_for(address, plan(4, closed(0), 20_000 * MS));
    plan.threads.count = Some(2);
    plan.data = vec![users(&file, DataOrder::Random)];
    plan.work = vec![Request { holes: true, ..get("/${users.name}") }].into();
    let record = run(&checked(&plan), &Control::default(), &mut ()).unwrap();
    assert_eq!(record.end, EndReason::DataFailed);
    assert!(record.total.ledger.balances(), "{:?}", record.total.ledger);
    let log = log.lock().unwrap();
    assert!(log.len() >= 200);
    assert!(log.iter().all(|one| one.starts_with("GET /user")), "{log:?}");
}

#[test]
fn a_broken_file_is_an_error_before_the_first_request() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("users.csv");
    std::fs::write(&file, "name,note\na,b\nc\n").unwrap();
    let (address, log) = server(|_| {});
    let mut plan = plan_for(address, plan(4, closed(0), 100 * MS));
    plan.data = vec![users(&file, DataOrder::Random)];
    let error = run(&checked(&plan), &Control::default(), &mut ()).unwrap_err();
    assert!(matches!(error, EngineError::Data(_)), "{error}");
    let text = error.to_string();
    assert!(text.contains("users.csv:3: the row has 1 field, and the header has 2"), "{text}");
    assert!(log.lock().unwrap().is_empty());
}
