//! Numbers in wrk's format: two decimals and a unit, right-aligned so that figures line up whether
//! the unit has two letters, one or none.
//!
//! The next unit begins at 85 % of it: 850 us is written 0.85ms, 51 seconds 0.85m. The largest
//! unit of each list is never reached, also as in wrk: an hour is written 60.00m.

/// From this share of the next unit on, a number is written in that unit.
const NEXT_UNIT_FROM: f64 = 0.85;

struct Units {
    factor: f64,
    base: &'static str,
    larger: &'static [&'static str],
}

const MICROSECONDS: Units = Units { factor: 1000.0, base: "us", larger: &["ms"] };
const SECONDS: Units = Units { factor: 60.0, base: "s", larger: &["m"] };
const BINARY: Units = Units { factor: 1024.0, base: "", larger: &["K", "M", "G", "T"] };
const METRIC: Units = Units { factor: 1000.0, base: "", larger: &["k", "M", "G", "T"] };

impl Units {
    fn write(&self, mut amount: f64, decimals: usize) -> String {
        let mut unit = self.base;
        for larger in self.larger {
            if amount < self.factor * NEXT_UNIT_FROM {
                break;
            }
            amount /= self.factor;
            unit = larger;
        }
        format!("{amount:.decimals$}{unit}")
    }
}

/// A duration in microseconds.
pub(super) fn time_us(us: f64) -> String {
    if us >= 1e6 { SECONDS.write(us / 1e6, 2) } else { MICROSECONDS.write(us, 2) }
}

/// A duration in whole seconds, for the first line.
pub(super) fn time_s(seconds: f64) -> String {
    SECONDS.write(seconds, 0)
}

/// Bytes, in units of 1024; the caller writes the B.
pub(super) fn binary(bytes: f64) -> String {
    BINARY.write(bytes, 2)
}

/// A plain number, in thousands.
pub(super) fn metric(number: f64) -> String {
    METRIC.write(number, 2)
}

/// `text` in a column of `width`, of which the last two characters are the unit's.
pub(super) fn column(text: &str, width: usize) -> String {
    let letters = text.bytes().rev().take(2).filter(u8::is_ascii_alphabetic).count();
    let blanks = 2 - letters;
    format!("{text:>0$}{1:2$}", width - blanks, "", blanks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_change_where_wrks_do() {
        for (us, text) in [
            (0.0, "0.00us"),
            (849.99, "849.99us"),
            (850.0, "0.85ms"),
            (849_990.0, "849.99ms"),
            (999_999.0, "1000.00ms"),
            (1e6, "1.00s"),
            (50.9e6, "50.90s"),
            (51e6, "0.85m"),
            (3600e6, "60.00m"),
        ] {
            assert_eq!(time_us(us), text);
        }
        for (seconds, text) in [(1.0, "1s"), (50.0, "50s"), (60.0, "1m"), (3600.0, "60m")] {
            assert_eq!(time_s(seconds), text);
        }
        for (bytes, text) in [(870.0, "870.00"), (871.0, "0.85K"), (1048576.0, "1.00M")] {
            assert_eq!(binary(bytes), text);
        }
        for (number, text) in [(849.0, "849.00"), (850.0, "0.85k"), (60_040.0, "60.04k")] {
            assert_eq!(metric(number), text);
        }
    }

    #[test]
    fn figures_end_in_one_column() {
        assert_eq!(column("761.25us", 8), "761.25us");
        assert_eq!(column("1.42s", 9), "   1.42s ");
        assert_eq!(column("103.46", 10), "  103.46  ");
        assert_eq!(column("1234567.00ms", 8), "1234567.00ms", "never cut off");
    }
}
