//! Schemas: what services there are, and what their methods take and give.
//!
//! A schema is a set of descriptors whose references are resolved. It does not know where files are: their bytes come
//! through [`Files`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use prost_reflect::{DescriptorPool, MessageDescriptor, MethodDescriptor, ServiceDescriptor};
use prost_types::FileDescriptorProto;
use protox::file::{File, FileResolver, GoogleFileResolver};
use serde::{Deserialize, Serialize};

use crate::editions;
use crate::error::SchemaError;

/// Where the bytes of files come from.
pub trait Files {
    /// The bytes of a file; `None` if there is no such file, an error in words if it cannot be read. It should read
    /// no more than a byte beyond [`MOST_FILE_BYTES`].
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, String>;
}

/// The most bytes of one `.proto` file, or of a protoset.
pub const MOST_FILE_BYTES: usize = 16 << 20;

/// The most files of a schema.
pub const MOST_FILES: usize = 2000;

/// The most bytes of all `.proto` files.
const MOST_BYTES: usize = 64 << 20;

/// The most fields, values of enums and methods of a schema: some 7 kB each once their references are resolved.
const MOST_ELEMENTS: usize = 100_000;

/// The services and messages of a server.
#[derive(Clone)]
pub struct Schema {
    pool: DescriptorPool,
}

/// A method of a service.
#[derive(Clone, PartialEq, Eq)]
pub struct Method {
    /// The value of `:path`: `/package.Service/Method`.
    pub path: String,
    /// Who sends how many messages.
    pub kind: Kind,
    /// The type of the messages of requests.
    pub input: MessageDescriptor,
    /// The type of the messages of responses.
    pub output: MessageDescriptor,
}

/// Who sends how many messages in a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// One message each.
    Unary,
    /// Any number of the client's, one of the server's.
    ClientStreaming,
    /// One of the client's, any number of the server's.
    ServerStreaming,
    /// Any number each.
    Bidirectional,
}

impl Kind {
    /// Whether requests may have any number of messages.
    pub fn client_streams(self) -> bool {
        matches!(self, Kind::ClientStreaming | Kind::Bidirectional)
    }

    /// Whether responses may have any number of messages.
    pub fn server_streams(self) -> bool {
        matches!(self, Kind::ServerStreaming | Kind::Bidirectional)
    }
}

impl Schema {
    /// Compiles `.proto` files. `protos` are the files to compile; their imports are looked for below each of
    /// `roots`, in order. A file that is below none of the roots makes its own folder a root, as protoc does without
    /// `-I`. `google/protobuf/*.proto` are built in.
    pub fn from_protos(
        protos: &[String],
        roots: &[String],
        files: impl Files,
    ) -> Result<Self, SchemaError> {
        let mut roots: Vec<String> = roots.iter().map(|root| tidy(root).to_owned()).collect();
        let mut names = Vec::new();
        for proto in protos {
            let proto = tidy(proto);
            let below = roots.iter().find_map(|root| below(root, proto));
            names.push(below.map(str::to_owned).unwrap_or_else(|| {
                let (folder, name) = proto.rsplit_once('/').unwrap_or(("", proto));
                let folder = if folder.is_empty() && proto.starts_with('/') { "/" } else { folder };
                roots.push(folder.to_owned());
                name.to_owned()
            }));
        }
        let sources = Sources { roots, files: &files };
        let sorted = sources.sorted(names.into_iter().zip(protos))?;
        let names: Vec<String> = sorted.iter().map(|file| file.name().to_owned()).collect();
        let by_name = sorted.into_iter().map(|file| (file.name().to_owned(), file)).collect();
        let mut compiler = protox::Compiler::with_file_resolver(Compiled(by_name));
        for name in &names {
            compiler.open_file(name).map_err(|error| of_protox(&error, name))?;
        }
        Schema::new(compiler.descriptor_pool().file_descriptor_protos().cloned())
    }

    /// Reads a protoset: a FileDescriptorSet, as `protoc --include_imports --descriptor_set_out` writes it.
    pub fn from_protoset(bytes: &[u8]) -> Result<Self, SchemaError> {
        if bytes.len() > MOST_FILE_BYTES {
            return Err(SchemaError::TooLarge("a protoset has up to 16 MiB"));
        }
        let files =
            editions::set(bytes).map_err(|error| SchemaError::Protoset(error.to_string()))?;
        if files.is_empty() {
            return Err(SchemaError::Protoset("it has no files".to_owned()));
        }
        Schema::new(files)
    }

