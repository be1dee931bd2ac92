//! No text of a library names a flag: a library says what is wrong and where, and cli's remedy.rs says what to do.

use std::fs;
use std::path::PathBuf;

use super::sources::{crates, lex, sources};

/// The crates that know no command line. The others: plan has its grammar, report has remedies with its
/// flags, testkit is for tests.
const LIBRARIES: [&str; 13] = [
    "engine",
    "files",
    "fleet",
    "fleet-nats",
    "import",
    "lab",
    "memory",
    "pace",
    "protocol",
    "record",
    "script",
    "serve",
    "stats",
];

/// Whether a word of this text is a flag, such as `--cacert` or `-c`.
fn names_a_flag(text: &str) -> bool {
    let is_edge = |c: char| !c.is_alphanumeric() && c != '-';
    text.split(|c: char| c.is_whitespace() || "`'\"()[],;:|=".contains(c)).any(|word| {
        let word = word.trim_matches(is_edge);
        match word.strip_prefix("--") {
            Some(name) => name.starts_with(|c: char| c.is_ascii_lowercase()),
            None => {
                word.len() == 2
                    && word.starts_with('-')
                    && !word.ends_with(is_edge)
                    && !word.ends_with(|c: char| c.is_ascii_digit())
            }
        }
    })
}

/// Whether the text is a list of arguments for a program, and not a sentence: each word is a flag or
/// the value of one.
fn is_arguments(text: &str) -> bool {
    let is_flag = |word: &str| word.starts_with('-') && !word.ends_with([':', ',']);
    let words: Vec<&str> = text.split_whitespace().filter(|word| !word.starts_with('{')).collect();
    let begins = words.first().is_some_and(|word| is_flag(word));
    begins && words.windows(2).all(|pair| is_flag(pair[0]) || is_flag(pair[1]))
}

#[test]
fn texts_of_libraries_name_no_flags() {
    let mut seen = 0;
    for name in LIBRARIES {
        let is_source =
            |path: &PathBuf| path.extension().unwrap() == "rs" && !path.ends_with("tests.rs");
        for file in sources(&crates().join(name).join("src")).into_iter().filter(is_source) {
            let text = fs::read_to_string(&file).unwrap();
            let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
            let literals = lex(text).1;
            seen += literals.len();
            for literal in literals.into_iter().filter(|one| names_a_flag(one)) {
                // Only lab starts programs.
                assert!(
                    name == "lab" && is_arguments(literal),
                    "{}: {literal:?} names a flag; a library says what is wrong and where, and cli's \
                     remedy.rs says what to do",
                    file.display()
                );
            }
        }
    }
    assert!(seen > 1000, "only {seen} texts were seen");
}

#[test]
fn flags_in_texts_are_found() {
    let source = "let a = \"see --sni\"; // \"--no\"\nlet b = ('\"', \"\\\"-c\", r#\"a \"--x\"\"#); \"ask -c\"";
    assert_eq!(lex(source).1, ["see --sni", "\\\"-c", "a \"--x\"", "ask -c"]);
    for flagged in ["see --sni", "(--insecure)", "fewer with -c", "`-c 0`: too few", "--cert: bad"]
    {
        assert!(names_a_flag(flagged) && !is_arguments(flagged), "{flagged}");
    }
    for plain in ["1 -- 2", "a-b", "from -1 to", "{:-^9}", "-", "--", "x---y"] {
        assert!(!names_a_flag(plain), "{plain}");
    }
    for arguments in ["--tls", "--truth fifo --service-time {ms}ms", "{load} -c 50", "-R 1 {end}"] {
        assert!(names_a_flag(arguments) && is_arguments(arguments), "{arguments}");
    }
    assert!(!is_arguments("-c must be at least 1"));
}
