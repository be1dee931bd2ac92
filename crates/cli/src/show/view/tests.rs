//! Golden pictures: the view of runs, simulated interval by interval.
#![allow(clippy::unwrap_used, reason = "what a test sets up is there, or the test fails")]

use std::path::Path;

use candor_engine::collecting;
use candor_lab::Ahead;
use candor_plan::redact::Typed;
use candor_plan::{Options, Plan, ProgressForm};
use candor_record::{Collector, ErrorKind, Interval, OfMachine, Workers};
use candor_report::document::{Severity, Verdict};
use candor_report::{Facts, Host};

use super::super::lines;
use super::super::state::{Event, Head, Now, Seen, SoFar};
use super::*;
use crate::files::Disk;

const S: u64 = 1_000_000_000;
const UNICODE: Theme = Theme { has_colours: false, has_unicode: true };
const ASCII: Theme = Theme { has_colours: false, has_unicode: false };

/// One second of a run.
#[derive(Clone, Copy, Default)]
struct Second {
    /// As in a ledger: those that left the backlog.
    scheduled: u64,
    ok: u64,
    /// The slowest response time; the others are spread below it.
    slowest_ns: u64,
    errors: u64,
    backlog: u64,
    /// Under way at its end, and those who came and those who were done in it.
    users: u64,
}

fn plan(text: &str) -> Plan {
    Options::from_toml("plan.toml", text).unwrap().build(&Disk).unwrap().0
}

/// A run so far, with these seconds.
fn run(text: &str, seconds: &[Second]) -> State {
    let plan = plan(text);
    let facts = Facts {
        version: "0.0.0".to_owned(),
        typed: Typed::default(),
        host: Host::default(),
        started_unix_ms: 0,
        target_note: None,
        target_delay_ns: None,
    };
    let settings = collecting(&plan);
    let mut collector =
        Collector::new(candor_record::CollectorSettings { workers: Workers::all(1), ..settings });
    let mut state = State::default();
    state.apply(Event::Run(Box::new(Head::of(&plan))));
    for (index, second) in (0..).zip(seconds) {
        collector.deliver(0, interval(index, second));
        collector.settle_with(&mut |stretch| {
            state.apply(Event::Interval(Box::new(Seen::of(stretch))));
        });
    }
    let so_far = SoFar::of(&facts, &plan, collector.so_far());
    state.apply(Event::SoFar(Box::new(so_far)));
    let elapsed_ns = seconds.len() as u64 * S + S / 5;
    state.now = Now {
        elapsed_ns: elapsed_ns + S,
        course: Course::Sending { elapsed_ns },
        is_ending: false,
        busiest: Some(0.0421),
        worst_hiccup_ns: 2_345_678,
    };
    state
}

fn interval(index: u64, second: &Second) -> Interval {
    let mut one = Interval::new(3, 1, usize::from(second.users > 0));
    (one.index, one.start_ns, one.end_ns) = (Some(index), index * S, (index + 1) * S);
    let Second { scheduled, ok, slowest_ns, errors, backlog, users } = *second;
    one.ledger.scheduled = scheduled;
    (one.ledger.ok, one.ledger.sent) = (ok, ok + errors);
    one.backlog = backlog;
    one.connections.established = 50;
    one.in_flight = 12;
    one.users = users;
    for journey in &mut one.journeys {
        (journey.started, journey.completed) = (users, users);
    }
    one.bytes.received = (ok + errors) * 150;
    for nth in 0..ok {
        // Most are fast: x = 60 µs / (1 - u), cut off at the slowest.
        let fast_ns = 60_000 * ok / (ok - nth);
        let response_ns = fast_ns.min(slowest_ns);
        one.latencies.response.record(response_ns);
        one.latencies.service.record(response_ns.min(1_200_000));
        one.latencies.send_lag.record(5_000 + nth * 7);
    }
    if ok > 0 {
        one.add_status(200, ok);
    }
    for _ in 0..errors {
        one.ledger.errors.add(ErrorKind::Status as usize, || {
            "503 Service Unavailable\u{1b}[2J\u{7} with a header from a server".to_owned()
        });
    }
    if errors > 0 {
        one.add_status(503, errors);
    }
    one
}

const OPEN: &str = "url = 'http://127.0.0.1:8080/'\nrate = 1000\nconnections = 50\nduration = 30\n";
const CLOSED: &str =
    "url = 'http://127.0.0.1:8080/'\nconnections = 50\nduration = 30\nwarm-up = 2\n";

fn healthy() -> State {
    let second = Second { scheduled: 1000, ok: 1000, slowest_ns: 2_000_000, ..Second::default() };
    run(OPEN, &[second; 12])
}

