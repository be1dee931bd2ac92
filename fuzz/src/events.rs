//! The events of a response: the same whatever the pieces, and never more than there are bytes.

use std::rc::Rc;

use candor_plan::{StreamForm, Streaming, Tokens};
use candor_protocol::parts::{Rules, Splitter};

use crate::pieces::cuts;

/// What came of a body: events, bytes, and what is known at the end.
type Outcome = (u64, u64, String, Option<u64>, bool);

fn split(stream: &Streaming, pieces: &[&[u8]]) -> Outcome {
    let rules = Rules::new(stream).expect("rules that compile");
    let mut splitter = Splitter::new(Rc::new(rules));
    let (mut count, mut bytes) = (0, 0);
    let mut add = |splitter: &mut Splitter| {
        let ended = splitter.take();
        count += u64::from(ended.count);
        bytes += ended.bytes;
    };
    for piece in pieces {
        splitter.feed(piece);
        add(&mut splitter);
    }
    splitter.end();
    add(&mut splitter);
    let verdict = format!("{:?}", splitter.verdict());
    (count, bytes, verdict, splitter.tokens(), splitter.is_too_long())
}

/// The first byte chooses the form and the rules, the others are the body.
pub(crate) fn body(bytes: &[u8]) {
    let [choice, bytes @ ..] = bytes else { return };
    let forms = [StreamForm::Sse, StreamForm::Ndjson, StreamForm::Chunks];
    let form = forms[usize::from(*choice) % forms.len()];
    let is_asked = |bit: u8| choice & bit != 0;
    let stream = Streaming {
        form,
        error: is_asked(16).then(|| "^event: error|fault".to_owned()),
        end: is_asked(32).then(|| "[DONE]".to_owned()),
        tokens: is_asked(64).then(|| match is_asked(128) {
            true => Tokens::Events,
            false => Tokens::At("json:$..n".to_owned()),
        }),
        token: is_asked(8).then(|| "json:$.t".to_owned()).into_iter().collect(),
        input_tokens: is_asked(4).then(|| "json:$.i".to_owned()),
        reconnect: false,
    };
    let [whole, single, some] = cuts(bytes).map(|pieces| split(&stream, &pieces));
    assert_eq!(whole, single, "whole and byte by byte");
    assert_eq!(whole, some, "whole and in pieces");
    let (count, payload, ..) = whole;
    assert!(count <= bytes.len() as u64 && payload <= bytes.len() as u64);
}
