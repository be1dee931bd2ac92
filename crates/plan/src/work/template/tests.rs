//! What templates compile to, and what is refused.

use super::*;
use crate::work::journey::Known;
use crate::work::{BodyExpect, DataFormat, DataOrder, Expect, StatusSet};

fn request(path: &str, headers: &[(&str, &str)], body: &str) -> Request {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Request {
        target: 0,
        name: "r".to_owned(),
        method: "POST".to_owned(),
        path: path.to_owned(),
        headers: headers.iter().map(owned).collect(),
        body: body.as_bytes().to_vec().into(),
        holes: true,
        literal_body: false,
        delivery: crate::Delivery::default(),
        expect: Expect { status: StatusSet::below_400(), body: BodyExpect::Any },
        stream: None,
        call: None,
        weight: 1,
        reply: None,
        redacted: None,
    }
}

fn set(name: &str, columns: &[&str]) -> DataSet {
    DataSet {
        name: name.to_owned(),
        file: "f.csv".into(),
        format: DataFormat::Csv,
        order: DataOrder::Rotation,
        columns: columns.iter().map(|one| (*one).to_owned()).collect(),
        content: None,
    }
}

fn compiled(request: &Request) -> Result<Template, String> {
    let data = [set("users", &["name", "pass word", "id"]), set("items", &["id"])];
    let environment = [Variable { name: "TOKEN".to_owned(), value: b"a\"b/c\n".to_vec().into() }];
    let names = Names { data: &data, environment: &environment, captured: Known::default() };
    Template::compile(request, 3, names).map_err(|error| error.to_string())
}

/// The escapes of the only hole in each of path, field and body.
fn escapes(hole: &str, headers: &[(&str, &str)], body: &str) -> [Vec<Escape>; 3] {
    let mut headers = headers.to_vec();
    headers.push(("X", hole));
    let template =
        compiled(&request(&format!("/{hole}"), &headers, &body.replace('@', hole))).unwrap();
    let only = |pieces: &[Piece]| {
        let holes = pieces.iter().filter_map(|piece| match piece {
            Piece::Hole(hole) => Some(hole.escapes.clone()),
            Piece::Text(_) => None,
        });
        let holes: Vec<_> = holes.collect();
        assert!(holes.len() <= 1, "{holes:?}");
        holes.into_iter().next().unwrap_or_default()
    };
    [only(&template.path), only(&template.headers.last().unwrap().1), only(&template.body)]
}

fn text(text: &str) -> Piece {
    Piece::Text(text.as_bytes().to_vec())
}

fn column(set: usize, column: usize, escape: Escape) -> Piece {
    Piece::Hole(Hole { value: Value::Column { set, column }, escapes: vec![escape] })
}

#[test]
fn text_and_holes_are_told_apart() {
    let one =
        compiled(&request("/a/${users.name}/$${x}/${items.id}?$", &[("A", "${seq}")], "")).unwrap();
    assert_eq!(
        one.path,
        [
            text("/a/"),
            column(0, 0, Escape::Url),
            text("/${x}/"),
            column(1, 0, Escape::Url),
            text("?$")
        ]
    );
    let index = Piece::Hole(Hole { value: Value::Index, escapes: Vec::new() });
    assert_eq!(one.headers, [("A".to_owned(), vec![index])]);
    assert_eq!(one.body, []);
    assert_eq!(one.method, [text("POST")]);
    assert_eq!(one.columns(), [(0, 0), (1, 0)]);
}

