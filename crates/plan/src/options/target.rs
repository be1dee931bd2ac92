//! The options of a further target: a `[target.NAME]` table of a plan.

use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use crate::targets::{HaproxyProtocol, MAIN_TARGET};
use crate::values::{
    Auth, Header, HostPort, Proxy, Resolve, SmallCount, headers, one_or_many, typed,
};

/// One `[target.NAME]` table of a plan: where else requests go. What it does not say, the top level does.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct TargetOptions {
    /// The name of the table.
    #[serde(skip)]
    pub name: TargetName,
    /// Like the URL of a run; its path is that of requests without one.
    pub url: Option<String>,
    /// Like `--connections`.
    pub connections: Option<SmallCount>,
    /// Like `--header`, for all requests to it.
    #[serde(alias = "headers", deserialize_with = "headers")]
    pub header: Vec<Header>,
    /// Like `--auth`: the text of the flag, or a table.
    pub auth: Option<Auth>,
    /// Like `--connect-to`.
    pub connect_to: Option<HostPort>,
    /// Like `--proxy`.
    pub proxy: Option<Proxy>,
    /// Like `--haproxy-protocol`.
    #[serde(deserialize_with = "typed")]
    pub haproxy_protocol: Option<HaproxyProtocol>,
    /// Like `--resolve`.
    #[serde(deserialize_with = "one_or_many")]
    pub resolve: Vec<Resolve>,
    /// Like `--unix-socket`.
    pub unix_socket: Option<PathBuf>,
    /// Like `--h1`.
    pub h1: bool,
    /// Like `--h2`.
    pub h2: bool,
    /// Like `--h3`.
    pub h3: bool,
    /// Like `--alt-svc`.
    pub alt_svc: bool,
    /// Like `--insecure`.
    pub insecure: bool,
    /// Like `--cacert`.
    pub cacert: Option<PathBuf>,
    /// Like `--cert`.
    pub cert: Option<PathBuf>,
    /// Like `--key`.
    pub key: Option<PathBuf>,
    /// Like `--sni`.
    pub sni: Option<String>,
}

/// The name of a target, in reports and in `target = "NAME"`: letters, digits, `.`, `:`, `-` and `_`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TargetName(String);

impl TargetName {
    /// A name, or what is wrong with it.
    pub fn new(name: &str) -> Result<Self, String> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || ".:-_".contains(c);
        match name {
            MAIN_TARGET => {
                Err("`main` is the target of the plan's own url; take another name".to_owned())
            }
            name if name.is_empty() || name.len() > 64 || !name.chars().all(is_name) => {
                Err("a target's name has up to 64 letters, digits and - _ . :".to_owned())
            }
            name => Ok(TargetName(name.to_owned())),
        }
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for TargetName {
    fn default() -> Self {
        TargetName(MAIN_TARGET.to_owned())
    }
}

impl<'de> Deserialize<'de> for TargetName {
    /// The name in a request may be that of any target.
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let name = String::deserialize(input)?;
        match name.as_str() {
            MAIN_TARGET => Ok(TargetName::default()),
            name => TargetName::new(name).map_err(D::Error::custom),
        }
    }
}

/// The tables by their names.
pub(super) fn targets<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<TargetOptions>, D::Error> {
    struct All;

    impl<'de> Visitor<'de> for All {
        type Value = Vec<TargetOptions>;

        fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
            formatter.write_str("tables such as [target.api]; the URL of a plan is the key `url`")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut tables: A) -> Result<Self::Value, A::Error> {
            let mut all = Vec::new();
            while let Some(name) = tables.next_key::<String>()? {
                let name = TargetName::new(&name).map_err(A::Error::custom)?;
                all.push(TargetOptions { name, ..tables.next_value()? });
            }
            Ok(all)
        }
    }

    input.deserialize_map(All)
}
