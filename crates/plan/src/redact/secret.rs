//! What is a secret: the only judge of it. A value is one by the name of its place, or by its own form.
//!
//! Results hide everything that is not known to be harmless; single exchanges, errors and imported plans hide what is
//! secret here.

/// What a secret value is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretKind {
    /// A password or passphrase.
    Password,
    /// The number of a card or an account.
    Card,
    /// A PIN, a one-time code, the code of an authorization.
    Code,
    /// A key that is shared or private.
    Secret,
    /// A token against forged requests.
    CsrfToken,
    /// A key of an interface.
    ApiKey,
    /// A session.
    Session,
    /// What proves that a request was not changed: it is as good as a password while it is valid.
    Signature,
    /// Any other token.
    Token,
    /// `Bearer …` (RFC 6750).
    Bearer,
    /// `Basic …` (RFC 7617).
    Basic,
    /// Credentials of another scheme.
    Authorization,
    /// Cookies.
    Cookie,
}

impl SecretKind {
    /// Every kind.
    pub const ALL: [SecretKind; 13] = [
        SecretKind::Password,
        SecretKind::Card,
        SecretKind::Code,
        SecretKind::Secret,
        SecretKind::CsrfToken,
        SecretKind::ApiKey,
        SecretKind::Session,
        SecretKind::Signature,
        SecretKind::Token,
        SecretKind::Bearer,
        SecretKind::Basic,
        SecretKind::Authorization,
        SecretKind::Cookie,
    ];

    /// The variable of the environment that stands for such a value in a plan.
    pub fn variable(self) -> &'static str {
        match self {
            SecretKind::Password => "PASSWORD",
            SecretKind::Card => "CARD",
            SecretKind::Code => "CODE",
            SecretKind::Secret => "SECRET",
            SecretKind::CsrfToken => "CSRF_TOKEN",
            SecretKind::ApiKey => "API_KEY",
            SecretKind::Session => "SESSION",
            SecretKind::Signature => "SIGNATURE",
            SecretKind::Token => "TOKEN",
            SecretKind::Bearer => "BEARER_TOKEN",
            SecretKind::Basic => "BASIC_CREDENTIALS",
            SecretKind::Authorization => "AUTHORIZATION",
            SecretKind::Cookie => "COOKIE",
        }
    }

    /// The kind of a value by the name of its place (a parameter, a field of a form, a member of JSON, a column, a
    /// variable) and by its form.
    pub fn of(name: &str, value: &str) -> Option<Self> {
        if SWITCHES.iter().any(|switch| switch.eq_ignore_ascii_case(value)) {
            return None;
        }
        let by_name = found(name).filter(|(_, needs)| match needs {
            Needs::Nothing => true,
            Needs::Token => is_token(value),
            Needs::LongToken => is_long_token(value),
        });
        by_name.map(|(kind, _)| kind).or_else(|| SecretKind::of_value(value))
    }

    /// The kind of whatever has this name.
    pub fn of_name(name: &str) -> Option<Self> {
        found(name).filter(|(kind, needs)| (*kind, *needs) != AMBIGUOUS).map(|(kind, _)| kind)
    }

    /// The kind of a value that is recognized wherever it stands.
    pub fn of_value(value: &str) -> Option<Self> {
        let is_of_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let is_issued = ISSUED.iter().any(|begin| {
            value.strip_prefix(begin).is_some_and(|rest| {
                rest.len() >= LEAST_ISSUED
                    && rest.bytes().all(is_of_token)
                    && (begin.len() > 3 || has_digit_and_letter(rest))
            })
        });
        match value {
            key if key.contains("-----BEGIN") && key.contains("PRIVATE KEY-----") => {
                Some(SecretKind::Secret)
            }
            token if is_issued || is_jwt(token) => Some(SecretKind::Token),
            _ => None,
        }
    }

    /// The part of a header field's value that is not secret, and the kind of the rest.
    pub fn of_field<'v>(name: &str, value: &'v str) -> Option<(&'v str, Self)> {
        if value.is_empty() {
            return None;
        }
        let scheme = value.find(' ').map_or("", |at| &value[..=at]);
        let by_scheme = match scheme.trim_end().to_ascii_lowercase().as_str() {
            "bearer" | "token" | "jwt" => Some(SecretKind::Bearer),
            "basic" => Some(SecretKind::Basic),
            _ => None,
        };
        match name.trim().to_ascii_lowercase().as_str() {
            "authorization" | "proxy-authorization" => {
                Some(by_scheme.map_or(("", SecretKind::Authorization), |kind| (scheme, kind)))
            }
            "cookie" | "set-cookie" => Some(("", SecretKind::Cookie)),
            name => match (by_scheme, SecretKind::of(name, value)) {
                // Not `token of esteem`.
                (Some(kind), _)
                    if !value[scheme.len()..].contains(' ') && !scheme.starts_with(['t', 'T']) =>
                {
                    Some((scheme, kind))
                }
                (_, kind) => kind.map(|kind| ("", kind)),
            },
        }
    }
}

