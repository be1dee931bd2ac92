//! A document: JSON or YAML, its references, also to other files, and what it says about servers.
//!
//! Files are handed in by the caller's function, only when a reference is followed, and only those below the folder
//! of the document. Their number, and the memory that all of them take, have bounds.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::io;
use std::rc::Rc;

use super::budget::{MAX_CHECKS, MAX_WORK, take};
use super::pattern::Pattern;
use crate::error::{Format, ImportError};
use crate::json::{Json, MAX_VALUES};
use crate::{write, yaml};

/// References to references, one after another.
const MAX_CHAIN: usize = 32;
/// The longest reference, and the longest URL of a server.
const MAX_REFERENCE: usize = 4096;
/// The longest value of a variable.
const MAX_VALUE: usize = 1024;
/// Other files of a description.
const MAX_FILES: usize = 4096;
/// What all files take in memory: 64 bytes for a value, and its text.
const MAX_MEMORY: usize = 192 << 20;
/// Examples of one value that are looked at.
const MAX_EXAMPLES: usize = 8;
const BUNDLE: &str = "write the files into one, e.g. with `redocly bundle`, and import that";
const REMEDY: &str = "import a description of OpenAPI 3 or Swagger 2.0, in JSON or YAML";

/// Reads a file below the description's folder: its path, with `/` between names, and the most bytes to read. More
/// bytes than that refuse the file.
pub(super) type ReadFile<'r> = &'r dyn Fn(&str, usize) -> io::Result<Vec<u8>>;

/// Reads the text and checks that it is a description.
pub(super) fn parse(bytes: &[u8]) -> Result<Json, ImportError> {
    let format = Format::OpenApi;
    let root = read(bytes)?;
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
    match root.get("paths") {
        Some(Json::Object(_)) => Ok(root),
        _ => Err(kind("it has no paths")),
    }
}

fn read(bytes: &[u8]) -> Result<Json, ImportError> {
    let format = Format::OpenApi;
    let text = format.text(bytes)?;
    match text.trim_start().starts_with('{') {
        true => {
            Json::read(text.as_bytes()).map_err(|error| ImportError::json(format, &error, REMEDY))
        }
        false => yaml::parse(text).map_err(|error| ImportError::Syntax {
            format,
            at: error.at,
            problem: error.problem,
            remedy: REMEDY,
        }),
    }
}

/// Other files of a description, in the order in which they are read. They stay where they are.
pub(super) struct Files<'r> {
    read: Option<ReadFile<'r>>,
    places: Vec<OnceCell<Json>>,
}

impl<'r> Files<'r> {
    pub(super) fn new(read: Option<ReadFile<'r>>) -> Self {
        let places = read.map_or(0, |_| MAX_FILES);
        Files { read, places: vec![OnceCell::new(); places] }
    }
}

/// A description, to look things up in.
pub(super) struct Document<'d> {
    root: &'d Json,
    files: &'d Files<'d>,
    /// The paths of the other files that were read, and where each is.
    paths: RefCell<Vec<String>>,
    numbers: RefCell<HashMap<String, usize>>,
    /// The file that a reference of another file stands in.
    homes: RefCell<HashMap<*const Json, usize>>,
    /// References that were followed.
    followed: RefCell<HashMap<*const Json, &'d Json>>,
    /// Large objects by key, made when one is first searched.
    indices: RefCell<HashMap<*const Json, HashMap<&'d str, &'d Json>>>,
    memory: Cell<usize>,
    bytes: Cell<usize>,
    /// Why the description cannot be imported.
    refusal: RefCell<Option<ImportError>>,
    /// The first reference to nothing since [`Document::take_dangling`].
    dangling: RefCell<Option<String>>,
    /// Schemas that may still be compared with values, in the whole document.
    pub(super) checks: Cell<usize>,
    /// Schemas that values may still be made of.
    pub(super) work: Cell<usize>,
    pub(super) patterns: RefCell<HashMap<&'d str, Option<Rc<Pattern>>>>,
}

