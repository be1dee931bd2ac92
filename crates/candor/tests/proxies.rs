//! Proxies between candor and a target: what each of them is asked for, and that the target's counts stay the ledger's.

use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};

use crate::common::{CANDOR, Candor, Outcome, Target, read_head};

/// Leads to one target whatever it is asked for, and keeps what it was asked: HTTP, whole URLs and CONNECT, or SOCKS 5.
struct Proxy {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    fn start(
        to: SocketAddr,
        serve: fn(TcpStream, SocketAddr, &Mutex<Vec<String>>) -> std::io::Result<()>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let all = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let all = Arc::clone(&all);
                std::thread::spawn(move || drop(serve(stream, to, &all)));
            }
        });
        Proxy { address, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// Both directions, until one of them ends.
fn pipe(client: TcpStream, server: TcpStream) -> std::io::Result<()> {
    let (mut back, mut from) = (client.try_clone()?, server.try_clone()?);
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut back);
        let _ = back.shutdown(std::net::Shutdown::Both);
    });
    std::io::copy(&mut &client, &mut &server)?;
    server.shutdown(std::net::Shutdown::Both)
}

/// Request lines with the fields that are a proxy's.
fn http(client: TcpStream, to: SocketAddr, asked: &Mutex<Vec<String>>) -> std::io::Result<()> {
    client.set_nodelay(true)?;
    let mut reader = BufReader::new(client.try_clone()?);
    let mut server: Option<TcpStream> = None;
    while let Some(head) = read_head(&mut reader)? {
        let own = |line: &&str| line.to_ascii_lowercase().starts_with("proxy-");
        let lines: Vec<&str> = head.lines().take(1).chain(head.lines().filter(own)).collect();
        asked.lock().unwrap().push(lines.join(" | "));
        let mut words = lines[0].split(' ');
        let (method, url) = (words.next().unwrap(), words.next().unwrap());
        if method == "CONNECT" {
            if url.starts_with("forbidden") {
                return (&client).write_all(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
            }
            (&client).write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
            return pipe(client, TcpStream::connect(to)?);
        }
        let path = url
            .strip_prefix("http://")
            .map_or("NOT-WHOLE", |rest| &rest[rest.find('/').unwrap()..]);
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
        reader.read_exact(&mut body)?;
        let is_new = server.is_none();
        let server = server.get_or_insert_with(|| TcpStream::connect(to).unwrap());
        if is_new {
            server.set_nodelay(true)?;
            let (mut back, mut from) = (client.try_clone()?, server.try_clone()?);
            std::thread::spawn(move || std::io::copy(&mut from, &mut back));
        }
        server.write_all(&[head.replacen(url, path, 1).as_bytes(), &body].concat())?;
    }
    Ok(())
}

/// The name, if there is no password or it is `ann:x`.
fn socks(mut client: TcpStream, to: SocketAddr, asked: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let some = |count: usize| {
        let mut bytes = vec![0; count];
        (&client).read_exact(&mut bytes).map(|()| bytes)
    };
    let ways = some(2)?[1];
    if some(ways.into())?.contains(&2) {
        (&client).write_all(&[5, 2])?;
        let login = some(7)?;
        (&client).write_all(&[1, u8::from(login != *b"\x01\x03ann\x01x")])?;
    } else {
        (&client).write_all(&[5, 0])?;
    }
    let length = some(5)?[4];
    let name = some(length.into())?;
    some(2)?;
    asked.lock().unwrap().push(String::from_utf8(name).unwrap());
    client.write_all(&[5, 0, 0, 1, 127, 0, 0, 1, 0, 80])?;
    pipe(client, TcpStream::connect(to)?)
}

/// Where a target listens.
fn address(target: &Target) -> SocketAddr {
    let url = target.url("/");
    url.split('/').nth(2).and_then(|one| one.parse().ok()).unwrap()
}

fn run(words: &[&str], prepare: impl FnOnce(&mut Command)) -> Outcome {
    let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
        command.current_dir(directory).arg("run").args(words);
        command.args(["--json", "result.json", "--report", "full"]);
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"] {
            command.env_remove(name).env_remove(name.to_ascii_lowercase());
        }
        prepare(command);
    });
    run.finish()
}

fn all_ok(outcome: &Outcome, target: &Target, count: u64) {
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    assert_eq!(outcome.document().ledger("ok"), count);
    target.assert_requests(count);
}

