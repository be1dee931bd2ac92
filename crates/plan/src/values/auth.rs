//! The value of `--auth`: how requests say on whose behalf they come.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor, value::MapAccessDeserializer};

use super::{PositiveNanos, ValueError, refuse};

/// Where a credential comes from, with what a table of a plan says besides.
#[derive(Clone, PartialEq, Eq)]
pub struct Auth {
    /// Where it comes from.
    pub way: AuthWay,
    /// The client's id at the authorization server, or that of the key that signs.
    pub id: Option<String>,
    /// The client's secret there, or the key.
    pub secret: Option<String>,
    /// What a temporary key comes with.
    pub session_token: Option<String>,
    /// What the token is asked for.
    pub scope: Option<String>,
    /// It is taken anew this long after the last time.
    pub every: Option<PositiveNanos>,
}

/// Where a credential comes from.
#[derive(Clone, PartialEq, Eq)]
pub enum AuthWay {
    /// `USER:PASSWORD` (RFC 7617).
    Basic(String),
    /// A token (RFC 6750).
    Bearer(String),
    /// The URL of an authorization server's token endpoint (RFC 6749).
    Oauth2(String),
    /// What a command prints.
    Command(String),
    /// What a file has in it.
    File(PathBuf),
    /// The region and the service for which requests are signed by AWS Signature Version 4.
    SigV4(String),
}

/// Without its values.
impl fmt::Debug for Auth {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Auth({})", self.way.name())
    }
}

impl AuthWay {
    /// The word for it.
    pub fn name(&self) -> &'static str {
        match self {
            AuthWay::Basic(_) => "basic",
            AuthWay::Bearer(_) => "bearer",
            AuthWay::Oauth2(_) => "oauth2",
            AuthWay::Command(_) => "cmd",
            AuthWay::File(_) => "file",
            AuthWay::SigV4(_) => "aws-sigv4",
        }
    }
}

impl Auth {
    /// The file that it reads.
    pub fn file_mut(&mut self) -> Option<&mut PathBuf> {
        match &mut self.way {
            AuthWay::File(path) => Some(path),
            _ => None,
        }
    }

    /// No value is repeated in an error: any of them may be secret.
    fn check(self) -> Result<Self, ValueError> {
        let is_oauth2 = matches!(self.way, AuthWay::Oauth2(_));
        let signs = matches!(self.way, AuthWay::SigV4(_));
        if !is_oauth2 && !signs && (self.id.is_some() || self.secret.is_some()) {
            return refuse("id and secret are for oauth2 and aws-sigv4; leave them out");
        }
        if !is_oauth2 && self.scope.is_some() {
            return refuse("scope is for oauth2; leave it out");
        }
        if !signs && self.session_token.is_some() {
            return refuse("session-token is for aws-sigv4; leave it out");
        }
        let is_renewed = is_oauth2 || matches!(self.way, AuthWay::Command(_));
        if !is_renewed && self.every.is_some() {
            return refuse("every is for oauth2 and cmd; leave it out");
        }
        match &self.way {
            AuthWay::Basic(user) if !user.contains(':') => {
                refuse("basic has no password; write basic:USER:PASSWORD")
            }
            AuthWay::Basic(text) | AuthWay::Bearer(text) if text.contains(char::is_control) => {
                refuse("it has a character that no header field may have; remove it")
            }
            AuthWay::SigV4(text) if !is_region_and_service(text) => {
                refuse("aws-sigv4 has no region and service; write aws-sigv4:REGION:SERVICE")
            }
            AuthWay::Bearer(text) | AuthWay::Oauth2(text) | AuthWay::Command(text)
                if text.trim().is_empty() =>
            {
                refuse(format!("nothing follows {}:; {USAGE}", self.way.name()))
            }
            AuthWay::File(path) if path.as_os_str().is_empty() => {
                refuse(format!("nothing follows file:; {USAGE}"))
            }
            _ => Ok(self),
        }
    }
}

fn is_region_and_service(text: &str) -> bool {
    let is_name = |text: &str| {
        let is_good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        !text.is_empty() && text.bytes().all(is_good)
    };
    text.split_once(':').is_some_and(|(region, service)| is_name(region) && is_name(service))
}

const USAGE: &str = "write basic:USER:PASSWORD, bearer:TOKEN, oauth2:TOKEN-URL, cmd:COMMAND, file:PATH or \
     aws-sigv4:REGION:SERVICE";

