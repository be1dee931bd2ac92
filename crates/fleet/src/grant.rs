//! Grants: an agent starts nothing without a permission that an operator of its policy has signed.
//!
//! A grant is for one attempt at a run: one plan, its targets, the agents with their shares, within
//! caps, until it expires. An agent accepts each grant once. It names agents in their present life
//! ([`crate::Head::boot`]). A restarted agent has another life, so no older grant is for it, and no
//! list of used grants has to survive the restart.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use candor_plan::Rate;
use candor_record::{Workers, wire};
use serde::{Deserialize, Serialize};

use crate::identity::{AgentName, Digest, RunKey};
use crate::share::Shares;

/// The signed bytes begin with this, so that no signature for another purpose is valid for a grant.
const CONTEXT: &[u8] = b"candor grant 1\0";

/// Limits of a run; `None` means unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caps {
    /// The highest rate.
    pub rate: Option<Rate>,
    /// The most connections.
    pub connections: Option<u32>,
    /// The longest run.
    pub duration_ns: Option<u64>,
}

/// A permission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The attempt.
    pub key: RunKey,
    /// The plan.
    pub plan: Digest,
    /// Hosts and ports that may receive load.
    pub targets: Vec<(String, u16)>,
    /// Limits of all agents together.
    pub caps: Caps,
    /// The agents, each with its life and share.
    pub agents: Shares,
    /// When it expires, in seconds since 1970.
    pub expires_unix_s: u64,
    /// Random; different in each grant.
    pub nonce: [u8; 16],
}

impl Grant {
    /// The most bytes of a grant: enough for some thousand agents.
    pub const MOST_BYTES: usize = 160 << 10;
    /// The longest time until a grant expires.
    const LONGEST_S: u64 = 86_400;
}

/// A grant with the signature of an operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedGrant {
    /// The grant as bytes.
    pub body: Vec<u8>,
    /// The operator.
    pub operator: PublicKey,
    /// The signature, Ed25519 (RFC 8032).
    pub signature: Vec<u8>,
}

/// Why a grant is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum GrantError {
    /// The policy does not name its signer.
    #[error("its signer is not an operator of the policy")]
    Operator,
    /// The signature is wrong.
    #[error("its signature is wrong")]
    Signature,
    /// It is signed, but cannot be read.
    #[error("it cannot be read")]
    Damaged,
    /// It has expired.
    #[error("it has expired; check the clocks, or ask for a new one")]
    Expired,
    /// It expires in more than a day.
    #[error("it expires in more than a day; ask for a shorter one")]
    TooLong,
    /// It is for another run.
    #[error("it is for another run")]
    Run,
    /// It is for another plan.
    #[error("it is for another plan")]
    Plan,
    /// It is for other agents, or for an earlier life of this one.
    #[error("it does not name this agent, or was given before the agent restarted")]
    Agent,
    /// It gives this agent another share.
    #[error("it gives this agent another share")]
    Share,
    /// It is for another target.
    #[error("it is for another target")]
    Target,
    /// The plan asks for more.
    #[error("the plan asks for more than it permits")]
    Caps,
    /// It was used before.
    #[error("it was used before")]
    Used,
    /// Too many used grants have not expired.
    #[error("too many grants were used; wait until some of them have expired")]
    Full,
}

/// An operator's public key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicKey(pub [u8; 32]);

/// A text is not a public key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a public key; write ed25519: and the base64 of its 32 bytes")]
pub struct NotAKey;

impl FromStr for PublicKey {
    type Err = NotAKey;

    fn from_str(text: &str) -> Result<Self, NotAKey> {
        let bytes = text.strip_prefix("ed25519:").and_then(|text| STANDARD.decode(text).ok());
        let key = bytes.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        key.map(PublicKey).ok_or(NotAKey)
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ed25519:{}", STANDARD.encode(self.0))
    }
}

/// An operator's private key. Its debug form shows the public one.
pub struct OperatorKey(Ed25519KeyPair);

impl fmt::Debug for OperatorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OperatorKey({})", self.public())
    }
}

