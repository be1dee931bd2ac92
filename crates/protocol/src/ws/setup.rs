//! The messages of a run, and what its sessions are told of them: made once, shared by all.

use std::sync::Arc;

use super::message::Message;
use super::rules::Rules;
use super::settings::Settings;

/// What all connections of a run share.
#[derive(Debug, Clone)]
pub struct Setup {
    pub(super) table: Box<[Message]>,
    /// The number of each message's field.
    pub(super) tags: Box<[u64]>,
    pub(super) settings: Settings,
    /// What decides which messages are replies, besides the settings.
    pub(super) rules: Option<Arc<Rules>>,
}

impl Setup {
    /// For messages of `table`.
    pub fn new(table: impl Into<Box<[Message]>>, mut settings: Settings) -> Self {
        const MOST_IN_FLIGHT: u32 = 1 << 16;
        settings.in_flight = settings.in_flight.clamp(1, MOST_IN_FLIGHT);
        let table: Box<[Message]> = table.into();
        let tags = table.iter().map(|one| settings.replies.tag(&one.payload)).collect();
        Setup { table, tags, settings, rules: None }
    }

    /// The same, and these rules decide which messages are replies.
    pub fn ruled(self, rules: Option<Rules>) -> Self {
        Setup { rules: rules.map(Arc::new), ..self }
    }

    /// How sessions are to behave.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}
