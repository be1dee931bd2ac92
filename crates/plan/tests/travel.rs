//! Plans as bytes: they come back as they were, and no other bytes become a plan that cannot run.

use crate::common::{build, flags, plan};
use candor_plan::{Load, Parts, Plan, PlanError, Rate, Segment, Work};
use proptest::prelude::*;
use proptest::sample::subsequence;

/// Options of every part of a plan; some exclude others.
const OPTIONS: [&[&str]; 35] = [
    &["-c", "7"],
    &["-t", "3"],
    &["-n", "1000"],
    &["-d", "90s"],
    &["-R", "30/m"],
    &["--load", "ramp 0..20k over 30s; burst 5 every 1s for 3s; replay due.txt"],
    &["--load", "step 1k..10k by 1k every 5s; hold 0.01/s"],
    &["--arrivals", "poisson"],
    &["--think-time", "3ms"],
    &["--shed-after", "0"],
    &["--max-connections", "20"],
    &["--warm-up", "2s"],
    &["--once"],
    &["--connect-rate", "500/s"],
    &["--pacing", "spin"],
    &["--reactor", "uring"],
    &["-H", "X-Key: hunter2", "-H", "Accept: */*"],
    &["-X", "POST", "--body-file", "body"],
    &["--chunked", "3"],
    &["--pieces", "4"],
    &["--break-off-after", "2"],
    &["--pipeline", "8"],
    &["--connection-lifetime", "4s"],
    &["--no-keepalive"],
    &["--expect-status", "2xx,304"],
    &["--expect-body", "body"],
    &["--unix-socket", "/run/x"],
    &["--allow", "10.0.0.0/8", "--allow", "*.example.com"],
    &["--source", "127.0.0.2-127.0.0.4"],
    &["--h2", "-m", "9", "-w", "20"],
    &["--cacert", "body", "--cert", "body", "--tls-resumption", "on"],
    &["--script", "body", "--script-arg", "hunter2", "--sandbox"],
    &["--trace", "t", "--trace-sample", "1/100"],
    &["--kernel-timestamps=1/3", "--show-secrets"],
    &["--call", "a.S/One", "--proto", "a.proto", "-b", "{\"id\": ${seq}}"],
];

fn plans() -> impl Strategy<Value = Plan> {
    let url = prop_oneof![Just("http://me:pw@host:81/p?q=hunter2"), Just("https://[::1]/")];
    (subsequence(OPTIONS.to_vec(), 0..6), url).prop_filter_map("excluded", |(options, url)| {
        let options = flags(&[options.concat().as_slice(), &[url]].concat()).ok()?;
        Some(build(options).ok()?.0)
    })
}

/// A plan in which each kind of list, of segment and of option is.
fn large() -> Plan {
    plan(&[OPTIONS[0], OPTIONS[5], OPTIONS[16], OPTIONS[17], OPTIONS[25], &["http://h/"]].concat())
}

proptest! {
    #[test]
    fn a_plan_comes_back_as_it_was(plan in plans()) {
        let bytes = postcard::to_allocvec(&plan).unwrap();
        prop_assert_eq!(&postcard::from_bytes::<Plan>(&bytes).unwrap(), &plan);
        let text = serde_json::to_string(&plan).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Plan>(&text).unwrap(), &plan);
    }

    #[test]
    fn what_a_result_has_comes_back_and_is_no_plan(plan in plans()) {
        let parts = plan.redacted();
        let text = serde_json::to_string(&parts).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Parts>(&text).unwrap(), &parts);
        prop_assert!(matches!(Plan::try_from(parts), Err(PlanError::LeftOut)));
        let shows = format!("{:?}", plan.secrets) == "Shown";
        prop_assert!(shows || !text.contains("hunter2"), "{}", text);
    }

    #[test]
    fn hostile_bytes_are_an_error_or_a_plan(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let _ = postcard::from_bytes::<Plan>(&bytes);
        let mut real = postcard::to_allocvec(&large()).unwrap();
        let at = at.index(real.len());
        real[at] = byte;
        let _ = postcard::from_bytes::<Plan>(&real);
        real.truncate(at);
        prop_assert!(postcard::from_bytes::<Plan>(&real).is_err());
    }
}

