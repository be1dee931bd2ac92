//! Malicious servers with HTTP/1.1, or something like it.

use std::time::Duration;

use candor_testkit::peer::{ANSWER, Over, Player};

use super::{Server, many};

const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
const LENGTH_5: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n";
const UPLOAD: &[&str] = &["-X", "POST", "--body-file", "upload"];

/// Every server of this kind.
pub(crate) fn servers() -> Vec<Server> {
    let mut all = floods();
    all.extend(streams());
    all.extend(answers());
    all.extend(connections());
    all
}

/// Responds to a request with `first`, and then with endless `piece`s.
fn flood(
    name: &'static str,
    outcomes: &'static [&'static str],
    first: impl Into<Vec<u8>>,
    piece: impl Into<Vec<u8>>,
) -> Server {
    let (first, piece) = (first.into(), many(piece.into()));
    Server::new(name, &[], outcomes, move |_, player| {
        player.read_request()?;
        player.write(&first)?;
        player.write_forever(&piece, Duration::ZERO)
    })
}

/// Responses without an end as streams of events, some of which a rule reads.
fn streams() -> Vec<Server> {
    const HEAD: &str = "HTTP/1.1 200 OK\r\n\r\n";
    const READ: &[&str] = &["--stream", "sse", "--stream-error", "x", "--tokens", "json:$..n"];
    let with = |flags: &[&'static str], server: Server| Server { flags: flags.to_vec(), ..server };
    vec![
        with(READ, flood("an event without an end", &["body-limit"], HEAD, "data: y\n")),
        with(
            READ,
            flood(
                "the name of an event without an end",
                &["body-limit"],
                format!("{HEAD}event: "),
                "y",
            ),
        ),
        with(READ, flood("empty events without an end", &["timeout"], HEAD, "data\n\n")),
        with(READ, flood("comments without an end", &["timeout"], HEAD, ":\n\n")),
        with(
            &["--stream", "sse"],
            flood("an event that no rule reads", &["timeout"], HEAD, "data: y\n"),
        ),
        with(
            &["--stream", "ndjson", "--stream-end", "x"],
            flood("a line without an end", &["body-limit"], HEAD, "y"),
        ),
    ]
}

fn floods() -> Vec<Server> {
    let field = |name: &str| format!("{LENGTH_5}{name}");
    vec![
        flood("chunks of one byte without an end", &["timeout"], CHUNKED, "1\r\nx\r\n"),
        flood("a chunk extension without an end", &["malformed"], format!("{CHUNKED}5;"), "a"),
        flood("a chunk size of endless zeros", &["malformed"], CHUNKED, "0"),
        flood(
            "a chunk of 2^63 - 1 bytes",
            &["timeout"],
            format!("{CHUNKED}7fffffffffffffff\r\n"),
            "x",
        ),
        flood("trailers without an end", &["malformed"], format!("{CHUNKED}0\r\n"), "a: b\r\n"),
        flood("one trailer without an end", &["malformed"], format!("{CHUNKED}0\r\na: "), "b"),
        flood(
            "interim responses without an end",
            &["malformed"],
            "",
            "HTTP/1.1 103 Early Hints\r\n\r\n",
        ),
        flood(
            "interim responses with large fields",
            &["malformed"],
            "",
            format!("HTTP/1.1 103 x\r\nlink: {}\r\n\r\n", "y".repeat(8000)),
        ),
        flood("a status line without an end", &["malformed"], "HTTP/1.1 200 ", "OK "),
        flood("a field name without an end", &["malformed"], field("x"), "x"),
        flood("a field value without an end", &["malformed"], field("x: "), "y"),
        flood("fields without an end", &["malformed"], LENGTH_5, "x: y\r\n"),
        flood("folded lines without an end", &["malformed"], field("x: y\r\n"), " z\r\n"),
        flood("empty lines before the response", &["malformed"], "", "\r\n"),
        flood(
            "a body until the close that never comes",
            &["timeout"],
            "HTTP/1.0 200 OK\r\n\r\n",
            "x",
        ),
        flood(
            "a body of 2^64 - 1 bytes",
            &["malformed", "timeout"],
            "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n",
            "x",
        ),
        flood("responses without requests", &["malformed", "ok"], "", ANSWER),
        flood(
            "responses after the one that closes",
            &["ok"],
            format!("{LENGTH_5}Connection: close\r\n\r\nhello"),
            ANSWER,
        ),
        flood("bytes of every value", &["malformed"], "", (0..=255).collect::<Vec<u8>>()),
        flood(
            "a switch to another protocol",
            &["malformed"],
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
            "x",
        ),
        Server::new("requests on both sides", &[], &["malformed"], |_, player| {
            player.write_forever(many(b"GET / HTTP/1.1\r\nHost: you\r\n\r\n"), Duration::ZERO)
        }),
        Server::new(
            "responses before any request, without an end",
            &[],
            &["malformed", "ok"],
            |_, player| player.write_forever(many(ANSWER), Duration::ZERO),
        ),
    ]
}

/// Responds to each request with these bytes; the connection stays open.
fn response(
    name: &'static str,
    outcomes: &'static [&'static str],
    bytes: impl Into<Vec<u8>>,
) -> Server {
    let bytes = bytes.into();
    Server::new(name, &[], outcomes, move |_, player| {
        loop {
            player.read_request()?;
            player.write(&bytes)?;
        }
    })
}

