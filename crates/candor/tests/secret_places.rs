//! A secret planted in every place that takes one appears in no output: each place has a secret of its own, and every
//! output of every command is searched for all of them.

use std::fs;
use std::net::TcpListener;
use std::process::Command;

use crate::common::{CANDOR, Candor, Outcome, Target, candor};
use candor_testkit::peer::{Peer, Script};

/// Texts with `%` in the place of a secret, and the secrets that were put there.
#[derive(Default)]
struct Planted(Vec<(String, String)>);

impl Planted {
    /// A text with a new secret.
    fn plant(&mut self, text: &str) -> String {
        let secret = format!("S{:02}hunter2Qx", self.0.len());
        self.0.push((text.to_owned(), secret.clone()));
        text.replace('%', &secret)
    }

    /// The first secret that is in a text, in whatever case.
    fn leak(&self, output: &str, text: &str) -> Option<String> {
        let lower = text.to_lowercase();
        self.0.iter().find_map(|(place, secret)| {
            let at = lower.find(&secret.to_lowercase())?;
            let from = lower.floor_char_boundary(at.saturating_sub(200));
            Some(format!("{output} has the secret of {place}: …{}", &lower[from..at]))
        })
    }

    /// Asserts that no secret is in a text; returns how many places that were.
    fn assert_absent(&self, output: &str, text: &str) -> usize {
        assert_eq!(self.leak(output, text), None);
        self.0.len()
    }

    /// The same for all outputs of a run, and for what `candor report` makes of its result.
    fn assert_absent_in(&self, outcome: &Outcome, given: &[&str]) -> usize {
        let mut places = self.assert_absent("stdout", &outcome.stdout);
        places += self.assert_absent("stderr", &outcome.stderr);
        for entry in fs::read_dir(outcome.path("")).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_file() && !name.starts_with('.') && !given.contains(&&*name) {
                let bytes = fs::read(&path).unwrap();
                places += self.assert_absent(&name, &String::from_utf8_lossy(&bytes));
            }
        }
        let file = outcome.path("run.json");
        for form in ["markdown", "text", "html"] {
            let again = candor(&["report", file.to_str().unwrap(), "--format", form]);
            assert_eq!(again.code(), 0, "{form}: {}", again.stderr);
            places += self.assert_absent(form, &(again.stdout + &again.stderr));
        }
        places
    }
}

/// Fields of requests.
const FIELDS: [&str; 16] = [
    "Authorization: Bearer %",
    "Authorization: Basic %",
    "Proxy-Authorization: %",
    "Cookie: sid=%; a=b",
    "X-Api-Key: %",
    "X-Functions-Key: %",
    "Ocp-Apim-Subscription-Key: %",
    "X-Amz-Security-Token: %",
    "X-Hub-Signature: sha1=%",
    "X-Session-Id: %",
    "X-JWT: %",
    "X-Passwd: %",
    "X-Anything: %",
    "Referer: http://a.example/?token=%",
    "User-Agent: me Bearer %",
    "Accept: text/html;q=Bearer %",
];

/// Arguments of the outputs.
fn outputs(command: &mut Command) {
    command.args(["--report", "full"]);
    for form in ["json", "csv", "html", "hgrm", "hlog", "trace"] {
        command.args([format!("--{form}"), format!("run.{form}")]);
    }
    command.args(["--out", "csv-steps:steps.csv", "--out", "ndjson:live.ndjson"]);
}

