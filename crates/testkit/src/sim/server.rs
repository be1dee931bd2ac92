//! The other side of a simulated network: what a server does with what comes.

use candor_engine::reactor::Route;

/// What a server does with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reaction {
    /// Sends these bytes at this time.
    Answer {
        /// When, not before the request arrived.
        at_ns: u64,
        /// What.
        bytes: Vec<u8>,
    },
    /// Sends these bytes, each at its time: more answers than there were requests, perhaps.
    Answers(Vec<(u64, Vec<u8>)>),
    /// Sends these bytes, and others when the loader has acknowledged them, which its kernel delays.
    Held {
        /// When.
        at_ns: u64,
        /// What comes first.
        first: Vec<u8>,
        /// What waits for the acknowledgement.
        rest: Vec<u8>,
        /// How long the kernel delays that.
        delay_ns: u64,
    },
    /// Sends these bytes and closes in order.
    AnswerAndClose {
        /// When.
        at_ns: u64,
        /// What; may be empty.
        bytes: Vec<u8>,
    },
    /// Resets the connection.
    Reset {
        /// When.
        at_ns: u64,
    },
    /// Sends these bytes, and then a block of others again and again, faster than they can be
    /// read: there is always more.
    Endless {
        /// When it begins.
        at_ns: u64,
        /// What comes first.
        bytes: Vec<u8>,
        /// What one read finds from then on.
        block: Vec<u8>,
        /// How long such a read, and what is done with it, keeps the loader.
        read_ns: u64,
    },
    /// Nothing, ever.
    Never,
}

/// The other side of a simulated network.
pub trait SimServer {
    /// Whether a connection is accepted at `at_ns`; refused otherwise.
    fn accepts(&mut self, at_ns: u64) -> bool {
        let _ = at_ns;
        true
    }

    /// How many addresses it has.
    fn addresses(&self) -> usize {
        1
    }

    /// Which of them its name no longer has at `at_ns`, by their numbers. Comes before [`SimServer::addresses`].
    fn gone(&mut self, at_ns: u64) -> Vec<u32> {
        let _ = at_ns;
        Vec::new()
    }

    /// An attempt for this connection goes there.
    fn goes(&mut self, connection: u64, to: Route) {
        let _ = (connection, to);
    }

    /// Whether an attempt that goes there is accepted.
    fn accepts_route(&mut self, to: Route) -> bool {
        let _ = to;
        true
    }

    /// A complete request arrived at `at_ns`: the `nth` (from 0) on connection `connection`,
    /// which is unique in the run. Times count from the reactor's beginning, not from the
    /// run's; with a link without latency the two are the same.
    fn request(&mut self, at_ns: u64, connection: u64, nth: u64) -> Reaction;

    /// The same with the request as it came.
    fn text(&mut self, at_ns: u64, connection: u64, nth: u64, request: &[u8]) -> Reaction {
        let _ = request;
        self.request(at_ns, connection, nth)
    }

    /// The loader ended its side at `at_ns`, in the middle of a request or before it sent one.
    fn end(&mut self, at_ns: u64, connection: u64, nth: u64) -> Reaction {
        let _ = (connection, nth);
        Reaction::AnswerAndClose { at_ns, bytes: Vec::new() }
    }

    /// A datagram arrived at `at_ns`, on a [`Link`](super::Link) that carries them: what is sent back, and when.
    fn datagram(&mut self, at_ns: u64, connection: u64, bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let _ = (at_ns, connection, bytes);
        Vec::new()
    }

    /// How many bytes of connection `connection` are taken, by the server or by the kernels on the way;
    /// there is never room for more.
    fn reads(&mut self, connection: u64) -> usize {
        let _ = connection;
        usize::MAX
    }

    /// The same for the head of a request whose body is not all there: what is sent before it is.
    fn head(&mut self, at_ns: u64, connection: u64, nth: u64) -> Reaction {
        let _ = (at_ns, connection, nth);
        Reaction::Never
    }
}

impl<F: FnMut(u64, u64, u64) -> Reaction> SimServer for F {
    fn request(&mut self, at_ns: u64, connection: u64, nth: u64) -> Reaction {
        self(at_ns, connection, nth)
    }
}

/// A response of 200 with a body of two bytes.
pub fn ok_bytes() -> Vec<u8> {
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec()
}

/// A first-come-first-served server: one request at a time, `service_ns` each, and nothing is
/// begun during a stall.
#[derive(Debug, Clone, Default)]
pub struct Fifo {
    /// Time for one request.
    pub service_ns: u64,
    /// Stalls, as beginning and end.
    pub stalls: Vec<(u64, u64)>,
    free_at_ns: u64,
}

impl Fifo {
    /// With this service time and without stalls.
    pub fn new(service_ns: u64) -> Self {
        Fifo { service_ns, ..Fifo::default() }
    }

    /// And nothing is begun from `from_ns` to `to_ns`.
    pub fn with_stall(mut self, from_ns: u64, to_ns: u64) -> Self {
        self.stalls.push((from_ns, to_ns));
        self
    }

    /// When a request that arrives at `at_ns` is done. Requests must be asked for in order.
    pub fn done_ns(&mut self, at_ns: u64) -> u64 {
        let mut start_ns = at_ns.max(self.free_at_ns);
        for &(from_ns, to_ns) in &self.stalls {
            if (from_ns..to_ns).contains(&start_ns) {
                start_ns = to_ns;
            }
        }
        self.free_at_ns = start_ns + self.service_ns;
        self.free_at_ns
    }
}

impl SimServer for Fifo {
    fn request(&mut self, at_ns: u64, _connection: u64, _nth: u64) -> Reaction {
        Reaction::Answer { at_ns: self.done_ns(at_ns), bytes: ok_bytes() }
    }
}
