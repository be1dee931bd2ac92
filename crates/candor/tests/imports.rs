//! `candor import`: every format from a file, an argument and the standard input; what it refuses; its memory.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{CANDOR, Candor, Outcome, Target, candor};
use rustix::process::Signal;

/// The inputs of crate import's own tests, and their plans.
fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/fixtures").join(name)
}

/// Runs this line in a shell; `$0` is candor.
fn shell(line: &str, prepare: impl FnOnce(&Path)) -> Outcome {
    let run = Candor::start_as(Command::new("sh"), |directory, command| {
        prepare(directory);
        command.args(["-c", line, CANDOR]).current_dir(directory);
    });
    run.finish()
}

#[test]
fn every_format_becomes_its_plan() {
    for (format, input, golden) in [
        ("curl", "typed.curl", "typed.toml"),
        ("har", "shop.har", "shop.toml"),
        ("openapi", "shop.yaml", "openapi.toml"),
        ("openapi", "swagger.json", "swagger.toml"),
        ("postman", "shop.postman.json", "postman.toml"),
        ("access-log", "combined.log", "log.toml"),
    ] {
        let path = fixture(input);
        let path = path.to_str().unwrap();
        let most = if format == "access-log" { "8" } else { "200" };
        let missing = match format {
            "curl" => {
                "# Missing files, which a run would not find from the folder of the plan: photo.png\n"
            }
            _ => "",
        };
        let plan =
            missing.to_owned() + &fs::read_to_string(fixture("golden").join(golden)).unwrap();
        let printed = candor(&["import", format, path, "--max-requests", most]);
        assert_eq!((printed.code(), printed.stdout.as_str()), (0, plan.as_str()), "{input}");
        let lines: Vec<&str> = printed.stderr.lines().collect();
        assert!(!lines.is_empty() && lines.iter().all(|one| one.starts_with("candor import: ")));

        let written = candor(&["import", format, path, "--max-requests", most, "-o", "p.toml"]);
        assert_eq!((written.code(), written.stdout.as_str()), (0, ""), "{}", written.stderr);
        assert!(written.stderr.ends_with(": candor try p.toml\n"), "{}", written.stderr);
        assert_eq!(
            (written.file("p.toml"), written.files()),
            (plan.clone(), vec!["p.toml".to_owned()])
        );

        let line = format!("\"$0\" import {format} - --max-requests {most} < '{path}'");
        assert_eq!(shell(&line, |_| ()).stdout, plan, "{input} on the standard input");
    }
}

#[test]
fn plans_of_single_requests_run_unchanged() {
    let target = Target::start(&[]);
    let run = |import: &str, files: &[(&str, String)]| {
        let line = format!(
            "\"$0\" import {import} -o plan.toml && \"$0\" run plan.toml --requests 20 --expect 'errors == 0' --json result.json"
        );
        let outcome = shell(&line, |directory| {
            files.iter().for_each(|(name, text)| fs::write(directory.join(name), text).unwrap());
        });
        assert_eq!(outcome.code(), 0, "{import}: {}{}", outcome.stdout, outcome.stderr);
        assert_eq!(outcome.document().at("/ledger/ok"), &20, "{import}");
    };
    run(&format!("curl 'curl {} --data-raw a=b'", target.url("/echo")), &[]);
    let log = |path: &str| format!("h - - [x] \"GET {path} HTTP/1.1\" 200 1\n");
    let log = log("/json") + &log("/json") + &log("/small");
    run(&format!("access-log log --url {}", target.url("/")), &[("log", log)]);
    let paths = "{\"/json\":{\"get\":{}},\"/echo\":{\"post\":{\"requestBody\":{\"content\":{\"application/json\":{\"example\":{\"a\":[1,null]}}}}}}}";
    let description = format!(
        "{{\"openapi\":\"3.1.0\",\"servers\":[{{\"url\":\"{}\"}}],\"paths\":{paths}}}",
        target.url("/")
    );
    run("openapi api.json", &[("api.json", description)]);
}

