//! Server reflection, v1 and v1alpha, which differ in their names only: what services there are, and
//! the file that describes them
//! (<https://github.com/grpc/grpc-proto/blob/master/grpc/reflection/v1/reflection.proto>).

use bytes::Bytes;

use super::framing::Status;
use super::wire::{Value, next_field, put_bytes, put_varint};

/// A FileDescriptorSet of `proto/candor/echo.proto` alone, compiled; a test checks that it is.
/// The schema, as a FileDescriptorSet with one file.
pub const DESCRIPTORS: &[u8] = include_bytes!("../../proto/candor/echo.binpb");

const FILE: &str = "candor/echo.proto";
const SERVICE: &str = "candor.Echo";
const SYMBOLS: [&str; 6] = [
    SERVICE,
    "candor.Message",
    "candor.Echo.Unary",
    "candor.Echo.ServerStream",
    "candor.Echo.ClientStream",
    "candor.Echo.Bidi",
];

/// The response to one request of the stream.
///
/// # Errors
///
/// The request is malformed.
pub(crate) fn respond(request: Bytes) -> Result<Vec<u8>, Status> {
    let malformed = |says| Status::new(Status::INTERNAL, says);
    let mut response = Vec::new();
    let mut rest = request.clone();
    let mut asked = None;
    while let Some((number, value)) = next_field(&mut rest).map_err(malformed)? {
        match (number, value) {
            (1, Value::Bytes(host)) => put_bytes(&mut response, 1, &host),
            // A oneof: the last counts.
            (3..=7, Value::Bytes(argument)) => asked = Some((number, argument)),
            _ => {}
        }
    }
    put_bytes(&mut response, 2, &request);
    match asked {
        Some((3, name)) if name == FILE => put_file(&mut response),
        Some((4, symbol)) if SYMBOLS.iter().any(|known| symbol == known) => put_file(&mut response),
        Some((6, kind)) if kind == "candor.Message" => {
            let mut extensions = Vec::new();
            put_bytes(&mut extensions, 1, &kind);
            put_bytes(&mut response, 5, &extensions);
        }
        Some((7, _)) => {
            let (mut service, mut services) = (Vec::new(), Vec::new());
            put_bytes(&mut service, 1, SERVICE.as_bytes());
            put_bytes(&mut services, 1, &service);
            put_bytes(&mut response, 6, &services);
        }
        Some(_) => put_error(&mut response, Status::NOT_FOUND, "not described here"),
        None => put_error(&mut response, Status::INVALID_ARGUMENT, "the request asks for nothing"),
    }
    Ok(response)
}

fn put_error(response: &mut Vec<u8>, code: u32, message: &str) {
    let mut error = Vec::new();
    put_varint(&mut error, 1, code.into());
    put_bytes(&mut error, 2, message.as_bytes());
    put_bytes(response, 7, &error);
}

/// The file of a set has the field number that it has in the response.
fn put_file(response: &mut Vec<u8>) {
    put_bytes(response, 4, DESCRIPTORS);
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use prost_reflect::DescriptorPool;

    use super::*;

    #[test]
    fn the_descriptor_is_that_of_the_file() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("proto");
        let mut compiler = protox::Compiler::new([&folder]).unwrap();
        compiler.open_file("candor/echo.proto").unwrap();
        let bytes = compiler.encode_file_descriptor_set();
        if std::env::var_os("CANDOR_RENEW").is_some() {
            std::fs::write(folder.join("candor/echo.binpb"), &bytes).unwrap();
        }
        assert!(bytes == DESCRIPTORS, "rerun with CANDOR_RENEW=1, then build again");
    }

    #[test]
    fn the_names_are_those_of_the_descriptor() {
        let pool = DescriptorPool::decode(DESCRIPTORS).unwrap();
        let files: Vec<_> = pool.files().map(|file| file.name().to_owned()).collect();
        assert_eq!(files, [FILE]);
        let services: Vec<_> = pool.services().collect();
        assert_eq!(services.iter().map(|one| one.full_name()).collect::<Vec<_>>(), [SERVICE]);
        let mut symbols = vec![SERVICE.to_owned()];
        symbols.extend(pool.all_messages().map(|message| message.full_name().to_owned()));
        symbols.extend(services[0].methods().map(|method| method.full_name().to_owned()));
        assert_eq!(symbols, SYMBOLS);
    }
}
