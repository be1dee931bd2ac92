//! The most frequent requests of a stream, in bounded memory.
//!
//! Counters for at most [`CAPACITY`] different requests. When they are full, the median count is
//! subtracted from all, and those that reach zero are dropped: Misra and Gries (1982), in batches as by
//! Anderson et al., "A High-Performance Algorithm for Identifying Frequent Items in Data Streams" (IMC
//! 2017). A count is too low by at most what was subtracted, and exact while nothing was.

use std::collections::HashMap;

use candor_plan::redact::SecretKind;

use crate::draft::Step;
use crate::secrets::Secrets;
use crate::target::form_decoded;
use crate::template::Template;

/// Different requests that are counted at the same time.
const CAPACITY: usize = 1 << 15;
/// Longer paths are counted as missed: there are few of them, and attacks have them.
const MAX_PATH: usize = 1024;

/// Counts of requests.
#[derive(Debug, Default)]
pub(super) struct Top {
    counts: HashMap<Box<str>, Counter>,
    total: u64,
    missed: u64,
}

#[derive(Debug)]
struct Counter {
    count: u64,
    /// The status of all its responses; none if they differ.
    status: Option<u16>,
}

/// A request with its count.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) count: u64,
    /// The status of all its responses; none if they differ.
    pub(super) status: Option<u16>,
}

impl Top {
    pub(super) fn count(&mut self, method: &str, path: &str, status: u16) {
        self.total += 1;
        let path = path.split('#').next().unwrap_or_default();
        if path.len() > MAX_PATH {
            self.missed += 1;
            return;
        }
        let key = format!("{method} {}", without_secrets(path));
        if let Some(known) = self.counts.get_mut(key.as_str()) {
            known.count += 1;
            known.status = known.status.filter(|known| *known == status);
            return;
        }
        if self.counts.len() == CAPACITY {
            self.make_room();
        }
        self.counts.insert(key.into(), Counter { count: 1, status: Some(status) });
    }

    /// Requests counted.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Requests that no counter has.
    pub(super) fn missed(&self) -> u64 {
        self.missed
    }

    /// The most frequent first; those with the same count by name.
    pub(super) fn list(&self) -> Vec<Counted> {
        let counted = |key: &str, counter: &Counter| {
            let (method, path) = key.split_once(' ').unwrap_or(("GET", key));
            let Counter { count, status } = *counter;
            Counted { method: method.to_owned(), path: path.to_owned(), count, status }
        };
        let mut all: Vec<Counted> =
            self.counts.iter().map(|(key, one)| counted(key, one)).collect();
        all.sort_by(|one, other| {
            let by_name = || (&one.method, &one.path).cmp(&(&other.method, &other.path));
            other.count.cmp(&one.count).then_with(by_name)
        });
        all
    }

    fn make_room(&mut self) {
        let mut counts: Vec<u64> = self.counts.values().map(|one| one.count).collect();
        let middle = counts.len() / 2;
        let (_, median, _) = counts.select_nth_unstable(middle);
        let median = *median;
        let missed = &mut self.missed;
        self.counts.retain(|_, one| {
            *missed += one.count.min(median);
            one.count = one.count.saturating_sub(median);
            one.count > 0
        });
    }
}

/// Begins the text that stands for a secret value; its kind follows.
const SECRET: &str = "secret-value-";

/// Secret values become the same text for each kind, so that they are counted as one request.
fn without_secrets(path: &str) -> String {
    let (path, query) = match path.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (path, None),
    };
    let segment = |one: &str| match SecretKind::of_value(one) {
        Some(kind) => format!("{SECRET}{}", kind.variable()),
        None => one.to_owned(),
    };
    let path = path.split('/').map(segment).collect::<Vec<_>>().join("/");
    let Some(query) = query else { return path };
    let pair = |pair: &str| match pair.split_once('=') {
        Some((name, value)) => match SecretKind::of(&form_decoded(name), &form_decoded(value)) {
            Some(kind) => format!("{name}={SECRET}{}", kind.variable()),
            None => pair.to_owned(),
        },
        None => pair.to_owned(),
    };
    format!("{path}?{}", query.split('&').map(pair).collect::<Vec<_>>().join("&"))
}

/// Puts variables where secret values were.
pub(super) fn with_variables(step: &mut Step, secrets: &mut Secrets) {
    step.values(&mut |_, _, value| {
        let kind = value.as_text().and_then(|text| text.strip_prefix(SECRET));
        let mut all = SecretKind::ALL.iter().map(|kind| kind.variable());
        if let Some(kind) = kind.and_then(|kind| all.find(|known| *known == kind)) {
            *value = Template::hole(secrets.variable(kind));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Target;

    #[test]
    fn counts_are_exact_while_there_is_room() {
        let mut top = Top::default();
        for index in 0..1000 {
            top.count("GET", &format!("/{}", index % 7), if index < 500 { 200 } else { 404 });
            top.count("HEAD", "/0", 404);
        }
        let list = top.list();
        assert_eq!((list.len(), top.missed(), top.total()), (8, 0, 2000));
        assert_eq!(
            list[0],
            Counted {
                method: "HEAD".to_owned(),
                path: "/0".to_owned(),
                count: 1000,
                status: Some(404)
            }
        );
        assert_eq!((list[1].path.as_str(), list[1].count, list[1].status), ("/0", 143, None));
    }

    #[test]
    fn frequent_ones_survive_any_number_of_others() {
        let mut top = Top::default();
        for index in 0..200_000 {
            top.count("GET", &format!("/once/{index}"), 200);
            if index % 4 == 0 {
                top.count("GET", "/often", 200);
            }
        }
        let list = top.list();
        assert!(list.len() <= CAPACITY && top.missed() > 0);
        assert_eq!(list[0].path, "/often");
        // Too low by at most one for each time that the counters were full.
        assert!((49_900..=50_000).contains(&list[0].count), "{}", list[0].count);
        assert_eq!(list.iter().map(|one| one.count).sum::<u64>() + top.missed(), top.total());
    }

    #[test]
    fn secrets_of_queries_are_not_kept() {
        let mut top = Top::default();
        top.count("GET", "/a?token=0123456789&b=1", 200);
        top.count("GET", "/a?token=9876543210&b=1", 200);
        let list = top.list();
        assert_eq!((list.len(), list[0].count), (1, 2));
        assert_eq!(list[0].path, "/a?token=secret-value-TOKEN&b=1");
        let mut step = Step { target: Target::parse(&list[0].path), ..Step::default() };
        with_variables(&mut step, &mut Secrets::default());
        assert_eq!(step.target.to_template().render(), "/a?token=${env:TOKEN}&b=1");
        let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.sig";
        assert_eq!(without_secrets(&format!("/a/{jwt}/b")), "/a/secret-value-TOKEN/b");
    }
}