fn answers() -> Vec<Server> {
    let length = |value: &str| format!("HTTP/1.1 200 OK\r\nContent-Length: {value}\r\n\r\nhello");
    let field = |line: &str| format!("{LENGTH_5}{line}\r\n\r\nhello");
    let coding = |value: &str| {
        format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: {value}\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
    };
    let chunk = |size: &str| format!("{CHUNKED}{size}\r\nhello\r\n0\r\n\r\n");
    vec![
        response("a negative chunk size", &["malformed"], chunk("-5")),
        response("a chunk of 2^64 bytes", &["malformed"], chunk("10000000000000000")),
        response("a chunk size with a sign", &["malformed"], chunk("+5")),
        response("a chunk size with 0x", &["malformed"], chunk("0x5")),
        response("a chunk longer than its size", &["malformed"], chunk("4")),
        response("Content-Length of 2^64", &["malformed"], length("18446744073709551616")),
        response("Content-Length of -5", &["malformed"], length("-5")),
        response("Content-Length of 5, 6", &["malformed"], length("5, 6")),
        response("two Content-Lengths", &["malformed"], field("Content-Length: 6")),
        response(
            "both lengths of a body",
            &["malformed", "ok"],
            field("Transfer-Encoding: chunked"),
        ),
        response("chunked twice", &["malformed", "timeout"], coding("chunked, chunked")),
        response("a coding after chunked", &["malformed", "timeout"], coding("chunked, gzip")),
        response("a coding that is none", &["malformed", "timeout"], coding("\u{b}chunked")),
        response("status 99", &["malformed"], "HTTP/1.1 099 x\r\nContent-Length: 0\r\n\r\n"),
        response("status 1000", &["malformed"], "HTTP/1.1 1000 x\r\nContent-Length: 0\r\n\r\n"),
        response("status -20", &["malformed"], "HTTP/1.1 -20 x\r\nContent-Length: 0\r\n\r\n"),
        response(
            "status 999",
            &["malformed", "status"],
            "HTTP/1.1 999 x\r\nContent-Length: 0\r\n\r\n",
        ),
        response("HTTP/9.9", &["malformed"], "HTTP/9.9 200 OK\r\nContent-Length: 0\r\n\r\n"),
        response("NUL in a field", &["malformed"], field("x: a\0b")),
        response("bare CR in a field", &["malformed"], field("x: a\rb: c")),
        response("a space before the colon", &["malformed"], field("Content-Length : 6")),
        response("a field without a name", &["malformed"], field(": x")),
        response(
            "a 204 with a body",
            &["malformed", "ok"],
            "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello",
        ),
        response("a hundred responses to each request", &["malformed", "ok"], ANSWER.repeat(100)),
        response(
            "terminal escapes in the reason",
            &["status"],
            "HTTP/1.1 500 \x1b]0;owned\x07\x1b[2J\u{202e}\r\nContent-Length: 0\r\n\r\n",
        ),
        response(
            "terminal escapes in what is malformed",
            &["malformed"],
            "\x1b[31mHTTP/1.1\x1b[2J \u{9b}2J\r\n\r\n",
        ),
        response(
            "60 KiB of cookies",
            &["ok", "malformed"],
            field(&format!("Set-Cookie: {}", "c".repeat(60 << 10))),
        ),
        response("SETTINGS of HTTP/2", &["malformed"], [0, 0, 0, 4, 0, 0, 0, 0, 0].repeat(3)),
        response("an alert of TLS", &["malformed"], *b"\x15\x03\x01\x00\x02\x02\x28"),
    ]
}

