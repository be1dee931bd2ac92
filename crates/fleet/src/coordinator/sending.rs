//! Sends the plan and its data files to the agents, a chunk for each that they ask for.

use super::member::Member;
use super::{Coordinator, Event, Stage, Void};
use crate::S;
use crate::codec::PIECE_BYTES;
use crate::identity::{AgentName, Digest};
use crate::message::{Head, Message};

/// From one report of how much of the plan was sent to the next.
const PROGRESS_NS: u64 = 5 * S;

impl Coordinator {
    pub(super) fn handle_want(
        &mut self,
        now_ns: u64,
        from: &AgentName,
        head: Head,
        of: Digest,
        chunks: &[u32],
    ) {
        let Some(at) = self.place(from, head) else { return };
        let file = self.files.iter().find(|file| file.digest == of).copied();
        if file.is_none() && of != self.plan_digest {
            return;
        }
        for &index in chunks {
            let begins = u64::from(index).saturating_mul(PIECE_BYTES as u64);
            let member = &mut self.members[at];
            if begins > file.map_or(self.plan_bytes.len() as u64, |file| file.bytes) {
                continue;
            }
            match file {
                Some(file) => {
                    let to = member.name.clone();
                    self.events.push_back(Event::Piece { to, head, file, index });
                }
                None => {
                    let rest = &self.plan_bytes[begins as usize..];
                    let bytes = rest[..rest.len().min(PIECE_BYTES)].to_vec();
                    let chunk = Message::Chunk { head, of, index, bytes };
                    self.transmits.push_back((member.name.clone(), chunk));
                }
            }
            let sent = member.sent.entry(of).or_default();
            if index >= *sent {
                // It has room for another one, because earlier ones have arrived.
                (*sent, member.progress_ns) = (index + 1, now_ns);
            }
        }
    }

    /// The host cannot read a data file any more, for this reason.
    pub fn handle_lost_file(&mut self, now_ns: u64, why: String) {
        if self.stage < Stage::Armed {
            self.void(now_ns, Void::Data(why));
        }
    }

    /// Tells the user how much of the plan was sent to all agents, if that takes long.
    pub(super) fn tell_progress(&mut self, now_ns: u64) {
        let pieces = |bytes: u64| bytes.div_ceil(PIECE_BYTES as u64).max(1);
        let of_files: u64 = self.files.iter().map(|file| pieces(file.bytes)).sum();
        let each = pieces(self.plan_bytes.len() as u64) + of_files;
        let chunks = each * self.members.len() as u64;
        let sent = |one: &Member| match one.is_prepared() {
            // It had some of the files.
            true => each,
            false => one.sent.values().map(|&sent| u64::from(sent)).sum(),
        };
        let sent: u64 = self.members.iter().map(sent).sum();
        if self.stage == Stage::Preparing
            && sent < chunks
            && now_ns.saturating_sub(self.told_ns) >= PROGRESS_NS
        {
            self.told_ns = now_ns;
            let percent = u8::try_from(100 * sent / chunks).unwrap_or(100);
            self.events.push_back(Event::Sending { percent });
        }
    }
}
