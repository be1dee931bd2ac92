//! Redirects of steps: whether one is followed, where to, and by which request of the plan.
//!
//! A redirect never leads to a host that is no target of the plan: what it names only chooses among them. The place
//! is a value of the user's memory, which the path of the next request is filled with. What may be sent there was
//! decided when the plan was built.

use candor_memory::field_values;
use candor_plan::journey::Variables;
use candor_plan::url::{HttpUrl, Origin, parse_host_port, resolve};
use candor_plan::{Plan, Redirect};
use candor_protocol::Capture;
use candor_record::ErrorKind;

use super::Users;
use crate::flight::{Flight, UserKey};

/// What all steps of a plan with redirects share.
pub(super) struct Redirects {
    /// Of each target.
    origins: Box<[Origin]>,
    /// The variable that has the path.
    variable: u32,
    /// The path, while it is made.
    path: Vec<u8>,
    /// A response that was looked into, and that captures and cookies are taken from next.
    seen: Option<Capture>,
}

/// A step that may be redirected, or that follows a redirect.
pub(super) struct Hops {
    /// The request of the step that the user makes in its turn.
    pub(super) first: u32,
    /// Which redirect this is; 0: it is that step.
    number: u32,
    keeps: bool,
    target: u32,
    /// The redirects of the step are the requests before this one.
    end: u32,
    /// Method and path, unless they are filled in.
    listed: (Sent, Vec<u8>),
    /// The name and the port that its requests have in the place of the target's.
    host: Option<(String, u16)>,
}

/// The method of a user's last request, as far as it matters for what follows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Sent {
    /// GET or HEAD.
    #[default]
    Safe,
    Post,
    Other,
}

impl Sent {
    pub(super) fn of(method: &[u8]) -> Self {
        match method {
            b"GET" | b"HEAD" => Sent::Safe,
            b"POST" => Sent::Post,
            _ => Sent::Other,
        }
    }

    /// Whether the request after a redirect with this status has the same method and body (RFC 9110 15.4): 303 makes
    /// a GET of it, and so do clients of a POST after 301 and 302.
    fn is_kept(self, status: u16) -> bool {
        match (self, status) {
            (Sent::Safe, _) | (_, 307 | 308) => true,
            (Sent::Post, _) | (_, 303) => false,
            (Sent::Other, _) => true,
        }
    }
}

/// What becomes of a redirect.
pub(crate) type Followed = Result<(), (ErrorKind, String)>;

impl Redirects {
    /// `None`: no step of the plan has any.
    pub(super) fn of(plan: &Plan) -> Option<Box<Self>> {
        let variable = Variables::of(plan.work.journeys()).number(Redirect::VARIABLE)?;
        let origin =
            |url: HttpUrl| Origin { is_https: url.is_https, host: url.host, port: url.port };
        let nowhere = || Origin { is_https: false, host: String::new(), port: 0 };
        let origins =
            plan.targets().map(|one| HttpUrl::parse(&one.url).map_or_else(|_| nowhere(), origin));
        let origins = origins.collect();
        Some(Box::new(Redirects {
            origins,
            variable: variable as u32,
            path: Vec::new(),
            seen: None,
        }))
    }

    /// The response that was looked into.
    pub(super) fn take_seen(&mut self) -> Option<Capture> {
        self.seen.take()
    }
}

impl Hops {
    /// Of each step of a plan, by its request; `None`: it has no redirects.
    pub(super) fn of(plan: &Plan) -> Vec<Option<Box<Hops>>> {
        let requests = plan.work.requests();
        let mut all = Vec::new();
        for (step, redirects) in plan.work.journeys().iter().flat_map(|one| one.with_redirects()) {
            let steps = std::iter::once(step).chain(redirects);
            let end = step.request + 1 + redirects.len() as u32;
            all.extend(steps.map(|one| {
                let request = &requests[one.request as usize];
                let host =
                    request.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host"));
                let target = plan.target_of(request);
                let usual = if target.tls.is_some() { 443 } else { 80 };
                let host = host.and_then(|(_, value)| parse_host_port(value).ok());
                let hops = Hops {
                    first: step.request,
                    number: one.redirect.map_or(0, |redirect| redirect.number),
                    keeps: one.redirect.is_none_or(|redirect| redirect.keeps),
                    target: request.target,
                    end,
                    listed: (Sent::of(request.method.as_bytes()), request.path.as_bytes().to_vec()),
                    host: host.map(|(host, port)| (host, port.unwrap_or(usual))),
                };
                (!redirects.is_empty()).then(|| Box::new(hops))
            }));
        }
        all
    }

