//! The parts of a HAR file that a plan needs, entry by entry.
//!
//! HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/) as Chromium and Firefox write it. Files
//! have hundreds of megabytes, nearly all of it bodies of responses, so entries are visited one at a time
//! and a body above [`MAX_BODY`] is dropped while it is read.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Longer bodies are not searched and not sent.
pub(super) const MAX_BODY: usize = 512 * 1024;
/// Longer values of fields are dropped, more fields of a message too.
const MAX_FIELD: usize = 16 * 1024;
const MAX_FIELDS: usize = 200;

/// One request with its response.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Entry {
    pub(super) started_date_time: Short,
    /// In milliseconds.
    #[serde(deserialize_with = "number")]
    pub(super) time: f64,
    #[serde(deserialize_with = "or_default")]
    pub(super) request: Request,
    /// Recorders of requests alone have none.
    pub(super) response: Option<Response>,
    #[serde(rename = "_resourceType")]
    pub(super) resource_type: Short,
    #[serde(rename = "_fromCache")]
    pub(super) from_cache: Short,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Request {
    pub(super) method: Short,
    pub(super) url: Short,
    #[serde(deserialize_with = "fields")]
    pub(super) headers: Vec<Field>,
    /// Negative if it is not known.
    #[serde(deserialize_with = "number")]
    pub(super) body_size: f64,
    pub(super) post_data: Option<PostData>,
}

impl Request {
    /// The bytes that a step has from it.
    pub(super) fn size(&self) -> usize {
        let params = |post: &PostData| {
            post.params
                .iter()
                .map(|one| one.name.len() + one.value.len() + one.file_name.len())
                .sum::<usize>()
        };
        let body = self.post_data.as_ref().map_or(0, |post| post.text.len() + params(post));
        self.url.len() + size(&self.headers) + body
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|one| one.name.eq_ignore_ascii_case(name)).map(|one| &*one.value)
    }
}

/// The bytes of names and values.
pub(super) fn size(fields: &[Field]) -> usize {
    fields.iter().map(|one| one.name.len() + one.value.len()).sum()
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PostData {
    pub(super) mime_type: Short,
    pub(super) text: Text,
    pub(super) encoding: Short,
    #[serde(deserialize_with = "fields")]
    pub(super) params: Vec<Param>,
}

impl PostData {
    /// The text that was sent; `None` if it is not whole, or no text.
    pub(super) fn sent(&self) -> Option<Cow<'_, str>> {
        match &*self.encoding {
            _ if self.text.dropped > 0 => None,
            "base64" => String::from_utf8(STANDARD.decode(&*self.text).ok()?).ok().map(Cow::Owned),
            _ => Some(Cow::Borrowed(&*self.text)),
        }
    }
}

/// A field of a form.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Param {
    pub(super) name: Short,
    pub(super) value: Text,
    pub(super) file_name: Short,
    pub(super) content_type: Short,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Response {
    #[serde(deserialize_with = "some_number")]
    pub(super) status: Option<f64>,
    #[serde(deserialize_with = "fields")]
    pub(super) headers: Vec<Field>,
    #[serde(deserialize_with = "or_default")]
    pub(super) content: Content,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Content {
    pub(super) mime_type: Short,
    pub(super) text: Text,
    pub(super) encoding: Short,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Field {
    pub(super) name: Short,
    pub(super) value: Short,
}

/// What decides whether an entry is imported, for the first pass.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Outline {
    pub(super) started_date_time: Short,
    #[serde(deserialize_with = "or_default")]
    pub(super) request: OutlineRequest,
    #[serde(deserialize_with = "or_default")]
    pub(super) response: OutlineResponse,
    #[serde(rename = "_resourceType")]
    pub(super) resource_type: Short,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OutlineRequest {
    pub(super) method: Short,
    pub(super) url: Short,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OutlineResponse {
    #[serde(deserialize_with = "or_default")]
    pub(super) content: OutlineContent,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct OutlineContent {
    pub(super) mime_type: Short,
}

/// A text up to a bound; a longer one is empty, and its length is kept. Values that are not text are
/// empty too.
#[derive(Debug, Default)]
pub(super) struct Bounded<const MAX: usize> {
    pub(super) text: String,
    pub(super) dropped: usize,
}

pub(super) type Short = Bounded<MAX_FIELD>;
pub(super) type Text = Bounded<MAX_BODY>;

impl<const MAX: usize> std::ops::Deref for Bounded<MAX> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl<'de, const MAX: usize> Deserialize<'de> for Bounded<MAX> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_any(BoundedText)
    }
}

struct BoundedText<const MAX: usize>;

impl<'de, const MAX: usize> Visitor<'de> for BoundedText<MAX> {
    type Value = Bounded<MAX>;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a text")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(match text.len() <= MAX {
            true => Bounded { text: text.to_owned(), dropped: 0 },
            false => Bounded { text: String::new(), dropped: text.len() },
        })
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Bounded::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Bounded::default())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Bounded { text: number.to_string(), dropped: 0 })
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Bounded { text: number.to_string(), dropped: 0 })
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Bounded::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Bounded::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<Self::Value, A::Error> {
        while table.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Bounded::default())
    }
}

