//! What a try shows: each exchange line by line, and what would break.
//!
//! Lines of the request begin with `>`, those of the response with `<`, so that no server can write lines of ours.
//! All text from outside is made visible and cut, and goes through the masks.

use std::fmt::Write;

use candor_engine::{Exchange, Response, Text};
use candor_plan::journey::Variables;
use candor_plan::units::{fmt_bytes, fmt_count, fmt_duration_ns, fmt_plural};
use candor_plan::{
    BodyExpect, HttpVersion, OwnReply, Plan, ProxyWay, Replies, Step, Target, Think,
};
use candor_record::{ErrorKind, Failures, Outcome, Reason, RunRecord, StepFailure, Traced};
use candor_report::{Style, Tone, remedies, visible};

use super::mask::Masks;
use super::plan::{Rows, Trial};
use crate::onlooker::Exchanged;

/// Of a message, as JSON.
const MOST_SHOWN_BYTES: usize = 4096;
/// Lines of a body.
const MOST_LINES: usize = 40;
/// Characters of a line.
const MOST_CHARS: usize = 300;
/// Characters of a value, and of what came in the place of one.
const MOST_OF_VALUE: usize = 80;
/// Columns of a row.
const MOST_COLUMNS: usize = 12;

/// The beginning of all.
pub(super) fn beginning(plan: &Plan, style: Style) -> String {
    let url = visible(&plan.secrets.url(&plan.target.url)).into_owned();
    let what = match plan.work.journeys().len() {
        many if plan.work.are_requests() => fmt_plural(many as u64, "request"),
        0 => fmt_plural(plan.work.requests().len() as u64, "request"),
        1 => "a user of 1 journey".to_owned(),
        many => format!("a user of each of {many} journeys"),
    };
    format!("{}: {what}\n", style.paint(Tone::Strong, &url))
}

/// The end of all: what would break, if anything.
pub(super) fn ending(tried: usize, problems: &[String], style: Style) -> String {
    let requests = fmt_plural(tried as u64, "request");
    if problems.is_empty() {
        return format!("\n{} {requests}, all as expected\n", style.paint(Tone::Good, "✓"));
    }
    let mut out = format!("\n{}\n", style.paint(Tone::Bad, "Would break:"));
    for problem in problems {
        // Writing to a string does not fail, here and below.
        let _ = writeln!(out, "  {problem}");
    }
    out
}

/// One run of a try.
pub(super) struct View<'a> {
    trial: &'a Trial,
    rows: &'a Rows,
    exchanged: &'a [Exchanged],
    failures: Vec<Failures>,
    has_completed: bool,
    masks: Masks,
    style: Style,
    out: String,
    pub(super) problems: Vec<String>,
}

impl<'a> View<'a> {
    pub(super) fn new(
        trial: &'a Trial,
        rows: &'a Rows,
        exchanged: &'a [Exchanged],
        record: &RunRecord,
        style: Style,
    ) -> Self {
        let mut masks = Masks::new(&trial.plan, rows);
        exchanged.iter().for_each(|one| masks.learn(&one.exchange));
        let counts = record.total.journeys.first();
        let failures = counts.map(|one| one.failed.iter().chain(&one.passed_over).copied());
        View {
            trial,
            rows,
            exchanged,
            failures: failures.into_iter().flatten().collect(),
            has_completed: counts.is_some_and(|one| one.completed > 0),
            masks,
            style,
            out: String::new(),
            problems: Vec::new(),
        }
    }

    /// All of it.
    pub(super) fn text(&mut self) -> String {
        if let Some(journey) = &self.trial.journey {
            let what = if self.trial.plan.work.are_requests() { "" } else { "Journey " };
            let heading = format!("{what}{}", visible(&journey.name));
            let _ = writeln!(self.out, "\n{}", self.style.paint(Tone::Strong, &heading));
            self.row(0);
            if self.exchanged.is_empty() && self.failures.is_empty() && !self.has_completed {
                self.problem(None, "it has no user: there are fewer rows than journeys");
            }
        }
        for request in 0..self.trial.plan.work.requests().len() {
            self.request(request);
        }
        std::mem::take(&mut self.out)
    }