#[test]
fn results_have_no_secret_of_flags() {
    let target = Target::start(&[]);
    let address = target.url("/").replace("http://", "");
    let mut planted = Planted::default();
    let mut arguments =
        vec!["-c1".to_owned(), "-n3".to_owned(), "--expect-status=100-599".to_owned()];
    for field in FIELDS {
        arguments.extend(["-H".to_owned(), planted.plant(field)]);
    }
    for (flag, text) in
        [("-b", r#"{"password":"%","note":"x"}"#), ("--script-arg", "%"), ("--script-arg", "key=%")]
    {
        arguments.extend([flag.to_owned(), planted.plant(text)]);
    }
    let (user, query) = (planted.plant("me:%@"), planted.plant("?access_token=%&page=%"));
    arguments.push(format!("http://{user}{address}{query}"));
    let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
        fs::write(directory.join("s.lua"), "function init(args) end").unwrap();
        outputs(command);
        command.args(["-s", "s.lua"]).args(&arguments).current_dir(directory);
    });
    let outcome = run.finish();
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let places = planted.assert_absent_in(&outcome, &[]);
    assert!(places >= 200, "{places}");
    assert!(outcome.stdout.contains("access_token=…"), "{}", outcome.stdout);
}

#[test]
fn results_have_no_secret_of_a_managed_target() {
    // A port that was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut planted = Planted::default();
    let ready = planted.plant(&format!("http://u:%@127.0.0.1:{port}/?token=%"));
    let environment = planted.plant("TOKEN=%");
    let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
        outputs(command);
        command.args([
            "-c1",
            "-n3",
            "--target",
            &format!("{CANDOR} serve --listen 127.0.0.1:{port}"),
        ]);
        command.args(["--target-ready", &ready, "--target-env", &environment]);
        command.arg(format!("http://127.0.0.1:{port}/")).current_dir(directory);
    });
    let outcome = run.finish();
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    planted.assert_absent_in(&outcome, &[]);
    let shown = format!("http://[redacted]@127.0.0.1:{port}/?token=…");
    assert!(outcome.file("run.json").contains(&shown) && outcome.stdout.contains(&shown));
}

#[test]
fn results_have_no_secret_of_a_subprotocol() {
    let target = Target::start(&[]);
    let mut planted = Planted::default();
    let (name, message) = (planted.plant("bearer.%"), planted.plant(r#"{"token":"%"}"#));
    let url = target.url("/ws/echo").replace("http:", "ws:");
    let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
        command.arg("ws");
        outputs(command);
        command.args(["-c1", "-n3", "--subprotocol", &name, "--subprotocol", "v12.stomp"]);
        command.args(["--message", &message, &url]).current_dir(directory);
    });
    let outcome = run.finish();
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    planted.assert_absent_in(&outcome, &[]);
    assert!(outcome.file("run.json").contains("v12.stomp"));
}

/// A plan with a secret in every key that takes one.
fn plan(planted: &mut Planted, url: &str) -> String {
    let address = url.replace("http://", "");
    let mut lines = vec![
        "requests = 6".to_owned(),
        "connections = 1".to_owned(),
        "expect-status = \"100-599\"".to_owned(),
        planted.plant(&format!("url = \"http://me:%@{address}?token=%\"")),
        "[header]".to_owned(),
    ];
    for (number, field) in FIELDS.iter().enumerate() {
        let (name, value) = planted
            .plant(field)
            .split_once(": ")
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .unwrap();
        // A name once.
        lines.push(format!("\"{name}{}\" = \"{value}\"", if number == 1 { "-2" } else { "" }));
    }
    lines.push("[[journey]]\nname = \"j\"".to_owned());
    let steps = [
        "path = \"/echo?password=%&q=%\"",
        "path = \"/echo;jsessionid=%\"",
        "path = \"/echo\"\nmethod = \"POST\"\njson = { user = { password = \"%\" }, pin = 1 }",
        "path = \"/echo\"\nmethod = \"POST\"\nbody = \"user=a&client_secret=%\"\nheaders = { Content-Type = \
         \"application/x-www-form-urlencoded\" }",
        "path = \"/echo\"\nmethod = \"POST\"\nbody = \"any text with %\"",
        "path = \"/echo\"\nheaders = { X-Own = \"%\", Authorization = \"Basic ${base64 ${seq}:%}\" }\nwhen = \"%\"",
    ];
    for (number, step) in steps.iter().enumerate() {
        lines.push(format!("[[journey.step]]\nname = \"s{number}\"\n{}", planted.plant(step)));
    }
    lines.join("\n")
}

