//! Other parsers' opinions: httparse on header blocks, hyper on whole answers.

use candor_protocol::h1::{Error, Limits};
use candor_protocol::{Event, Failure};
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::generate::{Valid, edit, valid};
use crate::support::{answered, get_expecting, prepared, run};

/// What httparse's fields say about framing, written down a second time from RFC 9112 6.3:
/// a head that says the same in the plainest way, or `None` if the answer must be refused.
fn plainest_head(head: &httparse::Response<'_, '_>) -> Option<String> {
    let values = |wanted: &str| -> Vec<String> {
        let named = head.headers.iter().filter(|field| field.name.eq_ignore_ascii_case(wanted));
        let text = named.map(|field| String::from_utf8_lossy(field.value).to_lowercase());
        let text = text.map(|value| value.replace(['\r', '\n'], " "));
        let elements: Vec<String> = text
            .flat_map(|value| value.split(',').map(str::to_owned).collect::<Vec<_>>())
            .map(|element| element.trim_matches([' ', '\t']).to_owned())
            .collect();
        elements
    };
    let present = |wanted: &str| head.headers.iter().any(|f| f.name.eq_ignore_ascii_case(wanted));
    let version = head.version?;
    let mut plain = format!("HTTP/1.{version} {}\r\n", head.code?);
    for option in values("connection") {
        if option == "close" || option == "keep-alive" {
            plain += &format!("Connection: {option}\r\n");
        }
    }
    if present("content-length") {
        let mut numbers = Vec::new();
        for number in values("content-length") {
            if number.starts_with('+') {
                return None;
            }
            numbers.push(number.parse::<u64>().ok()?);
        }
        if numbers.iter().any(|number| *number != numbers[0]) || present("transfer-encoding") {
            return None;
        }
        plain += &format!("Content-Length: {}\r\n", numbers[0]);
    }
    if present("transfer-encoding") {
        let codings: Vec<String> =
            values("transfer-encoding").into_iter().filter(|coding| !coding.is_empty()).collect();
        let named =
            head.headers.iter().filter(|f| f.name.eq_ignore_ascii_case("transfer-encoding"));
        if named.map(|field| field.value).any(|value| value.iter().all(|b| b" \t,\r\n".contains(b)))
        {
            return None;
        }
        let outer = codings.last()?;
        let is_name = |coding: &String| {
            let name = coding.split(';').next().unwrap_or_default().trim_matches([' ', '\t']);
            httparse_accepts_name(name) && (name != "chunked" || coding == "chunked")
        };
        let chunked = codings.iter().filter(|coding| *coding == "chunked").count();
        if version == 0 || chunked > 1 || !codings.iter().all(is_name) {
            return None;
        }
        plain += &format!("Transfer-Encoding: {outer}\r\n");
    }
    Some(plain + "\r\n")
}

/// Whether this is a token, in httparse's opinion.
fn httparse_accepts_name(name: &str) -> bool {
    let mut fields = [httparse::EMPTY_HEADER; 1];
    let line = format!("{name}:\r\n\r\n");
    matches!(httparse::parse_headers(line.as_bytes(), &mut fields), Ok(httparse::Status::Complete((_, [field]))) if field.name == name)
}

/// Why we may refuse what httparse lets through, other than for framing.
fn stricter(error: Error, input: &[u8], code: u16) -> bool {
    match error {
        Error::StatusLine => input.starts_with(b"\r") || input.starts_with(b"\n"),
        Error::StatusCode => code < 100,
        _ => false,
    }
}

/// Why we may let through what httparse refuses.
fn looser(input: &[u8]) -> bool {
    let control = |byte: &u8| matches!(byte, 1..=8 | 0xb | 0xc | 0xe..=0x1f | 0x7f);
    input.iter().any(control)
        || matches!(input, [b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'2'..=b'9', ..])
}

/// Without the note that fields were folded, which a plain head has none of.
fn unfolded(mut events: Vec<Event>) -> Vec<Event> {
    for event in &mut events {
        if let Event::Done(answer) = event {
            answer.deviations.folded = false;
        }
    }
    events
}

fn malformed(events: &[Event]) -> Option<Error> {
    match events.last() {
        Some(Event::Failed { failure: Failure::Malformed(error), .. }) => error.get().copied(),
        _ => None,
    }
}

