//! For any request, the command for curl that makes it is imported to this request: what the plan is compiled to has its
//! bytes. A secret in it is nowhere in the plan, and with the variables set the bytes are the same.

use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command as Program;

use candor_import::{Options, curl};
use candor_plan::journey::Known;
use candor_plan::template::{Names, Piece, Template};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::common::command::{Command, Secret, Sent, command};

/// The only file that there is, and the variables that a user sets.
struct Machine<'c>(&'c Command);

impl candor_plan::ReadFile for Machine<'_> {
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        let is_it = path.ends_with("FILE");
        self.0.file.clone().filter(|_| is_it).ok_or(Error::from(ErrorKind::NotFound))
    }

    fn variable(&self, name: &str) -> Option<String> {
        let is_proxy = name.to_ascii_uppercase().ends_with("_PROXY");
        (!is_proxy).then(|| self.0.secret.variable(name).to_owned())
    }
}

/// The bytes of a plan's only request.
fn sent(plan: &str, files: &dyn candor_plan::ReadFile) -> Sent {
    let options = candor_plan::Options::from_toml("p.toml", plan);
    let built = options.and_then(|options| options.build(files));
    let (built, _) = built.unwrap_or_else(|error| panic!("{error}\n{plan}"));
    let names = Names { data: &[], environment: &built.environment, captured: Known::default() };
    let request = Template::compile(&built.work.requests()[0], 0, names).unwrap();
    let bytes = |pieces: &[Piece]| {
        let texts = pieces.iter().map(|piece| match piece {
            Piece::Text(text) => &text[..],
            other => panic!("{other:?}\n{plan}"),
        });
        texts.collect::<Vec<_>>().concat()
    };
    let fields = request.headers.iter();
    let header: Vec<_> =
        fields.map(|(name, value)| (name.to_ascii_lowercase(), bytes(value))).collect();
    let method = String::from_utf8(bytes(&request.method)).unwrap();
    with_boundary(Sent { method, target: bytes(&request.path), header, body: bytes(&request.body) })
}

/// A request whose boundary is `BOUNDARY`, with its fields sorted.
fn with_boundary(mut sent: Sent) -> Sent {
    for (name, value) in &mut sent.header {
        let text = String::from_utf8_lossy(value).into_owned();
        if name == "content-type"
            && let Some((_, boundary)) = text.split_once("boundary=")
        {
            let mut body = Vec::new();
            let mut rest = &sent.body[..];
            while let Some(at) =
                rest.windows(boundary.len()).position(|part| part == boundary.as_bytes())
            {
                body.extend_from_slice(&rest[..at]);
                body.extend_from_slice(b"BOUNDARY");
                rest = &rest[at + boundary.len()..];
            }
            sent.body = [&body, rest].concat();
            *value = text.replace(boundary, "BOUNDARY").into_bytes();
        }
    }
    sent.header.sort();
    sent
}

/// The texts of a plan's values and names, without the marks of TOML.
fn texts(value: &toml::Value, all: &mut Vec<String>) {
    match value {
        toml::Value::String(text) => all.push(text.clone()),
        toml::Value::Array(items) => items.iter().for_each(|one| texts(one, all)),
        toml::Value::Table(table) => table.iter().for_each(|(name, one)| {
            all.push(name.clone());
            texts(one, all);
        }),
        _ => {}
    }
}

/// Whether a value is a secret wherever it stands: it is no word.
fn is_token(secret: &Secret) -> bool {
    let text = &secret.value;
    text.len() >= 16
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_command_is_the_request_that_it_makes(command in command()) {
        let text = command.text.replace("SERVER", "h:81");
        let imported = curl(text.as_bytes(), &Options::default());
        let plan = imported.unwrap_or_else(|error| panic!("{error}\n{text}")).plan;
        let got = sent(&plan, &Machine(&command));
        prop_assert!(got == command.sent, "{text}\n{plan}\nsent{got:?}\nright{:?}", command.sent);
        let secret = &command.secret;
        if !secret.value.is_empty() {
            let mut all = Vec::new();
            texts(&toml::from_str(&plan).unwrap(), &mut all);
            all.push(plan.lines().filter(|line| line.starts_with('#')).collect());
            if is_token(secret) {
                prop_assert!(all.iter().all(|text| !text.contains(&secret.value)), "{} in {plan}", secret.value);
            }
            let is_basic = command.text.contains(" -u");
            prop_assert!(!is_basic || !plan.contains(&secret.basic), "{} in {plan}", secret.basic);
            prop_assert!(plan.contains("env:"), "{text}\n{plan}");
        }
    }
}

