//! Streams of events at known times: `/sse/COUNT/EVERY` and `/ndjson/COUNT/EVERY`.
//!
//! An event says which one it is and when it is due, so that a client on the same machine can tell
//! how late it was read, without the server's log.

use std::fmt::Write as _;
use std::time::Duration;

use bytes::Bytes;

use crate::alarm::Alarm;
use crate::content::LARGE;
use crate::origin::{Origin, Part};
use crate::produced::{End, Out};
use crate::timetable::{Timetable, each_parameter, parse_count};
use crate::units::{parse_duration, parse_size};

/// The most events of a stream.
const MAX_EVENTS: u64 = 1_000_000_000;
/// From one comment to the next, at least.
const MIN_COMMENT: Duration = Duration::from_millis(1);
/// Room for the JSON around three numbers and a padding.
const MIN_BYTES: u64 = 100;
/// The largest event or message.
const MAX_BYTES: u64 = 1 << 20;
/// A comment, which is no event (HTML, section 9.2.6).
const COMMENT: &[u8] = b": keep-alive\n\n";
const FAILURE: &str = r#"{"error":"broken off, as the request demands"}"#;

/// How events are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// `text/event-stream`.
    Sse,
    /// `application/x-ndjson`: a JSON text on each line.
    Ndjson,
}

/// How a stream ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Ending {
    /// With its last event.
    #[default]
    Plain,
    /// With a terminator after it.
    Done,
    /// In the middle, when the next event would be due.
    Cut,
    /// With an error instead of the next event.
    Error,
}

impl Ending {
    pub(crate) fn parse(text: &str) -> Result<Ending, String> {
        match text {
            "plain" => Ok(Ending::Plain),
            "done" => Ok(Ending::Done),
            "cut" => Ok(Ending::Cut),
            "error" => Ok(Ending::Error),
            _ => Err(format!("`end={text}`: write plain, done, cut or error")),
        }
    }
}

/// A stream of events.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Events {
    format: Format,
    count: u64,
    times: Timetable,
    bytes: Option<usize>,
    comment: Option<Duration>,
    end: Ending,
}

impl Events {
    /// `COUNT/EVERY` of the path, with the parameters `first`, `stall`, `bytes`, `comment` and `end`.
    ///
    /// # Errors
    ///
    /// The first thing that is not understood or out of its range.
    pub(crate) fn parse(format: Format, argument: &str, query: &str) -> Result<Events, String> {
        let (count, every) = argument
            .split_once('/')
            .ok_or("write how many events and how far apart, e.g. /sse/100/10ms")?;
        let mut events = Events {
            format,
            count: parse_count(count, "the number of events", MAX_EVENTS)?,
            times: Timetable { every: parse_duration(every)?, ..Timetable::default() },
            bytes: None,
            comment: None,
            end: Ending::Plain,
        };
        each_parameter(query, |name, value| {
            match name {
                "bytes" => events.bytes = Some(parse_bytes(value)?),
                "comment" if format == Format::Sse => events.comment = Some(parse_comment(value)?),
                "end" => events.end = Ending::parse(value)?,
                _ => return events.times.take(name, value),
            }
            Ok(true)
        })?;
        Ok(events)
    }

    /// Its media type.
    pub(crate) fn media_type(&self) -> &'static str {
        match self.format {
            Format::Sse => "text/event-stream",
            Format::Ndjson => "application/x-ndjson",
        }
    }

    /// Sends it.
    pub(crate) async fn run(self, origin: Origin, out: Out) -> End {
        let alarm = Alarm::default();
        let mut comments = 1;
        for index in 0..self.count {
            let part = origin.part(index, self.times.due(index));
            while let Some(every) = self.comment {
                let comment_ns = origin.at(every.saturating_mul(comments));
                if comment_ns >= part.due_ns {
                    break;
                }
                alarm.until(comment_ns).await;
                out.bytes(Bytes::from_static(COMMENT)).await;
                comments = comments.saturating_add(1);
            }
            let part = part.due(&alarm).await;
            out.part(self.event(part), part).await;
        }
        let next_ns = origin.at(self.times.due(self.count));
        match (self.end, self.format) {
            (Ending::Plain, _) => {}
            (Ending::Done, Format::Sse) => out.bytes("data: [DONE]\n\n").await,
            (Ending::Done, Format::Ndjson) => out.bytes("{\"done\":true}\n").await,
            (Ending::Cut, _) => {
                cut_at(&alarm, next_ns).await;
                return End::Cut;
            }
            (Ending::Error, format) => {
                alarm.until(next_ns).await;
                out.bytes(match format {
                    Format::Sse => format!("event: error\ndata: {FAILURE}\n\n"),
                    Format::Ndjson => format!("{FAILURE}\n"),
                })
                .await;
            }
        }
        End::Complete
    }

    fn event(&self, part: Part) -> Bytes {
        let json = message(part, self.bytes);
        match self.format {
            Format::Sse => format!("id: {}\ndata: {json}\n\n", part.index).into(),
            Format::Ndjson => (json + "\n").into(),
        }
    }
}

