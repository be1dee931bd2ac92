//! Checks that a driver's counts and the server's count describe the same requests.
//!
//! This detects a library that silently repeats requests, a driver that loses some, and another
//! client of the server; the affected cell has no result. Pure.

use candor_plan::units::fmt_count;

use super::protocol::Counts;

/// Describes the disagreement between `driver`, everything that the callers did, and `server`, the
/// responses that the server sent meanwhile; `None`: they agree.
///
/// Without errors both counts are equal. With errors the server's count lies between the complete
/// responses and all requests: the server may or may not have responded to a request that timed
/// out. A null client (`is_null`) sends nothing.
pub fn disagreement(driver: &Counts, server: u64, is_null: bool) -> Option<String> {
    let (least, most) = match is_null {
        true => (0, 0),
        false => (driver.answered(), driver.all()),
    };
    let server_count = fmt_count(server);
    match (least..=most).contains(&server) {
        true => None,
        false if is_null => {
            Some(format!("a null client, but the server responded {server_count} times"))
        }
        false if least == most => {
            Some(format!("the driver counts {}, the server {server_count}", fmt_count(most)))
        }
        false => Some(format!(
            "the driver counts {} to {}, the server {server_count}",
            fmt_count(least),
            fmt_count(most)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(ok: u64, errors: &[(&str, u64)]) -> Counts {
        let errors = errors.iter().map(|&(kind, count)| (kind.to_owned(), count)).collect();
        Counts { ok, errors }
    }

    #[test]
    fn without_errors_they_are_equal() {
        let driver = counts(1000, &[]);
        assert_eq!(disagreement(&driver, 1000, false), None);
        for server in [0, 999, 1001] {
            let wrong = disagreement(&driver, server, false).unwrap();
            assert!(wrong.contains("the driver counts 1,000, the server"), "{wrong}");
        }
        // A wrong response is still a response, so the counts must be equal.
        let wrong_answers = counts(10, &[("status", 4), ("body", 1)]);
        assert_eq!(disagreement(&wrong_answers, 15, false), None);
        assert!(disagreement(&wrong_answers, 14, false).is_some());
    }

    #[test]
    fn with_errors_the_server_lies_between() {
        let driver = counts(10, &[("timeout", 5), ("body", 2), ("pool-timeout", 3)]);
        for (server, agree) in [(11, false), (12, true), (16, true), (20, true), (21, false)] {
            assert_eq!(disagreement(&driver, server, false).is_none(), agree, "{server}");
        }
    }

    #[test]
    fn a_null_client_sends_nothing() {
        let driver = counts(1_000_000, &[]);
        assert_eq!(disagreement(&driver, 0, true), None);
        assert!(disagreement(&driver, 1, true).unwrap().contains("null client"));
        assert!(disagreement(&driver, 0, false).is_some());
    }
}
