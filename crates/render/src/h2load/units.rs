//! Numbers in h2load's format.

const NS_PER_US: f64 = 1e3;

/// A duration: whole microseconds, or two decimals of milliseconds or seconds.
pub(super) fn duration_ns(ns: f64) -> String {
    let us = (ns / NS_PER_US).trunc();
    match us {
        us if us >= 1e6 => format!("{:.2}s", us / 1e6),
        us if us >= 1e3 => format!("{:.2}ms", us / 1e3),
        us => format!("{us:.0}us"),
    }
}

/// A size in units of 1024; the caller writes the B.
pub(super) fn size(bytes: u64) -> String {
    let units = [(1u64 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")];
    match units.into_iter().find(|(one, _)| bytes >= *one) {
        Some((one, unit)) => format!("{:.2}{unit}", bytes as f64 / one as f64),
        None => bytes.to_string(),
    }
}

/// A period: `1s`, `500ms`, `2m`.
pub(super) fn period_s(seconds: f64) -> String {
    let ms = (seconds * 1e3).round() as u64;
    if ms == 0 {
        return "0s".to_owned();
    }
    if !ms.is_multiple_of(1000) {
        return format!("{ms}ms");
    }
    let seconds = ms / 1000;
    if !seconds.is_multiple_of(60) {
        return format!("{seconds}s");
    }
    let minutes = seconds / 60;
    if minutes.is_multiple_of(60) { format!("{}h", minutes / 60) } else { format!("{minutes}m") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_change_where_h2loads_do() {
        for (ns, text) in [
            (0.0, "0us"),
            (999_999.0, "999us"),
            (1e6, "1.00ms"),
            (7_840_000.0, "7.84ms"),
            (4e9, "4.00s"),
            (3600e9, "3600.00s"),
        ] {
            assert_eq!(duration_ns(ns), text);
        }
        for (bytes, text) in [
            (0, "0"),
            (1023, "1023"),
            (160_000, "156.25K"),
            (28_121_688, "26.82M"),
            (1 << 31, "2.00G"),
        ] {
            assert_eq!(size(bytes), text);
        }
        for (seconds, text) in
            [(1.0, "1s"), (0.5, "500ms"), (1.5, "1500ms"), (120.0, "2m"), (7200.0, "2h")]
        {
            assert_eq!(period_s(seconds), text);
        }
    }
}
