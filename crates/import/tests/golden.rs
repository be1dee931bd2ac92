//! Plans of whole inputs, compared with files. The recordings are Chromium's, of a shop with a session,
//! a form with a CSRF token and an interface with a bearer token; the other inputs are written by hand.
//!
//! After a change that is meant: `CANDOR_RENEW=1 cargo test -p candor-import`, and read the difference.

use std::fs;
use std::path::Path;

use candor_import::{ImportError, Imported, Options};

fn fixture(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)).unwrap()
}

fn is_as_recorded(name: &str, imported: Result<Imported, ImportError>) -> Imported {
    let imported = imported.unwrap();
    crate::common::check(&imported.plan);
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/golden").join(name);
    if std::env::var_os("CANDOR_RENEW").is_some() {
        fs::write(&golden, &imported.plan).unwrap();
    }
    let expected = fs::read_to_string(&golden).unwrap_or_default();
    assert_eq!(imported.plan, expected, "{name}: CANDOR_RENEW=1 writes the new plan");
    // Whoever writes the plan into a file sees its comments too.
    let notes = imported.notes.join("\n");
    let comments = imported.plan.lines().filter_map(|line| line.trim_start().strip_prefix("# "));
    let kinds = ["guess: ", "left out: "];
    for one in comments.filter(|one| kinds.iter().any(|kind| one.starts_with(kind))) {
        // A long one goes on in the next line.
        let begins: String = one.chars().take(60).collect();
        assert!(
            notes.contains(&begins) || notes.contains("beside the requests of the plan"),
            "{one}: {notes}"
        );
    }
    imported
}

fn curl(name: &str) -> Result<Imported, ImportError> {
    candor_import::curl(&fixture(name), &Options::default())
}

#[test]
fn curl_as_chromium_copies_it() {
    let imported = is_as_recorded("chrome.toml", curl("chrome.curl"));
    assert!(!imported.plan.contains("correct"), "a password stays out");
}

#[test]
fn curl_as_firefox_copies_it() {
    is_as_recorded("firefox.toml", curl("firefox.curl"));
}

#[test]
fn curl_as_typed() {
    is_as_recorded("typed.toml", curl("typed.curl"));
}

#[test]
fn recording_of_a_shop() {
    let bytes = fixture("shop.har");
    let imported = is_as_recorded("shop.toml", candor_import::har(&bytes, &Options::default()));
    assert!(!imported.plan.contains("correct horse") && !imported.plan.contains("tok_"));
    assert!(imported.notes.iter().any(|note| note.contains("metrics.example.com (2)")));
}

#[test]
fn recording_as_the_developer_tools_write_it() {
    let bytes = fixture("devtools.har");
    is_as_recorded("devtools.toml", candor_import::har(&bytes, &Options::default()));
}

#[test]
fn recording_for_another_server_and_host() {
    let bytes = fixture("shop.har");
    let options = Options {
        url: Some("http://10.0.0.1:8080/".to_owned()),
        host: Some("metrics.example.com".to_owned()),
        ..Options::default()
    };
    is_as_recorded("metrics.toml", candor_import::har(&bytes, &options));
    let options = Options { static_files: true, max_requests: Some(3), ..Options::default() };
    is_as_recorded("files.toml", candor_import::har(&bytes, &options));
}

#[test]
fn openapi_3_in_yaml() {
    is_as_recorded(
        "openapi.toml",
        candor_import::openapi(&fixture("shop.yaml"), &Options::default()),
    );
}

#[test]
fn swagger_2_in_json() {
    is_as_recorded(
        "swagger.toml",
        candor_import::openapi(&fixture("swagger.json"), &Options::default()),
    );
}

#[test]
fn collection_of_postman() {
    let bytes = fixture("shop.postman.json");
    let imported =
        is_as_recorded("postman.toml", candor_import::postman(&bytes, &Options::default()));
    assert!(!imported.plan.contains("s3cr3t") && !imported.plan.contains("correct"));
}

#[test]
fn log_of_a_server() {
    let options = Options { max_requests: Some(8), ..Options::default() };
    let bytes = fixture("combined.log");
    let whole = is_as_recorded("log.toml", candor_import::access_log(&bytes, &options));
    // Cut anywhere, it is the same log.
    for size in [1, 7, 100] {
        let mut log = candor_import::AccessLog::default();
        bytes.chunks(size).for_each(|piece| log.feed(piece));
        assert_eq!(log.finish(&options), Ok(whole.clone()));
    }
}