#[test]
fn results_have_no_secret_of_a_plan() {
    let target = Target::start(&[]);
    let mut planted = Planted::default();
    let text = plan(&mut planted, &target.url("/"));
    let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
        fs::write(directory.join("p.toml"), &text).unwrap();
        command.args(["run", "p.toml"]);
        outputs(command);
        command.current_dir(directory);
    });
    let outcome = run.finish();
    assert_eq!(outcome.code(), 0, "{}{}\n{text}", outcome.stdout, outcome.stderr);
    let places = planted.assert_absent_in(&outcome, &["p.toml"]);
    assert!(places >= 200, "{places}");
}

/// Each is refused, or fails, and says so without the secret.
#[test]
fn errors_have_no_secret() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).display().to_string();
    let url = "http://127.0.0.1:9/";
    let mut planted = Planted::default();
    let (mut places, mut leaks) = (0, Vec::new());
    let mut refused = |arguments: &[&str], planted: &Planted| {
        let outcome = candor(arguments);
        assert_ne!(outcome.code(), 0, "{arguments:?}: {}", outcome.stdout);
        assert!(!outcome.stderr.is_empty() || !outcome.stdout.is_empty(), "{arguments:?}");
        leaks.extend(planted.leak(&format!("{arguments:?}"), &(outcome.stdout + &outcome.stderr)));
        places += 1;
    };
    for (flag, text) in [
        ("-H", "%"),
        ("-H", ": %"),
        ("-H", "X Y: %"),
        ("-X", "% %"),
        ("-R", "%"),
        ("-c", "%"),
        ("-d", "%"),
        ("-n", "%"),
        ("-t", "%"),
        ("--load", "ramp % over 3s"),
        ("--load", "%"),
        ("--arrivals", "%"),
        ("--seed", "%"),
        ("--think-time", "%"),
        ("--expect", "%"),
        ("--expect", "p99 < %"),
        ("--expect", "% < 5ms"),
        ("--expect", "[%] p99 < 5ms"),
        ("--abort-if", "p99 < %"),
        ("--expect-status", "%"),
        ("--expect-body-bytes", "%"),
        ("--connect-to", "%"),
        ("--connect-to", "u:%@h:80"),
        ("--connect-to", "h:%"),
        ("--resolve", "%"),
        ("--resolve", "h:80:%"),
        ("--source", "%"),
        ("--allow", "u:%@h"),
        ("--out", "%"),
        ("--tls-min", "%"),
        ("--alpn", "%"),
        ("--reply-field", "%"),
        ("--subprotocol", "a b%"),
        ("--script-arg", "%"),
        ("--stream-error", "(%"),
        ("--tokens", "json:%["),
        ("--tokens", "%"),
        ("--users", "%"),
        ("--warm-up", "%"),
        ("--pacing", "%"),
        ("--drain", "%"),
        ("--shed-after", "%"),
        ("--connect-rate", "%"),
        ("--piece-gap", "%"),
        ("--pieces", "%"),
        ("--break-off-after", "%"),
        ("--pipeline", "%"),
        ("--connection-lifetime", "%"),
        ("--order", "%"),
        ("--script-timeout", "%"),
        ("--reactor", "%"),
        ("--window-bits", "%"),
        ("--deadline", "%"),
        ("--timeout", "%"),
        ("--digits", "%"),
        ("--interval", "%"),
        ("--part", "%"),
        ("--begin-at", "%"),
        ("--report", "%"),
        ("-b", "${%}"),
        ("-b", "{\"password\":\"%\",\"a\":\"${oops}\"}"),
        ("-b", "${random %}"),
        ("-b", "a ${seq % and more"),
        ("--target-env", "%"),
        ("--target-ready", "%"),
        ("--target-ready", "https://u:%@h/?token=%"),
        ("--target", "s --password '%"),
        ("--target", "/nowhere/program --password % --token=%"),
        ("--target-cores", "%"),
        ("--profile-command", "'%"),
        ("--fleet", "%"),
        ("--%", "x"),
        ("-%", "x"),
        ("--tokn=%", "x"),
    ] {
        let (flag, text) = (planted.plant(flag), planted.plant(text));
        let is_of_target = ["--target-env", "--target-ready", "--target-cores"].contains(&&*flag);
        match is_of_target {
            true => refused(&["--target", "/nowhere/program", &flag, &text, url], &planted),
            false => refused(&["-n1", "--give-up=50ms", &flag, &text, url], &planted),
        }
        if flag.starts_with("--")
            && !flag.contains('=')
            && !is_of_target
            && !flag.contains("target")
        {
            let joined = format!("{flag}={text}");
            refused(&["-n1", "--give-up=50ms", &joined, url], &planted);
        }
    }
    for text in [
        "http://me:%@h:99999/",
        "http://me:%#@h/",
        "http://h:%/",
        "ftp://me:%@h/",
        "http://h/ /?token=%",
        "http://127.0.0.1:9/?token=%",
    ] {
        refused(&["-n1", "--give-up=50ms", &planted.plant(text)], &planted);
        refused(&["try", "--give-up=50ms", &planted.plant(text)], &planted);
        refused(&[url, &planted.plant(text)], &planted);
        refused(&["wrk", "-d1s", &planted.plant(text)], &planted);
        refused(&["h2load", "-n1", &planted.plant(text)], &planted);
    }
    for text in [
        "url = 'http://me:%@h:99999/'",
        "url = 'http://h/",
        "rate = '%'",
        "expect = ['p99 < %']",
        "expect-status = '%'",
        "connect-to = '%'",
        "script-arg = { a = '%' }",
        "header = ['%']",
        "header = { 'X Y' = '%' }",
        "[header]\nX = ['%', 1]",
        "subprotocol = 'a b%'",
        "load = '%'",
        "[[request]]\npath = '%'",
        "[[request]]\npath = '/'\nbody = '${%}'",
        "[[request]]\npath = '/'\nbody = '${seq % '",
        "[[request]]\npath = '/${%}'",
        "[[request]]\npath = '/'\njson = { password = '%', a = '${oops}' }",
        "[[request]]\npath = '/'\nheaders = { A = '${%}' }",
        "[[request]]\npath = '/'\nstream-error = '(%'",
        "[[request]]\npath = '/'\nexpect-status = '%'",
        "[[journey]]\nname = 'j'\n[[journey.step]]\npath = '/'\nwhen = '${%}'",
        "[[journey]]\nname = 'j'\n[[journey.step]]\npath = '/'\nthink = '%'",
        "[[journey]]\nname = 'j'\n[[journey.step]]\npath = '/'\nrepeat = '%'",
        "[[journey]]\nname = 'j'\n[[journey.step]]\npath = '/'\ncapture = { a = '%' }",
        "[data.u]\nfile = '/nowhere/u.csv'\norder = '%'",
        "password = '%'",
    ] {
        let text = planted.plant(text);
        let with_url =
            if text.starts_with("url") { text.clone() } else { format!("url = '{url}'\n{text}") };
        fs::write(directory.path().join("p.toml"), with_url).unwrap();
        refused(&["run", "-n1", "--give-up=50ms", &at("p.toml")], &planted);
        refused(&["try", "--give-up=50ms", &at("p.toml")], &planted);
    }
    // Files of data, of which the first line is no header.
    for (name, text) in [
        ("a.csv", "ann,%\nbob,b2\n"),
        ("b.csv", "ann,a@%\nbob,b2\n"),
        ("c.csv", "%,%\nbob,b2\n"),
        ("d.csv", "name,password\nann,\"%\nbob\n"),
        ("e.csv", "name,password\nann,%,x\n"),
        ("f.jsonl", "{\"a\":\"%\"\n"),
        ("g.jsonl", "{\"a\":\"%\"}\n[\"%\"]\n"),
    ] {
        fs::write(directory.path().join(name), planted.plant(text)).unwrap();
        let data = format!("users={}", at(name));
        refused(
            &["-n1", "--give-up=50ms", "--data", &data, "-b", "${users.name} ${users.nme}", url],
            &planted,
        );
    }
    for text in ["%\n", "u:%@h\n", "GET http://me:%@h/\n", "%x http://h/ y\n"] {
        fs::write(directory.path().join("urls"), planted.plant(text)).unwrap();
        refused(&["-n1", "--give-up=50ms", "--urls", &at("urls"), url], &planted);
    }
    fs::write(directory.path().join("due"), planted.plant("1s\n%\n")).unwrap();
    refused(&["--give-up=50ms", "--load", &format!("replay {}", at("due")), url], &planted);
    assert_eq!(leaks, [""; 0], "{} of {places}", leaks.len());
    assert!(places >= 200, "{places}");
}

