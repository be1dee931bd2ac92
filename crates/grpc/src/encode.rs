//! Messages in JSON, compiled once to the body of a request: length-prefixed messages with holes.
//!
//! A hole in a string or a number changes the length of every message around it. So the compiled form is a list of
//! steps: bytes that are always the same, holes, and the beginning and the end of whatever has its length in front.
//! Filling computes the lengths of the values, then writes all of it, and allocates nothing once its buffers have
//! grown.
//!
//! JSON is read by prost-reflect, which knows nothing of holes: each hole is a number there that occurs nowhere else in
//! the text, and is found again in the message. A hole that is not found exactly once stands in a wrong place.

use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint};
use prost_reflect::{DynamicMessage, Kind, MapKey, MessageDescriptor, Value};
use serde_json::Value as Json;
use serde_path_to_error::{Path, Segment, Track};

use crate::codec::Codec;
use crate::error::{Error, FillError};
use crate::fill::{Number, escape_json, put_json_number, zigzag};
use crate::schema::{Method, clip, clip_long, nearest};

/// A piece of messages in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// The same in every request.
    Text(&'a str),
    /// A value of each request, by its number. Its text stands in a JSON string or is a JSON number; it is not escaped:
    /// the codec says how it is written.
    Hole(usize),
}

/// The most bytes of JSON that are compiled.
pub const MOST_JSON_BYTES: usize = 4 << 20;

/// The body of requests of one method, compiled.
#[derive(Debug, Clone)]
pub struct Encoder {
    codec: Codec,
    fixed: Vec<u8>,
    steps: Vec<Step>,
    messages: usize,
    /// The values of holes, each where the one before ends.
    values: Vec<u8>,
    ends: Vec<usize>,
    /// Of everything that has its length in front, in the order of its beginnings.
    lengths: Vec<usize>,
    open: Vec<usize>,
    scratch: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Copies this many fixed bytes.
    Fixed(usize),
    /// A value; `None` is text.
    Hole(usize, Option<Number>),
    Begin(Front),
    End,
}

/// How a length is written in front of what it is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Front {
    /// Within a message.
    Varint,
    /// Of a message: a zero byte, as it is not compressed, and four bytes of length.
    Prefix,
}

impl Front {
    fn write(self, length: usize, out: &mut Vec<u8>) {
        match self {
            Front::Varint => encode_varint(length as u64, out),
            Front::Prefix => {
                out.push(0);
                // Lengths are checked before anything is written.
                out.extend_from_slice(&(length as u32).to_be_bytes());
            }
        }
    }
}