#[test]
fn an_http_proxy_is_asked_for_whole_urls_by_who_may() {
    let target = Target::start(&[]);
    let proxy = Proxy::start(address(&target), http);
    let of_ann = format!("ann:geh%65im@{}", proxy.address);
    let words = ["http://shop.test/json?q=1", "-x", &of_ann, "-n", "50", "-c", "3", "-b", "x"];
    let outcome = run(&words, |_| {});
    all_ok(&outcome, &target, 50);
    let line =
        "POST http://shop.test/json?q=1 HTTP/1.1 | Proxy-Authorization: Basic YW5uOmdlaGVpbQ==";
    assert_eq!(proxy.asked(), vec![line; 50]);
    // The password is in nothing that stays or is shown.
    let result = outcome.file("result.json");
    for secret in ["geh%65im", "geheim", "YW5uOmdlaGVpbQ"] {
        assert!(!result.contains(secret) && !outcome.stdout.contains(secret), "{secret}");
    }
    assert!(outcome.stdout.contains("through the proxy 127.0.0.1:"), "{}", outcome.stdout);
    for wrong in
        ["http://ann:geheim@:80", "ftp://ann:geheim@h", "ann:geheim@h:port", "https://ann:geheim@h"]
    {
        let outcome = run(&["http://shop.test/", "-x", wrong], |_| {});
        assert_eq!(outcome.code(), 2, "{}", outcome.stderr);
        assert!(!outcome.stderr.contains("geheim"), "{}", outcome.stderr);
    }
}

/// Requests that are made in the run, over a proxy: their paths are still those of the target.
#[test]
fn a_journey_through_a_proxy_keeps_its_cookies() {
    let target = Target::start(&[]);
    let proxy = Proxy::start(address(&target), http);
    let at = proxy.address.to_string();
    let outcome = {
        let plan = "url = 'http://shop.test/'\nrequests = 10\n[[journey]]\n\
                    [[journey.step]]\npath = '/json'\ncapture = { it = 'json:$.id' }\n\
                    [[journey.step]]\npath = '/json?x=${it}'\n";
        let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
            std::fs::write(directory.join("plan.toml"), plan).unwrap();
            command.current_dir(directory);
            command.args(["run", "plan.toml", "-x", &at, "--json", "result.json"]);
        });
        run.finish()
    };
    all_ok(&outcome, &target, 20);
    assert!(
        proxy.asked().contains(&"GET http://shop.test/json?x=4711 HTTP/1.1".to_owned()),
        "{:?}",
        proxy.asked()
    );
}

/// What a try shows is what the proxy got, without the password: of a request as it stands in the plan, and of one that
/// is made in the run.
#[test]
fn a_try_shows_what_a_proxy_gets() {
    let target = Target::start(&[]);
    for path in ["/json?q=1", "/json?q=${random 1..1}"] {
        let proxy = Proxy::start(address(&target), http);
        let of_ann = format!("ann:geh%65im@{}", proxy.address);
        let url = format!("http://shop.test{path}");
        let outcome = crate::common::candor(&["try", "-x", &of_ann, &url]);
        assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
        let asked = "GET http://shop.test/json?q=1 HTTP/1.1";
        let field = "Proxy-Authorization: Basic YW5uOmdlaGVpbQ==";
        assert_eq!(proxy.asked(), [format!("{asked} | {field}")]);
        let shown = |text: &str| assert!(outcome.stdout.contains(text), "{}", outcome.stdout);
        shown(&format!("through the proxy {}\n> {asked}\n", proxy.address));
        shown("> Proxy-Authorization: [redacted]\n");
        for secret in ["geh%65im", "geheim", "YW5uOmdlaGVpbQ"] {
            assert!(!outcome.stdout.contains(secret), "{secret}: {}", outcome.stdout);
        }
    }
    let proxy = Proxy::start(address(&target), socks);
    let at = format!("socks5h://ann:x@{}", proxy.address);
    let outcome = crate::common::candor(&["try", "-x", &at, "http://shop.test/"]);
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let line = format!("through the proxy {}, by SOCKS 5\n> GET / HTTP/1.1\n", proxy.address);
    assert!(outcome.stdout.contains(&line), "{}", outcome.stdout);
}