#[test]
fn a_script_that_repeats_what_it_got_says_no_secret() {
    let target = Target::start(&[]);
    let mut planted = Planted::default();
    let (argument, field) = (planted.plant("%"), planted.plant("Authorization: Bearer %"));
    for script in [
        "function init(args) error('bad ' .. args[1]) end",
        "function request() error('bad ' .. wrk.headers['Authorization']) end",
    ] {
        let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
            fs::write(directory.join("s.lua"), script).unwrap();
            command.args(["-c1", "-n3", "-s", "s.lua", "--script-arg", &argument, "-H", &field]);
            command.arg(target.url("/")).current_dir(directory);
        });
        let outcome = run.finish();
        assert_ne!(outcome.code(), 0);
        assert!(outcome.stderr.contains("bad "), "{}", outcome.stderr);
        planted.assert_absent(script, &outcome.stderr);
    }
}

/// A text in the forms in which a server may send it back.
fn forms(value: &str) -> Vec<String> {
    let percent = |is_upper: bool| {
        value.bytes().map(move |byte| match byte {
            byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
            byte if is_upper => format!("%{byte:02X}"),
            byte => format!("%{byte:02x}"),
        })
    };
    let html = value
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;");
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let base64: String = value
        .as_bytes()
        .chunks(3)
        .flat_map(|chunk| {
            let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
            let group = byte(0) << 16 | byte(1) << 8 | byte(2);
            (0..4).map(move |at| match at <= chunk.len() {
                true => char::from(alphabet[(group >> (18 - 6 * at)) as usize & 63]),
                false => '=',
            })
        })
        .collect();
    vec![
        value.to_owned(),
        percent(true).collect(),
        percent(false).collect(),
        serde_json::Value::from(value).to_string().trim_matches('"').to_owned(),
        html,
        base64,
        value.to_uppercase(),
    ]
}

