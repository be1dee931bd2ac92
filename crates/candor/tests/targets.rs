//! Plans with several targets: each counts what it got, and each is allowed or nothing is sent.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use candor_testkit::peer::RefusingPort;

use crate::common::{CANDOR, Candor, Outcome, Target, candor};

fn run(plan: &str, flags: &[&str]) -> Outcome {
    let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
        std::fs::write(directory.join("plan.toml"), plan).expect("a plan");
        command.args(["run", "plan.toml", "--json", "result.json"]).args(flags);
        command.current_dir(directory);
    });
    run.finish()
}

/// Whatever the others do, and whatever else is asked.
#[test]
fn a_target_of_which_nothing_works_fails_the_run() {
    let (main, refusing) = (Target::start(&[]), RefusingPort::new());
    let plan = |other: &str, path: &str| {
        format!(
            "url = '{}'\nrequests = 60\nconnections = 2\n[target.other]\nurl = '{other}'\n\
             [[request]]\npath = '/'\n[[request]]\npath = '/json'\n[[request]]\npath = '{path}'\ntarget = 'other'\n",
            main.url("/")
        )
    };
    let dead = plan(&format!("http://{}/", refusing.addr()), "/");
    let broken = plan(&main.url("/"), "/status/503");
    let junit = ["--out", "junit:junit.xml"];
    for (plan, flags) in [
        (&dead, &[][..]),
        (&dead, &["--expect", "error-rate < 50%", "--expect", "p50 < 20s"]),
        (&dead, &["-R", "60"]),
        // Whether this is met cannot be told.
        (&dead, &["--expect", "p99.99 < 20s"]),
        (&broken, &[]),
        (&broken, &["--expect", "error-rate < 90%"]),
    ] {
        let outcome = run(plan, &[&junit[..], flags].concat());
        assert_eq!(outcome.code(), 1, "{flags:?}: {}{}", outcome.stdout, outcome.stderr);
        let document = outcome.document();
        assert!(document.verdicts().contains(&"target-failed"), "{flags:?}: {}", outcome.stdout);
        assert!(document.ledger("ok") > 0, "{flags:?}");
        let junit = outcome.file("junit.xml");
        assert!(junit.contains("<failure"), "{flags:?}: {junit}");
    }
    let outcome = run(&broken, &["--expect", "[target:other] errors == 0"]);
    assert_eq!(outcome.code(), 3, "a missed objective says more: {}", outcome.stdout);
    assert_eq!(run(&dead, &["--allow-failures"]).code(), 0);
}

/// It is the run, and has no row of its own.
#[test]
fn an_objective_of_the_only_request_and_target_is_judged() {
    let target = Target::start(&[]);
    let flags = ["-n", "200", "--expect", "[GET /json] p50 < 20s", "--expect"];
    for (objective, code) in [("[target:main] errors == 0", 0), ("[target:main] p50 > 20s", 3)] {
        let flags = [&flags[..], &[objective]].concat();
        let outcome = Candor::start_measuring(&[&flags[..], &[&target.url("/json")]].concat());
        let outcome = outcome.finish();
        assert_eq!(outcome.code(), code, "{}{}", outcome.stdout, outcome.stderr);
    }
}

#[test]
fn a_journey_over_three_servers_is_what_each_of_them_counts() {
    let (shop, auth, cdn) = (Target::start(&[]), Target::start(&["--tls"]), Target::start(&[]));
    let auth_url = auth.url("/").replacen("http://127.0.0.1", "https://localhost", 1);
    let plan = format!(
        "url = '{}'\nrequests = 200\nrate = 400\n\
         expect = ['errors == 0', '[target:auth] p50 < 20s']\n\
         [target.auth]\nurl = '{auth_url}'\ninsecure = true\nconnections = 3\n\
         [target.cdn]\nurl = '{}'\nh2 = true\n\
         [[journey]]\n\
         [[journey.step]]\nname = 'login'\ntarget = 'auth'\n\
         [[journey.step]]\nname = 'buy'\nmethod = 'POST'\npath = '/echo'\nbody = 'x'\n\
         [[journey.step]]\nname = 'picture'\ntarget = 'cdn'\nrepeat = 2\n",
        shop.url("/"),
        cdn.url("/"),
    );
    let outcome = run(&plan, &["--report", "full"]);
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    let rows: Vec<_> = document
        .list("/targets")
        .iter()
        .map(|row| (row["name"].as_str().unwrap(), row["sent"].as_u64(), row["ok"].as_u64()))
        .collect();
    assert_eq!(
        rows,
        [
            ("main", Some(200), Some(200)),
            ("auth", Some(200), Some(200)),
            ("cdn", Some(400), Some(400))
        ]
    );
    shop.assert_requests(200);
    cdn.assert_requests(400);
    for words in ["auth", "cdn"] {
        assert!(outcome.stdout.contains(words), "{}", outcome.stdout);
    }
}

