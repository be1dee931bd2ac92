//! Bytes on the wire, beside those of curl with the same options: forms, JSON, compression, proxies, early responses. What
//! differs is in docs/requests.md, and here. Redirects have a module of their own.

use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};

use crate::common::{CANDOR, Candor, read_head};

/// What a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Peer {
    /// It takes requests, as a proxy too.
    Plain,
    /// It responds to a header before the body, and reads on to the end of the connection.
    Early,
    /// A proxy of SOCKS 5, which wants this user.
    Socks(Option<&'static str>),
}

/// A server that keeps what comes.
struct Server {
    address: SocketAddr,
    got: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(peer: Peer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let got: Arc<Mutex<Vec<String>>> = Arc::default();
        let all = Arc::clone(&got);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let all = Arc::clone(&all);
                std::thread::spawn(move || serve(&stream, peer, &all));
            }
        });
        Server { address, got }
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.got.lock().unwrap())
    }
}

fn serve(stream: &TcpStream, peer: Peer, got: &Mutex<Vec<String>>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let note = |text: String| got.lock().unwrap().push(text);
    if let Peer::Socks(user) = peer {
        greet(stream, &mut reader, user, note)?;
    }
    while let Some(head) = read_head(&mut reader)? {
        if peer == Peer::Early {
            let response = b"HTTP/1.1 413 X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            (&*stream).write_all(response)?;
            let mut body = Vec::new();
            // A client may close with bytes unread.
            let _ = reader.read_to_end(&mut body);
            note(comparable(&head, &body));
            return Ok(());
        }
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
        reader.read_exact(&mut body)?;
        note(comparable(&head, &body));
        (&*stream).write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")?;
    }
    Ok(())
}

/// RFC 1928, RFC 1929: notes which ways are offered, the user, and where the connection is to go.
fn greet(
    stream: &TcpStream,
    reader: &mut impl Read,
    user: Option<&str>,
    note: impl Fn(String),
) -> std::io::Result<()> {
    let mut read = |count: usize| {
        let mut bytes = vec![0; count];
        reader.read_exact(&mut bytes).map(|()| bytes)
    };
    let count = usize::from(read(2)?[1]);
    // curl offers GSSAPI (1) too.
    let offered: Vec<u8> = read(count)?.into_iter().filter(|way| *way != 1).collect();
    note(format!("{offered:?}"));
    (&*stream).write_all(&[5, if user.is_some() { 2 } else { 0 }])?;
    if user.is_some() {
        let name = usize::from(read(2)?[1]);
        let name = read(name)?;
        let word = usize::from(read(1)?[0]);
        note(format!("{name:?} {:?}", read(word)?));
        (&*stream).write_all(&[1, 0])?;
    }
    let head = read(5)?;
    let rest = read(usize::from(head[4]) + 2)?;
    note(format!("{head:?} {rest:?}"));
    (&*stream).write_all(&[5, 0, 0, 1, 127, 0, 0, 1, 0, 80])
}

/// A request with its fields sorted, without those that curl adds by itself, and with the same boundary.
fn comparable(head: &str, body: &[u8]) -> String {
    let mut lines: Vec<String> = head.trim_end().split("\r\n").map(str::to_owned).collect();
    lines.retain(|line| {
        !line.starts_with("User-Agent: curl/")
            && line != "Accept: */*"
            && line != "Proxy-Connection: Keep-Alive"
    });
    let mut body = String::from_utf8_lossy(body).into_owned();
    let boundary = head.split("boundary=").nth(1).and_then(|rest| rest.lines().next());
    if let Some(boundary) = boundary {
        body = body.replace(boundary, "BOUNDARY");
        lines.retain(|line| !line.starts_with("Content-Length"));
        lines.iter_mut().for_each(|line| *line = line.replace(boundary, "BOUNDARY"));
    }
    // Codings are a set.
    for line in &mut lines {
        if let Some(codings) = line.strip_prefix("Accept-Encoding: ") {
            let mut codings: Vec<&str> = codings.split(", ").collect();
            codings.sort_unstable();
            *line = format!("Accept-Encoding: {}", codings.join(", "));
        }
    }
    lines[1..].sort();
    format!("{}\n\n{body}", lines.join("\n"))
}