    /// A line with the values of a row.
    fn row(&mut self, number: usize) {
        let Some(row) = self.rows.get(number) else { return };
        let plan = &self.trial.plan;
        let mut shown = Vec::new();
        for (set, values) in plan.data.iter().zip(row) {
            for (column, value) in set.columns.iter().zip(values) {
                let is_hidden = self.masks.hides_column(plan, &set.name, column);
                let value = match value.as_slice() {
                    [] => "(empty)".to_owned(),
                    _ if is_hidden => candor_plan::redact::REDACTED.to_owned(),
                    value => self.value(value),
                };
                shown.push(format!("{}.{} = {value}", visible(&set.name), visible(column)));
            }
        }
        if shown.len() > MOST_COLUMNS {
            shown.truncate(MOST_COLUMNS);
            shown.push("…".to_owned());
        }
        self.faint(&format!("with {}", shown.join(", ")));
    }

    /// A request of the plan, or a step.
    fn request(&mut self, request: usize) {
        let plan = &self.trial.plan;
        let is_made = |one: &Exchanged| one.exchange.request as usize == request;
        let step = self.trial.journey.as_ref().map(|one| &one.steps[request]);
        // Of the redirects that a request may have, those that came.
        if step.is_some_and(|step| step.redirect.is_some()) && !self.exchanged.iter().any(is_made) {
            return;
        }
        let name = &plan.work.requests()[request].name;
        let title = match &self.trial.journey {
            Some(_) => format!("{}. {}", request + 1, visible(name)),
            None => visible(name).into_owned(),
        };
        let _ =
            writeln!(self.out, "\n{}", self.style.paint(Tone::Strong, &self.masks.target(&title)));
        if let Some(remarks) = step.and_then(remarks) {
            self.faint(&remarks);
        }
        if step.is_none() {
            self.row(request);
        }
        let exchanged = self.exchanged;
        let mut all = exchanged.iter().filter(|one| one.exchange.request as usize == request);
        let Some(first) = all.next() else { return self.not_sent(request, step) };
        for one in std::iter::once(first).chain(all) {
            self.exchange(request, one);
        }
    }

    /// Why a request was not sent.
    fn not_sent(&mut self, request: usize, step: Option<&Step>) {
        let unset = |one: &Failures| match one.why {
            _ if one.request as usize != request => None,
            StepFailure::Unset(variable) => Some((variable, "has no value")),
            StepFailure::Unfit(variable) => Some((variable, "does not fit into the message")),
            _ => None,
        };
        let went_on = self.has_completed
            || self.exchanged.iter().any(|one| one.exchange.request as usize > request);
        if let Some((variable, why)) = self.failures.iter().find_map(unset) {
            let variables = Variables::of(self.trial.plan.work.journeys());
            let variable =
                visible(variables.names().get(variable as usize).unwrap_or(&"?")).into_owned();
            self.problem(Some(request), &format!("not sent: ${{{variable}}} {why}"));
        } else if let Some(step) = step.filter(|_| went_on) {
            // Nothing else makes a user pass a step over.
            let when = visible(step.when.as_deref().unwrap_or_default()).into_owned();
            self.faint(&format!("not made: its condition {when} is empty"));
        } else {
            self.faint("not reached");
        }
    }

