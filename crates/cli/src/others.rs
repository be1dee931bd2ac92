//! Command lines of tools that Candor does not imitate: the same run in its own words. Nothing is run, and no header,
//! body or URL is repeated, because it may be secret. `docs/coming-from-others.md` has the same by topic.

/// A tool, and its options: the spellings of each, apart by blanks, and what it is here.
struct Tool {
    name: &'static str,
    options: &'static [(&'static str, What)],
}

enum What {
    /// This option, with the value.
    Value(&'static str),
    /// This option, with a value that is not repeated.
    Hidden(&'static str),
    /// This option, without a value.
    Switch(&'static str),
    /// A rate of each of the workers, of which there are so many by default.
    Each(u64),
    /// Nothing: Candor does so anyway.
    Default,
}

use What::{Default, Each, Hidden, Switch, Value};

/// Tools whose options have counterparts.
const TOOLS: [Tool; 5] = [
    Tool {
        name: "hey",
        options: &[
            ("-n", Value("-n")),
            ("-c", Value("-c")),
            ("-z", Value("-d")),
            ("-q", Each(50)),
            ("-m", Value("-X")),
            ("-t", Value("--timeout")),
            ("-H", Hidden("-H")),
            ("-d", Hidden("-b")),
            ("-D", Hidden("--body-file")),
            ("-h2", Switch("--h2")),
            ("-disable-keepalive", Switch("--no-keepalive")),
            ("-disable-redirects", Default),
        ],
    },
    Tool {
        name: "ab",
        options: &[
            ("-n", Value("-n")),
            ("-c", Value("-c")),
            ("-t", Value("-d")),
            ("-m", Value("-X")),
            ("-s", Value("--timeout")),
            ("-H", Hidden("-H")),
            ("-p", Hidden("-X POST --body-file")),
            ("-u", Hidden("-X PUT --body-file")),
            ("-k", Default),
            ("-q", Default),
            ("-r", Default),
        ],
    },
    Tool {
        name: "bombardier",
        options: &[
            ("-n --requests", Value("-n")),
            ("-c --connections", Value("-c")),
            ("-d --duration", Value("-d")),
            ("-r --rate", Value("-R")),
            ("-m --method", Value("-X")),
            ("-t --timeout", Value("--timeout")),
            ("-H --header", Hidden("-H")),
            ("-b --body", Hidden("-b")),
            ("-f --body-file", Hidden("--body-file")),
            ("-k --insecure", Switch("--insecure")),
            ("--http1", Switch("--h1")),
            ("--http2", Switch("--h2")),
            ("-l --latencies", Default),
        ],
    },
    Tool {
        name: "oha",
        options: &[
            ("-n", Value("-n")),
            ("-c", Value("-c")),
            ("-z", Value("-d")),
            ("-q", Value("-R")),
            ("-p", Value("--streams")),
            ("-m --method", Value("-X")),
            ("-t --timeout", Value("--timeout")),
            ("-r --redirect", Value("--location")),
            ("-H", Hidden("-H")),
            ("-d", Hidden("-b")),
            ("-D", Hidden("--body-file")),
            ("-F --form", Hidden("--form")),
            ("--insecure", Switch("--insecure")),
            ("--http2", Switch("--h2")),
            ("--disable-keepalive", Switch("--no-keepalive")),
            ("--latency-correction", Default),
            ("--no-tui", Default),
        ],
    },
    Tool {
        name: "autocannon",
        options: &[
            ("-a --amount", Value("-n")),
            ("-c --connections", Value("-c")),
            ("-d --duration", Value("-d")),
            ("-p --pipelining", Value("--pipeline")),
            ("-R --overallRate", Value("-R")),
            ("-m --method", Value("-X")),
            ("-t --timeout", Value("--timeout")),
            ("-w --workers", Value("--threads")),
            ("-H --headers", Hidden("-H")),
            ("-b --body", Hidden("-b")),
            ("-i --input", Hidden("--body-file")),
            ("-l --latency", Default),
            ("-n --no-progress", Default),
        ],
    },
];

/// Tools whose input is no list of options.
const OTHERS: [&str; 6] = ["vegeta", "k6", "siege", "locust", "gatling", "jmeter"];

const PAGE: &str = "see docs/coming-from-others.md";

/// Words for options that users of other tools expect, and ours.
const EXPECTED: [(&str, &str); 13] = [
    ("--http3", "--h3"),
    ("--concurrency", "-c"),
    ("--vus", "-c"),
    ("--rps", "-R"),
    ("--qps", "-R"),
    ("--metrics", "--out"),
    ("--results", "--out"),
    ("--objective", "--expect"),
    ("-L", "--location"),
    ("--output", "--json"),
    ("--format", "--out"),
    ("--header", "-H"),
    ("--target-ready-timeout", "--target-timeout"),
];

/// Our option for one of other tools, such as `--h2` for `--http2`, if it means the same in all that have it.
pub(crate) fn counterpart(option: &str) -> Option<&'static str> {
    if let Some((_, ours)) = EXPECTED.iter().find(|(expected, _)| *expected == option) {
        return Some(ours);
    }
    let options = TOOLS.iter().flat_map(|tool| tool.options);
    let mut ours = options.filter(|(names, _)| names.split(' ').any(|name| name == option)).map(
        |(_, what)| match what {
            Value(ours) | Hidden(ours) | Switch(ours) => Some(*ours),
            Each(_) | Default => None,
        },
    );
    let first = ours.next()??;
    ours.all(|one| one == Some(first)).then_some(first)
}

/// Whether Candor does what this option of other tools asks for in every run.
pub(crate) fn is_needless(option: &str) -> bool {
    const OF_WRK: [&str; 2] = ["--latency", "--u_latency"];
    let mut others = TOOLS.iter().flat_map(|tool| tool.options);
    OF_WRK.contains(&option)
        || option.starts_with("--")
            && others.any(|(names, what)| {
                matches!(what, Default) && names.split(' ').any(|name| name == option)
            })
}

/// What to write instead of `NAME ARGUMENTS`; `None` if there is no such tool.
pub(crate) fn instead(name: &str, arguments: &[String]) -> Option<String> {
    if OTHERS.contains(&name) {
        return Some(format!("candor: command lines of {name} are not read; {PAGE}\n"));
    }
    let tool = TOOLS.iter().find(|tool| tool.name == name)?;
    let mut words = vec!["candor".to_owned()];
    let (mut unknown, mut has_url) = (Vec::new(), false);
    let (mut each, mut workers) = (None, None);
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        if !word.starts_with('-') {
            has_url = true;
            continue;
        }
        let known = |option: &str| {
            tool.options.iter().find(|(names, _)| names.split(' ').any(|name| name == option))
        };
        // `-n 10`, `-n=10`, and `-n10` but where long names have one dash.
        let is_short = !word.starts_with("--") && name != "hey";
        let short = is_short.then(|| word.split_at_checked(2)).flatten();
        let (option, joined) = match (word.split_once('='), short) {
            (Some((option, value)), _) => (option, Some(value)),
            (None, Some((option, value))) if known(word).is_none() && !value.is_empty() => {
                (option, Some(value))
            }
            _ => (word.as_str(), None),
        };
        let known = known(option);
        let mut value = || joined.or_else(|| rest.next().map(String::as_str)).unwrap_or("…");
        words.push(match known {
            Some((_, Value(ours))) => {
                // Numbers, times, methods: whatever else stands there is not repeated.
                let value = value();
                if *ours == "-c" {
                    workers = value.parse::<u64>().ok();
                }
                let is_plain = value.len() < 20
                    && value.chars().all(|c| c.is_ascii_alphanumeric() || c == '.');
                format!("{ours} {}", if is_plain { value } else { "…" })
            }
            Some((_, Hidden(ours))) => {
                value();
                format!("{ours} …")
            }
            Some((_, Each(usual))) => {
                each = Some((value().parse::<u64>().ok(), *usual));
                continue;
            }
            Some((_, Switch(ours))) => (*ours).to_owned(),
            Some((_, Default)) => continue,
            None => {
                let shown = match short {
                    Some((letter, _)) => letter,
                    None => word.split('=').next().unwrap_or_default(),
                };
                let is_name = shown.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
                unknown.push(if is_name && shown.len() < 30 { shown } else { "…" });
                continue;
            }
        });
    }
    if let Some((rate, usual)) = each {
        let all = rate.and_then(|rate| rate.checked_mul(workers.unwrap_or(usual)));
        words.push(format!("-R {}", all.map_or("…".to_owned(), |all| all.to_string())));
    }
    if has_url {
        words.push("URL".to_owned());
    }
    let unknown = match unknown.as_slice() {
        [] => String::new(),
        all => format!(" (without {})", all.join(", ")),
    };
    Some(format!(
        "candor: command lines of {name} are not read; in Candor's words: {}{unknown}; {PAGE}\n",
        words.join(" ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> String {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let said = instead(&words[0], &words[1..]).unwrap();
        let (_, said) = said.split_once("in Candor's words: ").unwrap();
        said.strip_suffix(&format!("; {PAGE}\n")).unwrap().to_owned()
    }

    #[test]
    fn a_run_is_the_same_in_our_words() {
        for (theirs, ours) in [
            ("hey -n 200 -c 50 http://h/", "candor -n 200 -c 50 URL"),
            (
                "hey -z 30s -m POST -d x=1 -H A:b -h2 http://h/",
                "candor -d 30s -X POST -b … -H … --h2 URL",
            ),
            ("ab -k -n 10 -p body.json http://h/", "candor -n 10 -X POST --body-file … URL"),
            ("bombardier --duration=5s --rate 7 http://h/", "candor -d 5s -R 7 URL"),
            ("oha -z 5s -q 100 --latency-correction http://h/", "candor -d 5s -R 100 URL"),
            (
                "autocannon -p 10 -w 2 --renderStatusCodes h",
                "candor --pipeline 10 --threads 2 URL (without --renderStatusCodes)",
            ),
            ("ab -n200 -c50 -k http://h/", "candor -n 200 -c 50 URL"),
            ("hey -cpus 2 http://h/", "candor URL (without -cpus)"),
            ("hey -q 10 -c 20 http://h/", "candor -c 20 -R 200 URL"),
            ("hey -q 2 -z 5s http://h/", "candor -d 5s -R 100 URL"),
            ("hey -q 0.5 http://h/", "candor -R … URL"),
            ("hey -n", "candor -n …"),
        ] {
            assert_eq!(said(theirs), ours, "{theirs}");
        }
        assert!(instead("k6", &[]).is_some() && instead("heya", &[]).is_none());
    }

    /// Each option of ours is one of a run.
    #[test]
    fn options_are_those_of_a_run() {
        let command = crate::arguments::command();
        let run = command.find_subcommand("run").unwrap();
        let known: Vec<String> = run
            .get_arguments()
            .flat_map(|one| {
                let short = one.get_short().map(|short| format!("-{short}"));
                short.into_iter().chain(one.get_long().map(|long| format!("--{long}")))
            })
            .collect();
        for (names, what) in TOOLS.iter().flat_map(|tool| tool.options) {
            if let Value(ours) | Hidden(ours) | Switch(ours) = what {
                let options = ours.split(' ').filter(|word| word.starts_with('-'));
                options
                    .for_each(|one| assert!(known.iter().any(|two| two == one), "{names}: {one}"));
            }
        }
    }

    #[test]
    fn what_every_run_does_is_needless() {
        for (option, needless) in [
            ("--latency", true),
            ("--no-tui", true),
            ("--rate", false),
            ("-k", false),
            ("--nothing", false),
        ] {
            assert_eq!(is_needless(option), needless, "{option}");
        }
    }

    #[test]
    fn nothing_that_may_be_secret_is_repeated() {
        for line in [
            "hey -H Authorization:s3cret -d s3cret http://u:s3cret@h/?t=s3cret",
            "bombardier --header=A:s3cret --s3cret=1:s3cret-value-that-is-long http://h/",
            "hey -n s3cret:s3cret",
            "oha -us3cret --unknown=s3cret http://h/",
        ] {
            let said = said(&line.replace("--s3cret=", "--unknown="));
            assert!(!said.contains("s3cret"), "{said}");
        }
    }
}
