//! The commands of README.md and docs/ run as they stand, each page's on a machine of its own: a network in which the
//! servers listen that the page talks to (`world.sh`), a folder with the files that it names, `candor` in the PATH. Only
//! durations are shortened, unless CANDOR_DOCUMENTED=full. What a page shows of an output, the output has.
//!
//! `cli/src/shown.rs` parses all command lines, those that are left out here too.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use crate::common::{CANDOR, is_root};
use crate::links::{self, root};

/// Commands that are not run: their page, what they contain, why.
const LEFT_OUT: [(&str, &str, &str); 33] = [
    ("README.md", "cargo install", "a build"),
    ("README.md", "candor serve", "its port is taken; docs/target.md has the same"),
    ("README.md", "verify", "has a test of its own"),
    ("docs/clients.md", "suites/http-clients.toml ", "a suite of an hour"),
    ("docs/clients.md", "suites/http-clients-quick.toml", "needs Erlang"),
    ("docs/credentials.md", "aws-sigv4:", "needs a server that checks it; signed:: has one"),
    ("docs/credentials.md", "file:", "a file of a user"),
    ("docs/credentials.md", "oauth2:", "needs a token server; auth:: has one"),
    ("docs/erlang.md", "", "needs Erlang"),
    ("docs/fleet.md", "fleet add", "needs an authority; fleet:: has it"),
    ("docs/fleet.md", "fleet status", "needs a broker; fleet:: has it"),
    ("docs/fleet.md", "--fleet", "needs a broker; fleet:: has it"),
    ("docs/grpc.md", "--protocol connect", "needs a server of Connect; grpc:: has one"),
    ("docs/how-it-measures.md", "verify", "has a test of its own"),
    ("docs/import.md", "zcat", "a log that is not here"),
    ("docs/install.md", "cargo ", "a build"),
    ("docs/http3.md", "--alt-svc", "needs an origin that names one; alt_svc:: has some"),
    ("docs/install.md", "0.1.0", "needs the packages of make dist"),
    ("docs/install.md", "candor-install.sh", "needs the packages of make dist; tests/dist.rs"),
    ("docs/install.md", "man -l", "needs man"),
    ("docs/managed-targets.md", "my.conf", "a file of a user"),
    ("docs/managed-targets.md", "perf record", "needs perf"),
    ("docs/metrics.md", "--out influx", "needs a server of it; metrics:: has one"),
    ("docs/metrics.md", "--out otlp", "needs a receiver of it; metrics:: has one"),
    ("docs/metrics.md", "--out remote-write", "needs a receiver of it; metrics:: has one"),
    ("docs/report.md", " URL", "has a placeholder"),
    ("docs/requests.md", " URL", "has a placeholder"),
    ("docs/results/", "", "suites of hours, with Erlang"),
    ("docs/suites.md", "candor bench suites/main.toml  ", "a suite of an hour"),
    ("docs/suites.md", "candor board suites/httparena.toml  ", "a board of half an hour"),
    ("docs/targets.md", "", "hosts that are examples"),
    ("docs/websocket.md", "--protocol", "needs servers of these; websocket:: has them"),
    ("docs/websocket.md", "--stream messages", "needs a server that does so; websocket:: has one"),
];

/// Commands that may end with another code than 0: a gate that is short of samples, a plan that would break, or captures
/// what the server here does not have, a sweep below a peak that a short search cannot tell.
const CODES: [(&str, &[i32]); 8] = [
    ("csv-steps", &[1]),
    ("--expect", &[0, 3, 6]),
    ("candor try plan.toml", &[3]),
    ("candor peak", &[0, 6]),
    ("candor ci", &[0, 3, 6]),
    ("candor compare", &[0, 6]),
    ("candor sweep", &[0, 2, 4, 6]),
    ("--fail-if-slower", &[0, 3, 6]),
];

/// A block of a page as a file of its folder: the page, its language, which of these blocks, the file.
const BLOCKS: [(&str, &str, usize, &str); 2] =
    [("docs/journeys.md", "toml", 0, "plan.toml"), ("docs/scripts.md", "lua", 0, "load.lua")];