fn stalled() -> State {
    let well = Second { scheduled: 1000, ok: 1000, slowest_ns: 2_000_000, ..Second::default() };
    let still = Second { scheduled: 0, ok: 0, backlog: 1000, ..well };
    let after = Second { scheduled: 3000, ok: 3000, slowest_ns: 1_980_000_000, ..well };
    let mut seconds = vec![well; 14];
    seconds.extend([still, Second { backlog: 2000, ..still }, after]);
    seconds.extend([well; 6]);
    run(OPEN, &seconds)
}

fn shopping() -> State {
    const USERS: &str = "url = 'http://127.0.0.1:8080/'\nrate = 500\nduration = 30\n[[journey]]\n\
                         [[journey.step]]\npath = '/a'\n[[journey.step]]\npath = '/b'\nthink = '1s'\n";
    let second = Second {
        scheduled: 1000,
        ok: 1000,
        slowest_ns: 2_000_000,
        users: 500,
        ..Second::default()
    };
    run(USERS, &[second; 12])
}

/// As healthy, by this many machines; the second has errors.
fn fleet(machines: u64) -> State {
    let mut state = healthy();
    let last = state.run.as_mut().and_then(|run| run.last.as_mut()).unwrap();
    last.machines = (0..machines)
        .map(|nth| OfMachine {
            agent: Some(format!("a{nth}")),
            sent: 1000 / machines,
            ok: 1000 / machines,
            errors: u64::from(nth == 1),
            answered: 1000 / machines,
            backlog: 0,
            response_p99_ns: Some(1_900_000 + nth),
            send_lag_p99_ns: (nth != 2).then_some(12_000),
        })
        .collect();
    state
}

fn failing() -> State {
    let second = Second {
        scheduled: 1000,
        ok: 400,
        slowest_ns: 9_000_000,
        errors: 600,
        ..Second::default()
    };
    run(OPEN, &[second; 8])
}

fn with_findings(count: usize) -> State {
    let mut state = healthy();
    let so_far = state.run.as_mut().and_then(|run| run.so_far.as_mut()).unwrap();
    so_far.document.verdicts = (1..=count)
        .map(|nth| Verdict {
            id: format!("finding-{nth}"),
            severity: Severity::Warning,
            sentence: format!("Something was found, for the {nth}th time, by\u{1b}[31m a test."),
            evidence: Default::default(),
            remedy: String::new(),
            machine: None,
        })
        .collect();
    state
}

fn experiment(done: u64) -> State {
    let mut state =
        run(CLOSED, &[Second { ok: 900, slowest_ns: 1_000_000, ..Second::default() }; 2]);
    let seen = state.run.take();
    state.title = "peak of http://127.0.0.1:8080/".to_owned();
    for nth in 0..done {
        state.apply(Event::Done {
            what: format!("closed loop, {} connections", 1u64 << nth),
            outcome: format!("{},000/s, p99 1.2 ms", nth + 10),
            is_failure: nth == 2,
        });
    }
    let next = vec!["11,000/s, round 1".to_owned(), "12,000/s, round 1".to_owned()];
    let ahead = Ahead { steps: Some(7), next, most_ns: None };
    state.now.elapsed_ns = done * 6 * S;
    state.apply(Event::Begins { what: "10,000/s, round 1".to_owned(), ahead, left_ns: None });
    state.now.elapsed_ns += 3 * S;
    state.run = seen;
    state
}

#[test]
fn requests_with_their_redirects_are_no_users() {
    let followed = run(
        "url = 'http://127.0.0.1:8080/'\nlocation = 3\n",
        &[Second { ok: 9, ..Second::default() }],
    );
    let words = text(&drawn(&followed, UNICODE, 100, 30));
    assert!(words.contains("redirects") && !words.contains("users"), "{words}");
}

fn drawn(state: &State, theme: Theme, columns: u16, rows: u16) -> Buffer {
    let area = Rect::new(0, 0, columns, rows);
    let mut out = Buffer::empty(area);
    view(state, theme, area, &mut out);
    out
}

fn text(picture: &Buffer) -> String {
    let area = picture.area;
    let row = |y| (0..area.width).map(|x| picture[(x, y)].symbol()).collect::<String>();
    (0..area.height).map(|y| row(y).trim_end().to_owned() + "\n").collect()
}

/// Compares with a checked-in picture, or writes it if `CANDOR_RENEW` is set.
fn golden(name: &str, state: &State, theme: Theme, columns: u16, rows: u16) {
    let actual = text(&drawn(state, theme, columns, rows));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("golden/view/{name}.txt"));
    if std::env::var_os("CANDOR_RENEW").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, actual).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        expected == actual,
        "{name} is stale. Renew with: CANDOR_RENEW=1 cargo test -p candor-cli --lib\n{actual}"
    );
}

