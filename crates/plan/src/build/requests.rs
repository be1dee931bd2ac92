//! The requests of a plan: each `[[request]]` table laid over the top level.

use std::path::Path;
use std::sync::Arc;

use super::{Files, conflict, delivery};
use crate::error::PlanError;
use crate::model::{BodyExpect, Expect, Order, Request, Requests, StatusSet};
use crate::options::{Options, RequestOptions, headers_over};
use crate::redact::Secrets;
use crate::url::HttpUrl;
use crate::values::{Header, RequestPath, Size, SmallCount};

pub(super) fn requests(
    options: &Options,
    url: &HttpUrl,
    files: &mut Files<'_>,
) -> Result<Requests, PlanError> {
    let order = order(options)?;
    let only = [RequestOptions::default()];
    let tables =
        if options.requests.request.is_empty() { &only[..] } else { &options.requests.request[..] };
    let list: Result<Vec<Request>, PlanError> =
        tables.iter().map(|table| request(options, table, url, files)).collect();
    Ok(Requests {
        list: list?,
        order,
        sequence: options.requests.sequence.iter().copied().collect(),
    })
}

fn order(options: &Options) -> Result<Order, PlanError> {
    let weights = options.requests.request.iter().any(|one| one.weight.is_some());
    match options.requests.order {
        Some(Order::Rotation) if weights => Err(conflict(
            "weight",
            "--order rotation",
            "there each request has its turn; write --order weighted, or leave the weights out",
        )),
        Some(order) => Ok(order),
        None if weights => Ok(Order::Weighted),
        None => Ok(Order::Rotation),
    }
}

fn request(
    options: &Options,
    table: &RequestOptions,
    url: &HttpUrl,
    files: &mut Files<'_>,
) -> Result<Request, PlanError> {
    let method = table.method.clone().or_else(|| options.requests.method.clone());
    let method = method.map_or_else(|| "GET".to_owned(), |one| one.into_string());
    let path = table.path.clone().map_or_else(|| url.path.clone(), RequestPath::into_string);
    // A request without a name gets a redacted one, because every result contains the names.
    let shown = Secrets::shown_if(options.output.show_secrets).path(&path);
    let name = table.name.clone().unwrap_or_else(|| format!("{method} {shown}"));
    let body = match (&table.body, &table.body_file) {
        (None, None) => body(&options.requests.body, &options.requests.body_file, files)?,
        (text, file) => body(text, file, files)?,
    };
    let headers = headers_over(options.requests.header.clone(), table.header.clone());
    let closes = options.requests.no_keepalive || options.load.once;
    Ok(Request {
        delivery: delivery::delivery(options, table, &headers, body.len())?,
        headers: with_implied(headers, closes, url.authorization.as_deref()),
        expect: Expect {
            status: table
                .expect_status
                .clone()
                .or_else(|| options.expected.expect_status.clone())
                .unwrap_or_else(StatusSet::below_400),
            body: match (table.expect_body_bytes, &table.expect_body) {
                (None, None) => expected_body(
                    options.expected.expect_body_bytes,
                    &options.expected.expect_body,
                    files,
                )?,
                (bytes, file) => expected_body(bytes, file, files)?,
            },
        },
        weight: table.weight.map_or(1, SmallCount::get),
        name,
        method,
        path,
        body: body.into(),
        redacted: None,
    })
}

fn body(
    text: &Option<String>,
    file: &Option<impl AsRef<Path>>,
    files: &mut Files<'_>,
) -> Result<Arc<[u8]>, PlanError> {
    match (text, file) {
        (Some(_), Some(_)) => {
            Err(conflict("--body", "--body-file", "a request has one body; leave one of them out"))
        }
        (Some(text), None) => Ok(text.as_bytes().into()),
        (None, Some(file)) => files.read("--body-file", file.as_ref()),
        (None, None) => Ok(Arc::new([])),
    }
}

fn expected_body(
    bytes: Option<Size>,
    file: &Option<impl AsRef<Path>>,
    files: &mut Files<'_>,
) -> Result<BodyExpect, PlanError> {
    match (bytes, file) {
        (Some(_), Some(_)) => Err(conflict(
            "--expect-body-bytes",
            "--expect-body",
            "the file has its own length; leave one of them out",
        )),
        (Some(Size(bytes)), None) => Ok(BodyExpect::Length(bytes)),
        (None, Some(file)) => {
            files.read("--expect-body", file.as_ref()).map(|body| BodyExpect::Exact(body.into()))
        }
        (None, None) => Ok(BodyExpect::Any),
    }
}

/// Headers that other options imply, unless `--header` sets them.
fn with_implied(
    headers: Vec<Header>,
    closes: bool,
    authorization: Option<&str>,
) -> Vec<(String, String)> {
    let has = |name: &str| headers.iter().any(|one| one.name().eq_ignore_ascii_case(name));
    let close = (closes && !has("connection")).then_some(("Connection", "close"));
    let authorization =
        authorization.filter(|_| !has("authorization")).map(|value| ("Authorization", value));
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let given = headers.iter().map(|one| owned((one.name(), one.value())));
    given.chain(authorization.into_iter().chain(close).map(owned)).collect()
}
