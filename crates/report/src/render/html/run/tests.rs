//! Pages of runs as a browser's parser reads them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use html5gum::{DefaultEmitter, Token, Tokenizer};
use proptest::prelude::*;
use serde_json::Value;

use super::render;
use crate::document::Document;
use crate::expect::Expectation;
use crate::testing;

/// A page in its elements and its text.
#[derive(Debug, Default, PartialEq)]
struct Parsed {
    /// Each element's name with the names of its attributes, and its end.
    elements: Vec<String>,
    /// Text outside of style and script.
    text: Vec<String>,
    /// Values of attributes.
    values: Vec<String>,
    /// Blocks of data.
    data: Vec<String>,
}

fn parsed(page: &str) -> Parsed {
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

/// A document in which every part of a page has something to show.
fn full() -> Document {
    let mut document = testing::broken();
    document.set_target(
        crate::document::target::Resources {
            ended: Some("with exit status 1".to_owned()),
            log_tail: vec!["first".to_owned(), "second".to_owned()],
            stats: vec![crate::document::target::StatsSample {
                at_s: 1.0,
                json: serde_json::json!({"memory": 5}),
            }],
            ..testing::watched()
        },
        true,
    );
    let expectations =
        ["p99 < 5ms", "error-rate < 0.1%"].map(|one| Expectation::parse(one).unwrap());
    document.judge_expectations(&expectations);
    document
}

#[test]
fn the_pages() {
    for (name, document) in [("open", testing::healthy_open()), ("full", full())] {
        let page = render(&document);
        // Style and script are the same on every page and have files of their own.
        let cut = |page: &str, from: &str, to: &str| {
            let (head, rest) = page.split_once(from).unwrap();
            let (_, tail) = rest.split_once(to).unwrap();
            format!("{head}{from}{to}{tail}")
        };
        let short = cut(&cut(&page, "<style>", "</style>"), "<script>", "</script>");
        let short = short.split_once("sha256-").map_or(String::new(), |(head, rest)| {
            let (_, rest) = rest.split_once("; img-src").unwrap();
            format!("{head}…; img-src{rest}")
        });
        // A line for each piece, so that a difference can be read.
        let lines =
            ["<section", "<figure", "<table", "<tr", "<article", "<path", "<g ", "<script", "<h"]
                .iter()
                .fold(short, |page, tag| page.replace(tag, &format!("\n{tag}")));
        testing::golden(&format!("golden/{name}.html"), &lines);
    }
}

#[test]
fn every_document_has_a_page_of_its_own_and_a_small_one() {
    let documents = testing::every_document().into_iter().chain(testing::provoked());
    for document in documents {
        let page = render(&document);
        assert_eq!(page, render(&document));
        assert!(page.len() < 200_000, "{}", page.len());
        let read = parsed(&page);
        let ids: Vec<_> = page.match_indices(" id=\"").collect();
        assert!(read.elements.iter().filter(|one| one.starts_with("h1")).count() == 1);
        assert!(!ids.is_empty());
        for outside in ["http://", "https://"] {
            // Only names of namespaces in the icon and in the script, and URLs as text.
            assert!(read.values.iter().all(|value| !value.starts_with(outside)), "{outside}");
        }
        // Elements are closed in the order in which they were opened.
        let mut open = Vec::new();
        for element in &read.elements {
            let name = element.split(' ').next().unwrap();
            match name.strip_prefix('/') {
                Some(name) => assert_eq!(open.pop().as_deref(), Some(name)),
                None if ["meta", "link", "input"].contains(&name) => {}
                None if ["path", "line", "rect"].contains(&name) => {}
                None => open.push(name.to_owned()),
            }
        }
        assert_eq!(open, [""; 0]);
    }
}

/// A long run is cut into slices: its page is not longer, and has the same answers in it.
#[test]
fn the_page_of_a_long_run_is_not_long() {
    let mut document = testing::healthy_open();
    let row = document.intervals[1].clone();
    document.intervals = (0..3600u64)
        .map(|n| {
            let mut row = row.clone();
            (row.index, row.start_ns, row.end_ns) = (n, n * 1_000_000_000, (n + 1) * 1_000_000_000);
            row
        })
        .collect();
    let page = render(&document);
    assert!(page.len() < 300_000, "{}", page.len());
    assert!(page.contains("Each point stands for 15 intervals"), "no note");
}

#[test]
fn a_damaged_histogram_is_told_and_the_rest_is_there() {
    let mut document = testing::healthy_open();
    document.latencies.response.hdr = "AAAA".to_owned();
    document.intervals[1].response_hdr = "?".to_owned();
    let text = parsed(&render(&document)).text.join("");
    assert!(text.contains("There are no curves: a histogram in the document is damaged"), "{text}");
    assert!(text.contains("There are no charts: a histogram in the document is damaged"), "{text}");
    assert!(text.contains("Ledger"));
}

/// Where a document takes any text, as JSON pointers. Fields that take only certain words refuse it;
/// histograms would only be damaged.
fn places(document: &Document) -> Vec<String> {
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
    let whole = serde_json::to_value(document).unwrap();
    let mut found = Vec::new();
    strings(&whole, String::new(), &mut found);
    found.retain(|place| {
        let mut value = whole.clone();
        *value.pointer_mut(place).unwrap() = Value::String("any text".to_owned());
        serde_json::from_value::<Document>(value).is_ok()
    });
    found
}

/// A document with the same text everywhere, also as the name of evidence, and how many places that
/// are.
fn with_text_everywhere(text: &str) -> (Document, usize) {
    static FULL: LazyLock<(Value, Vec<String>)> = LazyLock::new(|| {
        let document = full();
        (serde_json::to_value(&document).unwrap(), places(&document))
    });
    let (mut value, places) = (FULL.0.clone(), &FULL.1);
    for place in places {
        *value.pointer_mut(place).unwrap() = Value::String(text.to_owned());
    }
    let mut document: Document = serde_json::from_value(value).unwrap();
    for verdict in &mut document.verdicts {
        verdict.evidence = BTreeMap::from([(text.to_owned(), 1.0)]);
    }
    (document, places.len())
}

const PAYLOADS: [&str; 12] = [
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

/// Whatever a text is, the elements of the page are those of a page with a harmless text.
fn assert_stays_text(text: &str) {
    let (harmless, places) = with_text_everywhere("harmless");
    assert!(places > 60, "{places}");
    let (harmful, _) = with_text_everywhere(text);
    let arguments = harmful.arguments.len();
    let (harmless, harmful) = (parsed(&render(&harmless)), parsed(&render(&harmful)));
    assert_eq!(harmless.elements, harmful.elements);
    let mut shown = String::new();
    let hidden = super::super::markup::is_hidden;
    text.chars().for_each(|c| match hidden(c) {
        true => shown.extend(c.escape_default()),
        false => shown.push(c),
    });
    let of = |parsed: &Parsed, text: &str| {
        parsed.text.iter().map(|piece| piece.matches(text).count()).sum::<usize>()
    };
    let wanted = of(&harmless, "harmless");
    assert!(wanted > 40, "{wanted}");
    // In the command for a shell a quote is written in another way.
    let found = of(&harmful, &shown) + arguments;
    assert!(found >= wanted, "{found} of {wanted}: {shown}");
    for data in &harmful.data {
        serde_json::from_str::<Value>(data).unwrap();
    }
}

#[test]
fn payloads_stay_text() {
    PAYLOADS.iter().for_each(|payload| assert_stays_text(payload));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_text_stays_text(text in "\\PC{1,12}|[<>&\"'/!;a-c \\x00-\\x1f=-]{1,16}") {
        assert_stays_text(&text);
    }
}