#[test]
fn a_try_hides_secrets_in_whatever_form_they_come_again() {
    // Each has what the forms write in different ways.
    let secret = |number: usize| format!("S{number:02}&hunt<r2'Q");
    let json = |number: usize| serde_json::Value::from(secret(number)).to_string();
    let percent = |number: usize| forms(&secret(number))[1].clone();
    let plan = format!(
        "[data.users]\nfile = \"users.csv\"\n[[journey]]\nname = \"j\"\n\
         [[journey.step]]\nname = \"a\"\npath = \"/?token={}&page=2\"\nheaders = {{ X-Api-Key = {}, Authorization = \
         \"Bearer {}\", Cookie = {} }}\n\
         [[journey.step]]\nname = \"b\"\npath = \"/\"\nmethod = \"POST\"\njson = {{ user = {{ password = {} }}, own = \
         \"${{env:TRY_KEY}}\" }}\n\
         [[journey.step]]\nname = \"c\"\npath = \"/\"\nmethod = \"POST\"\nbody = \"user=a&client_secret={}\"\n\
         headers = {{ Content-Type = \"application/x-www-form-urlencoded\" }}\n\
         [[journey.step]]\nname = \"d\"\npath = \"/\"\nheaders = {{ Authorization = \"Basic ${{base64 \
         ${{users.name}}:${{users.password}}}}\" }}\n",
        percent(0),
        json(1),
        secret(2),
        json(3).replace("\"S", "\"sid=S"),
        json(4),
        percent(5),
    );
    let secrets: Vec<String> = (0..8).map(secret).collect();
    let mut all: Vec<String> = secrets.iter().flat_map(|one| forms(one)).collect();
    // The pair of user and password, which no text of the plan has.
    all.extend(forms(&format!("ann:{}", secret(6))).into_iter().take(6));
    let lines: Vec<String> = all.chunks(6).map(|some| some.join(" ")).collect();
    let body = format!("begin\n{}\nend", lines.join("\n"));
    let peer = Peer::start(Script::answers_with(format!(
        "HTTP/1.1 200 OK\r\nX-Echo: {}\r\nContent-Length: {}\r\n\r\n{body}",
        secrets.join(" "),
        body.len()
    )));
    let tried = |flags: &[&str]| {
        let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
            fs::write(
                directory.join("p.toml"),
                format!("url = \"http://{}/\"\n{plan}", peer.addr()),
            )
            .unwrap();
            let users = format!("name,password\nann,\"{}\"\n", secret(6));
            fs::write(directory.join("users.csv"), users).unwrap();
            command
                .args(["try", "p.toml"])
                .args(flags)
                .env("TRY_KEY", secret(7))
                .current_dir(directory);
        });
        run.finish()
    };
    let outcome = tried(&[]);
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    for form in &all {
        assert!(!outcome.stdout.contains(form.as_str()), "{form} is in {}", outcome.stdout);
    }
    assert!(
        outcome.stdout.contains("< begin") && outcome.stdout.contains("page=2"),
        "{}",
        outcome.stdout
    );
    let shown = tried(&["--show-secrets"]);
    assert!(
        shown.stdout.contains(&secret(4)) && shown.stdout.contains(&secret(7)),
        "{}",
        shown.stdout
    );
}