#[test]
fn a_value_is_escaped_by_where_it_stands() {
    use Escape::{Base64, Field, Json, JsonValue, Target, Url};
    let json = [("Content-Type", "application/problem+json; charset=utf-8")];
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let none: &[(&str, &str)] = &[];
    let name = "${users.name}";
    assert_eq!(escapes(name, &json, "{\"a\": \"x@\"}"), [vec![Url], vec![Field], vec![Json]]);
    assert_eq!(escapes(name, &json, "{\"a\\\"\": @}")[2], [JsonValue]);
    assert_eq!(escapes(name, none, " [@]")[2], [JsonValue], "it begins as JSON does");
    assert_eq!(escapes(name, &[("Content-Type", "text/plain")], "[@]")[2], []);
    assert_eq!(escapes(name, &form, "a=@")[2], [Url]);
    assert_eq!(escapes(name, none, "a=@")[2], []);
    // What a function makes is escaped once.
    assert_eq!(escapes("${url users.name}", &form, "a=@"), [vec![Url], vec![Url], vec![Url]]);
    assert_eq!(escapes("${path users.name}", none, "x@")[0], [Target]);
    assert_eq!(escapes("${json users.name}", &json, "\"@\"")[2], [Json]);
    assert_eq!(escapes("${json users.name}", &json, "@")[2], [JsonValue]);
    assert_eq!(
        escapes("${base64 users.name}", &json, "\"@\""),
        [vec![Base64, Url], vec![Base64, Field], vec![Base64, Json]]
    );
    // Numbers and UUIDs break nothing, but an UUID is no value of JSON.
    for number in ["${seq}", "${random -5..5}", "${now_s}", "${now_ms}", "${now_ns}"] {
        assert_eq!(escapes(number, &json, "@"), [const { Vec::new() }; 3], "{number}");
    }
    for word in ["${uuid}", "${chars 8}", "${chars 2..16}"] {
        assert_eq!(escapes(word, &json, "@"), [vec![], vec![], vec![JsonValue]], "{word}");
    }
    assert_eq!(escapes("${now}", &json, "@"), [vec![Url], vec![Field], vec![JsonValue]]);
    for wrong in ["${chars 0}", "${chars 3..2}", "${chars x}", "${chars 9999999}"] {
        let problem = compiled(&request(&format!("/{wrong}"), none, "")).unwrap_err();
        assert!(problem.contains("write e.g. ${chars 8}"), "{problem}");
    }
    assert_eq!(escapes("${uuid}", &json, "\"@\"")[2], []);
    assert_eq!(escapes("${choice a,b-c}", &form, "@"), [const { Vec::new() }; 3]);
    assert_eq!(escapes("${choice a,b&c}", &form, "@"), [vec![Url], vec![Field], vec![Url]]);
}

#[test]
fn what_is_the_same_in_every_request_is_text() {
    let one = compiled(&request("/${env:TOKEN}", &[("A", "x ${env:TOKEN}")], "[\"${env:TOKEN}\"]"))
        .unwrap();
    assert_eq!(one.path, [text("/a%22b%2Fc%0A")]);
    assert_eq!(one.headers[0].1, [text("x a\"b/c ")]);
    assert_eq!(one.body, [text("[\"a\\\"b/c\\n\"]")]);
    let basic = compiled(&request("/", &[("A", "${base64 me:${env:TOKEN}}")], "")).unwrap();
    assert_eq!(basic.headers[0].1, [text("bWU6YSJiL2MK")]);
}

#[test]
fn a_value_can_stand_as_it_is_and_ends_nothing() {
    let one = compiled(&request(
        "/?a=${raw env:TOKEN}&b=${form env:TOKEN}&c=${env:TOKEN}",
        &[("A", "${raw env:TOKEN}"), ("Content-Type", "application/json")],
        "[\"${raw env:TOKEN}\", ${raw env:TOKEN}]",
    ))
    .unwrap();
    // The variable is `a"b/c` with an end of a line.
    assert_eq!(one.path, [text("/?a=a\"b/c%0A&b=a%22b%2Fc%0A&c=a%22b%2Fc%0A")]);
    assert_eq!(one.headers[0].1, [text("a\"b/c ")]);
    assert_eq!(one.body, [text("[\"a\"b/c\n\", a\"b/c\n]")]);
    let mut form = Vec::new();
    Escape::Form.write("a b+~*é".as_bytes(), &mut form);
    assert_eq!(form, b"a+b%2B%7E*%C3%A9");
}

