//! The behaviour of a peer on a connection, as data; and the most frequent peers of tests, by name.

use std::borrow::Cow;
use std::time::Duration;

/// A plain correct response with the body `hello`.
pub const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// One thing that a peer does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Waits for a request, reads it in full, counts it.
    ReadRequest,
    /// HTTP/2: waits for a request's HEADERS, reads everything up to it, counts it.
    ReadH2Request,
    /// Writes these bytes at once, whole.
    Write(Cow<'static, [u8]>),
    /// Writes these bytes one by one, with a pause after each.
    Drip(Cow<'static, [u8]>, Duration),
    /// Writes these bytes again and again, with a pause after each time, until the other side
    /// closes. Never ends by itself.
    WriteForever(Cow<'static, [u8]>, Duration),
    /// Waits, and reads nothing meanwhile.
    Sleep(Duration),
    /// Sets TCP_NODELAY, which is on at the beginning.
    Nodelay(bool),
    /// Says nothing more: reads and counts requests until the other side closes.
    Hang,
    /// Closes. If bytes of the other side are unread the kernel makes that a reset.
    Close,
    /// Closes with a reset.
    Reset,
    /// Begins again with the first step.
    Loop,
}

impl Step {
    /// [`Step::Write`] of anything that is bytes.
    pub fn write(bytes: impl AsRef<[u8]>) -> Step {
        Step::Write(Cow::Owned(bytes.as_ref().to_vec()))
    }
}

/// The steps of a peer on each connection, in order. After the last step the connection is closed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Script {
    steps: Vec<Step>,
}

impl Script {
    /// These steps.
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Script { steps: steps.into_iter().collect() }
    }

    /// Answers `requests` requests rightly, then these steps.
    pub fn after_answers(requests: usize, steps: impl IntoIterator<Item = Step>) -> Self {
        let answered = std::iter::repeat_n([Step::ReadRequest, right()], requests).flatten();
        Script::new(answered.chain(steps))
    }

    /// The steps, in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Answers every request rightly.
    pub fn answers() -> Self {
        Script::each_request([right()])
    }

    /// Does `steps` after each request.
    pub fn each_request(steps: impl IntoIterator<Item = Step>) -> Self {
        Script::new([Step::ReadRequest].into_iter().chain(steps).chain([Step::Loop]))
    }

    /// Answers every request with these bytes.
    pub fn answers_with(bytes: impl AsRef<[u8]>) -> Self {
        Script::each_request([Step::write(bytes)])
    }

    /// Accepts, reads, never responds.
    pub fn never_answers() -> Self {
        Script::new([Step::Hang])
    }

    /// Resets in the middle of a header field.
    pub fn resets_mid_header() -> Self {
        Script::new([Step::ReadRequest, text("HTTP/1.1 200 OK\r\nContent-Le"), Step::Reset])
    }

    /// Resets in the middle of a body.
    pub fn resets_mid_body() -> Self {
        Script::new([Step::ReadRequest, half_a_body(), Step::Reset])
    }

    /// Announces ten bytes of body, sends five and closes.
    pub fn truncates_body() -> Self {
        Script::new([Step::ReadRequest, half_a_body(), Step::Close])
    }

    /// A chunk whose size is not a number.
    pub fn bad_chunk() -> Self {
        Script::answers_with(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nhello\r\n",
        )
    }

    /// 1xx responses every millisecond until the other side closes; never a final one.
    pub fn floods_with_1xx() -> Self {
        let interim = Cow::Borrowed(&b"HTTP/1.1 102 Processing\r\n\r\n"[..]);
        Script::new([Step::ReadRequest, Step::WriteForever(interim, Duration::from_millis(1))])
    }

    /// A 1xx response, then the right one, in writes of their own.
    pub fn answers_after_1xx() -> Self {
        Script::each_request([text("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"), right()])
    }

    /// Closes unannounced after the first response.
    pub fn closes_on_reuse() -> Self {
        Script::after_answers(1, [Step::Close])
    }

    /// Closes after the first response, which announces it.
    pub fn closes_as_announced() -> Self {
        let last = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";
        Script::new([Step::ReadRequest, text(last), Step::Close])
    }

    /// Correct responses, byte by byte.
    pub fn drips(gap: Duration) -> Self {
        Script::each_request([Step::Drip(Cow::Borrowed(ANSWER), gap)])
    }

    /// A response before any request.
    pub fn answers_before_request() -> Self {
        Script::new([right(), Step::Hang])
    }

    /// Two responses in one write to each request, the second of them unsolicited.
    pub fn answers_twice() -> Self {
        Script::answers_with([ANSWER, ANSWER].concat())
    }

    /// Waits for two requests and responds to both in one write; for pipelining.
    pub fn answers_in_pairs() -> Self {
        let both = Step::write([ANSWER, ANSWER].concat());
        Script::new([Step::ReadRequest, Step::ReadRequest, both, Step::Loop])
    }

    /// Header and body in a write each. Without nodelay the body waits for the acknowledgement of
    /// the header, which the other side delays by 40 ms: Nagle against delayed ACK.
    pub fn head_then_body(nodelay: bool) -> Self {
        Script::new([
            Step::Nodelay(nodelay),
            Step::ReadRequest,
            text("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
            text("hello"),
            Step::Loop,
        ])
    }

    /// HTTP/1.0: the end of the connection is the end of the body.
    pub fn http_1_0() -> Self {
        Script::new([Step::ReadRequest, text("HTTP/1.0 200 OK\r\n\r\nhello"), Step::Close])
    }

    /// Closes each connection as soon as it is accepted.
    pub fn closes_at_once() -> Self {
        Script::new([Step::Close])
    }

    /// Closes without responding.
    pub fn closes_unanswered() -> Self {
        Script::new([Step::ReadRequest, Step::Close])
    }
}

fn text(text: &'static str) -> Step {
    Step::Write(Cow::Borrowed(text.as_bytes()))
}

fn right() -> Step {
    Step::Write(Cow::Borrowed(ANSWER))
}

fn half_a_body() -> Step {
    text("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
}