impl Encoder {
    /// Compiles the messages of a call. They stand one after the other, or in arrays; a method without client streaming
    /// takes exactly one.
    pub fn compile(method: &Method, codec: Codec, pieces: &[Piece<'_>]) -> Result<Self, Error> {
        let markers = Markers::of(pieces)?;
        let text = markers.text(pieces);
        let messages = documents(&method.input, &text).map_err(|problem| Error::Json {
            place: "the JSON".to_owned(),
            problem: markers.shown(problem),
        })?;
        if !method.kind.client_streams() && messages.len() != 1 {
            return Err(Error::NotOne(messages.len()));
        }
        let mut writer = Writer::new(&markers);
        let count = messages.len();
        let texts: Vec<String> = match codec {
            Codec::Proto => Vec::new(),
            Codec::Json => messages.iter().map(Json::to_string).collect(),
        };
        for (index, json) in messages.into_iter().enumerate() {
            let message =
                read(&method.input, json, index).map_err(|error| markers.explain(error))?;
            writer.nested(Front::Prefix, |writer| writer.message(&message));
        }
        writer.found.sort_unstable_by_key(|(hole, _)| *hole);
        let found = &writer.found;
        // Each exactly once.
        let is = |at: usize| found.get(at).is_some_and(|(hole, _)| *hole == at);
        let wrong = (0..markers.holes.len()).find(|hole| !is(*hole));
        if let Some(hole) = wrong.or((found.len() > markers.holes.len()).then_some(0)) {
            return Err(Error::Hole { number: hole + 1 });
        }
        if codec == Codec::Json {
            // What is sent is the text itself; the fields say which of its holes are numbers.
            let numbers = std::mem::take(&mut writer.found);
            writer = Writer::new(&markers);
            for text in &texts {
                let number = |hole: usize| numbers[hole].1;
                writer.nested(Front::Prefix, |writer| writer.text(text, number));
            }
        }
        let Writer { steps, fixed, .. } = writer;
        Ok(Encoder {
            codec,
            fixed,
            steps,
            messages: count,
            values: Vec::new(),
            ends: Vec::new(),
            lengths: Vec::new(),
            open: Vec::new(),
            scratch: Vec::new(),
        })
    }

    /// How many messages there are.
    pub fn messages(&self) -> usize {
        self.messages
    }

    /// The whole body, if it has no holes.
    pub fn fixed(&self) -> Option<&[u8]> {
        let has_holes = self.steps.iter().any(|step| matches!(step, Step::Hole(..)));
        (!has_holes).then_some(&self.fixed)
    }

    /// Appends the body of one request to `out`. `value` appends the text of a hole. In case of an error `out` is as it
    /// was.
    pub fn fill(
        &mut self,
        out: &mut Vec<u8>,
        mut value: impl FnMut(usize, &mut Vec<u8>),
    ) -> Result<(), FillError> {
        self.values.clear();
        self.ends.clear();
        self.lengths.clear();
        self.open.clear();
        for step in &self.steps {
            let bytes = match *step {
                Step::Begin(_) => {
                    self.open.push(self.lengths.len());
                    self.lengths.push(0);
                    continue;
                }
                Step::End => {
                    // The outermost is a message with its prefix, which nothing has the length of.
                    let length = self.open.pop().map_or(0, |at| self.lengths[at]);
                    if u32::try_from(length).is_err() {
                        return Err(FillError::TooLong);
                    }
                    length + encoded_len_varint(length as u64)
                }
                Step::Fixed(bytes) => bytes,
                Step::Hole(hole, number) => {
                    let start = self.values.len();
                    value(hole, &mut self.values);
                    let (values, scratch) = (&mut self.values, &mut self.scratch);
                    let fits = match (number, self.codec) {
                        (Some(number), Codec::Proto) => number.replace(values, start),
                        (Some(number), Codec::Json) => put_json_number(number, values, start),
                        (None, Codec::Proto) => {
                            std::str::from_utf8(&values[start..]).ok().map(|_| ())
                        }
                        (None, Codec::Json) => escape_json(values, start, scratch),
                    };
                    fits.ok_or_else(|| match number {
                        Some(number) => FillError::Number { hole, kind: number.word() },
                        None => FillError::Text { hole },
                    })?;
                    self.ends.push(self.values.len());
                    self.values.len() - start
                }
            };
            if let Some(around) = self.open.last() {
                self.lengths[*around] += bytes;
            }
        }
        self.write(out);
        Ok(())
    }

    fn write(&self, out: &mut Vec<u8>) {
        let (mut fixed, mut values, mut start) = (&self.fixed[..], self.ends.iter(), 0);
        let mut lengths = self.lengths.iter();
        for step in &self.steps {
            match *step {
                Step::Begin(front) => front.write(lengths.next().copied().unwrap_or(0), out),
                Step::End => {}
                Step::Fixed(bytes) => {
                    let (these, rest) = fixed.split_at(bytes);
                    out.extend_from_slice(these);
                    fixed = rest;
                }
                Step::Hole(..) => {
                    let end = values.next().copied().unwrap_or(start);
                    out.extend_from_slice(&self.values[start..end]);
                    start = end;
                }
            }
        }
    }
}

/// The messages of a text: documents one after the other, and the elements of those that are arrays.
fn documents(input: &MessageDescriptor, text: &str) -> Result<Vec<Json>, String> {
    let is_list =
        ["google.protobuf.ListValue", "google.protobuf.Value"].contains(&input.full_name());
    let mut messages = Vec::new();
    for document in serde_json::Deserializer::from_str(text).into_iter::<Json>() {
        match document.map_err(|error| error.to_string())? {
            Json::Array(elements) if !is_list => messages.extend(elements),
            message => messages.push(message),
        }
    }
    Ok(messages)
}

fn read(input: &MessageDescriptor, json: Json, index: usize) -> Result<DynamicMessage, Error> {
    let mut track = Track::new();
    let reader = serde_path_to_error::Deserializer::new(json, &mut track);
    DynamicMessage::deserialize(input.clone(), reader).map_err(|error| {
        let path = track.path();
        let mut problem = error.to_string();
        if let Some(name) = problem
            .strip_prefix("unrecognized field name '")
            .and_then(|rest| rest.strip_suffix('\''))
            && let Some(Kind::Message(message)) = at(input, &path)
        {
            let names: Vec<String> =
                message.fields().map(|field| field.json_name().to_owned()).collect();
            problem = format!(
                "{} has no field \"{}\"{}",
                message.full_name(),
                clip(name),
                nearest(name, &names)
            );
        }
        // A number in a string that is none, of which the standard library speaks.
        if !problem.contains("expected")
            && let Some(kind) = at(input, &path)
            && !matches!(kind, Kind::Enum(_))
            && let Some(number) = Number::of(&kind)
        {
            problem = format!("the value must be a number of type {}", number.word());
        }
        let place = match path.to_string().as_str() {
            "." => format!("message {}", index + 1),
            path => format!("message {}, {}", index + 1, clip(path)),
        };
        Error::Json { place, problem: clip_long(&problem) }
    })
}

/// The kind of the field at a path.
fn at(input: &MessageDescriptor, path: &Path) -> Option<Kind> {
    let mut found = Kind::Message(input.clone());
    let steps: Vec<&str> = path
        .iter()
        .filter_map(|segment| match segment {
            Segment::Map { key } => Some(key.as_str()),
            _ => None,
        })
        .collect();
    let mut is_key = false;
    for step in steps {
        if std::mem::take(&mut is_key) {
            continue;
        }
        let message = found.as_message()?;
        let field =
            message.get_field_by_json_name(step).or_else(|| message.get_field_by_name(step))?;
        is_key = field.is_map();
        found = if is_key {
            field.kind().as_message()?.map_entry_value_field().kind()
        } else {
            field.kind()
        };
    }
    Some(found)
}

/// The numbers that stand for holes while JSON is read. All have the same five digits in front, which the text does not
/// have, and a float can be each of them: they are multiples of 128 between 2^30 and 2^31.
struct Markers {
    first: u64,
    /// By the order of the text.
    holes: Vec<usize>,
}

const MOST_HOLES: usize = 700;
const STEP: u64 = 128;
const DIGITS: usize = 10;

impl Markers {
    fn of(pieces: &[Piece<'_>]) -> Result<Self, Error> {
        let text_bytes: usize = pieces
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) => text.len(),
                Piece::Hole(_) => DIGITS,
            })
            .sum();
        if text_bytes > MOST_JSON_BYTES {
            return Err(Error::TooLong(text_bytes));
        }
        let holes: Vec<usize> = pieces
            .iter()
            .filter_map(|piece| match piece {
                Piece::Hole(hole) => Some(*hole),
                Piece::Text(_) => None,
            })
            .collect();
        let mut taken = vec![false; 100_000];
        for piece in pieces {
            let Piece::Text(text) = piece else { continue };
            for five in
                text.as_bytes().windows(5).filter(|five| five.iter().all(u8::is_ascii_digit))
            {
                let number = five.iter().fold(0, |sum, digit| sum * 10 + usize::from(digit - b'0'));
                taken[number] = true;
            }
        }
        // From 2^30 to 2^31; without an end that is a beginning, so that digits in front of one cannot shift it.
        let front = (10_738..21_474usize).find(|&front| {
            let has_border = (1..5).any(|n| front % 10usize.pow(n) == front / 10usize.pow(5 - n));
            !taken[front] && !has_border
        });
        match front {
            Some(front) if holes.len() <= MOST_HOLES => {
                Ok(Markers { first: (front as u64 * 100_000).next_multiple_of(STEP), holes })
            }
            _ => Err(Error::TooManyHoles(holes.len())),
        }
    }

    fn text(&self, pieces: &[Piece<'_>]) -> String {
        let mut markers = (self.first..).step_by(STEP as usize);
        let mut text = String::new();
        for piece in pieces {
            match piece {
                Piece::Text(piece) => text.push_str(piece),
                Piece::Hole(_) => {
                    text.extend(markers.next().map(|marker| marker.to_string()));
                }
            }
        }
        text
    }

    /// The hole that a number stands for, by the order of the text.
    fn hole(&self, number: u64) -> Option<usize> {
        let offset = number.checked_sub(self.first)?;
        let hole = usize::try_from(offset / STEP).ok()?;
        (offset.is_multiple_of(STEP) && hole < self.holes.len()).then_some(hole)
    }

    /// The first hole in a text: where it begins.
    fn find(&self, text: &str) -> Option<(usize, usize)> {
        if self.holes.is_empty() {
            return None;
        }
        text.as_bytes().windows(DIGITS).enumerate().find_map(|(at, digits)| {
            let digits = digits.iter().all(u8::is_ascii_digit).then_some(digits)?;
            let number = digits.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
            self.hole(number).map(|hole| (at, hole))
        })
    }

    fn shown(&self, mut problem: String) -> String {
        while let Some((at, _)) = self.find(&problem) {
            problem.replace_range(at..at + DIGITS, "${…}");
        }
        problem
    }

    /// An error of the text as the user wrote it.
    fn explain(&self, error: Error) -> Error {
        match error {
            Error::Json { place, problem } if self.find(&problem).is_some() => Error::Json {
                place: self.shown(place),
                problem: format!("{}; holes can stand in strings and numbers", self.shown(problem)),
            },
            error => error,
        }
    }
}