#[test]
fn functions_take_texts_with_holes() {
    let one =
        compiled(&request("/", &[("A", "Basic ${base64 ${users.name}:${users.pass word}}")], ""))
            .unwrap();
    let Piece::Hole(Hole { value: Value::Group(inner), escapes }) = &one.headers[0].1[1] else {
        panic!("{one:?}")
    };
    let plain =
        |column| Piece::Hole(Hole { value: Value::Column { set: 0, column }, escapes: vec![] });
    assert_eq!(inner[..], [plain(0), text(":"), plain(1)]);
    assert_eq!(escapes[..], [Escape::Base64, Escape::Field]);
    assert_eq!(one.columns(), [(0, 0), (0, 1)]);
}

#[test]
fn every_random_hole_draws_by_itself() {
    let one = compiled(&request("/${uuid}", &[("A", "${uuid}")], "${random 1..2}${random 1..2}"))
        .unwrap();
    let mut draws: Vec<u64> = one
        .parts()
        .flatten()
        .filter_map(|piece| match piece {
            Piece::Hole(Hole {
                value: Value::Uuid { draw } | Value::Random { draw, .. }, ..
            }) => Some(*draw),
            _ => None,
        })
        .collect();
    draws.sort_unstable();
    draws.dedup();
    assert_eq!(draws.len(), 4);
    assert!(draws.iter().all(|draw| draw >> 32 == 3), "{draws:?}");
}

#[test]
fn what_is_wrong_is_said_with_its_remedy() {
    let deep = format!("/{}seq{}", "${base64 ".repeat(9), "}".repeat(9));
    let many = "${seq}".repeat(10_001);
    let table = [
        (
            "/${users.nmae}",
            "the path: data set \"users\" has no column \"nmae\"; did you mean \"name\"?",
        ),
        (
            "/${users.zzz}",
            "the path: data set \"users\" has no column \"zzz\"; it has name, pass word, id",
        ),
        (
            "/${users}",
            "the path: data set \"users\" has no column \"\"; it has name, pass word, id",
        ),
        ("/${user.name}", "the path: ${user.name} is not known; did you mean \"users.name\"?"),
        ("/${rand 1..3}", "the path: ${rand 1..3} is not known; did you mean \"random\"?"),
        ("/${rand S3cret}", "the path: ${rand [redacted]} is not known; did you mean \"random\"?"),
        ("/${sqe}", "the path: ${sqe} is not known; did you mean \"seq\"?"),
        ("/${}", "the path: ${} is not known; write $${ for the characters ${"),
        ("/${qqqqqq}", "the path: ${qqqqqq} is not known; write $${ for the characters ${"),
        (
            "/${seq",
            "the path: the ${ at character 2 has no closing brace; add }, or write $${ for the characters ${",
        ),
        ("/${random 5..1}", "the path: ${random 5..1} is empty; write the lower number first"),
        ("/${random}", "the path: ${random } has no range; write e.g. ${random 1..100}"),
        (
            "/${choice}",
            "the path: ${choice} has nothing to choose from; write e.g. ${choice a,b,c}",
        ),
        ("/${url}", "the path: ${url} has no value; write e.g. ${url ${seq}}"),
        (
            "/${env:HOMER}",
            "the path: the environment has no variable \"HOMER\"; set it for the command: HOMER=… candor …",
        ),
        (&deep, "the path: holes stand within each other more than 8 deep; use fewer"),
        (&many, "the path: it has more than 10000 holes; use fewer"),
    ];
    for (path, message) in table {
        assert_eq!(compiled(&request(path, &[], "")).expect_err(path), message);
    }
    let field = compiled(&request("/", &[("X-A", "${x}")], "")).unwrap_err();
    assert!(field.starts_with("header X-A: ${x} is not known"), "{field}");
    let body = compiled(&request("/", &[], "${x}")).unwrap_err();
    assert!(body.starts_with("the body: ${x} is not known"), "{body}");
}

