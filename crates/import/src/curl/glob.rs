//! Patterns in URLs, which curl expands: `[1-3]`, `[a-z:2]`, `{a,b}`.

use std::net::Ipv6Addr;

use crate::write::one_line;

/// The URLs of one pattern. More are an accident.
const MOST: usize = 10_000;

/// All that a URL stands for, the last pattern first, as curl requests them. `is_typed`: a shell would have replaced
/// `${NAME}`.
pub(super) fn expand(url: &str, is_typed: bool) -> Result<Vec<String>, String> {
    let mut urls = vec![String::new()];
    let mut rest = url;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let text = match c {
            '\\' if after.starts_with(['[', ']', '{', '}']) => &after[..1],
            '$' if is_typed && after.starts_with('{') => {
                &rest[..rest.find('}').map_or(rest.len(), |end| end + 1)]
            }
            '[' if literal(rest).is_some() => literal(rest).unwrap_or_default(),
            '[' | '{' => {
                let end = end(after, if c == '[' { ']' } else { '}' });
                let end = end.ok_or_else(|| wrong(rest, "is not closed"))?;
                let (pattern, inner) = (&rest[..end + 2], &after[..end]);
                let values = if c == '[' { range(inner) } else { Some(list(inner)) };
                let values = values.filter(|values| !values.is_empty() && !inner.is_empty());
                let values = values.ok_or_else(|| wrong(pattern, "is not a range or a list"))?;
                if urls.len() * values.len() > MOST {
                    return Err(wrong(pattern, "stands for more than 10,000 URLs"));
                }
                let each =
                    |url: &String| values.iter().map(|one| url.clone() + one).collect::<Vec<_>>();
                urls = urls.iter().flat_map(each).collect();
                rest = &rest[pattern.len()..];
                continue;
            }
            ']' | '}' => return Err(wrong(&rest[..1], "closes no pattern")),
            _ => &rest[..c.len_utf8()],
        };
        urls.iter_mut().for_each(|url| *url += text);
        rest = match c {
            '\\' if text != "\\" => &after[1..],
            _ => &rest[text.len()..],
        };
    }
    Ok(urls)
}

fn wrong(pattern: &str, why: &str) -> String {
    let pattern = one_line(&pattern.chars().take(40).collect::<String>());
    format!(
        "{pattern} {why}; curl takes it for a pattern: correct it, or add curl's option globoff to send it as it is"
    )
}

/// An IPv6 address, or nothing in brackets.
fn literal(text: &str) -> Option<&str> {
    let end = text.find(']')?;
    let address = text[1..end].split('%').next()?;
    (end == 1 || address.parse::<Ipv6Addr>().is_ok()).then(|| &text[..=end])
}

/// The first mark without a backslash.
fn end(text: &str, mark: char) -> Option<usize> {
    let mut is_escaped = false;
    let found = text.char_indices().find(|(_, c)| {
        let is_end = *c == mark && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        is_end
    });
    found.map(|(at, _)| at)
}

/// `a,b`; a backslash takes the character behind it as it is.
fn list(text: &str) -> Vec<String> {
    let mut values = vec![String::new()];
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let last = values.last_mut().expect("there is always one");
        match c {
            '\\' => last.extend(rest.next()),
            ',' => values.push(String::new()),
            c => last.push(c),
        }
    }
    values
}

/// `1-10`, `001-100`, `a-z`, each also with `:STEP` behind it.
fn range(text: &str) -> Option<Vec<String>> {
    let (bounds, step) = text.split_once(':').unwrap_or((text, "1"));
    let step: usize = step.parse().ok().filter(|step| *step > 0)?;
    let (low, high) = bounds.split_once('-')?;
    let letter = |text: &str| text.parse::<char>().ok().filter(char::is_ascii_alphabetic);
    if let (Some(low), Some(high)) = (letter(low), letter(high)) {
        return Some((low..=high).step_by(step).map(String::from).collect());
    }
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let width = if low.starts_with('0') { low.len() } else { 1 };
    let (low, high) =
        (low.parse::<u64>().ok()?, high.parse::<u64>().ok().filter(|_| is_number(high))?);
    let numbers = (low..=high).step_by(step).take(MOST + 1);
    Some(numbers.map(|number| format!("{number:0width$}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_what_curl_requests() {
        for (url, expected) in [
            ("/a", &["/a"][..]),
            ("/items/[1-3]", &["/items/1", "/items/2", "/items/3"]),
            ("/[08-10]{a,b\\,c}", &["/08a", "/08b,c", "/09a", "/09b,c", "/10a", "/10b,c"]),
            ("/[a-e:2]/[9-9]", &["/a/9", "/c/9", "/e/9"]),
            ("/{,x}{y}", &["/y", "/xy"]),
            ("http://[::1]:80/\\[1-2\\]\\{a\\}[]é", &["http://[::1]:80/[1-2]{a}[]é"]),
            ("/${ID}", &["/${ID}"]),
        ] {
            assert_eq!(expand(url, true).unwrap(), expected, "{url}");
        }
        for (url, problem) in [
            ("/[1-3", "[1-3 is not closed"),
            ("/{}", "{} is not a range or a list"),
            ("/[3-1]", "[3-1] is not a range or a list"),
            ("/[a]", "[a] is not a range or a list"),
            ("/[1-2:0]", "[1-2:0] is not a range or a list"),
            ("/a]", "] closes no pattern"),
            ("/[0-99999999999]", "[0-99999999999] stands for more than 10,000 URLs"),
            ("/[0-9][0-9][0-9][0-9][0-9]", "[0-9] stands for more than 10,000 URLs"),
        ] {
            let error = expand(url, false).unwrap_err();
            assert!(error.starts_with(&format!("{problem};")), "{error}");
        }
        assert_eq!(expand("/${ID}", false).unwrap(), ["/$ID"]);
    }
}
