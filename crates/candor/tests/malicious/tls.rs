//! Malicious servers behind TLS: within the encrypted bytes, and in TLS itself.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use candor_testkit::peer::{ANSWER, Over, Player, Sealer, server_config};
use rcgen::SanType;
use rustls::version::{TLS12, TLS13};
use rustls::{ContentType, ServerConfig};

use super::h2::{DATA, END_HEADERS, HEADERS, OK, SETTINGS, frame};
use super::{Server, many};

const HANDSHAKE_FAILED: &[&str] = &["no connection"];

static V13: LazyLock<Arc<ServerConfig>> =
    LazyLock::new(|| server_config(&[&TLS13], &["h2", "http/1.1"], |_| ()).into());
static V12: LazyLock<Arc<ServerConfig>> =
    LazyLock::new(|| server_config(&[&TLS12], &["h2", "http/1.1"], |_| ()).into());

/// Every server of this kind.
pub(crate) fn servers() -> Vec<Server> {
    let mut all = within();
    all.extend(records());
    all.extend(handshakes());
    for server in &mut all {
        server.is_tls = true;
        server.flags.insert(0, "--insecure");
    }
    all
}

/// Malicious bytes within valid encryption.
fn within() -> Vec<Server> {
    let flood = |name, outcomes, flags: &[&'static str], first: Vec<u8>, piece: &[u8]| {
        let piece = many(piece);
        let is_h2 = flags.contains(&"--h2");
        Server::new(name, flags, outcomes, move |_, player| {
            player.secure(&V13)?;
            if is_h2 {
                player.write(frame(SETTINGS, 0, 0, ""))?;
                player.read_h2_request()?;
            } else {
                player.read_request()?;
            }
            player.write(&first)?;
            player.write_forever(&piece, Duration::ZERO)
        })
    };
    const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let open = frame(HEADERS, END_HEADERS, 1, OK);
    vec![
        flood(
            "chunks of one byte without an end",
            &["timeout"],
            &["--h1"],
            CHUNKED.into(),
            b"1\r\nx\r\n",
        ),
        flood(
            "interim responses without an end",
            &["malformed"],
            &["--h1"],
            vec![],
            b"HTTP/1.1 103 x\r\n\r\n",
        ),
        flood(
            "DATA of one byte without an end",
            &["timeout", "malformed"],
            &["--h2", "-m", "2"],
            open.clone(),
            &frame(DATA, 0, 1, "x"),
        ),
        flood(
            "empty DATA without an end",
            &["malformed"],
            &["--h2", "-m", "2"],
            open,
            &frame(DATA, 0, 1, ""),
        ),
        Server::new("a body in records of one byte", &["--h1"], &["timeout"], |_, player| {
            let first = [CHUNKED, b"7fffffffffffffff\r\n"].concat();
            sealed(player, &V13, &first, ContentType::ApplicationData, b"x")
        }),
        Server::new(
            "closes without close_notify in a body until the close",
            &["--h1"],
            &["truncated"],
            |_, player| {
                player.secure(&V13)?;
                player.read_request()?;
                player.write("HTTP/1.0 200 OK\r\n\r\nhello")?;
                player.end_sending()?;
                player.hang()
            },
        ),
        Server::new(
            "writes on after close_notify",
            &["--h1"],
            &["closed", "truncated", "malformed"],
            |_, player| {
                player.secure(&V13)?;
                player.read_request()?;
                let mut keys = player.take_keys()?;
                player.write(keys.seal(ContentType::Alert, &[1, 0]))?;
                player.write_forever(
                    keys.seal_many(ContentType::ApplicationData, ANSWER),
                    Duration::ZERO,
                )
            },
        ),
    ]
}

/// Responds to a request with `first`, and then with endless records of `content`.
fn sealed(
    player: &mut Player,
    config: &Arc<ServerConfig>,
    first: &[u8],
    content: ContentType,
    payload: &[u8],
) -> Result<(), Over> {
    let mut keys = keys_after_request(player, config)?;
    if !first.is_empty() {
        player.write(keys.seal(ContentType::ApplicationData, first))?;
    }
    loop {
        player.write(keys.seal_many(content, payload))?;
    }
}

