//! Every scenario path against a raw client: status, the fields that matter, the body to the byte.

use std::io::Read as _;
use std::time::{Duration, Instant};

use crate::{connect, start};
use candor_serve::Config;
use candor_testkit::client::Client;

#[test]
fn hello_is_seven_bytes() {
    let server = start(Config::default());
    let answer = connect(&server).get("/");
    assert_eq!((answer.status, answer.text()), (200, "alive\r\n"));
    assert_eq!(answer.header("content-length"), Some("7"));
    assert!(answer.header("date").is_some());
}

#[test]
fn httpc_bench_is_twelve_bytes() {
    let server = start(Config::default());
    let answer = connect(&server).get("/httpc-bench");
    assert_eq!((answer.status, answer.text()), (200, "httpc_bench!"));
    assert_eq!(answer.header("content-length"), Some("12"));
    assert_eq!(server.stop().unwrap().requests_by_scenario["httpc_bench"], 1);
}

#[test]
fn hello_with_heavy_headers_is_the_same() {
    let server = start(Config::default());
    let fields: Vec<String> = (1..=16).map(|n| format!("x-bench-{n}: {}", "g".repeat(n))).collect();
    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
    assert_eq!(connect(&server).ask("GET", "/", &fields, b"").text(), "alive\r\n");
}

#[test]
fn hello_comes_to_any_method_with_any_body() {
    let server = start(Config::default());
    let mut client = connect(&server);
    let body = vec![b'x'; 1 << 20];
    for method in ["POST", "PUT", "DELETE", "BREW"] {
        assert_eq!(client.ask(method, "/", &[], &body).text(), "alive\r\n", "{method}");
    }
}

#[test]
fn echo_gives_the_body_back() {
    let server = start(Config::default());
    let mut client = connect(&server);
    for length in [1, 256, 4096, 300_000] {
        let body: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
        let answer = client.ask("POST", "/echo", &["Content-Type: x/y"], &body);
        assert_eq!(answer.body, body);
        assert_eq!(answer.header("content-type"), Some("x/y"));
    }
    assert_eq!(client.ask("POST", "/echo", &["Content-Length: 0"], b"").body, b"");
}

#[test]
fn echo_takes_chunks() {
    let server = start(Config::default());
    let mut client = connect(&server);
    let chunk = format!("100\r\n{}\r\n", "c".repeat(256));
    let head = "POST /echo HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n";
    client.send(format!("{head}{}0\r\n\r\n", chunk.repeat(4)));
    assert_eq!(client.read_answer().body, [b'c'; 1024]);
}

#[test]
fn echo_passes_compressed_bodies_through() {
    let server = start(Config::default());
    let gzip = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let answer = connect(&server).ask("POST", "/echo", &["Content-Encoding: gzip"], &gzip);
    assert_eq!(answer.body, gzip);
    assert_eq!(answer.header("content-encoding"), Some("gzip"));
}

#[test]
fn echo_says_100_before_it_wants_the_body() {
    let server = start(Config::default());
    let mut client = connect(&server);
    let expect = "Expect: 100-continue\r\nContent-Length: 4\r\n\r\n";
    client.send(format!("POST /echo HTTP/1.1\r\nHost: test\r\n{expect}"));
    assert_eq!(client.read_answer().status, 100);
    client.send("body");
    assert_eq!(client.read_answer().text(), "body");
}

#[test]
fn a_body_that_breaks_off_is_no_success() {
    let server = start(Config::default());
    let mut client = connect(&server);
    client.send("POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 256\r\n\r\n");
    client.send([b'x'; 128]);
    client.stream().shutdown(std::net::Shutdown::Write).unwrap();
    if let Ok(answer) = client.try_read_answer(false) {
        assert_eq!(answer.status, 400);
    }
}

#[test]
fn large_is_64_kib_and_head_has_its_length_alone() {
    let server = start(Config::default());
    let mut client = connect(&server);
    assert_eq!(client.get("/large").body.len(), 65536);
    let head = client.ask("HEAD", "/large", &[], b"");
    assert_eq!((head.status, head.header("content-length")), (200, Some("65536")));
    // If a body followed, the next response would be unreadable.
    assert_eq!(client.get("/").status, 200);
}

#[test]
fn head_works_everywhere() {
    let server = start(Config::default());
    let mut client = connect(&server);
    for (path, status, length) in [
        ("/", 200, Some("7")),
        ("/streaming", 200, None),
        ("/bytes/0", 200, None),
        ("/bytes/1m", 200, Some("1048576")),
        ("/status/204", 204, None),
        ("/none", 404, Some("10")),
    ] {
        let answer = client.ask("HEAD", path, &[], b"");
        assert_eq!((answer.status, answer.header("content-length")), (status, length), "{path}");
    }
}

