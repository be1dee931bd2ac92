//! For tests: pages as a browser's parser reads them, and documents full of text that wants to be
//! more than text.

use html5gum::{DefaultEmitter, Token, Tokenizer};
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use candor_report::visible;

/// A page in its elements and its text.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Parsed {
    /// Each element's name with the names of its attributes, and its end.
    pub(crate) elements: Vec<String>,
    /// Text outside of style and script.
    pub(crate) text: Vec<String>,
    /// Values of attributes.
    pub(crate) values: Vec<String>,
    /// Blocks of data.
    pub(crate) data: Vec<String>,
}

pub(crate) fn parsed(page: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let mut inside = String::new();
    let string = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let mut emitter = DefaultEmitter::default();
    // What is in style and script is not markup.
    emitter.naively_switch_states(true);
    for Ok(token) in Tokenizer::new_with_emitter(page, emitter) {
        match token {
            Token::StartTag(tag) => {
                let name = string(&tag.name);
                let names: Vec<_> = tag.attributes.keys().map(|key| string(key)).collect();
                parsed.values.extend(tag.attributes.values().map(|value| string(value)));
                let data = tag.attributes.iter().any(|(_, v)| string(v) == "application/json");
                inside = if data { "data".to_owned() } else { name.clone() };
                parsed.elements.push(format!("{name} {}", names.join(" ")));
            }
            Token::EndTag(tag) => {
                inside.clear();
                parsed.elements.push(format!("/{}", string(&tag.name)));
            }
            Token::String(text) => match &*inside {
                "style" | "script" => {}
                "data" => parsed.data.push(string(&text)),
                _ => parsed.text.push(string(&text)),
            },
            Token::Doctype(_) => {}
            other => panic!("not in a page of ours: {other:?}"),
        }
    }
    parsed
}

/// A page for a golden file: without style, script and their hashes, which are the same on every page
/// and have files of their own, and with a line for each piece, so that a difference can be read.
pub(crate) fn readable(page: &str) -> String {
    let cut = |page: &str, from: &str, to: &str| {
        let (head, rest) = page.split_once(from).unwrap();
        let (_, tail) = rest.split_once(to).unwrap();
        format!("{head}{from}{to}{tail}")
    };
    let policy = "Content-Security-Policy\" content=\"";
    let short = cut(&cut(page, "<style>", "</style>"), "<script>", "</script>");
    ["<section", "<figure", "<table", "<tr", "<article", "<path", "<g ", "<script", "<h"]
        .iter()
        .fold(cut(&short, policy, "\">"), |page, tag| page.replace(tag, &format!("\n{tag}")))
}

/// Texts that have run somewhere.
pub(crate) const PAYLOADS: [&str; 12] = [
    "<script>window.ran = 1</script>",
    "</script><script>window.ran = 1</script>",
    "</style><script>window.ran = 1</script>",
    "</title><svg onload=window.ran=1>",
    "\"><img src=x onerror=\"window.ran = 1\">",
    "' onmouseover='window.ran = 1",
    "<!-- --> <![CDATA[ <?xml",
    "javascript:window.ran=1",
    "&lt;script&gt;&#60;b&#62;&amp",
    "\\u003cscript\\u003e\\\"};window.ran=1;//",
    "\u{202e}\u{0}\u{2028}\u{1b}[31m\u{feff}",
    "https://example.com/?a=<b>&c='d'",
];

/// Any text, but more of what has a meaning in HTML.
pub(crate) fn text() -> impl Strategy<Value = String> {
    "\\PC{1,12}|[<>&\"'/!;a-c \\x00-\\x1f=-]{1,16}"
}

/// Makes sure that whatever text a document has, its page has the same elements, and shows the text.
/// Says in how many places of the document text was put.
pub(crate) fn check<T: Serialize + DeserializeOwned>(
    document: &T,
    render: fn(&T) -> String,
    texts: &[&str],
) -> usize {
    let whole = serde_json::to_value(document).unwrap();
    let places = places::<T>(&whole);
    let page = |text: &str| parsed(&render(&with_text(&whole, &places, text)));
    let harmless = page("harmless");
    let of = |page: &Parsed, text: &str| {
        page.text.iter().map(|piece| piece.matches(text).count()).sum::<usize>()
    };
    let wanted = of(&harmless, "harmless");
    assert!(wanted > 5, "{wanted}");
    for text in texts {
        let page = page(text);
        assert_eq!(harmless.elements, page.elements, "{text:?}");
        let shown = visible(text);
        // A shell's quotes, JSON and tables of Markdown write some characters in another way.
        let found = of(&page, &shown);
        assert!(found * 2 >= wanted, "{found} of {wanted}: {shown}");
        for data in &page.data {
            serde_json::from_str::<Value>(data).unwrap();
        }
    }
    places.len()
}

/// Where a document takes any text, as JSON pointers. Fields that take only certain words refuse it;
/// histograms would only be damaged.
fn places<T: DeserializeOwned>(whole: &Value) -> Vec<String> {
    fn strings(value: &Value, here: String, found: &mut Vec<String>) {
        let children: Vec<(String, &Value)> = match value {
            Value::String(_) if !here.ends_with("hdr") => return found.push(here),
            Value::Array(list) => {
                list.iter().enumerate().map(|(n, v)| (n.to_string(), v)).collect()
            }
            Value::Object(map) => map.iter().map(|(key, v)| (key.clone(), v)).collect(),
            _ => Vec::new(),
        };
        children.into_iter().for_each(|(key, one)| strings(one, format!("{here}/{key}"), found));
    }
    let mut found = Vec::new();
    strings(whole, String::new(), &mut found);
    found.retain(|place| {
        let mut value = whole.clone();
        *value.pointer_mut(place).unwrap() = Value::String("any text".to_owned());
        serde_json::from_value::<T>(value).is_ok()
    });
    found
}

/// A document with the same text everywhere, also as the name of evidence.
fn with_text<T: DeserializeOwned>(whole: &Value, places: &[String], text: &str) -> T {
    let mut value = whole.clone();
    for place in places {
        *value.pointer_mut(place).unwrap() = Value::String(text.to_owned());
    }
    for verdict in value.get_mut("verdicts").and_then(Value::as_array_mut).into_iter().flatten() {
        verdict["evidence"] = serde_json::json!({text: 1.0});
    }
    serde_json::from_value(value).unwrap()
}
