//! Figures that a server has of itself, asked for while a run goes on: once for each interval, by a thread of the
//! lowest priority for each figure. A source that is slow, wrong or away costs its values and nothing else: the thread
//! that says that an interval is over never waits, and each request has a time and a most number of bytes.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

use candor_plan::redact::Hidden;
use candor_plan::watch::{Watch, series};
use candor_report::document::watched::{Watched, WatchedSample};
use rustix::process::setpriority_process;
use rustix::thread::gettid;

use crate::target::http::{self, Answer};

/// The most time for one value.
const PATIENCE: Duration = Duration::from_millis(700);
/// The time that the end of a run waits for the last value.
const LAST: Duration = Duration::from_secs(1);
/// The lowest priority.
const NICEST: i32 = 19;

/// Figures that are watched.
pub struct Watcher {
    lookers: Vec<Looker>,
}

struct Looker {
    /// Ends of intervals; one waits at most.
    ends: SyncSender<u64>,
    /// What there is of it; shared, because its thread may be late.
    seen: Arc<Mutex<Watched>>,
    thread: thread::JoinHandle<()>,
}

impl Watcher {
    /// Begins to watch these figures. What their sources say is repeated without the values that are `hidden`, and
    /// without those of their URLs.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn start(asked: &[Watch], hidden: &Hidden) -> io::Result<Self> {
        let lookers = asked.iter().map(|one| Looker::start(one, hidden.clone()));
        let lookers = lookers.collect::<io::Result<_>>()?;
        Ok(Watcher { lookers })
    }

    /// An interval is over: asks for the figures, except for those whose source still owes the value before.
    pub fn interval(&self, end_ns: u64) {
        for one in &self.lookers {
            if let Err(TrySendError::Full(_)) = one.ends.try_send(end_ns) {
                one.seen.lock().unwrap_or_else(PoisonError::into_inner).lacks("it is too slow");
            }
        }
    }

    /// The figures, when the last values are there or late.
    pub fn end(self) -> Vec<Watched> {
        let until = Instant::now() + LAST;
        let end = |one: Looker| {
            drop(one.ends);
            while !one.thread.is_finished() && Instant::now() < until {
                thread::sleep(Duration::from_millis(5));
            }
            one.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
        };
        self.lookers.into_iter().map(end).collect()
    }
}

/// Enters that a value is missing.
trait Lacks {
    fn lacks(&mut self, why: &str);
}

impl Lacks for Watched {
    fn lacks(&mut self, why: &str) {
        self.missing += 1;
        self.why = Some(why.to_owned());
    }
}

impl Looker {
    fn start(watch: &Watch, mut hidden: Hidden) -> io::Result<Self> {
        hidden.url(&watch.url);
        let seen = Arc::new(Mutex::new(Watched {
            source: http::shown(watch.url.split('?').next().unwrap_or_default()),
            query: watch.query.clone(),
            ..Watched::default()
        }));
        let (ends, due) = sync_channel(1);
        let (own, watch) = (Arc::clone(&seen), watch.clone());
        let thread = thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || look_on((&watch, &hidden), &due, &own))?;
        Ok(Looker { ends, seen, thread })
    }
}

fn look_on(of: (&Watch, &Hidden), due: &Receiver<u64>, seen: &Mutex<Watched>) {
    // If the priority cannot be lowered, it stays.
    let _ = setpriority_process(Some(gettid()), NICEST);
    for end_ns in due {
        let found = look(of);
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        match found {
            Ok(Found { value, is_counter }) => {
                seen.samples.push(WatchedSample { end_ns, value });
                seen.is_counter |= is_counter;
            }
            Err(why) => seen.lacks(&why),
        }
    }
}

/// A value, and whether its source calls it a counter.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Found {
    value: f64,
    is_counter: bool,
}

fn look((watch, hidden): (&Watch, &Hidden)) -> Result<Found, String> {
    let answer = http::get(&watch.url, PATIENCE)?;
    let Answer { status: 200, is_cut: false, body } = answer else {
        return Err(match answer.is_cut {
            true => "the response is larger than 4 MiB".to_owned(),
            false => format!("the status was {}", answer.status),
        });
    };
    let text = std::str::from_utf8(&body).map_err(|_| "the response is not text".to_owned())?;
    let found = match &watch.select {
        Some(_) => exposed(text, (watch, hidden)),
        None => evaluated(text),
    }?;
    match found.value.is_finite() {
        true => Ok(found),
        false => Err(format!("the value was {}", found.value)),
    }
}

