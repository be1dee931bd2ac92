//! Responses as a script reads them, or the captures of a step: kept while they come, taken when they
//! are complete, then given back.
//!
//! The server decides how long a response is, so two bounds hold: one for the body of a single
//! response, and one for everything that the sessions of a worker keep at a time. Memory counts from
//! when it is taken, not from when it is filled. A response beyond a bound gives back at once what
//! was kept of it, and remembers only why ([`NotKept`]); its session then gives its request up. Plain
//! runs have none of this.
//!
//! A body with a content coding is kept decoded, where the room says so. One that cannot be decoded is read to its
//! end, and its response is not the expected one ([`Mismatch::Coding`]).

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use candor_plan::{BodyExpect, Expect};

use crate::coding::{self, Decoder, Undecoded};
use crate::expect::{BodyCheck, Mismatch};

/// Buffers are used again for the next response, if they have no more than this together.
const SPARE_BYTES: usize = 64 << 10;
/// The number of pairs of buffers.
const MOST_SPARE: usize = 64;

/// Where the sessions of a worker keep responses for its script; clones share the same room.
#[derive(Debug, Clone)]
pub struct CaptureRoom(Rc<Room>);

#[derive(Debug)]
struct Room {
    /// For each request of the plan; those beyond are kept whole.
    kept: Box<[Keep]>,
    codings: Codings,
    most_body_bytes: usize,
    most_bytes: usize,
    /// Taken by all captures that there are.
    held_bytes: Cell<usize>,
    /// Of the bodies that were decoded last: the bytes as received, and decoded.
    decoded: Cell<(u64, u64)>,
    spare: RefCell<Vec<Buffers>>,
    /// Of requests in flight, by their numbers, whose streams are gone on with.
    resumes: RefCell<Vec<Resume>>,
}

/// What the events of a response say about the next request for the stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resume {
    /// The id of the last event; empty: there is none any more. `None`: no event had one.
    pub id: Option<Vec<u8>>,
    /// How long to wait before it.
    pub retry_ns: Option<u64>,
}

/// What becomes of bodies with a content coding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Codings {
    /// They are kept as they came.
    #[default]
    Kept,
    /// None was asked for: a body that is kept whole must have none.
    Refused,
    /// They are decoded.
    Decoded,
}

/// How much of a response is kept, from the least to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Keep {
    /// Nothing.
    Nothing,
    /// The header block.
    Fields,
    /// The header block; the body is decoded for the rules of streams, and not kept.
    Stream,
    /// The header block, and the beginning of the body: what is beyond the bound of a body is passed over.
    Beginning,
    /// Header block and body.
    Whole,
}

#[derive(Debug, Default)]
struct Buffers {
    fields: Vec<u8>,
    body: Vec<u8>,
}

/// Why a response is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum NotKept {
    /// Its body is too long.
    #[error("the body is longer than the {0} bytes that are kept of one")]
    Body(usize),
    /// One of its events is too long for the rules that read them.
    #[error("an event is longer than the {0} bytes that rules for streams read")]
    Event(usize),
    /// There is no room beside the others.
    #[error(
        "the responses that a thread keeps at a time would take more than {0} bytes, the room for 16 of the longest bodies"
    )]
    Together(usize),
}

impl CaptureRoom {
    /// Room for `bodies` of the longest bodies at a time, which have `most_body_bytes`.
    pub fn new(most_body_bytes: usize, bodies: usize) -> Self {
        Self::for_requests([].into(), Codings::Kept, most_body_bytes, bodies)
    }

    /// The same, where `kept` says how much is kept of the responses to each request of the plan.
    pub fn for_requests(
        kept: Box<[Keep]>,
        codings: Codings,
        most_body_bytes: usize,
        bodies: usize,
    ) -> Self {
        let most_bytes = most_body_bytes.saturating_mul(bodies).max(SPARE_BYTES);
        CaptureRoom(Rc::new(Room {
            kept,
            codings,
            most_body_bytes,
            most_bytes,
            held_bytes: Cell::default(),
            decoded: Cell::default(),
            spare: RefCell::default(),
            resumes: RefCell::default(),
        }))
    }

    /// The events of the response to this request said more.
    pub(crate) fn note(&self, request: u32, more: Resume) {
        let mut all = self.0.resumes.borrow_mut();
        let place = request as usize;
        if place >= all.len() {
            all.resize(place + 1, Resume::default());
        }
        let Resume { id, retry_ns } = more;
        let one = &mut all[place];
        (one.id, one.retry_ns) = (id.or(one.id.take()), retry_ns.or(one.retry_ns));
    }

    /// Takes what the events of the response to this request said, which has its outcome.
    pub fn take_resume(&self, request: u32) -> Resume {
        let mut all = self.0.resumes.borrow_mut();
        all.get_mut(request as usize).map(std::mem::take).unwrap_or_default()
    }

