//! How requests leave, and runs that are one burst: what they become, and what they exclude.

use crate::common::{Memory, plan, try_build};
use candor_plan::options::Options;
use candor_plan::{Arrivals, Delivery, Load, OpenLoad, Pieces, Segment, describe};

const MS: u64 = 1_000_000;

fn delivery(arguments: &[&str]) -> Delivery {
    plan(&[arguments, &["http://h/"]].concat()).work.requests()[0].delivery
}

fn pieces(count: u32, gap_ns: u64) -> Option<Pieces> {
    Some(Pieces { count, gap_ns })
}

#[test]
fn what_flags_say_of_a_delivery() {
    let nothing = Delivery::default();
    assert_eq!(delivery(&["-b", "hello"]), nothing);
    assert_eq!(
        delivery(&["-b", "hello", "--chunked", "2"]),
        Delivery { chunk_bytes: Some(2), ..nothing }
    );
    assert_eq!(
        delivery(&["-b", "hello", "--expect-continue"]),
        Delivery { continue_ns: Some(1000 * MS), ..nothing }
    );
    assert_eq!(
        delivery(&["-b", "hello", "--expect-continue", "--continue-timeout", "20ms"]),
        Delivery { continue_ns: Some(20 * MS), ..nothing }
    );
    assert_eq!(delivery(&["--pieces", "5"]), Delivery { pieces: pieces(5, MS), ..nothing });
    assert_eq!(
        delivery(&["--pieces", "5", "--piece-gap", "3ms"]),
        Delivery { pieces: pieces(5, 3 * MS), ..nothing }
    );
    assert_eq!(delivery(&["--pieces", "1"]), nothing);
    assert_eq!(
        delivery(&["-b", "hello", "--break-off-after", "0", "--chunked", "3", "--pieces", "2"]),
        Delivery {
            break_off_after: Some(0),
            chunk_bytes: Some(3),
            pieces: pieces(2, MS),
            continue_ns: None
        }
    );
    assert!(!Delivery { chunk_bytes: Some(2), ..nothing }.pauses());
    assert!(Delivery { break_off_after: Some(2), ..nothing }.pauses());
}

#[test]
fn tables_take_from_the_top_what_their_bodies_allow() {
    let text = "url = 'http://h/'\nchunked = 2\nexpect-continue = true\ncontinue-timeout = '5ms'\n\
                [[request]]\npath = '/none'\n\
                [[request]]\nbody = 'hello'\n\
                [[request]]\nbody = 'hello'\nchunked = '1Ki'\nexpect-continue = false\npieces = 3\npiece-gap = '2ms'\n\
                [[request]]\nbody = 'hello'\nexpect-continue = false\nbreak-off-after = 4\n";
    let options = Options::from_toml("plan.toml", text).unwrap();
    let plan = options.build(&Memory::default()).unwrap().0;
    let of: Vec<Delivery> = plan.work.requests().iter().map(|one| one.delivery).collect();
    let (nothing, two) =
        (Delivery::default(), Delivery { chunk_bytes: Some(2), ..Delivery::default() });
    assert_eq!(
        of,
        [
            nothing,
            Delivery { continue_ns: Some(5 * MS), ..two },
            Delivery { chunk_bytes: Some(1024), pieces: pieces(3, 2 * MS), ..nothing },
            Delivery { break_off_after: Some(4), ..two },
        ]
    );
}

#[test]
fn what_a_delivery_excludes_is_refused_with_the_remedy() {
    let table: &[(&[&str], &str)] = &[
        (
            &["--chunked", "5", "h"],
            "--chunked: the request has no body; add --body, --body-file or --form",
        ),
        (&["--expect-continue", "h"], "--expect-continue: the request has no body"),
        (&["--break-off-after", "5", "h"], "--break-off-after: the request has no body"),
        (&["-b", "hi", "--chunked", "0", "h"], "a chunk has at least one byte"),
        (
            &["-b", "hi", "--break-off-after", "2", "h"],
            "--break-off-after: the body has only 2 bytes; write less",
        ),
        (&["--piece-gap", "1ms", "h"], "--piece-gap: there are no pieces; add --pieces"),
        (
            &["--continue-timeout", "1s", "h"],
            "--continue-timeout: it is for --expect-continue; add that",
        ),
        (
            &["-b", "hi", "--pieces", "2", "--expect-continue", "h"],
            "--pieces cannot be used with --expect-continue",
        ),
        (&["--pieces", "2", "-p", "2", "h"], "--pieces cannot be used with --pipeline"),
        (
            &["-b", "hi", "--break-off-after", "1", "-p", "2", "h"],
            "--break-off-after cannot be used with --pipeline",
        ),
        (
            &["--pieces", "2", "--h2", "h"],
            "--pieces cannot be used with HTTP/2: it is for HTTP/1.1 only; add --h1",
        ),
        (&["-b", "hi", "--chunked", "1", "https://h/"], "--chunked cannot be used with HTTP/2"),
        (
            &["-b", "hi", "--chunked", "1", "--script", "body", "h"],
            "--chunked cannot be used with --script",
        ),
        (
            &["-b", "hi", "--chunked", "1", "-H", "content-length: 2", "h"],
            "--chunked cannot be used with a Content-Length header",
        ),
        (
            &["-b", "hi", "--expect-continue", "-H", "Expect: 100-continue", "h"],
            "--expect-continue cannot be used with an Expect header",
        ),
        (&["-b", "hi", "-H", "Transfer-Encoding: chunked", "h"], "or use --chunked SIZE"),
        (
            &["--pieces", "2", "--h1", "--tls-resumption", "on", "--early-data", "https://h/"],
            "--pieces cannot be used with --early-data",
        ),
        (&["--once", "-n", "5", "h"], "--once cannot be used with --requests"),
        (&["--once", "-R", "5", "h"], "--once cannot be used with --rate"),
        (&["--once", "--warm-up", "1s", "h"], "--once cannot be used with --warm-up"),
        (&["--once", "-p", "2", "h"], "--once cannot be used with --pipeline"),
        (
            &["--once", "--connect-during-run", "h"],
            "--once cannot be used with --connect-during-run: the run opens --connections at once",
        ),
    ];
    for (arguments, message) in table {
        let error = try_build(arguments).err().unwrap_or_else(|| panic!("{arguments:?}"));
        assert!(error.to_string().contains(message), "{arguments:?}: {error}");
    }
    for fine in [
        &["-b", "hi", "--chunked", "1", "-p", "2", "h"][..],
        &["-b", "hi", "--chunked", "1", "--h1", "https://h/"],
        &["--once", "-p", "1", "--no-keepalive", "-d", "5s", "h"],
    ] {
        assert!(try_build(fine).is_ok(), "{fine:?}");
    }
}

#[test]
fn one_burst_is_as_many_requests_as_connections() {
    let plan = plan(&["--once", "-c", "50", "-t", "2", "http://h/"]);
    let Load::Open(OpenLoad { segments, arrivals, shed_after_ns }) = &plan.load else {
        panic!("{:?}", plan.load)
    };
    assert!(matches!(segments[..], [Segment::Burst { size: 50, duration_ns: None, .. }]));
    assert_eq!((*arrivals, *shed_after_ns), (Arrivals::Constant, None));
    assert_eq!((plan.stop.count, plan.stop.duration_ns), (Some(50), None));
    assert!(plan.connections.once);
    assert_eq!(plan.connections.requests_per_connection, Some(1));
    assert_eq!(plan.work.requests()[0].headers, [("Connection".into(), "close".into())]);
    assert_eq!(describe::load(&plan), "50 connections, each once and all at once");
}
