//! Secrets of exchanges that are looked at: hidden by their names, and wherever their values come again.
//!
//! What is a secret, and in which forms it may come, is for crate plan to say ([`Secrets`], [`Hidden`]). The values are
//! those of the environment, of columns and variables with telling names, of whatever is sent or came in a place with such
//! a name, and of cookies. A server that repeats one of them in a body does not make it known.

use candor_engine::Exchange;
use candor_plan::holes;
use candor_plan::redact::{Hidden, LEAST_OF_COOKIE, REDACTED};
use candor_plan::{Parts, Plan, Secrets};

use super::plan::Rows;

/// What is to be hidden.
pub(super) struct Masks {
    secrets: Secrets,
    hidden: Hidden,
    /// For each capture of each request, whether its value is a secret.
    captures: Vec<Vec<bool>>,
}

impl Masks {
    /// Those of a plan, with the values of its rows.
    pub(super) fn new(plan: &Plan, rows: &Rows) -> Self {
        let secrets = plan.secrets;
        let mut masks = Masks { secrets, hidden: Hidden::of(plan), captures: Vec::new() };
        for row in rows {
            for (set, values) in plan.data.iter().zip(row) {
                for (column, value) in set.columns.iter().zip(values) {
                    if masks.hides_column(plan, &set.name, column) {
                        masks.hidden.add(value);
                    }
                }
            }
        }
        let steps = plan.work.journeys().iter().flat_map(|one| &one.steps);
        let is_secret = |one: &candor_plan::Capture| {
            let place = one.source.split_once(':');
            let is_place = place.is_some_and(|(kind, name)| {
                kind == "cookie" || kind == "header" && secrets.hides(name, "")
            });
            secrets == Secrets::Hidden
                && (is_place
                    || secrets.hides(&one.variable, "")
                    || masks.is_sent(plan, &one.variable))
        };
        masks.captures = steps.map(|step| step.captures.iter().map(is_secret).collect()).collect();
        masks
    }

    /// Whether the value of a column is hidden.
    pub(super) fn hides_column(&self, plan: &Plan, set: &str, column: &str) -> bool {
        self.secrets == Secrets::Hidden
            && (self.secrets.hides(column, "") || self.is_sent(plan, &format!("{set}.{column}")))
    }

    /// Whether a value goes into a field that is hidden.
    fn is_sent(&self, plan: &Plan, name: &str) -> bool {
        let mut hidden = fields(plan).filter(|(field, _)| self.secrets.hides(field, ""));
        hidden.any(|(_, value)| holes::has_holes(value) && value.contains(name))
    }

    /// Whether the value of a capture is hidden.
    pub(super) fn hides_capture(&self, request: usize, capture: usize) -> bool {
        let of_request = self.captures.get(request);
        of_request.and_then(|all| all.get(capture)).copied().unwrap_or_default()
    }

    /// The secrets that were sent, and those that came with the response.
    pub(super) fn learn(&mut self, exchange: &Exchange) {
        if self.secrets == Secrets::Shown {
            return;
        }
        let head = String::from_utf8_lossy(&exchange.head.bytes).into_owned();
        let mut lines = head.lines();
        let target = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap_or_default();
        self.hidden.pairs(target.split_once('?').map_or("", |(_, query)| query));
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            self.hidden.field(name, value.trim());
        }
        self.hidden.content(&String::from_utf8_lossy(&exchange.body.bytes));
        let Some(response) = &exchange.response else { return };
        for (capture, value) in response.captured.iter().enumerate() {
            if let (true, Ok(value)) =
                (self.hides_capture(exchange.request as usize, capture), value)
            {
                self.hidden.add(&value.bytes);
            }
        }
        let fields = String::from_utf8_lossy(&response.fields.bytes).into_owned();
        for (name, value) in fields.lines().filter_map(|line| line.split_once(':')) {
            if !name.eq_ignore_ascii_case("set-cookie") {
                self.hidden.field(name, value.trim());
                continue;
            }
            let pair = value.split(';').next().and_then(|pair| pair.split_once('='));
            let value = pair.map_or("", |(_, value)| value.trim());
            if value.len() >= LEAST_OF_COOKIE {
                self.hidden.add(value.as_bytes());
            }
        }
        self.hidden.json_text(&String::from_utf8_lossy(&response.body.bytes));
    }

    /// A text without the values that are secret.
    pub(super) fn text(&self, text: &str) -> String {
        self.hidden.text(text).into_owned()
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
            Some((name, value)) if self.secrets.hides(name, value) && !value.is_empty() => {
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
        let hides = |name: &str, value: &str| self.secrets.hides(name, value);
        super::json::laid_out(text, hides, REDACTED).map(|text| self.text(&text))
    }
}

/// Names and values of the header fields of all requests.
fn fields(plan: &Parts) -> impl Iterator<Item = (&str, &str)> {
    let all = plan.work.requests().iter().flat_map(|request| &request.headers);
    all.map(|(name, value)| (name.as_str(), value.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masks(values: &[&str]) -> Masks {
        let mut hidden = Hidden::default();
        values.iter().for_each(|value| hidden.add(value.as_bytes()));
        Masks { secrets: Secrets::Hidden, hidden, captures: Vec::new() }
    }

    #[test]
    fn what_was_sent_is_hidden_where_it_comes_again() {
        let text = |text: &str| candor_engine::Text {
            bytes: text.as_bytes().to_vec(),
            length: text.len() as u64,
        };
        let mut masks = masks(&[]);
        masks.learn(&Exchange {
            head: text(
                "POST /a?token=q1w2e3r4&page=2 HTTP/1.1\r\nAuthorization: Basic YW5uOnN3b3JkZmlzaA==\r\n\r\n",
            ),
            body: text(r#"{"password":"hunt er2","user":"ann"}"#),
            response: Some(candor_engine::Response {
                fields: text("Set-Cookie: sid=0123abcd; Path=/\r\nX-Api-Key: k-7654321\r\n"),
                body: text(r#"{"id_token":"t-123456"}"#),
                ..candor_engine::Response::default()
            }),
            ..Exchange::default()
        });
        let echo = "ann q1w2e3r4 YW5uOnN3b3JkZmlzaA== ann:swordfish swordfish hunt%20er2 HUNT+ER2 0123abcd \
                    k-7654321 t-123456 page 2";
        assert_eq!(masks.text(echo).replace(REDACTED, "*"), "ann * * * * * * * * * page 2");
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