    /// What all sessions hold at present, in bytes.
    pub fn held_bytes(&self) -> usize {
        self.0.held_bytes.get()
    }

    /// Whether bodies are decoded in it.
    pub fn decodes(&self) -> bool {
        self.0.codings == Codings::Decoded
    }

    /// Takes the bytes of the bodies that were decoded since the last time: as received, and decoded.
    pub fn take_decoded(&self) -> (u64, u64) {
        self.0.decoded.take()
    }

    /// A response to this request of the plan begins.
    pub(crate) fn begin(&self, request: u32) -> Option<Capture> {
        let keep = self.0.kept.get(request as usize).copied().unwrap_or(Keep::Whole);
        if keep == Keep::Nothing {
            return None;
        }
        let buffers = self.0.spare.borrow_mut().pop().unwrap_or_default();
        let held = &self.0.held_bytes;
        held.set(held.get() + buffers.bytes());
        let room = Rc::clone(&self.0);
        let coded = Coded::Unknown;
        Some(Capture {
            room,
            buffers,
            status_line_bytes: 0,
            keep,
            coded,
            wire_bytes: 0,
            not_kept: None,
        })
    }
}

impl Buffers {
    fn bytes(&self) -> usize {
        self.fields.capacity() + self.body.capacity()
    }
}

/// One response: kept while it comes, then lent to the script. Dropping it gives its memory back.
#[derive(Debug)]
pub struct Capture {
    room: Rc<Room>,
    buffers: Buffers,
    /// Bytes of a status line at the front of the header block.
    status_line_bytes: usize,
    keep: Keep,
    coded: Coded,
    /// Of the body, as they came.
    wire_bytes: usize,
    not_kept: Option<NotKept>,
}

/// The content coding of a response.
#[derive(Debug)]
enum Coded {
    /// Its body has not begun.
    Unknown,
    /// It has none, or is kept as it came.
    Plain,
    /// It is being decoded.
    Decoding(Box<Decoder>),
    /// It is complete, and decoded to this number of bytes.
    Decoded(u64),
    /// It cannot be decoded; the rest is passed over.
    Failed(Undecoded),
}

impl Capture {
    /// Appends a piece of the header block.
    pub(crate) fn keep_fields(&mut self, piece: &[u8]) {
        let kept = self.not_kept.is_none()
            && self.room.append(&mut self.buffers.fields, piece, usize::MAX);
        if !kept {
            self.give_up(NotKept::Together(self.room.most_bytes));
        }
    }

    /// Appends a piece of the body.
    pub(crate) fn keep_body(&mut self, piece: &[u8]) {
        self.feed_body(piece, &mut |_| {});
    }

    /// The same, and shows it to `look`, decoded.
    pub(crate) fn feed_body(&mut self, piece: &[u8], look: &mut dyn FnMut(&[u8])) {
        if piece.is_empty() {
            return;
        }
        if let Coded::Unknown = self.coded {
            self.coded = self.coding();
        }
        match self.coded {
            Coded::Decoding(_) => self.decode(piece, look),
            Coded::Failed(_) => {}
            Coded::Unknown | Coded::Plain | Coded::Decoded(_) => {
                look(piece);
                self.keep_plain(piece);
            }
        }
    }

    /// What the header block says.
    fn coding(&self) -> Coded {
        let is_seen = match self.room.codings {
            Codings::Kept => false,
            Codings::Refused => self.keep == Keep::Whole,
            Codings::Decoded => self.keep >= Keep::Stream,
        };
        if !is_seen {
            return Coded::Plain;
        }
        let values = candor_memory::field_values(&self.buffers.fields, b"Content-Encoding");
        let is_refused = |name| match self.room.codings {
            Codings::Refused => true,
            // Its decoder keeps a window back, and with it events that came.
            _ => self.keep == Keep::Stream && name == "zstd",
        };
        match coding::name(values) {
            None => Coded::Plain,
            Some(name) if is_refused(name) => Coded::Failed(Undecoded::Unasked(name)),
            Some(name) => match Decoder::new(name) {
                Ok(decoder) => Coded::Decoding(Box::new(decoder)),
                Err(why) => Coded::Failed(why),
            },
        }
    }

    fn decode(&mut self, piece: &[u8], look: &mut dyn FnMut(&[u8])) {
        let most = self.room.most_body_bytes;
        self.wire_bytes = self.wire_bytes.saturating_add(piece.len());
        if self.keep == Keep::Whole && self.wire_bytes > most {
            return self.give_up(NotKept::Body(most));
        }
        let Coded::Decoding(mut decoder) = std::mem::replace(&mut self.coded, Coded::Plain) else {
            return;
        };
        let outcome = decoder.handle(piece, &mut |plain| {
            look(plain);
            if self.keep == Keep::Whole && self.buffers.body.len() + plain.len() > most {
                return Err(Undecoded::TooLong(most));
            }
            self.keep_plain(plain);
            Ok(())
        });
        self.coded = match outcome {
            Ok(()) => Coded::Decoding(decoder),
            Err(why) => Coded::Failed(why),
        };
    }

