//! Records as bytes, from one process to another.
//!
//! A value is one byte of version and its postcard encoding: fields in their order, numbers in as few
//! bytes as possible, histograms packed ([`Buckets`](crate::Buckets)). An interval with 20,000 samples
//! takes 12 KiB. The bytes do not describe themselves: both ends must have the same version. Bytes are
//! untrusted: a decoded value is consistent, and decoding takes no more memory than a small multiple
//! of their length, plus its histograms.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The version of the encoding. It changes with any type that travels.
pub const VERSION: u8 = 24;

/// Why bytes are not a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Another version wrote them.
    #[error("it has version {0}, and this program reads version {VERSION}")]
    Version(u8),
    /// They are cut short or inconsistent.
    #[error("it is damaged: {0}")]
    Damaged(String),
}

/// A value as bytes.
pub fn to_bytes<T: Serialize>(value: &T) -> Vec<u8> {
    postcard::to_extend(value, vec![VERSION]).expect("values of ours have a length and no error")
}

/// The value of these bytes; nothing may follow it.
pub fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, WireError> {
    let damaged = |why: String| WireError::Damaged(why);
    let (&version, body) = bytes.split_first().ok_or_else(|| damaged("it is empty".to_owned()))?;
    if version != VERSION {
        return Err(WireError::Version(version));
    }
    match postcard::take_from_bytes(body) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => Err(damaged(format!("{} bytes are left over", rest.len()))),
        Err(error) => Err(damaged(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Interval;

    /// An interval with this number of samples, whose latencies spread over a decade and a tail.
    fn interval(samples: u64) -> Interval {
        let mut interval = Interval::new(3, 1, 0);
        let mut state = 42u64;
        for _ in 0..samples {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let uniform = (state >> 11) as f64 / (1u64 << 53) as f64;
            let service_ns = 80_000 + (-(1.0 - uniform).ln() * 60_000.0) as u64;
            let lag_ns = (state >> 40) % 9_000;
            let latencies = &mut interval.latencies;
            latencies.service.record(service_ns);
            latencies.first_byte.record(service_ns - 2_000);
            latencies.send_lag.record(lag_ns);
            latencies.queue_wait.record(if state & 0xf00 == 0 { service_ns / 3 } else { 0 });
            latencies.response.record(service_ns + lag_ns);
        }
        interval.ledger.sent = samples;
        interval.ledger.ok = samples;
        interval.add_status(200, samples);
        interval
    }

    #[test]
    fn an_interval_of_20_000_samples_fits_into_16_kib() {
        let interval = interval(20_000);
        let bytes = to_bytes(&interval);
        println!("{} bytes", bytes.len());
        assert!(bytes.len() <= 16 << 10, "{} bytes", bytes.len());
        assert_eq!(from_bytes::<Interval>(&bytes).unwrap(), interval);
        assert!(to_bytes(&self::interval(0)).len() < 256);
    }

    #[test]
    fn other_versions_and_damage_are_told_apart() {
        let good = to_bytes(&interval(3));
        let other = VERSION + 1;
        assert_eq!(from_bytes::<Interval>(&[other, 0]), Err(WireError::Version(other)));
        assert!(matches!(from_bytes::<Interval>(&[]), Err(WireError::Damaged(_))));
        for end in 1..good.len() {
            assert!(from_bytes::<Interval>(&good[..end]).is_err());
        }
        let longer = [&good[..], &[0]].concat();
        assert!(matches!(from_bytes::<Interval>(&longer), Err(WireError::Damaged(_))));
    }
}
