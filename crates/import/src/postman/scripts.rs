//! Scripts of collections, as text. None is run; only the usual lines that store a value of a JSON
//! response are recognised.

use crate::json::Json;

const SETTERS: [&str; 5] = [
    "pm.environment.set(",
    "pm.collectionVariables.set(",
    "pm.globals.set(",
    "pm.variables.set(",
    "postman.setEnvironmentVariable(",
];
const RESPONSES: [&str; 2] = ["pm.response.json()", "JSON.parse(responseBody)"];
/// The most captures of one script.
const MOST: usize = 20;

/// The script of an event: lines, or one text.
pub(super) fn text(event: &Json) -> String {
    let exec = event.get("script").and_then(|script| script.get("exec"));
    match exec {
        Some(Json::List(lines)) => {
            lines.iter().filter_map(Json::as_str).collect::<Vec<_>>().join("\n")
        }
        Some(Json::Text(text)) => text.clone(),
        _ => String::new(),
    }
}

/// Names and JSON paths of the values that a script stores.
pub(super) fn captures(script: &str) -> Vec<(String, String)> {
    let mut responses: Vec<String> = RESPONSES.map(str::to_owned).into();
    let mut found: Vec<(String, String)> = Vec::new();
    for statement in script.split(['\n', ';']) {
        let statement = statement.trim();
        if let Some((left, right)) = statement.split_once('=')
            && RESPONSES.contains(&right.trim())
            && responses.len() < MOST
        {
            let name = left.trim().rsplit(' ').next().unwrap_or_default();
            responses.push(name.to_owned());
        }
        let Some(rest) = SETTERS.iter().find_map(|setter| statement.strip_prefix(setter)) else {
            continue;
        };
        let Some((name, value)) = rest.split_once(',') else { continue };
        let name = name.trim().trim_matches(['"', '\'', '`']);
        let value = value.trim();
        let path = responses
            .iter()
            .filter(|one| !one.is_empty())
            .find_map(|one| value.strip_prefix(one.as_str()));
        if let Some(path) = path.and_then(json_path)
            && found.len() < MOST
            && !found.iter().any(|(known, _)| known == name)
        {
            found.push((name.to_owned(), path));
        }
    }
    found
}

/// `.a.b[0]["c"])` as `$.a.b[0]['c']`; anything else, e.g. a call, is not understood.
fn json_path(text: &str) -> Option<String> {
    let mut path = "$".to_owned();
    let mut rest = text.trim();
    loop {
        if rest == ")" {
            return (path.len() > 1).then_some(path);
        }
        if let Some(after) = rest.strip_prefix('.') {
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let end = after.find(|c| !is_word(c))?;
            let name = &after[..end];
            if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
                return None;
            }
            path += &format!(".{name}");
            rest = &after[end..];
        } else {
            let (inside, after) = rest.strip_prefix('[')?.split_once(']')?;
            let name = inside.trim_matches(['"', '\'']);
            let is_index = !inside.is_empty() && inside.bytes().all(|byte| byte.is_ascii_digit());
            if name.contains(['\'', '\\', '"']) || name.chars().any(char::is_control) {
                return None;
            }
            match is_index {
                true => path += &format!("[{inside}]"),
                false if name.len() + 2 == inside.len() => path += &format!("['{name}']"),
                false => return None,
            }
            rest = after;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_lines_are_captures_and_others_are_not() {
        let script = "var body = pm.response.json();\n\
            pm.environment.set(\"token\", body.auth.token);\n\
            pm.collectionVariables.set('id', pm.response.json().items[0][\"x-id\"]);\n\
            pm.globals.set('no', body.list.map(x => x));\n\
            pm.globals.set('neither', other.a);\n\
            pm.environment.set('token', body.b);\n\
            postman.setEnvironmentVariable('whole', body)";
        let expected = [("token", "$.auth.token"), ("id", "$.items[0]['x-id']")]
            .map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(captures(script), expected);
    }
}
