//! The document as JSON. No text is lost: invisible characters are written as `\uXXXX`.

use serde::Serialize;

use crate::document::Document;
use candor_plan::words::is_hidden;

/// The document as indented JSON, with a newline at its end.
pub fn render(document: &Document) -> String {
    any(document)
}

/// The same for any document, e.g. that of an experiment.
pub fn any(document: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(document)
        .expect("a document has string keys, and numbers that are not finite become null");
    text.push('\n');
    seen(text)
}

/// A value on one line, with a newline.
pub fn line(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string(value)
        .expect("a document has string keys, and numbers that are not finite become null");
    text.push('\n');
    seen(text)
}

/// JSON with only visible characters. Outside of strings only ends of lines are invisible, and
/// within strings JSON itself escapes characters below U+0020.
pub fn seen(json: String) -> String {
    let is_escaped = |c: char| c >= '\u{7f}' && is_hidden(c);
    if !json.contains(is_escaped) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match is_escaped(c) {
            true => c
                .encode_utf16(&mut [0; 2])
                .iter()
                .for_each(|unit| out.push_str(&format!("\\u{unit:04x}"))),
            false => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReadError;
    use crate::testing;

    #[test]
    fn a_document_survives_the_way_to_a_file_and_back() {
        for document in testing::every_document() {
            assert_eq!(Document::from_json(&render(&document)).unwrap(), document);
        }
    }

    #[test]
    fn nothing_is_hidden_and_nothing_is_lost() {
        let mut document = testing::healthy_open();
        let hidden = "\u{1b}]0;x\u{7}\u{9b}2J\u{7f}\u{202e}\u{200b}\u{e0041}\n|`\"\\";
        document.target_note = Some(hidden.to_owned());
        let text = render(&document);
        assert!(!text.contains(|c| c != '\n' && is_hidden(c)));
        assert!(text.contains("\\u001b]0;x\\u0007\\u009b2J\\u007f\\u202e\\u200b\\udb40\\udc41"));
        assert_eq!(Document::from_json(&text).unwrap(), document);
    }

    #[test]
    fn fields_of_later_minor_versions_are_skipped() {
        let text = render(&testing::healthy_open())
            .replacen("candor.result/3", "candor.result/3.3", 1)
            .replacen('{', "{\"weather\": {\"rain\": true},", 1);
        assert_eq!(Document::from_json(&text).unwrap().ledger.ok, 6000);
    }

    #[test]
    fn what_is_no_result_is_refused_with_a_reason() {
        let text = render(&testing::healthy_open());
        let other = text.replacen("candor.result/3", "candor.result/4", 1);
        let error = Document::from_json(&other).unwrap_err();
        assert!(matches!(error, ReadError::OtherMajor { .. }));
        assert!(error.to_string().contains("candor.result/3"), "{error}");
        let longer = text.replacen("candor.result/3", "candor.result/10", 1);
        assert!(matches!(Document::from_json(&longer), Err(ReadError::OtherMajor { .. })));
        for (text, part) in [
            ("", "not JSON"),
            ("GET /", "not JSON"),
            ("[]", "no \"format\""),
            ("{}", "no \"format\""),
            ("{\"format\": 7}", "no \"format\""),
            ("{\"format\": \"other/1\"}", "no \"format\""),
            ("{\"format\": \"candor.result/1\"}", "damaged"),
        ] {
            let error = Document::from_json(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
        let half = &text[..text.len() / 2];
        assert!(matches!(Document::from_json(half), Err(ReadError::NotJson(_))));
    }
}
