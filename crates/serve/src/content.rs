//! The fixed bytes of the scenarios' responses, made once.

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::LazyLock;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

pub(crate) const HELLO: &[u8] = b"alive\r\n";

/// The response to clients of the httpc benchmark.
pub(crate) const HTTPC_BENCH: &[u8] = b"httpc_bench!";

/// Exactly 115 bytes; a test counts.
pub(crate) const JSON: &[u8] = br#"{"id":4711,"name":"candor","kind":"target","status":"alive","tags":["fast","small","plain"],"score":99.5,"ok":true}"#;

pub(crate) const HELLO_FILE: &[u8] = b"Hello from a static file.\n";

pub(crate) const SSE_EVENTS: u32 = 100;
pub(crate) const SSE_EVENT: &[u8] = b"event: tick\ndata: tick\n\n";

pub(crate) const LARGE_LEN: usize = 64 * 1024;

/// The alphabet repeated, so that a shifted or repeated piece is noticed.
pub(crate) static LARGE: [u8; LARGE_LEN] = {
    let mut bytes = [0; LARGE_LEN];
    let mut index = 0;
    while index < LARGE_LEN {
        bytes[index] = b'a' + (index % 26) as u8;
        index += 1;
    }
    bytes
};

pub(crate) const GZIP_INFLATED_LEN: usize = 16 * 1024;

/// A JSON array of exactly 16 KiB, and the same in gzip.
pub(crate) struct Compressible {
    pub(crate) plain: Bytes,
    pub(crate) gzip: Bytes,
}

pub(crate) static COMPRESSIBLE: LazyLock<Compressible> = LazyLock::new(|| {
    let mut plain = String::from("[");
    for id in 0.. {
        // Room for this item, the closing bracket and the padding.
        if plain.len() + 64 > GZIP_INFLATED_LEN {
            break;
        }
        // Writing to a String does not fail.
        let _ = write!(plain, r#"{{"id":{id},"name":"item {id}","ok":true}},"#);
    }
    let padding = GZIP_INFLATED_LEN - plain.len() - 3;
    plain.push('"');
    plain.extend(std::iter::repeat_n('.', padding));
    plain.push_str("\"]");
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let gzip = encoder.write_all(plain.as_bytes()).and_then(|()| encoder.finish());
    Compressible {
        plain: plain.into(),
        gzip: gzip.expect("compressing into memory cannot fail").into(),
    }
});

/// An item of `/httparena_json`.
pub(crate) struct Item {
    pub(crate) id: u32,
    pub(crate) price: u64,
    pub(crate) quantity: u64,
}

/// The most items.
pub(crate) const ITEMS: u32 = 50;

/// Item `id`, from 1: prices and quantities vary, and the same id is always the same item.
pub(crate) fn item(id: u32) -> Item {
    let n = u64::from(id);
    Item { id, price: 100 + n * 37 % 900, quantity: 1 + n * 7 % 20 }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn json_is_an_object_of_115_bytes() {
        assert_eq!(JSON.len(), 115);
        let value: serde_json::Value = serde_json::from_slice(JSON).unwrap();
        assert!(value.is_object());
    }

    #[test]
    fn gzip_inflates_to_16_kib_of_json() {
        let mut inflated = Vec::new();
        flate2::read::GzDecoder::new(&COMPRESSIBLE.gzip[..]).read_to_end(&mut inflated).unwrap();
        assert_eq!(inflated, COMPRESSIBLE.plain);
        assert_eq!(inflated.len(), GZIP_INFLATED_LEN);
        let value: serde_json::Value = serde_json::from_slice(&inflated).unwrap();
        assert!(value.as_array().unwrap().len() > 100);
    }
}