#[test]
fn json_is_115_bytes_of_an_object() {
    let server = start(Config::default());
    let answer = connect(&server).ask("GET", "/json", &["Accept: application/json"], b"");
    assert_eq!(answer.body.len(), 115);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert!(serde_json::from_slice::<serde_json::Value>(&answer.body).unwrap().is_object());
}

#[test]
fn cookies_pairs_and_parameters_are_counted() {
    let server = start(Config::default());
    let mut client = connect(&server);
    let cookies: Vec<String> = (0..8).map(|n| format!("cookie{n}=value-of-cookie-{n}")).collect();
    let cookies = format!("Cookie: {}", cookies.join("; "));
    assert_eq!(client.ask("GET", "/cookies", &[&cookies], b"").text(), "8");

    let letters = "abcdefghijklmnopqrstuvwxyz0";
    let pairs: Vec<String> = (0..128).map(|n| format!("k{n:03}={letters}")).collect();
    let form = pairs.join("&");
    let kind = "Content-Type: application/x-www-form-urlencoded";
    assert_eq!(client.ask("POST", "/form", &[kind], form.as_bytes()).text(), "128");

    assert_eq!(client.get("/qs?a=1&b=2&c=3&d=4&e=5&f=6").text(), "6");
    assert_eq!(client.get("/qs?n=%C3%A4&m=a+b&o=%E2%82%AC&p=1&q=%F0%9F%98%80").text(), "5");
    assert_eq!(client.get("/qs").text(), "0");
}

#[test]
fn drain_and_upload_read_the_whole_body() {
    let server = start(Config::default());
    let mut client = connect(&server);
    let body = vec![0; 5 << 20];
    assert_eq!(client.ask("POST", "/drain", &[], &body[..1 << 20]).text(), "ok");
    assert_eq!(client.ask("POST", "/upload", &[], &body).text(), "5242880");
    drop(client);
    assert_eq!(server.stop().unwrap().body_bytes, 6 << 20);
}

#[test]
fn gzip_inflates_to_16_kib() {
    let server = start(Config::default());
    let mut client = connect(&server);
    let answer = client.ask("GET", "/gzip", &["Accept-Encoding: gzip"], b"");
    assert_eq!(answer.header("content-encoding"), Some("gzip"));
    assert!(answer.body.len() < 8192);
    let mut inflated = Vec::new();
    flate2::read::GzDecoder::new(&answer.body[..]).read_to_end(&mut inflated).unwrap();
    assert_eq!(inflated.len(), 16384);
    let plain = client.get("/gzip");
    assert_eq!(plain.header("content-encoding"), None);
    assert_eq!(plain.body, inflated);
}

#[test]
fn server_sent_events_are_100_ticks_and_a_close() {
    let server = start(Config::default());
    let mut client = connect(&server);
    let answer = client.get("/sse");
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    assert_eq!(answer.text().matches("event: tick\n").count(), 100);
    assert_eq!(client.read_to_end().unwrap(), b"");
}

#[test]
fn etag_is_compared() {
    let server = start(Config::default());
    let mut client = connect(&server);
    for known in ["\"v1\"", "W/\"v1\"", "\"v0\", \"v1\"", "*"] {
        let answer = client.ask("GET", "/etag", &[&format!("If-None-Match: {known}")], b"");
        assert_eq!((answer.status, answer.header("etag")), (304, Some("\"v1\"")), "{known}");
    }
    assert_eq!(client.ask("GET", "/etag", &["If-None-Match: \"v2\""], b"").status, 200);
    assert_eq!(client.get("/etag").status, 200);
}

#[test]
fn preflight_and_redirect() {
    let server = start(Config::default());
    let mut client = connect(&server);
    let fields = ["Origin: http://a", "Access-Control-Request-Method: POST"];
    let answer = client.ask("OPTIONS", "/api", &fields, b"");
    assert_eq!(answer.status, 204);
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    assert_eq!(client.get("/api").status, 404);
    assert_eq!(client.ask("OPTIONS", "*", &[], b"").status, 204);
    let answer = client.get("/redirect");
    assert_eq!((answer.status, answer.header("location")), (302, Some("/")));
}

