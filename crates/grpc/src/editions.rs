//! Descriptors of editions 2023 and 2024 as proto2, which has all that they can say of bytes on the wire: fields that
//! are packed, required, or groups.
//!
//! The libraries for descriptors know no editions, and drop features when they read a file, so features are read here.
//! What they say of presence and of unknown values of enums changes no message that is sent.
//!
//! Source: protobuf's descriptor.proto, and <https://protobuf.dev/editions/features/>.

use std::collections::BTreeSet;

use prost::{DecodeError, Message as _};
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet};

/// `EDITION_2023` and `EDITION_2024`.
const KNOWN: [i32; 2] = [1000, 1001];

/// Reads a file. One of an edition is proto2 then; one of an edition that is not known stays as it is.
pub(crate) fn file(bytes: &[u8]) -> Result<FileDescriptorProto, DecodeError> {
    let mut file = FileDescriptorProto::decode(bytes)?;
    lower(&mut file, &wire::File::decode(bytes)?);
    Ok(file)
}

/// The same for all files of a set.
pub(crate) fn set(bytes: &[u8]) -> Result<Vec<FileDescriptorProto>, DecodeError> {
    let mut files = FileDescriptorSet::decode(bytes)?.file;
    let said = wire::Set::decode(bytes)?.file;
    files.iter_mut().zip(&said).for_each(|(file, said)| lower(file, said));
    Ok(files)
}

fn lower(file: &mut FileDescriptorProto, said: &wire::File) {
    if file.syntax() != "editions" || !KNOWN.contains(&said.edition) {
        return;
    }
    file.syntax = Some("proto2".to_owned());
    let features = DEFAULT.with(said.options.iter().find_map(|one| one.features.as_ref()));
    let extensions = file.extension.iter_mut().zip(&said.extension);
    extensions.for_each(|(field, said)| features.lower(field, said, false));
    // Messages have the features of what they stand in. Without recursion: a file decides how deep they nest.
    let messages = file.message_type.iter_mut().zip(&said.message_type);
    let mut open: Vec<_> = messages.map(|(message, said)| (message, said, features)).collect();
    while let Some((message, said, features)) = open.pop() {
        let features = features.with(said.options.iter().find_map(|one| one.features.as_ref()));
        let is_entry = is_map_entry(message);
        let entries = message.nested_type.iter().filter(|one| is_map_entry(one));
        let entries: BTreeSet<&str> = entries.map(DescriptorProto::name).collect();
        for (field, said) in message.field.iter_mut().zip(&said.field) {
            let of = field.type_name().rsplit('.').next().unwrap_or_default();
            let is_of_map = is_entry || entries.contains(of);
            features.lower(field, said, is_of_map);
        }
        let extensions = message.extension.iter_mut().zip(&said.extension);
        extensions.for_each(|(field, said)| features.lower(field, said, false));
        let nested = message.nested_type.iter_mut().zip(&said.nested_type);
        open.extend(nested.map(|(message, said)| (message, said, features)));
    }
}

fn is_map_entry(message: &DescriptorProto) -> bool {
    message.options.as_ref().is_some_and(|options| options.map_entry())
}

/// How fields are written.
#[derive(Clone, Copy)]
struct Features {
    is_required: bool,
    is_packed: bool,
    is_group: bool,
}

/// Those of both editions.
const DEFAULT: Features = Features { is_required: false, is_packed: true, is_group: false };

impl Features {
    /// The same, but for what is said here.
    fn with(self, said: Option<&wire::Features>) -> Self {
        let Some(said) = said else { return self };
        let is = |value: Option<i32>, wanted: i32, before: bool| {
            // 0 is UNKNOWN in all three.
            value.filter(|value| *value != 0).map_or(before, |value| value == wanted)
        };
        Features {
            is_required: is(said.field_presence, wire::LEGACY_REQUIRED, self.is_required),
            is_packed: is(said.repeated_field_encoding, wire::PACKED, self.is_packed),
            is_group: is(said.message_encoding, wire::DELIMITED, self.is_group),
        }
    }

    /// Makes a field one of proto2 that is written in the same way. Maps have no groups.
    fn lower(self, field: &mut FieldDescriptorProto, said: &wire::Field, is_of_map: bool) {
        let features = self.with(said.options.iter().find_map(|one| one.features.as_ref()));
        let is_packable =
            !matches!(field.r#type(), Type::String | Type::Bytes | Type::Message | Type::Group);
        if field.label() == Label::Repeated && is_packable {
            field.options.get_or_insert_default().packed = Some(features.is_packed);
        }
        if field.label() == Label::Optional && features.is_required && field.oneof_index.is_none() {
            field.set_label(Label::Required);
        }
        if field.r#type() == Type::Message && features.is_group && !is_of_map {
            field.set_type(Type::Group);
        }
    }
}

/// Files again, of which nothing is read but editions and features.
mod wire {
    use prost::Message;

    pub(super) const LEGACY_REQUIRED: i32 = 3;
    pub(super) const PACKED: i32 = 1;
    pub(super) const DELIMITED: i32 = 2;

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Set {
        #[prost(message, repeated, tag = "1")]
        pub(super) file: Vec<File>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct File {
        #[prost(message, repeated, tag = "4")]
        pub(super) message_type: Vec<Kind>,
        #[prost(message, repeated, tag = "7")]
        pub(super) extension: Vec<Field>,
        #[prost(message, optional, tag = "8")]
        pub(super) options: Option<FileOptions>,
        #[prost(int32, tag = "14")]
        pub(super) edition: i32,
    }

    /// `DescriptorProto`.
    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Kind {
        #[prost(message, repeated, tag = "2")]
        pub(super) field: Vec<Field>,
        #[prost(message, repeated, tag = "3")]
        pub(super) nested_type: Vec<Kind>,
        #[prost(message, repeated, tag = "6")]
        pub(super) extension: Vec<Field>,
        #[prost(message, optional, tag = "7")]
        pub(super) options: Option<MessageOptions>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Field {
        #[prost(message, optional, tag = "8")]
        pub(super) options: Option<FieldOptions>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct FileOptions {
        #[prost(message, optional, tag = "50")]
        pub(super) features: Option<Features>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct MessageOptions {
        #[prost(message, optional, tag = "12")]
        pub(super) features: Option<Features>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct FieldOptions {
        #[prost(message, optional, tag = "21")]
        pub(super) features: Option<Features>,
    }

    /// `FeatureSet`.
    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Features {
        #[prost(int32, optional, tag = "1")]
        pub(super) field_presence: Option<i32>,
        #[prost(int32, optional, tag = "3")]
        pub(super) repeated_field_encoding: Option<i32>,
        #[prost(int32, optional, tag = "5")]
        pub(super) message_encoding: Option<i32>,
    }
}
