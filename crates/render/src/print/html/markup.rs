//! HTML under construction, in which text cannot become markup.
//!
//! There is one way for a string of a document into a page: [`Markup::text`], or the value of an
//! attribute, both of which escape it. Names of elements and attributes, and what is written as it
//! is, are `&'static str`: they stand in this source and come from nowhere else. So no caller has to
//! remember to escape. (A data block is JSON, whose `<` is written in another way.)

use std::fmt::Write as _;

use serde::Serialize;

use candor_report::visible;

/// A piece of a page.
#[derive(Debug, Default)]
pub(crate) struct Markup(String);

/// The attributes of an element.
pub(crate) type Attributes<'a> = &'a [(&'static str, &'a str)];

impl Markup {
    pub(crate) fn new() -> Self {
        Markup::default()
    }

    /// An element and what is in it.
    pub(crate) fn element(
        &mut self,
        name: &'static str,
        attributes: Attributes<'_>,
        fill: impl FnOnce(&mut Markup),
    ) {
        self.open(name, attributes);
        self.0.push('>');
        fill(self);
        let _ = write!(self.0, "</{name}>");
    }

    /// An element with nothing but text in it.
    pub(crate) fn leaf(&mut self, name: &'static str, attributes: Attributes<'_>, text: &str) {
        self.element(name, attributes, |inside| inside.text(text));
    }

    /// An element of HTML that has no end: `meta`, `input`.
    pub(crate) fn void(&mut self, name: &'static str, attributes: Attributes<'_>) {
        self.open(name, attributes);
        self.0.push('>');
    }

    /// An element of SVG with nothing in it.
    pub(crate) fn shape(&mut self, name: &'static str, attributes: Attributes<'_>) {
        self.open(name, attributes);
        self.0.push_str("/>");
    }

    /// Text, which stays text whatever is in it.
    pub(crate) fn text(&mut self, text: &str) {
        escape(&mut self.0, text);
    }

    /// Text of this source, unchanged: our style, our script.
    pub(crate) fn raw(&mut self, fixed: &'static str) {
        self.0.push_str(fixed);
    }

    /// A block of data for the script, which no browser executes.
    pub(crate) fn data(&mut self, data: &impl Serialize) {
        let json = serde_json::to_string(data).expect("numbers, strings and lists of them");
        self.raw("<script type=\"application/json\">");
        for c in candor_report::json::seen(json).chars() {
            // The end of the block, or a comment in it, cannot begin without a `<`.
            match c {
                '<' => self.0.push_str("\\u003c"),
                '>' => self.0.push_str("\\u003e"),
                '&' => self.0.push_str("\\u0026"),
                c => self.0.push(c),
            }
        }
        self.raw("</script>");
    }

    /// Takes a piece that was made apart.
    pub(crate) fn append(&mut self, piece: Markup) {
        self.0.push_str(&piece.0);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn into_string(self) -> String {
        self.0
    }

    fn open(&mut self, name: &'static str, attributes: Attributes<'_>) {
        self.0.push('<');
        self.0.push_str(name);
        for (name, value) in attributes {
            let _ = write!(self.0, " {name}=\"");
            escape(&mut self.0, value);
            self.0.push('"');
        }
    }
}

/// Appends `text` so that a parser of HTML reads it as text, also between quotes, and nothing of it
/// is hidden.
fn escape(out: &mut String, text: &str) {
    for c in visible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_attributes_are_escaped() {
        let mut markup = Markup::new();
        markup.element("p", &[("title", "\"><b>&'")], |inside| inside.text("<i>&\"'\0\u{202e}\n"));
        markup.shape("path", &[("d", "M0 0")]);
        assert_eq!(
            markup.into_string(),
            "<p title=\"&quot;&gt;&lt;b&gt;&amp;&#39;\">&lt;i&gt;&amp;&quot;&#39;\\u{0}\\u{202e}\\n\
             </p><path d=\"M0 0\"/>"
        );
    }

    #[test]
    fn data_has_no_markup_in_it_and_stays_the_same_data() {
        let mut markup = Markup::new();
        let text = "</script><script>alert(1)</script><!--&amp;\u{2028}\"\\";
        markup.data(&[text]);
        let text_of = markup.into_string();
        let json = text_of
            .strip_prefix("<script type=\"application/json\">")
            .and_then(|rest| rest.strip_suffix("</script>"))
            .unwrap();
        assert!(!json.contains(['<', '>', '&']), "{json}");
        assert_eq!(serde_json::from_str::<Vec<String>>(json).unwrap(), [text]);
    }
}