/// What was there before a page's commands: a result, a comparison.
const BEFORE: [(&str, &str); 3] = [
    (
        "docs/ci.md",
        "candor compare -d 100ms --warm-up 0 --rounds 6 --json comparison.json -R 200 http://localhost:8080/ http://localhost:8081/",
    ),
    ("docs/pages.md", "candor -d 200ms -R 200 --json result.json http://localhost:8080/"),
    (
        "docs/compare.md",
        "mkdir -p results/monday results/tuesday; for at in 1 2 3 4 5 6; do for day in monday tuesday; do \
         candor -d 100ms -R 200 --json results/$day/$at.json http://localhost:8080/; done; done",
    ),
];

/// Pages with HTTP/2 in clear text, which nginx before 1.25 does not speak.
const H2C: [&str; 2] = ["docs/http2.md", "docs/coming-from-h2load.md"];

/// Pages that start the server themselves.
const OWN: [&str; 2] = ["docs/how-it-measures.md", "docs/target.md"];

/// The pages that are for users, in order.
fn pages() -> Vec<(String, String)> {
    let all = links::pages().into_iter();
    let named = all.map(|(path, text)| (path.to_str().unwrap().to_owned(), text));
    named.filter(|(name, _)| name == "README.md" || name.starts_with("docs/")).collect()
}

/// The code blocks of a page: language and text.
fn blocks(page: &str) -> Vec<(String, String)> {
    let (mut blocks, mut in_block) = (Vec::new(), false);
    for event in Parser::new(page) {
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.into_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                blocks.push((language, String::new()));
                in_block = true;
            }
            Event::End(TagEnd::CodeBlock) => in_block = false,
            Event::Text(text) if in_block => blocks.last_mut().unwrap().1.push_str(&text),
            _ => {}
        }
    }
    blocks
}

/// A command of a page, and the output that it shows.
struct Step {
    line: String,
    shown: Vec<String>,
}

/// The commands that call candor, and those that make their folders, continued lines joined: all lines of a block in sh, and lines with a prompt.
fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for (language, text) in blocks(page) {
        let has_prompts = text.lines().any(|line| line.starts_with("$ "));
        if !has_prompts && language != "sh" {
            continue;
        }
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let mut line = match line.strip_prefix("$ ") {
                Some(line) => line.to_owned(),
                None if has_prompts => {
                    steps.last_mut().unwrap().shown.push(line.to_owned());
                    continue;
                }
                None => line.to_owned(),
            };
            while line.ends_with('\\') {
                line.pop();
                line.push_str(lines.next().unwrap_or_default().trim_start());
            }
            steps.push(Step { line, shown: Vec::new() });
        }
    }
    let code = |step: &Step| step.line.split(" #").next().unwrap().to_owned();
    steps.retain(|step| code(step).contains("candor") || step.line.starts_with("mkdir "));
    steps
}

/// The command with short durations: those that it has, and one for a run that has none.
fn shortened(line: &str) -> String {
    let code = line.split(" #").next().unwrap();
    let is_duration = |word: &str| {
        let digits = word.trim_end_matches(['s', 'm']);
        !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())
    };
    let mut words: Vec<String> = code.split(' ').map(str::to_owned).collect();
    let mut is_bounded = false;
    for at in 0..words.len() {
        let short = match words[at].as_str() {
            "-d" | "--duration" if words.get(at + 1).is_some_and(|word| is_duration(word)) => {
                words[at + 1] = "400ms".to_owned();
                is_bounded = true;
                continue;
            }
            "--warm-up" => {
                words[at + 1] = "100ms".to_owned();
                continue;
            }
            "-n" | "--once" => {
                is_bounded = true;
                continue;
            }
            // wrk and h2load take whole seconds.
            word if word.strip_prefix("-d").is_some_and(is_duration) => "-d1s",
            word if word.strip_prefix("-D").is_some_and(is_duration) => "-D1",
            word if word.starts_with("--warm-up-time=") => "--warm-up-time=1",
            _ => continue,
        };
        words[at] = short.to_owned();
    }
    let Some(at) = words.iter().position(|word| word == "candor") else { return words.join(" ") };
    let command = words.get(at + 1).map_or("", String::as_str);
    let short: &[&str] = match command {
        "bench" if code.contains("--list") => &[],
        "bench" if code.contains("--rounds") => &["--warm-up", "100ms"],
        "bench" => &["--rounds", "1", "-d", "200ms", "--warm-up", "100ms"],
        "serve" | "wrk" | "wrk2" | "h2load" | "ghz" | "report" | "history" | "import" | "man"
        | "completions" | "try" | "clients" | "verify" | "fleet" => &[],
        "peak" => &["-d", "100ms", "--most-time", "4s"],
        "sweep" => &["-d", "100ms"],
        "ci" if is_bounded => &["--warm-up", "0", "--rounds", "7"],
        "ci" => &["-d", "200ms", "--warm-up", "0", "--rounds", "7"],
        "compare" if code.contains("results/") => &[],
        "compare" => &["-d", "100ms", "--warm-up", "0"],
        _ if is_bounded => &[],
        _ => &["-d", "400ms"],
    };
    let is_named =
        ["run", "ws", "grpc", "peak", "sweep", "ci", "compare", "bench"].contains(&command);
    let after = at + 1 + usize::from(is_named);
    words.splice(after..after, short.iter().map(|word| (*word).to_owned()));
    words.join(" ")
}

