//! The faults of responses. One grammar serves both the path `/fault/…` and the flag `--fault`. The
//! stream performs them ([`crate::stream`]).

use std::fmt;
use std::str::FromStr;

use crate::units::parse_size;

/// A fault of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The connection is reset after this number of bytes of the response, header included. Beyond
    /// the capacity of the socket buffers, bytes may be lost to the reset. A unix socket, which has
    /// no reset, is closed.
    Reset(u64),
    /// This many bytes of a body with a longer announced length, then a close.
    Truncate(u64),
    /// No response; the connection stays open.
    Hang,
    /// A close instead of a response.
    Close,
}

impl FromStr for Fault {
    type Err = String;

    /// `reset/N`, `truncate/N`, `hang` or `close`.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('/') {
            None if text == "hang" => Ok(Fault::Hang),
            None if text == "close" => Ok(Fault::Close),
            Some(("reset", bytes)) => parse_size(bytes).map(Fault::Reset),
            Some(("truncate", bytes)) => parse_size(bytes).map(Fault::Truncate),
            _ => Err(format!(
                "`{text}` is not a fault; write reset/BYTES, truncate/BYTES, hang or close"
            )),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Reset(bytes) => write!(f, "reset/{bytes}"),
            Fault::Truncate(bytes) => write!(f, "truncate/{bytes}"),
            Fault::Hang => f.write_str("hang"),
            Fault::Close => f.write_str("close"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_reads_what_it_writes() {
        for fault in [Fault::Reset(100), Fault::Truncate(0), Fault::Hang, Fault::Close] {
            assert_eq!(fault.to_string().parse(), Ok(fault));
        }
        assert_eq!("reset/1k".parse(), Ok(Fault::Reset(1024)));
        for wrong in ["", "reset", "reset/", "reset/x", "hang/1", "explode"] {
            assert!(wrong.parse::<Fault>().is_err(), "{wrong}");
        }
    }
}