    /// Of descriptors, in any order. Those of `google/protobuf/*.proto` are there already, and stay, whatever version a
    /// compiler has of them.
    pub(crate) fn new(
        files: impl IntoIterator<Item = FileDescriptorProto>,
    ) -> Result<Self, SchemaError> {
        let mut pool = DescriptorPool::global();
        let is_new = |file: &FileDescriptorProto| pool.get_file_by_name(file.name()).is_none();
        let mut files: Vec<_> = files.into_iter().filter(is_new).collect();
        for file in &mut files {
            // Features of a language: extensions of a message that the built-in descriptor.proto lacks.
            file.extension.retain(|one| one.extendee() != ".google.protobuf.FeatureSet");
        }
        if files.len() > MOST_FILES {
            return Err(SchemaError::TooLarge("it has up to 2,000 files"));
        }
        fits(files.iter().map(elements).sum())?;
        // prost-reflect panics at other words.
        let is_known = |file: &&FileDescriptorProto| {
            matches!(file.syntax.as_deref(), None | Some("proto2" | "proto3"))
        };
        if let Some(file) = files.iter().find(|file| !is_known(file)) {
            let (name, syntax) = (clip(file.name()), clip(file.syntax()));
            return Err(SchemaError::Syntax { file: name, syntax });
        }
        if let Some(name) = files.iter().flat_map(names).find(|name| !is_identifier(name)) {
            let why = format!("\"{}\" is not the name of a service or a method", clip(name));
            return Err(SchemaError::Descriptors(why));
        }
        pool.add_file_descriptor_protos(files)
            .map_err(|error| SchemaError::Descriptors(clip_long(&error.to_string())))?;
        Ok(Schema { pool })
    }

    /// A protoset of what these methods need, and of nothing else; the same for every schema that has it.
    ///
    /// # Errors
    /// As [`Schema::method`].
    pub fn protoset(&self, methods: &[&str]) -> Result<Vec<u8>, SchemaError> {
        let mut files = BTreeMap::new();
        for name in methods {
            let (service, _) = split(name)?;
            self.method(name)?;
            let service = self.pool.get_service_by_name(service);
            let mut open: Vec<_> = service.iter().map(ServiceDescriptor::parent_file).collect();
            while let Some(file) = open.pop() {
                if !files.contains_key(file.name()) {
                    open.extend(file.dependencies());
                    files.insert(file.name().to_owned(), file.file_descriptor_proto().clone());
                }
            }
        }
        let set = prost_types::FileDescriptorSet { file: files.into_values().collect() };
        Ok(prost::Message::encode_to_vec(&set))
    }

    /// The names of all services.
    pub fn services(&self) -> impl Iterator<Item = String> + '_ {
        self.pool.services().map(|service| service.full_name().to_owned())
    }

    /// The names of a service's methods; empty if there is no such service.
    pub fn methods(&self, service: &str) -> Vec<String> {
        let service = self.pool.get_service_by_name(service);
        service
            .iter()
            .flat_map(ServiceDescriptor::methods)
            .map(|one| one.name().to_owned())
            .collect()
    }

    /// Finds a method: `package.Service/Method` or `package.Service.Method`, with or without a `/` in front.
    pub fn method(&self, name: &str) -> Result<Method, SchemaError> {
        let (service, method) = split(name)?;
        let Some(found) = self.pool.get_service_by_name(service) else {
            let all: Vec<String> = self.services().collect();
            return Err(no_service(service, &all));
        };
        let all = self.methods(service);
        found.methods().find(|one| one.name() == method).map(|one| Method::of(&one)).ok_or_else(
            || SchemaError::NoMethod {
                service: clip(service),
                name: clip(method),
                nearest: nearest(method, &all),
            },
        )
    }
}

// By hand: prost-reflect prints a message with the messages of its fields, without end where one contains itself.
impl fmt::Debug for Schema {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.services()).finish()
    }
}

impl fmt::Debug for Method {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({:?})", self.path, self.kind)
    }
}

impl Method {
    fn of(method: &MethodDescriptor) -> Self {
        let kind = match (method.is_client_streaming(), method.is_server_streaming()) {
            (false, false) => Kind::Unary,
            (true, false) => Kind::ClientStreaming,
            (false, true) => Kind::ServerStreaming,
            (true, true) => Kind::Bidirectional,
        };
        Method {
            path: format!("/{}/{}", method.parent_service().full_name(), method.name()),
            kind,
            input: method.input(),
            output: method.output(),
        }
    }
}