/// What a line of output is about, whatever its figures are: its words up to the first digit, bar or run of blanks.
fn form(line: &str) -> String {
    let line = line.trim();
    let end = line.find(|c: char| c.is_ascii_digit() || ('▁'..='█').contains(&c));
    let line = &line[..end.unwrap_or(line.len())];
    line.split("  ").next().unwrap().trim().to_owned()
}

/// Whether a line of output is there in a short run too: no finding, no chart over time, no headline.
fn is_always_there(line: &str) -> bool {
    let word = line.split_whitespace().next().unwrap_or_default();
    let is_headline =
        word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase()) && !line.contains("://");
    !line.starts_with("          ")
        && !["note", "warning", "invalid", "Over", "Trust", "Objective"].contains(&word)
        && !line.contains(['▁', '█', '▄'])
        && !is_headline
}

/// The folder of a page: the sources' examples and suites, the files that pages name, servers that are candor.
fn furnish(folder: &Path, page: &str, text: &str) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/documented");
    for name in ["examples", "suites", "crates", "docs"] {
        symlink(root().join(name), folder.join(name)).unwrap();
    }
    for entry in fs::read_dir(here.join("files")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
    }
    let imports = root().join("crates/import/tests/fixtures");
    for (from, to) in [
        ("shop.har", "shop.har"),
        ("shop.yaml", "petstore.yaml"),
        ("shop.postman.json", "shop.postman_collection.json"),
        ("typed.curl", "command.txt"),
    ] {
        fs::copy(imports.join(from), folder.join(to)).unwrap();
    }
    let server = folder.join("server");
    for name in ["server-1", "server-2", "server-1.2", "server-1.3"] {
        fs::copy(&server, folder.join(name)).unwrap();
    }
    for name in ["server", "server-1", "server-2", "server-1.2", "server-1.3"] {
        fs::set_permissions(folder.join(name), Permissions::from_mode(0o755)).unwrap();
    }
    fs::write(folder.join("large.bin"), vec![b'x'; 300_000]).unwrap();
    fs::write(folder.join("photo.png"), b"\x89PNG\r\n").unwrap();
    for (of, language, at, file) in BLOCKS {
        if of == page {
            let blocks = blocks(text);
            let block = blocks.iter().filter(|(of, _)| of == language).nth(at);
            fs::write(folder.join(file), &block.expect("the block").1).unwrap();
        }
    }
    fs::create_dir_all(folder.join("bin")).unwrap();
    symlink(CANDOR, folder.join("bin/candor")).unwrap();
}