    fn is_own(&self, origin: &Origin, of_target: &Origin) -> bool {
        let host = self.host.as_ref();
        host.is_some_and(|(host, port)| {
            let is_host = host.eq_ignore_ascii_case(&origin.host) && *port == origin.port;
            is_host && origin.is_https == of_target.is_https
        })
    }
}

impl Users {
    /// Whether this request may be redirected.
    pub(crate) fn follows(&self, request: u32) -> bool {
        self.steps[request as usize].hops.is_some()
    }

    /// A request leaves as it stands in the plan.
    pub(super) fn note_listed(&mut self, request: u32, key: UserKey) {
        if let Some(hops) = &self.steps[request as usize].hops {
            let user = &mut self.table[key as usize];
            user.sent = hops.listed.0;
            user.path.clone_from(&hops.listed.1);
        }
    }

    /// A response has another status than the expected ones, and its captured fields. `None`: it is no redirect of a
    /// step that has some. Otherwise whether it is followed; then the user's next request is that of the redirect.
    #[cold]
    pub(crate) fn redirected(
        &mut self,
        flight: &Flight,
        status: u16,
        captured: Option<Capture>,
    ) -> Option<Followed> {
        let redirects = self.redirects.as_mut()?;
        let captured = captured?;
        let followed = matches!(status, 301 | 302 | 303 | 307 | 308).then(|| {
            let user = &self.table[flight.user as usize];
            let hops = self.steps[flight.request as usize].hops.as_ref()?;
            let fields = field_values(captured.get().fields, b"location");
            let own = &redirects.origins[hops.target as usize];
            let place = resolve(fields, own.is_https, &user.path, &mut redirects.path);
            let of = |one: &Origin| {
                let is_it = |other: &Origin| {
                    one.host.eq_ignore_ascii_case(&other.host)
                        && (one.port, one.is_https) == (other.port, other.is_https)
                };
                match hops.is_own(one, own) {
                    true => Some(hops.target),
                    false => redirects.origins.iter().position(is_it).map(|at| at as u32),
                }
            };
            Some(match place {
                Err(why) => Err((ErrorKind::RedirectUnusable, why.to_string())),
                Ok(None) => Ok(hops.target),
                Ok(Some(place)) => of(&place).ok_or_else(|| {
                    let scheme = if place.is_https { "https" } else { "http" };
                    let Origin { host, port, .. } = &place;
                    let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
                    let why =
                        format!("to {scheme}://{host}:{port}, which is no target of the plan");
                    (ErrorKind::RedirectElsewhere, why)
                }),
            })
        });
        let followed = followed.flatten();
        redirects.seen = Some(captured);
        Some(followed?.and_then(|target| self.lead(flight, status, target)))
    }

    /// Leads the user to a redirect's request.
    fn lead(&mut self, flight: &Flight, status: u16, target: u32) -> Followed {
        let limit = |words: String| (ErrorKind::RedirectLimit, words);
        let (Some(hops), Some(redirects)) =
            (&self.steps[flight.request as usize].hops, &self.redirects)
        else {
            return Err(limit("none is followed".to_owned()));
        };
        let user = &mut self.table[flight.user as usize];
        let keeps = hops.keeps && user.sent.is_kept(status);
        let is_next = |request: &u32| {
            let next = self.steps[*request as usize].hops.as_ref();
            next.is_some_and(|next| {
                (next.number, next.keeps, next.target) == (hops.number + 1, keeps, target)
            })
        };
        // Those of a GET have no other method.
        let all = || hops.first + 1..hops.end;
        let next = all().find(is_next).ok_or_else(|| {
            limit(format!("after {} redirects, as many as are followed", hops.number))
        })?;
        let set = user.memory.set(redirects.variable, &redirects.path);
        set.map_err(|why| (ErrorKind::RedirectUnusable, why.to_string()))?;
        user.request = next;
        Ok(())
    }

    /// Whether the request that ended was redirected, and the user is at the next.
    pub(super) fn is_led(&self, flight: &Flight) -> bool {
        self.table[flight.user as usize].request != flight.request
    }

    /// The user is led by a redirect: its request is due at once.
    pub(super) fn go_after(&mut self, key: UserKey, at_ns: u64) {
        self.wheel.put(at_ns, key);
    }
}
