//! The body of a form in parts: its files are read, and its fields become parts (RFC 7578).

use std::sync::Arc;

use super::Files;
use crate::error::PlanError;
use crate::holes;
use crate::values::{FORM_BOUNDARY, FormField, Header, boundary_of};

/// A body that was made.
pub(super) struct Form {
    pub(super) body: Vec<u8>,
    /// Whether its texts have holes: then `${` of a file stands in it as `$${`.
    pub(super) has_holes: bool,
}

/// The body of these fields, whose boundary stands in the content type.
pub(super) fn form(
    fields: &[FormField],
    headers: &mut Vec<Header>,
    files: &mut Files<'_>,
) -> Result<Form, PlanError> {
    let mut fields = fields.to_vec();
    let mut has_holes = false;
    fields
        .iter_mut()
        .flat_map(FormField::texts_mut)
        .for_each(|text| has_holes |= holes::has_holes(text));
    if !has_holes {
        fields
            .iter_mut()
            .flat_map(FormField::texts_mut)
            .for_each(|text| *text = holes::plain(text));
    }
    let mut contents = Vec::new();
    for field in &fields {
        contents.push(match &field.file {
            None => field.value.as_bytes().into(),
            Some(file) => files.read("--form", file)?,
        });
    }
    let boundary = boundary(headers, &contents);
    let mut body = Vec::new();
    for (field, content) in fields.iter().zip(&contents) {
        body.extend_from_slice(field.head(&boundary, false).as_bytes());
        match has_holes && field.file.is_some() {
            true => escape(content, &mut body),
            false => body.extend_from_slice(content),
        }
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    Ok(Form { body, has_holes })
}

/// That of the content type, or one that is in none of the contents and is added to it, as curl does.
fn boundary(headers: &mut Vec<Header>, contents: &[Arc<[u8]>]) -> String {
    let own = headers.iter().position(|one| one.name().eq_ignore_ascii_case("content-type"));
    if let Some(boundary) = own.and_then(|at| boundary_of(headers[at].value())) {
        return boundary.to_owned();
    }
    let is_within = |boundary: &str| {
        let is_here = |content: &[u8]| {
            content.windows(boundary.len()).any(|part| part == boundary.as_bytes())
        };
        contents.iter().any(|content| is_here(content))
    };
    let numbers = std::iter::once(String::new()).chain((2u64..).map(|n| format!("-{n}")));
    let mut all = numbers.map(|number| format!("{FORM_BOUNDARY}{number}"));
    let boundary = all.find(|one| !is_within(one)).unwrap_or_default();
    let kind = own.map_or("multipart/form-data", |at| headers[at].value());
    let kind = Header::new("Content-Type", &format!("{kind}; boundary={boundary}"));
    match own {
        Some(at) => headers.splice(at..=at, kind).for_each(drop),
        None => headers.extend(kind),
    }
    boundary
}

/// Adds bytes in which nothing is a hole.
fn escape(content: &[u8], to: &mut Vec<u8>) {
    let mut begin = 0;
    for at in content.windows(2).enumerate().filter(|(_, two)| two == b"${").map(|(at, _)| at) {
        to.extend_from_slice(&content[begin..at]);
        to.push(b'$');
        begin = at;
    }
    to.extend_from_slice(&content[begin..]);
}