/// Runs the commands of a page: what is wrong.
fn faults_of(page: &str, text: &str) -> Vec<String> {
    let is_full = std::env::var_os("CANDOR_DOCUMENTED").is_some_and(|value| value == "full");
    let is_left_out = |step: &Step| {
        LEFT_OUT.iter().any(|(of, part, _)| page.starts_with(of) && step.line.contains(part))
    };
    let steps: Vec<Step> = steps(text).into_iter().filter(|step| !is_left_out(step)).collect();
    if steps.is_empty() {
        return Vec::new();
    }
    let folder = tempfile::tempdir().unwrap();
    furnish(folder.path(), page, text);
    let made = folder.path().join(".made");
    fs::create_dir(&made).unwrap();
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/documented");
    for name in ["nginx.conf", "grpc.py"] {
        fs::copy(here.join(name), made.join(name)).unwrap();
    }
    fs::copy(here.join("../peers/aioquic_server.py"), made.join("quic.py")).unwrap();
    let certificate = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    fs::write(made.join("cert.pem"), certificate.cert.pem()).unwrap();
    fs::write(made.join("key.pem"), certificate.signing_key.serialize_pem()).unwrap();
    fs::write(folder.path().join("ca.pem"), certificate.cert.pem()).unwrap();
    for (has, name) in [
        (H2C.contains(&page), "h2c"),
        (OWN.contains(&page), "own"),
        (text.contains(":50051"), "grpc"),
        (page == "docs/http3.md", "quic"),
    ] {
        if has {
            fs::write(made.join(name), "").unwrap();
        }
    }
    let before: Vec<&str> = BEFORE.iter().filter(|one| one.0 == page).map(|one| one.1).collect();
    fs::write(made.join("before"), before.join("\n")).unwrap();
    for (at, step) in steps.iter().enumerate() {
        let mut line = if is_full { step.line.clone() } else { shortened(&step.line) };
        if line.contains("candor serve") && !line.contains("--target") {
            // In a terminal of its own, where the one before has ended.
            let serve = line.split('&').next().unwrap();
            line = format!(
                "[ ! -e .made/served ] || kill $(cat .made/served); sleep 0.2\n\
                 {serve} &\necho $! >.made/served; sleep 0.4"
            );
        }
        fs::write(made.join(format!("{at:03}.step")), line).unwrap();
    }
    let home = folder.path().join("bin");
    let status = Command::new("unshare")
        .args(["--net", "--pid", "--fork", "--kill-child", "--mount-proc", "bash"])
        .arg(here.join("world.sh"))
        .arg(&made)
        .arg(if is_full { "600" } else { "60" })
        .current_dir(folder.path())
        .env("PATH", format!("{}:{}", home.display(), std::env::var("PATH").unwrap()))
        .env("PYTHONPATH", root().join("target/python"))
        .env("HOME", folder.path())
        .env("XDG_STATE_HOME", folder.path().join(".state"))
        .env("SSL_CERT_FILE", made.join("cert.pem"))
        .env("TOKEN", "0b5c")
        .status()
        .unwrap();
    if !status.success() {
        return vec![format!("{page}: its servers do not start")];
    }
    let mut faults = Vec::new();
    for (at, Step { line, shown }) in steps.iter().enumerate() {
        let read = |end: &str| {
            fs::read_to_string(made.join(format!("{at:03}.step{end}"))).unwrap_or_default()
        };
        let (code, out, err) = (read(".code"), read(".out"), read(".err"));
        let code: i32 = code.trim().parse().expect("a code");
        let codes =
            CODES.iter().find(|(part, _)| line.contains(part)).map_or(&[0][..], |one| one.1);
        if !codes.contains(&code) {
            faults.push(format!("{page}: {line}: {} ended with {code}: {out}{err}", read("")));
        }
        let said: Vec<String> = format!("{out}{err}").lines().map(form).collect();
        let shown = shown.iter().filter(|line| is_full || is_always_there(line));
        let missing: Vec<_> =
            shown.filter(|line| !said.contains(&form(line))).map(String::as_str).collect();
        if !missing.is_empty() {
            let missing = missing.join("\n");
            faults.push(format!("{page}: {line}: its output has no\n{missing}\nbut\n{out}{err}"));
        }
    }
    faults
}

/// What is listed above is on its page; else it hides what is written there later.
#[test]
fn exceptions_are_on_their_pages() {
    let lines: Vec<(String, String)> = pages()
        .into_iter()
        .flat_map(|(page, text)| steps(&text).into_iter().map(move |one| (page.clone(), one.line)))
        .collect();
    let has = |page: &str, part: &str| {
        lines.iter().any(|(of, line)| of.starts_with(page) && line.contains(part))
    };
    LEFT_OUT.iter().for_each(|(page, part, _)| assert!(has(page, part), "{page}: {part}"));
    CODES.iter().for_each(|(part, _)| assert!(has("", part), "{part}"));
    let pages = BEFORE.iter().map(|one| one.0).chain(H2C).chain(OWN);
    pages.for_each(|page| assert!(has(page, ""), "{page}"));
}

#[test]
fn commands_of_the_pages_run() {
    if !is_root("a network of its own") {
        return;
    }
    let pages = Mutex::new(pages().into_iter());
    let only = std::env::var("CANDOR_PAGE").unwrap_or_default();
    let faults = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some((page, text)) = pages.lock().unwrap().next() else { break };
                    if page.contains(&only) {
                        // Before the lock, so that the pages run side by side.
                        let found = faults_of(&page, &text);
                        faults.lock().unwrap().extend(found);
                    }
                }
            });
        }
    });
    let faults = faults.into_inner().unwrap();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n\n"));
}
