//! Secrets of exchanges that are looked at: hidden by their names, and wherever their values come again.
//!
//! Which names are secret is for crate plan to say ([`Secrets`]). The values are those of the environment, of columns
//! and variables with such names, of whatever is sent in a field with such a name, and of cookies. A server that
//! repeats one of them in a body does not make it known.

use candor_engine::Response;
use candor_plan::redact::REDACTED;
use candor_plan::template::{self, Escape};
use candor_plan::{Parts, Plan, Secrets};

use super::plan::Rows;

/// Shorter values are hidden only where they stand by themselves: a password `a` does not hide every `a`.
const LEAST_ANYWHERE: usize = 8;
/// Shorter values of cookies are words rather than secrets.
const LEAST_OF_COOKIE: usize = 8;

/// What is to be hidden.
pub(super) struct Masks {
    secrets: Secrets,
    /// Secret values as they may be written, the longest first.
    values: Vec<String>,
    /// For each capture of each request, whether its value is a secret.
    captures: Vec<Vec<bool>>,
}

impl Masks {
    /// Those of a plan, with the values of its rows.
    pub(super) fn new(plan: &Plan, rows: &Rows) -> Self {
        let secrets = plan.secrets;
        let mut masks = Masks { secrets, values: Vec::new(), captures: Vec::new() };
        for variable in &plan.environment {
            masks.add(variable.value.whole());
        }
        for row in rows {
            for (set, values) in plan.data.iter().zip(row) {
                for (column, value) in set.columns.iter().zip(values) {
                    if masks.hides_column(plan, &set.name, column) {
                        masks.add(value);
                    }
                }
            }
        }
        for (name, value) in fields(plan).filter(|(name, _)| secrets.hides(name)) {
            if !template::has_holes(value) && secrets.seen_header(name, value) == REDACTED {
                // Without the scheme: `Bearer`, `Basic`.
                masks.add(value.rsplit(' ').next().unwrap_or_default().as_bytes());
            }
        }
        let steps = plan.journeys.iter().flat_map(|one| &one.steps);
        let is_secret = |one: &candor_plan::Capture| {
            let place = one.source.split_once(':');
            let is_place = place.is_some_and(|(kind, name)| {
                kind == "cookie" || kind == "header" && secrets.hides(name)
            });
            secrets == Secrets::Hidden
                && (is_place || secrets.hides(&one.variable) || masks.is_sent(plan, &one.variable))
        };
        masks.captures = steps.map(|step| step.captures.iter().map(is_secret).collect()).collect();
        masks
    }

    /// Whether the value of a column is hidden.
    pub(super) fn hides_column(&self, plan: &Plan, set: &str, column: &str) -> bool {
        self.secrets == Secrets::Hidden
            && (self.secrets.hides(column) || self.is_sent(plan, &format!("{set}.{column}")))
    }

    /// Whether a value goes into a field that is hidden.
    fn is_sent(&self, plan: &Plan, name: &str) -> bool {
        let mut hidden = fields(plan).filter(|(field, _)| self.secrets.hides(field));
        hidden.any(|(_, value)| template::has_holes(value) && value.contains(name))
    }

    /// Whether the value of a capture is hidden.
    pub(super) fn hides_capture(&self, request: usize, capture: usize) -> bool {
        let of_request = self.captures.get(request);
        of_request.and_then(|all| all.get(capture)).copied().unwrap_or_default()
    }

    /// The secrets that came with a response.
    pub(super) fn learn(&mut self, request: usize, response: &Response) {
        for (capture, value) in response.captured.iter().enumerate() {
            if let (true, Ok(value)) = (self.hides_capture(request, capture), value) {
                self.add(&value.bytes);
            }
        }
        let fields = String::from_utf8_lossy(&response.fields.bytes).into_owned();
        for line in fields.lines() {
            let Some((name, cookie)) = line.split_once(':') else { continue };
            let pair = cookie.split(';').next().and_then(|pair| pair.split_once('='));
            if let ("set-cookie", Some((_, value))) = (name.to_ascii_lowercase().as_str(), pair)
                && value.trim().len() >= LEAST_OF_COOKIE
            {
                self.add(value.trim().as_bytes());
            }
        }
    }

