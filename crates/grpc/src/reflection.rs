//! The schema of a server from the server itself: `grpc.reflection.v1`, and `v1alpha`, whose messages are the same.
//!
//! [`Reflection`] says what to ask next and takes the responses; sending is the caller's. Each question is a call of
//! its own to [`Version::path`] with one message, or all of them are messages of one call, as the caller prefers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use prost::Message;
use prost_reflect::DescriptorPool;
use prost_types::FileDescriptorProto;

use crate::editions;
use crate::error::SchemaError;
use crate::schema::{Files, Schema, clip, no_service, split};

/// A version of the service. A server without v1 answers `UNIMPLEMENTED`, and v1alpha is asked with a new
/// [`Reflection`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// `grpc.reflection.v1`.
    V1,
    /// `grpc.reflection.v1alpha`.
    V1Alpha,
}

impl Version {
    /// The value of `:path`.
    pub fn path(self) -> &'static str {
        match self {
            Version::V1 => "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
            Version::V1Alpha => "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
        }
    }

    /// A schema with the service and names for its messages, whose fields only [`Reflection`] knows.
    pub fn schema(self) -> Result<Schema, SchemaError> {
        struct Text(String);
        impl Files for Text {
            fn read(&self, _: &str) -> Result<Option<Vec<u8>>, String> {
                Ok(Some(self.0.clone().into_bytes()))
            }
        }
        let package = self.path()[1..].split(".ServerReflection").next().unwrap_or_default();
        let text = format!(
            "syntax = \"proto3\"; package {package}; \
             message ServerReflectionRequest {{}} message ServerReflectionResponse {{}} \
             service ServerReflection {{ rpc ServerReflectionInfo(stream ServerReflectionRequest) \
             returns (stream ServerReflectionResponse); }}"
        );
        Schema::from_protos(&["reflection.proto".to_owned()], &[], Text(text))
    }
}

/// The most files that are taken from a server.
pub const MOST_REFLECTED_FILES: usize = 1000;

/// The most bytes of descriptors that are taken from a server.
pub const MOST_REFLECTED_BYTES: usize = 16 << 20;

/// Finds the schema of services out.
#[derive(Debug)]
pub struct Reflection {
    next: VecDeque<Question>,
    /// Asked for already.
    known: BTreeSet<String>,
    files: BTreeMap<String, FileDescriptorProto>,
    bytes: usize,
    waiting: Option<Question>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Question {
    Service(String),
    File(String),
    /// What there is, after it turned out that there is no service of this name.
    List(String),
}

impl Reflection {
    /// For calls by their names, e.g. `package.Service/Method`.
    pub fn of<'a>(methods: impl IntoIterator<Item = &'a str>) -> Result<Self, SchemaError> {
        let mut services = BTreeSet::new();
        for method in methods {
            services.insert(split(method)?.0.to_owned());
        }
        Ok(Reflection {
            next: services.into_iter().map(Question::Service).collect(),
            known: BTreeSet::new(),
            files: BTreeMap::new(),
            bytes: 0,
            waiting: None,
        })
    }

    /// The message to send next, without a prefix; `None` when nothing is left to ask, and [`Reflection::finish`] has
    /// the schema. Until its response has been handled it is the same message.
    pub fn poll_question(&mut self) -> Option<Vec<u8>> {
        if self.waiting.is_none() {
            self.waiting = self.next.pop_front();
        }
        let question = self.waiting.as_ref()?;
        let asked = match question {
            Question::Service(name) => wire::Asked::FileContainingSymbol(name.clone()),
            Question::File(name) => wire::Asked::FileByFilename(name.clone()),
            Question::List(_) => wire::Asked::ListServices(String::new()),
        };
        Some(wire::Request { host: String::new(), asked: Some(asked) }.encode_to_vec())
    }

