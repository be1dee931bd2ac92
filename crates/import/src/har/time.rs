//! Think times: from the end of what was loaded to the next request of the user.

/// A shorter gap is the browser's, not the user's.
const LEAST_MS: f64 = 500.0;
/// A longer gap is a break.
const MOST_MS: f64 = 120_000.0;
/// A response that took longer was waited for by the page, not by the user: a poll, an event stream.
const LONG_POLL_MS: f64 = 20_000.0;

/// Follows the recording in the order of its entries.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// When everything so far had ended, in ms.
    ended_ms: Option<f64>,
    /// The same, at the step before.
    is_begun: bool,
}

impl Clock {
    /// The think time before a request that is a step.
    pub(super) fn think(&mut self, started: &str) -> Option<String> {
        let was_begun = std::mem::replace(&mut self.is_begun, true);
        let gap_ms = epoch_ms(started)? - self.ended_ms?;
        if !was_begun || gap_ms < LEAST_MS {
            return None;
        }
        Some(rounded(gap_ms.min(MOST_MS)))
    }

    /// An entry of any kind, after [`Clock::think`] if it is a step.
    pub(super) fn pass(&mut self, started: &str, took_ms: f64) {
        let Some(started_ms) = epoch_ms(started) else { return };
        let took_ms = if (0.0..LONG_POLL_MS).contains(&took_ms) { took_ms } else { 0.0 };
        let ended_ms = started_ms + took_ms;
        self.ended_ms = Some(self.ended_ms.map_or(ended_ms, |known| known.max(ended_ms)));
    }
}

/// To half a second below 10 s, to a second above.
fn rounded(gap_ms: f64) -> String {
    let halves = (gap_ms / 500.0).round() as u64;
    match halves {
        20.. => format!("{}s", (gap_ms / 1000.0).round() as u64),
        _ if halves.is_multiple_of(2) => format!("{}s", halves / 2),
        _ => format!("{}.5s", halves / 2),
    }
}

/// `2024-05-01T10:00:00.123Z` or with an offset, in ms since 1970. RFC 3339 section 5.6.
fn epoch_ms(text: &str) -> Option<f64> {
    let (date, rest) = text.split_at_checked(10)?;
    let mut parts = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let zone_at = rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len());
    let (time, zone) = rest.split_at(zone_at);
    let mut parts = time.splitn(3, ':');
    let hour: i64 = parts.next()?.parse().ok()?;
    let minute: i64 = parts.next()?.parse().ok()?;
    let second: f64 = parts.next().unwrap_or("0").parse().ok()?;
    let offset = match zone.split_at_checked(1) {
        Some((sign @ ("+" | "-"), rest)) => {
            let (hours, minutes) = rest.split_once(':').unwrap_or((rest, "0"));
            let minutes =
                hours.parse::<i64>().ok()?.checked_mul(60)? + minutes.parse::<i64>().ok()?;
            if sign == "-" { -minutes } else { minutes }
        }
        _ => 0,
    };
    let is_date =
        (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    let is_time =
        (0..24).contains(&hour) && (0..60).contains(&minute) && (0.0..61.0).contains(&second);
    if !is_date || !is_time || !(-1440..=1440).contains(&offset) {
        return None;
    }
    let minutes = (crate::access_log::days(year, month, day) * 24 + hour) * 60 + minute - offset;
    Some(minutes as f64 * 60_000.0 + second * 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_recordings() {
        let table = [
            ("1970-01-01T00:00:00Z", Some(0.0)),
            ("2024-02-29T12:30:45.500Z", Some(1_709_209_845_500.0)),
            ("2024-02-29T14:30:45.500+02:00", Some(1_709_209_845_500.0)),
            ("2024-02-29T09:00:45.5-0330", None),
            ("2024-02-29T09:00:45.5-03:30", Some(1_709_209_845_500.0)),
            ("", None),
            ("2024-13-01T00:00:00Z", None),
            ("é2024-13-01T00:00:00Z", None),
            ("2024-01-01", None),
        ];
        for (text, expected) in table {
            assert_eq!(epoch_ms(text), expected, "{text}");
        }
    }

    #[test]
    fn a_gap_is_a_think_time_if_it_is_a_persons() {
        let at = |ms: u32| {
            format!("2024-01-01T00:{:02}:{:02}.{:03}Z", ms / 60_000, ms / 1000 % 60, ms % 1000)
        };
        let mut clock = Clock::default();
        let mut step = |start: u32, took: f64| {
            let think = clock.think(&at(start));
            clock.pass(&at(start), took);
            think
        };
        assert_eq!(step(0, 200.0), None);
        // 100 ms after the end of the first; and while another is loaded.
        assert_eq!(step(300, 1000.0), None);
        assert_eq!(step(700, 100.0), None);
        // The end of the slowest counts: 1300.
        assert_eq!(step(3300, 100.0), Some("2s".to_owned()));
        assert_eq!(step(4700, 100.0), Some("1.5s".to_owned()));
        // An event stream does not end before the user goes on.
        assert_eq!(step(4900, 60_000.0), None);
        assert_eq!(step(19_300, 100.0), Some("14s".to_owned()));
        assert_eq!(step(1_000_000, 1.0), Some("120s".to_owned()));
    }
}
