//! Parts of a plan in words, for reports: a load in half a sentence, other parts short enough for a
//! cell.

use std::fmt;

use crate::model::{Arrivals, Endpoint, Load, OpenLoad, Parts, Segment};
use crate::request::{BodyExpect, StatusSet};
use crate::tls::{TlsVersion, Trust};
use crate::units::{fmt_count, fmt_duration_ns, fmt_plural, fmt_rate};

/// More segments than this are summarised.
const MAX_LISTED: usize = 4;

/// How requests are timed: `open load, 20,000/s constant`.
pub fn load(plan: &Parts) -> String {
    match &plan.load {
        Load::Open(_) if plan.connections.once => {
            format!(
                "{}, each once and all at once",
                fmt_plural(plan.connections.count.into(), "connection")
            )
        }
        Load::Closed { think_time_ns: 0 } => "closed loop".to_owned(),
        Load::Closed { think_time_ns } => {
            format!("closed loop, {} think time", fmt_duration_ns(*think_time_ns))
        }
        Load::Open(load) => {
            format!("open load, {}", schedule(load, plan.recording.warm_up_ns > 0))
        }
    }
}

fn schedule(load: &OpenLoad, has_warm_up: bool) -> String {
    // The warm-up is the first segment; the caller prints it separately.
    let segments = &load.segments[usize::from(has_warm_up).min(load.segments.len())..];
    let (arrivals, suffix) = match load.arrivals {
        Arrivals::Constant => ("constant", ""),
        Arrivals::Poisson => ("Poisson", ", Poisson arrivals"),
    };
    match segments {
        [Segment::Hold { rate, .. }] => format!("{} {arrivals}", fmt_rate(*rate)),
        [first, .., last] if segments.len() > MAX_LISTED => {
            let (first, last) = (segment(first), segment(last));
            format!("{} segments from {first} to {last}{suffix}", segments.len())
        }
        many => many.iter().map(segment).collect::<Vec<_>>().join(" then ") + suffix,
    }
}

fn segment(segment: &Segment) -> String {
    let lasting = |duration_ns: &Option<u64>| match duration_ns {
        Some(ns) => format!(" for {}", fmt_duration_ns(*ns)),
        None => String::new(),
    };
    match segment {
        Segment::Hold { rate, duration_ns } => {
            format!("{}{}", fmt_rate(*rate), lasting(duration_ns))
        }
        Segment::Ramp { from, to, duration_ns } => {
            let over = fmt_duration_ns(*duration_ns);
            format!("{} to {} over {over}", fmt_rate(*from), fmt_rate(*to))
        }
        Segment::Burst { size, every_ns, duration_ns } => {
            let every = fmt_duration_ns(*every_ns);
            format!("bursts of {} every {every}{}", fmt_count(*size), lasting(duration_ns))
        }
        Segment::Replay { offsets_ns, .. } => {
            format!("replay of {}", fmt_plural(offsets_ns.count(), "request"))
        }
    }
}

/// `HOST:PORT`, or `unix:PATH`.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Endpoint::Tcp { host, port } => write!(f, "{host}:{port}"),
            Endpoint::Unix { path } => write!(f, "unix:{}", path.display()),
        }
    }
}

/// `100-399`, or several joined by commas.
impl fmt::Display for StatusSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (low, high)) in self.ranges.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            match low == high {
                true => write!(f, "{comma}{low}")?,
                false => write!(f, "{comma}{low}-{high}")?,
            }
        }
        Ok(())
    }
}

/// `any`, `N bytes` or `exactly the given N bytes`.
impl fmt::Display for BodyExpect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BodyExpect::Any => f.write_str("any"),
            BodyExpect::Length(length) => write!(f, "{length} bytes"),
            BodyExpect::Exact(body) => write!(f, "exactly the given {} bytes", body.count()),
        }
    }
}

/// `system`, `anybody`, or the file of certificates.
impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trust::System => f.write_str("system"),
            Trust::Anybody => f.write_str("anybody"),
            Trust::Only(pem) => f.write_str(&pem.file),
        }
    }
}

/// `1.2` or `1.3`.
impl fmt::Display for TlsVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TlsVersion::V12 => "1.2",
            TlsVersion::V13 => "1.3",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_endpoint_has_brackets() {
        let tcp = Endpoint::Tcp { host: "::1".to_owned(), port: 80 };
        assert_eq!(tcp.to_string(), "[::1]:80");
        assert_eq!(Endpoint::Unix { path: "/run/x".into() }.to_string(), "unix:/run/x");
    }

    #[test]
    fn statuses_are_written_as_they_are_read() {
        for text in ["200", "100-399", "200-299,304"] {
            assert_eq!(text.parse::<StatusSet>().unwrap().to_string(), text);
        }
    }
}