#[test]
fn tls_and_http_2_go_through_a_tunnel() {
    let (tls, clear) = (Target::start(&["--tls"]), Target::start(&[]));
    let proxy = Proxy::start(address(&tls), http);
    let at = proxy.address.to_string();
    let words = ["https://localhost:444/", "--insecure", "-x", &at, "-n", "40", "-c", "2"];
    assert_eq!(run(&words, |_| {}).document().ledger("ok"), 40);
    assert_eq!(proxy.asked(), vec!["CONNECT localhost:444 HTTP/1.1"; 2]);
    let proxy = Proxy::start(address(&clear), socks);
    let at = format!("socks5h://ann:x@{}", proxy.address);
    let words = ["http://shop.test/", "--h2c", "-x", &at, "-n", "40", "-c", "2"];
    all_ok(&run(&words, |_| {}), &clear, 40);
    assert_eq!(proxy.asked(), vec!["shop.test"; 2]);
}

#[test]
fn a_proxy_that_opens_no_tunnel_says_why() {
    let target = Target::start(&[]);
    let proxy = Proxy::start(address(&target), http);
    let at = proxy.address.to_string();
    let outcome = run(&["https://forbidden.test/", "-x", &at, "-n", "1", "-c", "1"], |_| {});
    assert_eq!(outcome.code(), 1, "{}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.stderr.contains("it responded 403 to CONNECT"), "{}", outcome.stderr);
    target.assert_requests(0);
}

#[test]
fn where_attempts_to_connect_went_is_said() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let dead = |words: &[&str]| {
        let outcome = run(&[&["-d", "300ms"], words].concat(), |_| {});
        assert_eq!(outcome.code(), 1, "{}{}", outcome.stdout, outcome.stderr);
        outcome.stderr.clone()
    };
    let proxy = dead(&["http://shop.test/", "-x", &gone]);
    assert!(proxy.contains(&format!("cannot connect to the proxy {gone}: ")), "{proxy}");
    let datagrams = dead(&[&format!("https://{gone}/"), "--h3", "--insecure"]);
    assert!(datagrams.contains(&format!("cannot connect over UDP to {gone}: ")), "{datagrams}");
    let direct = dead(&[&format!("http://{gone}/")]);
    assert!(direct.contains(&format!("cannot connect to {gone}: ")), "{direct}");
}

/// The environment's proxy is for what is elsewhere, and the report names it; an option comes first.
#[test]
fn the_environment_names_a_proxy_for_other_machines_alone() {
    let target = Target::start(&[]);
    let proxy = Proxy::start(address(&target), http);
    let named = format!("http://{}", proxy.address);
    let own = target.url("/");
    let here = run(&[&own, "-n", "10"], |command| {
        command.env("HTTP_PROXY", &named);
    });
    all_ok(&here, &target, 10);
    assert_eq!(proxy.asked(), Vec::<String>::new());
    let there = run(&["http://shop.test/", "-n", "10"], |command| {
        command.env("http_proxy", &named);
    });
    assert_eq!((there.code(), there.document().ledger("ok")), (0, 10), "{}", there.stderr);
    target.assert_requests(20);
    assert_eq!(proxy.asked().len(), 10);
    assert!(there.stdout.contains("(http_proxy)"), "{}", there.stdout);
    for direct in ["test", "*", "other.example, .shop.test"] {
        let words = ["http://shop.test/", "-n", "1"];
        let outcome = run(&words, |command| {
            command.env("HTTP_PROXY", &named).env("NO_PROXY", direct);
        });
        assert_ne!(outcome.code(), 0);
    }
    assert_ne!(
        run(&["http://shop.test/", "-n", "1", "--noproxy", "*", "-x", &named], |_| {}).code(),
        0
    );
    assert_eq!(proxy.asked().len(), 10);
}

#[test]
fn what_no_list_allows_is_not_asked_of_a_proxy() {
    let target = Target::start(&[]);
    let proxy = Proxy::start(address(&target), http);
    let at = proxy.address.to_string();
    let words = |allow: &'static str| {
        run(
            &["http://shop.test/", "-x", &at, "-n", "1", "--allow", "127.0.0.1", "--allow", allow],
            |_| {},
        )
    };
    let refused = words("other.test");
    assert!(refused.stderr.contains("shop.test is not allowed"), "{}", refused.stderr);
    assert_eq!(proxy.asked().len(), 0);
    assert_eq!(words("*.test").code(), 0);
}
