//! Redirects that are followed: what each hop sends, beside curl; what is not followed, and what it is called; that the
//! server's counts are the ledger's, and times add up.

use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};

use crate::common::{CANDOR, Candor, Outcome, Target, candor, read_head};

/// A server that redirects by its paths, and keeps what it was sent.
struct Server {
    address: SocketAddr,
    got: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// `other`: where it redirects to another origin.
    fn start(other: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let got: Arc<Mutex<Vec<String>>> = Arc::default();
        let (all, other) = (Arc::clone(&got), other.to_owned());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (all, other) = (Arc::clone(&all), other.clone());
                std::thread::spawn(move || serve(stream, &other, &all));
            }
        });
        Server { address, got }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// What it got since it was asked last, with header lines in the order of their names.
    fn take(&self) -> Vec<String> {
        let sorted = |one: String| {
            let (head, body) = one.split_once("\r\n\r\n").unwrap();
            let mut lines: Vec<String> = head.split("\r\n").map(str::to_owned).collect();
            lines[1..].sort();
            format!("{}\n\n{body}", lines.join("\n"))
        };
        std::mem::take(&mut *self.got.lock().unwrap()).into_iter().map(sorted).collect()
    }
}

fn serve(stream: TcpStream, other: &str, all: &Mutex<Vec<String>>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some(head) = read_head(&mut reader)? {
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
        reader.read_exact(&mut body)?;
        let path = head.split(' ').nth(1).unwrap().to_owned();
        let is_head = head.starts_with("HEAD");
        all.lock().unwrap().push(head + std::str::from_utf8(&body).unwrap());
        let response = response(&path, other);
        let response = if is_head { response.strip_suffix("hello").unwrap() } else { &response };
        (&stream).write_all(response.as_bytes())?;
    }
    Ok(())
}

fn response(path: &str, other: &str) -> String {
    let long = format!("/{}", "x".repeat(8001));
    let (status, locations): (u16, &[&str]) = match path {
        "/old" => (302, &["/a/b?x=1#top"]),
        "/a/b?x=1" => (301, &["../end"]),
        "/loop" => (307, &["/loop"]),
        "/none" => (302, &[]),
        "/empty" => (302, &[""]),
        "/long" => (302, &[&long]),
        "/twice" => (302, &["/end", "/elsewhere"]),
        "/same" => (302, &["/end", "/end"]),
        "/ftp" => (302, &["ftp://127.0.0.1/x"]),
        "/file" => (302, &["file:///etc/passwd"]),
        "/user" => (302, &["http://ann:secret@127.0.0.1/x"]),
        "/control" => (302, &["/a\tb"]),
        "/blank" => (302, &["/a b/ä"]),
        "/evil" => (302, &["http://192.0.2.1/x?token=sesame"]),
        "/scheme" => (302, &["https://127.0.0.1/x"]),
        "/other" => (302, &[other]),
        "/304" => (304, &["/end"]),
        "/300" => (300, &["/end"]),
        _ => (path.strip_prefix("/s/").map_or(200, |code| code.parse().unwrap()), &["/end"]),
    };
    let fields: String = locations.iter().map(|one| format!("Location: {one}\r\n")).collect();
    let body = if status == 304 { "" } else { "hello" };
    format!("HTTP/1.1 {status} X\r\n{fields}Content-Length: {}\r\n\r\n{body}", body.len())
}

fn run(arguments: &[&str]) -> Outcome {
    Candor::start_measuring(&[arguments, &["--progress", "off"]].concat()).finish()
}

fn run_plan(plan: &str) -> Outcome {
    let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
        std::fs::write(directory.join("plan.toml"), plan).expect("a plan");
        command.args(["run", "plan.toml", "--json", "result.json"]).current_dir(directory);
    });
    run.finish()
}

fn curl(arguments: &[&str]) {
    let plain = ["-sS", "-o", "/dev/null", "-H", "User-Agent:", "-H", "Accept:", "--noproxy", "*"];
    let status = Command::new("curl").args(plain).args(arguments).status().expect("curl");
    assert!(status.success(), "{arguments:?}");
}