#[test]
fn an_import_says_no_secret() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let mut planted = Planted::default();
    let mut places = 0;
    for text in [
        "curl -u ann:% http://h/",
        "curl http://h/ -H 'Authorization: Bearer %'",
        "curl http://h/ -H 'X-Api-Key: %'",
        "curl http://h/ -b 'sid=%'",
        "curl http://h/ -d 'password=%&note=%'",
        "curl http://h/ -d 'note=%&password=%'",
        "curl http://h/ -F 'password=%'",
        "curl http://h/ --json '{\"a\":[{\"client_secret\":\"%\"}]}'",
        "curl 'http://h/?access_token=%&q=%'",
        "curl 'http://h/cb?code=%'",
        "curl 'http://h/blob?sig=%'",
        "curl 'http://h/?hmac=%'",
        "curl http://h/ -d 'SAMLResponse=%'",
        "curl http://me:%@h/",
        "curl http://h/%/x -d 'token=%'",
        "curl http://h/ -H 'X-Note: see %' -d 'token=%'",
    ] {
        let imported = candor(&["import", "curl", &file("curl.sh", &planted.plant(text))]);
        assert_eq!(imported.code(), 0, "{text}: {}", imported.stderr);
        places += planted.assert_absent(text, &(imported.stdout + &imported.stderr));
    }
    assert!(places >= 100, "{places}");
}
