//! The keys of a plan: flat in its text, in groups here.
//!
//! Each key goes to its group, which reads it as a table with one key. This keeps the line and
//! column of errors; serde's own `flatten` would lose them.

use std::sync::OnceLock;

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, Visitor};

use crate::url::HttpUrl;

/// Implements `Deserialize` for [`Options`](super::Options) of these groups.
macro_rules! groups {
    ($($group:ident: $type:ident,)*) => {
        impl<'de> serde::Deserialize<'de> for Options {
            fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
                struct Groups;

                impl<'de> serde::de::Visitor<'de> for Groups {
                    type Value = Options;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("struct Options")
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        mut table: A,
                    ) -> Result<Options, A::Error> {
                        use serde::Deserialize;
                        use serde::de::value::MapAccessDeserializer;
                        let mut all = Options::default();
                        while let Some(key) = table.next_key_seed(keys::Key(keys()))? {
                            if key == keys::URL {
                                all.url = Some(table.next_value_seed(keys::CheckedUrl)?);
                                continue;
                            }
                            let one = MapAccessDeserializer::new(keys::One::new(key, &mut table));
                            $(if plan_file::keys_of::<$type>().contains(&key) {
                                let given = $type::deserialize(one)?;
                                all.$group = given.filled(std::mem::take(&mut all.$group));
                                continue;
                            })*
                        }
                        Ok(all)
                    }
                }

                input.deserialize_struct("Options", keys(), Groups)
            }
        }

        /// All keys of a plan.
        fn keys() -> &'static [&'static str] {
            keys::all(&[$(plan_file::keys_of::<$type>),*])
        }
    };
}

pub(super) use groups;

/// The only key that belongs to no group.
pub(super) const URL: &str = "url";

pub(super) fn all(of_groups: &[fn() -> &'static [&'static str]]) -> &'static [&'static str] {
    static ALL: OnceLock<Vec<&str>> = OnceLock::new();
    let of_groups = || of_groups.iter().flat_map(|keys| keys()).copied();
    ALL.get_or_init(|| std::iter::once(URL).chain(of_groups()).collect())
}

/// Reads a key and refuses unknown ones.
pub(super) struct Key(pub(super) &'static [&'static str]);

impl<'de> DeserializeSeed<'de> for Key {
    type Value = &'static str;

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<&'static str, D::Error> {
        input.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Key {
    type Value = &'static str;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<&'static str, E> {
        let known = self.0.iter().copied().find(|key| *key == name);
        known.ok_or_else(|| E::unknown_field(name, self.0))
    }
}

/// A URL, checked here so that a bad one is refused with file and line.
pub(super) struct CheckedUrl;

impl<'de> DeserializeSeed<'de> for CheckedUrl {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<String, D::Error> {
        let text: String = serde::Deserialize::deserialize(input)?;
        HttpUrl::parse(&text).map_err(D::Error::custom)?;
        Ok(text)
    }
}

/// A table with one key, whose value is the next one of another table.
pub(super) struct One<'a, A> {
    key: Option<&'static str>,
    table: &'a mut A,
}

impl<'a, A> One<'a, A> {
    pub(super) fn new(key: &'static str, table: &'a mut A) -> Self {
        One { key: Some(key), table }
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for One<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        let Some(key) = self.key.take() else { return Ok(None) };
        let key: StrDeserializer<'_, A::Error> = key.into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.table.next_value_seed(seed)
    }
}