/// One of two targets refuses every connection: the other has all of its requests in time.
#[test]
fn a_dead_target_takes_nothing_from_another() {
    let (alive, dead) = (Target::start(&[]), RefusingPort::new());
    let plan = format!(
        "url = '{}'\nrate = 200\nduration = '2s'\n\
         [target.dead]\nurl = 'http://{}/'\n[[request]]\n[[request]]\ntarget = 'dead'\n",
        alive.url("/"),
        dead.addr()
    );
    let outcome = run(&plan, &[]);
    let document = outcome.document();
    let ok = |at: usize| document.list("/targets")[at]["ok"].as_u64().unwrap();
    assert_eq!((ok(0), ok(1)), (200, 0), "{}", outcome.stdout);
    alive.assert_requests(200);
    assert_eq!(document.ledger("scheduled"), 400);
    assert_eq!(document.ledger("unsent"), 200);
}

#[test]
fn a_target_that_no_list_allows_keeps_all_others_from_load() {
    let alive = Target::start(&[]);
    let plan = format!(
        "url = '{}'\nduration = '1s'\nallow = ['127.0.0.1']\n\
         [target.other]\nurl = 'http://127.0.0.2:9/'\n[[request]]\n[[request]]\ntarget = 'other'\n",
        alive.url("/")
    );
    let outcome = run(&plan, &[]);
    assert_ne!(outcome.code(), 0);
    assert!(outcome.stderr.contains("127.0.0.2 is not allowed"), "{}", outcome.stderr);
    alive.assert_requests(0);
}

/// A server at this address that counts its requests.
fn counting(address: &str) -> (u16, Arc<AtomicU64>) {
    counting_after(address, Duration::ZERO)
}

/// And responds after this time.
fn counting_after(address: &str, delay: Duration) -> (u16, Arc<AtomicU64>) {
    let listener = TcpListener::bind(address).unwrap();
    let (port, count) = (listener.local_addr().unwrap().port(), Arc::new(AtomicU64::new(0)));
    let all = Arc::clone(&count);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let count = Arc::clone(&all);
            std::thread::spawn(move || {
                let (mut head, mut byte) = (Vec::new(), [0]);
                while let Ok(1) = stream.read(&mut byte) {
                    head.push(byte[0]);
                    if head.ends_with(b"\r\n\r\n") {
                        head.clear();
                        count.fetch_add(1, Ordering::Relaxed);
                        std::thread::sleep(delay);
                        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                    }
                }
            });
        }
    });
    (port, count)
}

/// The first interface of a machine is its loopback.
#[test]
fn the_zone_of_an_address_is_for_this_machine_alone() {
    let (port, requests) = counting("[::1]:0");
    for zone in ["%251", "%1"] {
        let url = format!("http://[::1{zone}]:{port}/");
        let outcome = candor(&["-n", "5", "-c", "1", &url]);
        assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
        let tried = candor(&["try", &url]);
        assert!(tried.stdout.contains(&format!("Host: [::1]:{port}\n")), "{}", tried.stdout);
    }
    assert_eq!(requests.load(Ordering::Relaxed), 12);
    let refused =
        candor(&["--allow", "127.0.0.0/8", "-n", "1", &format!("http://[::1%1]:{port}/")]);
    assert_eq!(refused.code(), 2, "{}", refused.stderr);
}

