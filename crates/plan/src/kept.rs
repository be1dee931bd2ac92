//! Lists that a plan has whole, e.g. a body or due offsets, and that a result has only as count and
//! hash.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::redact::{FNV_START, fnv, folded};

/// A list, or its count and hash in a result. A [`Plan`](crate::Plan) has it whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Kept<T> {
    /// All of it.
    #[serde(with = "shared")]
    #[serde(bound(serialize = "T: Serialize", deserialize = "T: Deserialize<'de>"))]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<T>"))]
    Whole(Arc<[T]>),
    /// Left out.
    LeftOut {
        /// How many elements it had.
        count: u64,
        /// Distinguishes lists: four hexadecimal digits, so one pair in 65,536 looks the same.
        /// Empty: unknown.
        hash: String,
    },
}

impl<T> Kept<T> {
    /// How many elements it has, or had.
    pub fn count(&self) -> u64 {
        match self {
            Kept::Whole(list) => list.len() as u64,
            Kept::LeftOut { count, .. } => *count,
        }
    }

    /// Whether the list is, or was, empty.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// The whole list; empty if it was left out, which is never so in a plan.
    pub fn whole(&self) -> &[T] {
        match self {
            Kept::Whole(list) => list,
            Kept::LeftOut { .. } => &[],
        }
    }

    /// The same, as a shared pointer.
    pub fn shared(&self) -> Arc<[T]> {
        match self {
            Kept::Whole(list) => Arc::clone(list),
            Kept::LeftOut { .. } => Arc::new([]),
        }
    }

    /// The list without its elements and without a hash of them.
    pub(crate) fn emptied(&self) -> Self {
        Kept::LeftOut { count: self.count(), hash: String::new() }
    }

    /// Whether it was left out.
    pub fn is_left_out(&self) -> bool {
        matches!(self, Kept::LeftOut { .. })
    }

    /// Its hash if it was left out.
    pub fn hash(&self) -> Option<&str> {
        match self {
            Kept::LeftOut { hash, .. } if !hash.is_empty() => Some(hash),
            _ => None,
        }
    }
}

impl<T: Copy + Into<u64>> Kept<T> {
    /// The list for a result. An empty list hides nothing and is kept.
    pub(crate) fn redacted(&self) -> Self {
        match self {
            Kept::Whole(list) if !list.is_empty() => {
                let bytes = |one: &T| (*one).into().to_le_bytes();
                let width = size_of::<T>();
                let hash = list.iter().fold(FNV_START, |hash, one| fnv(hash, &bytes(one)[..width]));
                Kept::LeftOut { count: list.len() as u64, hash: folded(hash) }
            }
            _ => self.clone(),
        }
    }
}

impl<T, L: Into<Arc<[T]>>> From<L> for Kept<T> {
    fn from(list: L) -> Self {
        Kept::Whole(list.into())
    }
}

impl<T> FromIterator<T> for Kept<T> {
    fn from_iter<I: IntoIterator<Item = T>>(list: I) -> Self {
        Kept::Whole(list.into_iter().collect())
    }
}

/// A shared list is written and read as a list.
mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<T: Serialize, S: Serializer>(
        list: &Arc<[T]>,
        output: S,
    ) -> Result<S::Ok, S::Error> {
        list.as_ref().serialize(output)
    }

    pub(super) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        input: D,
    ) -> Result<Arc<[T]>, D::Error> {
        Vec::deserialize(input).map(Into::into)
    }
}
