//! Compressed responses: what is asked for, what is decoded where something looks into it, and what a body that cannot
//! be decoded is called.

use std::io::{BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::common::{CANDOR, Candor, Outcome, Target, candor, read_head};

const TEXT: &str = r#"{"token":"abc","items":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19]}"#;
/// The text as Node's zlib and the zstd command write it.
const BROTLI_HEX: &str = "1b4a00f89d07b68decf3e66182b17556927598d85e9f64d1e94a91ad3118c3612c04f16e3d8926bb802405500416b22b38f2ab4092a21996e3f1312893c5e670797cfc0f";
const ZSTD_HEX: &str = "28b52ffd0468050200b2040f1290cf01b6ee18820162d7f2c123686c67c68899a53eea9fbee9973ee98fbee8773ff4d3d1cfcdcbc9c7c5fb61296027bc111c3cd7800214ca7a010e00b8f16bb4";

fn bytes(hex: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(byte).collect()
}

fn deflated(as_zlib: bool) -> Vec<u8> {
    let level = flate2::Compression::default();
    let mut made = Vec::new();
    let mut deflate = flate2::Compress::new(level, as_zlib);
    made.reserve(1000);
    let status = deflate.compress_vec(TEXT.as_bytes(), &mut made, flate2::FlushCompress::Finish);
    assert_eq!(status.unwrap(), flate2::Status::StreamEnd);
    made
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

/// A server whose paths name the coding of its responses; it keeps what it was asked for.
struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let all = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let all = Arc::clone(&all);
                std::thread::spawn(move || serve(stream, &all));
            }
        });
        Server { address, asked }
    }

    /// The Accept-Encoding fields of all requests, each once.
    fn take(&self) -> Vec<String> {
        let mut all = std::mem::take(&mut *self.asked.lock().unwrap());
        all.sort();
        all.dedup();
        all
    }
}

fn serve(stream: TcpStream, asked: &Mutex<Vec<String>>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some(head) = read_head(&mut reader)? {
        let fields = head.lines().filter(|line| line.starts_with("Accept-Encoding"));
        asked.lock().unwrap().push(fields.collect::<Vec<_>>().join("|"));
        let (coding, body) = response(head.split(' ').nth(1).unwrap());
        let coding = coding.map_or(String::new(), |one| format!("Content-Encoding: {one}\r\n"));
        let length = body.len();
        let head = format!("HTTP/1.1 200 OK\r\n{coding}Content-Length: {length}\r\n\r\n");
        (&stream).write_all(&[head.as_bytes(), &body].concat())?;
    }
    Ok(())
}

fn response(path: &str) -> (Option<&'static str>, Vec<u8>) {
    let packed = gzip(TEXT.as_bytes());
    match path {
        "/gzip" => (Some("gzip"), packed),
        "/br" => (Some("br"), bytes(BROTLI_HEX)),
        "/zstd" => (Some("zstd"), bytes(ZSTD_HEX)),
        "/deflate" => (Some("deflate"), deflated(true)),
        "/deflate-raw" => (Some("deflate"), deflated(false)),
        "/compress" => (Some("compress"), packed),
        "/html" => (Some("gzip"), b"<html>".to_vec()),
        "/cut" => (Some("gzip"), packed[..packed.len() - 9].to_vec()),
        "/longer" => (Some("gzip"), [&packed[..], b"<html>"].concat()),
        "/bomb" => (Some("gzip"), gzip(&vec![0; 64 << 20])),
        "/sse" => (Some("gzip"), gzip(b"data: one\n\ndata: two\n\ndata: [DONE]\n\n")),
        _ => (None, TEXT.as_bytes().to_vec()),
    }
}

fn run_plan(plan: &str) -> Outcome {
    let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
        std::fs::write(directory.join("plan.toml"), plan).expect("a plan");
        std::fs::write(directory.join("expected.json"), TEXT).expect("a body");
        command.args(["run", "plan.toml", "--json", "result.json"]).current_dir(directory);
    });
    run.finish()
}

fn capture(server: &Server, path: &str, more: &str) -> String {
    let address = server.address;
    format!(
        "url = 'http://{address}/'\nusers = 1\nrequests = 3\n{more}\n[[journey]]\nname = 'j'\n\
         [[journey.step]]\npath = '{path}'\ncapture = {{ token = 'json:$.token' }}\n"
    )
}

