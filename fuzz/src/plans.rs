//! Input of users and other people's files: units, plans, suites, objectives.

use std::fmt::{Debug, Display};
use std::path::Path;
use std::str::FromStr;

use candor_plan::options::{Options, ReadFile};
use candor_plan::units::{
    fmt_share, parse_count, parse_duration_ns, parse_rate_or_zero, parse_share, parse_size,
    print_duration_ns, print_rate,
};
use candor_plan::url::{HttpUrl, parse_host_port, parse_path};
use candor_plan::values::{Header, HostPort, Names, Resolve, Sources};
use candor_plan::{Rate, StatusSet, Trace};
use candor_report::Expectation;

/// Every file has this in it.
struct Files;

impl ReadFile for Files {
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        match path.to_string_lossy().contains("none") {
            true => Err(std::io::ErrorKind::NotFound.into()),
            false => Ok(b"1ms\n2ms\n".to_vec()),
        }
    }
}

/// An error is a sentence.
fn said(error: impl Display) {
    assert!(!error.to_string().is_empty());
}

fn any<T: FromStr<Err: Display>>(text: &str) {
    if let Err(error) = text.parse::<T>() {
        said(error);
    }
}

/// A value that was read prints as text that reads the same.
fn round<T: PartialEq + Debug + Copy, E: Display>(
    text: &str,
    parse: impl Fn(&str) -> Result<T, E>,
    print: impl Fn(T) -> String,
) {
    match parse(text) {
        Ok(value) => {
            let printed = print(value);
            let again =
                parse(&printed).unwrap_or_else(|error| panic!("{text:?} {printed:?}: {error}"));
            assert_eq!(again, value, "{text:?}, printed as {printed:?}");
        }
        Err(error) => said(error),
    }
}

/// A rate that is another fraction of the same.
#[derive(Debug, Clone, Copy)]
struct Alike(Rate);

impl PartialEq for Alike {
    fn eq(&self, other: &Alike) -> bool {
        lowest(self.0) == lowest(other.0)
    }
}

/// The same rate in lowest terms.
fn lowest(rate: Rate) -> Rate {
    let (mut divisor, mut rest) = (rate.events, rate.per_ns);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    let divisor = divisor.max(1);
    Rate { events: rate.events / divisor, per_ns: rate.per_ns / divisor }
}

/// Durations, counts, sizes, rates, URLs and the other values of options, wrk's and h2load's too.
pub(crate) fn units(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    round(text, parse_duration_ns, print_duration_ns);
    // 500/10m is printed as 50/m: the same rate as another fraction.
    round(text, |text| parse_rate_or_zero(text).map(Alike), |Alike(rate)| print_rate(rate));
    round(text, parse_count, |count| count.to_string());
    round(text, parse_size, |size| size.to_string());
    if let Ok(share) = parse_share(text) {
        // A percentage may be above 100.
        assert!(share.is_finite() && share >= 0.0, "{text:?}");
        fmt_share(share);
    }
    if let Ok(url) = HttpUrl::parse(text) {
        assert!(url.path.starts_with('/') && !url.host.is_empty(), "{text:?}");
        assert!(!url.path.contains(['\r', '\n', ' ']), "{text:?}");
    }
    let _ = (parse_path(text), parse_host_port(text));
    any::<Header>(text);
    any::<HostPort>(text);
    any::<Names>(text);
    any::<Resolve>(text);
    any::<Sources>(text);
    any::<StatusSet>(text);
    any::<Trace>(text);
}

/// A plan in TOML, up to the validated plan.
pub(crate) fn plan(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Options::from_toml("plan.toml", text) {
        Ok(options) => {
            if let Err(error) = options.build(&Files) {
                said(error);
            }
        }
        Err(error) => said(error),
    }
}

/// A suite of servers, and one of client libraries.
pub(crate) fn suite(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Err(error) = candor_lab::suite::file::parse("suite.toml", text) {
        said(error);
    }
    if let Err(error) = candor_lab::clients::file::parse("suite.toml", text) {
        said(error);
    }
}

/// An objective, such as `p99 < 5ms`.
pub(crate) fn objective(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Err(error) = Expectation::parse(text) {
        said(error);
    }
}
