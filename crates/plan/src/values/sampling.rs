//! The values of `--trace-sample` and `--kernel-timestamps`: shares as `1/N`.

use std::str::FromStr;

use super::{Count, SmallCount, ValueError, refuse};
use crate::model::{KernelTimestamps, Trace};

impl FromStr for Trace {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        if text.trim() == "all" {
            return Ok(Trace::All);
        }
        if let Some(n) = one_in(text) {
            let n: Count = n?;
            return Ok(Trace::OneIn(n.get()));
        }
        let Ok(count) = text.trim().parse::<Count>() else {
            return refuse("write all, a share such as 1/100, or a number such as 10k");
        };
        match count.get() {
            too_many if too_many > Trace::MOST => refuse(
                "a sample of a given size is kept in memory; write at most 10M, or a share such as 1/10",
            ),
            count => Ok(Trace::Count(count)),
        }
    }
}

impl FromStr for KernelTimestamps {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let Some(n) = one_in(text) else {
            return refuse("write a share of the connections, such as 1/10, or 1/1 for all");
        };
        let n: SmallCount = n?;
        Ok(KernelTimestamps { one_in: n.get() })
    }
}

/// The text after `1/`; `None` without that prefix.
fn one_in<T: FromStr<Err: std::fmt::Display>>(text: &str) -> Option<Result<T, ValueError>> {
    let (one, n) = text.split_once('/')?;
    if one.trim() != "1" {
        return Some(refuse("a share is written as 1/N"));
    }
    Some(n.trim().parse().map_err(|error: T::Err| ValueError(error.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_counts() {
        assert_eq!("all".parse(), Ok(Trace::All));
        assert_eq!("1/100".parse(), Ok(Trace::OneIn(100)));
        assert_eq!(" 1 / 1k ".parse(), Ok(Trace::OneIn(1000)));
        assert_eq!("10k".parse(), Ok(Trace::Count(10_000)));
        assert_eq!("1/10".parse(), Ok(KernelTimestamps { one_in: 10 }));
        for bad in ["", "some", "2/3", "1/0", "1/", "0", "-1", "11M", "1/x"] {
            assert!(bad.parse::<Trace>().is_err(), "{bad}");
            assert!(bad.parse::<KernelTimestamps>().is_err(), "{bad}");
        }
    }
}