/// The bytes of each hop are those of curl, but for the order of fields.
#[test]
fn each_hop_is_what_curl_sends() {
    let other = Server::start("");
    let server = Server::start(&other.url("/there"));
    let all = ["/old", "/same", "/s/301", "/s/302", "/s/303", "/s/307", "/s/308", "/other"];
    let fields = "'Authorization: Basic eA==', 'Cookie: a=b'";
    let form = "body = 'x=1'\nheader = ['Content-Type: application/x-www-form-urlencoded', ";
    for (method, flags, body, paths) in [
        ("GET", &[][..], "header = [", &all[..]),
        ("HEAD", &["-I"], "header = [", &all),
        ("POST", &["-d", "x=1"], form, &all),
        // After the other statuses curl keeps the method of a PUT, and drops its body.
        ("PUT", &["-X", "PUT", "-d", "x=1"], form, &["/s/307", "/s/308"]),
    ] {
        for path in paths {
            let url = server.url(path);
            let secrets = ["-H", "Authorization: Basic eA==", "-H", "Cookie: a=b"];
            curl(&[&["-L", &url][..], &secrets, flags].concat());
            let of_curl = (server.take(), other.take());
            let plan = format!(
                "url = '{}'\nlocation = 3\nrequests = 1\nmethod = '{method}'\n{body}{fields}]\n\
                 [target.other]\nurl = '{}'\n[[request]]\npath = '{path}'\n",
                server.url("/"),
                other.url("/"),
            );
            let document = run_plan(&plan).measured();
            let own = (server.take(), other.take());
            assert_eq!(document.ledger("ok"), (own.0.len() + own.1.len()) as u64);
            assert_eq!(own, of_curl, "{method} {path}");
        }
    }
}

/// RFC 9110 15.4: 303 makes a GET of it; 301 and 302 do so with a POST alone.
#[test]
fn a_put_stays_one_except_by_303() {
    let server = Server::start("");
    for (path, second) in [("/s/301", "PUT"), ("/s/302", "PUT"), ("/s/303", "GET")] {
        let url = server.url(path);
        let put = ["-X", "PUT", "-b", "x=1", "-H", "Content-Type: a/b", "-n", "1"];
        run(&[&put[..], &["--location", "1", &url]].concat()).measured().assert_all_ok();
        let got = server.take();
        assert!(got[1].starts_with(&format!("{second} /end ")), "{got:?}");
        assert_eq!(got[1].ends_with("\n\nx=1"), second == "PUT", "{got:?}");
        assert_eq!(got[1].contains("Content-Type"), second == "PUT", "{got:?}");
    }
}

/// Each redirect that is not followed has a name, and nothing is sent anywhere for it.
#[test]
fn what_is_not_followed_has_a_name() {
    let server = Server::start("http://192.0.2.1/");
    for (path, kind, hops) in [
        ("/none", "redirect-unusable", 1),
        ("/empty", "redirect-unusable", 1),
        ("/long", "redirect-unusable", 1),
        ("/twice", "redirect-unusable", 1),
        ("/ftp", "redirect-unusable", 1),
        ("/file", "redirect-unusable", 1),
        ("/user", "redirect-unusable", 1),
        ("/evil", "redirect-elsewhere", 1),
        ("/scheme", "redirect-elsewhere", 1),
        ("/loop", "redirect-limit", 4),
        ("/300", "status", 1),
    ] {
        let outcome = run(&["--location", "3", "-n", "10", "-c", "2", &server.url(path)]);
        let document = outcome.measured();
        assert_eq!(server.take().len(), 10 * hops, "{path}");
        assert_eq!(document.ledger("sent"), 10 * hops as u64, "{path}");
        assert_eq!(document.errors(), [(kind.to_owned(), 10)].into(), "{path}");
        assert!(!outcome.stdout.contains("sesame") && !outcome.stdout.contains("secret"));
        assert!(!document.verdicts().contains(&"impossible"), "{}", outcome.stdout);
        assert_eq!(document.count("/users/journeys/0/failed"), 10, "{path}");
    }
    // Hops that were made meet nothing where no chain came to its end.
    let flags =
        ["--location", "3", "-n", "20", "-c", "2", "--expect", "p50 < 1h", "--allow-failures"];
    let circle = run(&[&flags[..], &[&server.url("/loop")]].concat());
    assert_eq!(circle.code(), 3, "{}", circle.stdout);
    server.take();
    let outcome = run(&["--location", "3", "-n", "1", &server.url("/evil")]);
    assert!(
        outcome.stdout.contains("to http://192.0.2.1:80, which is no target"),
        "{}",
        outcome.stdout
    );
    // A tab is no header value that HTTP/1.1 would refuse.
    let outcome = run(&["--location", "3", "-n", "1", &server.url("/control")]);
    assert_eq!(outcome.document().errors(), [("redirect-unusable".to_owned(), 1)].into());
    server.take();
    // Blanks and letters beyond ASCII are escaped, as browsers do.
    let outcome = run(&["--location", "3", "-n", "1", &server.url("/blank")]);
    assert_eq!(outcome.code(), 0, "{}", outcome.stdout);
    assert!(server.take()[1].starts_with("GET /a%20b/%C3%A4 HTTP/1.1\n"));
}