#[test]
fn each_address_of_a_name_has_the_row_that_its_server_counts() {
    let (port, first) = counting("127.0.0.1:0");
    let (_, second) = counting(&format!("127.0.0.2:{port}"));
    let url = format!("http://shop.test:{port}/");
    let resolve = format!("shop.test:{port}:127.0.0.1,127.0.0.2,127.0.0.3");
    for load in [&["-n", "300"][..], &["-n", "300", "-R", "1k", "-t", "2"]] {
        let words =
            ["-c", "4", "--by", "address", "--json", "result.json", "--out", "csv-steps:x.csv"];
        let outcome = candor(&[&["--resolve", &resolve, &url][..], &words, load].concat());
        assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
        let document = outcome.document();
        let rows: Vec<_> = document
            .list("/addresses")
            .iter()
            .map(|row| {
                (row["address"].as_str().unwrap(), row["requests"]["sent"].as_u64().unwrap())
            })
            .collect();
        let [first, second] = [&first, &second].map(|one| one.swap(0, Ordering::Relaxed));
        let [one, two, three] = [1, 2, 3].map(|last| format!("127.0.0.{last}:{port}"));
        assert_eq!(rows, [(&*one, first), (&*two, second), (&*three, 0)]);
        assert_eq!(first + second, 300);
        assert!(first > 0 && second > 0);
        // Nobody listens at the third: it says so, with its share.
        let third = &document.list("/addresses")[2];
        assert_eq!((third["opened"].as_u64(), third["down"].as_f64()), (Some(0), Some(1.0)));
        assert!(third["failed"].as_u64() > Some(0));
        assert!(document.verdicts().contains(&"address-down"), "{}", outcome.stdout);
        assert!(
            outcome.stdout.contains(&three) && outcome.stdout.contains(&two),
            "{}",
            outcome.stdout
        );
        let csv = outcome.file("x.csv");
        assert_eq!(csv.lines().filter(|line| line.starts_with("address,")).count(), 3, "{csv}");
    }
    // Without it, what takes no connection is told all the same.
    let words = ["--resolve", &resolve, &url, "-n", "30", "-c", "4", "--json", "result.json"];
    let document = candor(&words).document();
    assert!(document.list("/addresses")[0].get("requests").is_none());
    assert!(document.verdicts().contains(&"address-down"));
}

#[test]
fn an_address_that_takes_longer_than_the_others_is_named() {
    let (port, _) = counting("127.0.0.1:0");
    counting_after(&format!("127.0.0.2:{port}"), Duration::from_millis(60));
    counting(&format!("127.0.0.3:{port}"));
    let url = format!("http://shop.test:{port}/");
    let resolve = format!("shop.test:{port}:127.0.0.1,127.0.0.2,127.0.0.3");
    let words = ["-c", "30", "-R", "300", "-d", "3s", "--by", "address", "--json", "result.json"];
    // Where other work has the cores, few samples are independent of each other.
    let found = (0..5).find_map(|_| {
        let outcome = candor(&[&["--resolve", &resolve, &url][..], &words].concat());
        let document = outcome.document();
        let slow = document.list("/verdicts").iter().find(|one| one["id"] == "address-slow");
        slow.cloned()
    });
    let slow = found.expect("it is found");
    assert!(slow["sentence"].as_str().unwrap().contains(&format!("127.0.0.2:{port}")), "{slow}");
    assert!(slow["evidence"]["response_ns"].as_f64() >= Some(6e7), "{slow}");
}

#[test]
fn the_rows_of_a_single_target_are_had_by_asking() {
    let target = Target::start(&[]);
    let outcome =
        candor(&[&target.url("/"), "-n", "20", "--by", "target", "--json", "result.json"]);
    let document = outcome.document();
    assert_eq!(document.list("/targets").len(), 1);
    assert_eq!(document.count("/targets/0/ok"), 20);
    assert!(outcome.stdout.contains("main"), "{}", outcome.stdout);
    assert!(document.0.get("addresses").is_none());
}
