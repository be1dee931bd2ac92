//! Malicious servers with HTTP/2, or something like it, in addition to those of `hostile_h2.rs`,
//! which has the table of docs/http2.md.

use std::time::Duration;

use candor_testkit::peer::{Over, Player};

use super::{Server, many};

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
const UNKNOWN: u8 = 0xee;

const END_STREAM: u8 = 1;
const ACK: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;

/// `:status: 200`.
pub(crate) const OK: &[u8] = &[0x88];
/// `:status: 103`, as a literal.
const HINTS: &[u8] = b"\x08\x03103";

const UPLOAD: &[&str] = &["-X", "POST", "--body-file", "upload"];

/// A frame.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: impl AsRef<[u8]>) -> Vec<u8> {
    let payload = payload.as_ref();
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

fn setting(id: u16, value: u32) -> Vec<u8> {
    frame(SETTINGS, 0, 0, [&id.to_be_bytes()[..], &value.to_be_bytes()].concat())
}

fn number(kind: u8, stream: u32, value: u32) -> Vec<u8> {
    frame(kind, 0, stream, value.to_be_bytes())
}

fn goaway(last: u32, debug: &[u8]) -> Vec<u8> {
    frame(GOAWAY, 0, 0, [&last.to_be_bytes(), &0u32.to_be_bytes(), debug].concat())
}

fn empty_settings() -> Vec<u8> {
    frame(SETTINGS, 0, 0, "")
}

/// Every server of this kind.
pub(crate) fn servers() -> Vec<Server> {
    let mut all = floods();
    all.extend(answers());
    all.extend(beginnings());
    for server in &mut all {
        server.flags.splice(0..0, ["--h2c", "-m", "2"]);
    }
    all
}

/// Sends SETTINGS; after the first request, `first`, and then endless `piece`s.
fn flood(
    name: &'static str,
    outcomes: &'static [&'static str],
    first: Vec<u8>,
    piece: Vec<u8>,
) -> Server {
    let piece = many(&piece);
    Server::new(name, &[], outcomes, move |_, player| {
        player.write(empty_settings())?;
        player.read_h2_request()?;
        player.write(&first)?;
        player.write_forever(&piece, Duration::ZERO)
    })
}

