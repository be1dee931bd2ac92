//! Valid answers in their many spellings, and what must be read from them.

use std::fmt;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// A valid answer.
#[derive(Clone)]
pub(crate) struct Valid {
    pub(crate) method: &'static str,
    pub(crate) wire: Vec<u8>,
    /// Length of `wire` up to the end of the final answer's head.
    pub(crate) head_bytes: usize,
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    pub(crate) last: bool,
    /// The body ends with the connection.
    pub(crate) until_end: bool,
}

/// Shows the bytes as text: a failing case should be read, not decoded.
impl fmt::Debug for Valid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} answered by \"{}\"", self.method, self.wire.escape_ascii())
    }
}

#[derive(Debug, Clone)]
enum Framing {
    /// The value of Content-Length repeated so many times.
    Length(usize),
    /// Sizes of chunks in turn, an extension, trailers.
    Chunked(Vec<usize>, &'static str, Vec<(String, String)>),
    UntilEnd,
}

fn framing() -> impl Strategy<Value = Framing> {
    let extension = select(vec!["", ";a", ";a=b;c", " ; q=\"x;\\\"y\"", "  "]);
    prop_oneof![
        4 => (1usize..3).prop_map(Framing::Length),
        4 => (vec(1usize..50, 1..6), extension, vec(field(), 0..3))
            .prop_map(|(sizes, extension, trailers)| Framing::Chunked(sizes, extension, trailers)),
        1 => Just(Framing::UntilEnd),
    ]
}

fn field() -> impl Strategy<Value = (String, String)> {
    ("X-[A-Za-z0-9!#$%&'*+.^_`|~-]{0,12}", "[ \t!-~\u{e9}]{0,30}")
}

#[derive(Debug, Clone)]
struct Parts {
    head: bool,
    interim: Vec<u16>,
    http_1_0: bool,
    status: u16,
    reason: &'static str,
    fields: Vec<(String, String)>,
    framing_at: Index,
    framing: Framing,
    connection: Option<&'static str>,
    body: Vec<u8>,
    bare_lf: bool,
}

/// One valid answer; with `bare_lf`, some of them end their lines in LF alone.
pub(crate) fn valid(bare_lf: bool) -> impl Strategy<Value = Valid> {
    let interim = prop_oneof![4 => Just(vec![]), 1 => vec(select(vec![100, 102, 103]), 1..3)];
    let status = prop_oneof![4 => Just(200), 1 => select(vec![204, 304]), 1 => 200u16..600];
    let connection =
        select(vec![None, None, None, Some("close"), Some("Keep-Alive"), Some("te , CLOSE")]);
    let first = (prop::bool::weighted(0.15), interim, prop::bool::weighted(0.15), status);
    let second = (
        select(vec!["", " ", " OK", " not so\tfine"]),
        vec(field(), 0..5),
        any::<Index>(),
        framing(),
        connection,
        vec(any::<u8>(), 0..200),
        prop::bool::weighted(0.2),
    );
    (first, second).prop_map(move |((head, interim, http_1_0, status), rest)| {
        let (reason, fields, framing_at, framing, connection, body, lf) = rest;
        let bare_lf = bare_lf && lf;
        spell(Parts {
            head,
            interim,
            http_1_0,
            status,
            reason,
            fields,
            framing_at,
            framing,
            connection,
            body,
            bare_lf,
        })
    })
}

fn spell(parts: Parts) -> Valid {
    let Parts { head, status, mut fields, mut framing, mut body, .. } = parts;
    if parts.http_1_0 && matches!(framing, Framing::Chunked(..)) {
        framing = Framing::Length(1);
    }
    let no_body = head || status == 204 || status == 304;
    let at = parts.framing_at.index(fields.len() + 1);
    match &framing {
        // RFC 9110 8.6: not in 204; in answers to HEAD and in 304 it says what a GET would get.
        Framing::Length(times) if status != 204 => {
            let value = vec![body.len().to_string(); *times].join(" , ");
            fields.insert(at, ("cOntent-Length".to_owned(), value));
        }
        Framing::Chunked(..) if status != 204 => {
            fields.insert(at, ("Transfer-encoding".to_owned(), " Chunked ".to_owned()));
        }
        _ => {}
    }
    if let Some(value) = parts.connection {
        fields.push(("connection".to_owned(), value.to_owned()));
    }
    let eol = if parts.bare_lf { "\n" } else { "\r\n" };
    let mut wire = Vec::new();
    for interim in &parts.interim {
        let text = format!("HTTP/1.1 {interim} Wait{eol}Content-Length: 3{eol}{eol}");
        wire.extend_from_slice(text.as_bytes());
    }
    let minor = if parts.http_1_0 { 0 } else { 1 };
    wire.extend_from_slice(format!("HTTP/1.{minor} {status}{}{eol}", parts.reason).as_bytes());
    push_fields(&mut wire, &fields, eol);
    let head_bytes = wire.len();
    if no_body {
        body.clear();
    } else if let Framing::Chunked(sizes, extension, trailers) = &framing {
        push_chunks(&mut wire, &body, sizes, extension);
        push_fields(&mut wire, trailers, eol);
    } else {
        wire.extend_from_slice(&body);
    }
    let until_end = !no_body && matches!(framing, Framing::UntilEnd);
    let persists = match parts.connection {
        Some("close" | "te , CLOSE") => false,
        Some(_) => true,
        None => !parts.http_1_0,
    };
    let method = if head { "HEAD" } else { "GET" };
    Valid { method, wire, head_bytes, status, body, last: until_end || !persists, until_end }
}

fn push_fields(wire: &mut Vec<u8>, fields: &[(String, String)], eol: &str) {
    for (name, value) in fields {
        wire.extend_from_slice(format!("{name}:{value}{eol}").as_bytes());
    }
    wire.extend_from_slice(eol.as_bytes());
}

fn push_chunks(wire: &mut Vec<u8>, mut body: &[u8], sizes: &[usize], extension: &str) {
    for size in sizes.iter().cycle() {
        let (chunk, rest) = body.split_at(body.len().min(*size));
        wire.extend_from_slice(format!("{:02X}{extension}\r\n", chunk.len()).as_bytes());
        if chunk.is_empty() {
            return;
        }
        wire.extend_from_slice(chunk);
        wire.extend_from_slice(b"\r\n");
        body = rest;
    }
}

/// A change that may make an answer invalid.
#[derive(Debug, Clone)]
pub(crate) enum Edit {
    Insert(Index, Vec<u8>),
    Delete(Index, usize),
    Repeat(Index, usize),
}

/// Changes that hit what parsers care about.
pub(crate) fn edit() -> impl Strategy<Value = Edit> {
    let telling = select(vec![
        "\r",
        "\n",
        "\r\n",
        "\r\n\r\n",
        "\0",
        " ",
        "\t",
        ":",
        ",",
        ";",
        "\"",
        "\\",
        "\u{b}",
        "-",
        "+",
        "0\r\n\r\n",
        "ffffffffffffffffff",
        "99999999999999999999",
        "5, 6",
        "chunked",
        "\r\n folded",
        "\r\n ",
        "\n\t",
        ", gzip",
        "\r\nContent-Length: 5",
        "\r\nTransfer-Encoding: chunked",
        "\r\nTransfer-Encoding: gzip",
        "\r\nConnection: close",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 100\r\n\r\n",
        "\r\nA : b",
    ]);
    prop_oneof![
        4 => (any::<Index>(), telling).prop_map(|(at, text)| Edit::Insert(at, text.into())),
        1 => (any::<Index>(), vec(any::<u8>(), 1..4)).prop_map(|(at, text)| Edit::Insert(at, text)),
        2 => (any::<Index>(), 1usize..8).prop_map(|(at, count)| Edit::Delete(at, count)),
        1 => (any::<Index>(), 1usize..40).prop_map(|(at, count)| Edit::Repeat(at, count)),
    ]
}

impl Edit {
    pub(crate) fn apply(&self, bytes: &mut Vec<u8>) {
        let (Edit::Insert(at, _) | Edit::Delete(at, _) | Edit::Repeat(at, _)) = self;
        let at = at.index(bytes.len() + 1);
        let upto = |count: usize| at..bytes.len().min(at + count);
        match self {
            Edit::Insert(_, text) => drop(bytes.splice(at..at, text.iter().copied())),
            Edit::Delete(_, count) => drop(bytes.drain(upto(*count))),
            Edit::Repeat(_, count) => {
                let again = bytes[upto(*count)].to_vec();
                drop(bytes.splice(at..at, again));
            }
        }
    }
}