struct Writer<'a> {
    markers: &'a Markers,
    steps: Vec<Step>,
    fixed: Vec<u8>,
    /// The holes, as they were found, with the numbers that they are.
    found: Vec<(usize, Option<Number>)>,
}

impl<'a> Writer<'a> {
    fn new(markers: &'a Markers) -> Self {
        Writer { markers, steps: Vec::new(), fixed: Vec::new(), found: Vec::new() }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.fixed.extend_from_slice(bytes);
        match self.steps.last_mut() {
            _ if bytes.is_empty() => {}
            Some(Step::Fixed(length)) => *length += bytes.len(),
            _ => self.steps.push(Step::Fixed(bytes.len())),
        }
    }

    fn varint(&mut self, value: u64) {
        let mut bytes = Vec::new();
        encode_varint(value, &mut bytes);
        self.bytes(&bytes);
    }

    fn key(&mut self, number: u32, wire: WireType) {
        let mut bytes = Vec::new();
        encode_key(number, wire, &mut bytes);
        self.bytes(&bytes);
    }

    fn hole(&mut self, hole: usize, number: Option<Number>) {
        self.found.push((hole, number));
        self.steps.push(Step::Hole(self.markers.holes[hole], number));
    }

    /// Something with its length in front. Without a hole in it, it is fixed bytes.
    fn nested(&mut self, front: Front, content: impl FnOnce(&mut Self)) {
        let (step, fixed) = (self.steps.len(), self.fixed.len());
        self.steps.push(Step::Begin(front));
        content(self);
        if self.steps[step..].iter().any(|step| matches!(step, Step::Hole(..))) {
            self.steps.push(Step::End);
            return;
        }
        let content = self.fixed.split_off(fixed);
        self.steps.truncate(step);
        let mut length = Vec::new();
        front.write(content.len(), &mut length);
        self.bytes(&length);
        self.bytes(&content);
    }

