//! Access logs in the Common and Combined Log Format: the most frequent requests, with weights.
//!
//! `line` reads a line, `top` counts requests in bounded memory. A log may have gigabytes, so it can be
//! read piece by piece.

mod line;
mod top;

use toml_edit::Value;

use self::line::Line;
use self::top::Top;
use crate::draft::{Draft, Step, counted, slug};
use crate::error::{Format, ImportError};
use crate::finish::finish;
use crate::recorded::{base_url, is_method};
use crate::secrets::Secrets;
use crate::target::Target;
use crate::{Imported, Options};

pub(crate) use line::days;

/// Requests in a plan by default.
const REQUESTS: usize = 30;
/// A longer line is counted as broken.
const MAX_LINE: usize = 16 * 1024;
/// The largest weight that plans accept.
const MAX_WEIGHT: u64 = 1_000_000;
/// Requests that a comment names.
const NAMED: usize = 5;
/// Characters of a path in a comment.
const SHOWN: usize = 60;

/// A plan from a whole access log.
pub fn access_log(bytes: &[u8], options: &Options) -> Result<Imported, ImportError> {
    let mut log = AccessLog::default();
    log.feed(bytes);
    log.finish(options)
}

/// Reads an access log piece by piece, in memory that does not grow with it.
///
/// Call [`AccessLog::feed`] with each piece, cut anywhere, then [`AccessLog::finish`].
#[derive(Debug, Default)]
pub struct AccessLog {
    /// The beginning of a line whose end is in the next piece.
    rest: Vec<u8>,
    /// The line is longer than [`MAX_LINE`]: its rest is skipped.
    skips: bool,
    lines: u64,
    broken: u64,
    first_broken: Option<u64>,
    other_methods: u64,
    top: Top,
    rate: Rate,
}