/// The next request of curl, without the fields that it adds by itself.
fn received(stream: TcpStream) -> std::io::Result<Sent> {
    let mut reader = BufReader::new(stream);
    let mut line = || {
        let mut line = Vec::new();
        reader.read_until(b'\n', &mut line)?;
        line.truncate(line.len() - 2);
        Ok::<_, Error>(line)
    };
    let first = line()?;
    let mut words = first.split(|byte| *byte == b' ');
    let method = String::from_utf8(words.next().unwrap().to_vec()).unwrap();
    let target = words.next().unwrap().to_vec();
    let (mut header, mut length) = (Vec::new(), 0);
    loop {
        let field = line()?;
        let Some(colon) = field.iter().position(|byte| *byte == b':') else { break };
        let name = String::from_utf8(field[..colon].to_ascii_lowercase()).unwrap();
        let value = field[colon + 1..].trim_ascii().to_vec();
        match (name.as_str(), &value[..]) {
            ("content-length", value) => {
                length = std::str::from_utf8(value).unwrap().parse().unwrap()
            }
            ("host" | "user-agent", _) | ("accept", b"*/*") => {}
            _ => header.push((name, value)),
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let response = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    reader.into_inner().write_all(response)?;
    Ok(with_boundary(Sent { method, target, header, body }))
}

/// With percent escapes in capital letters: curl 7 has some in small ones.
fn folded(mut sent: Sent) -> Sent {
    for at in 2..sent.body.len() {
        if sent.body[at - 2] == b'%' {
            sent.body[at - 1..=at].make_ascii_uppercase();
        }
    }
    sent
}

/// What curl sends for a command.
fn of_curl(text: &str, folder: &Path, listener: &TcpListener) -> Sent {
    let text = text.replacen("curl", "curl -q -s -m 20 --noproxy '*'", 1);
    let mut shell = Program::new("bash");
    let mut child = shell.args(["-c", &text]).current_dir(folder).spawn().unwrap();
    listener.set_nonblocking(true).unwrap();
    let stream = loop {
        match listener.accept() {
            Ok((stream, _)) => break stream,
            Err(_) if child.try_wait().unwrap().is_some() => panic!("no request: {text}"),
            Err(_) => std::thread::sleep(std::time::Duration::from_millis(2)),
        }
    };
    stream.set_nonblocking(false).unwrap();
    let got = received(stream).unwrap();
    assert!(child.wait().unwrap().success(), "{text}");
    got
}

#[test]
fn curl_sends_what_is_held_right_here() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = listener.local_addr().unwrap().to_string();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let mut runner = TestRunner::deterministic();
    for _ in 0..150 {
        let command = command().new_tree(&mut runner).unwrap().current();
        if let Some(file) = &command.file {
            std::fs::write(folder.join("FILE"), file).unwrap();
        }
        let text = command.text.replace("SERVER", &server);
        let got = of_curl(&text, folder, &listener);
        let is_pairs = text.contains("--data-urlencode");
        let (got, right) = match is_pairs {
            true => (folded(got), folded(command.sent)),
            false => (got, command.sent),
        };
        assert_eq!(got, right, "{text}");
    }
}

/// Files as they are, and a password.
struct Folder<'f>(&'f Path);

impl candor_plan::ReadFile for Folder<'_> {
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        std::fs::read(self.0.join(path))
    }

    fn variable(&self, name: &str) -> Option<String> {
        (name == "PASSWORD").then(|| "hunter22".to_owned())
    }
}

#[test]
fn forms_with_files_are_those_of_curl() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = listener.local_addr().unwrap().to_string();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("forms");
    std::fs::create_dir_all(&folder).unwrap();
    let bytes: Vec<u8> =
        (0..=255).chain(*b"$${x} ${seq}\r\n--candor-7MA4YWxkTrZu0gW\r\n$").collect();
    for name in ["photo.png", "data", "note.txt", "page.HTML", "a,b;c.json"] {
        std::fs::write(folder.join(name), &bytes).unwrap();
    }
    for fields in [
        "-F f=@photo.png",
        "-F f=@data -F g=@page.HTML -F h=@./note.txt",
        "-F 'f=@photo.png;type=image/webp;filename=x'",
        "-F 'f=@data;filename=\"a\\\"b;c.pdf\"' -F 'note= hi '",
        "-F 'f=@\"a,b;c.json\";headers=\"X-A: 1\";headers=X-B: 2'",
        "-F 'f=<note.txt' -F 'g=<photo.png' -F 'h=<data;type=a/b'",
        "-F 'f=@data;headers=Content-Type: a/b' -F 'g=v;headers=\"Content-Disposition: x\"'",
        "-F user=${seq} -F password=hunter22 -F f=@photo.png",
        "-F 'é=ü;type=text/plain; charset=utf-8' -F 'f=@photo.png;filename=ü\"\".png'",
        "-F f=@data -H 'Content-Type: multipart/form-data; charset=utf-8'",
        "-X PUT -F 'f=@-' <<< hello",
        "-F 'f=@-;type=text/plain' -F 'g=@data' <<< hello",
    ] {
        let text = format!("curl http://{server}/upload {}", fields.replace("${seq}", "'${seq}'"));
        let right = of_curl(&text, &folder, &listener);
        let plan = curl(text.as_bytes(), &Options::default()).unwrap().plan;
        let got = sent(&plan, &Folder(&folder));
        assert!(got == right, "{text}\n{plan}\nsent{got:?}\nright{right:?}");
    }
}
