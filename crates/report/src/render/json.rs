//! The document itself.

use crate::document::Document;

/// The document as indented JSON, with a newline at its end.
pub fn render(document: &Document) -> String {
    any(document)
}

/// The same of any document, such as that of an experiment.
pub fn any(document: &impl serde::Serialize) -> String {
    let mut text = serde_json::to_string_pretty(document)
        .expect("a document has string keys, and numbers that are not finite become null");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::ReadError;
    use crate::testing;

    #[test]
    fn a_document_survives_the_way_to_a_file_and_back() {
        for document in testing::every_document() {
            assert_eq!(Document::from_json(&render(&document)).unwrap(), document);
        }
    }

    #[test]
    fn fields_of_later_minor_versions_are_skipped() {
        let text = render(&testing::healthy_open())
            .replacen("candor.result/1", "candor.result/1.3", 1)
            .replacen('{', "{\"weather\": {\"rain\": true},", 1);
        assert_eq!(Document::from_json(&text).unwrap().ledger.ok, 6000);
    }

    #[test]
    fn what_is_no_result_is_refused_with_a_reason() {
        let text = render(&testing::healthy_open());
        let other = text.replacen("candor.result/1", "candor.result/2", 1);
        let error = Document::from_json(&other).unwrap_err();
        assert!(matches!(error, ReadError::OtherMajor { .. }));
        assert!(error.to_string().contains("candor.result/2"), "{error}");
        let longer = text.replacen("candor.result/1", "candor.result/10", 1);
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