fn floods() -> Vec<Server> {
    let open = || frame(HEADERS, END_HEADERS, 1, OK);
    let padded = [&[255, b'x'][..], &[0; 255]].concat();
    // A new entry of 3,900 bytes pushes out the one before it.
    let entry = |name: u8| [&[0x40, 1, name, 0x7f, 0xbd, 0x1d][..], &[b'y'; 3900]].concat();
    let with_body = |mut server: Server| {
        server.flags.extend(UPLOAD);
        server
    };
    vec![
        flood(
            "DATA of one byte without an end",
            &["timeout", "malformed"],
            open(),
            frame(DATA, 0, 1, "x"),
        ),
        flood(
            "DATA that is padding",
            &["timeout", "malformed"],
            open(),
            frame(DATA, PADDED, 1, padded),
        ),
        flood(
            "interim responses without an end",
            &["malformed"],
            vec![],
            frame(HEADERS, END_HEADERS, 1, HINTS),
        ),
        flood(
            "trailers again and again",
            &["malformed"],
            open(),
            frame(HEADERS, END_HEADERS, 1, b"\x00\x01a\x01b"),
        ),
        flood(
            "windows that open and close",
            &["malformed"],
            vec![],
            [setting(4, 0), setting(4, 0x7fff_ffff)].concat(),
        ),
        flood(
            "tables that grow and shrink",
            &["malformed"],
            vec![],
            [setting(1, 0), setting(1, u32::MAX)].concat(),
        ),
        flood(
            "acknowledged SETTINGS that nobody sent",
            &["malformed"],
            vec![],
            frame(SETTINGS, ACK, 0, ""),
        ),
        flood(
            "answers to PINGs that nobody sent",
            &["malformed"],
            vec![],
            frame(PING, ACK, 0, [7; 8]),
        ),
        flood(
            "frames of an unknown kind",
            &["malformed", "timeout"],
            vec![],
            frame(UNKNOWN, 0xff, 0, [0; 100]),
        ),
        flood(
            "frames of an unknown kind on streams that are not",
            &["malformed", "timeout"],
            vec![],
            frame(UNKNOWN, 0xff, 77, ""),
        ),
        flood(
            "PRIORITY of streams to come",
            &["malformed"],
            vec![],
            (0..99).flat_map(|n| frame(PRIORITY, 0, 2 * n + 1, [0, 0, 0, 0, 9])).collect(),
        ),
        flood(
            "promises without an end",
            &["malformed"],
            vec![],
            frame(PUSH_PROMISE, 0, 1, [0, 0, 0, 2, 0x82]),
        ),
        flood(
            "GOAWAY with 16 KB of words",
            &["malformed", "not-processed", "timeout"],
            vec![],
            goaway(0x7fff_ffff, &[0x1b; 16_000]),
        ),
        flood(
            "header blocks that push each other out",
            &["malformed", "timeout"],
            vec![],
            [frame(HEADERS, END_HEADERS, 1, [OK, &entry(b'a')].concat())].concat(),
        ),
        with_body(flood(
            "windows that open by one byte",
            &["timeout", "malformed"],
            setting(4, 0),
            number(WINDOW_UPDATE, 1, 1),
        )),
        with_body(flood(
            "a window of SETTINGS that trickles",
            &["timeout", "malformed"],
            setting(4, 0),
            [setting(4, 1), setting(4, 0)].concat(),
        )),
        Server::new("every stream is opened and none ends", &[], &["timeout"], |_, player| {
            player.write(empty_settings())?;
            loop {
                let stream = player.read_h2_request()?;
                player.write(frame(HEADERS, END_HEADERS, stream, OK))?;
            }
        }),
        Server::new(
            "every stream is reset, without an error",
            &[],
            &["stream-reset", "malformed"],
            |_, player| {
                player.write(empty_settings())?;
                loop {
                    let stream = player.read_h2_request()?;
                    player.write(number(RST_STREAM, stream, 0))?;
                }
            },
        ),
        Server::new(
            "every stream is refused",
            &[],
            &["not-processed", "malformed"],
            |_, player| {
                player.write(empty_settings())?;
                loop {
                    let stream = player.read_h2_request()?;
                    player.write(number(RST_STREAM, stream, 7))?;
                }
            },
        ),
        Server::new(
            "every response comes after its reset",
            &[],
            &["stream-reset", "malformed"],
            |_, player| {
                player.write(empty_settings())?;
                loop {
                    let stream = player.read_h2_request()?;
                    player.write(number(RST_STREAM, stream, 2))?;
                    player.write(frame(HEADERS, END_HEADERS | END_STREAM, stream, OK))?;
                }
            },
        ),
        Server::new("every response twice", &[], &["ok", "malformed", "aborted"], |_, player| {
            player.write(empty_settings())?;
            loop {
                let stream = player.read_h2_request()?;
                player.write(frame(HEADERS, END_HEADERS | END_STREAM, stream, OK).repeat(2))?;
            }
        }),
        Server::new("GOAWAY after every request", &[], &["ok", "not-processed"], |_, player| {
            player.write(empty_settings())?;
            let stream = player.read_h2_request()?;
            player.write(goaway(stream, b"\x1b[2J"))?;
            player.write(frame(HEADERS, END_HEADERS | END_STREAM, stream, OK))?;
            player.hang()
        }),
        Server::new(
            "GOAWAYs whose last stream rises",
            &[],
            &["malformed", "not-processed", "timeout"],
            |_, player| {
                player.write(empty_settings())?;
                player.read_h2_request()?;
                player.write(goaway(1, b""))?;
                player.write(goaway(0x7fff_ffff, b""))?;
                player.hang()
            },
        ),
    ]
}