impl FromStr for Auth {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let (way, rest) = text.split_once(':').unwrap_or((text, ""));
        let rest = rest.to_owned();
        let way = match way {
            "basic" => AuthWay::Basic(rest),
            "bearer" => AuthWay::Bearer(rest),
            "oauth2" => AuthWay::Oauth2(rest),
            "cmd" => AuthWay::Command(rest),
            "file" => AuthWay::File(rest.into()),
            "aws-sigv4" => AuthWay::SigV4(rest),
            _ => return refuse(format!("not a way to have a credential; {USAGE}")),
        };
        Auth { way, id: None, secret: None, session_token: None, scope: None, every: None }.check()
    }
}

/// The keys of a table.
#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(crate) struct AuthTable {
    basic: Option<String>,
    bearer: Option<String>,
    oauth2: Option<String>,
    cmd: Option<String>,
    file: Option<PathBuf>,
    aws_sigv4: Option<String>,
    id: Option<String>,
    secret: Option<String>,
    session_token: Option<String>,
    scope: Option<String>,
    every: Option<PositiveNanos>,
}

impl AuthTable {
    fn read(self) -> Result<Auth, ValueError> {
        let ways = [
            self.basic.map(AuthWay::Basic),
            self.bearer.map(AuthWay::Bearer),
            self.oauth2.map(AuthWay::Oauth2),
            self.cmd.map(AuthWay::Command),
            self.file.map(AuthWay::File),
            self.aws_sigv4.map(AuthWay::SigV4),
        ];
        let mut ways = ways.into_iter().flatten();
        let (Some(way), None) = (ways.next(), ways.next()) else {
            return refuse(
                "it needs one of the keys basic, bearer, oauth2, cmd, file and aws-sigv4",
            );
        };
        let Self { id, secret, session_token, scope, every, .. } = self;
        Auth { way, id, secret, session_token, scope, every }.check()
    }
}

impl<'de> Deserialize<'de> for Auth {
    /// The text of the flag, or a table.
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Auth;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("a text such as \"file:token\", or a table")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Auth, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Auth, A::Error> {
                let table = AuthTable::deserialize(MapAccessDeserializer::new(table))?;
                table.read().map_err(A::Error::custom)
            }
        }

        input.deserialize_any(Either)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_read_and_errors_repeat_nothing() {
        let of = |text: &str| text.parse::<Auth>();
        assert!(of("basic:ann:a:b").unwrap().way == AuthWay::Basic("ann:a:b".to_owned()));
        let url = "https://login.example/token";
        assert!(of(&format!("oauth2:{url}")).unwrap().way == AuthWay::Oauth2(url.to_owned()));
        assert!(of("file:/run/token").unwrap().way == AuthWay::File("/run/token".into()));
        assert_eq!(format!("{:?}", of("bearer:geheim").unwrap()), "Auth(bearer)");
        let signed = of("aws-sigv4:eu-central-1:execute-api").unwrap();
        assert!(signed.way == AuthWay::SigV4("eu-central-1:execute-api".to_owned()));
        let wrong =
            ["geheim", "geheim:x", "basic:geheim", "bearer:", "cmd: ", "file:", "bearer:ge\nheim"];
        let unsigned = ["aws-sigv4:", "aws-sigv4:geheim", "aws-sigv4:geheim:", "aws-sigv4:a:b:c"];
        for wrong in wrong.into_iter().chain(unsigned) {
            let error = of(wrong).unwrap_err().to_string();
            assert!(!error.contains("geheim") && !error.is_empty(), "{error}");
        }
    }

    #[test]
    fn a_table_says_one_way_and_what_belongs_to_it() {
        let of = |text: &str| toml::from_str::<Auth>(text).map_err(|error| error.to_string());
        let whole = "oauth2 = \"http://h/t\"\nid = \"a\"\nsecret = \"b\"\nevery = \"5m\"";
        let auth = of(whole).unwrap();
        assert_eq!(
            (auth.id.as_deref(), auth.every.map(PositiveNanos::get)),
            (Some("a"), Some(300_000_000_000))
        );
        for (text, why) in [
            ("id = \"a\"", "needs one of the keys"),
            ("cmd = \"a\"\nfile = \"b\"", "needs one of the keys"),
            ("cmd = \"a\"\nsecret = \"b\"", "are for oauth2"),
            ("aws-sigv4 = \"a:b\"\nscope = \"c\"", "scope is for oauth2"),
            ("oauth2 = \"http://h/\"\nsession-token = \"c\"", "is for aws-sigv4"),
            ("aws-sigv4 = \"a:b\"\nevery = \"1m\"", "every is for"),
            ("file = \"a\"\nevery = 1", "every is for"),
        ] {
            assert!(of(text).unwrap_err().contains(why), "{text}");
        }
    }
}
