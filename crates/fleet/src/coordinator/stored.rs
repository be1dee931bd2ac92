//! Reads the results of silent agents from the broker's stream, when a run is recalled.
//!
//! The stream has the messages that agents sent to their coordinator, each with a number. It stands in for an
//! agent that is dead or cannot be reached: its messages are fetched one at a time, while there is room for
//! its results, and taken as if it had sent them now. So a segment that comes from the stream and from the
//! agent counts once. The stream proves no name, cannot be trusted to be complete, and may be missing: what it
//! does not have is unaccounted for.

use super::Coordinator;
use crate::codec::CodecError;
use crate::identity::AgentName;
use crate::lease::Standing;
use crate::message::{Beat, Message, Phase};

/// How far the stream was read for an agent.
#[derive(Debug, Default)]
pub(super) struct Replay {
    /// The number of the last message that was read.
    after: u64,
    /// When the next one was first asked for, and last.
    asked_ns: Option<(u64, u64)>,
    /// There is no next one.
    is_over: bool,
}

impl Coordinator {
    /// The next fetch from the broker's stream: the first message of this agent to its coordinator whose number
    /// is higher than this ([`Coordinator::handle_stored`]).
    pub fn poll_fetch(&mut self) -> Option<(AgentName, u64)> {
        self.fetches.pop_front()
    }

    /// The stream has replied to the fetch of this agent's message after number `after`: with the message
    /// and its number, or with `None` if it has no more.
    pub fn handle_stored(
        &mut self,
        now_ns: u64,
        from: &AgentName,
        after: u64,
        found: Option<(u64, Result<Message, CodecError>)>,
    ) {
        let Some(&at) = self.places.get(from) else { return };
        let replay = &mut self.members[at].replay;
        // A second reply to the same fetch is none to the next one.
        if replay.asked_ns.is_none() || replay.after != after {
            return;
        }
        replay.asked_ns = None;
        match found {
            Some((number, message)) if number > after => {
                replay.after = number;
                self.take_stored(now_ns, at, from, message.ok());
                self.fetch(now_ns, at);
            }
            _ => replay.is_over = true,
        }
    }

    /// Takes a message of the past: of all kinds, results alone mean something still.
    fn take_stored(&mut self, now_ns: u64, at: usize, from: &AgentName, message: Option<Message>) {
        match message {
            Some(Message::Segment { head, segment }) => {
                self.handle_segment(now_ns, from, head, segment);
            }
            Some(Message::Beat { head, beat: Beat { phase, .. } }) => {
                let Phase::Delivering(last) = phase else { return };
                // Segments that are missing may follow, and so does another beat then.
                let is_here = self.members[at].inbox.is_complete(&last) != Ok(false);
                if self.place(from, head).is_some() && is_here {
                    self.members[at].phase = Some(phase);
                    self.handle_final(now_ns, at, &last);
                }
            }
            _ => {}
        }
    }

    /// Fetches the next message of an agent that is silent, if its results are wanted now.
    pub(super) fn fetch(&mut self, now_ns: u64, at: usize) {
        let suspect_ns = self.settings.timings.suspect_ns;
        let member = &mut self.members[at];
        let standing = member.silence.standing(now_ns, suspect_ns, u64::MAX);
        let is_silent = member.gone.is_some() || standing != Standing::Heard;
        let has_room = member.inbox.items() < self.most_items;
        if !self.is_recall || !member.is_active() || !is_silent || !has_room {
            return;
        }
        let replay = &mut member.replay;
        let is_due = |(_, last_ns): (u64, u64)| now_ns.saturating_sub(last_ns) >= suspect_ns;
        if !replay.is_over && replay.asked_ns.is_none_or(is_due) {
            let first_ns = replay.asked_ns.map_or(now_ns, |(first_ns, _)| first_ns);
            replay.asked_ns = Some((first_ns, now_ns));
            self.fetches.push_back((member.name.clone(), replay.after));
        }
    }

    /// Whether more of this agent's results may be in the stream.
    pub(super) fn is_fetching(&self, now_ns: u64, at: usize) -> bool {
        let Replay { asked_ns, is_over, .. } = self.members[at].replay;
        let lost_ns = self.settings.timings.lost_ns;
        let is_missing =
            asked_ns.is_some_and(|(first_ns, _)| now_ns.saturating_sub(first_ns) >= lost_ns);
        self.is_recall && !is_over && !is_missing
    }
}
