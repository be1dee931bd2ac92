//! A checked suite of client libraries. [`super::file`] makes these values from TOML;
//! [`super::matrix`] combines them into cells.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::matrix::Head;

/// The most callers or connections of a cell.
pub const MOST: u64 = 100_000;

/// A suite of client libraries.
#[derive(Debug, Clone, PartialEq)]
pub struct Suite {
    /// The suite's name and description, from its file.
    pub head: Head,
    /// The request of every cell.
    pub asked: Asked,
    /// Callers, each once, at least one.
    pub concurrencies: Vec<u64>,
    /// Connections.
    pub pools: Pools,
    /// The server.
    pub server: Server,
    /// Clients, at least one, names unique.
    pub clients: Vec<Client>,
}

/// The settings that all cells share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Before the window.
    pub warm_up: Duration,
    /// The window.
    pub duration: Duration,
    /// For a request, including the wait for a connection if the library supports that.
    pub timeout: Duration,
    /// Time that a driver has to start, and to add up its counts at the end of a cell.
    pub grace: Duration,
    /// The path, with its query; `None`: the one that the server announces.
    pub path: Option<String>,
    /// The status of a correct response.
    pub expect_status: u16,
    /// The length of its body; `None`: any.
    pub expect_body_bytes: Option<u64>,
}

/// The server for the clients: a managed target whose port file has the URL of its own count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Server {
    /// `candor serve`, with these arguments.
    Embedded {
        /// Arguments.
        arguments: Vec<String>,
    },
    /// Another program.
    Command {
        /// Program and arguments.
        command: Vec<String>,
        /// Environment on top of ours.
        env: Vec<(String, String)>,
        /// How long it may take to get ready.
        ready_timeout: Duration,
    },
}

/// A client library behind its driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// Its name.
    pub name: String,
    /// A one-line description.
    pub about: String,
    /// The driver: program and arguments.
    pub command: Vec<String>,
    /// Environment on top of ours.
    pub env: Vec<(String, String)>,
    /// The software that the client needs and how to get it; empty if the driver reports it.
    pub needs: String,
    /// Whether it sends nothing: its cost is the driver's own share.
    pub is_null: bool,
    /// The null client of the same driver.
    pub null_client: Option<String>,
}

/// How many connections a cell has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pools {
    /// By the number of callers, one pool for each.
    Rule(PoolRule),
    /// Each of these with each number of callers.
    Sizes(Vec<u64>),
}

/// A pool's size as a function of the number of callers, and never less than 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolRule {
    /// This many more.
    Plus(u64),
    /// This many fewer.
    Minus(u64),
    /// The number divided by this, rounded down.
    Part(u64),
}

impl Pools {
    /// The pool sizes to combine with `concurrency` callers.
    pub fn with(&self, concurrency: u64) -> Vec<u64> {
        match self {
            Pools::Rule(rule) => vec![rule.of(concurrency)],
            Pools::Sizes(sizes) => sizes.clone(),
        }
    }
}

impl PoolRule {
    /// The pool size for `concurrency` callers.
    pub fn of(self, concurrency: u64) -> u64 {
        match self {
            PoolRule::Plus(more) => concurrency.saturating_add(more),
            PoolRule::Minus(fewer) => concurrency.saturating_sub(fewer).max(1),
            PoolRule::Part(parts) => (concurrency / parts.max(1)).max(1),
        }
    }
}

impl FromStr for PoolRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "\"{text}\" is not a rule for pools; write \"concurrency\", \"concurrency + 1\", \
                 \"concurrency - 1\" or \"concurrency / 4\""
            )
        };
        let rest = text.trim().strip_prefix("concurrency").ok_or_else(wrong)?.trim();
        let Some(operator) = rest.chars().next() else { return Ok(PoolRule::Plus(0)) };
        let number: u64 = rest[operator.len_utf8()..].trim().parse().map_err(|_| wrong())?;
        match (operator, number) {
            ('+', more) if more <= MOST => Ok(PoolRule::Plus(more)),
            ('-', fewer) if fewer <= MOST => Ok(PoolRule::Minus(fewer)),
            ('/', parts) if (1..=MOST).contains(&parts) => Ok(PoolRule::Part(parts)),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for PoolRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PoolRule::Plus(0) => f.write_str("concurrency"),
            PoolRule::Plus(more) => write!(f, "concurrency + {more}"),
            PoolRule::Minus(fewer) => write!(f, "concurrency - {fewer}"),
            PoolRule::Part(parts) => write!(f, "concurrency / {parts}"),
        }
    }
}

impl fmt::Display for Pools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pools::Rule(rule) => rule.fmt(f),
            Pools::Sizes(sizes) => {
                let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
                f.write_str(&sizes.join(", "))
            }
        }
    }
}

impl FromStr for Pools {
    type Err = String;

    /// A rule, or sizes separated by commas.
    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim_start().starts_with(|c: char| c.is_ascii_digit()) {
            return sizes(text).map(Pools::Sizes);
        }
        text.parse().map(Pools::Rule)
    }
}

/// Numbers of callers or connections as typed: `4,8,16`.
pub fn sizes(text: &str) -> Result<Vec<u64>, String> {
    let mut sizes = Vec::new();
    for part in text.split(',') {
        let size: u64 = part
            .trim()
            .parse()
            .map_err(|_| format!("\"{}\" is not a number; write e.g. 4,16,64", part.trim()))?;
        check_size(size)?;
        if !sizes.contains(&size) {
            sizes.push(size);
        }
    }
    Ok(sizes)
}

/// A number of callers or connections that a cell can have.
pub fn check_size(size: u64) -> Result<(), String> {
    match (1..=MOST).contains(&size) {
        true => Ok(()),
        false => Err(format!("{size}: write 1 to {MOST}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_follow_the_callers() {
        for (text, shown, of_64, of_4) in [
            ("concurrency", "concurrency", 64, 4),
            ("concurrency + 1", "concurrency + 1", 65, 5),
            (" concurrency+1 ", "concurrency + 1", 65, 5),
            ("concurrency - 8", "concurrency - 8", 56, 1),
            ("concurrency / 16", "concurrency / 16", 4, 1),
        ] {
            let rule: PoolRule = text.parse().unwrap();
            assert_eq!((rule.to_string().as_str(), rule.of(64), rule.of(4)), (shown, of_64, of_4));
            assert_eq!(text.parse(), Ok(Pools::Rule(rule)));
        }
        for wrong in
            ["", "64 +", "concurency", "concurrency *2", "concurrency / 0", "concurrency+x"]
        {
            let error = wrong.parse::<PoolRule>().unwrap_err();
            assert!(error.contains("\"concurrency + 1\""), "{error}");
        }
    }

    #[test]
    fn sizes_are_listed() {
        assert_eq!("4, 8,4".parse(), Ok(Pools::Sizes(vec![4, 8])));
        assert_eq!("4,8".parse::<Pools>().unwrap().to_string(), "4, 8");
        assert_eq!(Pools::Sizes(vec![4, 8]).with(100), [4, 8]);
        for wrong in ["0", "4,,8", "4,x", "4-8", "100001", "5 6"] {
            assert!(wrong.parse::<Pools>().is_err(), "{wrong}");
        }
    }
}