    fn message(&mut self, message: &DynamicMessage) {
        for (field, value) in message.fields() {
            self.field(field.number(), &field.kind(), (field.is_packed(), field.is_group()), value);
        }
        for (field, value) in message.extensions() {
            self.field(field.number(), &field.kind(), (field.is_packed(), field.is_group()), value);
        }
    }

    fn field(&mut self, number: u32, kind: &Kind, (packed, group): (bool, bool), value: &Value) {
        match (value, kind) {
            (Value::List(values), _) if packed => {
                if !values.is_empty() {
                    self.key(number, WireType::LengthDelimited);
                    self.nested(Front::Varint, |writer| {
                        values.iter().for_each(|value| writer.scalar(kind, value));
                    });
                }
            }
            (Value::List(values), _) => {
                values.iter().for_each(|value| self.field(number, kind, (false, group), value));
            }
            (Value::Map(entries), Kind::Message(entry)) => {
                let (key, value) = (entry.map_entry_key_field(), entry.map_entry_value_field());
                // In an order of their own, so that the same text is always the same bytes.
                let mut entries: Vec<_> = entries.iter().collect();
                entries.sort_by(|(a, _), (b, _)| in_order(a, b));
                for (its_key, its_value) in entries {
                    self.key(number, WireType::LengthDelimited);
                    self.nested(Front::Varint, |writer| {
                        let its_key = Value::from(its_key.clone());
                        writer.field(key.number(), &key.kind(), (false, false), &its_key);
                        writer.field(value.number(), &value.kind(), (false, false), its_value);
                    });
                }
            }
            (Value::Message(message), _) if group => {
                self.key(number, WireType::StartGroup);
                self.message(message);
                self.key(number, WireType::EndGroup);
            }
            (value, kind) => {
                self.key(number, wire_type(kind));
                self.scalar(kind, value);
            }
        }
    }