#[test]
fn pictures_are_as_they_were() {
    golden("healthy-open", &healthy(), UNICODE, 100, 30);
    let second = Second { ok: 9000, slowest_ns: 700_000, ..Second::default() };
    golden("users", &shopping(), UNICODE, 100, 30);
    golden("fleet", &fleet(3), UNICODE, 100, 34);
    golden("large-fleet", &fleet(100), UNICODE, 100, 40);
    golden("closed", &run(CLOSED, &[second; 5]), UNICODE, 100, 30);
    golden("stalled", &stalled(), UNICODE, 100, 30);
    golden("failing", &failing(), UNICODE, 100, 30);
    golden("findings-100", &with_findings(100), UNICODE, 100, 30);
    golden("narrow", &stalled(), UNICODE, 60, 15);
    golden("wide", &stalled(), UNICODE, 160, 50);
    golden("tiny", &stalled(), UNICODE, 20, 5);
    golden("ascii", &stalled(), ASCII, 100, 30);
    golden("steps", &experiment(5), UNICODE, 100, 30);
    golden("steps-many", &experiment(40), UNICODE, 80, 15);
    golden("explained", &State { explains: true, ..healthy() }, UNICODE, 100, 30);
}

/// Its figures are left out one by one where there is no room, from the end, and p99 stays.
#[test]
fn the_line_of_the_present_step_is_whole_at_any_width() {
    for columns in 30..=100 {
        let picture = text(&drawn(&experiment(5), UNICODE, columns, 24));
        assert!(picture.lines().any(|line| line.ends_with(" · p99 1 ms")), "{columns}: {picture}");
    }
}

#[test]
fn before_the_first_interval_there_is_a_picture_too() {
    let mut state = State::default();
    let begun = text(&drawn(&state, UNICODE, 80, 10));
    assert!(begun.contains("connecting"), "{begun}");
    state.apply(Event::Run(Box::new(Head::of(&plan(CLOSED)))));
    state.now.course = Course::Sending { elapsed_ns: S };
    let warm_up = text(&drawn(&state, UNICODE, 80, 10));
    assert!(warm_up.contains("warm-up 1 s of 32 s · 31 s left"), "{warm_up}");
    state.now.course = Course::Draining { elapsed_ns: 33 * S };
    assert!(text(&drawn(&state, UNICODE, 80, 10)).contains("draining 33 s of 32 s"));
    state.now.is_ending = true;
    assert!(text(&drawn(&state, UNICODE, 80, 10)).contains("q stop waiting"));
}

#[test]
fn what_was_not_timed_has_no_value() {
    let failed = Second { scheduled: 100, errors: 100, ..Second::default() };
    let state = run("url = 'http://h/'\nrate = '100'\n", &[failed; 3]);
    let picture = text(&drawn(&state, UNICODE, 100, 30));
    let strip = picture.lines().find(|line| line.starts_with("p99")).unwrap();
    assert!(strip.ends_with('–'), "{picture}");
}

/// 1,000/s come, and 5 leave the backlog, in the first second.
#[test]
fn connections_that_may_become_more_have_a_range() {
    let second = Second { scheduled: 1000, ok: 1000, slowest_ns: 2_000_000, ..Second::default() };
    let picture =
        |more: &str| text(&drawn(&run(&format!("{OPEN}{more}"), &[second; 3]), UNICODE, 80, 24));
    assert!(picture("").contains("50 of 50 ·"), "{}", picture(""));
    let more = picture("max-connections = 80\n");
    assert!(more.contains("50 of 50 to 80 ·"), "{more}");
}

#[test]
fn what_waits_in_the_backlog_was_asked_for() {
    let second = |scheduled, backlog| Second { scheduled, backlog, ..Second::default() };
    let state = run(OPEN, &[second(5, 995), second(0, 1995)]);
    let picture = text(&drawn(&state, UNICODE, 80, 24));
    assert!(picture.contains("0/s of 1,000/s asked · backlog 1,995"), "{picture}");
    let ledger = &state.run.as_ref().and_then(|run| run.so_far.as_ref()).unwrap().document.ledger;
    assert_eq!((ledger.scheduled, ledger.unsent), (2000, 1995));
}

#[test]
fn what_has_no_room_is_seen_to_be_cut() {
    let mut state = experiment(5);
    let long = "500/s, p99 1.20 ms, ".repeat(6);
    state.apply(Event::Done { what: "a".to_owned(), outcome: long, is_failure: false });
    for picture in [drawn(&state, UNICODE, 80, 24), drawn(&healthy(), UNICODE, 50, 24)] {
        let picture = text(&picture);
        assert!(picture.lines().any(|line| line.ends_with('…')), "{picture}");
    }
}

