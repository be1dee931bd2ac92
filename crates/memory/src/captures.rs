//! The captures of a step: all of its response's values, or none.
//!
//! A step whose captures are half taken would leave a user with values of two responses, which no real
//! user has. So all values are found first, and then set together: after a failure the user has the
//! values that it had before.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::{Memory, Source, Why};

/// Captures of a step that need no allocation.
const FEW: usize = 8;

/// One capture: which variable takes a value from where.
#[derive(Debug, Clone)]
pub struct Capture {
    /// The variable's number.
    pub variable: u32,
    /// Its name, for errors and for the ledger of captures.
    pub name: Arc<str>,
    /// Where the value is.
    pub source: Source,
}

/// The captures of a step, in the order of the plan.
#[derive(Debug, Clone, Default)]
pub struct Captures(Vec<Capture>);

/// A step captures a variable twice.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the step captures {name:?} twice; give the second capture another name")]
pub struct TwiceCaptured {
    /// The name of the second capture.
    pub name: String,
}

/// A capture that failed, and with it all captures of its step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Missing {
    /// Which, by its place in the list.
    pub capture: usize,
    /// Why.
    pub why: Why,
    /// The status of the response, which often explains it.
    pub status: u16,
}

impl Captures {
    /// The captures of a step.
    ///
    /// # Errors
    /// Two have the same variable.
    pub fn new(list: Vec<Capture>) -> Result<Self, TwiceCaptured> {
        for (at, capture) in list.iter().enumerate() {
            if list[..at].iter().any(|earlier| earlier.variable == capture.variable) {
                return Err(TwiceCaptured { name: capture.name.to_string() });
            }
        }
        Ok(Captures(list))
    }

    /// The captures, in the order that [`Missing::capture`] counts.
    pub fn list(&self) -> &[Capture] {
        &self.0
    }

    /// Whether there is none, so that the response need not be kept.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes all values from a response: `fields` are header lines `Name: value`, `body` has no framing.
    ///
    /// # Errors
    /// The first capture that has no value, or none that the user has room for. Then no variable has
    /// changed.
    pub fn take(
        &self,
        status: u16,
        fields: &[u8],
        body: &[u8],
        memory: &mut Memory,
    ) -> Result<(), Missing> {
        let mut found: SmallVec<[(u32, Cow<'_, [u8]>); FEW]> = SmallVec::new();
        for (capture, Capture { variable, source, .. }) in self.0.iter().enumerate() {
            match source.find(fields, body) {
                Ok(value) => found.push((*variable, value)),
                Err(why) => return Err(Missing { capture, why, status }),
            }
        }
        memory.set_all(&found).map_err(|(capture, why)| Missing { capture, why, status })
    }

    /// A failure in words.
    pub fn explain(&self, missing: Missing) -> impl fmt::Display {
        let name = self.0.get(missing.capture).map_or("?", |capture| &*capture.name);
        format!(
            "capture {name:?} failed on a response with status {}: {}",
            missing.status, missing.why
        )
    }
}

#[cfg(test)]
mod tests;
