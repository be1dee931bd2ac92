//! The requests of a plan, the steps and the journeys of its users, a row each.

use super::{FIGURES, figures, float, table, whole};
use candor_report::document::Document;
use candor_report::document::latency::Distribution;

/// The columns before those of the series.
const COLUMNS: &str = "kind,journey,name,sent,ok,failed,unfinished,completed_per_s";
/// Each has [`FIGURES`]. `duration` and `active` are those of a journey, with and without the times that were
/// thought; the others are those of a request.
const SERIES: [&str; 6] = ["response", "service", "queue_wait", "send_lag", "duration", "active"];

/// A row for each request of a plan with several, for each step, and for each journey, whose `sent` are the users who
/// began, and `ok` those who came to the end. What a row does not have is empty.
pub fn steps(document: &Document) -> String {
    let columns = COLUMNS.to_owned() + &figures(&SERIES);
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
        row(texts, counts, None, series)
    });
    let journeys = document.users.iter().flat_map(|users| &users.journeys).map(|one| {
        let texts = ["journey".to_owned(), one.name.clone(), String::new()];
        let counts = [one.started, one.completed, one.failed, one.unfinished].map(Some);
        let series = [None, None, None, None, Some(&one.duration), Some(&one.active)];
        row(texts, counts, one.completed_per_s, series)
    });
    table(&columns, requests.chain(journeys))
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
                assert_eq!(line.split(',').count(), 8 + 6 * 8, "{line}");
            }
        }
        testing::golden("golden/steps.csv", &steps(&testing::users_run().document()));
    }
}
