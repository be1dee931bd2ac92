//! Everything that can be wrong with a schema, a call or a message, as values.

/// Why there is no schema, or no such method in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// A `.proto` file has an error, or cannot be read.
    #[error("{file}: {problem}")]
    Proto {
        /// The file.
        file: String,
        /// What is wrong, and where.
        problem: String,
    },
    /// A file that is imported is below none of the roots.
    #[error(
        "the import \"{name}\" is below none of the import roots: {roots}; add the root that it is below"
    )]
    Import {
        /// As it is imported.
        name: String,
        /// The roots, separated by commas.
        roots: String,
    },
    /// The bytes are not a FileDescriptorSet.
    #[error(
        "not a protoset: {0}; make one with `protoc --include_imports --descriptor_set_out=FILE`"
    )]
    Protoset(String),
    /// Descriptors contradict each other or are incomplete.
    #[error(
        "the descriptors are not valid: {0}; a protoset needs its imports (protoc --include_imports)"
    )]
    Descriptors(String),
    /// A file is in another language than proto2 and proto3; editions can be descriptors only.
    #[error(
        "{file} has the syntax \"{syntax}\"; .proto files can be proto2 and proto3, and descriptors also editions 2023 \
         and 2024: make a protoset with `protoc --include_imports --descriptor_set_out=FILE`"
    )]
    Syntax {
        /// The file.
        file: String,
        /// As it says.
        syntax: String,
    },
    /// More files or bytes than a schema may have.
    #[error("the schema is larger than the limit: {0}")]
    TooLarge(&'static str),
    /// The name of the call has no method in it.
    #[error("\"{0}\" is not the name of a method; write package.Service/Method")]
    NotAMethod(String),
    /// No such service.
    #[error("there is no service \"{name}\"{nearest}")]
    NoService {
        /// As it was given.
        name: String,
        /// The nearest, or all of them, as the rest of the sentence.
        nearest: String,
    },
    /// No such method of the service.
    #[error("the service {service} has no method \"{name}\"{nearest}")]
    NoMethod {
        /// The service.
        service: String,
        /// As it was given.
        name: String,
        /// The nearest, or all of them, as the rest of the sentence.
        nearest: String,
    },
    /// The server's reflection answers with something else than was asked for.
    #[error("server reflection: {0}")]
    Reflection(String),
}

/// Why JSON is not a message of this type, or a message cannot be shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A message differs from its schema.
    #[error("{place}: {problem}")]
    Json {
        /// Which message, and the path of the field in it.
        place: String,
        /// What is wrong.
        problem: String,
    },
    /// The text is longer than [`MOST_JSON_BYTES`](crate::MOST_JSON_BYTES).
    #[error("the messages have {0} bytes of JSON; the limit is 4 MiB")]
    TooLong(usize),
    /// A hole stands where its value cannot be written into the message.
    #[error(
        "hole {number} is not the text of a string field, a whole number, or a part of a string; holes cannot stand in \
         names of fields, bytes, booleans, timestamps, durations or google.protobuf.Any"
    )]
    Hole {
        /// Of all holes, from 1.
        number: usize,
    },
    /// More holes than can be told apart.
    #[error("the messages have {0} holes, or too many digits beside them; the limit is 700 holes")]
    TooManyHoles(usize),
    /// The method takes one message, and there are none or several.
    #[error("the method takes one message, and there are {0}; only client streaming takes several")]
    NotOne(usize),
    /// Bytes are not a message of the type.
    #[error("not a message of type {name}: {problem}; is the schema the server's?")]
    Bytes {
        /// The type.
        name: String,
        /// What is wrong.
        problem: String,
    },
    /// A message is longer than is shown.
    #[error("the message has {0} bytes; up to 1 MiB is shown as JSON")]
    NotShown(usize),
}

/// Why a value does not fit the field that its hole stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FillError {
    /// Not a number of the field's type.
    #[error("the value of hole {hole} is not a number of the field's type ({kind})")]
    Number {
        /// The hole, as the compiled pieces have it.
        hole: usize,
        /// The type, in the words of `.proto` files.
        kind: &'static str,
    },
    /// Not UTF-8.
    #[error("the value of hole {hole} is not UTF-8, as a string field must be")]
    Text {
        /// The hole.
        hole: usize,
    },
    /// A message is longer than 2^32 - 1 bytes.
    #[error("a message is longer than 4 GiB")]
    TooLong,
}