#[test]
fn forms_send_their_files_and_name_those_that_are_not_there() {
    let target = Target::start(&[]);
    let url = target.url("/echo");
    let right = "--candor-7MA4YWxkTrZu0gW\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1;2\r\n\
                 --candor-7MA4YWxkTrZu0gW\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x.png\"\r\n\
                 Content-Type: image/png\r\n\r\n\0${seq}\r\n--candor-7MA4YWxkTrZu0gW--\r\n";
    let prepare = |directory: &Path| {
        fs::create_dir(directory.join("sub")).unwrap();
        fs::write(directory.join("sub/photo"), "\0${seq}").unwrap();
        fs::write(directory.join("right"), right).unwrap();
    };
    let checked = "--expect-body right -n 5 --expect 'errors == 0' -q --json result.json";
    let fields = "-F 'a=\"1;2\"' -F 'f=@sub/photo;filename=x.png'";
    for line in [
        format!("\"$0\" {fields} {checked} {url}"),
        format!(
            "\"$0\" import curl \"curl {url} -F 'a=\\\"1;2\\\"' -F 'f=@sub/photo;filename=x.png'\" -o p.toml && \"$0\" run p.toml {checked}"
        ),
    ] {
        let outcome = shell(&line, prepare);
        assert_eq!(outcome.code(), 0, "{line}: {}{}", outcome.stdout, outcome.stderr);
        assert_eq!(outcome.document().at("/ledger/ok"), &5, "{line}");
    }
    let line = format!(
        "\"$0\" import curl 'curl {url} -F f=@photo' -o sub/p.toml; \"$0\" import curl 'curl {url} -F f=@photo -T gone' -o p.toml; cat p.toml; \"$0\" run p.toml"
    );
    let outcome = shell(&line, prepare);
    assert_eq!(outcome.code(), 2, "{}", outcome.stderr);
    let noted: Vec<_> =
        outcome.stderr.lines().filter(|line| line.contains("Missing files")).collect();
    let note = "Missing files, which a run would not find from the folder of the plan: gone";
    assert_eq!(noted, [format!("candor import: {note}")]);
    assert!(outcome.stdout.starts_with(&format!("# {note}\n")), "{}", outcome.stdout);
    let said = outcome.stderr.lines().last().unwrap();
    assert!(said.contains("--body-file: cannot read gone: No such file"), "{said}");
}

#[test]
fn options_change_the_plan() {
    let har = fixture("shop.har");
    let har = har.to_str().unwrap();
    let other =
        ["import", "har", har, "--host", "metrics.example.com", "--url", "http://10.0.0.1:8080/"];
    let plan = fs::read_to_string(fixture("golden/metrics.toml")).unwrap();
    assert_eq!(candor(&other).stdout, plan);
    let few = candor(&["import", "har", har, "--static-files", "--max-requests", "3"]);
    assert_eq!(few.stdout, fs::read_to_string(fixture("golden/files.toml")).unwrap());
}

