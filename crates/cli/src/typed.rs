//! The command line for results: classifies each word by the options of the command.
//!
//! [`Typed`] then shows the permitted words. An option's value is shown if its type is a number, a
//! time or a file's name; free text is hidden, unless listed in [`PLAIN_TEXTS`].

use std::any::TypeId;
use std::path::PathBuf;

use candor_plan::redact::{self, Kind, Typed};
use clap::{Arg, Command};

use crate::command::{ghz, h2load, wrk};
use crate::comparing::what;
use crate::getopt::{Meaning, Name};

/// Options with text values that are never secret.
const PLAIN_TEXTS: [&str; 19] = [
    "abort_if",
    "base",
    "clients",
    "expect",
    "figure",
    "head",
    "host",
    "hosts",
    "loads",
    "objective",
    "only",
    "peak",
    "profile_scope",
    "profile_tool",
    "protocols",
    "scenario",
    "scenarios",
    "servers",
    "sni",
];

/// The words after `program`, the first of `words`. They were parsed before, so they are valid.
pub(crate) fn typed(words: &[String], command: &Command) -> Typed {
    if let Some((_, rest)) = wrk::invocation(words) {
        let script_argument_behind_url =
            |places| if places == 0 { Kind::Url } else { Kind::Hidden };
        return read(words, rest, &wrk::meaning, &script_argument_behind_url);
    }
    if let Some((_, rest)) = h2load::invocation(words) {
        return read(words, rest, &h2load::meaning, &|_| Kind::Url);
    }
    if let Some((_, rest)) = ghz::invocation(words) {
        return read(words, rest, &ghz::meaning, &|_| Kind::Url);
    }
    if let [_, fleet, up, agents, rest @ ..] = words
        && (fleet.as_str(), up.as_str()) == ("fleet", "up")
        && let Some(run) = command.find_subcommand("run")
    {
        let rest = rest.strip_prefix(&["--".to_owned()]).unwrap_or(rest);
        let mut all = ["candor", "fleet", "up", agents].map(str::to_owned).to_vec();
        all.extend_from_slice(rest);
        return read(&all, rest, &meaning_of(run), &|_| Kind::Url);
    }
    let subcommand = words.get(1).and_then(|name| command.find_subcommand(name));
    let begin = if subcommand.is_some() { 2 } else { 1 };
    let Some(command) = subcommand.or_else(|| command.find_subcommand("run")) else {
        return Typed::default();
    };
    let place = match command.get_name() {
        "compare" | "ci" => Kind::Command,
        _ => Kind::Url,
    };
    read(words, words.get(begin..).unwrap_or_default(), &meaning_of(command), &|_| place)
}

/// What the options of a command mean.
fn meaning_of(command: &Command) -> impl Fn(Name<'_>) -> Option<Meaning> {
    |name: Name<'_>| {
        let is = |arg: &&Arg| match name {
            Name::Short(letter) => arg.get_short() == Some(letter),
            Name::Long(name) => {
                arg.get_long_and_visible_aliases().is_some_and(|all| all.contains(&name))
            }
        };
        command.get_arguments().find(is).map(|arg| Meaning {
            takes_next: arg.get_action().takes_values() && !arg.is_require_equals_set(),
            kind: kind(arg),
        })
    }
}

/// How the value of an option is shown.
fn kind(arg: &Arg) -> Kind {
    let value = arg.get_value_parser().type_id();
    let id = arg.get_id().as_str();
    match redact::kind_of_option(id) {
        _ if value == TypeId::of::<PathBuf>() || PLAIN_TEXTS.contains(&id) => Kind::Plain,
        Some(kind) => kind,
        None if value == TypeId::of::<String>() => Kind::Hidden,
        None => Kind::Plain,
    }
}

/// Parses `rest`, the end of `words`, like `getopt_long` and clap. An unknown option hides anything
/// that may be its value.
fn read(
    words: &[String],
    rest: &[String],
    meaning: &dyn Fn(Name<'_>) -> Option<Meaning>,
    place: &dyn Fn(usize) -> Kind,
) -> Typed {
    let unknown = Meaning { takes_next: false, kind: Kind::Hidden };
    let mut typed = Typed::default();
    for word in &words[..words.len() - rest.len()] {
        typed.push(word, Kind::Plain, "");
    }
    let mut places = 0;
    let mut next = None;
    let mut only_places = false;
    for word in rest {
        if let Some(kind) = next.take() {
            typed.push("", kind, word);
        } else if only_places || !word.starts_with('-') || word == "-" {
            push_place(&mut typed, place(places), word);
            places += 1;
        } else if word == "--" {
            only_places = true;
            typed.push(word, Kind::Plain, "");
        } else if let Some(long) = word.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v)));
            let found = meaning(Name::Long(name)).unwrap_or(unknown);
            match value {
                Some(value) => typed.push(format!("--{name}="), found.kind, value),
                None => {
                    typed.push(word, Kind::Plain, "");
                    next = found.takes_next.then_some(found.kind);
                }
            }
        } else {
            next = read_cluster(&mut typed, word, meaning);
        }
    }
    typed
}