    /// Takes the message of a response. An error is the end.
    pub fn handle_response(&mut self, message: &[u8]) -> Result<(), SchemaError> {
        let Some(question) = self.waiting.take() else {
            return Err(wrong("the server answered what was not asked"));
        };
        self.bytes = self.bytes.saturating_add(message.len());
        if self.bytes > MOST_REFLECTED_BYTES {
            return Err(SchemaError::TooLarge("a server's descriptors have up to 16 MiB"));
        }
        let response = wire::Response::decode(message)
            .map_err(|error| wrong(format!("the response cannot be read: {error}")))?;
        match (response.told, question) {
            (Some(wire::Told::Files(files)), Question::Service(_) | Question::File(_)) => {
                for bytes in &files.file {
                    self.take_file(bytes)?;
                }
                Ok(())
            }
            (Some(wire::Told::Services(list)), Question::List(service)) => {
                let all: Vec<String> = list.service.into_iter().map(|one| one.name).collect();
                Err(no_service(&service, &all))
            }
            (Some(wire::Told::Error(_)), Question::Service(name)) => {
                self.next = [Question::List(name)].into();
                Ok(())
            }
            (Some(wire::Told::Error(error)), question) => {
                let what = match question {
                    Question::File(name) => format!("the file \"{}\"", clip(&name)),
                    _ => "the list of services".to_owned(),
                };
                Err(wrong(format!(
                    "the server does not give {what}: {} (code {}); use its .proto files or a protoset instead",
                    clip(&error.message),
                    error.code
                )))
            }
            _ => Err(wrong("the response is of another kind than the question")),
        }
    }

    /// The schema.
    pub fn finish(self) -> Result<Schema, SchemaError> {
        if self.waiting.is_some() || !self.next.is_empty() {
            return Err(wrong("the server did not answer all questions"));
        }
        Schema::new(self.files.into_values())
    }

    fn take_file(&mut self, bytes: &[u8]) -> Result<(), SchemaError> {
        let file = editions::file(bytes)
            .map_err(|error| wrong(format!("a file descriptor cannot be read: {error}")))?;
        for name in &file.dependency {
            let is_built_in = DescriptorPool::global().get_file_by_name(name).is_some();
            if !is_built_in && !self.files.contains_key(name) && self.known.insert(name.clone()) {
                self.next.push_back(Question::File(name.clone()));
            }
        }
        // A server may give imports along with a file; then they are not asked for.
        self.next
            .retain(|question| !matches!(question, Question::File(name) if name == file.name()));
        self.files.insert(file.name().to_owned(), file);
        if self.files.len() + self.next.len() > MOST_REFLECTED_FILES {
            return Err(SchemaError::TooLarge("a server's descriptors have up to 1,000 files"));
        }
        Ok(())
    }
}

fn wrong(problem: impl Into<String>) -> SchemaError {
    SchemaError::Reflection(problem.into())
}

/// The messages of the service, as far as they are used.
mod wire {
    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Request {
        #[prost(string, tag = "1")]
        pub(super) host: String,
        #[prost(oneof = "Asked", tags = "3, 4, 7")]
        pub(super) asked: Option<Asked>,
    }

    #[derive(Clone, PartialEq, prost::Oneof)]
    pub(super) enum Asked {
        #[prost(string, tag = "3")]
        FileByFilename(String),
        #[prost(string, tag = "4")]
        FileContainingSymbol(String),
        #[prost(string, tag = "7")]
        ListServices(String),
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Response {
        #[prost(oneof = "Told", tags = "4, 6, 7")]
        pub(super) told: Option<Told>,
    }

    #[derive(Clone, PartialEq, prost::Oneof)]
    pub(super) enum Told {
        #[prost(message, tag = "4")]
        Files(Files),
        #[prost(message, tag = "6")]
        Services(Services),
        #[prost(message, tag = "7")]
        Error(ErrorResponse),
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Files {
        #[prost(bytes = "vec", repeated, tag = "1")]
        pub(super) file: Vec<Vec<u8>>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Services {
        #[prost(message, repeated, tag = "1")]
        pub(super) service: Vec<Service>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Service {
        #[prost(string, tag = "1")]
        pub(super) name: String,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct ErrorResponse {
        #[prost(int32, tag = "1")]
        pub(super) code: i32,
        #[prost(string, tag = "2")]
        pub(super) message: String,
    }
}