    fn exchange(&mut self, request: usize, one: &Exchanged) {
        let Exchanged { exchange, end } = one;
        let version = match exchange.is_h2 {
            _ if self.target(request).http == HttpVersion::H3 => "HTTP/3",
            true => "HTTP/2",
            false => "HTTP/1.1",
        };
        let own = self.trial.plan.work.requests()[request].reply.as_ref();
        match own {
            Some(OwnReply::Awaited(_)) => self.faint("it sends nothing, and waits for a message"),
            _ => self.sent(exchange, version),
        }
        let waited = |at_ns: u64| fmt_duration_ns(at_ns.saturating_sub(end.sent_ns));
        match &exchange.response {
            Some(_) if self.has_no_reply(request) => self.good("sent; it has no reply"),
            Some(response) => {
                let times = match end.first_byte_ns {
                    _ if end.done_ns == end.sent_ns => "it was there before".to_owned(),
                    0 => format!("complete after {}", waited(end.done_ns)),
                    first => format!(
                        "first byte after {}, complete after {}",
                        waited(first),
                        waited(end.done_ns)
                    ),
                };
                let line = match self.is_message() {
                    true => "message".to_owned(),
                    false => format!("{version} {}", response.status),
                };
                let (line, times) =
                    (self.style.paint(Tone::Strong, &line), self.style.paint(Tone::Faint, &times));
                let _ = writeln!(self.out, "< {line}   {times}");
                self.fields('<', &response.fields);
                let kind = field(&response.fields, "content-type");
                match self.is_call() {
                    true => self.messages('<', request, &response.body, true),
                    false => self.body('<', &response.body, &kind),
                }
                self.judged(request, exchange, response, end);
            }
            None => {
                let why = match (end.outcome, &exchange.problem) {
                    (Outcome::Unfinished, _) => "interrupted".to_owned(),
                    (_, Some(problem)) => self.why(problem),
                    (Outcome::Failed(kind), None) => kind.sentence().to_owned(),
                    (Outcome::BrokenOff, None) => {
                        return self.good("broken off, as the plan asks for");
                    }
                    (_, None) => "no response".to_owned(),
                };
                let after = waited(end.done_ns);
                // A status of gRPC is a response, of which nothing else is kept.
                let none = if why.starts_with("gRPC status") { "" } else { "no response: " };
                self.problem(Some(request), &format!("{none}{why} (after {after})"));
            }
        }
    }

    /// What is wrong, and what to do about it if that is known.
    fn why(&self, problem: &Reason) -> String {
        let words = visible(&self.masks.text(&problem.words)).into_owned();
        match problem.cause.map(remedies::of) {
            None => words,
            Some(remedy) => format!("{words}; {remedy}"),
        }
    }