/// A length that is not followed by as many elements takes no memory of that length.
#[test]
fn a_claimed_length_is_not_believed() {
    let claimed = [&[0xff; 9][..], &[0x01]].concat();
    assert!(
        postcard::from_bytes::<candor_plan::Kept<u64>>(&[&[0][..], &claimed].concat()).is_err()
    );
}

#[test]
fn what_cannot_run_is_refused_by_its_part() {
    type Change = fn(&mut Parts);
    let changes: [(Change, &str); 15] = [
        (|parts| parts.connections.count = 0, "connections"),
        (|parts| parts.connections.max = 1, "--max-connections: 1 is below the 7 connections"),
        (|parts| parts.threads.count = Some(8), "--threads: 8 threads cannot share 7 connections"),
        (|parts| parts.work = Vec::new().into(), "work"),
        (
            |parts| {
                let Work::Requests(requests) = &mut parts.work else { panic!() };
                requests.sequence = [2].into();
            },
            "sequence",
        ),
        (|parts| parts.work.requests_mut()[0].method = "GET /".into(), "a request's method"),
        (
            |parts| parts.work.requests_mut()[0].path = "/ HTTP/1.1\r\nX: y".into(),
            "a request's path",
        ),
        (
            |parts| parts.work.requests_mut()[0].headers[0].1 = "a\r\nb: c".into(),
            "a request's header",
        ),
        (|parts| parts.target.authority = "h\r\nX: y".into(), "target.authority"),
        (
            |parts| parts.stop = candor_plan::Stop { duration_ns: None, count: None, ..parts.stop },
            "stop",
        ),
        (|parts| parts.recording.digits = 6, "recording.digits"),
        (|parts| parts.recording.interval_ns = 1, "--interval: 1 ns is too short"),
        (|parts| parts.timeouts.request_ns = u64::MAX, "timeouts.request_ns"),
        (
            |parts| {
                let Load::Open(open) = &mut parts.load else { panic!("an open load") };
                open.segments[0] =
                    Segment::Hold { rate: Rate { events: 1, per_ns: 0 }, duration_ns: None };
            },
            "a hold's rate",
        ),
        (
            |parts| {
                let Load::Open(open) = &mut parts.load else { panic!("an open load") };
                open.segments[2] = Segment::Replay { offsets_ns: [2, 1].into(), duration_ns: 2 };
            },
            "a replay's offsets_ns",
        ),
    ];
    let plan = large();
    for (change, part) in changes {
        let error = plan.with(change).unwrap_err().to_string();
        assert!(error.contains(part), "{part}: {error}");
    }
    assert_eq!(plan, large());
}

#[test]
fn what_is_left_out_can_be_told_apart() {
    let of = |url: &str, body: &str, more: &[&str]| {
        let all = [&["-H", "X-Access-Key: hunter2", "-H", "Accept: text/html"], more].concat();
        plan(&[&all[..], &["--body", body, url]].concat()).redacted().work.requests()[0].clone()
    };
    let one = of("http://h/p?access_token=hunter2", "hunter2", &[]);
    assert_eq!((one.path.as_str(), one.body.count()), ("/p?access_token=…", 7));
    assert_eq!(one.headers[0].1, "[redacted]");
    assert_eq!(one.headers[1].1, "text/html");
    let shown = of("http://h/p?access_token=hunter2", "hunter2", &["--show-secrets"]);
    assert_eq!(
        (shown.path.as_str(), shown.headers[0].1.as_str()),
        ("/p?access_token=hunter2", "hunter2")
    );
    // Whether or not secrets are shown, results of the same requests can be distinguished from
    // others.
    assert_eq!((&shown.body, &shown.redacted), (&one.body, &one.redacted));
    let other = of("http://h/p?access_token=other", "hunter2", &[]);
    assert_ne!(other.redacted, one.redacted);
    assert_eq!(other.body, one.body);
    assert_ne!(of("http://h/p", "hunter3", &[]).body, one.body);
    assert_eq!(of("http://h/p", "", &[]).redacted.unwrap().query_hash, None);
}