/// The time of the whole is that of its hops: each is due when the one before is done.
#[test]
fn times_of_hops_add_up_to_that_of_the_whole() {
    let server = Server::start("");
    for load in [&["-n", "1", "-c", "1"][..], &["-n", "1", "-R", "100", "-d", "5s"]] {
        let url = server.url("/old");
        let outcome = run(&[load, &["--location", "5", "--trace", "run.trace", &url]].concat());
        let document = outcome.measured();
        assert_eq!(document.ledger("ok"), 3);
        let names: Vec<&str> =
            document.list("/requests").iter().map(|row| row["name"].as_str().unwrap()).collect();
        let hops = ["GET /old", "GET /old, redirect 1", "GET /old, redirect 2"];
        assert_eq!(names, hops, "only those that came have a row");
        let trace = outcome.path("run.trace");
        let csv = candor(&["report", trace.to_str().unwrap(), "--format", "csv"]).stdout;
        let rows: Vec<Vec<&str>> =
            csv.lines().skip(1).map(|row| row.split(',').collect()).collect();
        let ns = |row: usize, column: usize| {
            let from_end = rows[row].len() - 7 + column;
            rows[row][from_end].parse::<u64>().unwrap()
        };
        let (due, done) = (0, 4);
        assert_eq!((ns(1, due), ns(2, due)), (ns(0, done), ns(1, done)));
        let whole = ns(2, done) - ns(0, due);
        assert_eq!((0..3).map(|row| ns(row, done) - ns(row, due)).sum::<u64>(), whole);
        let row = "/users/journeys/0";
        assert_eq!(document.text(&format!("{row}/name")), "GET /old, including redirects");
        assert_eq!(document.count(&format!("{row}/duration/max_ns")), whole);
    }
}

/// In closed and open loops, over HTTP/1.1 and HTTP/2, both sides count the same.
#[test]
fn both_sides_count_the_same() {
    for flags in [&[][..], &["--h2c", "--streams", "4"], &["--pipeline", "3"]] {
        for load in [&["-n", "300"][..], &["-R", "300", "-d", "1s", "--arrivals", "poisson"]] {
            let target = Target::start(&[]);
            let url = target.url("/redirect");
            let outcome = run(&[flags, load, &["--location", "2", "-c", "4", &url]].concat());
            let document = outcome.measured();
            target.assert_requests(document.ledger("sent"));
            let journey = |what: &str| document.count(&format!("/users/journeys/0/{what}"));
            assert_eq!(journey("failed"), 0);
            assert_eq!(document.ledger("ok"), 2 * journey("completed") + journey("unfinished"));
            if load.len() == 2 {
                assert_eq!((journey("completed"), document.ledger("ok")), (300, 600));
            }
        }
    }
}

/// A step's redirects are followed before the next step, which has what the last response said.
#[test]
fn a_step_captures_from_the_last_response() {
    let server = Server::start("");
    let plan = format!(
        "url = '{}'\nlocation = 3\nrequests = 20\n[[journey]]\ncookies = true\n\
         [[journey.step]]\nname = 'login'\npath = '/old'\nrepeat = 2\ncapture = {{ said = 'body' }}\n\
         [[journey.step]]\nname = 'next'\npath = '/after/${{said}}'\n",
        server.url("/")
    );
    let document = run_plan(&plan).measured();
    assert_eq!((document.ledger("ok"), document.count("/users/journeys/0/completed")), (140, 20));
    let got = server.take();
    assert_eq!(got.len(), 140);
    assert_eq!(got.iter().filter(|one| one.starts_with("GET /after/hello ")).count(), 20);
}

/// Requests in rotation stay so, each with its redirects; random values of a body that is sent again are the same.
#[test]
fn requests_keep_their_order_and_their_values() {
    let server = Server::start("");
    let plan = format!(
        "url = '{}'\nlocation = 2\nrequests = 40\nconnections = 1\n[[request]]\npath = '/s/307'\n\
         method = 'POST'\nbody = '${{uuid}} $${{x}}'\n[[request]]\npath = '/s/308'\nbody = '$${{y}}'\n",
        server.url("/")
    );
    let document = run_plan(&plan).measured();
    assert_eq!(document.ledger("ok"), 80);
    let got = server.take();
    let body = |one: &String| one.split_once("\n\n").unwrap().1.to_owned();
    for chain in got.chunks(2) {
        assert!(chain[0].starts_with("POST /s/30") && chain[1].starts_with("POST /end "));
        assert_eq!(body(&chain[0]), body(&chain[1]));
        assert!(body(&chain[0]).ends_with(" ${x}") || body(&chain[0]) == "${y}");
    }
    let kinds: Vec<bool> = got.chunks(2).map(|chain| body(&chain[0]) == "${y}").collect();
    assert!(
        kinds.iter().enumerate().all(|(at, is_second)| *is_second == (at % 2 == 1)),
        "{kinds:?}"
    );
}

