//! A field of a form in parts (RFC 7578), in curl's notation: `NAME=VALUE`, `NAME=@FILE`, `NAME=<FILE`, and behind it
//! `;type=…`, `;filename=…`, `;headers=…`.
//!
//! Texts may have holes, which are not known here. No file is read; what becomes of the fields, `build/form.rs` knows.

use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::{ValueError, from_text, refuse};

/// A field of a form in parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FormField {
    /// Its name.
    pub name: String,
    /// Its value; empty if that is a file.
    pub value: String,
    /// The file with its value.
    pub file: Option<PathBuf>,
    /// The name of the file in the form; `None`: it is no upload.
    pub filename: Option<String>,
    /// The type of its value, if it has one.
    pub content_type: Option<String>,
    /// Further fields of its header, as lines.
    pub header: Vec<String>,
}

from_text! {
    FormField: "a field of a form such as \"NAME=VALUE\" or \"NAME=@FILE\"",
}

/// Between the parts of a form, if no content has it. It is fixed, so that a plan is the same each time.
pub const FORM_BOUNDARY: &str = "candor-7MA4YWxkTrZu0gW";

/// The types that curl knows by the names of files.
const TYPES: [(&str, &str); 10] = [
    ("gif", "image/gif"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("txt", "text/plain"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("pdf", "application/pdf"),
    ("xml", "application/xml"),
];

/// What a part of a form cannot have.
const UNKNOWN: &str = "a part of a form has a type, a file name and headers";

/// The boundary that a content type names.
pub fn boundary_of(content_type: &str) -> Option<&str> {
    let parameters = content_type.split(';').skip(1);
    let named = parameters.filter_map(|one| one.trim().split_once('='));
    let mut boundaries = named.filter(|(name, _)| name.eq_ignore_ascii_case("boundary"));
    let boundary = boundaries.next()?.1.trim_matches('"');
    (!boundary.is_empty()).then_some(boundary)
}

impl FormField {
    /// The field, and the names of those of curl's parameters that no part has here.
    pub fn read(text: &str) -> Result<(Self, Vec<&'static str>), ValueError> {
        let Some((name, mut rest)) = text.split_once('=') else {
            return refuse("the field of the form has no content; write NAME=VALUE or NAME=@FILE");
        };
        if rest.starts_with(['(', ')']) && (name.is_empty() || rest == "(") {
            return refuse(
                "a part of the form has parts of its own; write the form to a file and use body-file",
            );
        }
        let mut field = FormField { name: name.to_owned(), ..FormField::default() };
        match rest.strip_prefix('@').or(rest.strip_prefix('<')) {
            None => field.value = word(&mut rest),
            Some(behind) => {
                let is_upload = rest.starts_with('@');
                rest = behind;
                let is_quoted = rest.trim_start().starts_with('"');
                let file = word(&mut rest);
                if is_upload && !is_quoted && file.contains(',') {
                    return refuse(
                        "the field of the form has several files; write a field for each, or \"…\" around a name \
                         with a comma",
                    );
                }
                if file.is_empty() {
                    return refuse("no file is named; write NAME=@FILE");
                }
                if is_upload {
                    field.filename = Some(file.rsplit('/').next().unwrap_or_default().to_owned());
                }
                field.file = Some(PathBuf::from(file));
            }
        }
        let left_out = field.parameters(rest);
        field.content_type = field.content_type.take().or(field.usual_type().map(str::to_owned));
        Ok((field, left_out))
    }

    /// What stands behind its value.
    fn parameters(&mut self, mut rest: &str) -> Vec<&'static str> {
        let mut left_out = Vec::new();
        // Parameters of a type stand behind it: `type=text/plain; charset=utf-8`.
        let mut is_type = false;
        while let Some(next) = rest.strip_prefix(';') {
            let blanks = next.len() - next.trim_start().len();
            rest = next.trim_start();
            let key = ["type=", "filename=", "headers=", "encoder="].into_iter().find(|key| {
                rest.get(..key.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(key))
            });
            rest = &rest[key.map_or(0, str::len)..];
            match (key, &mut self.content_type) {
                (Some("type="), kind) => {
                    let end = rest.find(';').unwrap_or(rest.len());
                    *kind = Some(rest[..end].trim().to_owned());
                    rest = &rest[end..];
                    is_type = true;
                    continue;
                }
                (None, Some(kind)) if is_type => {
                    let end = rest.find(';').unwrap_or(rest.len());
                    *kind += &format!(";{}{}", " ".repeat(blanks), rest[..end].trim_end());
                    rest = &rest[end..];
                    continue;
                }
                _ => is_type = false,
            }
            let value = word(&mut rest);
            match key {
                Some("filename=") => self.filename = Some(value),
                Some("headers=") if !value.starts_with(['@', '<']) => self.header.push(value),
                // curl itself skips what it does not know.
                Some(key) => left_out.push(key),
                None => {}
            }
        }
        left_out
    }

    /// The type that curl gives it, if none is given.
    fn usual_type(&self) -> Option<&'static str> {
        let of_name = |name: &str| {
            let end = name.rsplit_once('.')?.1;
            TYPES.iter().find(|(known, _)| known.eq_ignore_ascii_case(end)).map(|(_, kind)| *kind)
        };
        let named = self.filename.as_deref();
        let by_name = named.and_then(of_name);
        match self.file.as_deref() {
            // The standard input has no name.
            None => by_name,
            Some(file) if file == Path::new("-") => by_name,
            // Of a file that has another name in the form, curl looks at its own name too.
            Some(file) => by_name
                .or_else(|| of_name(&file.to_string_lossy()))
                .or(named.map(|_| "application/octet-stream"))
                .filter(|kind| named.is_some() || *kind != "text/plain"),
        }
    }

    /// What its part begins with, from the boundary to the empty line. Marks in names have percent escapes, or
    /// backslashes before them.
    pub fn head(&self, boundary: &str, is_backslashed: bool) -> String {
        let quoted = |text: &str| match is_backslashed {
            true => text.replace('\\', "\\\\").replace('"', "\\\""),
            false => text.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A"),
        };
        let line = |text: &str| text.replace(char::is_control, " ") + "\r\n";
        let is_own = |name: &str| {
            let mut own = self.header.iter().filter_map(|line| line.split_once(':'));
            own.any(|(own, _)| own.eq_ignore_ascii_case(name))
        };
        let mut head = format!("--{boundary}\r\n");
        if !is_own("content-disposition") {
            head += &format!("Content-Disposition: form-data; name=\"{}\"", quoted(&self.name));
            if let Some(filename) = &self.filename {
                head += &format!("; filename=\"{}\"", quoted(filename));
            }
            head += "\r\n";
        }
        if let Some(kind) = self.content_type.as_ref().filter(|_| !is_own("content-type")) {
            head += &line(&format!("Content-Type: {kind}"));
        }
        head.extend(self.header.iter().map(|text| line(text)));
        head + "\r\n"
    }

    /// Its texts, which may have holes.
    pub(crate) fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let FormField { name, value, file: _, filename, content_type, header } = self;
        [name, value].into_iter().chain(filename).chain(content_type).chain(header)
    }
}