fn keys_after_request(player: &mut Player, config: &Arc<ServerConfig>) -> Result<Sealer, Over> {
    player.secure(config)?;
    player.read_request()?;
    player.take_keys()
}

/// Malicious records, and malicious TLS messages in them.
fn records() -> Vec<Server> {
    let flood = |name,
                 outcomes,
                 config: &'static LazyLock<Arc<ServerConfig>>,
                 content,
                 payload: Vec<u8>| {
        Server::new(name, &["--h1"], outcomes, move |_, player| {
            sealed(player, config, b"", content, &payload)
        })
    };
    let handshake =
        |kind: u8, body: &[u8]| [&[kind, 0][..], &(body.len() as u16).to_be_bytes(), body].concat();
    // RFC 8446 4.6.1: lifetime, age_add, nonce, ticket, extensions.
    let ticket = |length: u16| {
        let body = [
            &[0, 0, 9, 9, 0, 0, 0, 0, 1, 7][..],
            &length.to_be_bytes(),
            &vec![7; length.into()],
            &[0, 0],
        ];
        handshake(4, &body.concat())
    };
    let key_update = |asks| handshake(24, &[asks]);
    use ContentType as Content;
    const ENDED: &[&str] = &["aborted", "closed", "malformed", "timeout"];
    vec![
        flood("tickets without an end", ENDED, &V13, Content::Handshake, ticket(30)),
        flood("tickets of 16 KB without an end", ENDED, &V13, Content::Handshake, ticket(16_000)),
        // Our side keeps the old key, so the record after the first cannot be decrypted, which is
        // also an end.
        flood("KeyUpdates that ask for another", ENDED, &V13, Content::Handshake, key_update(1)),
        flood(
            "thousands of KeyUpdates in a record",
            ENDED,
            &V13,
            Content::Handshake,
            key_update(1).repeat(3000),
        ),
        flood(
            "a handshake message that never ends",
            ENDED,
            &V13,
            Content::Handshake,
            vec![4, 0xff, 0xff, 0xff],
        ),
        flood(
            "requests for a certificate",
            ENDED,
            &V13,
            Content::Handshake,
            handshake(13, &[0, 0, 0]),
        ),
        flood("empty records", ENDED, &V13, Content::ApplicationData, vec![]),
        flood("empty records in TLS 1.2", ENDED, &V12, Content::ApplicationData, vec![]),
        flood("empty handshake records", ENDED, &V13, Content::Handshake, vec![]),
        flood("warnings", ENDED, &V12, Content::Alert, vec![1, 90]),
        flood("user_canceled", ENDED, &V13, Content::Alert, vec![1, 90]),
        flood("half alerts", ENDED, &V13, Content::Alert, vec![1]),
        flood("HelloRequests in TLS 1.2", ENDED, &V12, Content::Handshake, handshake(0, &[])),
        flood(
            "tickets without an end in TLS 1.2",
            ENDED,
            &V12,
            Content::Handshake,
            handshake(4, &[0, 0, 9, 9, 0, 1, 7]),
        ),
        flood("heartbeats", ENDED, &V13, Content::Heartbeat, vec![1, 0, 9, 9]),
        flood("change of cipher, encrypted", ENDED, &V13, Content::ChangeCipherSpec, vec![1]),
        Server::new("change of cipher, in clear", &["--h1"], ENDED, |_, player| {
            keys_after_request(player, &V13)?;
            player.write_forever(many([20, 3, 3, 0, 1, 1]), Duration::ZERO)
        }),
        Server::new("records that are nobody's", &["--h1"], ENDED, |_, player| {
            keys_after_request(player, &V13)?;
            player.write([&[23, 3, 3, 0, 40][..], &[0; 40]].concat())?;
            player.hang()
        }),
        Server::new("a record above the limit", &["--h1"], ENDED, |_, player| {
            keys_after_request(player, &V13)?;
            player.write([&[23, 3, 3, 0xff, 0xff][..], &[0; 65_535]].concat())?;
            player.hang()
        }),
        Server::new("a record that drips", &["--h1"], &["timeout"], |_, player| {
            let mut keys = keys_after_request(player, &V13)?;
            player.drip(
                keys.seal(Content::ApplicationData, &[b'x'; 10_000]),
                Duration::from_millis(20),
            )
        }),
    ]
}