    /// The response is complete. Whether it is the expected one, which `found` says of the body as it came.
    #[cold]
    pub(crate) fn finish(
        &mut self,
        expect: &Expect,
        found: Result<(), Mismatch>,
    ) -> Result<(), Mismatch> {
        if let Coded::Decoding(decoder) = &self.coded {
            self.coded = match decoder.finish() {
                Ok(bytes) => Coded::Decoded(bytes),
                Err(why) => Coded::Failed(why),
            };
        }
        match (&self.coded, found) {
            // A response with another status is not looked into.
            (_, Err(Mismatch::Status(_))) => found,
            (Coded::Failed(why), _) => Err(Mismatch::Coding(*why)),
            (Coded::Decoded(bytes), _) => {
                let (coded, decoded) = self.room.decoded.get();
                self.room.decoded.set((coded + self.wire_bytes as u64, decoded + bytes));
                if expect.body == BodyExpect::Any {
                    return found;
                }
                let mut check = BodyCheck::default();
                check.handle(&expect.body, &self.buffers.body);
                check.finish_body(&expect.body)
            }
            _ => found,
        }
    }

    /// How many bytes the body decoded to, if it was decoded.
    pub fn decoded_bytes(&self) -> Option<u64> {
        match self.coded {
            Coded::Decoded(bytes) => Some(bytes),
            _ => None,
        }
    }

    fn keep_plain(&mut self, piece: &[u8]) {
        let most = self.room.most_body_bytes;
        let piece = match self.keep {
            Keep::Nothing | Keep::Fields | Keep::Stream => return,
            Keep::Beginning => &piece[..piece.len().min(most - self.buffers.body.len())],
            Keep::Whole => piece,
        };
        if self.buffers.body.len() + piece.len() > most {
            return self.give_up(NotKept::Body(most));
        }
        let kept = self.not_kept.is_none() && self.room.append(&mut self.buffers.body, piece, most);
        if !kept {
            self.give_up(NotKept::Together(self.room.most_bytes));
        }
    }

    #[cold]
    fn give_up(&mut self, why: NotKept) {
        self.not_kept.get_or_insert(why);
        self.room.give_back(std::mem::take(&mut self.buffers));
    }

    /// Why it is not kept, if it is not.
    pub(crate) fn not_kept(&self) -> Option<NotKept> {
        self.not_kept
    }

    /// What was kept.
    pub fn get(&self) -> Captured<'_> {
        let Buffers { fields, body } = &self.buffers;
        Captured { fields: fields.get(self.status_line_bytes..).unwrap_or_default(), body }
    }

    /// The first line of the header block is a status line, which is no field.
    pub(crate) fn leave_out_status_line(&mut self) {
        let end = memchr::memchr(b'\n', &self.buffers.fields);
        self.status_line_bytes = end.map_or(0, |end| end + 1);
    }

    /// The header block as it came, to be put right in its place.
    pub(crate) fn block_mut(&mut self) -> &mut [u8] {
        &mut self.buffers.fields
    }
}

/// A complete response, as a script sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Captured<'a> {
    /// Header lines, each `Name: value` with its line end; in HTTP/1.1 after the status line.
    pub fields: &'a [u8],
    /// The body, framing removed.
    pub body: &'a [u8],
}

impl Room {
    /// Appends `piece`, if there is room. A buffer doubles as it grows, and stops at `most`.
    #[inline]
    fn append(&self, buffer: &mut Vec<u8>, piece: &[u8], most: usize) -> bool {
        let needed = buffer.len() + piece.len();
        if needed > buffer.capacity() && !self.grow(buffer, needed, most) {
            return false;
        }
        buffer.extend_from_slice(piece);
        true
    }

    fn grow(&self, buffer: &mut Vec<u8>, needed: usize, most: usize) -> bool {
        let before = buffer.capacity();
        let wanted = needed.max(before.saturating_mul(2).min(most));
        if self.held_bytes.get() + (wanted - before) > self.most_bytes {
            return false;
        }
        buffer.reserve_exact(wanted - buffer.len());
        self.held_bytes.set(self.held_bytes.get() + (buffer.capacity() - before));
        true
    }

    fn give_back(&self, mut buffers: Buffers) {
        self.held_bytes.set(self.held_bytes.get() - buffers.bytes());
        let mut spare = self.spare.borrow_mut();
        if (1..=SPARE_BYTES).contains(&buffers.bytes()) && spare.len() < MOST_SPARE {
            buffers.fields.clear();
            buffers.body.clear();
            spare.push(buffers);
        }
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.room.give_back(std::mem::take(&mut self.buffers));
    }
}
