//! What a user takes from a response: cookies, and the values that its step captures.

use std::sync::Arc;

use candor_memory::Missing;
use candor_protocol::Capture;

use super::{User, Users};
use crate::flight::Flight;

impl Users {
    /// Takes cookies and captures from a response that is the expected one otherwise, `now_s` seconds after 1970. What
    /// it lacks fails its request.
    pub(crate) fn lacks(
        &mut self,
        (flight, status): (&Flight, u16),
        captured: &Capture,
        now_s: u64,
    ) -> Option<Missing> {
        let missing = self.read((flight, status, false), captured, now_s)?;
        self.lacking = Some(missing.capture as u32);
        Some(missing)
    }

    /// The name of a capture of this request.
    pub(crate) fn name_of_capture(&self, request: u32, capture: usize) -> Option<Arc<str>> {
        let all = self.steps.get(request as usize)?.captures.list();
        all.get(capture).map(|one| Arc::clone(&one.name))
    }

    /// Whether it takes values from the responses to this request.
    pub(crate) fn captures(&self, request: u32) -> bool {
        !self.steps[request as usize].captures.is_empty()
    }

    /// Takes cookies from a response, and captures if not `only_cookies`.
    pub(super) fn read(
        &mut self,
        (flight, status, only_cookies): (&Flight, u16, bool),
        captured: &Capture,
        now_s: u64,
    ) -> Option<Missing> {
        let (key, request) = (flight.user as usize, flight.request);
        let User { journey, .. } = self.table[key];
        // The control of verify's users: what one captures, another has.
        #[cfg(candor_mutant = "mixed_users")]
        let key = (key ^ 1) % self.table.len();
        let user = &mut self.table[key];
        let response = captured.get();
        if self.journeys[journey as usize].cookies {
            let site = self.queues.as_ref().map_or(0, |queues| queues.target_of(request));
            let (at, is_lasting) =
                ((&self.sites, site), self.steps[request as usize].once.is_some());
            user.memory.take_cookies(at, &user.path, response.fields, now_s, is_lasting);
        }
        let captures = &self.steps[request as usize].captures;
        if only_cookies || captures.is_empty() {
            return None;
        }
        let body = self.bodies.read(request, response.body);
        captures.take(status, response.fields, &body, &mut user.memory).err()
    }
}
