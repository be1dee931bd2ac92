//! Agents, brokers and coordinators that are lost: what is missing then is known, and nobody sends on.

use super::*;

/// The share of a killed agent and no more is missing, and it is named.
#[test]
fn a_killed_agent_is_named_and_its_share_is_accounted_for() {
    let nginx = Nginx::start(true).unwrap();
    let url = format!("http://{}/", nginx.address());
    let flags =
        ["-R", "1000", "-c", "8", "-d", "10s", "--interval", "500ms", "--on-loss", "continue"];
    let run = Candor::start_measuring(&[&["fleet", "up", "2"], &flags[..], &[&url]].concat());
    let stderr = run.directory().join(".stderr");
    let has_begun = || lines(&nginx) > 2500;
    assert!(wait_until(PATIENCE, has_begun), "{}", fs::read_to_string(&stderr).unwrap());
    kill(pids(&fs::read_to_string(&stderr).unwrap())["agent a1"]);
    let outcome = run.finish();
    assert_eq!(outcome.code(), DEGRADED, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    assert_eq!(names_of_lost(&document), ["a1"]);
    assert!(ids(&document).contains(&"agent-lost"), "{:?}", ids(&document));
    assert!(outcome.stderr.contains("agent a1 is lost: it was silent"), "{}", outcome.stderr);
    // All requests of the schedule are there; half of them are the other agent's, which are all ok.
    let ledger = |place| document.ledger(place);
    assert_eq!(ledger("scheduled"), 10_000);
    let unaccounted = ledger("unaccounted");
    assert!((3000..5000).contains(&unaccounted), "{unaccounted}");
    let known_ns = document.count("/machines/1/agent/lost/known_to_ns");
    assert_eq!(unaccounted, 5000 - known_ns / 2_000_000, "500/s after its last interval");
    // What nginx got beyond the ledger is what the lost agent sent after that interval.
    let got = nginx.stop().unwrap();
    assert!((ledger("sent")..ledger("sent") + unaccounted).contains(&got), "{got}");
    for interval in document.list("/intervals") {
        let is_later = interval["start_ns"].as_u64().unwrap() >= known_ns;
        assert_eq!(interval["missing"] == serde_json::json!([1]), is_later, "{interval}");
    }
    assert!(!outcome.stderr.contains("candor fleet report"), "nobody is left: {}", outcome.stderr);
    let names = pids(&outcome.stderr);
    assert!(names.values().all(|pid| !is_running(*pid)), "all processes have ended");
}

/// By default the others stop, and sending ends soon.
#[test]
fn all_stop_when_one_is_lost() {
    let (_nginx, mut fleet, run) = under_way(2, "60s", 600);
    fleet.agents.remove("a0").unwrap().child().kill().unwrap();
    let outcome = run.finish();
    assert_eq!(outcome.code(), DEGRADED, "{}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.wall < Duration::from_secs(20), "{:?}", outcome.wall);
    assert!(outcome.stderr.contains("all agents stop"), "{}", outcome.stderr);
    let document = outcome.document();
    assert_eq!(names_of_lost(&document), ["a0"]);
    assert_eq!(document.text("/end/reason"), "agent-lost");
    let what: Vec<String> = fleet.audit("a1").into_iter().map(|(what, _)| what).collect();
    // What a0 keeps may still make the result whole, and then that of a1 is needed again.
    assert_eq!(what, ["granted", "started", "stopped", "ended", "kept"]);
    assert!(outcome.stderr.contains("`candor fleet report "), "{}", outcome.stderr);
    assert!(outcome.stderr.contains(&format!(" --operator {}`", fleet.operator())));
}

/// Agents whose coordinator is gone stop sending when their lease is over, by nginx's count; their results are
/// not lost.
#[test]
fn agents_of_a_dead_coordinator_stop_by_themselves() {
    let nginx = Nginx::start(true).unwrap();
    let fleet = Fleet::start(2, "127.0.0.0/8");
    let url = format!("http://{}/", nginx.address());
    let run =
        fleet.measure(&["-R", "500", "-c", "4", "-d", "60s", "-H", "X-Token: hidden-value", &url]);
    let count = || lines(&nginx);
    assert!(wait_until(PATIENCE, || count() > 300), "{}", fleet.log("a0"));
    run.signal(Signal::KILL);
    let killed = Instant::now();
    let _ = run.finish();
    let has_lapsed = || {
        ["a0", "a1"].iter().all(|name| fleet.audit(name).iter().any(|(what, _)| what == "lapsed"))
    };
    assert!(wait_until(PATIENCE, has_lapsed), "{}", fleet.log("a0"));
    let took = killed.elapsed();
    assert!((Duration::from_secs(3)..Duration::from_millis(6500)).contains(&took), "{took:?}");
    let after = count();
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(count(), after, "it sends nothing more");
    assert!(after < 300 + 500 * 8, "{after}");
    // The plan that is kept for this is the operator's alone.
    let runs = fleet.folder().join("operator/runs");
    let kept = || fs::read_dir(&runs).unwrap().map(|entry| entry.unwrap()).collect::<Vec<_>>();
    assert_eq!(kept()[0].metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let operator = fleet.operator();
    let report = ["fleet", "report", "--operator", &operator];
    let outcome = Candor::start_measuring(&report).finish();
    assert_eq!(outcome.code(), DEGRADED, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    assert_eq!(names_of_lost(&document), ["a0", "a1"]);
    assert_eq!((document.ledger("sent"), document.ledger("scheduled")), (after as u64, 30_000));
    assert!(document.list("/machines").iter().all(|one| {
        one["agent"]["lost"]["why"].as_str().unwrap().contains("stopped by itself")
    }));
    assert!(!outcome.file("result.json").contains("hidden-value"));
    // It has its result, and the agents have nothing more.
    assert_eq!(kept().len(), 0);
    candor(&report).assert_refused(COULD_NOT_RUN, &["without a result"]);
    assert_eq!(fleet.audit("a0").last().unwrap().0, "settled");
}

/// Coordinator and an agent are killed: the intervals that the agent had delivered are in the result, from the
/// broker's stream, and the agent is named.
#[test]
fn the_broker_keeps_the_results_of_a_dead_agent() {
    let nginx = Nginx::start(true).unwrap();
    let mut fleet = Fleet::start(2, "127.0.0.0/8");
    let (run, outcome) = fleet.outlive(&nginx);
    assert!(!run.stderr.contains("keeps no copy"), "{}", run.stderr);
    let document = outcome.document();
    let known_ns = document.count("/machines/1/agent/lost/known_to_ns");
    assert!((3_000_000_000..10_000_000_000).contains(&known_ns), "{known_ns}");
    assert!(ids(&document).contains(&"agent-lost"), "{:?}", ids(&document));
    assert!(outcome.stdout.contains("a1"), "{}", outcome.stdout);
    // What nginx got beyond the ledger is what the dead agent sent after that interval.
    let (sent, got) = (document.ledger("sent"), nginx.stop().unwrap());
    assert!((sent..sent + 500).contains(&got), "{sent} {got}");
    for interval in document.list("/intervals") {
        let is_later = interval["start_ns"].as_u64().unwrap() >= known_ns;
        let missing = interval["missing"].as_array().unwrap();
        assert!(missing.contains(&1.into()) == is_later, "{interval}");
    }
    // The next run finds the stream as it is. Nothing is left in it of a run that has its result.
    let url = "http://127.0.0.1:1/";
    let next = fleet.measure(&["-R", "10", "-c", "1", "-d", "500ms", url]).finish();
    assert!(!next.stderr.contains("keeps no copy"), "{}", next.stderr);
    candor(&["fleet", "report", "--operator", &fleet.operator()])
        .assert_refused(COULD_NOT_RUN, &["without a result"]);
}

/// A broker of an older fleet, whose operator may not use JetStream, and one that has JetStream off: runs are as they
/// were, and say that agents alone keep results.
#[test]
fn a_broker_without_a_stream_works_as_before() {
    let without = |text: String| {
        let (before, rest) = text.split_once("# Keeps up to").unwrap();
        let (_, after) = rest.split_once("}\n").unwrap();
        format!("{before}{after}")
    };
    let older = |text: String| {
        let lines: Vec<String> = (without(text).lines())
            .map(|line| match line.split_once(", \"$JS") {
                None => line.to_owned(),
                Some((before, _)) => {
                    format!("{before}], subscribe: [\"candor.hello.*\", \"candor.run.*.*\"] }} }}")
                }
            })
            .collect();
        let text = lines.join("\n");
        assert!(!text.contains("JS") && !text.contains("_INBOX"), "{text}");
        text
    };
    let line = "the broker keeps no copy of results, agents alone keep them";
    let nginx = Nginx::start(true).unwrap();
    let mut off = Fleet::start_with(2, "127.0.0.0/8", without);
    let (run, outcome) = off.outlive(&nginx);
    assert_eq!(run.stderr.matches(line).count(), 1, "{}", run.stderr);
    assert!(run.stderr.contains("it has no JetStream"), "{}", run.stderr);
    let document = outcome.document();
    assert_eq!(document.count("/machines/1/agent/lost/known_to_ns"), 0);
    let nginx = Nginx::start(true).unwrap();
    let fleet = Fleet::start_with(2, "127.0.0.0/8", older);
    let url = format!("http://{}/", nginx.address());
    let run = fleet.measure(&["-R", "500", "-c", "4", "-d", "4s", &url]).finish();
    assert_eq!(run.code(), 0, "{}{}", run.stdout, run.stderr);
    assert_eq!(run.stderr.matches(line).count(), 1, "{}", run.stderr);
    assert!(run.stderr.contains("does not let the operator"), "{}", run.stderr);
    assert!(!run.stderr.to_lowercase().contains("violation"), "{}", run.stderr);
    assert_eq!(nginx.stop().unwrap(), run.document().ledger("sent"));
}

/// A process that was suspended for longer than its lease wakes up with requests that are long due: it sends
/// none of them.
#[test]
fn a_suspended_agent_sends_nothing_when_it_wakes() {
    let (nginx, fleet, run) = under_way(1, "60s", 300);
    fleet.agents["a0"].signal(Signal::STOP).unwrap();
    let outcome = run.finish();
    assert_eq!(outcome.code(), DEGRADED, "{}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.stderr.contains("it was silent"), "{}", outcome.stderr);
    let before = lines(&nginx);
    fleet.agents["a0"].signal(Signal::CONT).unwrap();
    let has_ended = || fleet.audit("a0").iter().any(|(what, _)| what == "ended");
    assert!(wait_until(PATIENCE, has_ended), "{}", fleet.log("a0"));
    assert_eq!(lines(&nginx), before);
}

#[test]
fn a_broker_that_is_away_for_a_while_changes_nothing() {
    let (nginx, mut fleet, run) = under_way(2, "6s", 500);
    fleet.kill_broker();
    std::thread::sleep(Duration::from_secs(2));
    fleet.broker = start_broker(&fleet.folder(), fleet.address);
    let outcome = run.finish();
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.stderr.contains("the broker is back"), "{}", outcome.stderr);
    let document = outcome.document();
    assert_eq!((document.ledger("scheduled"), names_of_lost(&document).len()), (3000, 0));
    assert_eq!(nginx.stop().unwrap(), document.ledger("sent"));
}

/// Without a broker agents stop by themselves, and the coordinator says so.
#[test]
fn a_broker_that_is_gone_ends_the_run() {
    let (nginx, mut fleet, run) = under_way(2, "60s", 500);
    fleet.kill_broker();
    let killed = Instant::now();
    let has_lapsed = || {
        ["a0", "a1"].iter().all(|name| fleet.audit(name).iter().any(|(what, _)| what == "lapsed"))
    };
    assert!(wait_until(PATIENCE, has_lapsed), "{}", fleet.log("a0"));
    assert!(killed.elapsed() < Duration::from_millis(6500), "{:?}", killed.elapsed());
    let after = lines(&nginx);
    let outcome = run.finish();
    assert_eq!(outcome.code(), DEGRADED, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    assert_eq!(names_of_lost(&document), ["a0", "a1"]);
    assert_eq!(lines(&nginx), after, "it sends nothing more");
    let sent = document.ledger("sent");
    assert!((sent..sent + 3500).contains(&(after as u64)), "{sent} {after}");
}
