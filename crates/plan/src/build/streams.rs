//! Streams of events: what of a response is an event, and what is asked of it.

use crate::error::{PlanError, exclude, value, without_effect};
use crate::options::{Options, RequestOptions, StreamsOptions};
use crate::work::journey::{Journey, OnFailure, Step};
use crate::work::{Journeys, ModelApi, Request, StreamForm, Streaming, Tokens, Work};

/// The stream of the request of `table`. Missing keys are taken from the top level, and then from the interface.
pub(super) fn streaming(
    options: &Options,
    table: &RequestOptions,
) -> Result<Option<Streaming>, PlanError> {
    let above = &options.streams;
    let known = table.llm.or(above.llm).map(ModelApi::streaming);
    let Some(form) = table.stream.or(above.stream).or(known.as_ref().map(|one| one.form)) else {
        let RequestOptions { stream_error, stream_end, tokens, token, input_tokens, .. } = table;
        let given = [stream_error, stream_end, tokens, &token.first().cloned(), input_tokens];
        return needless(given).map(|()| None);
    };
    let known = known.unwrap_or_else(|| Streaming::new(form));
    let or = |own: &Option<String>, above: &Option<String>, known: Option<String>| {
        own.clone().or_else(|| above.clone()).or(known)
    };
    let tokens = or(&table.tokens, &above.tokens, None).map(|rule| match rule.trim() {
        "events" => Tokens::Events,
        _ => Tokens::At(rule),
    });
    Ok(Some(Streaming {
        form,
        error: or(&table.stream_error, &above.stream_error, known.error),
        end: or(&table.stream_end, &above.stream_end, known.end),
        token: [&table.token, &above.token, &known.token]
            .into_iter()
            .find(|rules| !rules.is_empty())
            .cloned()
            .unwrap_or_default(),
        tokens: tokens.or(known.tokens),
        input_tokens: or(&table.input_tokens, &above.input_tokens, known.input_tokens),
        reconnect: above.reconnect && form == StreamForm::Sse,
    }))
}

/// The work with users who reconnect, if they are to: each stream is a journey of one step, and whoever left comes
/// again.
pub(super) fn reconnect(options: &Options, work: Work) -> Result<Work, PlanError> {
    const OPTION: &str = "--reconnect";
    if !options.streams.reconnect {
        return Ok(work);
    }
    let has_id = |one: &Request| {
        one.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("last-event-id"))
    };
    let load = &options.load;
    let is_open = load.rate.is_some() || load.load.is_some();
    let no_user = "the script decides what is sent; leave one of them out";
    let refused = [
        ("--rate", is_open, "who comes by a schedule does not come again; use --connections alone"),
        (
            "--think-time",
            load.think_time.is_some(),
            "the server says how long to wait; leave it out",
        ),
        ("--script", work.script().is_some(), no_user),
        (
            "[[journey]]",
            work.has_users(),
            "a user has steps, or a stream to go on with; leave it out",
        ),
        ("--once", load.once, "each connection has one request; leave one of them out"),
        (
            "several requests",
            work.requests().len() > 1,
            "a user goes on with one stream; give each a run of its own",
        ),
        (
            "--header 'Last-Event-ID: …'",
            work.requests().iter().any(has_id),
            "the id is that of the last event; leave it out",
        ),
    ];
    let mut all = refused.into_iter();
    all.try_for_each(|(other, is_so, why)| exclude([(OPTION, is_so)], other, why))?;
    if !work.requests().iter().all(|one| one.stream.as_ref().is_some_and(|one| one.reconnect)) {
        return Err(value(OPTION, "only server-sent events have ids; add --stream sse"));
    }
    let Work::Requests(requests) = work else { return Ok(work) };
    let journey = |one: &Request| Journey {
        name: format!("{}, reconnecting", one.name),
        weight: 1,
        steps: vec![Step::plain(0)],
        cookies: false,
        on_failure: OnFailure::End,
    };
    let list = requests.list.iter().map(journey).collect();
    Ok(Work::Journeys(Journeys { list, requests: requests.list, users: None, order: None }))
}

/// What the top level asks of events needs a request with events.
pub(super) fn check(options: &Options, requests: &[Request]) -> Result<(), PlanError> {
    if requests.iter().any(|one| one.stream.is_some()) {
        return Ok(());
    }
    let StreamsOptions { stream_error, stream_end, tokens, token, input_tokens, .. } =
        &options.streams;
    needless([stream_error, stream_end, tokens, &token.first().cloned(), input_tokens])
}

fn needless(given: [&Option<String>; 5]) -> Result<(), PlanError> {
    let names = ["--stream-error", "--stream-end", "--tokens", "--token", "--input-tokens"];
    let given: [_; 5] = std::array::from_fn(|at| (names[at], given[at].is_some()));
    without_effect(given, "there is no stream of events; add --stream sse, ndjson or chunks")
}
