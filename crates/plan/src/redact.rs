//! What must not get into a document: credentials in headers, URLs and arguments.
//!
//! A document is made from redacted values only. These functions may hide too much, but not too
//! little: an argument is searched for the name of a secret header wherever it stands.

use crate::model::Plan;

/// What stands in the place of a secret.
pub const REDACTED: &str = "[redacted]";

/// Headers whose values are credentials, in lower case.
const SECRET_HEADERS: [&str; 5] =
    ["authorization", "proxy-authorization", "cookie", "x-api-key", "x-auth-token"];

/// The value of a header as it may be shown.
pub fn header<'a>(name: &str, value: &'a str) -> &'a str {
    match SECRET_HEADERS.iter().any(|secret| name.trim().eq_ignore_ascii_case(secret)) {
        true => REDACTED,
        false => value,
    }
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
    let lower = argument.to_ascii_lowercase();
    let end_of_name = |secret: &str| {
        lower.match_indices(secret).find_map(|(at, _)| {
            let after = at + secret.len();
            let rest = lower[after..].trim_start();
            rest.starts_with(':').then(|| lower.len() - rest.len() + 1)
        })
    };
    match SECRET_HEADERS.iter().filter_map(|secret| end_of_name(secret)).min() {
        Some(end) => format!("{} {REDACTED}", &argument[..end]),
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
                "-qHcookie:a=b",
                "--header=Proxy-Authorization : Basic x",
                "-H",
                "Accept: */*",
                "http://me:secret@host:80/a@b",
                "me:secret@host/x",
                "http://host/a@b",
            ]),
            [
                "-c",
                "10",
                "-H",
                "Authorization: [redacted]",
                "-HCookie: [redacted]",
                "-qHcookie: [redacted]",
                "--header=Proxy-Authorization : [redacted]",
                "-H",
                "Accept: */*",
                "http://[redacted]@host:80/a@b",
                "[redacted]@host/x",
                "http://host/a@b",
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