impl AccessLog {
    /// Takes the next bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        let mut pieces = bytes.split(|byte| *byte == b'\n');
        let last = pieces.next_back().unwrap_or_default();
        for piece in pieces {
            self.add(piece);
            self.end_line();
        }
        self.add(last);
    }

    /// The plan.
    pub fn finish(mut self, options: &Options) -> Result<Imported, ImportError> {
        if !self.rest.is_empty() || self.skips {
            self.end_line();
        }
        let counted = self.top.total();
        if counted == 0 {
            let (problem, remedy) = match (self.lines, self.other_methods) {
                (0, _) => ("it has no lines".to_owned(), "import a log with requests"),
                (_, 0) => (
                    format!(
                        "none of its {} lines is in the Common or Combined Log Format",
                        self.lines
                    ),
                    "import lines like: 192.0.2.1 - - [01/Jan/2024:00:00:00 +0000] \"GET / HTTP/1.1\" 200 12",
                ),
                _ => (
                    "it has only requests with bodies, which logs do not keep".to_owned(),
                    "import a log with GET or HEAD requests",
                ),
            };
            return Err(ImportError::Empty {
                format: Format::AccessLog,
                problem,
                remedy: remedy.to_owned(),
            });
        }
        let mut secrets = Secrets::default();
        self.draft(options, &mut secrets).map(|draft| finish(draft, secrets))
    }

    fn add(&mut self, piece: &[u8]) {
        if self.skips || self.rest.len() + piece.len() > MAX_LINE {
            self.skips = true;
            self.rest.clear();
        } else {
            self.rest.extend_from_slice(piece);
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.rest);
        let skipped = std::mem::take(&mut self.skips);
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches('\r');
        if !skipped && text.trim().is_empty() {
            self.lines += 1;
            return;
        }
        self.lines += 1;
        let parsed = if skipped { None } else { line::parse(text) };
        match parsed {
            Some(line) if is_method(line.method) => self.count(&line),
            _ => {
                self.broken += 1;
                self.first_broken.get_or_insert(self.lines);
            }
        }
        // The buffer is used again.
        self.rest = line;
        self.rest.clear();
    }

    fn count(&mut self, line: &Line<'_>) {
        if let Some(at_s) = line.at_s {
            self.rate.count(at_s);
        }
        match line.method {
            "GET" | "HEAD" => self.top.count(line.method, &line.path, line.status),
            _ => self.other_methods += 1,
        }
    }

    fn draft(&self, options: &Options, secrets: &mut Secrets) -> Result<Draft, ImportError> {
        let url = base_url(options.url.as_deref(), "http://localhost:8080")?;
        let mut draft = Draft { url, ..Draft::default() };
        if options.url.is_none() {
            draft.remark("guess: a log does not name its server; the URL is to be set");
        }
        let list = self.top.list();
        let most = options.max_requests.unwrap_or(REQUESTS).max(1);
        let (kept, others) = list.split_at(most.min(list.len()));
        let total = self.top.total();
        let kept_count: u64 = kept.iter().map(|one| one.count).sum();
        draft.remark(format!(
            "Log: {} lines, {total} requests with GET or HEAD, of which the {} here are {:.1} %",
            self.lines,
            kept.len(),
            kept_count as f64 * 100.0 / total as f64
        ));
        if !others.is_empty() || self.top.missed() > 0 {
            draft.remark(self.others(others, total - kept_count));
        }
        if self.other_methods > 0 {
            draft.remark(format!(
                "Left out: {} with other methods: logs have no bodies",
                counted(self.other_methods as usize, "request")
            ));
        }
        if let Some(first) = self.first_broken {
            draft.remark(format!(
                "Left out: {} not in the format, the first at line {first}",
                counted(self.broken as usize, "line")
            ));
        }
        if let Some((mean_per_s, peak_per_s)) = self.rate.seen() {
            draft.remark(format!(
                "Rate in the log: {} requests/s on average, {peak_per_s} in the busiest second",
                shown_rate(mean_per_s)
            ));
            // That of the requests which the plan has.
            let share = kept_count as f64 / (total + self.other_methods) as f64;
            let rate_per_s = mean_per_s * share;
            if rate_per_s >= LEAST_RATE_PER_S {
                draft.suggestions.push(format!(
                    "rate = {}",
                    Value::from(format!("{}/s", shown_rate(rate_per_s)))
                ));
            }
        }
        // Weights keep their proportion below the largest one.
        let largest = kept.iter().map(|one| one.count).max().unwrap_or(1);
        let divisor = largest.div_ceil(MAX_WEIGHT).max(1);
        for one in kept {
            let mut step = Step { target: Target::parse(&one.path), ..Step::default() };
            top::with_variables(&mut step, secrets);
            step.name = if one.method == "GET" {
                String::new()
            } else {
                slug(&format!("head-{}", one.path))
            };
            step.method = if one.method == "GET" { String::new() } else { one.method.clone() };
            // By default these would count as errors.
            step.expect_status = one.status.filter(|status| *status >= 400);
            step.weight = Some((one.count / divisor).max(1));
            draft.requests.push(step);
        }
        Ok(draft)
    }

    fn others(&self, others: &[top::Counted], count: u64) -> String {
        let name = |one: &top::Counted| {
            // A query may have secrets.
            let path = one.path.split('?').next().unwrap_or_default();
            let path: String = path.chars().take(SHOWN).collect();
            format!("{path} ({})", one.count)
        };
        let mut names: Vec<String> = others.iter().take(NAMED).map(name).collect();
        let more = others.len().saturating_sub(NAMED);
        if more > 0 || self.top.missed() > 0 {
            names.push(if self.top.missed() > 0 {
                "and rarer ones".to_owned()
            } else {
                format!("and {more} more")
            });
        }
        format!("Left out: {}: {}", counted(count as usize, "rarer request"), names.join(", "))
    }
}

/// Lower ones have no digit in what is shown.
const LEAST_RATE_PER_S: f64 = 0.0001;

fn shown_rate(per_s: f64) -> String {
    match per_s {
        10.0.. => format!("{per_s:.0}"),
        0.1.. => format!("{per_s:.1}"),
        LEAST_RATE_PER_S.. => format!("{per_s:.4}"),
        _ => format!("less than {LEAST_RATE_PER_S}"),
    }
}

/// Requests per second: of the whole, and of the busiest second. Lines of a log are nearly in order.
#[derive(Debug, Default)]
struct Rate {
    first_s: Option<i64>,
    last_s: i64,
    count: u64,
    in_last: u64,
    busiest: u64,
}

impl Rate {
    fn count(&mut self, at_s: i64) {
        self.count += 1;
        let first_s = *self.first_s.get_or_insert(at_s);
        self.first_s = Some(first_s.min(at_s));
        if self.count == 1 || at_s > self.last_s {
            self.last_s = at_s;
            self.in_last = 0;
        }
        if at_s == self.last_s {
            self.in_last += 1;
            self.busiest = self.busiest.max(self.in_last);
        }
    }

    /// Requests per second on average and in the busiest second; needs two seconds at least.
    fn seen(&self) -> Option<(f64, u64)> {
        let span_s = self.last_s.checked_sub(self.first_s?)?;
        (span_s > 0).then(|| (self.count as f64 / (span_s + 1) as f64, self.busiest))
    }
}