impl<'d> Document<'d> {
    pub(super) fn new(root: &'d Json, files: &'d Files<'d>) -> Self {
        Document {
            root,
            files,
            paths: RefCell::default(),
            numbers: RefCell::default(),
            homes: RefCell::default(),
            followed: RefCell::default(),
            indices: RefCell::default(),
            memory: Cell::new(MAX_MEMORY),
            bytes: Cell::new(Format::OpenApi.most_bytes().unwrap_or(usize::MAX)),
            refusal: RefCell::default(),
            dangling: RefCell::default(),
            checks: Cell::new(MAX_CHECKS),
            work: Cell::new(MAX_WORK),
            patterns: RefCell::default(),
        }
    }

    pub(super) fn root(&self) -> &'d Json {
        self.root
    }

    pub(super) fn is_swagger(&self) -> bool {
        self.root.get("swagger").is_some()
    }

    /// Whether keys beside a `$ref` count in schemas (OpenAPI 3.1).
    pub(super) fn has_siblings(&self) -> bool {
        self.root.str("openapi").is_some_and(|version| !version.starts_with("3.0"))
    }

    /// Why the description cannot be imported, if a reference was met that cannot be followed.
    pub(super) fn check(&self) -> Result<(), ImportError> {
        self.refusal.borrow_mut().take().map_or(Ok(()), Err)
    }

    /// The first reference to nothing since the last call.
    pub(super) fn take_dangling(&self) -> Option<String> {
        self.dangling.borrow_mut().take()
    }

    /// What `{"$ref": …}` refers to; anything else is itself. A reference to nothing or to itself is null.
    pub(super) fn resolve(&self, value: &'d Json) -> &'d Json {
        self.resolve_within(value, &Cell::new(MAX_CHAIN))
    }

    fn resolve_within(&self, value: &'d Json, left: &Cell<usize>) -> &'d Json {
        let Some(reference) = value.str("$ref") else { return value };
        let known = self.followed.borrow().get(&std::ptr::from_ref(value)).copied();
        if let Some(known) = known.filter(|known| **known != Json::Null) {
            return known;
        }
        let home = self.homes.borrow().get(&std::ptr::from_ref(value)).copied();
        let found = match take(left, 1) {
            true => self.find(home, reference, left).map(|found| self.resolve_within(found, left)),
            false => None,
        };
        let found = found.unwrap_or_else(|| {
            self.dangling.borrow_mut().get_or_insert_with(|| reference.to_owned());
            &Json::Null
        });
        self.followed.borrow_mut().insert(value, found);
        found
    }

    /// The schema that a discriminator's mapping refers to.
    pub(super) fn mapped(&self, mapping: &'d Json, to: &str) -> Option<&'d Json> {
        let home = self.homes.borrow().get(&std::ptr::from_ref(mapping)).copied();
        let left = Cell::new(MAX_CHAIN);
        if to.contains(['#', '/', '.']) {
            return self.find(home, to, &left);
        }
        let place = if self.is_swagger() { "definitions" } else { "components/schemas" };
        self.find(None, &format!("#/{place}/{to}"), &left)
    }

    /// The value at a reference (RFC 3986 and 6901) that stands in the root, or in another file.
    fn find(&self, home: Option<usize>, reference: &str, left: &Cell<usize>) -> Option<&'d Json> {
        if reference.len() > MAX_REFERENCE {
            return None;
        }
        let (path, pointer) = reference.split_once('#').unwrap_or((reference, ""));
        let mut target = match (path, home) {
            ("", None) => self.root,
            ("", Some(home)) => self.files.places[home].get()?,
            _ => match self.open(home, path) {
                Ok(file) => file,
                Err(error) => {
                    self.refusal.borrow_mut().get_or_insert(error);
                    return None;
                }
            },
        };
        if !pointer.is_empty() && !pointer.starts_with('/') {
            return None;
        }
        for part in pointer.split('/').skip(1) {
            let part = percent_encoding::percent_decode_str(part).decode_utf8_lossy();
            let key = part.replace("~1", "/").replace("~0", "~");
            let next = |target: &'d Json| match target {
                Json::List(items) => key.parse().ok().and_then(|index: usize| items.get(index)),
                target => self.get(target, &key),
            };
            target = next(target).or_else(|| {
                // Some write a reference in the way to what others refer to.
                target.str("$ref")?;
                next(self.resolve_within(target, left))
            })?;
        }
        Some(target)
    }

    /// Another file, which is read once.
    fn open(&self, home: Option<usize>, reference: &str) -> Result<&'d Json, ImportError> {
        let format = Format::OpenApi;
        let refused = |why: &str| {
            let reference = write::one_line(reference);
            let problem = format!("it refers to another file, {reference:.200}{why}");
            ImportError::Kind { format, problem, remedy: BUNDLE }
        };
        let read = self.files.read.ok_or_else(|| refused(""))?;
        let folder = home.map_or(String::new(), |home| self.paths.borrow()[home].clone());
        let path = below(&folder, reference)
            .ok_or_else(|| refused(", which is not a path below the folder of the description"))?;
        let number = self.paths.borrow().len();
        if let Some(known) = self.numbers.borrow().get(&path) {
            let known = self.files.places[*known].get();
            return known.ok_or_else(|| refused(", which cannot be read"));
        }
        let Some(place) = self.files.places.get(number) else {
            return Err(refused(&format!(", and to {MAX_FILES} others before")));
        };
        self.paths.borrow_mut().push(path.clone());
        self.numbers.borrow_mut().insert(path.clone(), number);
        let most = self.bytes.get();
        let bytes = read(&path, most)
            .map_err(|error| refused(&format!(", which cannot be read: {error}")))?;
        if !take(&self.bytes, bytes.len()) {
            return Err(ImportError::TooLong { format });
        }
        let file = self::read(&bytes).map_err(|error| {
            let error = error.to_string();
            let problem = error.split_once(": ").map_or(error.as_str(), |(_, problem)| problem);
            let problem = problem.split("; ").next().unwrap_or_default();
            refused(&format!(", which cannot be read: {problem}"))
        })?;
        let file = place.get_or_init(|| file);
        let mut homes = self.homes.borrow_mut();
        match self.learn(file, number, &mut homes) {
            true => Ok(file),
            false => Err(refused(&format!(
                "; all files have more than {MAX_VALUES} values, or as many as fit into {} MiB",
                MAX_MEMORY >> 20
            ))),
        }
    }

    /// Remembers in which file references stand; false if there is no memory left for it.
    fn learn(&self, value: &'d Json, file: usize, homes: &mut HashMap<*const Json, usize>) -> bool {
        if ["$ref", "mapping"].iter().any(|key| value.get(key).is_some()) {
            homes.insert(value, file);
        }
        let text = |text: &str| take(&self.memory, MAX_MEMORY / MAX_VALUES + text.len());
        text(value.as_str().unwrap_or_default())
            && value.items().iter().all(|item| self.learn(item, file, homes))
            && value
                .fields()
                .iter()
                .all(|(name, value)| text(name) && self.learn(value, file, homes))
    }

    /// The value of a key, however many there are.
    pub(super) fn get(&self, object: &'d Json, key: &str) -> Option<&'d Json> {
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

    /// The URL of the first server of a document, a path or an operation, with the defaults of its variables.
    pub(super) fn server_of(&self, of: &'d Json) -> Option<String> {
        if self.is_swagger() {
            let schemes = of
                .get("schemes")
                .or(self.root.get("schemes").filter(|_| std::ptr::eq(of, self.root)));
            if schemes.is_none() && !std::ptr::eq(of, self.root) {
                return None;
            }
            let has = |name: &str| {
                schemes.map_or(&[][..], Json::items).iter().any(|one| one.as_str() == Some(name))
            };
            let scheme = if has("https") || !has("http") { "https" } else { "http" };
            let base = self.root.str("basePath").unwrap_or_default();
            let host = self.root.str("host");
            return Some(host.map_or(base.to_owned(), |host| format!("{scheme}://{host}{base}")));
        }
        let server = self.resolve(of.get("servers")?.items().first()?);
        let mut url = server.str("url").unwrap_or_default().to_owned();
        url.truncate(url.floor_char_boundary(MAX_REFERENCE));
        for (name, variable) in
            server.get("variables").map_or(&[][..], Json::fields).iter().take(32)
        {
            let listed = variable.get("enum").and_then(|all| all.items().first());
            let default = variable.get("default").or(listed).and_then(Json::scalar);
            if let Some(default) = default.filter(|default| default.len() <= MAX_VALUE) {
                url = url.replace(&format!("{{{name}}}"), &default);
                url.truncate(url.floor_char_boundary(MAX_REFERENCE));
            }
        }
        Some(url)
    }

    pub(super) fn security_scheme(&self, name: &str) -> Option<&'d Json> {
        let components = self.root.get("components").map(|all| self.resolve(all));
        let schemes = components.and_then(|all| all.get("securitySchemes"));
        let schemes = self.resolve(schemes.or(self.root.get("securityDefinitions"))?);
        self.get(schemes, name).map(|scheme| self.resolve(scheme))
    }

    /// `example`, then `examples`, of a media type, a parameter or a schema.
    pub(super) fn examples_of(&self, of: &'d Json) -> Vec<&'d Json> {
        let mut all: Vec<&Json> =
            ["example", "x-example"].iter().filter_map(|key| of.get(key)).collect();
        match of.get("examples") {
            Some(Json::List(examples)) => all.extend(examples.iter().take(MAX_EXAMPLES)),
            Some(examples) => {
                let examples = self.resolve(examples).fields().iter().take(MAX_EXAMPLES);
                all.extend(examples.filter_map(|(_, one)| self.resolve(one).get("value")));
            }
            None => {}
        }
        all
    }
}

/// The path of a file that another one names, below the folder of the description; none if it is not there.
fn below(from: &str, reference: &str) -> Option<String> {
    let decoded = percent_encoding::percent_decode_str(reference).decode_utf8().ok()?;
    let path = decoded.split('?').next().unwrap_or_default();
    let has_scheme = path.split('/').next().is_some_and(|first| first.contains(':'));
    if has_scheme || path.starts_with('/') || path.contains(['\\', '\0']) {
        return None;
    }
    let mut names: Vec<&str> = from.split('/').collect();
    names.pop();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()?),
            name => names.push(name),
        }
    }
    (!names.is_empty()).then(|| names.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_json_pointers() {
        let root = Json::parse(
            r##"{"paths":{"/a/{b}":{"x~y":[1,{"c d":"found"}]}},"r":{"$ref":"#/paths/~1a~1%7Bb%7D/x~0y/1/c%20d"},
                "s":{"$ref":"#/r"},"t":{"$ref":"#/nothing"},"u":{"$ref":"other.yaml#/r"},"v":{"$ref":"#/v"},
                "w":{"$ref":"#/w/x"},"x":{"$ref":"#/y/1/c%20d"},"y":{"$ref":"#/paths/~1a~1%7Bb%7D/x~0y"}}"##,
        )
        .unwrap();
        let files = Files::new(None);
        let document = Document::new(&root, &files);
        let resolved = |key: &str| document.resolve(root.get(key).unwrap());
        assert_eq!(resolved("r").as_str(), Some("found"));
        assert_eq!(resolved("s").as_str(), Some("found"));
        assert_eq!(resolved("x").as_str(), Some("found"));
        for key in ["t", "u", "v", "w"] {
            assert_eq!(resolved(key), &Json::Null, "{key}");
        }
    }

    #[test]
    fn other_files_are_below_the_folder() {
        for (from, reference, path) in [
            ("", "a.yml", Some("a.yml")),
            ("", "./a/../b%20c.yml", Some("b c.yml")),
            ("a/b.yml", "../c.yml", Some("c.yml")),
            ("a/b.yml", "c//d.yml", Some("a/c/d.yml")),
            ("a/b.yml", "../../c.yml", None),
            ("", "../c.yml", None),
            ("", "%2e%2e/c.yml", None),
            ("", "/etc/passwd", None),
            ("", "file:///etc/passwd", None),
            ("", "https://example.com/a.yml", None),
            ("", "//example.com/a.yml", None),
            ("", "C:\\a.yml", None),
            ("", "..\\a.yml", None),
            ("a/b.yml", "..", None),
        ] {
            assert_eq!(below(from, reference).as_deref(), path, "{from} {reference}");
        }
    }
}