impl FromStr for FormField {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let (field, left_out) = FormField::read(text)?;
        match left_out.first() {
            Some(key) => refuse(format!("{}: {UNKNOWN}; leave it out", key.trim_end_matches('='))),
            None => Ok(field),
        }
    }
}

/// As it is read. A name has no `=`, and a type no `;filename=` and the like.
impl Display for FormField {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let file = self.file.as_ref().map(|file| file.to_string_lossy());
        let base = file.as_ref().and_then(|file| file.rsplit('/').next());
        let mark = match (&file, &self.filename) {
            (None, _) => "",
            (Some(_), None) => "<",
            (Some(_), Some(_)) => "@",
        };
        let content = match &file {
            Some(file) if file.contains(',') => in_marks(file),
            file => quoted(file.as_deref().unwrap_or(&self.value)),
        };
        write!(formatter, "{}={mark}{content}", self.name)?;
        if self.content_type.as_deref() != self.usual_type()
            && let Some(kind) = &self.content_type
        {
            write!(formatter, ";type={kind}")?;
        }
        if let Some(filename) = self.filename.as_deref().filter(|name| Some(*name) != base) {
            write!(formatter, ";filename={}", quoted(filename))?;
        }
        self.header.iter().try_for_each(|line| write!(formatter, ";headers={}", quoted(line)))
    }
}

