//! JSON, laid out for reading. Names, values and their order stay as they came.

use serde::de::IgnoredAny;

/// Blanks for each level.
const INDENT: usize = 2;

/// JSON with a line for each member; `None`: the text is not JSON, or nested too deep. Values of members that `hides`
/// names, by name and value, are replaced by `instead`.
pub(super) fn laid_out(
    text: &str,
    hides: impl Fn(&str, &str) -> bool,
    instead: &str,
) -> Option<String> {
    // Also bounds the depth, at 128.
    serde_json::from_str::<IgnoredAny>(text).ok()?;
    let mut out = String::with_capacity(text.len() * 2);
    let mut rest = text.trim();
    let mut depth = 0;
    // The last string, which is a name if a colon comes.
    let mut name = "";
    // The next token is the value of the member of that name.
    let mut is_value = false;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => string_bytes(rest),
            '{' | '}' | '[' | ']' | ',' | ':' => 1,
            first if first.is_whitespace() => {
                rest = rest.trim_start();
                continue;
            }
            _ => rest.find([',', '}', ']', ' ', '\n', '\r', '\t']).unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(length);
        let after = after.trim_start();
        match first {
            '{' | '[' => {
                is_value = false;
                out.push(first);
                if let Some(end) = after.chars().next().filter(|end| matches!(end, '}' | ']')) {
                    out.push(end);
                    rest = &after[1..];
                    continue;
                }
                depth += 1;
                new_line(&mut out, depth);
            }
            '}' | ']' => {
                depth = usize::saturating_sub(depth, 1);
                new_line(&mut out, depth);
                out.push(first);
            }
            ',' => {
                out.push(',');
                new_line(&mut out, depth);
            }
            ':' => {
                is_value = true;
                out.push_str(": ");
            }
            _ if std::mem::take(&mut is_value)
                && hides(name.trim_matches('"'), token.trim_matches('"')) =>
            {
                out.push('"');
                out.push_str(instead);
                out.push('"');
            }
            _ => {
                name = token;
                out.push_str(token);
            }
        }
        rest = after;
    }
    Some(out)
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', depth * INDENT));
}

/// The length of the string that a text begins with.
fn string_bytes(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::laid_out;

    fn plain(text: &str) -> Option<String> {
        laid_out(text, |_, _| false, "")
    }

    #[test]
    fn each_member_has_a_line_and_every_value_stays() {
        let text = r#" {"b":[1.50,{"x":"\"},"}],"a":{ },"c":[],"d":null} "#;
        let expected = r#"{
  "b": [
    1.50,
    {
      "x": "\"},"
    }
  ],
  "a": {},
  "c": [],
  "d": null
}"#;
        assert_eq!(plain(text).as_deref(), Some(expected));
        assert_eq!(plain("7").as_deref(), Some("7"));
    }

    #[test]
    fn what_is_not_json_is_not_touched() {
        for text in ["", "{", "hello", "{\"a\":1} x", &"[".repeat(200)] {
            assert_eq!(plain(text), None, "{text}");
        }
    }

    #[test]
    fn secret_members_are_hidden_and_others_are_not() {
        let hides = |name: &str, _: &str| name.contains("token");
        let text = r#"{"token":"abc","n":1,"tokens":[7],"token_id":5,"id":"token"}"#;
        let shown = laid_out(text, hides, "[redacted]").unwrap();
        assert_eq!(
            shown.split_whitespace().collect::<String>(),
            r#"{"token":"[redacted]","n":1,"tokens":[7],"token_id":"[redacted]","id":"token"}"#
        );
    }
}