    /// A value without its key.
    fn scalar(&mut self, kind: &Kind, value: &Value) {
        match value {
            Value::Message(message) => {
                return self.nested(Front::Varint, |writer| writer.message(message));
            }
            Value::String(text) => {
                return self.nested(Front::Varint, |writer| writer.text(text, |_| None));
            }
            Value::Bytes(bytes) => {
                self.varint(bytes.len() as u64);
                return self.bytes(bytes);
            }
            Value::Bool(value) => return self.varint(u64::from(*value)),
            _ => {}
        }
        if let Some(hole) = whole(value).and_then(|number| self.markers.hole(number)) {
            return self.hole(hole, Number::of(kind));
        }
        match (value, kind) {
            (Value::I32(value), Kind::Sint32) => self.varint(zigzag(i64::from(*value))),
            (Value::I64(value), Kind::Sint64) => self.varint(zigzag(*value)),
            (Value::I32(value), Kind::Sfixed32) => self.bytes(&value.to_le_bytes()),
            (Value::I64(value), Kind::Sfixed64) => self.bytes(&value.to_le_bytes()),
            (Value::U32(value), Kind::Fixed32) => self.bytes(&value.to_le_bytes()),
            (Value::U64(value), Kind::Fixed64) => self.bytes(&value.to_le_bytes()),
            (Value::I32(value) | Value::EnumNumber(value), _) => {
                self.varint(i64::from(*value) as u64);
            }
            (Value::I64(value), _) => self.varint(*value as u64),
            (Value::U32(value), _) => self.varint(u64::from(*value)),
            (Value::U64(value), _) => self.varint(*value),
            (Value::F32(value), _) => self.bytes(&value.to_le_bytes()),
            (Value::F64(value), _) => self.bytes(&value.to_le_bytes()),
            // Values of other types are handled above.
            _ => {}
        }
    }

    /// A text with holes in it, of which `number` says which are numbers.
    fn text(&mut self, mut text: &str, number: impl Fn(usize) -> Option<Number>) {
        while let Some((at, hole)) = self.markers.find(text) {
            self.bytes(&text.as_bytes()[..at]);
            self.hole(hole, number(hole));
            text = &text[at + DIGITS..];
        }
        self.bytes(text.as_bytes());
    }
}

/// A number that may stand for a hole.
fn whole(value: &Value) -> Option<u64> {
    match value {
        Value::I32(value) | Value::EnumNumber(value) => u64::try_from(*value).ok(),
        Value::I64(value) => u64::try_from(*value).ok(),
        Value::U32(value) => Some(u64::from(*value)),
        Value::U64(value) => Some(*value),
        Value::F32(value) if value.fract() == 0.0 && *value > 0.0 => Some(*value as u64),
        Value::F64(value) if value.fract() == 0.0 && *value > 0.0 => Some(*value as u64),
        _ => None,
    }
}

fn in_order(a: &MapKey, b: &MapKey) -> std::cmp::Ordering {
    match (a, b) {
        (MapKey::String(a), MapKey::String(b)) => a.cmp(b),
        (MapKey::I32(a), MapKey::I32(b)) => a.cmp(b),
        (MapKey::I64(a), MapKey::I64(b)) => a.cmp(b),
        (MapKey::U32(a), MapKey::U32(b)) => a.cmp(b),
        (MapKey::U64(a), MapKey::U64(b)) => a.cmp(b),
        (MapKey::Bool(a), MapKey::Bool(b)) => a.cmp(b),
        // The keys of a map have one type.
        _ => std::cmp::Ordering::Equal,
    }
}

fn wire_type(kind: &Kind) -> WireType {
    match kind {
        Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => WireType::SixtyFourBit,
        Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => WireType::ThirtyTwoBit,
        Kind::String | Kind::Bytes | Kind::Message(_) => WireType::LengthDelimited,
        _ => WireType::Varint,
    }
}
