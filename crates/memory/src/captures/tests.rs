use super::*;
use crate::MOST_VALUE_BYTES;

fn captures(list: &[(u32, &str)]) -> Captures {
    let list = list.iter().map(|(variable, source)| Capture {
        variable: *variable,
        name: format!("v{variable}").into(),
        source: Source::parse(source).unwrap(),
    });
    Captures::new(list.collect()).unwrap()
}

const FIELDS: &[u8] = b"Date: x\r\nX-Id: 42\r\n";
const BODY: &[u8] = br#"{"token":"t","more":[1],"csrf":"a\"b"}"#;

#[test]
fn all_values_of_a_step_are_taken() {
    let captures = captures(&[
        (2, "json:$.token"),
        (0, "header:x-id"),
        (1, "regex:\"more\":(\\S)"),
        (3, "json:$.csrf"),
    ]);
    let mut memory = Memory::new(4);
    captures.take(200, FIELDS, BODY, &mut memory).unwrap();
    let values = [0, 1, 2, 3].map(|variable| memory.value(variable).unwrap());
    assert_eq!(values, [&b"42"[..], b"[", b"t", b"a\"b"]);
    assert!(!captures.is_empty() && Captures::default().is_empty());
    assert_eq!(Captures::default().take(200, b"", b"", &mut memory), Ok(()));
}

#[test]
fn more_captures_than_a_few_are_taken() {
    let list: Vec<_> = (0..20).map(|variable| (variable, "header:X-Id")).collect();
    let mut memory = Memory::new(20);
    captures(&list).take(200, FIELDS, BODY, &mut memory).unwrap();
    assert_eq!(memory.value(19), Some(&b"42"[..]));
}

#[test]
fn a_failure_leaves_every_variable_as_it_was() {
    let mut memory = Memory::new(3);
    memory.set(0, b"old").unwrap();
    let failed = captures(&[(0, "json:$.token"), (1, "header:X-Id"), (2, "json:$.none")]);
    let missing = failed.take(404, FIELDS, BODY, &mut memory).unwrap_err();
    assert_eq!(missing, Missing { capture: 2, why: Why::NotFound, status: 404 });
    assert_eq!([0, 1, 2].map(|n| memory.value(n)), [Some(&b"old"[..]), None, None]);
    assert_eq!(
        failed.explain(missing).to_string(),
        "capture \"v2\" failed on a response with status 404: the response does not have it"
    );
    for (source, body, why) in [
        ("json:$.token", &b"<html>"[..], Why::NotJson),
        ("body", &[b'x'; MOST_VALUE_BYTES + 1], Why::TooLong),
    ] {
        let missing =
            captures(&[(1, "header:X-Id"), (0, source)]).take(200, FIELDS, body, &mut memory);
        assert_eq!(missing, Err(Missing { capture: 1, why, status: 200 }));
        assert_eq!([0, 1].map(|n| memory.value(n)), [Some(&b"old"[..]), None]);
    }
}

#[test]
fn a_full_memory_takes_nothing() {
    let mut memory = Memory::new(6);
    for variable in 0..4 {
        memory.set(variable, &[b'x'; MOST_VALUE_BYTES]).unwrap();
    }
    let both = captures(&[(4, "regex:^$|()"), (5, "header:X-Id")]);
    let missing = both.take(200, FIELDS, b"", &mut memory);
    assert_eq!(missing.unwrap_err().why, Why::NotFound, "the group took no part");
    let both = captures(&[(4, "body"), (5, "header:X-Id")]);
    let missing = both.take(200, FIELDS, b"", &mut memory);
    assert_eq!(missing, Err(Missing { capture: 1, why: Why::Full, status: 200 }));
    assert_eq!([4, 5].map(|n| memory.value(n)), [None, None]);
}

#[test]
fn a_variable_is_captured_once() {
    let one = |name: &str| Capture {
        variable: 1,
        name: name.into(),
        source: Source::parse("body").unwrap(),
    };
    let error = Captures::new(vec![one("a"), one("b")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the step captures \"b\" twice; give the second capture another name"
    );
    assert_eq!(&*Captures::new(vec![one("a")]).unwrap().list()[0].name, "a");
}