/// Whether a word in a command sounds like the name of a secret: rather too often than too rarely.
pub(super) fn sounds_secret(name: &str) -> bool {
    let plain = plain(name);
    NAMES.iter().any(|(part, fit, ..)| match fit {
        Fit::Alone => words(name).any(|word| word == *part),
        _ => plain.contains(part),
    }) || NAMING.iter().any(|part| plain.contains(part))
}

/// A JSON Web Token (RFC 7519), signed or encrypted: parts in base64url, the first of which is an object.
fn is_jwt(value: &str) -> bool {
    let is_of_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.=".contains(&byte);
    value.starts_with("eyJ")
        && value.len() > 40
        && matches!(value.split('.').count(), 3 | 5)
        && value.bytes().all(is_of_part)
}

/// Whether a value is rather a token than a word.
fn is_token(value: &str) -> bool {
    let is_mixed = value.len() >= 4 && has_digit_and_letter(value);
    !value.contains(char::is_whitespace) && (value.len() >= LEAST_TOKEN || is_mixed)
}

/// Whether a value is rather a token than a name or a number. A coupon has letters of one case.
fn is_long_token(value: &str) -> bool {
    let is_mixed = value.bytes().any(|byte| byte.is_ascii_lowercase())
        && value.bytes().any(|byte| byte.is_ascii_uppercase())
        && is_random(value);
    !value.contains(char::is_whitespace) && (value.len() >= LEAST_LONG_TOKEN || is_mixed)
}

/// Whether no word of a language looks like this value, so that it is a secret wherever it stands once it is one
/// anywhere.
pub fn is_random(value: &str) -> bool {
    value.len() >= LEAST_TOKEN
        && !value.contains(char::is_whitespace)
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().filter(u8::is_ascii_alphabetic).count() >= 3
}

fn has_digit_and_letter(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// The first row that fits a name.
fn found(name: &str) -> Option<(SecretKind, Needs)> {
    let last = words(name).last().unwrap_or_default();
    if HARMLESS_ENDS.contains(&last.as_str()) {
        return None;
    }
    let plain = plain(name);
    let row = NAMES.iter().find(|(part, fit, ..)| match fit {
        Fit::Within => plain.contains(part),
        Fit::End => words(name).any(|word| word.ends_with(part)),
        Fit::Word | Fit::Alone => plain == *part || words(name).any(|word| word == *part),
        Fit::Whole => plain == *part,
    });
    row.map(|(_, _, kind, needs)| (*kind, *needs))
}

/// The letters and digits of a name, in lower case.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}

/// The words of a name, in lower case: of `user[accessToken]` they are `user`, `access` and `token`.
fn words(name: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        let begins = c.is_ascii_uppercase() && before.is_ascii_lowercase();
        if begins || !c.is_ascii_alphanumeric() {
            words.push(String::new());
        }
        if let (Some(last), true) = (words.last_mut(), c.is_ascii_alphanumeric()) {
            last.push(c.to_ascii_lowercase());
        }
        before = c;
    }
    words.into_iter().filter(|word| !word.is_empty())
}

/// How a part stands in a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// Anywhere.
    Within,
    /// At the end of a word.
    End,
    /// As a word; in a command, where nothing but names and values is known, anywhere.
    Word,
    /// As a word, in a command too.
    Alone,
    /// The name is nothing else.
    Whole,
}

/// What a value must look like, because the name alone may mean something else.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    Token,
    LongToken,
}

/// `code` may be a status, a country, a coupon.
const AMBIGUOUS: (SecretKind, Needs) = (SecretKind::Code, Needs::LongToken);

