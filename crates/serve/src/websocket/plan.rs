//! What a socket does, by its path. Pure.

use std::time::Duration;

use crate::events::parse_bytes;
use crate::route::Route;
use crate::timetable::{Timetable, each_parameter, parse_count};
use crate::units::{parse_duration, parse_size};

/// The most messages of a broadcast.
const MAX_MESSAGES: u64 = 1_000_000_000;
/// The largest fragment.
const MAX_FRAGMENT: u64 = 16 << 20;

/// What a socket does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Plan {
    Echo(Echo),
    /// Messages of its own, of this size, until the count is full.
    Broadcast {
        times: Timetable,
        bytes: Option<usize>,
        count: Option<u64>,
    },
}

/// A socket that echoes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Echo {
    /// How long after it came a message is echoed.
    pub(super) delay: Duration,
    /// How long nothing is read at first.
    pub(super) stall: Duration,
    /// Fragments of this size.
    pub(super) fragment: Option<usize>,
    /// The end by the server.
    pub(super) close: Option<Close>,
}

/// An end by the server, after a number of messages were echoed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Close {
    /// 1005: a Close frame without a code; 1006: the connection is dropped without one.
    pub(super) code: u16,
    pub(super) after: u64,
}

impl Plan {
    /// The plan of `/ws/…`: the route, the rest of the path, and the query.
    ///
    /// # Errors
    ///
    /// The first thing that is not understood or out of its range.
    pub(super) fn parse(route: Route, argument: &str, query: &str) -> Result<Plan, String> {
        if route == Route::WsBroadcast {
            return broadcast(argument, query);
        }
        let mut echo = Echo::default();
        match route {
            Route::WsStall => echo.stall = parse_duration(argument)?,
            Route::WsClose => echo.close = Some(Close { code: parse_code(argument)?, after: 0 }),
            _ if argument.is_empty() => {}
            _ => echo.delay = parse_duration(argument)?,
        }
        each_parameter(query, |name, value| {
            match (name, &mut echo.close) {
                ("after", Some(close)) => {
                    close.after = parse_count(value, "the number of messages", MAX_MESSAGES)?;
                }
                ("fragment", _) => {
                    let size = parse_size(value)?;
                    if !(1..=MAX_FRAGMENT).contains(&size) {
                        return Err(format!("`fragment={value}`: the size must be from 1 to 16m"));
                    }
                    echo.fragment = Some(size as usize);
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(Plan::Echo(echo))
    }
}

fn broadcast(argument: &str, query: &str) -> Result<Plan, String> {
    let mut times = Timetable { every: parse_duration(argument)?, ..Timetable::default() };
    let (mut bytes, mut count) = (None, None);
    each_parameter(query, |name, value| {
        match name {
            "bytes" => bytes = Some(parse_bytes(value)?),
            "count" => count = Some(parse_count(value, "the number of messages", MAX_MESSAGES)?),
            _ => return times.take(name, value),
        }
        Ok(true)
    })?;
    Ok(Plan::Broadcast { times, bytes, count })
}

/// RFC 6455, section 7.4.2: 1000 to 4999 have a meaning, or may be given one.
fn parse_code(text: &str) -> Result<u16, String> {
    let code = text.parse().ok().filter(|code| (1000..5000).contains(code));
    code.ok_or_else(|| format!("`{text}` is not a code of a Close frame: write 1000 to 4999"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_understood() {
        let ms = Duration::from_millis;
        let echo = Echo::default();
        for (route, argument, query, plan) in [
            (Route::WsEcho, "", "", echo.clone()),
            (Route::WsEcho, "5ms", "", Echo { delay: ms(5), ..echo.clone() }),
            (Route::WsEcho, "", "fragment=1k", Echo { fragment: Some(1024), ..echo.clone() }),
            (Route::WsStall, "2s", "", Echo { stall: ms(2000), ..echo.clone() }),
            (
                Route::WsClose,
                "4000",
                "after=3",
                Echo { close: Some(Close { code: 4000, after: 3 }), ..echo },
            ),
        ] {
            assert_eq!(Plan::parse(route, argument, query), Ok(Plan::Echo(plan)));
        }
        let times = Timetable { first: ms(1), every: ms(10), stall: None };
        let plan = Plan::Broadcast { times, bytes: Some(200), count: Some(7) };
        let query = "count=7&bytes=200&first=1ms";
        assert_eq!(Plan::parse(Route::WsBroadcast, "10ms", query), Ok(plan));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (route, argument, query, says) in [
            (Route::WsEcho, "soon", "", "`soon` is not a time"),
            (Route::WsEcho, "", "fragment=0", "1 to 16m"),
            (Route::WsEcho, "", "after=1", "`after`"),
            (Route::WsClose, "999", "", "1000 to 4999"),
            (Route::WsClose, "70000", "", "1000 to 4999"),
            (Route::WsBroadcast, "", "", "is not a time"),
            (Route::WsBroadcast, "1ms", "bytes=1", "100 to 1m"),
            (Route::WsBroadcast, "1ms", "count=0", "1 to 1000000000"),
        ] {
            let error = Plan::parse(route, argument, query).unwrap_err();
            assert!(error.contains(says), "{argument}?{query}: {error}");
        }
    }
}
