//! The input of commands: options of a run from flags, a plan's file and a URL; texts of plans and
//! suites.
//!
//! Typed options override those of a file. Crate plan, and not this module, defines a run.

use std::path::Path;

use candor_plan::options::{Options, ReadFile, looks_like_plan};
use candor_plan::{Secrets, holes, redact};
use serde::de::IgnoredAny;

use crate::console;
use crate::exit::UserError;
use crate::files::Disk;

/// The default length of an experiment's run.
pub(crate) const DURATION: &str = "5s";
/// The default warm-up of an experiment's run.
pub(crate) const WARM_UP: &str = "1s";

/// The text of a file; `what` is its kind, for errors.
pub(crate) fn text(what: &str, path: &Path) -> Result<String, UserError> {
    let name = path.display();
    let bytes = Disk.read(path).map_err(|error| {
        UserError::usage(format!(
            "cannot read the {what} {name}: {error}; check its name and permissions"
        ))
    })?;
    String::from_utf8(bytes)
        .map_err(|_| UserError::usage(format!("the {what} {name} is not UTF-8 text")))
}

/// The options in this plan's file.
pub(crate) fn plan(file: &str) -> Result<Options, UserError> {
    let text = text("plan", file.as_ref())?;
    Options::from_toml(file, &text).map_err(UserError::usage)
}

/// Distinguishes a plan's file from a URL, in any order: one of them is in `options`, the other is
/// `second`. Leaves the URL in `options` and returns the file.
pub(crate) fn take_plan_file(
    options: &mut Options,
    second: Option<String>,
) -> Result<Option<String>, UserError> {
    let given = options.url.take().into_iter().chain(second);
    let (mut plans, mut urls): (Vec<_>, Vec<_>) = given.partition(|one| looks_like_plan(one));
    match (plans.len(), urls.len()) {
        (0 | 1, 0 | 1) => {
            options.url = urls.pop();
            Ok(plans.pop())
        }
        (0, _) => Err(UserError::usage(format!(
            "two URLs are given, {} and {}; give one, or several requests in a plan",
            Secrets::Hidden.url(&urls[0]),
            Secrets::Hidden.url(&urls[1])
        ))),
        _ => Err(UserError::usage(format!(
            "two plans are given, {} and {}; give one",
            plans[0], plans[1]
        ))),
    }
}

/// Says what a typed body is not, where a slip of the shell or of the hand is likely. A body where a file is meant, as
/// with curl's --json, is refused.
pub(crate) fn look_for_slips(options: &Options) -> Result<(), UserError> {
    let is_json = |path: &Path| path.to_string_lossy().starts_with(['{', '[']);
    if options.output.json.as_deref().is_some_and(is_json) {
        return Err(UserError::usage(
            "--json FILE is where the result is written; send a body with -b, and its type with \
             -H 'Content-Type: application/json'",
        ));
    }
    if let Some(said) = options.requests.body.as_deref().and_then(slip_in_body) {
        console::say(format_args!("candor: {said}"));
    }
    Ok(())
}

fn slip_in_body(body: &str) -> Option<String> {
    if let Some(file) = body.strip_prefix('@')
        && !file.is_empty()
        && !file.contains(char::is_whitespace)
    {
        let file = redact::refused(file);
        return Some(format!(
            "--body sends its text as it is, @ included; --body-file {file} sends that file"
        ));
    }
    if !body.starts_with(['{', '[']) || holes::has_holes(body) {
        return None;
    }
    // Several values are lines of JSON, or messages of gRPC.
    let mut values = serde_json::Deserializer::from_str(body).into_iter::<IgnoredAny>();
    let error = values.find_map(Result::err)?;
    Some(format!(
        "--body begins as JSON and is not valid: {error}; in a shell, write it in '…', with double quotes within"
    ))
}

/// Whether the user named a target.
pub(crate) fn is_elsewhere(options: &Options) -> bool {
    options.url.is_some()
        || options.requests.urls.is_some()
        || options.connecting.unix_socket.is_some()
        || options.connecting.connect_to.is_some()
}

/// Sets the default length and warm-up of an experiment's runs, if the user set none.
pub(crate) fn set_usual_length(options: &mut Options) {
    if options.load.duration.is_none()
        && options.load.requests.is_none()
        && options.load.load.is_none()
    {
        options.load.duration = DURATION.parse().ok();
    }
    options.load.warm_up = options.load.warm_up.or_else(|| WARM_UP.parse().ok());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_in_a_body_are_told() {
        let says = |body: &str, words: &str| {
            let said = slip_in_body(body).unwrap();
            assert!(said.contains(words), "{said}");
        };
        says("@order.json", "--body-file order.json sends that file");
        says("{'a': 1}", "not valid: key must be a string at line 1 column 2");
        says("{item: 7", "in a shell, write it in '…'");
        for fine in ["{\"a\": [1]}", "[]", "{} {}", "{\"a\": ${seq}}", "a=1", "@", "@all hello", ""]
        {
            assert_eq!(slip_in_body(fine), None, "{fine}");
        }
    }

    #[test]
    fn a_plan_and_a_url_in_any_order_and_one_of_each_at_most() {
        let told = |first: Option<&str>, second: Option<&str>| {
            let mut options = Options { url: first.map(str::to_owned), ..Options::default() };
            let plan = take_plan_file(&mut options, second.map(str::to_owned)).ok()?;
            Some([plan, options.url])
        };
        let (plan, url) = (Some("p.toml"), Some("http://h/x.toml"));
        let owned = |one: Option<&str>| one.map(str::to_owned);
        assert_eq!(told(None, None), Some([None, None]));
        assert_eq!(told(plan, None), Some([owned(plan), None]));
        assert_eq!(told(url, None), Some([None, owned(url)]));
        assert_eq!(told(plan, url), Some([owned(plan), owned(url)]));
        assert_eq!(told(url, plan), Some([owned(plan), owned(url)]));
        assert_eq!(told(plan, plan), None);
        assert_eq!(told(url, url), None);
    }
}