    fn add(&mut self, value: &[u8]) {
        if self.secrets == Secrets::Shown || value.is_empty() {
            return;
        }
        let escaped = |escape: Escape| {
            let mut out = Vec::new();
            escape.write(value, &mut out);
            out
        };
        let forms =
            [value.to_vec(), escaped(Escape::Url), escaped(Escape::Json), escaped(Escape::Base64)];
        self.values.extend(forms.iter().map(|form| String::from_utf8_lossy(form).into_owned()));
        self.values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        self.values.dedup();
    }

    /// A text without the values that are secret.
    pub(super) fn text(&self, text: &str) -> String {
        let mut shown = text.to_owned();
        for value in self.values.iter().filter(|value| text.contains(value.as_str())) {
            shown = without(&shown, value);
        }
        shown
    }

    /// The value of a field.
    pub(super) fn field(&self, name: &str, value: &str) -> String {
        self.target(self.secrets.seen_header(name, value))
    }

    /// A path or a URL with its query.
    pub(super) fn target(&self, text: &str) -> String {
        match text.split_once('?') {
            Some((path, query)) => self.text(&format!("{path}?{}", self.pairs(query))),
            None => self.text(text),
        }
    }

    /// Pairs of names and values, as in a query or a form.
    fn pairs(&self, text: &str) -> String {
        let pair = |pair: &str| match pair.split_once('=') {
            Some((name, value)) if self.secrets.hides(name) && !value.is_empty() => {
                format!("{name}={REDACTED}")
            }
            _ => pair.to_owned(),
        };
        text.split('&').map(pair).collect::<Vec<_>>().join("&")
    }

    /// A form (`application/x-www-form-urlencoded`).
    pub(super) fn form(&self, text: &str) -> String {
        self.text(&self.pairs(text))
    }

    /// JSON, laid out; `None`: it is none.
    pub(super) fn json(&self, text: &str) -> Option<String> {
        let hides = |name: &str| self.secrets.hides(name);
        super::json::laid_out(text, hides, REDACTED).map(|text| self.text(&text))
    }
}

/// Names and values of the header fields of all requests.
fn fields(plan: &Parts) -> impl Iterator<Item = (&str, &str)> {
    let all = plan.requests.list.iter().flat_map(|request| &request.headers);
    all.map(|(name, value)| (name.as_str(), value.as_str()))
}

/// `text` with [`REDACTED`] for every `value`; for a short one where no letter or digit is next to it.
fn without(text: &str, value: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = None;
    while let Some(at) = rest.find(value) {
        let (head, tail) = (&rest[..at], &rest[at + value.len()..]);
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let is_alone =
            !is_word(head.chars().next_back().or(before)) && !is_word(tail.chars().next());
        out.push_str(head);
        let is_hidden = is_alone || value.len() >= LEAST_ANYWHERE;
        out.push_str(if is_hidden { REDACTED } else { value });
        before = value.chars().next_back();
        rest = tail;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masks(values: &[&str]) -> Masks {
        let mut masks =
            Masks { secrets: Secrets::Hidden, values: Vec::new(), captures: Vec::new() };
        values.iter().for_each(|value| masks.add(value.as_bytes()));
        masks
    }

    #[test]
    fn values_are_hidden_however_they_are_written() {
        let masks = masks(&["pa ss/\"word"]);
        for text in ["pa ss/\"word", "pa%20ss%2F%22word", "pa ss/\\\"word", "cGEgc3MvIndvcmQ="] {
            assert_eq!(masks.text(&format!("<{text}>")), "<[redacted]>", "{text}");
        }
        assert_eq!(masks.text("pass"), "pass");
    }

    #[test]
    fn short_values_are_hidden_where_they_stand_alone() {
        let masks = masks(&["ab"]);
        assert_eq!(masks.text("ab,cab ab"), "[redacted],cab [redacted]");
        assert_eq!(masks.text("abab"), "abab");
    }

    #[test]
    fn names_hide_parameters_fields_and_members() {
        let masks = masks(&[]);
        assert_eq!(masks.target("/a?page=2&token=x&key="), "/a?page=2&token=[redacted]&key=");
        assert_eq!(masks.field("Location", "/in?session=1"), "/in?session=[redacted]");
        assert_eq!(masks.field("Set-Cookie", "a=b"), REDACTED);
        assert_eq!(masks.form("user=ann&password=x"), "user=ann&password=[redacted]");
        assert_eq!(
            masks.json("{\"password\":\"x\"}").unwrap(),
            "{\n  \"password\": \"[redacted]\"\n}"
        );
        let shown = Masks { secrets: Secrets::Shown, ..masks };
        assert_eq!(shown.form("user=ann&password=x"), "user=ann&password=x");
    }
}
