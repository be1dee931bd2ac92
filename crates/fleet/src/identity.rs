//! What grants, refusals and messages name things by: runs, agents, and bytes by their digest.
//!
//! Values only, which every other module may use; this one knows none of them.

use std::fmt;

use aws_lc_rs::digest;
use serde::{Deserialize, Serialize};

/// The identity of a run: random.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunId(pub [u8; 16]);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// One attempt at a run. An experiment is a run of many attempts, each with a plan of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunKey {
    /// The run.
    pub run: RunId,
    /// The attempt; a later one has a higher number.
    pub epoch: u32,
}

impl fmt::Display for RunKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.run, self.epoch)
    }
}

/// The name of an agent: 1 to 63 lower-case letters, digits and dashes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AgentName(String);

/// A text is not a name of an agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an agent's name; use 1 to 63 lower-case letters, digits and dashes")]
pub struct NotAName(String);

impl AgentName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for AgentName {
    type Error = NotAName;

    fn try_from(name: String) -> Result<Self, NotAName> {
        let is_fine = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        match (1..=63).contains(&name.len()) && name.bytes().all(is_fine) {
            true => Ok(AgentName(name)),
            false => Err(NotAName(name.chars().take(64).collect())),
        }
    }
}

impl std::str::FromStr for AgentName {
    type Err = NotAName;

    fn from_str(name: &str) -> Result<Self, NotAName> {
        name.to_owned().try_into()
    }
}

impl From<AgentName> for String {
    fn from(name: AgentName) -> String {
        name.0
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hasher = Hasher::default();
        hasher.update(bytes);
        hasher.digest()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl std::str::FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        let is_hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 64 || !text.bytes().all(is_hex) {
            return Err(NotADigest);
        }
        let mut bytes = [0; 32];
        for (byte, two) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let digit = |b: u8| if b.is_ascii_digit() { b - b'0' } else { b - b'a' + 10 };
            *byte = digit(two[0]) << 4 | digit(two[1]);
        }
        Ok(Digest(bytes))
    }
}

/// A text is not a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a digest; it has 64 hexadecimal digits, in lower case")]
pub struct NotADigest;

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Computes a digest piece by piece.
#[derive(Clone)]
pub struct Hasher(digest::Context);

impl Default for Hasher {
    fn default() -> Self {
        Hasher(digest::Context::new(&digest::SHA256))
    }
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.digest(), f)
    }
}

impl Hasher {
    /// Takes the next piece.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all bytes so far.
    pub fn digest(&self) -> Digest {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(self.0.clone().finish().as_ref());
        Digest(bytes)
    }
}