impl OperatorKey {
    /// The key of a seed: 32 random bytes, which are the secret.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed);
        OperatorKey(pair.expect("every 32 bytes are a seed (RFC 8032 section 5.1.5)"))
    }

    /// Its public half.
    pub fn public(&self) -> PublicKey {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(self.0.public_key().as_ref());
        PublicKey(bytes)
    }

    /// Signs a grant.
    pub fn sign(&self, grant: &Grant) -> SignedGrant {
        let body = wire::to_bytes(grant);
        let signature = self.0.sign(&[CONTEXT, &body].concat()).as_ref().to_vec();
        SignedGrant { body, operator: self.public(), signature }
    }
}

impl SignedGrant {
    /// The grant, if one of these operators signed it.
    pub fn verify(&self, operators: &[PublicKey]) -> Result<Grant, GrantError> {
        if !operators.contains(&self.operator) {
            return Err(GrantError::Operator);
        }
        let key = UnparsedPublicKey::new(&ED25519, &self.operator.0);
        let signed = key.verify(&[CONTEXT, &self.body].concat(), &self.signature);
        signed.map_err(|_| GrantError::Signature)?;
        wire::from_bytes(&self.body).map_err(|_| GrantError::Damaged)
    }
}

impl Grant {
    /// Whether it is for this run, plan, agent and share, now.
    pub fn check(
        &self,
        unix_s: u64,
        key: RunKey,
        plan: Digest,
        (name, boot): (&AgentName, u64),
        share: Workers,
    ) -> Result<(), GrantError> {
        if self.key != key {
            return Err(GrantError::Run);
        }
        if self.plan != plan {
            return Err(GrantError::Plan);
        }
        let mut own = self.agents.iter().filter(|(one, life, _)| one == name && *life == boot);
        if own.next().ok_or(GrantError::Agent)?.2 != share {
            return Err(GrantError::Share);
        }
        if self.expires_unix_s <= unix_s {
            return Err(GrantError::Expired);
        }
        match self.expires_unix_s - unix_s {
            ..=Self::LONGEST_S => Ok(()),
            _ => Err(GrantError::TooLong),
        }
    }
}

/// Used grants that have not expired.
#[derive(Debug, Clone, Default)]
pub struct Nonces {
    used: BTreeMap<[u8; 16], u64>,
    /// Used grants that expired until then may be forgotten, so none of that time is accepted, not even
    /// if the clock goes back.
    forgotten_unix_s: u64,
}

impl Nonces {
    /// The most grants.
    pub const MOST: usize = 16_384;