/// Values of switches, e.g. `show-password=on`.
const SWITCHES: [&str; 10] = ["", "0", "1", "true", "false", "yes", "no", "on", "off", "null"];
/// A shorter token is rather a word, e.g. `token_type=bearer`.
const LEAST_TOKEN: usize = 8;
const LEAST_LONG_TOKEN: usize = 16;
/// Characters behind the beginning of an issued token.
const LEAST_ISSUED: usize = 10;

/// Names that end in one of these tell about a secret, and are none.
const HARMLESS_ENDS: [&str; 33] = [
    "alg",
    "algorithm",
    "at",
    "count",
    "date",
    "enabled",
    "endpoint",
    "expires",
    "expiry",
    "field",
    "format",
    "hint",
    "in",
    "label",
    "length",
    "limit",
    "max",
    "message",
    "method",
    "min",
    "name",
    "placeholder",
    "policy",
    "question",
    "required",
    "status",
    "strength",
    "time",
    "ttl",
    "type",
    "uri",
    "url",
    "version",
];

/// Parts of names, the first that fits decides.
const NAMES: [(&str, Fit, SecretKind, Needs); 65] = {
    use Fit::{Alone, End, Whole, Within, Word};
    use Needs::{LongToken, Nothing, Token as AToken};
    use SecretKind::{
        ApiKey, Authorization, Card, Code, Cookie, CsrfToken, Password, Secret, Session, Signature,
        Token,
    };
    [
        ("password", Within, Password, Nothing),
        ("passwort", Within, Password, Nothing),
        ("passwd", Within, Password, Nothing),
        ("passphrase", Within, Password, Nothing),
        ("passcode", Within, Password, Nothing),
        ("pass", Word, Password, Nothing),
        ("pwd", Word, Password, Nothing),
        ("pswd", Word, Password, Nothing),
        ("psw", Word, Password, Nothing),
        ("pw", Alone, Password, Nothing),
        ("cvv", Within, Card, Nothing),
        ("cvc", Within, Card, Nothing),
        ("cardnumber", Within, Card, Nothing),
        ("ccnumber", Within, Card, Nothing),
        ("iban", Alone, Card, Nothing),
        ("ssn", Alone, Card, Nothing),
        ("pan", Alone, Card, Nothing),
        ("pin", Word, Code, Nothing),
        ("otp", Alone, Code, Nothing),
        ("totp", Alone, Code, Nothing),
        ("mfacode", Within, Code, Nothing),
        ("onetimecode", Within, Code, Nothing),
        ("verificationcode", Within, Code, Nothing),
        ("authcode", Within, Code, Nothing),
        ("authorizationcode", Within, Code, Nothing),
        ("codeverifier", Within, Code, Nothing),
        ("code", Whole, Code, LongToken),
        ("secret", Within, Secret, Nothing),
        ("privatekey", Within, Secret, Nothing),
        ("private", Word, Secret, AToken),
        ("salt", Word, Secret, AToken),
        ("dsn", Word, Secret, AToken),
        ("license", Word, Secret, LongToken),
        ("csrf", Within, CsrfToken, AToken),
        ("xsrf", Within, CsrfToken, AToken),
        ("authenticitytoken", Within, CsrfToken, AToken),
        ("verificationtoken", Within, CsrfToken, AToken),
        ("apikey", Within, ApiKey, Nothing),
        ("accesskey", Within, ApiKey, Nothing),
        ("accountkey", Within, ApiKey, Nothing),
        ("sharedkey", Within, ApiKey, Nothing),
        ("subscriptionkey", Within, ApiKey, Nothing),
        ("functionskey", Within, ApiKey, Nothing),
        ("key", End, ApiKey, LongToken),
        ("jsessionid", Within, Session, AToken),
        ("session", Within, Session, AToken),
        ("sessid", Within, Session, AToken),
        ("sid", Alone, Session, AToken),
        ("signature", Within, Signature, AToken),
        ("hmac", Within, Signature, AToken),
        ("sig", Alone, Signature, AToken),
        ("samlresponse", Within, Token, AToken),
        ("samlart", Within, Token, AToken),
        ("assertion", Within, Token, AToken),
        ("token", Within, Token, AToken),
        ("jwt", Within, Token, AToken),
        ("bearer", Within, Token, AToken),
        ("credential", Within, Token, AToken),
        ("cred", Word, Token, AToken),
        ("creds", Alone, Token, AToken),
        ("authorization", Within, Authorization, AToken),
        ("oauth", Within, Token, AToken),
        ("auth", Word, Token, AToken),
        ("ticket", Alone, Token, AToken),
        ("cookie", Word, Cookie, AToken),
    ]
};

