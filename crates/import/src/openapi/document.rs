//! A document: JSON or YAML, its references within itself, and what it says about servers.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::error::{Format, ImportError};
use crate::json::Json;
use crate::template::Template;
use crate::{write, yaml};

/// References to references, one after another.
const MAX_CHAIN: usize = 32;
/// The longest reference, and the longest URL of a server.
const MAX_REFERENCE: usize = 4096;
/// The longest value of a parameter, and of a variable.
pub(super) const MAX_VALUE: usize = 1024;
const BUNDLE: &str = "write the files into one, e.g. with `redocly bundle`, and import that";
const REMEDY: &str = "import a description of OpenAPI 3 or Swagger 2.0, in JSON or YAML";

/// Reads the text and checks that it is a description.
pub(super) fn parse(bytes: &[u8]) -> Result<Json, ImportError> {
    let format = Format::OpenApi;
    let text = format.text(bytes)?;
    let root: Json = match text.trim_start().starts_with('{') {
        true => Json::read(text.as_bytes())
            .map_err(|error| ImportError::json(format, &error, REMEDY))?,
        false => yaml::parse(text).map_err(|error| ImportError::Syntax {
            format,
            at: error.at,
            problem: error.problem,
            remedy: REMEDY,
        })?,
    };
    let kind =
        |problem: &str| ImportError::Kind { format, problem: problem.to_owned(), remedy: REMEDY };
    let version = root.get("openapi").or(root.get("swagger")).and_then(Json::scalar);
    match version.as_deref() {
        Some(version) if version.starts_with("3.") || version.starts_with('2') => {}
        Some(version) => {
            return Err(kind(&format!("its version is {:.20}", write::one_line(version))));
        }
        None => return Err(kind("it has neither `openapi` nor `swagger`")),
    }
    if let Some(reference) = foreign(&root) {
        let problem = format!("it refers to another file, {:.200}", write::one_line(reference));
        return Err(ImportError::Kind { format, problem, remedy: BUNDLE });
    }
    match root.get("paths") {
        Some(Json::Object(_)) => Ok(root),
        _ => Err(kind("it has no paths")),
    }
}

/// A reference to another file. What is an example may have anything.
fn foreign(value: &Json) -> Option<&str> {
    const FREE: [&str; 5] = ["example", "examples", "default", "enum", "const"];
    let own = value.str("$ref").filter(|reference| !reference.starts_with('#'));
    let is_read = |name: &str| !FREE.contains(&name) && !name.starts_with("x-");
    let fields = value.fields().iter().filter(|(name, _)| is_read(name));
    own.or_else(|| fields.map(|(_, value)| value).chain(value.items()).find_map(foreign))
}

/// A description, to look things up in.
pub(super) struct Document<'d> {
    root: &'d Json,
    /// Large objects by key, made when a reference first goes through one.
    indices: RefCell<HashMap<*const Json, HashMap<&'d str, &'d Json>>>,
}

impl<'d> Document<'d> {
    pub(super) fn new(root: &'d Json) -> Self {
        Document { root, indices: RefCell::default() }
    }

