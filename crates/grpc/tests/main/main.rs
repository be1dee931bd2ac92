//! Schemas, messages and reflection, with a realistic `.proto`.
#![allow(clippy::unwrap_used, reason = "what a test sets up is there, or the test fails")]

mod editions;
mod messages;
mod reflection;
mod schemas;

use std::collections::BTreeMap;

use candor_grpc::{Files, Schema};

/// Files in memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Memory(pub(crate) BTreeMap<String, Vec<u8>>);

impl Files for Memory {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, String> {
        if path.contains("forbidden") {
            return Err("permission denied".to_owned());
        }
        Ok(self.0.get(path).cloned())
    }
}

pub(crate) fn memory(files: &[(&str, &str)]) -> Memory {
    Memory(files.iter().map(|(path, text)| (path.to_string(), text.as_bytes().to_vec())).collect())
}

pub(crate) const ORDERS: &str = include_str!("../protos/shop/v1/orders.proto");
pub(crate) const MONEY: &str = include_str!("../protos/common/money.proto");

pub(crate) fn shop() -> Schema {
    let files =
        memory(&[("protos/shop/v1/orders.proto", ORDERS), ("protos/common/money.proto", MONEY)]);
    let proto = "protos/shop/v1/orders.proto".to_owned();
    Schema::from_protos(&[proto], &["protos".to_owned()], files).unwrap()
}

/// The same as a FileDescriptorSet.
pub(crate) fn descriptors() -> Vec<prost_types::FileDescriptorProto> {
    let schema = shop();
    let method = schema.method("shop.v1.Orders/Get").unwrap();
    let pool = method.input.parent_pool();
    let ours = |file: &&prost_types::FileDescriptorProto| !file.name().starts_with("google/");
    pool.file_descriptor_protos().filter(ours).cloned().collect()
}