/// Sends SETTINGS; responds to each request with frames made for its stream.
fn response(
    name: &'static str,
    outcomes: &'static [&'static str],
    frames: impl Fn(u32) -> Vec<u8> + Send + Sync + 'static,
) -> Server {
    Server::new(name, &[], outcomes, move |_, player| {
        player.write(empty_settings())?;
        loop {
            let stream = player.read_h2_request()?;
            player.write(frames(stream))?;
        }
    })
}

/// Responds to each request with this header block only.
fn block(
    name: &'static str,
    outcomes: &'static [&'static str],
    block: impl Into<Vec<u8>>,
) -> Server {
    let block = block.into();
    response(name, outcomes, move |stream| frame(HEADERS, END_HEADERS | END_STREAM, stream, &block))
}

fn answers() -> Vec<Server> {
    const BAD: &[&str] = &["malformed", "aborted"];
    vec![
        block("a header block without fields", BAD, ""),
        block("no :status", BAD, *b"\x00\x01a\x01b"),
        block("two :status", BAD, [OK, OK].concat()),
        block(":status after a field", BAD, *b"\x00\x01a\x01b\x88"),
        block(":status of two digits", BAD, *b"\x08\x0299"),
        block(":status 2x0", BAD, *b"\x08\x032x0"),
        block(":status 000", BAD, *b"\x08\x03000"),
        block("a :path in a response", BAD, [OK, &[0x84]].concat()),
        block("upper case in a name", BAD, *b"\x88\x00\x01A\x01b"),
        block("NUL in a value", BAD, *b"\x88\x00\x01a\x01\0"),
        block("connection: close", BAD, *b"\x88\x00\x0aconnection\x05close"),
        block("content-length of 2^64", BAD, *b"\x88\x0f\x0d\x1418446744073709551616"),
        block("content-length without a body", BAD, *b"\x88\x0f\x0d\x015"),
        block("101 in HTTP/2", BAD, *b"\x08\x03101"),
        block("an integer without an end", BAD, [&[0xff][..], &[0xff; 60]].concat()),
        block("a string longer than its block", BAD, *b"\x88\x00\x01a\x7fxx"),
        block("Huffman's EOS", BAD, *b"\x88\x00\x01a\x84\xff\xff\xff\xff"),
        block("Huffman padding of a byte", BAD, *b"\x88\x00\x01a\x82\x1f\xff"),
        block("a table larger than allowed", BAD, *b"\x3f\xff\xff\xff\xff\x0f\x88"),
        block(
            "table updates by the thousand",
            &["malformed", "ok"],
            [&[0x20; 4000][..], OK].concat(),
        ),
        block("entry 0", BAD, [0x80]),
        response("a body longer than content-length", BAD, |stream| {
            [
                frame(HEADERS, END_HEADERS, stream, b"\x88\x0f\x0d\x011"),
                frame(DATA, END_STREAM, stream, "hello"),
            ]
            .concat()
        }),
        response("padding longer than its frame", BAD, |stream| {
            [
                frame(HEADERS, END_HEADERS, stream, OK),
                frame(DATA, PADDED | END_STREAM, stream, [9, 0]),
            ]
            .concat()
        }),
        response("DATA before HEADERS", BAD, |stream| frame(DATA, END_STREAM, stream, "hello")),
        response("HEADERS of stream 0", BAD, |_| frame(HEADERS, END_HEADERS | END_STREAM, 0, OK)),
        response("DATA of stream 0", BAD, |_| frame(DATA, END_STREAM, 0, "x")),
        response("CONTINUATION of nothing", BAD, |stream| {
            frame(CONTINUATION, END_HEADERS, stream, OK)
        }),
        response("another frame between HEADERS and CONTINUATION", BAD, |stream| {
            [frame(HEADERS, 0, stream, OK), frame(PING, 0, 0, [0; 8])].concat()
        }),
        response("PING of stream 1", BAD, |_| frame(PING, 0, 1, [0; 8])),
        response("PING of nine bytes", BAD, |_| frame(PING, 0, 0, [0; 9])),
        response("WINDOW_UPDATE by 0", &["malformed", "aborted", "timeout"], |stream| {
            number(WINDOW_UPDATE, stream, 0)
        }),
        response("SETTINGS of five bytes", BAD, |_| frame(SETTINGS, 0, 0, [0; 5])),
        response("a frame of 16 MB that never comes", BAD, |_| {
            vec![0xff, 0xff, 0xff, DATA, 0, 0, 0, 0, 1]
        }),
        response(
            "half a frame, and the end",
            &["malformed", "truncated", "closed", "timeout", "aborted"],
            |_| vec![0, 0, 9, HEADERS],
        ),
        response("text of HTTP/1.1", BAD, |_| {
            b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec()
        }),
    ]
}

