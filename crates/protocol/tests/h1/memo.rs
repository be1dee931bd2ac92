//! The memo of header blocks changes nothing but the time: answers read with a memo that has seen
//! others give the events of answers read without one.

use std::rc::Rc;
use std::sync::Arc;

use candor_protocol::h1::{Limits, Memo, Prepared, Session};
use candor_protocol::{Event, Outgoing, Session as _};
use proptest::prelude::*;

use crate::support::{end, feed, prepared};

/// Answers that begin alike and go on differently, well-formed or not.
const ANSWERS: [&str; 16] = [
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok!",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nDate: now\r\n\r\nok",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nDate: new\r\n\r\nok",
    "HTTP/1.1 204 No\r\n\r\n",
    "HTTP/1.1 304 No\r\nContent-Length: 7\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
    "HTTP/1.0 200 OK\r\n\r\nuntil the end",
    // The block ends in bare LFs, and the body holds what looks like an end.
    "HTTP/1.1 200 OK\nContent-Length: 8\n\na\r\n\r\nb\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 8\n\na\r\n\r\nb\r\n",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
    "HTTP/1.1 200 OK\r\nBad header\r\n\r\n",
    "HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 2\r\n\r\nok",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n2\r\nok\r\n0\r\n\r\n",
];

/// The answers, each to a request of its own on a connection of its own.
fn events(table: &Arc<[Prepared]>, plays: &[(u32, usize, usize)], shared: bool) -> Vec<Event> {
    let memo = Rc::new(Memo::default());
    let mut all = Vec::new();
    for &(request, answer, cut) in plays {
        let memo = if shared { Rc::clone(&memo) } else { Rc::default() };
        let mut session = Session::with_memo(Arc::clone(table), 1, Limits::default(), memo);
        session.handle_request(7, Outgoing::Listed(request));
        let bytes = table[request as usize].head.len();
        session.handle_transmitted(0, bytes, &mut |_| {});
        let (first, second) = ANSWERS[answer].as_bytes().split_at(cut.min(ANSWERS[answer].len()));
        all.extend(feed(&mut session, first));
        all.extend(feed(&mut session, second));
        all.extend(end(&mut session));
    }
    // An answer that is recalled whole is one event, which says both.
    let mut told = all.clone();
    let mut next = all.iter().skip(1);
    told.retain(|event| {
        let is_answered = matches!(next.next(), Some(Event::Done(_)));
        !(is_answered && matches!(event, Event::FirstByte(_)))
    });
    told
}

proptest! {
    #[test]
    fn a_memo_changes_nothing(
        plays in prop::collection::vec(
            (0u32..2, 0..ANSWERS.len(), prop_oneof![3 => Just(usize::MAX), 1 => 0usize..60]),
            1..30,
        ),
    ) {
        let table: Arc<[Prepared]> = [prepared("GET", &[]), prepared("HEAD", &[])].into();
        prop_assert_eq!(events(&table, &plays, true), events(&table, &plays, false));
    }
}