fn agree_with_httparse(input: &[u8]) -> Result<(), TestCaseError> {
    let get = [prepared("GET", &[])];
    let ours = unfolded(run(&get, Limits::default(), [input]));
    let mut fields = [httparse::EMPTY_HEADER; 64];
    let mut theirs = httparse::Response::new(&mut fields);
    let mut config = httparse::ParserConfig::default();
    config.allow_obsolete_multiline_headers_in_responses(true);
    match config.parse_response(&mut theirs, input) {
        Ok(httparse::Status::Complete(end)) => {
            let code = theirs.code.unwrap_or_default();
            if (100..200).contains(&code) {
                return Ok(());
            }
            match (malformed(&ours), plainest_head(&theirs)) {
                (Some(error), _) if stricter(error, input, code) => {}
                (error, None) => prop_assert!(error.is_some(), "must be refused: {ours:?}"),
                (_, Some(plain)) => {
                    let plain = [plain.as_bytes(), &input[end..]].concat();
                    prop_assert_eq!(ours, run(&get, Limits::default(), [&plain[..]]));
                }
            }
        }
        Ok(httparse::Status::Partial) => {
            prop_assert!(!matches!(ours.last(), Some(Event::Done(_))), "{ours:?}");
        }
        Err(error) => {
            // They refuse parts of lines, we whole ones: let the head come to its end.
            let input = [input, b"\n\n"].concat();
            let ours = run(&get, Limits::default(), [&input[..]]);
            prop_assert!(malformed(&ours).is_some() || looser(&input), "{error}, but {ours:?}");
        }
    }
    Ok(())
}

/// Status and body, in hyper's opinion; `None` if it fails.
fn hyper_reads(answer: &Valid, wire: &[u8]) -> Option<(u16, Bytes)> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().ok()?;
    let (near, mut far) = tokio::io::duplex(1 << 16);
    runtime.block_on(async {
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(near)).await.ok()?;
        tokio::spawn(connection);
        let request = hyper::Request::builder()
            .method(answer.method)
            .uri("/")
            .body(Empty::<Bytes>::new())
            .ok()?;
        let wire = wire.to_vec();
        tokio::spawn(async move {
            let mut read = Vec::new();
            while !read.ends_with(b"\r\n\r\n") {
                far.read_buf(&mut read).await.ok()?;
            }
            far.write_all(&wire).await.ok()
        });
        let response = sender.send_request(request).await.ok()?;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.ok()?.to_bytes();
        Some((status, body))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn httparse_reads_header_blocks_alike(answer in valid(true), edits in vec(edit(), 0..4)) {
        let mut input = answer.wire;
        edits.iter().for_each(|edit| edit.apply(&mut input));
        agree_with_httparse(&input)?;
    }

    #[test]
    fn httparse_reads_edited_heads_alike(answer in valid(true), edits in vec(edit(), 1..4)) {
        let mut head = answer.wire[..answer.head_bytes].to_vec();
        edits.iter().for_each(|edit| edit.apply(&mut head));
        agree_with_httparse(&[&head[..], &answer.wire[answer.head_bytes..]].concat())?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..Default::default() })]

    #[test]
    fn hyper_reads_the_same_body(answer in valid(false)) {
        let Some((status, body)) = hyper_reads(&answer, &answer.wire) else {
            return Err(TestCaseError::fail("hyper refused a valid answer"));
        };
        let request =
            if answer.method == "GET" { get_expecting(&body) } else { prepared("HEAD", &[]) };
        let ours = run(&[request], Limits::default(), [&answer.wire[..]]);
        prop_assert_eq!(ours, answered(0, status, body.len() as u64, answer.last));
    }

    #[test]
    fn hyper_fails_where_we_fail_on_answers_cut_short(
        answer in valid(false).prop_filter("framed", |answer| !answer.until_end),
        at in any::<Index>(),
    ) {
        let wire = &answer.wire[..at.index(answer.wire.len())];
        let ours = run(&[prepared(answer.method, &[])], Limits::default(), [wire]);
        prop_assert!(!matches!(ours.last(), Some(Event::Done(_))), "{ours:?}");
        prop_assert_eq!(hyper_reads(&answer, wire), None);
    }
}