const ALL: &str = "Accept-Encoding: gzip, deflate, br, zstd";

#[test]
fn captures_and_expectations_look_into_each_coding() {
    let server = Server::start();
    for path in ["/gzip", "/deflate", "/deflate-raw", "/br", "/zstd", "/plain"] {
        let outcome = run_plan(&capture(&server, path, "compressed = true"));
        assert_eq!(outcome.document().errors(), [].into(), "{path}");
        assert_eq!(outcome.document().ledger("ok"), 3, "{path}");
        assert_eq!(server.take(), [ALL]);
        let address = server.address;
        for expected in ["expect-body = 'expected.json'", "expect-body-bytes = 75"] {
            let plan = format!(
                "url = 'http://{address}{path}'\nrequests = 3\ncompressed = true\n{expected}\n"
            );
            let outcome = run_plan(&plan);
            assert_eq!(outcome.document().ledger("ok"), 3, "{path}: {expected}");
        }
    }
    server.take();
    // Who asks in a header of his own has asked.
    for more in ["compressed = true\n", ""] {
        let own = format!("{more}header = ['Accept-Encoding: gzip']");
        let document = run_plan(&capture(&server, "/gzip", &own)).document();
        assert_eq!(document.ledger("ok"), 3, "{more}");
        assert_eq!(document.count("/bytes/coded"), 3 * gzip(TEXT.as_bytes()).len() as u64);
        assert_eq!(document.count("/bytes/decoded"), 3 * TEXT.len() as u64);
        assert_eq!(server.take(), ["Accept-Encoding: gzip"], "never two");
    }
}

#[test]
fn bodies_are_decoded_over_http_2_too() {
    let target = Target::start(&[]);
    for version in ["h1", "h2"] {
        let plan = format!(
            "url = '{}'\nrequests = 3\n{version} = true\ncompressed = true\nexpect-body-bytes = 16384\n",
            target.url("/gzip")
        );
        let document = run_plan(&plan).document();
        assert_eq!(document.ledger("ok"), 3, "{version}");
        let [coded, decoded] =
            ["coded", "decoded"].map(|one| document.count(&format!("/bytes/{one}")));
        assert_eq!((coded, decoded), (document.count("/bytes/bodies"), 3 * 16384), "{version}");
    }
}

#[test]
fn what_cannot_be_decoded_has_a_name() {
    let server = Server::start();
    for (path, more, kind) in [
        ("/gzip", "", "coding-unasked"),
        ("/compress", "compressed = true", "coding-unasked"),
        ("/html", "compressed = true", "coding-damaged"),
        ("/cut", "compressed = true", "coding-truncated"),
        ("/longer", "compressed = true", "coding-trailing"),
        ("/bomb", "compressed = true", "coding-limit"),
    ] {
        let outcome = run_plan(&capture(&server, path, more));
        assert_eq!(outcome.document().errors(), [(kind.to_owned(), 3)].into(), "{path}");
    }
    // The connection goes on, and without something that looks nothing is decoded.
    let url = format!("http://{}/bomb", server.address);
    let outcome = Candor::start_measuring(&["--compressed", "-n3", &url, "--progress", "off"]);
    assert_eq!(outcome.finish().document().ledger("ok"), 3);
}

#[test]
fn events_of_a_compressed_stream_are_read() {
    let server = Server::start();
    let url = format!("http://{}/sse", server.address);
    let asked = ["--compressed", "--stream", "sse", "--stream-end", "[DONE]"];
    let run = [&asked[..], &["-n3", &url, "--progress", "off"]].concat();
    assert_eq!(Candor::start_measuring(&run).finish().document().ledger("ok"), 3);
    assert_eq!(server.take(), ["Accept-Encoding: gzip, deflate, br"], "zstd comes late");
}

#[test]
fn a_trial_shows_the_decoded_body() {
    let server = Server::start();
    let url = format!("http://{}/br", server.address);
    let shown = candor(&["try", "--compressed", &url]);
    assert!(shown.stdout.contains("\"token\""), "{}", shown.stdout);
}