fn connections() -> Vec<Server> {
    vec![
        Server::new("ends its direction in half a response", &[], &["truncated"], |_, player| {
            player.read_request()?;
            player.write(format!("{LENGTH_5}\r\nhe"))?;
            player.end_sending()?;
            player.hang()
        }),
        Server::new("ends its direction before the response", &[], &["closed"], |_, player| {
            player.end_sending()?;
            player.hang()
        }),
        Server::new("resets after half a response", &[], &["reset", "truncated"], |_, player| {
            player.read_request()?;
            player.write(format!("{LENGTH_5}\r\nhe"))?;
            player.reset()
        }),
        Server::new(
            "resets after a whole response",
            &[],
            &["ok", "reset", "closed"],
            |_, player| {
                player.read_request()?;
                player.write(ANSWER)?;
                player.reset()
            },
        ),
        Server::new("accepts and never reads", UPLOAD, &["timeout"], |_, player| {
            player.shrink_receive_buffer()?;
            player.sleep(Duration::from_secs(60))
        }),
        Server::new("reads a few bytes at a time", UPLOAD, &["timeout"], |_, player| {
            player.shrink_receive_buffer()?;
            loop {
                player.read_some()?;
                player.sleep(Duration::from_millis(50))?;
            }
        }),
        Server::new(
            "answers an upload at its first bytes, forever",
            UPLOAD,
            &["ok", "timeout", "malformed", "write", "reset", "closed", "status"],
            |_, player| {
                player.read_some()?;
                player.write_forever(many(ANSWER), Duration::ZERO)
            },
        ),
        Server::new("a head that drips", &[], &["timeout"], |_, player| {
            player.read_request()?;
            player.drip(
                "HTTP/1.1 200 OK\r\n".to_owned() + &"x: y\r\n".repeat(100),
                Duration::from_millis(30),
            )
        }),
        Server::new(
            "a body that drips",
            &["--idle-timeout", "300ms"],
            &["timeout", "idle-timeout"],
            |_, player| {
                player.read_request()?;
                player.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")?;
                player.drip([b'x'; 1000], Duration::from_millis(30))
            },
        ),
        Server::new(
            "pipelined requests answered out of number",
            &["--pipeline", "4"],
            &["ok", "malformed", "timeout"],
            odd_pipeline,
        ),
        Server::new(
            "closes at once, most of the time",
            &[],
            &["ok", "closed", "reset"],
            |number, player| {
                if number.is_multiple_of(3) {
                    player.read_request()?;
                    player.write(ANSWER)?;
                }
                Ok(())
            },
        ),
    ]
}

/// Responds to three of four requests, and then to seven at once.
fn odd_pipeline(_: u64, player: &mut Player) -> Result<(), Over> {
    for responses in [3, 7].into_iter().cycle() {
        for _ in 0..4 {
            player.read_request()?;
        }
        player.write(ANSWER.repeat(responses))?;
    }
    Ok(())
}
