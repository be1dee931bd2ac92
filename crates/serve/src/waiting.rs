//! Messages that have come and wait to be echoed, in their order. Bounded: a server that has no room
//! does not read on, and the transport tells the client.

use std::collections::VecDeque;

use crate::alarm::Alarm;
use crate::origin::Part;

/// The most messages, and the most bytes but for one message, that wait.
const MAX_MESSAGES: usize = 1 << 16;
const MAX_BYTES: usize = 16 << 20;

/// The messages of a call or socket that wait.
pub(crate) struct Waiting<T> {
    queue: VecDeque<(Part, T, usize)>,
    bytes: usize,
    alarm: Alarm,
}

impl<T> Waiting<T> {
    pub(crate) fn new() -> Self {
        Waiting { queue: VecDeque::new(), bytes: 0, alarm: Alarm::default() }
    }

    /// Whether another message may be read.
    pub(crate) fn has_room(&self) -> bool {
        self.queue.len() < MAX_MESSAGES && self.bytes < MAX_BYTES
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Adds a message of `bytes` bytes, which leaves when it is due and those before it have left.
    pub(crate) fn push(&mut self, part: Part, message: T, bytes: usize) {
        self.bytes += bytes;
        self.queue.push_back((part, message, bytes));
    }

    /// Waits until the first message is due; forever, if there is none.
    pub(crate) async fn due(&self) {
        match self.queue.front() {
            Some((part, ..)) => self.alarm.until(part.due_ns).await,
            None => std::future::pending().await,
        }
    }

    /// Takes the first message away.
    pub(crate) fn pop(&mut self) -> Option<(Part, T)> {
        let (part, message, bytes) = self.queue.pop_front()?;
        self.bytes -= bytes;
        Some((part, message))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::origin::Origin;
    use crate::route::Route;

    #[test]
    fn messages_and_bytes_are_bounded() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _guard = runtime.enter();
        let part = Origin::now(Route::WsEcho, 0).part(0, Duration::ZERO);
        let mut waiting = Waiting::new();
        for bytes in [MAX_BYTES - 1, 1] {
            assert!(waiting.has_room());
            waiting.push(part, bytes, bytes);
        }
        assert!(!waiting.has_room());
        assert_eq!(waiting.pop().map(|(_, bytes)| bytes), Some(MAX_BYTES - 1));
        for _ in 1..MAX_MESSAGES {
            assert!(waiting.has_room());
            waiting.push(part, 0, 0);
        }
        assert!(!waiting.has_room());
    }
}
