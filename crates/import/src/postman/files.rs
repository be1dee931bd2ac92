//! Files that a collection names: the parts of a form, and their types.

use candor_plan::values::FormField;

use crate::json::Json;

/// Ends of names of files, and their types.
const TYPES_OF_FILES: [(&str, &str); 22] = [
    ("txt text log conf", "text/plain"),
    ("json map", "application/json"),
    ("csv", "text/csv"),
    ("xml xsd", "application/xml"),
    ("html htm", "text/html"),
    ("css", "text/css"),
    ("js mjs", "application/javascript"),
    ("md markdown", "text/markdown"),
    ("yaml yml", "text/yaml"),
    ("pdf", "application/pdf"),
    ("zip", "application/zip"),
    ("gz", "application/gzip"),
    ("png", "image/png"),
    ("jpg jpeg jpe", "image/jpeg"),
    ("gif", "image/gif"),
    ("svg", "image/svg+xml"),
    ("webp", "image/webp"),
    ("mp3", "audio/mpeg"),
    ("wav", "audio/wav"),
    ("mp4", "video/mp4"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
];

/// The files of a field, each of which is a part, as Postman sends them.
pub(super) fn files(field: &Json, own: &FormField) -> Vec<FormField> {
    let one = field.get("src").into_iter().filter(|src| src.as_str().is_some());
    let all = one.chain(field.get("src").map_or(&[][..], Json::items));
    let names = all.filter_map(Json::as_str).filter(|name| !name.is_empty());
    let part = |name: &str| {
        let base = name.rsplit(['/', '\\']).next().unwrap_or_default();
        let shown = field.str("fileName").filter(|name| !name.is_empty()).unwrap_or(base);
        FormField {
            file: Some(name.into()),
            filename: Some(shown.to_owned()),
            content_type: own.content_type.clone().or_else(|| Some(type_of_file(base).to_owned())),
            ..own.clone()
        }
    };
    names.map(part).collect()
}

/// The type that Postman gives to a file of this name, if that is a usual one.
pub(super) fn type_of_file(name: &str) -> &'static str {
    let end = name.rsplit_once('.').map_or("", |(_, end)| end).to_ascii_lowercase();
    TYPES_OF_FILES
        .iter()
        .find(|(ends, _)| ends.split(' ').any(|one| one == end))
        .map_or("application/octet-stream", |(_, kind)| *kind)
}