/// Words that name whom or what a secret of a command is for rather than the secret itself.
const NAMING: [&str; 4] = ["account", "api", "login", "user"];

/// How tokens begin that say by themselves who issued them: GitHub, GitLab, Stripe, Slack, AWS, Google, npm, PyPI,
/// Hugging Face, DigitalOcean, Shopify, Vault, SendGrid, Linear, Grafana, Docker, OpenAI.
const ISSUED: [&str; 32] = [
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "whsec_",
    "xoxa-",
    "xoxb-",
    "xoxp-",
    "xoxr-",
    "xoxs-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "npm_",
    "pypi-",
    "hf_",
    "dop_v1_",
    "shpat_",
    "shpss_",
    "hvs.",
    "SG.",
    "lin_api_",
    "glsa_",
    "sk-",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_by_name_and_value() {
        use SecretKind::*;
        for (name, value, kind) in [
            ("password", "a", Some(Password)),
            ("user[password]", "x1", Some(Password)),
            ("newPassword", "x1", Some(Password)),
            ("show_password", "on", None),
            ("password_hint", "my password", None),
            ("password_changed_at", "2024-01-01", None),
            ("compass", "north", None),
            ("username", "alice-longer", None),
            ("token_type", "bearer-something", None),
            ("expires_in", "0123456789", None),
            ("access_token", "0123456789", Some(Token)),
            ("access_token", "hunter2", Some(Token)),
            ("token", "short", None),
            ("_csrf", "0123456789", Some(CsrfToken)),
            ("session_id", "0123456789", Some(Session)),
            ("sid", "12", None),
            ("side", "0123456789", None),
            ("card-number", "4111 1111", Some(Card)),
            ("company", "ACME Inc. 1234", None),
            ("otp", "123456", Some(Code)),
            ("shipping", "express123", None),
            ("code", "SplxlOBeZQQYbYS6WxSbIA", Some(Code)),
            ("code", "404", None),
            ("code", "AB-12345678", None),
            ("authorization_code", "AB-12345678", Some(Code)),
            ("country_code", "de-1234567", None),
            ("SAMLResponse", "PHNhbWxwOlJlc3BvbnNl", Some(Token)),
            ("sig", "xyz%2Babc123", Some(Signature)),
            ("design", "0123456789", None),
            ("X-Amz-Signature", "fe5f80f77d5fa3beca038a248ff027d0", Some(Signature)),
            ("hmac", "4712bf92ffc2917d15a2f5a273e39f0", Some(Signature)),
            ("key", "AIza0123456789abcd", Some(ApiKey)),
            ("client_secret", "s", Some(Secret)),
            ("X-Api-Key", "k", Some(ApiKey)),
            ("key", "name", None),
            ("keyboard", "qwertz-0123456789", None),
            ("grant_type", "password", None),
            ("author", "0123456789", None),
            ("comment", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.sig", Some(Token)),
            ("X-Unknown", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", Some(Token)),
            ("note", "sk-learn-something", None),
            ("x", "-----BEGIN RSA PRIVATE KEY-----\nMIIE", Some(Secret)),
        ] {
            assert_eq!(SecretKind::of(name, value), kind, "{name}={value}");
        }
    }

    #[test]
    fn fields_keep_their_scheme() {
        use SecretKind::*;
        for (name, value, kind) in [
            ("Authorization", "Bearer abc", Some(("Bearer ", Bearer))),
            ("authorization", "basic YTpi", Some(("basic ", Basic))),
            ("Authorization", "AWS4-HMAC-SHA256 Credential=x", Some(("", Authorization))),
            ("Cookie", "a=b", Some(("", Cookie))),
            ("Accept", "text/html", None),
            ("X-Auth-Token", "0123456789", Some(("", Token))),
            ("X-Forwarded-For", "Basic YTpi", Some(("Basic ", Basic))),
            ("X-Note", "token of esteem", None),
        ] {
            assert_eq!(SecretKind::of_field(name, value), kind, "{name}: {value}");
        }
    }

    #[test]
    fn random_values_are_no_words() {
        for value in ["Zx9-sEcReT_q7W", "hunter22", "0123456789abcdef"] {
            assert!(is_random(value), "{value}");
        }
        for value in ["password", "swordfish", "12345678", "2024-01-01", "a1", "no 1 password"] {
            assert!(!is_random(value), "{value}");
        }
    }
}