/// The default for null.
fn or_default<'de, T: Deserialize<'de> + Default, D: Deserializer<'de>>(
    input: D,
) -> Result<T, D::Error> {
    Option::deserialize(input).map(Option::unwrap_or_default)
}

fn some_number<'de, D: Deserializer<'de>>(input: D) -> Result<Option<f64>, D::Error> {
    number(input).map(Some)
}

/// A number, or 0 for null and text.
fn number<'de, D: Deserializer<'de>>(input: D) -> Result<f64, D::Error> {
    let number = Short::deserialize(Numbers(input))?;
    Ok(number.parse().unwrap_or(0.0))
}

/// Lets numbers with a fraction arrive as text.
struct Numbers<D>(D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Numbers<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let number = Option::<serde_json::Number>::deserialize(self.0)?;
        visitor.visit_string(number.map_or(String::new(), |number| number.to_string()))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// The first [`MAX_FIELDS`] of a list; none for null.
fn fields<'de, T: Deserialize<'de>, D: Deserializer<'de>>(input: D) -> Result<Vec<T>, D::Error> {
    struct Fields<T>(std::marker::PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
        type Value = Vec<T>;

        fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
            formatter.write_str("a list of names and values")
        }

        fn visit_unit<E>(self) -> Result<Vec<T>, E> {
            Ok(Vec::new())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
            let mut fields = Vec::new();
            while fields.len() < MAX_FIELDS {
                match list.next_element()? {
                    Some(field) => fields.push(field),
                    None => return Ok(fields),
                }
            }
            while list.next_element::<IgnoredAny>()?.is_some() {}
            Ok(fields)
        }
    }
    input.deserialize_any(Fields(std::marker::PhantomData))
}

/// Calls `visit` with each entry of a file. `None` if it has no `log.entries`.
pub(super) fn each<'de, T: Deserialize<'de>>(
    bytes: &'de [u8],
    visit: &mut dyn FnMut(T),
) -> Result<Option<()>, serde_json::Error> {
    let mut input = serde_json::Deserializer::from_slice(bytes);
    let mut entries = Entries { visit, marker: std::marker::PhantomData::<T> };
    let found = Key { name: "log", inner: Key { name: "entries", inner: &mut entries } }
        .deserialize(&mut input)?;
    input.end()?;
    Ok(found.flatten())
}

/// The value of one key of an object; all others are skipped.
struct Key<S> {
    name: &'static str,
    inner: S,
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Key<S> {
    type Value = Option<S::Value>;

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<Self::Value, D::Error> {
        input.deserialize_map(self)
    }
}

impl<'de, S: DeserializeSeed<'de>> Visitor<'de> for Key<S> {
    type Value = Option<S::Value>;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "an object with the key \"{}\"", self.name)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        let mut inner = Some(self.inner);
        let mut found = None;
        while let Some(key) = object.next_key::<Short>()? {
            match inner.take_if(|_| *key == *self.name) {
                Some(inner) => found = Some(object.next_value_seed(inner)?),
                None => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found)
    }
}

struct Entries<'v, T> {
    visit: &'v mut dyn FnMut(T),
    marker: std::marker::PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for &mut Entries<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<(), D::Error> {
        input.deserialize_seq(self)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for &mut Entries<'_, T> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a list of entries")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(entry) = list.next_element()? {
            (self.visit)(entry);
        }
        Ok(())
    }
}
