//! One agent of a run, as its coordinator sees it.

use std::collections::BTreeMap;

use candor_record::Workers;

use super::Loss;
use super::stored::Replay;
use crate::identity::{AgentName, Digest, RunKey};
use crate::lease::Silence;
use crate::message::{Go, Head, Message, Phase};
use crate::offset::Clock;
use crate::settlement::Inbox;

/// The fate of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fate {
    /// It has not delivered everything yet.
    Active,
    /// Its lease expired in silence. It may come back with its results.
    Away,
    /// All of its results have arrived.
    Settled,
    /// It is lost.
    Lost(Loss),
}

/// One agent of a run.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: AgentName,
    pub(super) boot: u64,
    pub(super) workers: Workers,
    /// A reservation or a recall, and whether it is repeated: until the agent beats.
    pub(super) request: Message,
    pub(super) is_asked: bool,
    pub(super) asked_ns: u64,
    pub(super) silence: Silence,
    /// The longest round trip of a probe.
    pub(super) round_trip_ns: u64,
    /// When the leases that it may have are over.
    pub(super) granted_ns: u64,
    /// It was away, so it has stopped and gets no lease any more.
    pub(super) was_away: bool,
    /// That its results are waited for was said.
    pub(super) is_awaited: bool,
    pub(super) is_suspect: bool,
    pub(super) phase: Option<Phase>,
    pub(super) clock: Clock,
    pub(super) probed_ns: u64,
    pub(super) go: Option<Go>,
    pub(super) inbox: Inbox,
    /// Of the plan and of each data file that it asked for: chunks below were sent to it.
    pub(super) sent: BTreeMap<Digest, u32>,
    /// When it last delivered an item or reached another phase.
    pub(super) progress_ns: u64,
    /// The end of its window, once its record is here.
    pub(super) window_end_ns: Option<u64>,
    pub(super) has_lapsed: bool,
    pub(super) fate: Fate,
    /// Why it has left the run, if it has.
    pub(super) gone: Option<Loss>,
    pub(super) replay: Replay,
}

impl Member {
    pub(super) fn new(
        name: AgentName,
        boot: u64,
        workers: Workers,
        request: Message,
        now_ns: u64,
    ) -> Self {
        Member {
            name,
            boot,
            workers,
            request,
            is_asked: true,
            // In the past, so that it is asked at once.
            asked_ns: 0,
            silence: Silence::new(now_ns),
            round_trip_ns: 0,
            granted_ns: 0,
            was_away: false,
            is_awaited: false,
            is_suspect: false,
            phase: None,
            clock: Clock::default(),
            probed_ns: 0,
            go: None,
            inbox: Inbox::default(),
            sent: BTreeMap::new(),
            progress_ns: now_ns,
            window_end_ns: None,
            has_lapsed: false,
            fate: Fate::Active,
            gone: None,
            replay: Replay::default(),
        }
    }

    pub(super) fn head(&self, key: RunKey) -> Head {
        Head { key, boot: self.boot }
    }

    pub(super) fn is_active(&self) -> bool {
        self.fate == Fate::Active
    }

    pub(super) fn is_lost(&self) -> bool {
        matches!(self.fate, Fate::Lost(_))
    }

    /// Whether its results are taken.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.fate, Fate::Active | Fate::Away)
    }

    pub(super) fn is_prepared(&self) -> bool {
        matches!(self.phase, Some(Phase::Prepared { .. }))
    }

    /// Whether it has the order to start, with the right origin.
    pub(super) fn has_order(&self) -> bool {
        match self.phase {
            Some(Phase::Armed { origin_ns }) => self.go.is_some_and(|go| go.origin_ns == origin_ns),
            Some(Phase::Running) => true,
            _ => self.has_stopped(),
        }
    }

    /// Whether it sends nothing more.
    pub(super) fn has_stopped(&self) -> bool {
        matches!(self.phase, Some(Phase::Draining | Phase::Lapsed | Phase::Delivering(_)))
    }
}