#[test]
fn what_is_wrong_is_said_with_its_place_and_a_remedy() {
    let har = fixture("shop.har");
    let har = har.to_str().unwrap();
    let table: [(&[&str], i32, &[&str]); 12] = [
        (&["har", "none.har"], 2, &["cannot read none.har: No such file"]),
        (&["har", "."], 2, &["cannot read .: Is a directory"]),
        (
            &["har", "/dev/null"],
            1,
            &["cannot import /dev/null: HAR file: it is empty; name a file"],
        ),
        (
            &["openapi", "/dev/zero"],
            1,
            &["cannot import /dev/zero: OpenAPI document: it is longer than 64 MiB; import a part"],
        ),
        (
            &["openapi", "-"],
            1,
            &["cannot import the standard input: OpenAPI document: it is empty"],
        ),
        (
            &["curl", "curl 'http://h/"],
            1,
            &["cannot import the command: curl command: line 1, column 6"],
        ),
        (
            &["har", har, "--host", "other"],
            1,
            &["no request to other", "localhost:3100 (", "--host"],
        ),
        (&["openapi", har, "--host", "h"], 2, &["candor import has no --host: that is for har"]),
        (&["openapi", har, "--static-files"], 2, &["--static-files", "that is for har"]),
        (&["har", har, "--url", "http://me:secret@h/"], 2, &["user or a password"]),
        (&["har", har, "-o", "none/plan.toml"], 2, &["cannot write none/plan.toml"]),
        (&["raml", "api.raml"], 2, &["curl, har, openapi, postman, access-log"]),
    ];
    for (arguments, code, words) in table {
        let outcome = candor(&[&["import"], arguments].concat());
        outcome.assert_refused(code, words);
        assert!(
            outcome.stdout.is_empty() && !outcome.stderr.contains("secret"),
            "{}",
            outcome.stderr
        );
        assert!(outcome.files().is_empty(), "{:?}", outcome.files());
    }
    let files = r#"{"log":{"entries":[{"request":{"method":"GET","url":"http://h/a.css"}}]}}"#;
    let outcome =
        shell("\"$0\" import har a.har", |at| fs::write(at.join("a.har"), files).unwrap());
    outcome
        .assert_refused(1, &["images, styles, scripts and fonts; keep them with --static-files"]);
}

/// Writes the beginning, the piece until the file has this many bytes, and the end.
fn large(path: &Path, begin: &str, piece: &str, end: &str, bytes: usize) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    file.write_all(begin.as_bytes()).unwrap();
    for _ in 0..bytes.div_ceil(piece.len()) {
        file.write_all(piece.as_bytes()).unwrap();
    }
    file.write_all(end.as_bytes()).unwrap();
}

fn import_in(format: &str, prepare: impl FnOnce(&Path)) -> Outcome {
    let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
        prepare(&directory.join("input"));
        command.args(["import", format, "input", "-o", "plan.toml"]).current_dir(directory);
    });
    run.finish()
}

#[test]
fn a_recording_of_200_mb_takes_little_more_memory_than_that() {
    let body = r#"<p class=\"x\">\n"#.repeat(20_000);
    let entry = |response: &str| {
        format!(
            r#"{{"startedDateTime":"2024-01-01T00:00:00Z","time":1,"request":{{"method":"GET","url":"http://h/a","headers":[]}},"response":{{"status":200,"headers":[],"content":{{"mimeType":"text/html","text":"{response}"}}}}}}"#
        )
    };
    let (begin, end) = (r#"{"log":{"entries":["#, format!("{}]}}}}", entry("")));
    let outcome = import_in("har", |path| {
        large(path, begin, &(entry(&body) + ","), &end, 200_000_000);
    });
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    assert!(outcome.file("plan.toml").contains("path = \"/a\""));
    let peak_mib = outcome.peak_kib / 1024;
    assert!((190..320).contains(&peak_mib), "{peak_mib} MiB");
}

#[test]
fn a_log_takes_no_memory_however_long_it_is() {
    let line = "192.0.2.1 - - [01/Jan/2024:00:00:00 +0000] \"GET /a?b=c HTTP/1.1\" 200 12 \"-\" \"agent\"\n";
    let outcome = import_in("access-log", |path| large(path, "", line, "", 100_000_000));
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    assert!(outcome.file("plan.toml").contains("path = \"/a?b=c\""));
    assert!(outcome.peak_kib < 40 * 1024, "{} KiB", outcome.peak_kib);
}

#[test]
fn a_signal_ends_it_at_once_and_nothing_is_written() {
    let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
        // Nobody writes to it, so that it is waited for.
        assert!(Command::new("mkfifo").arg(directory.join("pipe")).status().unwrap().success());
        command.args(["import", "access-log", "pipe", "-o", "plan.toml"]).current_dir(directory);
    });
    std::thread::sleep(std::time::Duration::from_millis(300));
    run.signal(Signal::INT);
    let outcome = run.finish();
    assert_eq!((outcome.code(), outcome.files()), (130, vec!["pipe".to_owned()]));
}
