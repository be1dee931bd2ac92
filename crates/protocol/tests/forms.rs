//! Requests of templates: what is filled is one request, whatever the values are.

use candor_plan::journey::Known;
use candor_plan::template::{Names, Template, Value};
use candor_plan::{DataFormat, DataOrder, DataSet, Request};
use candor_protocol::h1;
use candor_protocol::made::{Batch, Form, Values};
use proptest::prelude::*;

fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Request {
    Request {
        path: path.to_owned(),
        holes: true,
        ..candor_testkit::plans::request(method, headers, body.as_bytes())
    }
}

fn form(request: &Request) -> Form {
    let data = [DataSet {
        name: "d".to_owned(),
        file: "d.csv".into(),
        format: DataFormat::Csv,
        order: DataOrder::Rotation,
        columns: vec!["a".to_owned(), "b".to_owned()],
        content: None,
    }];
    let names = Names { data: &data, environment: &[], captured: Known::default() };
    let template = Template::compile(request, 0, names).expect("a template");
    Form::new(template, request, 7, "host:80", false)
}

/// Two columns and an index.
struct Row<'a>([&'a [u8]; 2], u64);

impl Values for Row<'_> {
    fn write(&mut self, value: &Value, out: &mut Vec<u8>) {
        match value {
            Value::Column { column, .. } => out.extend_from_slice(self.0[*column]),
            Value::Index => out.extend_from_slice(self.1.to_string().as_bytes()),
            other => panic!("{other:?}"),
        }
    }
}

fn filled(form: &mut Form, values: [&str; 2], index: u64) -> String {
    let made = form.fill(&mut Row(values.map(str::as_bytes), index));
    String::from_utf8(made.raw.to_vec()).expect("text")
}

#[test]
fn text_without_holes_is_what_a_listed_request_is() {
    let requests = [
        request("GET", "/a?b", &[], ""),
        request("POST", "/", &[("A", "b"), ("Connection", "x, Close")], ""),
        request("PUT", "/x", &[("Host", "other"), ("C", "d")], "text"),
        request("DELETE", "/x", &[("Content-Length", "4"), ("Upgrade", "x")], "text"),
    ];
    for one in &requests {
        let prepared = h1::prepare(one, "host:80");
        let mut form = form(one);
        let made = form.fill(&mut Row([b"", b""], 0));
        assert_eq!(made.raw, [&prepared.head[..], &prepared.body].concat());
        assert_eq!((made.closes(), made.upgrades()), (prepared.closes, prepared.upgrades));
        assert_eq!(made.request, 7);
    }
}

#[test]
fn holes_are_filled_anew_each_time() {
    let text = "/${d.a}/x?n=${seq}";
    let headers = [("Authorization", "Basic ${base64 ${d.a}:${d.b}}"), ("X", "${d.b}")];
    let mut form = form(&request("POST", text, &headers, "{\"a\":\"${d.a}\",\"b\":${d.b}}"));
    let first = filled(&mut form, ["me you", "1.5"], 0);
    let expected = "POST /me%20you/x?n=0 HTTP/1.1\r\nHost: host:80\r\n\
                    Authorization: Basic bWUgeW91OjEuNQ==\r\nX: 1.5\r\nContent-Length: 22\r\n\r\n\
                    {\"a\":\"me you\",\"b\":1.5}";
    assert_eq!(first, expected);
    let second = filled(&mut form, ["\"", "a\r\nb"], u64::MAX);
    let expected = "POST /%22/x?n=18446744073709551615 HTTP/1.1\r\nHost: host:80\r\n\
                    Authorization: Basic IjphDQpi\r\nX: a  b\r\nContent-Length: 23\r\n\r\n\
                    {\"a\":\"\\\"\",\"b\":\"a\\r\\nb\"}";
    assert_eq!(second, expected);
    assert_eq!(filled(&mut form, ["me you", "1.5"], 0), first);
}

#[test]
fn what_is_no_template_is_sent_as_it_is() {
    // A file beside holes.
    let path = request("POST", "/${seq}", &[], "");
    let file = Request { body: b"\xff${d.a}"[..].into(), literal_body: true, ..path };
    let mut beside = form(&file);
    let made = beside.fill(&mut Row([b"", b""], 5));
    let expected = b"POST /5 HTTP/1.1\r\nHost: host:80\r\nContent-Length: 7\r\n\r\n\xff${d.a}";
    assert_eq!(made.raw, expected);
    // A request that is filled for its cookies alone.
    let mut alone = form(&Request { path: "/${d.a}".to_owned(), holes: false, ..file });
    let made = alone.fill(&mut Row([b"", b""], 5));
    assert_eq!(made.raw, [&b"POST /${d.a}"[..], &expected[7..]].concat());
}

#[test]
fn a_method_of_a_row_says_whether_there_is_a_length() {
    let mut form = form(&request("${d.a}", "${path d.b}", &[], ""));
    assert_eq!(
        filled(&mut form, ["GET", "/a?b=c"], 0),
        "GET /a?b=c HTTP/1.1\r\nHost: host:80\r\n\r\n"
    );
    assert_eq!(
        filled(&mut form, ["POST", "a b"], 0),
        "POST /a%20b HTTP/1.1\r\nHost: host:80\r\nContent-Length: 0\r\n\r\n"
    );
}

proptest! {
    /// A parser of requests finds the same one request in the text, its places in the same order, and the
    /// values in them.
    #[test]
    fn values_stay_in_their_places(
        a in proptest::collection::vec(any::<u8>(), 0..20),
        b in "[ -~]{0,20}",
        index in any::<u64>(),
    ) {
        let headers = [("A", "x${d.a}y"), ("B", "${json d.a}"), ("Content-Type", "text/plain")];
        let body = "${d.a}\r\n${url d.b}${base64 ${d.a}${seq}}";
        let mut form = form(&request("PUT", "/${d.a}?q=${d.b}&${path d.a}", &headers, body));
        let made = form.fill(&mut Row([&a, b.as_bytes()], index));
        let mut batch = Batch::new(7);
        batch.fill(made.raw).unwrap();
        prop_assert_eq!(batch.left(), 1);
        let parsed = batch.take().unwrap();
        prop_assert_eq!(parsed.method(), made.method());
        prop_assert_eq!(parsed.path(), made.path());
        prop_assert_eq!(parsed.body(), made.body());
        let fields: Vec<_> = made.fields().collect();
        prop_assert_eq!(&parsed.fields().collect::<Vec<_>>(), &fields);
        let names: Vec<_> = fields.iter().map(|(name, _)| *name).collect();
        prop_assert_eq!(names, [&b"Host"[..], b"A", b"B", b"Content-Type", b"Content-Length"]);
        prop_assert!(made.body().starts_with(&a));
    }
}
