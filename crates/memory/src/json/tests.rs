use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::MOST_VALUE_BYTES;

fn find(path: &str, body: &str) -> Result<String, Why> {
    let path = Path::parse(path).unwrap();
    Ok(String::from_utf8(path.find(body.as_bytes())?.into_owned()).unwrap())
}

fn is_plain(path: &str) -> bool {
    matches!(Path::parse(path).unwrap(), Path::Plain(_))
}

/// RFC 9535 1.5.
const STORE: &str = r#"{ "store": {
    "book": [
      { "category": "reference", "author": "Nigel Rees", "title": "Sayings of the Century", "price": 8.95 },
      { "category": "fiction", "author": "Evelyn Waugh", "title": "Sword of Honour", "price": 12.99 },
      { "category": "fiction", "author": "Herman Melville", "title": "Moby Dick", "isbn": "0-553-21311-3", "price": 8.99 },
      { "category": "fiction", "author": "J. R. R. Tolkien", "title": "The Lord of the Rings", "isbn": "0-395-19395-8", "price": 22.99 }
    ],
    "bicycle": { "color": "red", "price": 399 }
  } }"#;

/// RFC 9535, table 2, the first node of each; the members of an object are in the order of their names.
#[test]
fn the_examples_of_the_rfc() {
    for (path, expected) in [
        ("$.store.book[*].author", "Nigel Rees"),
        ("$..author", "Nigel Rees"),
        ("$.store.*", r#"{ "color": "red", "price": 399 }"#),
        ("$.store..price", "399"),
        ("$..book[2].author", "Herman Melville"),
        ("$..book[-1].title", "The Lord of the Rings"),
        ("$..book[0,1].title", "Sayings of the Century"),
        ("$..book[:2].title", "Sayings of the Century"),
        ("$..book[?@.isbn].title", "Moby Dick"),
        ("$..book[?@.price<10].price", "8.95"),
        ("$.store.book[?@.price>10 && @.category=='fiction'].title", "Sword of Honour"),
        ("$.store.book[?@.price > $.store.book[1].price].title", "The Lord of the Rings"),
        ("$['store'][\"bicycle\"].color", "red"),
        ("$.store.bicycle.price", "399"),
    ] {
        assert_eq!(find(path, STORE).as_deref(), Ok(expected), "{path}");
    }
    assert_eq!(find("$..book[2].publisher", STORE), Err(Why::NotFound));
}

/// RFC 9535 2.3, in the manner of the compliance suite: path, document, value of the first node.
#[test]
fn selectors_and_segments() {
    for (path, body, expected) in [
        ("$", "[1, 2]", Some("[1, 2]")),
        ("$", " \"a\" ", Some("a")),
        ("$.a", r#"{"a":"A","b":"B"}"#, Some("A")),
        ("$.a", r#"["a"]"#, None),
        ("$.a", r#""a""#, None),
        ("$.a", "1", None),
        ("$.a", "null", None),
        ("$.ä_1", r#"{"ä_1":1}"#, Some("1")),
        ("$['j j']['k.k']", r#"{"j j":{"k.k":3}}"#, Some("3")),
        ("$['\\'']", r#"{"'":1}"#, Some("1")),
        ("$[\"\\u263a\"]", r#"{"☺":1}"#, Some("1")),
        ("$['']", r#"{"":1}"#, Some("1")),
        ("$['$.a']", r#"{"$.a":1}"#, Some("1")),
        ("$.a", r#"{"\u0061":1}"#, Some("1")),
        ("$[0]", r#"["x","y"]"#, Some("x")),
        ("$[1]", r#"["x","y"]"#, Some("y")),
        ("$[2]", r#"["x","y"]"#, None),
        ("$[-1]", r#"["x","y"]"#, Some("y")),
        ("$[-3]", r#"["x","y"]"#, None),
        ("$[0]", r#"{"0":1}"#, None),
        ("$[ 1 ]", r#"["x","y"]"#, Some("y")),
        ("$ .a", r#"{"a":1}"#, Some("1")),
        ("$[1:]", r#"["x","y"]"#, Some("y")),
        ("$[::-1]", r#"["x","y"]"#, Some("y")),
        ("$[5:1:-2]", "[0,1,2,3,4,5,6]", Some("5")),
        ("$[::0]", "[1]", None),
        ("$[1,0]", r#"["x","y"]"#, Some("y")),
        ("$.*", "[]", None),
        ("$[*].a", r#"[1,{"a":2},{"a":3}]"#, Some("2")),
        ("$..a", r#"[[{"a":1}]]"#, Some("1")),
        ("$[?@.a==1].b", r#"[{"a":2,"b":3},{"a":1,"b":4}]"#, Some("4")),
        ("$[?!@.a].b", r#"[{"a":2,"b":3},{"b":4}]"#, Some("4")),
        ("$[?length(@.a)>1].a", r#"[{"a":"x"},{"a":"xy"}]"#, Some("xy")),
        ("$[?count(@.*)>1].b", r#"[{"b":1},{"a":2,"b":3}]"#, Some("3")),
        ("$[?value(@.a)=='x'].b", r#"[{"b":1},{"a":"x","b":3}]"#, Some("3")),
        ("$.a", r#"{"a":null}"#, None),
        ("$..a", r#"{"a":null}"#, None),
        ("$.a", r#"{"a":true}"#, Some("true")),
        ("$.a", r#"{"a":-1.50e+3}"#, Some("-1.50e+3")),
        ("$..a", r#"{"a":-1.50e+3}"#, Some("-1.50e+3")),
        ("$.a", r#"{"a":123456789012345678901234567890}"#, Some("123456789012345678901234567890")),
        ("$..a", r#"{"a":12345678901234567890123}"#, Some("12345678901234567890123")),
        ("$.a", r#"{"a":"\"\\\/\n\u00e9\ud83d\ude00"}"#, Some("\"\\/\né😀")),
        ("$.a", r#"{"a":""}"#, Some("")),
        ("$.a", r#"{"a": [ 1 , {} ] , "b":0}"#, Some("[ 1 , {} ]")),
    ] {
        let expected = expected.ok_or(Why::NotFound).map(str::to_owned);
        assert_eq!(find(path, body), expected, "{path} in {body}");
    }
}

#[test]
fn the_first_of_a_name_counts_and_what_follows_is_not_read() {
    assert_eq!(find("$.a", r#"{"a":1,"a":2}"#).unwrap(), "1");
    assert_eq!(find("$.a.b", r#"{"a":1,"a":{"b":2}}"#), Err(Why::NotFound));
    assert_eq!(find("$.a", r#"{"a":1, broken"#).unwrap(), "1");
    assert_eq!(find("$[0].b", r#"[{"b":[1]"#).unwrap(), "[1]");
    // Brackets that do not match are noticed in the value, and not before it.
    assert_eq!(find("$.a", r#"{"b":[},"a":1}"#).unwrap(), "1");
    assert_eq!(find("$.a", r#"{"a":[}}"#), Err(Why::NotJson));
    assert_eq!(find("$.a", r#"{"b":"\\","c":"\"","a":"]"}"#).unwrap(), "]");
    assert_eq!(find("$.a", "{\n\t\"b\" : [ \"]\" , {} ] ,\r\n \"a\" : 1 }").unwrap(), "1");
    assert_eq!(find("$[2]", "[ 1 , \"[\" , 2 ]").unwrap(), "2");
}

#[test]
fn a_body_that_is_not_json_is_named() {
    for body in [
        "",
        "<html>",
        "{",
        "{\"b\":1,",
        "{\"b\" 1}",
        "{\"b\":tru,\"a\":1}",
        "{\"b\":1 \"a\":1}",
        "{\"b\":1,}",
        "{\"b\":,\"a\":1}",
        "{b:1,\"a\":1}",
        "{\"a\\",
        "{\"a\":\"x",
        "{\"a\":\"\\ud800\"}",
        "{\"a\":01}",
    ] {
        assert_eq!(find("$.a", body), Err(Why::NotJson), "{body}");
        assert_eq!(find("$..a", body), Err(Why::NotJson), "{body}");
    }
    assert_eq!(find("$", "1 2"), Err(Why::NotJson));
    let not_text = Path::parse("$.a").unwrap();
    assert_eq!(not_text.find(b"{\"a\":\"\xff\"}"), Err(Why::NotJson));
    assert_eq!(not_text.find(b"{\"\xff\":\"\xff\",\"a\":1}").unwrap(), &b"1"[..]);
}

#[test]
fn the_form_decides_which_way_a_path_goes() {
    for path in ["$", "$.a", "$.auth.token", "$.items[0].id", "$['a b'][\"c\"][10]", "$.ä", "$['']"]
    {
        assert!(is_plain(path), "{path}");
    }
    for path in [
        "$.*",
        "$[*]",
        "$..a",
        "$[-1]",
        "$[0:1]",
        "$['a','b']",
        "$[?@.a]",
        "$[ 0]",
        "$ .a",
        "$['\\n']",
    ] {
        assert!(!is_plain(path), "{path}");
    }
    let steps = |text: &str| plain_steps(text).unwrap();
    let name = |name: &str| Step::Name(name.into());
    assert_eq!(
        steps("$.items[0]['a.b[1]'].c"),
        [name("items"), Step::Index(0), name("a.b[1]"), name("c")]
    );
}

#[test]
fn paths_that_are_not_valid_have_a_place() {
    let problem = |text: &str| Path::parse(text).unwrap_err();
    for (path, expected) in [
        ("$.a.", "the JSON path is not complete; write on after its end, e.g. $.token"),
        ("$.a[", "from '[' at position 4 on; correct it by RFC 9535, e.g. $.items[0]['a b']"),
        ("$a", "from 'a' at position 2 on; correct"),
        ("$.x-id", "from '-' at position 4 on; write a name with a hyphen as ['a-b']"),
        ("$[01]", "from '1' at position 4 on; correct"),
        ("$[-0]", "from '[' at position 2 on; correct"),
        ("$[9007199254740992]", "at position 2 on; correct"),
        ("$.a[?match(@.b,'c')]", "on; match() and search() are not supported, remove them"),
        ("$.a ", "from ' ' at position 4 on; correct"),
    ] {
        let problem = problem(path);
        assert!(problem.contains(expected), "{path}: {problem}");
    }
}

#[test]
fn paths_are_bounded() {
    let problem = |text: &str| Path::parse(text).unwrap_err();
    assert!(is_plain(&format!("${}", ".a".repeat(500))));
    assert!(problem(&format!("$.{}", "a".repeat(2000))).contains("longer than 1024"));
    assert!(problem("$..a..b..c").contains("more than 2 of"));
    assert!(Path::parse("$['..','$..$']..a..b").is_ok(), "quoted");
    assert!(problem("$[?$..a].b[?$.c]").contains("more than 2 of"));
    assert!(problem("$[*,*,*,*,*,*,*,*,*,*]").contains("more than 4 commas"));
    assert!(
        problem(&format!("$[?{}@.a{}]", "(".repeat(500), ")".repeat(500)))
            .contains("deeper than 8")
    );
    assert!(problem(&format!("$[?{}", "(".repeat(500))).contains("deeper than 8"));
    assert!(Path::parse("$[?((((((@.a))))))]").is_ok());
}

#[test]
fn hostile_bodies_are_bounded() {
    let deep = "[".repeat(1 << 20);
    assert_eq!(find("$[0]", &deep), Err(Why::NotJson));
    assert_eq!(find("$[1]", &deep), Err(Why::NotJson));
    assert_eq!(find("$.a", &format!("{{\"b\":{deep}")), Err(Why::NotJson));
    let closed = format!("{{\"b\":{}{},\"a\":1}}", "[".repeat(1 << 20), "]".repeat(1 << 20));
    assert_eq!(find("$.a", &closed).unwrap(), "1");
    assert_eq!(find("$..a", &closed), Err(Why::TooManyValues));
    let nested = |levels: usize| format!("{}7{}", "[".repeat(levels), "]".repeat(levels));
    assert_eq!(find("$[*]", &nested(127)).unwrap(), nested(126));
    assert_eq!(find("$[*]", &nested(128)), Err(Why::NotJson));
    let way = |levels: usize| format!("${}", "[0]".repeat(levels));
    assert_eq!(find(&way(300), &nested(300)).unwrap(), "7");
    // The most nodes that a path with two scans can select: each of a chain is below all above it.
    let chain = nested(127);
    assert_eq!(find("$..[*]..[*]", &chain).unwrap(), nested(125));
    let wide = format!("[{}1]", "1,".repeat(1 << 16));
    assert_eq!(find("$[-1]", &wide), Err(Why::TooManyValues));
    assert_eq!(find("$..*..*", &format!("[{}1]", "1,".repeat(1 << 10))), Err(Why::TooManyValues));
    assert_eq!(find("$[-1]", &format!("[{}2]", "1,".repeat(60_000))).unwrap(), "2");
    assert_eq!(find("$.a", "{\"b\":1e999999999,\"a\":2}").unwrap(), "2");
    let digits = "9".repeat(MOST_VALUE_BYTES + 1);
    assert_eq!(find("$.a", &format!("{{\"a\":{digits}}}")), Err(Why::TooLong));
    assert_eq!(find("$.a.b", &format!("{{\"a\":{digits}}}")), Err(Why::NotFound));
    let escaped = format!("{{\"a\":\"{}\"}}", "\\u0041".repeat(MOST_VALUE_BYTES));
    assert_eq!(find("$.a", &escaped).unwrap(), "A".repeat(MOST_VALUE_BYTES));
    let escaped = format!("{{\"a\":\"{}\"}}", "\\u0041".repeat(MOST_VALUE_BYTES + 1));
    assert_eq!(find("$.a", &escaped), Err(Why::TooLong));
}

fn documents() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(|n| json!(n)),
        (-1e9f64..1e9).prop_map(|n| json!(n)),
        "[a-c\"\\\\\n\u{1}é😀]{0,6}".prop_map(Value::String),
    ];
    leaf.prop_recursive(5, 60, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            prop::collection::btree_map("[abc]|é|a b|\"|\\\\", inner, 0..5)
                .prop_map(|members| Value::Object(Map::from_iter(members))),
        ]
    })
}

/// What is captured of a value.
fn captured(value: Option<&Value>) -> Result<Value, Why> {
    value.filter(|value| !value.is_null()).cloned().ok_or(Why::NotFound)
}

fn same_as_library(path: &str, tree: &Value, body: &[u8]) -> Result<(), TestCaseError> {
    let expected = captured(General::parse(path).unwrap().node(tree));
    let found = Path::parse(path).unwrap().find(body);
    match (expected, found) {
        (Ok(Value::String(expected)), Ok(found)) => {
            prop_assert_eq!(expected.as_bytes(), &*found, "{}", path);
        }
        (Ok(expected), Ok(found)) => {
            let found: Value = serde_json::from_slice(&found).unwrap();
            prop_assert_eq!(expected, found, "{}", path);
        }
        (expected, found) => prop_assert_eq!(expected.err(), found.err(), "{}", path),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// The way without a tree, and the way with one, give what the library selects.
    #[test]
    fn a_path_finds_what_the_library_selects(
        tree in documents(),
        pretty in any::<bool>(),
        plain in r#"(\.[abc]|\.é|\['a b'\]|\["'"\]|\[[012]\]){0,4}"#,
        general in r"(\.[abc]|\.\*|\.\.[ab]|\[(0|1|-1|-2)\]|\[[01]?:[12]?\]|\['a','b'\]|\[\?@\.a\]){0,3}",
    ) {
        let body = match pretty {
            true => serde_json::to_vec_pretty(&tree).unwrap(),
            false => serde_json::to_vec(&tree).unwrap(),
        };
        // As it is read: serde_json may lose the last digit of a fraction.
        let tree: Value = serde_json::from_slice(&body).unwrap();
        let plain = format!("${plain}");
        prop_assert!(is_plain(&plain));
        same_as_library(&plain, &tree, &body)?;
        if general.matches("..").count() <= 2 {
            same_as_library(&format!("${general}"), &tree, &body)?;
        }
    }

    /// A body that ends too early, or is changed, has a value or a reason, and never an end.
    #[test]
    fn a_broken_body_does_no_harm(
        tree in documents(),
        cut in any::<prop::sample::Index>(),
        changed in any::<u8>(),
        path in r"(\.[abc]|\[[012]\]|\.\*|\.\.[ab]){0,4}",
    ) {
        let mut body = serde_json::to_vec(&tree).unwrap();
        let at = cut.index(body.len());
        let Ok(path) = Path::parse(&format!("${path}")) else { return Ok(()) };
        let _ = path.find(&body[..at]);
        body[at] = changed;
        let _ = path.find(&body);
    }
}
