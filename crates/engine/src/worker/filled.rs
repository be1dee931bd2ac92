//! What a worker does for requests that have holes.

use candor_plan::Plan;
use candor_protocol::{Outgoing, Protocol};
use candor_record::EndReason;

use super::Worker;
use crate::books::Departure;
use crate::control::Control;
use crate::fill::{DataRows, Filling, Tables, Whose};
use crate::reactor::Reactor;

impl<R: Reactor, S: Protocol> Worker<R, S> {
    /// Gives the worker, and its script if it has one, the values of requests, before it prepares.
    pub(crate) fn fill_with(&mut self, plan: &Plan, tables: &Tables) {
        let filling = Filling::new(plan, tables);
        match self.dispatch.users() {
            Some(users) => users.fill_with(filling),
            None => self.filling = filling.map(Box::new),
        }
        if let Some(script) = self.script.as_mut().filter(|_| !plan.data.is_empty()) {
            script.take_rows(DataRows::new(plan, tables));
        }
        if let Some(once) = &tables.once {
            match self.dispatch.source.closed() {
                Some(closed) => {
                    closed.limit_rows(once.rows, self.own.share);
                    // The run may end before its time.
                    self.own.counted = true;
                }
                None if once.count.is_some() => self.own.exhausted = EndReason::RowsUsed,
                None => {}
            }
        }
    }

    /// Whether this request has holes.
    #[inline]
    pub(super) fn has_holes(&self, request: u32) -> bool {
        self.filling.as_ref().is_some_and(|filling| filling.has(request))
    }

    /// Hands a request over with the values of its index. False: it has none, and nothing more is to be sent.
    pub(super) fn hand_over_filled(&mut self, departure: Departure) -> bool {
        let Some(filling) = &mut self.filling else { return false };
        let whose = Whose { index: departure.index, ..Whose::default() };
        let Some(made) = filling.fill(departure.request, whose) else {
            self.data_failed = true;
            return false;
        };
        let connection = &mut self.pool[departure.connection];
        let Some(session) = &mut connection.session else { return true };
        let id = self.books.depart(departure, &mut connection.account.flights);
        session.handle_request(id, Outgoing::Made(&made));
        connection.offered -= 1;
        self.handed_over(departure);
        true
    }

    /// Whether a row could not be read. Then everybody's run ends.
    #[inline]
    pub(super) fn filling_end(&self, control: &Control) -> Option<EndReason> {
        if self.data_failed && !control.is_stopping() {
            control.stop();
        }
        self.data_failed.then_some(EndReason::DataFailed)
    }
}