    /// Marks a grant as used.
    pub fn use_up(&mut self, unix_s: u64, grant: &Grant) -> Result<(), GrantError> {
        if self.used.contains_key(&grant.nonce) {
            return Err(GrantError::Used);
        }
        if grant.expires_unix_s <= self.forgotten_unix_s {
            return Err(GrantError::Expired);
        }
        if self.used.len() >= Self::MOST {
            self.used.retain(|_, expires_unix_s| *expires_unix_s > unix_s);
            self.forgotten_unix_s = self.forgotten_unix_s.max(unix_s);
        }
        if self.used.len() >= Self::MOST {
            return Err(GrantError::Full);
        }
        self.used.insert(grant.nonce, grant.expires_unix_s);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::RunId;

    const NOW: u64 = 1_800_000_000;
    const HALF: Workers = Workers { first: 0, count: 2, of: 4 };
    const REST: Workers = Workers { first: 2, count: 2, of: 4 };

    fn grant() -> Grant {
        Grant {
            key: RunKey { run: RunId([1; 16]), epoch: 2 },
            plan: Digest::of(b"plan"),
            targets: vec![("a.example".to_owned(), 80)],
            caps: Caps::default(),
            agents: vec![("a1".parse().unwrap(), 11, HALF), ("a2".parse().unwrap(), 12, REST)],
            expires_unix_s: NOW + 600,
            nonce: [3; 16],
        }
    }

    #[test]
    fn only_an_operator_can_sign_a_grant() {
        let (key, other) = (OperatorKey::from_seed(&[1; 32]), OperatorKey::from_seed(&[2; 32]));
        let operators = [key.public()];
        let signed = key.sign(&grant());
        assert_eq!(signed.verify(&operators), Ok(grant()));
        assert_eq!(other.sign(&grant()).verify(&operators), Err(GrantError::Operator));
        let claimed = SignedGrant { operator: key.public(), ..other.sign(&grant()) };
        assert_eq!(claimed.verify(&operators), Err(GrantError::Signature));
        for at in 0..signed.body.len() {
            let mut forged = signed.clone();
            forged.body[at] ^= 1;
            assert_eq!(forged.verify(&operators), Err(GrantError::Signature), "{at}");
        }
        for length in [0, 63] {
            let short = SignedGrant { signature: vec![0; length], ..signed.clone() };
            assert_eq!(short.verify(&operators), Err(GrantError::Signature));
        }
        // A signature of the same bytes for another purpose.
        let plain = key.0.sign(&signed.body).as_ref().to_vec();
        let plain = SignedGrant { signature: plain, ..signed };
        assert_eq!(plain.verify(&operators), Err(GrantError::Signature));
        let text = key.public().to_string();
        assert_eq!(text.parse(), Ok(key.public()));
        assert_eq!("ed25519:AAAA".parse::<PublicKey>(), Err(NotAKey));
        assert_eq!(format!("{key:?}"), format!("OperatorKey({text})"));
    }

    #[test]
    fn a_grant_is_for_one_run_plan_agent_share_and_time() {
        let grant = grant();
        let name: AgentName = "a1".parse().unwrap();
        let check = |unix_s, key, plan, agent| grant.check(unix_s, key, plan, agent, HALF);
        assert_eq!(check(NOW, grant.key, grant.plan, (&name, 11)), Ok(()));
        let other = RunKey { epoch: 3, ..grant.key };
        assert_eq!(check(NOW, other, grant.plan, (&name, 11)), Err(GrantError::Run));
        let plan = Digest::of(b"another");
        assert_eq!(check(NOW, grant.key, plan, (&name, 11)), Err(GrantError::Plan));
        let stranger = "a3".parse().unwrap();
        for agent in [(&name, 12), (&name, 10), (&stranger, 11)] {
            assert_eq!(check(NOW, grant.key, grant.plan, agent), Err(GrantError::Agent));
        }
        for share in [REST, Workers::all(4), Workers { of: 2, ..HALF }] {
            let other = grant.check(NOW, grant.key, grant.plan, (&name, 11), share);
            assert_eq!(other, Err(GrantError::Share));
        }
        let at = |unix_s| check(unix_s, grant.key, grant.plan, (&name, 11));
        assert_eq!(at(NOW + 599), Ok(()));
        assert_eq!(at(NOW + 600), Err(GrantError::Expired));
        assert_eq!(at(NOW + 600 - 86_400), Ok(()));
        assert_eq!(at(NOW + 599 - 86_400), Err(GrantError::TooLong));
    }

    #[test]
    fn a_grant_is_used_once_and_memory_is_bounded() {
        let mut nonces = Nonces::default();
        let numbered = |n: u64| Grant { nonce: u128::from(n).to_le_bytes(), ..grant() };
        assert_eq!(nonces.use_up(NOW, &numbered(0)), Ok(()));
        assert_eq!(nonces.use_up(NOW, &numbered(0)), Err(GrantError::Used));
        for n in 1..Nonces::MOST as u64 {
            assert_eq!(nonces.use_up(NOW, &numbered(n)), Ok(()));
        }
        assert_eq!(nonces.use_up(NOW, &numbered(u64::MAX)), Err(GrantError::Full));
        assert_eq!(nonces.use_up(NOW + 600, &numbered(u64::MAX)), Ok(()));
        assert_eq!(nonces.used.len(), 1);
        // The clock goes back: forgotten grants are not accepted again.
        assert_eq!(nonces.use_up(NOW, &numbered(0)), Err(GrantError::Expired));
        let later = Grant { expires_unix_s: NOW + 601, ..numbered(1) };
        assert_eq!(nonces.use_up(NOW, &later), Ok(()));
    }
}