/// Behaviour before the first request; without a duration if the run must end anyway.
fn beginnings() -> Vec<Server> {
    const NOTHING: &[&str] = &["no connection", "nothing sent"];
    let first = |name, outcomes, bytes: Vec<u8>| {
        Server::new(name, &[], outcomes, move |_, player| {
            player.write(&bytes)?;
            player.hang()
        })
    };
    let counted = |name, bytes: Vec<u8>| {
        let mut server = first(name, NOTHING, bytes);
        server.flags.extend(["-n", "100", "--give-up", "500ms"]);
        server.is_counted = true;
        server
    };
    let streams_of = |value| setting(3, value);
    let ping = || [empty_settings(), frame(PING, 0, 1, [0; 8])].concat();
    let gone = || [empty_settings(), goaway(0, b"")].concat();
    vec![
        first("no concurrent streams for ever", NOTHING, streams_of(0)),
        first("PING of stream 1 before any request", NOTHING, ping()),
        first("GOAWAY of stream 0 on every connection", NOTHING, gone()),
        first("GOAWAY before SETTINGS", NOTHING, goaway(0, b"")),
        first("a frame size of 0", NOTHING, setting(5, 0)),
        first("a window of 2^32 - 1", NOTHING, setting(4, u32::MAX)),
        first(
            "SETTINGS that switch pushes on",
            &["malformed", "timeout", "no connection", "nothing sent"],
            setting(2, 1),
        ),
        first("no room for header fields", &["timeout"], setting(6, 0)),
        first("HEADERS before SETTINGS", NOTHING, frame(HEADERS, END_HEADERS, 1, OK)),
        first(
            "text of HTTP/1.1 before SETTINGS",
            NOTHING,
            b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
        ),
        first(
            "three thousand settings",
            &["malformed", "timeout", "no connection", "nothing sent"],
            frame(SETTINGS, 0, 0, [0, 3, 0, 0, 0, 9].repeat(2700)),
        ),
        counted("no concurrent streams for ever, and a number of requests", streams_of(0)),
        counted("PING of stream 1, and a number of requests", ping()),
        counted("GOAWAY of stream 0, and a number of requests", gone()),
        Server::new("SETTINGS that drip", &["--connect-timeout", "400ms"], NOTHING, |_, player| {
            player.drip(empty_settings(), Duration::from_millis(200))
        }),
        Server::new("text of HTTP/1.1 without an end", &[], NOTHING, |_, player| {
            player.write_forever(many(b"HTTP/1.1 200 OK\r\n"), Duration::ZERO)
        }),
        Server::new(
            "GOAWAY of stream 0 on the first connection",
            &[],
            &["ok"],
            |number, player| {
                player.write(empty_settings())?;
                if number == 0 {
                    player.write(goaway(0, b""))?;
                }
                honest(player)
            },
        ),
    ]
}

/// Responds correctly to every request.
fn honest(player: &mut Player) -> Result<(), Over> {
    loop {
        let stream = player.read_h2_request()?;
        player.write(frame(HEADERS, END_HEADERS | END_STREAM, stream, OK))?;
    }
}