/// How many fields, values of enums and methods a file declares.
fn elements(file: &FileDescriptorProto) -> usize {
    let mut count: usize = file.service.iter().map(|one| one.method.len()).sum();
    count += file.extension.len();
    count += file.enum_type.iter().map(|one| one.value.len()).sum::<usize>();
    let mut open: Vec<_> = file.message_type.iter().collect();
    while let Some(message) = open.pop() {
        count += message.field.len() + message.extension.len();
        count += message.enum_type.iter().map(|one| one.value.len()).sum::<usize>();
        open.extend(&message.nested_type);
    }
    count
}

/// The names of a file's services and methods, which nothing else looks at, and which stand in paths.
fn names(file: &FileDescriptorProto) -> impl Iterator<Item = &str> {
    file.service.iter().flat_map(|service| {
        std::iter::once(service.name()).chain(service.method.iter().map(|method| method.name()))
    })
}

fn is_identifier(name: &str) -> bool {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty() && name.bytes().all(is_of_name)
}

fn fits(elements: usize) -> Result<(), SchemaError> {
    match elements > MOST_ELEMENTS {
        true => Err(SchemaError::TooLarge(
            "it has up to 100,000 fields, values of enums and methods; leave out the files that the calls do not need",
        )),
        false => Ok(()),
    }
}

/// The value of `:path` for a call: `/package.Service/Method`, of all the forms that [`Schema::method`] takes.
///
/// # Errors
/// It is not the name of a method.
pub fn path(name: &str) -> Result<String, SchemaError> {
    let (service, method) = split(name)?;
    let is_name = |name: &str| {
        let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_.".contains(&byte);
        name.bytes().all(is_of_name)
    };
    match is_name(service) && is_name(method) {
        true => Ok(format!("/{service}/{method}")),
        false => Err(SchemaError::NotAMethod(clip(name))),
    }
}

/// Service and method of the name of a call.
pub(crate) fn split(name: &str) -> Result<(&str, &str), SchemaError> {
    let trimmed = name.strip_prefix('/').unwrap_or(name);
    let parts = trimmed.rsplit_once('/').or_else(|| trimmed.rsplit_once('.'));
    match parts {
        Some((service, method))
            if !service.is_empty() && !method.is_empty() && !service.contains('/') =>
        {
            Ok((service, method))
        }
        _ => Err(SchemaError::NotAMethod(clip(name))),
    }
}

pub(crate) fn no_service(name: &str, all: &[String]) -> SchemaError {
    SchemaError::NoService { name: clip(name), nearest: nearest(name, all) }
}

/// The rest of a sentence: the name nearest to `word`, or else some of those that there are.
pub(crate) fn nearest(word: &str, all: &[String]) -> String {
    const SOME: usize = 8;
    let likeness = |one: &&String| {
        strsim::normalized_damerau_levenshtein(
            &clip(word).to_lowercase(),
            &clip(one).to_lowercase(),
        )
    };
    let best = all.iter().take(MOST_FILES).map(|one| (likeness(&one), one));
    match best.max_by(|(a, _), (b, _)| a.total_cmp(b)) {
        Some((likeness, one)) if likeness >= 0.5 => format!("; did you mean \"{}\"?", clip(one)),
        Some(_) => {
            let some: Vec<String> = all.iter().take(SOME).map(|one| clip(one)).collect();
            let more = if all.len() > SOME { ", …" } else { "" };
            format!("; there are {}{more}", some.join(", "))
        }
        None => "; there are none".to_owned(),
    }
}

/// A name as errors show it: names may come from a server.
pub(crate) fn clip(name: &str) -> String {
    const MOST_CHARS: usize = 120;
    name.chars().take(MOST_CHARS).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// A sentence about what files or servers say.
pub(crate) fn clip_long(text: &str) -> String {
    const MOST_CHARS: usize = 400;
    text.chars().take(MOST_CHARS).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// A path without `./` in front and slashes at its end.
fn tidy(path: &str) -> &str {
    let path = path.trim_start_matches("./");
    match path.trim_end_matches('/') {
        "" if path.starts_with('/') => "/",
        "." => "",
        path => path,
    }
}

/// The path below `root`, if it is one that files can import.
fn below<'a>(root: &str, path: &'a str) -> Option<&'a str> {
    let path = match root {
        "" => path,
        "/" => path.strip_prefix('/')?,
        root => path.strip_prefix(root)?.strip_prefix('/')?,
    };
    (!path.split('/').any(|part| matches!(part, "" | "." | ".."))).then_some(path)
}

fn of_protox(error: &protox::Error, name: &str) -> SchemaError {
    let problem = error.to_string();
    // The debug form has the line and the column in front.
    let at = format!("{error:?}");
    let place = at.split_once(&problem).map_or("", |(place, _)| place.trim_end_matches([':', ' ']));
    let is_place = place.starts_with(name) && place.len() < name.len() + 30;
    let file = if is_place { place } else { error.file().unwrap_or(name) };
    SchemaError::Proto { file: clip(file), problem: clip_long(&problem) }
}

