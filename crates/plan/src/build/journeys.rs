//! The journeys of a plan: each `[[journey.step]]` is a request of the list.

use super::Files;
use super::requests;
use crate::error::PlanError;
use crate::journey::{Journey, Step};
use crate::model::Request;
use crate::options::{JourneyOptions, Options, RequestOptions};
use crate::url::HttpUrl;
use crate::values::SmallCount;

/// The journeys, and the requests of their steps.
pub(super) fn journeys(
    options: &Options,
    url: &HttpUrl,
    files: &mut Files<'_>,
) -> Result<(Vec<Journey>, Vec<Request>), PlanError> {
    let mut list = Vec::new();
    let mut all = Vec::new();
    for (number, table) in options.requests.journey.iter().enumerate() {
        all.push(journey(options, table, number, url, files, &mut list)?);
    }
    Ok((all, list))
}

fn journey(
    options: &Options,
    table: &JourneyOptions,
    number: usize,
    url: &HttpUrl,
    files: &mut Files<'_>,
    list: &mut Vec<Request>,
) -> Result<Journey, PlanError> {
    let mut steps = Vec::new();
    for one in &table.step {
        let request = requests::request(options, one, url, files)?;
        let RequestOptions { think, repeat, when, capture, .. } = one;
        steps.push(Step {
            request: list.len() as u32,
            think: think.map(|think| think.0).unwrap_or_default(),
            repeat: repeat.map_or((1, 1), |repeat| (repeat.0, repeat.1)),
            when: when.clone(),
            captures: capture.clone(),
        });
        list.push(request);
    }
    Ok(Journey {
        name: table.name.clone().unwrap_or_else(|| format!("journey {}", number + 1)),
        weight: table.weight.map_or(1, SmallCount::get),
        steps,
        cookies: table.cookies,
        on_failure: table.on_failure,
    })
}
