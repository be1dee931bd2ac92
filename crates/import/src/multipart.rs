//! Bodies of `multipart/form-data` (RFC 7578): read from a text, of which every byte stays, or made of fields.

use candor_plan::values::FormField;

use crate::template::Template;

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
    /// All but its value; of a text that was read, its name.
    pub(crate) field: FormField,
    pub(crate) value: Template,
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
            let name = name.unwrap_or_default().to_owned();
            parts.push(Part {
                head: head.to_owned(),
                field: FormField { name, ..FormField::default() },
                value: Template::text(value),
            });
            rest = after;
        }
        Multipart { parts, end: rest.to_owned() }
    }

    /// A body of fields with these values. Marks in names have backslashes before them, or percent escapes.
    pub(crate) fn made(
        fields: impl IntoIterator<Item = (FormField, Template)>,
        boundary: &str,
        is_backslashed: bool,
    ) -> Self {
        let mut parts: Vec<Part> = Vec::new();
        for (field, value) in fields {
            let before = if parts.is_empty() { "" } else { "\r\n" };
            let head = format!("{before}{}", field.head(boundary, is_backslashed));
            parts.push(Part { head, field, value });
        }
        let before = if parts.is_empty() { "" } else { "\r\n" };
        Multipart { parts, end: format!("{before}--{boundary}--\r\n") }
    }

    /// The whole body, if it has no file.
    pub(crate) fn text(&self) -> Option<Template> {
        let mut text = Template::default();
        for part in &self.parts {
            if part.field.file.is_some() {
                return None;
            }
            text.push_text(&part.head);
            text.push(&part.value);
        }
        text.push_text(&self.end);
        Some(text)
    }

    /// Its fields as a plan has them.
    pub(crate) fn fields(&self) -> impl Iterator<Item = FormField> {
        let plain = |text: &String| Template::text(text).render();
        self.parts.iter().map(move |Part { field, value, .. }| FormField {
            name: plain(&field.name),
            value: value.render(),
            file: field.file.clone(),
            filename: field.filename.as_ref().map(plain),
            content_type: field.content_type.as_ref().map(plain),
            header: field.header.iter().map(plain).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_can_be_read_and_stays() {
        let field = |name: &str| FormField { name: name.to_owned(), ..FormField::default() };
        let file = FormField {
            filename: Some("a\n.txt".to_owned()),
            content_type: Some("text/plain".to_owned()),
            header: vec!["X-A: b\r\nc".to_owned()],
            ..field("f")
        };
        let fields = [(field("a\""), "1\r\n--x"), (field("b"), ""), (file, "hello")];
        let fields = fields.map(|(field, value)| (field, Template::text(value)));
        let made = Multipart::made(fields, "B", false);
        let text = made.text().unwrap().render();
        assert_eq!(
            text,
            "--B\r\nContent-Disposition: form-data; name=\"a%22\"\r\n\r\n1\r\n--x\r\n\
             --B\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\n\r\n\
             --B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a%0A.txt\"\r\n\
             Content-Type: text/plain\r\nX-A: b  c\r\n\r\nhello\r\n--B--\r\n"
        );
        for text in [text.as_str(), &text.replace("\r\n", "\n"), "", "--B--", "--B\r\n\r\nx"] {
            let read = Multipart::read(text, "B");
            assert_eq!(read.text().unwrap().render(), text);
            let parts = &read.parts;
            let values: Vec<_> = parts.iter().filter_map(|one| one.value.as_text()).collect();
            assert!(parts.len() < 3 || values.last() == Some(&"hello"), "{values:?}");
        }
    }
}
