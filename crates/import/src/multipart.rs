//! Bodies of `multipart/form-data` (RFC 7578): read from a text, of which every byte stays, or made of fields.

use crate::template::Template;

/// Between the parts of a form that is made. It is fixed, so that the plan is the same each time.
pub(crate) const BOUNDARY: &str = "candor-7MA4YWxkTrZu0gW";

/// The parts of a body, and the text behind the last value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Multipart {
    pub(crate) parts: Vec<Part>,
    end: String,
}

/// A value of a form, with the text before it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Part {
    head: String,
    pub(crate) name: String,
    pub(crate) value: Template,
}

/// A field of a form that is made.
#[derive(Debug, Clone, Default)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) filename: Option<String>,
    pub(crate) content_type: Option<String>,
    /// Further fields of the part's header, as lines.
    pub(crate) header: Vec<String>,
    /// Its names have backslashes before marks, and no percent escapes.
    pub(crate) is_backslashed: bool,
    pub(crate) value: Template,
}

/// The boundary of a content type.
pub(crate) fn boundary(content_type: &str) -> Option<&str> {
    let parameters = content_type.split(';').skip(1);
    let named = parameters.filter_map(|one| one.trim().split_once('='));
    let mut boundaries = named.filter(|(name, _)| name.eq_ignore_ascii_case("boundary"));
    let boundary = boundaries.next()?.1.trim_matches('"');
    (!boundary.is_empty()).then_some(boundary)
}

impl Multipart {
    /// The parts of a text.
    pub(crate) fn read(text: &str, boundary: &str) -> Self {
        let next = format!("\n--{boundary}");
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(begin) = ["\r\n\r\n", "\n\n"]
            .into_iter()
            .filter_map(|line| Some(rest.find(line)? + line.len()))
            .min()
        {
            let (head, tail) = rest.split_at(begin);
            let end =
                tail.find(&next).map_or(tail.len(), |end| tail[..end].trim_end_matches('\r').len());
            let (value, after) = tail.split_at(end);
            let name = head.rsplit_once(" name=\"").and_then(|(_, name)| name.split('"').next());
            parts.push(Part {
                head: head.to_owned(),
                name: name.unwrap_or_default().to_owned(),
                value: Template::text(value),
            });
            rest = after;
        }
        Multipart { parts, end: rest.to_owned() }
    }

    /// A body of fields.
    pub(crate) fn made(fields: impl IntoIterator<Item = Field>, boundary: &str) -> Self {
        let mut parts: Vec<Part> = Vec::new();
        for field in fields {
            let quoted = |text: &str| match field.is_backslashed {
                true => text.replace('\\', "\\\\").replace('"', "\\\""),
                false => text.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A"),
            };
            let line = |text: &str| text.replace(char::is_control, " ") + "\r\n";
            let before = if parts.is_empty() { "" } else { "\r\n" };
            let mut head = format!(
                "{before}--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"",
                quoted(&field.name)
            );
            if let Some(filename) = &field.filename {
                head += &format!("; filename=\"{}\"", quoted(filename));
            }
            head += "\r\n";
            if let Some(kind) = &field.content_type {
                head += &line(&format!("Content-Type: {kind}"));
            }
            head.extend(field.header.iter().map(|text| line(text)));
            parts.push(Part { head: head + "\r\n", name: field.name, value: field.value });
        }
        let before = if parts.is_empty() { "" } else { "\r\n" };
        Multipart { parts, end: format!("{before}--{boundary}--\r\n") }
    }

    /// The whole body.
    pub(crate) fn text(&self) -> Template {
        let mut text = Template::default();
        for part in &self.parts {
            text.push_text(&part.head);
            text.push(&part.value);
        }
        text.push_text(&self.end);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_can_be_read_and_stays() {
        let field = |name: &str, value: &str| Field {
            name: name.to_owned(),
            value: Template::text(value),
            ..Field::default()
        };
        let file = Field {
            filename: Some("a\n.txt".to_owned()),
            content_type: Some("text/plain".to_owned()),
            header: vec!["X-A: b\r\nc".to_owned()],
            ..field("f", "hello")
        };
        let made = Multipart::made([field("a\"", "1\r\n--x"), field("b", ""), file], "B");
        let text = made.text().render();
        assert_eq!(
            text,
            "--B\r\nContent-Disposition: form-data; name=\"a%22\"\r\n\r\n1\r\n--x\r\n\
             --B\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\n\r\n\
             --B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a%0A.txt\"\r\n\
             Content-Type: text/plain\r\nX-A: b  c\r\n\r\nhello\r\n--B--\r\n"
        );
        for text in [text.as_str(), &text.replace("\r\n", "\n"), "", "--B--", "--B\r\n\r\nx"] {
            let read = Multipart::read(text, "B");
            assert_eq!(read.text().render(), text);
            let parts = &read.parts;
            let values: Vec<_> = parts.iter().filter_map(|one| one.value.as_text()).collect();
            assert!(parts.len() < 3 || values.last() == Some(&"hello"), "{values:?}");
        }
        assert_eq!(boundary("multipart/form-data; Boundary=\"a b\"; x=y"), Some("a b"));
        assert_eq!(boundary("multipart/form-data"), None);
    }
}