/// Files below roots, of which imports are looked for in order.
struct Sources<'a, F> {
    roots: Vec<String>,
    files: &'a F,
}

/// A file on the way to the compiler.
enum Step {
    /// Its imports come before it.
    Open(String),
    Close(Box<File>),
}

impl<F: Files> Sources<'_, F> {
    /// These files and all that they import, each behind its imports: the compiler would follow them by recursion, as
    /// deep as the files want it.
    fn sorted<'a>(
        &self,
        protos: impl Iterator<Item = (String, &'a String)>,
    ) -> Result<Vec<File>, SchemaError> {
        let mut sorted = Vec::new();
        let (mut known, mut open) = (BTreeSet::new(), BTreeSet::new());
        let (mut bytes, mut declared) = (0, 0);
        for (name, proto) in protos {
            let mut steps = vec![Step::Open(name)];
            while let Some(step) = steps.pop() {
                let name = match step {
                    Step::Close(file) => {
                        open.remove(file.name());
                        sorted.push(*file);
                        continue;
                    }
                    Step::Open(name) => name,
                };
                if open.contains(&name) {
                    let problem = "it imports itself, perhaps through others".to_owned();
                    return Err(SchemaError::Proto { file: clip(&name), problem });
                }
                if !known.insert(name.clone()) {
                    continue;
                }
                let file = self.open(&name, &mut bytes)?.ok_or_else(|| match steps.is_empty() {
                    true => SchemaError::Proto {
                        file: clip(proto),
                        problem: "there is no such file".to_owned(),
                    },
                    false => SchemaError::Import { name: clip(&name), roots: self.shown() },
                })?;
                if known.len() > MOST_FILES {
                    return Err(SchemaError::TooLarge("it has up to 2,000 files"));
                }
                declared += elements(file.file_descriptor_proto());
                fits(declared)?;
                open.insert(name);
                let imports = file.file_descriptor_proto().dependency.clone();
                steps.push(Step::Close(Box::new(file)));
                steps.extend(imports.into_iter().rev().map(Step::Open));
            }
        }
        Ok(sorted)
    }

    /// The file of this name, below the first root that has it, or built in; `bytes` is the sum so far.
    fn open(&self, name: &str, bytes: &mut usize) -> Result<Option<File>, SchemaError> {
        let of =
            |problem: &str| SchemaError::Proto { file: clip(name), problem: problem.to_owned() };
        for root in &self.roots {
            let path = match root.as_str() {
                "" => name.to_owned(),
                "/" => format!("/{name}"),
                root => format!("{root}/{name}"),
            };
            let read =
                self.files.read(&path).map_err(|why| of(&format!("it cannot be read: {why}")))?;
            let Some(content) = read else { continue };
            *bytes = bytes.saturating_add(content.len());
            if content.len() > MOST_FILE_BYTES || *bytes > MOST_BYTES {
                return Err(SchemaError::TooLarge("a file has up to 16 MiB, all of them 64 MiB"));
            }
            let text = String::from_utf8(content).map_err(|_| of("it is not UTF-8"))?;
            if let Some(edition) = edition(&text) {
                let syntax = format!("edition {}", clip(edition));
                return Err(SchemaError::Syntax { file: clip(name), syntax });
            }
            return File::from_source(name, &text)
                .map(Some)
                .map_err(|error| of_protox(&error, name));
        }
        Ok(GoogleFileResolver::new().open_file(name).ok())
    }

    fn shown(&self) -> String {
        let shown = |root: &String| if root.is_empty() { ".".to_owned() } else { root.clone() };
        self.roots.iter().map(shown).collect::<Vec<_>>().join(", ")
    }
}

/// The edition of a `.proto` file that has one, which is said in its first statement.
fn edition(text: &str) -> Option<&str> {
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    loop {
        let comment = match rest.get(..2) {
            Some("//") => "\n",
            Some("/*") => "*/",
            _ => break,
        };
        rest = rest[2..].split_once(comment)?.1.trim_start();
    }
    let value = rest.strip_prefix("edition")?.trim_start().strip_prefix('=')?.trim_start();
    let value = value.strip_prefix(['"', '\''])?;
    Some(&value[..value.find(['"', '\''])?])
}

/// Files that are there already.
struct Compiled(BTreeMap<String, File>);

impl FileResolver for Compiled {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        self.0.get(name).cloned().ok_or_else(|| protox::Error::file_not_found(name))
    }
}
