//! The author of a worker's requests: writes the request of a departure, and hears what became of it.
//!
//! There is one for each way in which a plan can say what is sent. What is due when, and on which connection, is not
//! its affair, except that users decide themselves when they make their steps
//! ([`Source::Users`](crate::load::Source)). It sends nothing and keeps no times; it reads the calendar, for cookies
//! that expire.

pub(crate) mod filling;
pub mod script;
pub(crate) mod users;

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use candor_memory::Missing;
use candor_plan::{Load, Plan};
use candor_protocol::{Outgoing, RequestId, Session};
use candor_record::{EndReason, Recorder};

use self::filling::{DataRows, Filling, Owner, Tables};
use self::script::Scripted;
use self::users::{Followed, Users};
use crate::flight::{Departure, Ended, Flight};
use crate::load::share::WorkerPlan;

/// Who writes the requests of a worker.
pub(crate) enum Author {
    /// The plan: they stand in it as they are sent.
    Listed,
    /// The plan, and some of them have holes.
    Filled(Box<Filling>),
    /// A script, or the plan for a script that reads the responses.
    Scripted(Box<Scripted>),
    /// Users, each on a journey.
    Users(Box<Users>),
}

impl Author {
    /// The author of a worker's part of a plan; `script` is that of its thread.
    pub(crate) fn new(
        plan: &Plan,
        own: &WorkerPlan,
        tables: &Tables,
        script: Option<Scripted>,
    ) -> Self {
        let filling = Filling::new(plan, tables);
        if plan.work.has_users() {
            return Author::Users(Box::new(Users::new(plan, own, filling)));
        }
        if let Some(mut script) = script {
            let is_closed = matches!(plan.load, Load::Closed { .. });
            let rows = (!plan.data.is_empty()).then(|| DataRows::new(plan, tables));
            script.begin(is_closed.then_some(own.share), rows, filling);
            return Author::Scripted(Box::new(script));
        }
        match filling {
            None => Author::Listed,
            Some(filling) => Author::Filled(Box::new(filling)),
        }
    }

    /// The request of a departure. `None`: there is none, and nothing more is to be sent.
    #[inline(always)]
    pub(crate) fn write(&mut self, departure: &Departure) -> Option<Outgoing<'_>> {
        let Departure { request, index, user, .. } = *departure;
        match self {
            Author::Listed => Some(Outgoing::Listed(request)),
            Author::Filled(filling) => filling.write(request, Owner { index, ..Owner::default() }),
            Author::Scripted(script) => script.write(departure),
            Author::Users(users) => {
                let now_s = if users.have_cookies() { unix_s() } else { 0 };
                users.write(request, user, now_s)
            }
        }
    }

    /// The request line of what it wrote for this, for an example of an error: where a list of URLs says what is sent,
    /// and its name says nothing.
    #[cold]
    pub(crate) fn line(&mut self, flight: &Flight) -> Option<String> {
        match self {
            Author::Filled(filling) => {
                let owner = Owner { index: flight.index, ..Owner::default() };
                filling.line(flight.request, owner)
            }
            Author::Listed | Author::Scripted(_) | Author::Users(_) => None,
        }
    }

    /// What it has written last was handed over under this number.
    #[inline]
    pub(crate) fn departed(&mut self, id: RequestId, departure: &Departure) {
        if let Author::Scripted(script) = self {
            script.departed(id, departure);
        }
    }

    /// Whether what it made for the last departure holds more requests, which share its place.
    #[inline]
    pub(crate) fn has_more(&self) -> bool {
        matches!(self, Author::Scripted(script) if script.has_more())
    }

    /// They are not sent: nothing more is.
    #[cold]
    pub(crate) fn drop_more(&mut self) {
        if let Author::Scripted(script) = self {
            script.drop_more();
        }
    }

    /// Whether writing may take long.
    #[inline]
    pub(crate) fn is_slow(&self) -> bool {
        matches!(self, Author::Scripted(script) if script.is_slow())
    }

    /// Whether it is told what becomes of requests.
    #[inline]
    pub(crate) fn hears(&self) -> bool {
        matches!(self, Author::Scripted(_) | Author::Users(_))
    }

    /// A request has an outcome, and `session` what was kept of the response, if there is one.
    #[inline]
    pub(crate) fn ended(
        &mut self,
        ended: Ended<'_>,
        session: Option<&mut dyn Session>,
        recorder: &mut Recorder,
    ) {
        if self.hears() {
            self.hear(&ended, session, recorder);
        }
    }

    /// What a response that is the expected one otherwise lacks: a value that its request is to have captured,
    /// with the name of the capture.
    #[inline]
    pub(crate) fn lacks(
        &mut self,
        flight: impl FnOnce() -> Flight,
        status: u16,
        session: &mut Option<&mut dyn Session>,
    ) -> Option<(Missing, Option<Arc<str>>)> {
        let users = self.users()?;
        let flight = flight();
        let captured = users.captures(flight.request).then_some(session.as_mut())??.take_captured();
        let now_s = if users.have_cookies() { unix_s() } else { 0 };
        let missing = users.lacks((&flight, status), &captured?, now_s)?;
        Some((missing, users.name_of_capture(flight.request, missing.capture)))
    }

    /// Whether a response to this request with another status than the expected ones is followed, as a redirect;
    /// `None`: it is what it is.
    #[cold]
    pub(crate) fn redirected(
        &mut self,
        flight: &Flight,
        status: u16,
        session: Option<&mut dyn Session>,
    ) -> Option<Followed> {
        let users = self.users().filter(|users| users.follows(flight.request))?;
        users.redirected(flight, status, session?.take_captured())
    }

    #[inline(never)]
    fn hear(
        &mut self,
        ended: &Ended<'_>,
        session: Option<&mut dyn Session>,
        recorder: &mut Recorder,
    ) {
        let captured = session.and_then(|session| session.take_captured());
        match self {
            Author::Listed | Author::Filled(_) => {}
            Author::Scripted(script) => script.ended(ended, captured),
            Author::Users(users) => {
                let now_s = if users.have_cookies() { unix_s() } else { 0 };
                users.ended(ended, captured, now_s, recorder);
            }
        }
    }

    /// Why it ends the run, if it does.
    #[inline]
    pub(crate) fn end(&self) -> Option<EndReason> {
        let has_failed = match self {
            Author::Listed => false,
            Author::Filled(filling) => filling.has_failed(),
            Author::Scripted(script) => return script.end(),
            Author::Users(users) => users.has_failed(),
        };
        has_failed.then_some(EndReason::DataFailed)
    }

    /// The script, if it is one.
    #[inline]
    pub(crate) fn script(&mut self) -> Option<&mut Scripted> {
        match self {
            Author::Scripted(script) => Some(script),
            _ => None,
        }
    }

    /// The users, if it is they.
    #[inline]
    pub(crate) fn users(&mut self) -> Option<&mut Users> {
        match self {
            Author::Users(users) => Some(users),
            _ => None,
        }
    }
}

/// Seconds since 1970, for the age of cookies.
fn unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