    /// Where a request goes to.
    fn target(&self, request: usize) -> &'a Target {
        let plan = &self.trial.plan;
        plan.target_of(&plan.work.requests()[request])
    }

    /// Whether requests are messages of a WebSocket, which have no head and no status.
    fn is_message(&self) -> bool {
        self.trial.plan.wire.websocket().is_some()
    }

    /// Whether a message is done when it was sent.
    fn has_no_reply(&self, request: usize) -> bool {
        let plan = &self.trial.plan;
        let common = plan.wire.websocket().is_some_and(|one| one.replies == Replies::Nothing);
        match &plan.work.requests()[request].reply {
            None => common,
            Some(own) => *own == OwnReply::Nothing,
        }
    }

    /// Whether requests are calls, of which the status of the call decides, and not that of HTTP.
    fn is_call(&self) -> bool {
        self.trial.plan.wire.calls().is_some()
    }

    /// The messages of a call: bodies are binary. Those that cannot be shown as JSON are bytes.
    fn messages(&mut self, mark: char, request: usize, body: &Text, is_response: bool) {
        let plan = &self.trial.plan;
        let path = &plan.work.requests()[request].path;
        let Some(calls) = plan.wire.calls() else { return };
        let method = calls.schema().and_then(|schema| schema.method(path));
        let Ok(method) = method else { return };
        let kind = if is_response { &method.output } else { &method.input };
        let frames = calls.form.messages(method.kind, &body.bytes);
        let mut rest = &frames[..];
        while let Some((message, behind)) = candor_grpc::split_message(rest) {
            let shown = match candor_grpc::show(kind, calls.codec, message, MOST_SHOWN_BYTES) {
                Ok(json) => self.masks.json(&json).unwrap_or_else(|| self.masks.text(&json)),
                Err(error) => format!("({error})"),
            };
            let _ = writeln!(self.out, "{mark}");
            for line in shown.lines().take(MOST_LINES) {
                let line = self.line(line);
                let _ = writeln!(self.out, "{mark} {line}");
            }
            rest = behind;
        }
        if !rest.is_empty() || body.is_cut() {
            let line = format!("… ({} in all)", fmt_bytes(body.length));
            let _ = writeln!(self.out, "{mark} {}", self.style.paint(Tone::Faint, &line));
        }
    }

    fn sent(&mut self, exchange: &Exchange, version: &str) {
        let target = self.target(exchange.request as usize);
        if let Some(proxy) = &target.proxy {
            let way = match proxy.way {
                ProxyWay::Forward => "",
                ProxyWay::Connect => ", by CONNECT",
                ProxyWay::Socks5 => ", by SOCKS 5",
            };
            let line = format!("through the proxy {}{way}", target.endpoint);
            self.faint(&visible(&line));
        }
        if self.is_message() {
            let _ = writeln!(self.out, "> {}", self.style.paint(Tone::Strong, "message"));
            return self.body('>', &exchange.body, "");
        }
        let head = String::from_utf8_lossy(&exchange.head.bytes);
        let line = head.lines().next().unwrap_or_default();
        let mut words = line.split(' ');
        let (method, target) = (words.next(), words.next().unwrap_or_default());
        let target = self.line(&self.masks.target(target));
        let line = format!("{} {target} {version}", visible(method.unwrap_or_default()));
        let _ = writeln!(self.out, "> {}", self.style.paint(Tone::Strong, &line));
        let fields = head.split_once('\n').map_or("", |(_, fields)| fields).to_owned();
        let cut = exchange.head.is_cut();
        self.field_lines('>', &fields, cut);
        if self.is_call() {
            return self.messages('>', exchange.request as usize, &exchange.body, false);
        }
        let kind = field(&exchange.head, "content-type");
        self.body('>', &exchange.body, &kind);
    }

    fn fields(&mut self, mark: char, fields: &Text) {
        let text = String::from_utf8_lossy(&fields.bytes).into_owned();
        self.field_lines(mark, &text, fields.is_cut());
    }

    fn field_lines(&mut self, mark: char, fields: &str, is_cut: bool) {
        for line in fields.split('\n').map(|line| line.trim_end_matches('\r')) {
            let Some((name, value)) = line.split_once(':').filter(|_| !line.is_empty()) else {
                continue;
            };
            let value = self.masks.field(name, value.trim());
            let (name, value) = (self.line(name), self.line(&value));
            let name = self.style.paint(Tone::Faint, &format!("{name}:"));
            let _ = writeln!(self.out, "{mark} {name} {value}");
        }
        if is_cut {
            let _ = writeln!(self.out, "{mark} …");
        }
    }

    fn body(&mut self, mark: char, body: &Text, kind: &str) {
        if body.length == 0 {
            return;
        }
        let _ = writeln!(self.out, "{mark}");
        let all = fmt_bytes(body.length);
        let text = match std::str::from_utf8(&body.bytes) {
            Ok(text) => text,
            // Cut in the middle of a character.
            Err(error) if body.is_cut() && error.error_len().is_none() => {
                std::str::from_utf8(&body.bytes[..error.valid_up_to()]).unwrap_or_default()
            }
            Err(_) => {
                let line = format!("({all} that are not text)");
                let _ = writeln!(self.out, "{mark} {}", self.style.paint(Tone::Faint, &line));
                return;
            }
        };
        let shown = match body.is_cut() {
            false => self.masks.json(text),
            true => None,
        };
        let shown = shown.unwrap_or_else(|| match kind.contains("x-www-form-urlencoded") {
            true => self.masks.form(text),
            false => self.masks.text(text),
        });
        let mut lines = shown.lines();
        for line in lines.by_ref().take(MOST_LINES) {
            let line = self.line(line);
            let _ = writeln!(self.out, "{mark} {line}");
        }
        if lines.next().is_some() || body.is_cut() {
            let line = format!("… ({all} in all)");
            let _ = writeln!(self.out, "{mark} {}", self.style.paint(Tone::Faint, &line));
        }
    }

    /// What was expected of a response, what was captured from it, and whether that holds.
    fn judged(&mut self, request: usize, exchange: &Exchange, response: &Response, end: &Traced) {
        let expect = &self.trial.plan.work.requests()[request].expect;
        let status = format!("status {}, expected {}", response.status, expect.status);
        // What could not be captured is told of each capture.
        if !matches!(end.outcome, Outcome::Ok | Outcome::Failed(ErrorKind::Capture)) {
            let why = match (&exchange.problem, end.outcome) {
                (Some(problem), Outcome::Failed(kind)) if is_redirect(kind) => {
                    format!("{}; {}", kind.sentence(), self.why(problem))
                }
                (None, Outcome::Failed(kind)) if is_redirect(kind) => kind.sentence().to_owned(),
                (Some(problem), _) if problem.cause.is_some() => self.why(problem),
                _ if !self.is_message()
                    && !self.is_call()
                    && !expect.status.contains(response.status) =>
                {
                    let to = self.redirect(response).map(|hint| format!("; {hint}"));
                    status + &to.unwrap_or_default()
                }
                (Some(problem), _) => self.why(problem),
                (None, Outcome::Failed(kind)) => kind.sentence().to_owned(),
                (None, _) => status,
            };
            return self.problem(Some(request), &why);
        }
        if self.is_call() {
            self.good("gRPC status OK");
        } else if !self.is_message() && !expect.status.contains(response.status) {
            return self.good(&format!("status {}, followed", response.status));
        } else if !self.is_message() {
            self.good(&status);
            if let Some(hint) = self.redirect(response) {
                self.faint(&hint);
            }
        }
        if expect.body != BodyExpect::Any {
            self.good(&format!("body of {} bytes, as expected", fmt_count(response.body.length)));
        }
        let Some(journey) = &self.trial.journey else { return };
        for (number, capture) in journey.steps[request].captures.iter().enumerate() {
            let name = visible(&capture.variable).into_owned();
            let source = visible(&capture.source).into_owned();
            match response.captured.get(number) {
                Some(Ok(_)) if self.was_refused(request, number) => {
                    let why = format!("capture {name} ({source}): there is no room for its value");
                    self.problem(Some(request), &why);
                }
                Some(Ok(value)) => {
                    let value = match self.masks.hides_capture(request, number) {
                        true => candor_plan::redact::REDACTED.to_owned(),
                        false => self.value(&value.bytes),
                    };
                    let from = self.style.paint(Tone::Faint, &source);
                    self.good(&format!("{name} = {value}   {from}"));
                }
                Some(Err(why)) => {
                    let came = self.came(response);
                    let why = format!("capture {name} ({source}): {why}; {came}");
                    self.problem(Some(request), &why);
                }
                None => {}
            }
        }
    }

    /// Of a redirect that is not followed: where it leads, and how to follow it.
    fn redirect(&self, response: &Response) -> Option<String> {
        let to = field(&response.fields, "location");
        let is_redirect = matches!(response.status, 301..=303 | 307 | 308) && !to.is_empty();
        let to = self.cut(&self.masks.field("location", &to));
        is_redirect.then(|| format!("a redirect to {to}; --location 5 follows up to 5"))
    }

    /// Whether the engine had no room for a captured value.
    fn was_refused(&self, request: usize, capture: usize) -> bool {
        let why = StepFailure::Capture(capture as u32);
        self.failures.iter().any(|one| (one.request as usize, one.why) == (request, why))
    }

    /// What came in the place of what was to be captured.
    fn came(&self, response: &Response) -> String {
        let kind = field(&response.fields, "content-type");
        let kind = if kind.is_empty() { String::new() } else { format!(" of {}", self.cut(&kind)) };
        let length = fmt_bytes(response.body.length);
        let body = String::from_utf8_lossy(&response.body.bytes);
        let body = self.masks.json(&body).unwrap_or_else(|| self.masks.text(&body));
        let body = body.split_whitespace().collect::<Vec<_>>().join(" ");
        match body.is_empty() {
            true => format!("it came with status {}{kind} and no body", response.status),
            false => format!(
                "it came with status {}{kind} and {length}: {}",
                response.status,
                self.cut(&body)
            ),
        }
    }

    fn good(&mut self, line: &str) {
        let mark = self.style.paint(Tone::Good, "✓");
        let _ = writeln!(self.out, "{mark} {line}");
    }

    fn problem(&mut self, request: Option<usize>, what: &str) {
        let mark = self.style.paint(Tone::Bad, "✗");
        let _ = writeln!(self.out, "{mark} {what}");
        let journey = self.trial.journey.as_ref().map(|one| visible(&one.name).into_owned());
        let names = self.trial.plan.work.requests();
        let name = request.map(|number| self.masks.target(&visible(&names[number].name)));
        let place: Vec<String> = journey.into_iter().chain(name).collect();
        self.problems.push(format!("{}: {what}", place.join(", ")));
    }

    fn faint(&mut self, line: &str) {
        let line = self.style.paint(Tone::Faint, line);
        let _ = writeln!(self.out, "{line}");
    }

    /// A value, hidden where it is a secret's.
    fn value(&self, value: &[u8]) -> String {
        self.cut(&self.masks.text(&String::from_utf8_lossy(value)))
    }

    fn cut(&self, text: &str) -> String {
        cut(text, MOST_OF_VALUE)
    }

    fn line(&self, text: &str) -> String {
        cut(text, MOST_CHARS)
    }
}

