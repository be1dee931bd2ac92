//! Data files and templates: what a user was given by others.

use candor_data::columns;
use candor_plan::journey::Known;
use candor_plan::template::{Names, Template, Value};
use candor_plan::{DataFormat, DataOrder, DataSet, Request, Variable};
use candor_protocol::made::{Batch, Form, Values};

use crate::h1::request;

/// The first byte chooses the format, the others begin the file.
pub(crate) fn head(bytes: &[u8]) {
    let [choice, bytes @ ..] = bytes else { return };
    let format =
        [DataFormat::Csv, DataFormat::JsonLines, DataFormat::Urls][usize::from(*choice) % 3];
    match columns(format, bytes) {
        Ok(columns) => {
            assert!(!columns.is_empty());
            for (at, one) in columns.iter().enumerate() {
                assert!(!one.is_empty() && !one.contains(['$', '{', '}']), "{one:?}");
                assert!(!columns[..at].contains(one), "{columns:?}");
            }
        }
        Err(fault) => assert!(!fault.to_string().contains(char::is_control), "{fault}"),
    }
}

/// The same value for every hole.
struct Same<'a>(&'a [u8]);

impl Values for Same<'_> {
    fn write(&mut self, _: &Value, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0);
    }
}

/// A path, a body and a value, each on its lines: whatever they are, the request that comes of them is one.
pub(crate) fn template(bytes: &[u8]) {
    let mut parts = bytes.splitn(3, |byte| *byte == 0);
    let mut part = || parts.next().unwrap_or_default();
    let (Ok(path), Ok(body)) = (str::from_utf8(part()), str::from_utf8(part())) else { return };
    let value = part();
    let one = Request {
        path: format!("/{path}"),
        headers: vec![("X".to_owned(), body.to_owned())],
        holes: true,
        ..request("POST", body.as_bytes())
    };
    let data = [DataSet {
        name: "d".to_owned(),
        file: "d.csv".into(),
        format: DataFormat::Csv,
        order: DataOrder::Rotation,
        columns: vec!["a".to_owned(), "b c".to_owned()],
        content: None,
    }];
    let environment = [Variable { name: "E".to_owned(), value: value.into() }];
    let names = Names { data: &data, environment: &environment, captured: Known::default() };
    let Ok(template) = Template::compile(&one, 0, names) else { return };
    // The plan's rules for fixed text.
    let is_clean = |text: &str| !text.contains(|c: char| c.is_control() || c.is_whitespace());
    if !is_clean(&candor_plan::holes::without_holes(path)) || body.contains(char::is_control) {
        return;
    }
    let mut form = Form::new(template, &one, 0, "h", false);
    // A number is a number: digits stand for those.
    let is_number = |text: &str| {
        ["seq", "random", "now", "chars", "uuid", "choice"].iter().any(|word| text.contains(word))
    };
    let value = if is_number(path) || is_number(body) { b"7" } else { value };
    let made = form.fill(&mut Same(value));
    let mut batch = Batch::new(0);
    let parsed = batch.fill(made.raw);
    assert!(
        parsed.is_ok() && batch.left() == 1,
        "{parsed:?}: {:?}",
        made.raw.escape_ascii().to_string()
    );
}