#[test]
fn every_size_is_drawn_within_its_bounds() {
    let states = [
        healthy(),
        fleet(100),
        stalled(),
        failing(),
        with_findings(100),
        experiment(40),
        State::default(),
    ];
    for state in &states {
        for (columns, rows) in
            (0..130).step_by(3).flat_map(|c| (0..40).step_by(3).map(move |r| (c, r)))
        {
            for theme in [UNICODE, ASCII] {
                let picture = drawn(state, theme, columns, rows);
                assert_eq!((picture.area.width, picture.area.height), (columns, rows));
            }
        }
    }
}

#[test]
fn nothing_that_a_terminal_obeys_is_in_a_picture() {
    let mut state = with_findings(3);
    state.title = "GET http://h/\u{1b}]0;x\u{7}".to_owned();
    state.apply(Event::Note("a note\u{1b}[2J".to_owned()));
    for state in [state, failing()] {
        for theme in [UNICODE, ASCII] {
            let shown = text(&drawn(&state, theme, 100, 40));
            assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{shown:?}");
            assert!(theme.has_unicode || shown.is_ascii(), "{shown}");
        }
    }
    assert!(text(&drawn(&failing(), UNICODE, 100, 40)).contains("\\u{1b}[2J"), "it is shown");
}

#[test]
fn colours_are_left_out_on_demand() {
    let coloured = |has_colours| {
        let theme = Theme { has_colours, ..UNICODE };
        drawn(&failing(), theme, 100, 30).content.iter().any(|cell| cell.fg != Color::Reset)
    };
    assert!(coloured(true) && !coloured(false));
}

#[test]
fn the_time_left_is_known_where_there_is_a_length() {
    let of = |text: &str| {
        let mut state = State::default();
        state.apply(Event::Run(Box::new(Head::of(&plan(text)))));
        state.run.unwrap()
    };
    assert_eq!(of(CLOSED).left_ns(2 * S), Some(30 * S));
    let mut counted = of("url = 'http://h/'\nrequests = 1000\n");
    assert_eq!(counted.left_ns(S), None, "nothing is done");
    counted.ok = 250;
    assert_eq!((counted.share(S), counted.left_ns(S)), (Some(0.25), Some(3 * S)));
    let mut steps = super::super::state::Steps::default();
    assert_eq!(steps.left_ns(S), None);
    (steps.done_count, steps.present) = (4, Some(("x".to_owned(), 8 * S)));
    steps.ahead.steps = Some(1);
    assert_eq!(steps.left_ns(9 * S), Some(3 * S), "2 s each, 1 s of two is over");
    assert_eq!(steps.number(), (5, Some(6)));
}

#[test]
fn a_long_run_keeps_few_points() {
    let mut state = State::default();
    state.apply(Event::Run(Box::new(Head::of(&plan(OPEN)))));
    let mut collector = Collector::new(collecting(&plan(OPEN)));
    collector = Collector::new(candor_record::CollectorSettings {
        workers: Workers::all(1),
        ..collector.settings()
    });
    let second = Second { scheduled: 10, ok: 10, slowest_ns: S, ..Second::default() };
    for index in 0..5000 {
        collector.deliver(0, interval(index, &second));
        collector.settle_with(&mut |stretch| {
            state.apply(Event::Interval(Box::new(Seen::of(stretch))));
        });
    }
    let run = state.run.as_ref().unwrap();
    assert!(run.points.len() <= 1200, "{}", run.points.len());
    assert_eq!(run.points.iter().map(|one| one.answered).sum::<u64>(), 50_000);
    assert_eq!(run.points.iter().map(|one| one.length_ns).sum::<u64>(), 5000 * S);
}

#[test]
fn lengths_of_time_are_those_of_a_clock() {
    for (ns, text) in [
        (0, "0 s"),
        (300_000_000, "300 ms"),
        (12 * S, "12 s"),
        (99 * S, "99 s"),
        (125 * S, "2 m 05 s"),
        (7_325 * S, "2 h 02 m"),
    ] {
        assert_eq!(clock(ns), text);
    }
}

#[test]
fn figures_of_long_ago_are_not_told_as_those_of_now() {
    let mut state = healthy();
    let run = state.run.as_ref().unwrap();
    let end_ns = run.last.as_ref().unwrap().summary.end_ns;
    let mut told = |after_ns| {
        state.now.course = Course::Sending { elapsed_ns: end_ns + after_ns };
        lines::progress(&state, ProgressForm::Line).unwrap()
    };
    assert!(told(1_000_000_000).contains("p50"));
    let late = told(60_000_000_000);
    assert!(late.contains("no new figures") && !late.contains("p50"), "{late}");
}
