//! What must not get into a document: credentials in headers, URLs and arguments.
//!
//! A document is made from redacted values only. These functions may hide too much, but not too
//! little: an argument is searched for the name of a secret header wherever it stands.

use crate::model::Plan;

/// What stands in the place of a secret.
pub const REDACTED: &str = "[redacted]";

/// Parts of the names of headers whose values are credentials, in lower case.
const SECRET_PARTS: [&str; 8] =
    ["auth", "cookie", "token", "secret", "password", "api-key", "apikey", "signature"];

/// Whether the value of a header is a secret, by its name. Rather too often than too seldom.
fn is_secret(name: &str) -> bool {
    let name = name.trim().to_ascii_lowercase();
    name != ":authority" && SECRET_PARTS.iter().any(|part| name.contains(part))
}

/// The value of a header as it may be shown.
pub fn header<'a>(name: &str, value: &'a str) -> &'a str {
    if is_secret(name) { REDACTED } else { value }
}

/// A plan as it may be shown: like `plan`, with the values of secret headers replaced.
pub fn plan(plan: &Plan) -> Plan {
    let mut shown = plan.clone();
    for request in &mut shown.requests.list {
        for (name, value) in &mut request.headers {
            if header(name, value) == REDACTED {
                *value = REDACTED.to_owned();
            }
        }
    }
    shown
}

/// Command-line arguments as they may be shown.
pub fn arguments(arguments: &[String]) -> Vec<String> {
    arguments.iter().map(|one| url(&header_argument(one))).collect()
}

/// Hides whatever follows the name of a secret header and a colon (`-HCookie: x`,
/// `--header=Cookie:x`, `Cookie : x`).
fn header_argument(argument: &str) -> String {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let ends_secret_name = |colon: &usize| {
        let before = argument[..*colon].trim_end();
        before.rsplit(|c| !is_of_name(c)).next().is_some_and(is_secret)
    };
    match argument.match_indices(':').map(|(at, _)| at).find(ends_secret_name) {
        Some(colon) => format!("{}: {REDACTED}", &argument[..colon]),
        None => argument.to_owned(),
    }
}

/// Hides user information: what stands before the last `@` of an authority.
pub fn url(text: &str) -> String {
    let start = match text.find("://") {
        Some(at) => at + 3,
        None if text.starts_with('-') => return text.to_owned(),
        None => 0,
    };
    let (before, rest) = text.split_at(start);
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => format!("{before}{REDACTED}{}", &rest[at..]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(arguments: &[&str]) -> Vec<String> {
        let owned: Vec<String> = arguments.iter().map(|one| (*one).to_owned()).collect();
        super::arguments(&owned)
    }

    #[test]
    fn secret_headers_are_hidden_and_others_are_not() {
        assert_eq!(header("AUTHORIZATION", "Bearer x"), REDACTED);
        assert_eq!(header("Cookie", "a=b"), REDACTED);
        assert_eq!(header("Proxy-Authorization", "Basic x"), REDACTED);
        assert_eq!(header("Accept", "text/html"), "text/html");
    }

    #[test]
    fn arguments_lose_their_secrets() {
        assert_eq!(
            shown(&[
                "-c",
                "10",
                "-H",
                "Authorization: Bearer x",
                "-HCookie: a=b",
                "-HX-Client-Secret:x",
                "-qHcookie:a=b",
                "--header=Proxy-Authorization : Basic x",
                "-H",
                "Accept: */*",
                "http://me:secret@host:80/a@b",
                "me:secret@host/x",
                "http://host/a@b",
                "http://auth.example.com:8080/",
            ]),
            [
                "-c",
                "10",
                "-H",
                "Authorization: [redacted]",
                "-HCookie: [redacted]",
                "-HX-Client-Secret: [redacted]",
                "-qHcookie: [redacted]",
                "--header=Proxy-Authorization : [redacted]",
                "-H",
                "Accept: */*",
                "http://[redacted]@host:80/a@b",
                "[redacted]@host/x",
                "http://host/a@b",
                "http://auth.example.com:8080/",
            ]
        );
    }

    proptest! {
        #[test]
        fn a_secret_never_shows(prefix in "(-H|--header=|)", name in "([Aa]uthorization|[Cc][Oo][Oo]kie|PROXY-AUTHORIZATION)", blank in "[ ]{0,2}") {
            let argument = format!("{prefix}{name}{blank}:{blank}hunter2");
            prop_assert!(!shown(&[&argument])[0].contains("hunter2"));
        }

        #[test]
        fn no_argument_panics(text in ".{0,60}", shaped in "[İa-z:@/ ]{0,20}cookie[İ: ]{0,4}") {
            let _ = shown(&[&text, &shaped]);
        }
    }
}