#[test]
fn httparena_answers_are_computed() {
    let server = start(Config::default());
    let mut client = connect(&server);
    assert_eq!(client.get("/baseline11?a=123&b=456").text(), "579");
    assert_eq!(client.get("/baseline11?b=-5&a=2").text(), "-3");
    for wrong in ["/baseline11", "/baseline11?a=1", "/baseline11?a=x&b=1"] {
        assert_eq!(client.get(wrong).status, 404, "{wrong}");
    }
    for (body, sum) in [("20", Some("599")), ("", Some("579")), ("x", None)] {
        let answer = client.ask("POST", "/baseline11?a=123&b=456", &[], body.as_bytes());
        assert_eq!((answer.status == 200).then(|| answer.text()), sum, "{body}");
    }
    assert_eq!(client.get("/pipeline").text(), "ok");
    assert_eq!(client.get("/json/7?m=2").body, client.get("/httparena_json/7?m=2").body);
    let answer = client.get("/httparena_json/50?m=3");
    let value: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    let items = value["items"].as_array().unwrap();
    assert_eq!((items.len(), value["count"].as_u64()), (50, Some(50)));
    for item in items {
        let [price, quantity, total] =
            ["price", "quantity", "total"].map(|name| item[name].as_u64().unwrap());
        assert_eq!(total, price * quantity * 3);
    }
    let none: serde_json::Value =
        serde_json::from_slice(&client.get("/httparena_json/0").body).unwrap();
    assert_eq!(none["count"], 0);
    assert_eq!(client.get("/httparena_json/51").status, 404);
}

#[test]
fn chunked_answers_keep_their_chunks() {
    let server = start(Config::default());
    let mut client = connect(&server);
    assert_eq!(client.get("/streaming").chunks, [4096; 4]);
    assert_eq!(client.get("/small").chunks, [64; 100]);
    assert_eq!(client.get("/stream/3/100k").chunks, [102_400; 3]);
    for wrong in ["/stream/", "/stream/1", "/stream/1/0", "/stream/1/1g", "/stream/1/1/1ms/1"] {
        assert_eq!(client.get(wrong).status, 404, "{wrong}");
    }
}

#[test]
fn a_stream_keeps_its_gap() {
    let server = start(Config::default());
    let begin = Instant::now();
    assert_eq!(connect(&server).get("/stream/5/10/20ms").chunks, [10; 5]);
    // Four gaps; the first chunk leaves at once.
    assert!(begin.elapsed() >= Duration::from_millis(80), "{:?}", begin.elapsed());
}

#[test]
fn a_hundred_routes_and_no_more() {
    let server = start(Config::default());
    let mut client = connect(&server);
    for number in 0..100 {
        assert_eq!(client.get(&format!("/route/{number}")).text(), number.to_string());
    }
    for wrong in ["/route/100", "/route/-1", "/route/+7", "/route/07", "/route/", "/nowhere"] {
        assert_eq!(client.get(wrong).status, 404, "{wrong}");
    }
    assert_eq!(client.get("/static/hello.txt").text(), "Hello from a static file.\n");
}

#[test]
fn delay_status_and_bytes_do_as_the_path_says() {
    let server = start(Config::default());
    let mut client = connect(&server);
    let begin = Instant::now();
    assert_eq!(client.get("/delay/30ms").text(), "ok");
    assert!(begin.elapsed() >= Duration::from_millis(30));
    for status in [200, 204, 304, 404, 418, 503, 599] {
        assert_eq!(client.get(&format!("/status/{status}")).status, status);
    }
    for (length, bytes) in [("0", 0), ("1", 1), ("64k", 65536), ("1m", 1 << 20), ("100001", 100001)]
    {
        assert_eq!(client.get(&format!("/bytes/{length}")).body.len(), bytes);
    }
    for wrong in ["/status/99", "/status/100", "/status/600", "/delay/5", "/bytes/2g", "/bytes/x"] {
        assert_eq!(client.get(wrong).status, 404, "{wrong}");
    }
}

#[test]
fn pipelined_and_slow_requests_are_answered_one_by_one() {
    let server = start(Config::default());
    let mut client = connect(&server);
    client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n".repeat(4));
    for _ in 0..4 {
        assert_eq!(client.read_answer().text(), "alive\r\n");
    }
    for piece in ["GE", "T / HT", "TP/1.1\r\nHo", "st: test\r", "\n\r\n"] {
        client.send(piece);
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(client.read_answer().status, 200);
}

#[test]
fn the_unix_socket_serves_as_well() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    // A leftover of a dead server: it has no listener.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let config = Config { unix_socket: Some(path.clone()), threads: 2, ..Config::default() };
    let server = start(config);
    for _ in 0..4 {
        assert_eq!(Client::connect_unix(&path).get("/").text(), "alive\r\n");
    }
    assert_eq!(server.stop().unwrap().requests_answered, 4);
    assert!(!path.exists());
}
