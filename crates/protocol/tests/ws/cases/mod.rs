//! The cases of the Autobahn TestSuite for clients (groups 1 to 7, 10, 12 and 13), as scripted peers.
//!
//! Its server sends, and expects a client to echo. This client sends by itself, so in each case it sends the
//! messages of the case, and the peer checks them and answers by the case's script, which must complete them.
//! Where the suite calls a behaviour strict, this is what is asked for. Each case runs three times: in the pieces
//! of its script, as one piece, and byte by byte.

mod compression;
mod frames;
mod handling;
mod texts;

use candor_protocol::ws::{Error, Kind, Settings};
use candor_protocol::{CloseFrame, Event, Session as _};

use crate::support::*;

/// One case.
pub(crate) struct Case {
    id: String,
    kind: Kind,
    /// What is sent by the client, and completed by the script, in order.
    messages: Vec<Vec<u8>>,
    /// What the server sends, piece by piece.
    script: Vec<Vec<u8>>,
    pongs: Vec<Vec<u8>>,
    ending: Ending,
}

/// How the case ends.
pub(crate) enum Ending {
    /// It is open, and closed by the client: 1000.
    Open,
    /// The server closed it; the code that it gave, 1005 for none.
    Closed(u16),
    /// By this fault, at this piece of the script, not before.
    Failed(Error, usize),
}

impl Case {
    pub(crate) fn new(id: &str, script: Vec<Vec<u8>>, ending: Ending) -> Self {
        let (messages, pongs) = (Vec::new(), Vec::new());
        Case { id: id.to_owned(), kind: Kind::Text, messages, script, pongs, ending }
    }

    pub(crate) fn echoes<const N: usize>(mut self, messages: [&[u8]; N]) -> Self {
        self.messages = messages.map(<[u8]>::to_vec).into();
        self
    }

    pub(crate) fn pongs<const N: usize>(mut self, payloads: [&[u8]; N]) -> Self {
        self.pongs = payloads.map(<[u8]>::to_vec).into();
        self
    }

    pub(crate) fn binary(mut self) -> Self {
        self.kind = Kind::Binary;
        self
    }

    fn run(&self) -> Result<(), String> {
        let whole = self.script.concat();
        let octets: Vec<Vec<u8>> = whole.chunks(1).map(<[u8]>::to_vec).collect();
        self.run_in(&self.script, true)?;
        self.run_in(&[whole], false).map_err(|why| format!("in one piece: {why}"))?;
        self.run_in(&octets, false).map_err(|why| format!("octet by octet: {why}"))
    }

    fn run_in(&self, pieces: &[Vec<u8>], has_places: bool) -> Result<(), String> {
        let table: Vec<_> = self.messages.iter().map(|one| message(self.kind, one)).collect();
        let in_flight = table.len().max(1) as u32;
        let mut session = open(&table, Settings { in_flight, ..Settings::default() });
        let sent = messages(&send_all(&mut session, table.len() as u32));
        let opcode = if self.kind == Kind::Text { TEXT } else { BINARY };
        let wanted: Vec<_> = self.messages.iter().map(|one| (opcode, one.clone())).collect();
        expect("sent", &sent, &wanted)?;
        let mut events = Vec::new();
        for (at, piece) in pieces.iter().enumerate() {
            let news = feed(&mut session, piece);
            if let (Ending::Failed(_, place), true) = (&self.ending, has_places) {
                let has_failed = news.iter().any(|one| matches!(one, Event::Failed { .. }));
                expect("fails at this piece", &has_failed, &(at == *place))?;
            }
            events.extend(news.into_iter().filter(|one| !matches!(one, Event::FirstByte(_))));
        }
        let mut wanted: Vec<Event> = Vec::new();
        for (id, message) in self.messages.iter().enumerate() {
            wanted.push(done(id as u32, message.len() as u64));
        }
        match self.ending {
            Ending::Open => {}
            Ending::Closed(code) => {
                // Behind the two bytes of a short frame's head and those of the code.
                let frame = self.script.iter().find(|one| one[0] == FIN | CLOSE);
                let reason = frame.and_then(|one| one.get(4..)).unwrap_or_default();
                let reason = String::from_utf8_lossy(reason).into();
                let told = CloseFrame { code, reason };
                wanted.extend([Event::CloseFrame(Box::new(told)), Event::Over]);
            }
            Ending::Failed(error, _) => wanted.push(broken(error)),
        }
        expect("events", &events, &wanted)?;
        session.handle_close();
        let written = frames(&transmit(&mut session));
        expect("pongs", &payloads(&written, PONG), &self.pongs)?;
        let code = match self.ending {
            Ending::Open => vec![1000],
            Ending::Closed(1005) => vec![],
            Ending::Closed(code) => vec![code],
            Ending::Failed(error, _) => vec![error.close_code()],
        };
        let close: Vec<u8> = code.iter().flat_map(|code: &u16| code.to_be_bytes()).collect();
        expect("close", &payloads(&written, CLOSE), &vec![close])
    }
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, got: &T, wanted: &T) -> Result<(), String> {
    let short = |value: &T| format!("{value:?}").chars().take(300).collect::<String>();
    match got == wanted {
        true => Ok(()),
        false => Err(format!("{what}: {} instead of {}", short(got), short(wanted))),
    }
}

/// Every case of a group, and how many it must have.
type Group = (&'static str, usize, fn() -> Vec<(String, Result<(), String>)>);

const GROUPS: [Group; 10] = [
    ("1 framing", 16, || run(frames::framing())),
    ("2 pings and pongs", 11, || run(frames::pings())),
    ("3 reserved bits", 7, || run(frames::reserved_bits())),
    ("4 opcodes", 10, || run(frames::opcodes())),
    ("5 fragmentation", 20, || run(frames::fragmentation())),
    ("6 UTF-8", 145, || run(texts::utf8())),
    ("7 close handling", 37, || run(handling::closing())),
    ("10 auto-fragmentation", 1, handling::fragments_of_ours),
    ("12 permessage-deflate", 90, compression::defaults),
    ("13 permessage-deflate, parameters", 126, compression::parameters),
];

fn run(cases: Vec<Case>) -> Vec<(String, Result<(), String>)> {
    cases.iter().map(|case| (case.id.clone(), case.run())).collect()
}

#[test]
#[allow(clippy::print_stdout, reason = "the table is what this test is for")]
fn every_case_of_the_suite_passes() {
    let (mut passed, mut all, mut failures) = (0, 0, Vec::new());
    for (name, count, group) in GROUPS {
        let results = group();
        assert_eq!(results.len(), count, "cases of group {name}");
        let good = results.iter().filter(|(_, result)| result.is_ok()).count();
        println!("{name}: {good} of {count} pass");
        (passed, all) = (passed + good, all + count);
        failures.extend(
            results
                .into_iter()
                .filter_map(|(id, result)| result.err().map(|why| format!("{id}: {why}"))),
        );
    }
    println!("all groups: {passed} of {all} pass");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