/// What curl sends with its words, and one request of ours; where they say SERVER is the server.
fn both(peer: Peer, of_curl: &[&str], own: &[&str], plan: &str) -> (Vec<String>, Vec<String>) {
    let server = Server::start(peer);
    let address = server.address.to_string();
    let words = |words: &[&str]| -> Vec<String> {
        words.iter().map(|word| word.replace("SERVER", &address)).collect()
    };
    let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
        std::fs::write(directory.join("FILE"), b"<\0pic>\r\n").unwrap();
        std::fs::write(directory.join("plan.toml"), plan.replace("SERVER", &address)).unwrap();
        let mut curl = Command::new("curl");
        curl.args(["-q", "-sS", "-o", "/dev/null", "-m", "20"]).args(words(of_curl));
        let status = curl.env("NO_PROXY", "").current_dir(directory).status().unwrap();
        assert!(status.success(), "{of_curl:?}");
        command.args(["run", "-n", "1", "-c", "1", "--progress", "off"]).args(words(own));
        command.current_dir(directory);
    });
    let outcome = run.finish();
    // A request that ends with its connection is noted when that is closed.
    let begun = std::time::Instant::now();
    while !server.got.lock().unwrap().len().is_multiple_of(2) && begun.elapsed().as_secs() < 10 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let all = server.take();
    assert_eq!(all.len() % 2, 0, "{all:?}\n{}{}", outcome.stdout, outcome.stderr);
    let (first, second) = all.split_at(all.len() / 2);
    (first.to_vec(), second.to_vec())
}

fn assert_same(peer: Peer, of_curl: &[&str], own: &[&str]) -> Vec<String> {
    let (curl, ours) = both(peer, of_curl, own, "");
    assert_eq!(ours, curl, "{own:?}");
    assert!(!ours.is_empty());
    ours
}

const URL: &str = "http://SERVER/a?b=c";

#[test]
fn forms_are_those_of_curl() {
    for fields in [
        &["-F", "a=b"][..],
        &["-F", "a=b", "-F", "c=\"d;e\";type=text/x", "-F", "f=@FILE;filename=x.png"],
        &["-F", "f=@FILE", "-F", "g=<FILE", "-F", "n\"=1;headers=\"X-Y: z\""],
    ] {
        let words = [fields, &[URL]].concat();
        let got = assert_same(Peer::Plain, &words, &words);
        assert!(got[0].contains("--BOUNDARY--"), "{got:?}");
    }
}

#[test]
fn bodies_are_those_of_curl_with_the_type_that_is_given() {
    let typed = ["-H", "Content-Type: text/x", URL];
    for (of_curl, own) in [
        (["--data-raw", "x=1"], ["-b", "x=1"]),
        (["--data-binary", "@FILE"], ["--body-file", "FILE"]),
    ] {
        assert_same(Peer::Plain, &[&of_curl[..], &typed].concat(), &[&own[..], &typed].concat());
    }
    // JSON of a plan has its type; curl says too that it takes it.
    let plan = "url = 'SERVER'\n[[request]]\njson = {a = 1, b = [true, 'x']}\nheaders = {Accept = 'application/json'}\n";
    let plan = plan.replace("SERVER", URL);
    let json = ["--json", "{\"a\":1,\"b\":[true,\"x\"]}", URL];
    let (curl, ours) = both(Peer::Plain, &json, &["plan.toml"], &plan);
    assert_eq!((ours.len(), &ours), (1, &curl));
}

/// The same codings, in another order.
#[test]
fn compression_is_asked_for_as_curl_does() {
    let got = assert_same(Peer::Plain, &["--compressed", URL], &["--compressed", URL]);
    assert!(got[0].contains("Accept-Encoding: br, deflate, gzip, zstd"), "{got:?}");
}

/// But for Proxy-Connection, which is no field of HTTP.
#[test]
fn proxies_are_asked_as_curl_does() {
    let user = ["-x", "http://ann:p%40ss@SERVER"];
    let plain = ["-x", "http://SERVER"];
    for proxy in [plain, user] {
        let words = [&proxy[..], &["http://127.0.0.2:7/a?b"]].concat();
        let got = assert_same(Peer::Plain, &words, &words);
        assert!(got[0].starts_with("GET http://127.0.0.2:7/a?b HTTP/1.1"), "{got:?}");
    }
    for user in [None, Some("ann")] {
        let proxy = if user.is_some() { "socks5h://ann:p%40ss@SERVER" } else { "socks5h://SERVER" };
        let words = ["-x", proxy, "http://localhost:7/a?b"];
        let got = assert_same(Peer::Socks(user), &words, &words);
        assert_eq!(got.len(), if user.is_some() { 4 } else { 3 }, "{got:?}");
    }
}

/// A final response in place of 100 (Continue): nothing of the body follows.
#[test]
fn after_an_early_response_no_body_follows() {
    let typed = ["-H", "Content-Type: text/x", URL];
    let curl = ["-H", "Expect: 100-continue", "--data-binary", "@FILE"];
    let own = ["--expect-continue", "-X", "POST", "--body-file", "FILE"];
    let (curl, own) = ([&curl[..], &typed].concat(), [&own[..], &typed].concat());
    let got = assert_same(Peer::Early, &curl, &own);
    assert!(got[0].ends_with("\n\n"), "{got:?}");
}
