//! The requests of a plan, the steps and the journeys of its users, its targets and their addresses, a row each.

use super::{FIGURES, figures, float, table, whole};
use crate::targets::connections_to;
use candor_report::document::Document;
use candor_report::document::counts::RequestRow;
use candor_report::document::latency::Distribution;

/// The columns before those of the series.
const COLUMNS: &str = "kind,journey,name,sent,ok,failed,unfinished,completed_per_s";
/// Each has [`FIGURES`]. `duration` and `active` are those of a journey, with and without the times that were
/// thought; the others are those of a request.
const SERIES: [&str; 6] = ["response", "service", "queue_wait", "send_lag", "duration", "active"];

/// Behind the series, of targets and addresses.
const CONNECTIONS: &str = ",target,opened,connect_failed,lost,down";

/// A row for each request of a plan with several, for each step, and for each journey, whose `sent` are the users who
/// began, and `ok` those who came to the end; for each target of several, and for each address.
/// What a row does not have is empty.
pub fn steps(document: &Document) -> String {
    let columns = COLUMNS.to_owned() + &figures(&SERIES) + CONNECTIONS;
    let requests = document.requests.iter().map(|one| {
        let kind = if one.journey.is_some() { "step" } else { "request" };
        let texts = [kind.to_owned(), one.journey.clone().unwrap_or_default(), one.name.clone()];
        let counts = [Some(one.sent), Some(one.ok), Some(one.errors), None];
        let step = one.step.as_ref();
        let series = [
            one.response.as_ref(),
            step.map(|step| &step.service),
            step.map(|step| &step.queue_wait),
            step.map(|step| &step.send_lag),
            None,
            None,
        ];
        unconnected(row(texts, counts, None, series))
    });
    let journeys = document.users.iter().flat_map(|users| &users.journeys).map(|one| {
        let texts = ["journey".to_owned(), one.name.clone(), String::new()];
        let counts = [one.started, one.completed, one.failed, one.unfinished].map(Some);
        let series = [None, None, None, None, Some(&one.duration), Some(&one.active)];
        unconnected(row(texts, counts, one.completed_per_s, series))
    });
    let targets = document.targets.iter().map(|one| {
        let mut row = to(document, "target", &one.name, Some(one));
        row.push(one.name.clone());
        row.extend(connections_to(document, &one.name).map(|count| count.to_string()));
        row.push(String::new());
        row
    });
    let addresses = document.addresses.iter().map(|one| {
        let mut row = to(document, "address", &one.address, one.requests.as_ref());
        row.push(one.target.clone());
        row.extend([one.opened, one.failed, one.lost].map(|count| count.to_string()));
        row.push(float(one.down));
        row
    });
    table(&columns, requests.chain(journeys).chain(targets).chain(addresses))
}

/// A row without what targets and addresses have.
fn unconnected(mut row: Vec<String>) -> Vec<String> {
    row.extend([const { String::new() }; 5]);
    row
}

/// The requests to one target, or to one address, if they are told apart.
fn to(document: &Document, kind: &str, name: &str, one: Option<&RequestRow>) -> Vec<String> {
    let counts = [one.map(|one| one.sent), one.map(|one| one.ok), one.map(|one| one.errors), None];
    let response = one.and_then(|one| one.response.as_ref());
    let per_s = one.and_then(|one| document.per_s(one.ok));
    let texts = [kind.to_owned(), String::new(), name.to_owned()];
    row(texts, counts, per_s, [response, None, None, None, None, None])
}

fn row(
    texts: [String; 3],
    counts: [Option<u64>; 4],
    per_s: Option<f64>,
    series: [Option<&Distribution>; 6],
) -> Vec<String> {
    let mut row: Vec<String> = texts.into();
    row.extend(counts.map(whole));
    row.push(float(per_s));
    for one in series {
        match one {
            None => row.extend(FIGURES.map(|_| String::new())),
            Some(one) => {
                row.extend([one.count.to_string(), whole(one.min_ns), float(one.mean_ns)]);
                let percentiles = ["p50", "p90", "p99", "p99.9"];
                row.extend(percentiles.map(|name| whole(one.percentile_ns(name))));
                row.push(whole(one.max_ns));
            }
        }
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_report::testing;

    #[test]
    fn every_row_has_every_column() {
        for document in testing::every_document() {
            let text = steps(&document);
            let journeys = document.users.as_ref().map_or(0, |users| users.journeys.len());
            assert_eq!(text.lines().count(), 1 + document.requests.len() + journeys);
            for line in text.lines() {
                assert_eq!(line.split(',').count(), 8 + 6 * 8 + 5, "{line}");
            }
        }
        let down = steps(&testing::down());
        let last = down.lines().last().unwrap();
        assert!(last.starts_with("address,,127.0.0.2:80,,,,,,"), "{last}");
        assert!(last.ends_with(",main,3,7,0,0.5000"), "{last}");
        testing::golden("golden/steps.csv", &steps(&testing::users_run().document()));
    }
}
