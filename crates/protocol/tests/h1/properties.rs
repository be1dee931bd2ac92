//! What a session says depends on the bytes alone, and for valid bytes it is the truth.

use candor_protocol::h1::{Limits, Prepared};
use candor_protocol::{Event, Failure};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::generate::{Valid, edit, valid};
use crate::support::{answered, closed, get_expecting, prepared, run, truncated};

fn tight() -> Limits {
    Limits {
        header_block_bytes: 150,
        line_bytes: 60,
        chunk_line_bytes: 12,
        trailer_bytes: 50,
        interim_answers: 1,
    }
}

fn limits() -> impl Strategy<Value = Limits> {
    prop_oneof![2 => Just(Limits::default()), 1 => Just(tight())]
}

fn requests() -> impl Strategy<Value = Vec<Prepared>> {
    let kinds = vec![
        prepared("GET", &[]),
        prepared("HEAD", &[]),
        prepared("CONNECT", &[]),
        prepared("GET", &[("Upgrade", "x")]),
        get_expecting(b"alive"),
    ];
    vec(prop_oneof![2 => Just(prepared("GET", &[])), 1 => select(kinds)], 1..4)
}

fn cut<'a>(bytes: &'a [u8], at: &[Index]) -> Vec<&'a [u8]> {
    let mut at: Vec<usize> = at.iter().map(|index| index.index(bytes.len() + 1)).collect();
    at.extend([0, bytes.len()]);
    at.sort_unstable();
    at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

/// Whole, byte by byte and cut anywhere: the same events, and a lawful sequence of them.
fn same_however_cut(
    requests: &[Prepared],
    limits: Limits,
    bytes: &[u8],
    cuts: &[Index],
) -> Result<(), TestCaseError> {
    let whole = run(requests, limits, [bytes]);
    prop_assert_eq!(&run(requests, limits, bytes.chunks(1)), &whole, "byte by byte");
    prop_assert_eq!(&run(requests, limits, cut(bytes, cuts)), &whole, "cut");
    lawful(requests.len() as u32, &whole)
}

/// Answers come in order, each with its first byte before; every request has one outcome, unless
/// the session died.
fn lawful(requests: u32, events: &[Event]) -> Result<(), TestCaseError> {
    let mut next = 0;
    let mut first_byte = false;
    for (at, event) in events.iter().enumerate() {
        match event {
            Event::FirstByte(id) => {
                prop_assert!(*id == next && !first_byte);
                first_byte = true;
            }
            Event::Done(answer) => {
                prop_assert!(answer.id == next && first_byte);
                first_byte = false;
                next += 1;
            }
            Event::Failed { id, failure } => {
                if matches!(failure, Failure::Malformed(_)) {
                    prop_assert_eq!(at + 1, events.len(), "nothing follows");
                    prop_assert!(id.is_none_or(|id| id == next));
                    return Ok(());
                }
                prop_assert_eq!(*id, Some(next));
                first_byte = false;
                next += 1;
            }
            other => prop_assert!(false, "not HTTP/1.1's to say: {other:?}"),
        }
    }
    prop_assert_eq!(next, requests);
    Ok(())
}

/// The answers up to the first that ends the connection, on one wire.
fn pipelined(answers: &[Valid]) -> Vec<u8> {
    let end = answers.iter().position(|one| one.last).map_or(answers.len(), |at| at + 1);
    answers[..end].iter().flat_map(|one| one.wire.iter().copied()).collect()
}

fn requests_for(answers: &[Valid]) -> Vec<Prepared> {
    answers
        .iter()
        .map(|one| match one.method {
            "GET" => get_expecting(&one.body),
            method => prepared(method, &[]),
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn random_bytes(
        bytes in vec(any::<u8>(), 0..100),
        requests in requests(),
        limits in limits(),
        cuts in vec(any::<Index>(), 0..5),
    ) {
        same_however_cut(&requests, limits, &bytes, &cuts)?;
        let bytes = [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", &bytes[..]].concat();
        same_however_cut(&requests, limits, &bytes, &cuts)?;
    }

    #[test]
    fn random_words(
        words in vec(
            select(vec![
                "HTTP/1.1 200", "HTTP/1.0 200 OK", "HTTP/1.1 100", " ", "\r\n", "\r\n", "\r", "\n", ":",
                "Content-Length", "Transfer-Encoding", "Connection", "chunked", "close", "a", "0", "1",
                "5", ",", ";", "\"", "\0",
            ]),
            0..40,
        ),
        requests in requests(),
        limits in limits(),
        cuts in vec(any::<Index>(), 0..5),
    ) {
        same_however_cut(&requests, limits, words.concat().as_bytes(), &cuts)?;
    }

    #[test]
    fn edited_answers(
        answers in vec(valid(true), 1..4),
        edits in vec(edit(), 1..4),
        requests in requests(),
        limits in limits(),
        cuts in vec(any::<Index>(), 0..8),
    ) {
        let mut bytes = answers.into_iter().flat_map(|answer| answer.wire).collect();
        for edit in &edits {
            edit.apply(&mut bytes);
        }
        same_however_cut(&requests, limits, &bytes, &cuts)?;
    }

    #[test]
    fn valid_answers_are_read_as_they_were_meant(
        answers in vec(valid(true), 1..4),
        cuts in vec(any::<Index>(), 0..8),
    ) {
        let (requests, bytes) = (requests_for(&answers), pipelined(&answers));
        let mut wanted = Vec::new();
        let mut over = false;
        for (id, answer) in (0..).zip(&answers) {
            if over {
                wanted.push(closed(id));
            } else {
                wanted.extend(answered(id, answer.status, answer.body.len() as u64, answer.last));
                over = answer.last;
            }
        }
        prop_assert_eq!(run(&requests, Limits::default(), [&bytes[..]]), wanted);
        same_however_cut(&requests, Limits::default(), &bytes, &cuts)?;
        same_however_cut(&requests, tight(), &bytes, &cuts)?;
    }

    #[test]
    fn a_valid_answer_cut_short_is_never_a_success(
        answer in valid(true).prop_filter("framed", |answer| !answer.until_end),
        at in any::<Index>(),
    ) {
        let bytes = &answer.wire[..at.index(answer.wire.len())];
        let events = run(&requests_for(std::slice::from_ref(&answer)), Limits::default(), [bytes]);
        prop_assert!(matches!(events.last(), Some(last) if *last == truncated(0) || *last == closed(0)));
    }
}