/// What belongs to one target goes to no other; each has its own fields.
#[test]
fn credentials_stay_with_their_target() {
    let other = Server::start("");
    let server = Server::start(&other.url("/end"));
    let plan = format!(
        "url = '{}'\nlocation = 2\nrequests = 1\nheader = ['X-Api-Key: 0123456789abcdef', 'Accept: text/html']\n\
         [target.other]\nurl = '{}'\nheader = {{ Authorization = 'Basic b3RoZXI=' }}\n\
         [[request]]\npath = '/other'\nheader = {{ Authorization = 'Basic b3du', Host = 'shop.example' }}\n",
        server.url("/"),
        other.url("/"),
    );
    let document = run_plan(&plan).measured();
    assert_eq!(document.ledger("ok"), 2);
    assert_eq!(
        other.take(),
        [format!(
            "GET /end HTTP/1.1\nAccept: text/html\nAuthorization: Basic b3RoZXI=\nHost: {}\n\n",
            other.address
        )]
    );
    let rows: Vec<_> = document.list("/targets").iter().map(|row| row["ok"].as_u64()).collect();
    assert_eq!(rows, [Some(1), Some(1)]);
}

#[test]
fn what_cannot_be_combined_is_refused() {
    for (flags, words) in [
        (&["--location", "21"][..], "--location: 21 redirects are more than are followed"),
        (&["--location", "0"], "above zero"),
        (&["--location", "2", "--once"], "--once"),
        (&["--location", "2", "--h2c-upgrade"], "--h2c-upgrade"),
        (&["--location", "2", "--stream", "sse"], "--stream"),
        (&["--location", "2", "-b", "xy", "--chunked", "1"], "--chunked"),
        (&["--location", "2", "--expect-status", "302"], "which --location follows"),
    ] {
        candor(&[flags, &["http://127.0.0.1:1/"]].concat())
            .assert_refused(2, &["--location", words][1..]);
    }
}

#[test]
fn a_try_shows_the_hops() {
    let server = Server::start("");
    let outcome = candor(&["try", "--location", "5", &server.url("/old")]);
    assert_eq!(outcome.code(), 0, "{}", outcome.stdout);
    let mut rest = outcome.stdout.as_str();
    for line in [
        ": 1 request",
        "> GET /old HTTP/1.1",
        "✓ status 302, followed",
        "2. GET /old, redirect 1",
        "> GET /a/b?x=1 HTTP/1.1",
        "✓ status 301, followed",
        "> GET /end HTTP/1.1",
        "✓ status 200",
        "3 requests, all as expected",
    ] {
        let at = rest.find(line).unwrap_or_else(|| panic!("{line:?}: {}", outcome.stdout));
        rest = &rest[at + line.len()..];
    }
    assert!(!outcome.stdout.contains("redirect 3"), "{}", outcome.stdout);
    let outcome = candor(&["try", "--location", "5", &server.url("/evil")]);
    assert_eq!(outcome.code(), 3, "{}", outcome.stdout);
    assert!(outcome.stdout.contains("no target of the plan"), "{}", outcome.stdout);
}

#[test]
fn a_step_made_once_is_redirected_once() {
    let server = Server::start("");
    let plan = format!(
        "url = '{}'\nlocation = 3\nusers = 5\nconnections = 3\nrequests = 20\n\
         [[journey]]\n[[journey.step]]\nname = 'login'\npath = '/old'\nonce = true\ncapture = {{ token = 'body' }}\n\
         [[journey.step]]\nname = 'order'\npath = '/order/${{token}}'\n",
        server.url("/")
    );
    let outcome = run_plan(&plan);
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let got = server.take();
    let sent = |path: &str| got.iter().filter(|one| one.contains(&format!(" {path} "))).count();
    let counts = ["/old", "/a/b?x=1", "/end", "/order/hello"].map(sent);
    assert_eq!((counts, got.len()), ([5, 5, 5, 20], 35));
    assert_eq!(outcome.document().count("/users/journeys/0/completed"), 20);
}