fn is_redirect(kind: ErrorKind) -> bool {
    use ErrorKind::{RedirectElsewhere, RedirectLimit, RedirectUnusable};
    matches!(kind, RedirectElsewhere | RedirectLimit | RedirectUnusable)
}

/// A text in one line of at most this many characters.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => visible(text).into_owned(),
        Some((end, _)) => format!("{}…", visible(&text[..end])),
    }
}

/// The value of the first field of this name; empty for none.
fn field(lines: &Text, name: &str) -> String {
    let text = String::from_utf8_lossy(&lines.bytes);
    let mut all = text.lines().filter_map(|line| line.split_once(':'));
    let found = all.find(|(own, _)| own.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.trim().to_ascii_lowercase()).unwrap_or_default()
}

/// How a step differs here from that of a run.
fn remarks(step: &Step) -> Option<String> {
    let think = match step.think {
        Think::None => None,
        Think::Fixed { ns } => Some(fmt_duration_ns(ns)),
        Think::Exponential { mean_ns } => Some(format!("exp {}", fmt_duration_ns(mean_ns))),
        Think::Uniform { low_ns, high_ns } => {
            Some(format!("uniform {} to {}", fmt_duration_ns(low_ns), fmt_duration_ns(high_ns)))
        }
    };
    let think = think.map(|think| format!("think time {think}: not waited for"));
    let repeat = match step.repeat {
        (1, 1) => None,
        (low, high) if low == high => Some(format!("repeat {low}: made once")),
        (low, high) => Some(format!("repeat {low} to {high}: made once")),
    };
    let all: Vec<String> = think.into_iter().chain(repeat).collect();
    (!all.is_empty()).then(|| all.join("; "))
}