#[test]
fn a_body_may_have_bytes_beside_its_holes() {
    let mut binary = request("/", &[], "");
    binary.body = b"${seq}\xff$${seq}\x80".to_vec().into();
    let body = compiled(&binary).unwrap().body;
    let texts: Vec<u8> = body
        .iter()
        .flat_map(|piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Hole(hole) => format!("{:?}", hole.value).into_bytes(),
        })
        .collect();
    assert_eq!(texts, b"Index\xff${seq}\x80");
}

/// A slash before it is the one that the value begins with.
#[test]
fn a_path_behind_a_slash_gets_no_other() {
    let path = |text: &str| compiled(&request(text, &[], "")).unwrap().path;
    let hole = "${path users.name}";
    assert_eq!(path(&format!("/a/{hole}"))[1..], [column(0, 0, Escape::Target)]);
    assert_eq!(path(&format!("/a{hole}"))[1..], [column(0, 0, Escape::Path)]);
    assert_eq!(path(&format!("/a/${{items.id}}{hole}"))[2..], [column(0, 0, Escape::Path)]);
    assert_eq!(path(hole), [column(0, 0, Escape::Path)]);
}

#[test]
fn escapes_write_what_their_places_can_have() {
    let written = |escape: Escape, value: &str| {
        let mut out = b"x".to_vec();
        escape.write(value.as_bytes(), &mut out);
        String::from_utf8(out.split_off(1)).unwrap()
    };
    let table = [
        (Escape::Url, "a b/c?d=é~", "a%20b%2Fc%3Fd%3D%C3%A9~"),
        (Escape::Path, "a b?c=d#e\r\n", "/a%20b?c=d%23e%0D%0A"),
        (Escape::Path, "/a%20b/é", "/a%20b/%C3%A9"),
        (Escape::Path, "", "/"),
        (Escape::Field, "a\r\nB: c\td\0\u{7f}é", "a  B: c\td  é"),
        (Escape::Json, "\"\\/\n\r\t\u{1}é", "\\\"\\\\/\\n\\r\\t\\u0001é"),
        (Escape::Base64, "foob", "Zm9vYg=="),
        (Escape::JsonValue, "-1.5e+3", "-1.5e+3"),
        (Escape::JsonValue, "true", "true"),
        (Escape::JsonValue, "", "\"\""),
        (Escape::JsonValue, "01", "\"01\""),
        (Escape::JsonValue, "1.", "\"1.\""),
        (Escape::JsonValue, "1e", "\"1e\""),
        (Escape::JsonValue, "+1", "\"+1\""),
        (Escape::JsonValue, "1,\"a\":2", "\"1,\\\"a\\\":2\""),
    ];
    for (escape, value, expected) in table {
        assert_eq!(written(escape, value), expected, "{escape:?} {value:?}");
    }
}

proptest::proptest! {
    /// No text panics; what has no hole and no escape comes out as it is.
    #[test]
    fn any_text(path in "/[a-z$ {}.:]{0,40}", value in proptest::collection::vec(proptest::num::u8::ANY, 0..40)) {
        let _ = compiled(&request(&path, &[], &path));
        if !path.contains("${") {
            let one = compiled(&request(&path, &[], "")).unwrap();
            proptest::prop_assert_eq!(one.path, [text(&path)]);
        }
        proptest::prop_assert_eq!(crate::holes::without_holes(&path).len(), path.len());
        // A value of JSON is one, whatever it is made of.
        let mut out = Vec::new();
        let value = String::from_utf8_lossy(&value).into_owned();
        Escape::JsonValue.write(value.as_bytes(), &mut out);
        let read: serde_json::Value = serde_json::from_slice(&out).unwrap();
        if let serde_json::Value::String(read) = read {
            proptest::prop_assert_eq!(read, value);
        }
        let mut line = Vec::new();
        Escape::Path.write(&out, &mut line);
        Escape::Url.write(&out, &mut line);
        proptest::prop_assert!(line.iter().all(u8::is_ascii_graphic));
    }
}
