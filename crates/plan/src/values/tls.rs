//! Values of the flags for TLS and HTTP/2.

use std::str::FromStr;

use super::{ValueError, refuse};

/// A list of names in order, not empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names(Vec<String>);

impl Names {
    /// The names.
    pub fn into_vec(self) -> Vec<String> {
        self.0
    }
}

impl FromStr for Names {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
        match names.iter().any(|name| name.is_empty() || name.len() > 255) {
            true => refuse("an empty name; write names joined by commas"),
            false => Ok(Names(names)),
        }
    }
}

/// `on` or `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnOff(bool);

impl OnOff {
    /// Whether it is `on`.
    pub fn is_on(self) -> bool {
        self.0
    }
}

impl FromStr for OnOff {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match text {
            "on" => Ok(OnOff(true)),
            "off" => Ok(OnOff(false)),
            _ => refuse("unknown; write on or off"),
        }
    }
}

/// The size of a flow-control window as a power of two, 16 to 30.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowBits(u8);

impl WindowBits {
    /// Also allows smaller windows, for compatibility with other tools. `None` above 30, and for 0,
    /// which would let nothing through.
    pub fn of_any_size(bits: u8) -> Option<Self> {
        (1..=30).contains(&bits).then_some(WindowBits(bits))
    }

    /// The exponent.
    pub fn get(self) -> u8 {
        self.0
    }
}

impl FromStr for WindowBits {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match text.trim().parse() {
            Ok(bits @ 16..=30) => Ok(WindowBits(bits)),
            _ => refuse("a window has 16 to 30 bits; write a number from 16 to 30"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::error;
    use super::*;

    #[test]
    fn what_is_spoken_is_taken_and_the_rest_refused() {
        assert_eq!("a, b".parse::<Names>().unwrap().into_vec(), ["a", "b"]);
        assert!(error::<Names>("a,,b").contains("joined by commas"));
        assert!("on".parse::<OnOff>().unwrap().is_on() && !"off".parse::<OnOff>().unwrap().is_on());
        assert_eq!(error::<OnOff>("yes"), "unknown; write on or off");
        assert_eq!("16".parse::<WindowBits>().unwrap().get(), 16);
        for bad in ["15", "31", "-1", "x", ""] {
            assert!(error::<WindowBits>(bad).contains("16 to 30"), "{bad}");
        }
    }
}
