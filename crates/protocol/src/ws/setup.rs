//! The messages of a run, and what its sessions are told of them: made once, shared by all.

use std::sync::Arc;

use super::message::Message;
use super::rules::Rules;
use super::settings::{Replies, Settings};

/// What all connections of a run share.
#[derive(Debug, Clone)]
pub struct Setup {
    pub(super) table: Box<[Message]>,
    /// The number of each message's field.
    pub(super) tags: Box<[u64]>,
    pub(super) settings: Settings,
    /// What decides which messages are replies, besides the settings.
    pub(super) rules: Option<Arc<Rules>>,
    /// What messages of ours are matched by, if not by what replies are.
    pub(super) message_field: Option<Replies>,
    /// What is sent before the first request.
    pub(super) hello: Option<Message>,
}

impl Setup {
    /// For messages of `table`.
    pub fn new(table: impl Into<Box<[Message]>>, mut settings: Settings) -> Self {
        const MOST_IN_FLIGHT: u32 = 1 << 16;
        settings.in_flight = settings.in_flight.clamp(1, MOST_IN_FLIGHT);
        let table: Box<[Message]> = table.into();
        let tags = table.iter().map(|one| settings.replies.tag(&one.payload)).collect();
        Setup { table, tags, settings, rules: None, hello: None, message_field: None }
    }

    /// The same, and these rules decide which messages are replies.
    pub fn ruled(self, rules: Option<Rules>) -> Self {
        Setup { rules: rules.map(Arc::new), ..self }
    }

    /// The same, and this message leaves first.
    pub fn greeting(self, hello: Option<Message>) -> Self {
        Setup { hello, ..self }
    }

    /// From now on, messages of ours are matched by this.
    pub(super) fn retag(&mut self, field: &Replies) {
        self.tags = self.table.iter().map(|one| field.tag(&one.payload)).collect();
        self.message_field = Some(field.clone());
    }

    /// How sessions are to behave.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}
