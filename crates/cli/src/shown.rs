//! Every command line that a page shows is parsed here by the real command line, so that no page can show a
//! flag that does not exist. Pages are README.md, everything in docs/, the help of each command and its
//! manual page.
//!
//! In a code block, the lines that call `candor` are parsed like a shell's: prompts, comments,
//! continued lines, pipes, `&&`, redirections, quotes. Nothing is run.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use candor_plan::plan_file::keys_of;
use clap::FromArgMatches;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::arguments::{self, Command};
use crate::command::{ghz, h2load, man, run, wrk};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the root")
}

/// Names and texts of all pages.
fn pages() -> Vec<(String, String)> {
    fn below(folder: &Path, all: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a directory") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => below(&path, all),
                false if path.extension().is_some_and(|end| end == "md") => all.push(path),
                false => {}
            }
        }
    }
    let root = root();
    let mut paths = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    below(&root.join("docs"), &mut paths);
    let read = |path: PathBuf| {
        let name = path.strip_prefix(&root).expect("below the root").display().to_string();
        (name, fs::read_to_string(&path).expect("a page"))
    };
    paths.into_iter().map(read).collect()
}

/// The code blocks of a page, and the inline code.
fn code(page: &str) -> (Vec<String>, Vec<String>) {
    let (mut blocks, mut spans) = (Vec::new(), Vec::new());
    let mut in_block = false;
    for event in Parser::new_ext(page, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => {
                in_block = true;
                blocks.push(String::new());
            }
            Event::End(TagEnd::CodeBlock) => in_block = false,
            Event::Text(text) if in_block => {
                blocks.last_mut().expect("a block has begun").push_str(&text);
            }
            Event::Code(text) => spans.push(text.into_string()),
            _ => {}
        }
    }
    (blocks, spans)
}

/// The typed lines of a block: those after a prompt, if there is one, or all; continued lines are
/// joined.
fn typed_lines(block: &str) -> Vec<String> {
    let has_prompts = block.lines().any(|line| line.starts_with("$ "));
    let mut lines = Vec::new();
    let mut source = block.lines();
    while let Some(line) = source.next() {
        let Some(mut line) = (match has_prompts {
            true => line.strip_prefix("$ ").map(str::to_owned),
            false => Some(line.to_owned()),
        }) else {
            continue;
        };
        while line.ends_with('\\') {
            line.pop();
            line.push_str(source.next().unwrap_or_default());
        }
        lines.push(line);
    }
    lines
}

/// The commands of a line, each as its words. A word that a shell would expand is `1`.
fn commands(line: &str) -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut is_file = false;
    let mut rest = line.chars().peekable();
    // Ends a word; the word after a redirection is not an argument.
    fn end(word: &mut Option<String>, is_file: &mut bool, all: &mut [Vec<String>]) {
        if let Some(word) = word.take()
            && !std::mem::take(is_file)
        {
            all.last_mut().expect("there is always one").push(word);
        }
    }
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\t' => end(&mut word, &mut is_file, &mut all),
            '#' if word.is_none() => break,
            '|' | '&' | ';' => {
                end(&mut word, &mut is_file, &mut all);
                all.push(Vec::new());
            }
            '>' | '<' => {
                // The number of a descriptor belongs to the redirection.
                word = word.filter(|word| !word.chars().all(|c| c.is_ascii_digit()));
                end(&mut word, &mut is_file, &mut all);
                is_file = true;
                while rest.next_if(|c| ['>', '&'].contains(c)).is_some() {}
            }
            '\'' => {
                let word = word.get_or_insert_default();
                word.extend(rest.by_ref().take_while(|&c| c != '\''));
            }
            '"' => {
                let word = word.get_or_insert_default();
                while let Some(c) = rest.next().filter(|&c| c != '"') {
                    match c {
                        '\\' => word.extend(rest.next()),
                        '$' => word.push_str(filled_in(&mut rest)),
                        c => word.push(c),
                    }
                }
            }
            '\\' => word.get_or_insert_default().extend(rest.next()),
            '$' => word.get_or_insert_default().push_str(filled_in(&mut rest)),
            c => word.get_or_insert_default().push(c),
        }
    }
    end(&mut word, &mut is_file, &mut all);
    all.retain(|words| !words.is_empty());
    all
}