/// Waits to break off: until then, but long enough for hyper to have flushed what came before.
pub(crate) async fn cut_at(alarm: &Alarm, due_ns: u64) {
    tokio::time::sleep(Duration::from_millis(1)).await;
    alarm.until(due_ns).await;
}

/// The JSON text of an event or message, padded to this number of bytes, at least [`MIN_BYTES`].
pub(crate) fn message(part: Part, bytes: Option<usize>) -> String {
    let Part { origin, index, due_ns } = part;
    let stream = origin.stream;
    let mut json = format!(r#"{{"stream":{stream},"seq":{index},"due_ns":{due_ns}"#);
    if let Some(bytes) = bytes {
        json.reserve(bytes);
        json.push_str(r#","pad":""#);
        let padding = bytes.saturating_sub(json.len() + 2);
        json.extend(LARGE.iter().cycle().take(padding).copied().map(char::from));
        json.push('"');
    }
    // Writing to a String does not fail.
    let _ = json.write_char('}');
    json
}

/// The size of a message.
pub(crate) fn parse_bytes(text: &str) -> Result<usize, String> {
    let size = parse_size(text)?;
    if (MIN_BYTES..=MAX_BYTES).contains(&size) {
        return Ok(size as usize);
    }
    Err(format!("`bytes={text}`: the size must be from {MIN_BYTES} to 1m"))
}

fn parse_comment(text: &str) -> Result<Duration, String> {
    let every = parse_duration(text)?;
    if every < MIN_COMMENT {
        return Err(format!("`comment={text}`: comments must be at least 1ms apart"));
    }
    Ok(every)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::Route;

    #[test]
    fn a_message_has_its_size() {
        let origin = Origin { route: Route::SseEvents, stream: u64::MAX, begin_ns: u64::MAX };
        for bytes in [MIN_BYTES, 101, 5000, MAX_BYTES] {
            for index in [0, u64::MAX] {
                let json = message(origin.part(index, Duration::ZERO), Some(bytes as usize));
                assert_eq!(json.len() as u64, bytes);
                let json: serde_json::Value = serde_json::from_str(&json).unwrap();
                assert_eq!((&json["seq"], &json["due_ns"]), (&index.into(), &u64::MAX.into()));
            }
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let parse = |argument: &str, query: &str| Events::parse(Format::Sse, argument, query);
        let all = parse("10/1ms", "first=5ms&bytes=1k&comment=1s&end=done&stall=1s@2s").unwrap();
        assert_eq!((all.count, all.bytes, all.end), (10, Some(1024), Ending::Done));
        for (argument, query, says) in [
            ("10", "", "how far apart"),
            ("0/1ms", "", "1 to 1000000000"),
            ("2000000000/1ms", "", "1 to 1000000000"),
            ("10/1", "", "`1` is not a time"),
            ("10/1ms/2", "", "is not a time"),
            ("10/1ms", "bytes=99", "100 to 1m"),
            ("10/1ms", "bytes=2m", "100 to 1m"),
            ("10/1ms", "comment=1us", "at least 1ms"),
            ("10/1ms", "end=never", "plain, done, cut or error"),
            ("10/1ms", "colour=red", "`colour`"),
        ] {
            let error = parse(argument, query).unwrap_err();
            assert!(error.contains(says), "{argument}?{query}: {error}");
        }
        let error = Events::parse(Format::Ndjson, "1/0", "comment=1s").unwrap_err();
        assert!(error.contains("`comment`"), "{error}");
    }
}
