//! Requests that do not leave in one go: chunks, pieces, bodies that wait or break off.
//!
//! HTTP/1.1 only. A [`Plan`](crate::Plan) has no conflicting deliveries.

use serde::{Deserialize, Serialize};

use crate::error::{PlanError, conflict, exclude, need, value, without_effect};
use crate::run::Connections;
use crate::targets::{HttpVersion, Target};
use crate::units::is_time;
use crate::values::SmallCount;

/// How one request leaves. The default: in one go, with a Content-Length.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Delivery {
    /// The body leaves in chunks of this many bytes, at least 1. The request has a body.
    pub chunk_bytes: Option<u64>,
    /// The request leaves in pieces. Not with `continue_ns`.
    pub pieces: Option<Pieces>,
    /// The request has a body and `Expect: 100-continue`. Without a response to that, the body
    /// leaves after this time.
    pub continue_ns: Option<u64>,
    /// The request breaks off after this many bytes of its body, which is longer.
    pub break_off_after: Option<u64>,
}

/// A request in pieces of about the same size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pieces {
    /// The number of pieces, at least 2; fewer if the request has fewer bytes.
    pub count: u32,
    /// The time from one piece to the next, above zero. Due times count from the first piece.
    pub gap_ns: u64,
}

impl Delivery {
    /// Whether the request stops on its way. Then no other request is in flight on its connection.
    pub fn pauses(&self) -> bool {
        self.pieces.is_some() || self.continue_ns.is_some() || self.break_off_after.is_some()
    }

    /// What is asked for. The deliveries that stop on the way come first.
    fn asked(&self) -> [(&'static str, bool); 4] {
        [
            ("--pieces", self.pieces.is_some()),
            ("--expect-continue", self.continue_ns.is_some()),
            ("--break-off-after", self.break_off_after.is_some()),
            ("--chunked", self.chunk_bytes.is_some()),
        ]
    }

    /// Whether it fits a request with this body.
    pub(super) fn check(&self, body_bytes: u64) -> Result<(), PlanError> {
        let of_bodies = [
            ("--chunked", self.chunk_bytes.is_some()),
            ("--expect-continue", self.continue_ns.is_some()),
            ("--break-off-after", self.break_off_after.is_some()),
        ];
        if body_bytes == 0 {
            without_effect(
                of_bodies,
                "the request has no body; add --body, --body-file or --form",
            )?;
        }
        if self.chunk_bytes == Some(0) {
            return Err(value(
                "--chunked",
                "a chunk has at least one byte; write e.g. 256 or 4KiB",
            ));
        }
        if let Some(pieces) = self.pieces {
            let fits = (2..=SmallCount::MAX).contains(&pieces.count) && is_time(pieces.gap_ns);
            need(fits, "a request's pieces", "are two or more, with a gap")?;
        }
        if let Some(wait_ns) = self.continue_ns {
            need(is_time(wait_ns), "a request's continue_ns", "is a time above zero")?;
        }
        if self.break_off_after.is_some_and(|bytes| bytes >= body_bytes) {
            return Err(value(
                "--break-off-after",
                format!("the body has only {body_bytes} bytes; write less"),
            ));
        }
        if self.pieces.is_some() && self.continue_ns.is_some() {
            let why = "both decide when the body leaves; leave one of them out";
            return Err(conflict("--pieces", "--expect-continue", why));
        }
        Ok(())
    }

    /// Whether it fits the target, the connections, and a script that may make the requests.
    pub(super) fn check_in(
        &self,
        target: &Target,
        is_scripted: bool,
        connections: &Connections,
    ) -> Result<(), PlanError> {
        let refused = [
            (
                target.http != HttpVersion::H1,
                if target.http == HttpVersion::H3 { "--h3" } else { "HTTP/2" },
                "it is for HTTP/1.1 only; add --h1, or leave it out",
            ),
            (is_scripted, "--script", "the script decides what is written; leave one of them out"),
            (
                target.has_early_data(),
                "--early-data",
                "early data may have to be sent again, so it leaves in one go; leave one of them out",
            ),
            (
                self.pauses() && connections.pipeline > 1,
                "--pipeline",
                "a request that stops would block those behind it; leave one of them out",
            ),
        ];
        match refused.into_iter().find(|(is_so, ..)| *is_so) {
            Some((_, other, why)) => exclude(self.asked(), other, why),
            None => Ok(()),
        }
    }

    /// Whether it can be that of a request that is redirected.
    pub(crate) fn check_redirected(&self) -> Result<(), PlanError> {
        let why =
            "a request that is redirected is made anew and leaves in one go; leave one of them out";
        exclude(self.asked(), "--location", why)
    }

    /// Whether it can be that of a request which is made anew each time.
    pub(super) fn check_filled(&self, why: &'static str) -> Result<(), PlanError> {
        exclude(self.asked(), why, MADE_ANEW)
    }
}

/// Why a request with holes, or a credential that is taken, leaves in one go.
pub(super) const MADE_ANEW: &str = "a request with such a value is made anew each time and leaves in one go; leave one of them out";