/// Skips a name or a bracket after a `$`.
fn filled_in(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> &'static str {
    if rest.peek() == Some(&'(') {
        let mut depth = 0;
        for c in rest.by_ref() {
            depth += i32::from(c == '(') - i32::from(c == ')');
            if depth == 0 {
                break;
            }
        }
    } else {
        while rest.next_if(|c| c.is_ascii_alphanumeric() || *c == '_').is_some() {}
    }
    "1"
}

/// The words from `candor` on, if a command calls it; variable assignments may come before.
fn call(words: &[String]) -> Option<&[String]> {
    let is_setting = |word: &String| {
        word.split_once('=')
            .is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
    };
    let words = &words[words.iter().take_while(|word| is_setting(word)).count()..];
    let words = match words.split_first() {
        Some((first, rest)) if first == "sudo" => rest,
        _ => words,
    };
    let program = words.first()?.rsplit('/').next()?;
    (program == "candor").then_some(words)
}

/// Why the command line refuses these words, or why the run is impossible, unless a shell would
/// have expanded some of them.
fn refusal(words: &[String], is_filled_in: bool) -> Option<String> {
    // In a synopsis, optional parts are in brackets, and dots mean repetition.
    let words: Vec<String> = words
        .iter()
        .filter(|word| !matches!(word.as_str(), "…" | "..."))
        .map(|word| match word.as_str() {
            "URL" | "[URL]" => "http://localhost:8080/".to_owned(),
            word => word.to_owned(),
        })
        .collect();
    if let Some((name, rest)) = wrk::invocation(&words) {
        return wrk::refusal(name, rest);
    }
    if let Some((name, rest)) = h2load::invocation(&words) {
        return h2load::refusal(name, rest);
    }
    if let Some((name, rest)) = ghz::invocation(&words) {
        return ghz::refusal(name, rest);
    }
    // What follows the number of agents is a run.
    let words = match words.as_slice() {
        [candor, fleet, up, _, run @ ..] if fleet == "fleet" && up == "up" => {
            [&[candor.clone(), "run".to_owned()], run].concat()
        }
        _ => words,
    };
    let words = arguments::with_message(words);
    let matches = arguments::command().try_get_matches_from(arguments::with_command(&words));
    let parsed = matches.and_then(|matches| Command::from_arg_matches(&matches));
    match parsed {
        Ok(Command::Run(arguments)) if !is_filled_in => run::refusal(*arguments),
        Ok(_) => None,
        Err(error) => error.use_stderr().then(|| error.to_string()),
    }
}

/// Checks the calls in some lines: collects the faults and returns the number of calls. Commands
/// within an option's value, e.g. `--target 'candor serve'`, count.
fn check(place: &str, lines: &[String], wrong: &mut Vec<String>) -> usize {
    let mut calls = 0;
    for line in lines {
        for words in commands(line) {
            let Some(words) = call(&words) else { continue };
            calls += 1;
            if let Some(why) = refusal(words, line.contains('$')) {
                wrong.push(format!("{place}: {line}\n    {why}"));
            }
            let inner: Vec<_> = words.iter().filter(|word| word.starts_with("candor ")).collect();
            calls +=
                inner.iter().map(|line| check(place, &[line.to_string()], wrong)).sum::<usize>();
        }
    }
    calls
}

/// The examples in a text: indented lines with a call.
fn examples(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| line.starts_with("  candor "));
    lines.map(|line| line.trim_start().to_owned()).collect()
}

