//! What was meant by a word that stands for a URL: a host, or a mistyped command, or the name of a file.

use candor_plan::looks_like_plan;
use candor_plan::redact;
use candor_plan::suggest::{did_you_mean, is_near};
use candor_report::visible;

/// Names that this machine knows (hosts(5)).
pub(crate) const HOSTS: &str = "/etc/hosts";

/// Ends of files that are given to Candor, of which none is a domain.
const ENDS_OF_FILES: [&str; 10] =
    [".toml", ".tml", ".json", ".yaml", ".yml", ".har", ".lua", ".txt", ".csv", ".bak"];

/// Whether a word is more likely the name of a file than of a host; plans, which end in `.toml`, are looked for
/// elsewhere.
pub(crate) fn is_name_of_file(word: &str, hosts: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    !word.contains([':', '/', '@', '?'])
        && !looks_like_plan(word)
        && ENDS_OF_FILES.iter().any(|end| lower.len() > end.len() && lower.ends_with(end))
        && !is_listed(word, hosts)
}

/// The message for such a word; if there is no such file, it suggests a plan of the folder.
pub(crate) fn no_plan(word: &str) -> String {
    let shown = visible(&redact::refused(word)).into_owned();
    if std::path::Path::new(word).exists() {
        return format!(
            "candor: the file \"{shown}\" is no plan: the name of a plan ends in .toml\n"
        );
    }
    let files = std::fs::read_dir(".").into_iter().flatten().flatten();
    let plans: Vec<String> = files
        .filter_map(|file| file.file_name().into_string().ok())
        .filter(|name| looks_like_plan(name))
        .collect();
    let hint = did_you_mean(word, plans.iter().map(String::as_str));
    format!(
        "candor: there is no file \"{shown}\", and a host of this name is http://{shown}/{}\n",
        visible(&hint)
    )
}

/// Whether a word can be meant as a URL. A single word without a dot is more likely a mistyped command, and would
/// otherwise be looked up and get load, unless it stands in `hosts`, the text of [`HOSTS`].
pub(crate) fn may_be_host(word: &str, hosts: &str) -> bool {
    word.is_empty()
        || word.contains(['.', ':', '/', '@', '?'])
        || word.eq_ignore_ascii_case("localhost")
        || is_listed(word, hosts)
}

/// Whether `hosts` has this name.
fn is_listed(word: &str, hosts: &str) -> bool {
    let names = hosts.lines().filter_map(|line| line.split('#').next());
    let mut names = names.flat_map(|line| line.split_whitespace().skip(1));
    names.any(|name| name.eq_ignore_ascii_case(word))
}

/// Whether a word is neither an option nor a command, and one letter or two from a command.
pub(crate) fn is_nearly_command(word: &str, commands: &[String]) -> bool {
    if word.starts_with('-') {
        return false;
    }
    !commands.iter().any(|name| name == word) && commands.iter().any(|name| is_near(word, name))
}

/// The message for such a word.
pub(crate) fn no_host(word: &str, commands: &[String]) -> String {
    if word == "URL" {
        // Copied from a page as it stands there.
        return "candor: URL stands for the address of your server: write http://HOST[:PORT]/PATH\n"
            .to_owned();
    }
    let shown = visible(&redact::refused(word)).into_owned();
    let meant = match word.contains(['{', '}', '"', '\'']) {
        // `-b {"a": 1}`: the shell has taken it apart.
        true => "; if it belongs to a body or a header, write that in '…'".to_owned(),
        false => did_you_mean(word, commands.iter().map(String::as_str)),
    };
    format!("candor: \"{shown}\" is no command, and a URL would be http://{shown}/{meant}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_a_dot_a_colon_a_slash_or_is_known() {
        let hosts = "127.0.0.1 localhost\n10.0.0.7 Shop shop.internal # backend\n";
        for word in ["a.b", "a:80", "a/", "//a", "[::1]", "u@a", "LOCALHOST", "shop", ""] {
            assert!(may_be_host(word, hosts), "{word}");
        }
        for word in ["bech", "backend", "127", "10"] {
            assert!(!may_be_host(word, hosts), "{word}");
        }
    }

    #[test]
    fn a_placeholder_is_no_command() {
        assert!(no_host("URL", &[]).contains("http://HOST"), "{}", no_host("URL", &[]));
        assert!(no_host("urls", &[]).contains("no command"));
    }

    #[test]
    fn a_mistyped_command_is_near_to_one() {
        let commands = ["compare", "peak", "run", "h2load"].map(str::to_owned);
        for (word, is) in
            [("compar", true), ("pek", true), ("run", false), ("shop", false), ("--load", false)]
        {
            assert_eq!(is_nearly_command(word, &commands), is, "{word}");
        }
    }
}