/// `-Ld30s`: joined letters. The first one with a value takes the rest of the word, or the next
/// word.
fn read_cluster(
    typed: &mut Typed,
    word: &str,
    meaning: &dyn Fn(Name<'_>) -> Option<Meaning>,
) -> Option<Kind> {
    for (at, letter) in word.char_indices().skip(1) {
        let (lead, value) = word.split_at(at + letter.len_utf8());
        match meaning(Name::Short(letter)) {
            Some(Meaning { takes_next: false, .. }) => {}
            Some(Meaning { kind, .. }) if value.is_empty() => {
                typed.push(lead, Kind::Plain, "");
                return Some(kind);
            }
            Some(Meaning { kind, .. }) => {
                typed.push(lead, kind, value);
                return None;
            }
            None => {
                typed.push(lead, Kind::Hidden, value);
                return None;
            }
        }
    }
    typed.push(word, Kind::Plain, "");
    None
}

/// A comparison's `NAME=WHAT` keeps its name.
fn push_place(typed: &mut Typed, kind: Kind, word: &str) {
    match what::named(word) {
        Some((name, rest)) if kind == Kind::Command => typed.push(format!("{name}="), kind, rest),
        _ => typed.push("", kind, word),
    }
}

#[cfg(test)]
mod tests {
    use candor_plan::Secrets;

    use super::*;
    use crate::arguments;

    fn shown(words: &[&str]) -> String {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        typed(&words, &arguments::command()).shown(Secrets::Hidden).join(" ")
    }

    #[test]
    fn numbers_and_files_are_shown_and_free_text_is_not() {
        for (words, wanted) in [
            (
                &["candor", "-c", "10", "-qd5s", "http://h/?a=M"][..],
                "candor -c 10 -qd5s http://h/?a=…",
            ),
            (
                &["candor", "run", "-H", "X: M", "-HCookie:M"],
                "candor run -H X: [redacted] -HCookie: [redacted]",
            ),
            #[cfg(feature = "fleet")]
            (
                &["candor", "fleet", "up", "2", "--", "-c", "4", "-H", "X: M", "http://h/?a=M"],
                "candor fleet up 2 -c 4 -H X: [redacted] http://h/?a=…",
            ),
            (
                &["candor", "-qHX: M", "--header=Accept: a"],
                "candor -qHX: [redacted] --header=Accept: a",
            ),
            (
                &["candor", "-b", "M", "-bM", "--body=M"],
                "candor -b [redacted] -b[redacted] --body=[redacted]",
            ),
            (
                &["candor", "--script-arg", "-M", "-s", "a.lua"],
                "candor --script-arg [redacted] -s a.lua",
            ),
            (
                &["candor", "--target", "./s --password M"],
                "candor --target ./s --password '[redacted]'",
            ),
            (&["candor", "--target-env", "A=M"], "candor --target-env A=[redacted]"),
            (
                &["candor", "--target-ready", "http://u:M@h/x?token=M 404", "--json", "a.json"],
                "candor --target-ready http://[redacted]@h/x?token=… --json a.json",
            ),
            (&["candor", "--target-ready=tcp:h:80"], "candor --target-ready=tcp:h:80"),
            (
                &["candor", "ws", "--subprotocol", "bearer.M", "--subprotocol", "v12.stomp"],
                "candor ws --subprotocol [redacted] --subprotocol v12.stomp",
            ),
            (
                &["candor", "--kernel-timestamps", "http://u:M@h/"],
                "candor --kernel-timestamps http://[redacted]@h/",
            ),
            (&["candor", "--expect", "p99 < 5ms", "p.toml"], "candor --expect p99 < 5ms p.toml"),
            (&["candor", "--abort-if", "errors > 5", "a"], "candor --abort-if errors > 5 a"),
            (
                &["candor", "import", "a.har", "--host", "h.example"],
                "candor import a.har --host h.example",
            ),
            (
                &["candor", "ci", "old=candor serve --listen 127.0.0.1:{port}"],
                "candor ci old=candor serve --listen 127.0.0.1:{port}",
            ),
            (
                &["candor", "--allow", "10.0.0.0/8", "--", "http://u:M@h"],
                "candor --allow 10.0.0.0/8 -- http://[redacted]@h",
            ),
            (
                &["candor", "compare", "a=http://h/?k=M", "new=./s --token M", "p.toml"],
                "candor compare a=http://h/?k=… new=./s --token '[redacted]' p.toml",
            ),
            (
                &["wrk", "-t2", "-HX: M", "http://h/?k=M", "M", "-sM.lua"],
                "wrk -t2 -HX: [redacted] http://h/?k=… [redacted] -sM.lua",
            ),
            (
                &["candor", "wrk", "--head", "X: M", "http://h"],
                "candor wrk --head X: [redacted] http://h",
            ),
            (
                &["h2load", "-H", ":authority: a", "http://h/?k=M", "/b?k=M"],
                "h2load -H :authority: a http://h/?k=… /b?k=…",
            ),
            (
                &["candor", "ghz", "--call", "a.B/C", "-d", "M", "--metadata={M}", "h:1"],
                "candor ghz --call a.B/C -d [redacted] --metadata=[redacted] h:1",
            ),
            (
                &["candor", "h2load", "--header=x: M", "-n9"],
                "candor h2load --header=x: [redacted] -n9",
            ),
        ] {
            assert_eq!(shown(words), wanted);
        }
    }

    #[test]
    fn all_of_it_can_be_shown() {
        let words = ["candor", "-qHX: M", "--body=M", "--target", "./s 'a b'", "http://h/?k=M"];
        let words = words.map(str::to_owned);
        assert_eq!(typed(&words, &arguments::command()).shown(Secrets::Shown), words);
    }
}