#[test]
fn every_line_of_a_page_is_understood() {
    let mut wrong = Vec::new();
    let mut calls = 0;
    for (name, page) in pages() {
        for block in code(&page).0 {
            calls += check(&name, &typed_lines(&block), &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(calls > 90, "only {calls} calls were found");
}

#[test]
fn every_command_has_examples_that_are_understood() {
    let mut wrong = Vec::new();
    let mut command = arguments::command();
    command.build();
    let all: Vec<_> = command.get_subcommands().cloned().chain([command.clone()]).collect();
    for mut one in all {
        if one.get_name() == "help" {
            continue;
        }
        let name = one.get_name().to_owned();
        // Line breaks must not depend on the terminal, or examples cannot be copied.
        let after = one.get_after_long_help().map(ToString::to_string).unwrap_or_default();
        let indented = after.lines().filter(|line| line.starts_with("  "));
        let longest = indented.map(|line| line.chars().count()).max();
        assert!(longest <= Some(100), "{name} --help: {longest:?} columns");
        let examples = examples(&one.render_long_help().to_string());
        assert!(examples.len() > 1, "{name} --help has {} examples", examples.len());
        check(&format!("{name} --help"), &examples, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_example_of_a_manual_page_is_understood() {
    let mut wrong = Vec::new();
    for (name, page) in man::pages(arguments::command()) {
        let examples = examples(&page.replace("\\-", "-").replace("\\*(Aq", "'"));
        assert!(examples.len() > 1, "{name}: {} examples in {page}", examples.len());
        check(&name, &examples, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Flags named in the text of pages exist, too: `candor serve --stall`.
#[test]
fn every_flag_that_stands_beside_its_command_exists() {
    let command = arguments::command();
    let mut wrong = Vec::new();
    let mut flags = 0;
    for (name, page) in pages() {
        for span in code(&page).1 {
            let words: Vec<&str> = span.split_whitespace().collect();
            let ["candor", first, ..] = words.as_slice() else { continue };
            let known = command.find_subcommand(first);
            if ["wrk", "h2load", "ghz"].contains(first) {
                continue;
            }
            let is_word = first.chars().all(|c| c.is_ascii_lowercase());
            if known.is_none() && is_word {
                wrong.push(format!("{name}: `{span}`: there is no command {first}"));
            }
            let Some(known) = known.or_else(|| command.find_subcommand("run")) else { continue };
            let longs: BTreeSet<&str> = known
                .get_arguments()
                .filter_map(|arg| arg.get_long_and_visible_aliases())
                .flatten()
                .chain(["help", "version"])
                .collect();
            for flag in words.iter().filter_map(|word| word.strip_prefix("--")) {
                let flag = flag.split(['=', ',', ')', '…']).next().unwrap_or_default();
                flags += 1;
                if !flag.is_empty() && !longs.contains(flag) {
                    wrong.push(format!("{name}: `{span}`: there is no --{flag}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(flags > 10, "only {flags} flags were found");
}

/// The page of all options: made of the declarations that `--help` is made of.
fn reference() -> String {
    let mut page = "# Options and keys\n\nMade of the same declarations as `--help`, which says more of each: `candor COMMAND --help`. \
                    The *key* is what\nan option is called in a [plan file](plan-files.md); tables such as `[[request]]` have \
                    keys of the same names.\n"
        .to_owned();
    let command = arguments::command();
    let keys = keys_of::<candor_plan::Options>();
    let run = command.find_subcommand("run").expect("there is a run");
    let of_run: BTreeSet<&str> = run.get_arguments().filter_map(clap::Arg::get_long).collect();
    for one in command.get_subcommands().filter(|one| !one.is_hide_set()) {
        let name = one.get_name();
        let is_run = name == "run";
        let own = |arg: &&clap::Arg| {
            let long = arg.get_long().unwrap_or_default();
            !long.is_empty()
                && long != "help"
                && !arg.is_hide_set()
                && (is_run || !of_run.contains(long))
        };
        let others = one
            .get_arguments()
            .filter(|arg| arg.get_long().is_some_and(|long| of_run.contains(long)));
        let shares = !is_run && others.filter(|arg| arg.get_id() != "help").count() > 6;
        page += &format!("\n## candor {name}\n\n{}.\n", about(one));
        if shares {
            page += "\nIt takes options of [`candor run`](#candor-run) too.\n";
        }
        let mut heading = None;
        for arg in one.get_arguments().filter(own) {
            if heading != Some(arg.get_help_heading()) {
                heading = Some(arg.get_help_heading());
                page += &match arg.get_help_heading() {
                    Some(heading) if is_run => format!("\n### {heading}\n"),
                    _ => String::new(),
                };
                page += match is_run {
                    true => "\n| option | key | |\n|---|---|---|\n",
                    false => "\n| option | |\n|---|---|\n",
                };
            }
            let long = arg.get_long().unwrap_or_default();
            let short = arg.get_short().map_or(String::new(), |short| format!("-{short}, "));
            let values: String = match arg.get_action().takes_values() {
                true => arg
                    .get_value_names()
                    .into_iter()
                    .flatten()
                    .map(|name| format!(" {name}"))
                    .collect(),
                false => String::new(),
            };
            let option = format!("`{short}--{long}{values}`");
            let key = if keys.contains(&long) { format!("`{long}`") } else { String::new() };
            let meaning = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let meaning = meaning.replace('\n', " ");
            page += &match is_run {
                true => format!("| {} | {key} | {} |\n", cell(&option), cell(&meaning)),
                false => format!("| {} | {} |\n", cell(&option), cell(&meaning)),
            };
        }
    }
    page
}

fn about(command: &clap::Command) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    about.replace('\n', " ").trim_end_matches('.').to_owned()
}

/// A text within a table of Markdown.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

#[test]
fn the_page_of_options_is_that_of_the_declarations() {
    let (path, page) = (root().join("docs/options.md"), reference());
    if std::env::var_os("CANDOR_RENEW").is_some() {
        fs::write(&path, &page).expect("a page that can be written");
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "docs/options.md is stale. Renew with: CANDOR_RENEW=1 cargo test --workspace --lib"
    );
}

#[test]
fn every_make_target_of_a_page_exists() {
    let makefile = fs::read_to_string(root().join("Makefile")).expect("the Makefile");
    let targets: BTreeSet<&str> =
        makefile.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name).collect();
    let mut seen = 0;
    for (name, page) in pages() {
        for line in code(&page).0.iter().flat_map(|block| typed_lines(block)) {
            for words in commands(&line).iter().filter(|words| words[0] == "make") {
                for target in words[1..].iter().filter(|word| !word.contains('=')) {
                    assert!(targets.contains(target.as_str()), "{name}: make {target}");
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 3, "only {seen} were found");
}

#[test]
fn lines_are_split_as_a_shell_splits_them() {
    let words =
        |line: &str| commands(line).into_iter().map(|one| one.join("·")).collect::<Vec<_>>();
    assert_eq!(words("candor -c 5 'a b'\"c\" # why"), ["candor·-c·5·a bc"]);
    assert_eq!(words("make && candor | jq .a > b 2>&1; x&"), ["make", "candor", "jq·.a", "x"]);
    assert_eq!(
        words(r#"candor --at $at -b "$(head -c 9 '\0' | tr)" "" a\ b"#),
        ["candor·--at·1·-b·1··a b"]
    );
    let block = "$ candor -c 5 \\\n    -d 3s\nGET http\n$ candor";
    assert_eq!(typed_lines(block), ["candor -c 5     -d 3s", "candor"]);
    assert_eq!(code("a `x`\n\n    b\n    c\n\n```sh\ne\n```\n").0, ["b\nc\n", "e\n"]);
}

#[test]
fn a_flag_that_does_not_exist_is_found() {
    for line in [
        "candor --conections 5 http://localhost/",
        "PORT=8080 candor run --frobnicate",
        "candor wrk -t2 --frobnicate http://localhost/",
        "candor h2load --frobnicate http://localhost/",
        "candor --target 'candor serve --frobnicate'",
        "make && ./target/release/candor -R 1k --think-time 1s URL",
        "candor --expect 'p99 << 5ms' URL",
        "candor sweeps URL",
    ] {
        let mut wrong = Vec::new();
        assert!(check("here", &[line.to_owned()], &mut wrong) > 0, "{line}");
        assert!(!wrong.is_empty(), "{line} is understood");
    }
}
