//! A strict reader of Prometheus' text format, version 0.0.4: each family once, with HELP and TYPE before its samples,
//! each series once, names and suffixes as its type has them, buckets that add up.

use std::collections::BTreeMap;

/// The values of a text, by series: `name{label="value",…}` as written.
#[derive(Debug)]
pub(crate) struct Exposition {
    values: BTreeMap<String, f64>,
}

/// A series: its name, and its labels with their values unescaped.
pub(super) type Series = (String, Vec<(String, String)>);

impl Exposition {
    /// Reads it.
    ///
    /// # Panics
    /// If the text is not of the format.
    pub(crate) fn strict(text: &str) -> Exposition {
        assert!(text.ends_with('\n'), "the last line has no end");
        let mut families: BTreeMap<&str, &str> = BTreeMap::new();
        let mut values = BTreeMap::new();
        let mut series: Vec<(Series, f64)> = Vec::new();
        let mut helped = "";
        let mut family = ("", "");
        for line in text.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, about) = help.split_once(' ').expect("a name and a text");
                assert!(is_name(name) && !about.is_empty(), "{line}");
                helped = name;
            } else if let Some(of) = line.strip_prefix("# TYPE ") {
                let (name, kind) = of.split_once(' ').expect("a name and a type");
                assert!(matches!(kind, "counter" | "gauge" | "histogram"), "{line}");
                assert_eq!(name, helped, "the help of another family");
                assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
                assert_eq!(families.insert(name, kind), None, "{name} is there twice");
                family = (name, kind);
            } else {
                let (of, value) = line.rsplit_once(' ').expect("a series and a value");
                let value: f64 = value.parse().unwrap_or_else(|_| panic!("no number: {line}"));
                let (name, labels) = parsed(of);
                let suffix =
                    name.strip_prefix(family.0).unwrap_or_else(|| panic!("no type: {line}"));
                match family.1 {
                    "histogram" => {
                        assert!(["_bucket", "_sum", "_count"].contains(&suffix), "{line}")
                    }
                    _ => assert_eq!(suffix, "", "{line}"),
                }
                assert!(value >= 0.0 && value.is_finite(), "{line}");
                assert_eq!(values.insert(of.to_owned(), value), None, "twice: {line}");
                series.push(((name, labels), value));
            }
        }
        for (name, _) in families.iter().filter(|(_, kind)| **kind == "histogram") {
            check_histogram(name, &series);
        }
        Exposition { values }
    }

    /// These values, from elsewhere.
    pub(crate) fn of(values: BTreeMap<String, f64>) -> Exposition {
        Exposition { values }
    }

    /// The value of a series; `None` if it is not there.
    pub(crate) fn get(&self, series: &str) -> Option<f64> {
        self.values.get(series).copied()
    }

    /// All series, taken apart.
    pub(super) fn series(&self) -> Vec<Series> {
        self.values.keys().map(|series| parsed(series)).collect()
    }

    /// All series and their values.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, f64)> {
        self.values.iter().map(|(series, value)| (series.as_str(), *value))
    }
}

/// One set of labels only, as ours have: buckets ascend, are cumulative, and end with the count at `+Inf`.
fn check_histogram(name: &str, series: &[(Series, f64)]) {
    let of = |suffix: &str| {
        let name = format!("{name}{suffix}");
        series.iter().filter(move |((other, _), _)| *other == name).collect::<Vec<_>>()
    };
    let edges: Vec<(f64, f64)> = of("_bucket")
        .iter()
        .map(|((_, labels), value)| {
            let le = labels.iter().find(|(name, _)| name == "le").expect("an edge");
            (le.1.replace("+Inf", "inf").parse().expect("a number"), *value)
        })
        .collect();
    assert!(edges.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 <= two[1].1), "{edges:?}");
    let (sums, counts) = (of("_sum"), of("_count"));
    assert_eq!((sums.len(), counts.len()), (1, 1), "{name}");
    assert_eq!(edges.last(), Some(&(f64::INFINITY, counts[0].1)), "{name}");
}

fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(plain)
}

fn parsed(of: &str) -> Series {
    let Some((name, rest)) = of.split_once('{') else {
        assert!(is_name(of), "{of}");
        return (of.to_owned(), Vec::new());
    };
    assert!(is_name(name), "{of}");
    let mut labels: Vec<(String, String)> = Vec::new();
    let mut rest = rest;
    loop {
        let (label, value) = rest.split_once("=\"").unwrap_or_else(|| panic!("no label: {of}"));
        assert!(is_name(label) && labels.iter().all(|(other, _)| other != label), "{of}");
        let mut text = String::new();
        let mut chars = value.char_indices();
        let end = loop {
            match chars.next().unwrap_or_else(|| panic!("no end: {of}")) {
                (at, '"') => break at,
                (_, '\\') => text.push(match chars.next() {
                    Some((_, c @ ('\\' | '"'))) => c,
                    Some((_, 'n')) => '\n',
                    other => panic!("{other:?} is escaped in {of}"),
                }),
                (_, c) => text.push(c),
            }
        };
        labels.push((label.to_owned(), text));
        match &value[end + 1..] {
            "}" => return (name.to_owned(), labels),
            more => rest = more.strip_prefix(',').unwrap_or_else(|| panic!("no comma: {of}")),
        }
    }
}

#[test]
fn what_is_not_of_the_format_is_refused() {
    let head = "# HELP a_total A.\n# TYPE a_total counter\n";
    let text = format!("{head}a_total{{x=\"1,\\\"}}\"}} 2\n");
    assert_eq!(Exposition::strict(&text).get("a_total{x=\"1,\\\"}\"}"), Some(2.0));
    let histogram = "# HELP h H.\n# TYPE h histogram\n";
    for wrong in [
        format!("{head}a_total 1"),
        format!("{head}a_total 1\na_total 2\n"),
        format!("{head}b_total 1\n"),
        format!("{head}a_total one\n"),
        format!("{head}a_total{{x=\"1\",x=\"2\"}} 1\n"),
        format!("{head}a_total{{x=\"1}} 1\n"),
        format!("{head}{head}a_total 1\n"),
        "a_total 1\n".to_owned(),
        "# HELP a A.\n# TYPE a counter\na 1\n".to_owned(),
        format!("{histogram}h_bucket{{le=\"+Inf\"}} 1\nh_sum 1\nh_count 2\n"),
        format!(
            "{histogram}h_bucket{{le=\"1\"}} 2\nh_bucket{{le=\"+Inf\"}} 1\nh_sum 1\nh_count 1\n"
        ),
        format!("{histogram}h_bucket{{le=\"1\"}} 1\nh_sum 1\nh_count 1\n"),
    ] {
        let read = std::panic::catch_unwind(|| Exposition::strict(&wrong));
        assert!(read.is_err(), "{wrong}");
    }
}
