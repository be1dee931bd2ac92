//! What is watched beside a run: a figure that the server, or a Prometheus that watches it, has of itself.
//! Not part of a plan.

use std::fmt;
use std::str::FromStr;

use crate::url::HttpUrl;
use crate::values::{ValueError, from_text, refuse};

/// A figure to be asked for while a run goes on: `prometheus:URL#QUERY`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watch {
    /// Where it is asked for, with the query of the API. It may have a password.
    pub url: String,
    /// The query as it was written; it names the series.
    pub query: String,
    /// What is selected of a page of metrics; `None`: the server evaluates the query itself.
    pub select: Option<Selector>,
}

/// A selection of series of a page of metrics: `name{label="value"}`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selector {
    /// Name of the metric.
    pub name: String,
    /// Labels that a series must have, with these values.
    pub labels: Vec<(String, String)>,
}

/// The end of a URL of Prometheus' HTTP API.
const API: &str = "/api/v1/query";

impl FromStr for Watch {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        const FORM: &str = "write e.g. 'prometheus:http://127.0.0.1:9100/metrics#http_requests_total{code=\"200\"}'";
        let Some((url, query)) =
            text.strip_prefix("prometheus:").and_then(|rest| rest.split_once('#'))
        else {
            // It may have a password.
            return refuse(format!("this is not prometheus:URL#QUERY; {FORM}"));
        };
        let parsed = HttpUrl::parse(url).map_err(|why| ValueError(why.to_string()))?;
        if parsed.is_https || parsed.is_websocket {
            return refuse("metrics are asked for over http:// alone; write such a URL".to_owned());
        }
        let query = query.trim();
        if query.is_empty() {
            return refuse(format!("there is no query behind #; {FORM}"));
        }
        if !parsed.path.ends_with(API) {
            let select = Selector::parse(query)
                .ok_or_else(|| ValueError(format!("`{query}` does not select series of a page of metrics: a name, and labels with their values; {FORM}")))?;
            return Ok(Watch {
                url: url.to_owned(),
                query: query.to_owned(),
                select: Some(select),
            });
        }
        let url = format!("{url}?query={}", escaped(query));
        Ok(Watch { url, query: query.to_owned(), select: None })
    }
}

/// With percent escapes for everything that a query of a URL could not have, or would have another meaning for.
fn escaped(query: &str) -> String {
    let one = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    query.bytes().map(one).collect()
}

impl Selector {
    /// The selection in this text; `None`: it is none.
    fn parse(text: &str) -> Option<Self> {
        let (series, rest) = series(text)?;
        rest.trim().is_empty().then_some(series)
    }

    /// Whether a series with this name and these labels is selected.
    pub fn selects(&self, series: &Selector) -> bool {
        self.name == series.name && self.labels.iter().all(|label| series.labels.contains(label))
    }
}

/// The series at the beginning of a line of the text exposition format, and the rest of the line. `None`: there is
/// none.
pub fn series(line: &str) -> Option<(Selector, &str)> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let (name, mut rest) = line.split_at(line.find(|c| !is_of_name(c)).unwrap_or(line.len()));
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let mut labels = Vec::new();
    let Some(mut inner) = rest.trim_start().strip_prefix('{') else {
        return Some((Selector { name: name.to_owned(), labels }, rest));
    };
    loop {
        inner = inner.trim_start();
        if let Some(behind) = inner.strip_prefix('}') {
            rest = behind;
            break;
        }
        let (label, value) = inner.split_once('=')?;
        let (value, behind) = quoted(value.trim_start())?;
        let label = label.trim();
        if label.is_empty() || !label.chars().all(is_of_name) {
            return None;
        }
        labels.push((label.to_owned(), value));
        let behind = behind.trim_start();
        inner = match behind.strip_prefix(',') {
            Some(next) => next,
            None if behind.starts_with('}') => behind,
            None => return None,
        };
    }
    Some((Selector { name: name.to_owned(), labels }, rest))
}

/// A value in quotes, in which `\\`, `\"` and `\n` are escapes, and what is behind it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let inner = text.strip_prefix('"')?;
    let mut value = String::new();
    let mut chars = inner.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &inner[at + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

impl fmt::Display for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.query)
    }
}

from_text! {
    Watch: "a figure to watch such as \"prometheus:http://127.0.0.1:9100/metrics#up\"",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_selects_series_or_is_asked_for() {
        let watch = |text: &str| text.parse::<Watch>().unwrap();
        let one = watch("prometheus:http://h:1/metrics#a_total{code=\"200\", m=\"G\\\"}\"}");
        let labels = [("code", "200"), ("m", "G\"}")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        let select = Selector { name: "a_total".to_owned(), labels: labels.into() };
        assert_eq!((one.url.as_str(), one.select), ("http://h:1/metrics", Some(select)));
        let api = watch("prometheus:http://h/p/api/v1/query#sum(rate(a[1m])) by (x)");
        assert_eq!(api.select, None);
        assert_eq!(api.query, "sum(rate(a[1m])) by (x)");
        assert_eq!(
            api.url,
            "http://h/p/api/v1/query?query=sum%28rate%28a%5B1m%5D%29%29%20by%20%28x%29"
        );
        for wrong in [
            "",
            "http://h/metrics#a",
            "prometheus:http://h/metrics",
            "prometheus:http://h/metrics#",
            "prometheus:http://h/metrics#a{b}",
            "prometheus:http://h/metrics#a{b=\"c\"",
            "prometheus:http://h/metrics#a{b=c}",
            "prometheus:http://h/metrics#rate(a[1m])",
            "prometheus:http://h/metrics#a b",
            "prometheus:https://h/metrics#a",
            "prometheus:ws://h/metrics#a",
            "prometheus:http://h:0x/metrics#a",
            "graphite:http://h/metrics#a",
        ] {
            assert!(wrong.parse::<Watch>().is_err(), "{wrong}");
        }
        let secret = "prometheus:http://me:S3cretToken42@h/metrics".parse::<Watch>().unwrap_err();
        assert!(!secret.to_string().contains("S3cret"), "{secret}");
    }

    #[test]
    fn a_selection_is_of_a_name_and_of_labels_that_must_be_there() {
        let of = |text: &str| series(text).unwrap().0;
        let line = "http_requests_total{method=\"GET\",code=\"200\",} 12 1700000000000";
        assert_eq!(series(line).unwrap().1, " 12 1700000000000");
        for (selector, is_selected) in [
            ("http_requests_total", true),
            ("http_requests_total{code=\"200\"}", true),
            ("http_requests_total{code=\"200\",method=\"GET\"}", true),
            ("http_requests_total{code=\"20\"}", false),
            ("http_requests_total{other=\"200\"}", false),
            ("http_requests", false),
        ] {
            assert_eq!(of(selector).selects(&of(line)), is_selected, "{selector}");
        }
        for wrong in ["", "1a 2", "{a=\"b\"} 2", "# HELP a", "a{b=\"c} 1", "a{b=\"c\"d=\"e\"} 1"] {
            assert_eq!(series(wrong), None, "{wrong}");
        }
    }
}