/// The sum of the series that are selected of a page of metrics, <https://prometheus.io/docs/instrumenting/exposition_formats/>.
fn exposed(page: &str, (watch, hidden): (&Watch, &Hidden)) -> Result<Found, String> {
    let select = watch.select.clone().unwrap_or_default();
    let wrong = |line: &str| {
        // A part of a secret would not be known for one.
        let begin: String = hidden.text(line).chars().take(60).collect();
        format!("this is not a line of metrics: {begin:?}")
    };
    let (mut sum, mut count, mut is_counter) = (0.0, 0u64, false);
    for line in page.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(comment) = line.strip_prefix('#') {
            let mut words = comment.split_ascii_whitespace();
            let is_its_type = words.next() == Some("TYPE") && words.next() == Some(&select.name);
            is_counter |= is_its_type && words.next() == Some("counter");
            continue;
        }
        let (one, rest) = series(line).ok_or_else(|| wrong(line))?;
        let value = rest.split_ascii_whitespace().next().and_then(|word| word.parse::<f64>().ok());
        let value = value.ok_or_else(|| wrong(line))?;
        if select.selects(&one) {
            (sum, count) = (sum + value, count + 1);
        }
    }
    match count {
        0 => Err("no series matches".to_owned()),
        _ => Ok(Found { value: sum, is_counter }),
    }
}

/// The sum of what Prometheus found, <https://prometheus.io/docs/prometheus/latest/querying/api/>.
fn evaluated(text: &str) -> Result<Found, String> {
    let json: serde_json::Value =
        serde_json::from_str(text).map_err(|_| "the response is not JSON".to_owned())?;
    let data = &json["data"];
    let value = |pair: &serde_json::Value| pair.get(1)?.as_str()?.parse::<f64>().ok();
    let values: Option<Vec<f64>> = match data["resultType"].as_str() {
        Some("vector") => {
            let all = data["result"].as_array();
            all.and_then(|all| all.iter().map(|one| value(&one["value"])).collect())
        }
        Some("scalar") => value(&data["result"]).map(|one| vec![one]),
        _ => None,
    };
    match values {
        None => Err("the response has neither a vector nor a scalar".to_owned()),
        Some(all) if all.is_empty() => Err("no series matches".to_owned()),
        Some(all) => Ok(Found { value: all.iter().sum(), is_counter: false }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# HELP a_total what it is\n# TYPE a_total counter\n\
        a_total{code=\"200\",m=\"x\"} 10\na_total{code=\"200\",m=\"y\"} 2.5e1 1700000000000\n\
        a_total{code=\"500\"} 7\n\n# TYPE b gauge\nb NaN\nb{x=\"1\"} +Inf\nc 3\n";

    fn watch(query: &str) -> Watch {
        format!("prometheus:http://127.0.0.1:1/metrics#{query}").parse().unwrap()
    }

    fn of(page: &str, query: &str) -> Result<Found, String> {
        exposed(page, (&watch(query), &Hidden::default()))
    }

    #[test]
    fn a_line_that_is_quoted_has_no_secret_nor_a_part_of_one() {
        let mut hidden = Hidden::default();
        hidden.add(b"SEKRET42");
        for blanks in 0..60 {
            let line = format!("{{GET{}SEKRET42 HTTP/1.0", " ".repeat(blanks));
            let why = exposed(&line, (&watch("c"), &hidden)).unwrap_err();
            assert!(why.contains("{GET") && !why.contains("SE"), "{why}");
        }
    }

    #[test]
    fn all_series_that_match_are_added() {
        let found = |query: &str| of(PAGE, query).map(|one| (one.value, one.is_counter));
        assert_eq!(found("a_total{code=\"200\"}"), Ok((35.0, true)));
        assert_eq!(found("a_total"), Ok((42.0, true)));
        assert_eq!(found("c"), Ok((3.0, false)));
        assert!(found("d").is_err() && found("a_total{code=\"2\"}").is_err());
        assert!(of("<html>404</html>", "c").is_err());
        assert!(of("c x\n", "c").is_err() && of("c\n", "c").is_err());
    }

    #[test]
    fn what_prometheus_found_is_added() {
        let found = |json: &str| evaluated(json).map(|one| one.value);
        let vector = |result: &str| {
            format!(
                r#"{{"status":"success","data":{{"resultType":"vector","result":[{result}]}}}}"#
            )
        };
        let one = r#"{"metric":{},"value":[1700000000.1,"1.5"]}"#;
        assert_eq!(found(&vector(one)), Ok(1.5));
        assert_eq!(found(&vector(&format!("{one},{one}"))), Ok(3.0));
        let scalar = r#"{"data":{"resultType":"scalar","result":[1700000000.1,"2"]}}"#;
        assert_eq!(found(scalar), Ok(2.0));
        for wrong in [
            &vector(""),
            &vector(r#"{"value":[1,2]}"#),
            "",
            "[]",
            r#"{"status":"error","error":"parse error"}"#,
            r#"{"data":{"resultType":"matrix","result":[]}}"#,
        ] {
            assert!(found(wrong).is_err(), "{wrong}");
        }
    }
}