/// A text that [`word`] reads whole.
fn quoted(text: &str) -> String {
    let is_plain =
        text.trim() == text && !text.contains(';') && !text.starts_with(['@', '<', '(', ')', '"']);
    if is_plain { text.to_owned() } else { in_marks(text) }
}

fn in_marks(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A text up to `;`, or in quotation marks.
fn word(rest: &mut &str) -> String {
    let text = rest.trim_start();
    let Some(mut quoted) = text.strip_prefix('"') else {
        let end = text.find(';').unwrap_or(text.len());
        *rest = &text[end..];
        return text[..end].trim_end().to_owned();
    };
    let mut word = String::new();
    while let Some(c) = quoted.chars().next() {
        quoted = &quoted[c.len_utf8()..];
        match c {
            '"' => {
                *rest = &quoted[quoted.find(';').unwrap_or(quoted.len())..];
                return word;
            }
            '\\' if quoted.starts_with(['"', '\\']) => {
                word.push_str(&quoted[..1]);
                quoted = &quoted[1..];
            }
            c => word.push(c),
        }
    }
    // A mark that is not closed is text.
    let end = text.find(';').unwrap_or(text.len());
    *rest = &text[end..];
    text[..end].trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_read_as_curl_reads_it() {
        let read = |text: &str| text.parse::<FormField>().unwrap();
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            read("f=@a/photo.png;type=image/webp; q=1;filename=\"x;\\\".png\";headers=\"X-A: b\""),
            FormField {
                name: "f".to_owned(),
                value: String::new(),
                file: Some("a/photo.png".into()),
                filename: some("x;\".png"),
                content_type: some("image/webp; q=1"),
                header: vec!["X-A: b".to_owned()],
            }
        );
        let kind = |text: &str| read(text).content_type;
        for (text, right) in [
            ("f=@photo.PNG", some("image/png")),
            ("f=@data", some("application/octet-stream")),
            ("f=@a.png;filename=data", some("image/png")),
            ("f=@-", None),
            ("f=<a.xml", some("application/xml")),
            ("f=<a.txt", None),
            ("f=<data", None),
            ("f=x;filename=a.pdf", some("application/pdf")),
            ("f=x;filename=data", None),
        ] {
            assert_eq!(kind(text), right, "{text}");
        }
        let filename = |text: &str| read(text).filename;
        assert_eq!(filename("f=@\"a,b;c\""), some("a,b;c"));
        assert_eq!((filename("f=@-"), filename("f=<a.xml")), (some("-"), None));
        for refused in ["f", "f=@a,b", "f=(", "f=@", "f=@a;encoder=base64", "f=a;headers=@lines"] {
            assert!(refused.parse::<FormField>().is_err(), "{refused}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let texts =
            ["", " a", "a;type=b", "@a", "<", "(", "\"", "a\\", "\\\"", "a,b", "é\r\nb", "x y"];
        for text in texts {
            for file in [None, Some("a/b.png"), Some("-"), Some("a;\".txt")] {
                for filename in [None, Some(text.to_owned())] {
                    for kind in [None, Some("text/plain; charset=utf-8".to_owned())] {
                        let mut field = FormField {
                            name: "n".to_owned(),
                            value: if file.is_some() { String::new() } else { text.to_owned() },
                            file: file.map(PathBuf::from),
                            filename: filename.clone(),
                            content_type: kind,
                            header: vec![format!("X: {text}")],
                        };
                        field.content_type =
                            field.content_type.take().or(field.usual_type().map(str::to_owned));
                        assert_eq!(field.to_string().parse(), Ok(field));
                    }
                }
            }
        }
    }
}