    pub(super) fn root(&self) -> &'d Json {
        self.root
    }

    /// What `{"$ref": "#/…"}` refers to (RFC 6901); anything else is itself. A reference to another
    /// file, to nothing or to itself is null.
    pub(super) fn resolve(&self, value: &'d Json) -> &'d Json {
        let mut value = value;
        for _ in 0..MAX_CHAIN {
            let Some(reference) = value.str("$ref") else { return value };
            let pointer = reference.strip_prefix('#');
            let Some(pointer) = pointer.filter(|pointer| pointer.len() <= MAX_REFERENCE) else {
                return &Json::Null;
            };
            let mut target = self.root;
            for part in pointer.split('/').skip(1) {
                let part = percent_encoding::percent_decode_str(part).decode_utf8_lossy();
                let key = part.replace("~1", "/").replace("~0", "~");
                let next = match target {
                    Json::List(items) => key.parse().ok().and_then(|index: usize| items.get(index)),
                    target => self.get(target, &key),
                };
                match next {
                    Some(next) => target = next,
                    None => return &Json::Null,
                }
            }
            value = target;
        }
        &Json::Null
    }

    fn get(&self, object: &'d Json, key: &str) -> Option<&'d Json> {
        if object.fields().len() < 32 {
            return object.get(key);
        }
        let mut indices = self.indices.borrow_mut();
        let index = indices.entry(object).or_insert_with(|| {
            let pairs = object.fields().iter().rev();
            pairs.map(|(key, value)| (key.as_str(), value)).collect()
        });
        index.get(key).copied()
    }

    /// The URL of the first server, with the defaults of its variables; empty if there is none.
    pub(super) fn server(&self) -> String {
        if let Some(host) = self.root.str("host") {
            let schemes = self.root.get("schemes").map_or(&[][..], Json::items);
            let has = |name: &str| schemes.iter().any(|one| one.as_str() == Some(name));
            let scheme = if has("https") || !has("http") { "https" } else { "http" };
            let base = self.root.str("basePath").unwrap_or_default();
            return format!("{scheme}://{host}{base}");
        }
        let Some(server) = self.root.get("servers").and_then(|list| list.items().first()) else {
            return self.root.str("basePath").unwrap_or_default().to_owned();
        };
        let mut url = server.str("url").unwrap_or_default().to_owned();
        url.truncate(url.floor_char_boundary(MAX_REFERENCE));
        for (name, variable) in
            server.get("variables").map_or(&[][..], Json::fields).iter().take(32)
        {
            let default = variable.get("default").and_then(Json::scalar);
            if let Some(default) = default.filter(|default| default.len() <= MAX_VALUE) {
                url = url.replace(&format!("{{{name}}}"), &default);
                url.truncate(url.floor_char_boundary(MAX_REFERENCE));
            }
        }
        url
    }

    pub(super) fn security_scheme(&self, name: &str) -> Option<&'d Json> {
        let components = self.root.get("components").and_then(|all| all.get("securitySchemes"));
        let schemes = components.or(self.root.get("securityDefinitions"))?;
        schemes.get(name).map(|scheme| self.resolve(scheme))
    }

    /// `example`, or the first of `examples`, of a media type, a parameter or a schema.
    pub(super) fn example_of(&self, of: &'d Json) -> Option<&'d Json> {
        if let Some(example) = of.get("example").or(of.get("x-example")) {
            return Some(example);
        }
        match of.get("examples")? {
            Json::List(examples) => examples.first(),
            examples => {
                let (_, first) = examples.fields().first()?;
                self.resolve(first).get("value")
            }
        }
    }

    /// The value of a parameter, and whether it is a guess.
    pub(super) fn value_of_parameter(&self, parameter: &'d Json) -> (Template, bool) {
        // Swagger 2.0 has the type beside the name, OpenAPI 3 in a schema or a media type.
        let content = parameter.get("content").and_then(|all| all.fields().first());
        let schema = match (parameter.get("schema"), content) {
            (Some(schema), _) => schema,
            (None, Some((_, media))) => media.get("schema").unwrap_or(parameter),
            (None, None) => parameter,
        };
        if let Some(example) = self.example_of(parameter).and_then(|one| self.flat(one)) {
            return (Template::text(example), false);
        }
        match self.scalar_of(schema) {
            (Json::Text(text), is_guess) => (text, is_guess),
            (other, is_guess) => (other.to_text(), is_guess),
        }
    }

    /// A list as `a,b`, the default style of paths and of Swagger's queries.
    fn flat(&self, value: &Json) -> Option<String> {
        let flat = match value {
            Json::List(items) => {
                let items = items.iter().take(MAX_VALUE).map(Json::scalar);
                items.collect::<Option<Vec<String>>>()?.join(",")
            }
            value => value.scalar()?,
        };
        (flat.len() <= MAX_VALUE).then_some(flat)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_json_pointers() {
        let root = Json::parse(
            r##"{"paths":{"/a/{b}":{"x~y":[1,{"c d":"found"}]}},"r":{"$ref":"#/paths/~1a~1%7Bb%7D/x~0y/1/c%20d"},
                "s":{"$ref":"#/r"},"t":{"$ref":"#/nothing"},"u":{"$ref":"other.yaml#/r"},"v":{"$ref":"#/v"}}"##,
        )
        .unwrap();
        let document = Document::new(&root);
        let resolved = |key: &str| document.resolve(root.get(key).unwrap());
        assert_eq!(resolved("r").as_str(), Some("found"));
        assert_eq!(resolved("s").as_str(), Some("found"));
        for key in ["t", "u", "v"] {
            assert_eq!(resolved(key), &Json::Null, "{key}");
        }
    }
}