/// Malicious bytes before the connection is established.
fn handshakes() -> Vec<Server> {
    let clear = |name, first: &[u8], piece: &[u8]| {
        let (first, piece) = (first.to_vec(), many(piece));
        Server::new(name, &["--connect-timeout", "400ms"], HANDSHAKE_FAILED, move |_, player| {
            player.read_some()?;
            player.write(&first)?;
            player.write_forever(&piece, Duration::ZERO)
        })
    };
    let with = |name, flags: &[&'static str], outcomes, config: ServerConfig| {
        let config = Arc::new(config);
        Server::new(name, flags, outcomes, move |_, player| {
            player.secure(&config)?;
            loop {
                player.read_request()?;
                player.write(ANSWER)?;
            }
        })
    };
    let names = |count: u32| {
        move |params: &mut rcgen::CertificateParams| {
            let name = |n: u32| format!("{n:060}.example.com").try_into().map(SanType::DnsName);
            params.subject_alt_names = (0..count).filter_map(|n| name(n).ok()).collect();
        }
    };
    vec![
        clear("empty records before the handshake", b"", &[22, 3, 3, 0, 0]),
        clear("warnings before the handshake", b"", &[21, 3, 3, 0, 2, 1, 90]),
        clear("change of cipher before the handshake", b"", &[20, 3, 3, 0, 1, 1]),
        clear(
            "a ServerHello of 16 MB",
            &[22, 3, 3, 0, 4, 2, 0xff, 0xff, 0xff],
            &[22, 3, 3, 0, 1, 0],
        ),
        clear("application data before the handshake", b"", &[23, 3, 3, 0, 1, 0]),
        clear("records of an unknown kind", b"", &[0xff, 3, 3, 0, 1, 0]),
        clear("a page in clear text without an end", b"HTTP/1.1 200 OK\r\n\r\n", b"<html>"),
        clear("zeros", b"", &[0]),
        Server::new(
            "hears the ClientHello and is silent",
            &["--connect-timeout", "400ms"],
            HANDSHAKE_FAILED,
            |_, player| player.hang(),
        ),
        Server::new("hears the ClientHello and resets", &[], HANDSHAKE_FAILED, |_, player| {
            player.read_some()?;
            player.reset()
        }),
        Server::new(
            "a handshake in one byte at a time",
            &["--connect-timeout", "400ms"],
            HANDSHAKE_FAILED,
            |_, player| {
                player.read_some()?;
                player.drip(
                    [&[22, 3, 3, 0x3f, 0xff, 2, 0, 0x3f, 0xfb][..], &[3; 1000]].concat(),
                    Duration::from_millis(5),
                )
            },
        ),
        Server::new("an alert for an answer", &[], HANDSHAKE_FAILED, |_, player| {
            player.read_some()?;
            player.write([21, 3, 3, 0, 2, 2, 0x50])?;
            player.hang()
        }),
        with(
            "a certificate of 50 KB",
            &["--h1"],
            &["ok"],
            server_config(&[&TLS13], &[], names(600)),
        ),
        with(
            "a certificate of 1 MB",
            &["--h1"],
            HANDSHAKE_FAILED,
            server_config(&[&TLS13], &[], names(14_000)),
        ),
        with(
            "another protocol than was offered",
            &["--h2"],
            HANDSHAKE_FAILED,
            server_config(&[&TLS13], &["http/1.1"], |_| ()),
        ),
        with(
            "no protocol, and HTTP/1.1 where HTTP/2 was meant",
            &["--h2"],
            &["no connection"],
            server_config(&[&TLS12], &[], |_| ()),
        ),
        with("a thousand tickets", &["--h1", "--tls-resumption", "on"], &["malformed"], {
            let mut config = server_config(&[&TLS13], &[], |_| ());
            config.send_tls13_tickets = 1000;
            config
        }),
    ]
}
