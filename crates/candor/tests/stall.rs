//! A stall of the server, in closed form: response time must show it, and a closed loop cannot.
//!
//! One server, first come first served; rate `R`, service time `D`, stall `S`, run `T`, and `ρ =
//! R·D`. A request due `t` after the stall begins waits `S − t(1−ρ) + D`. Affected are `R·S/(1−ρ)`
//! requests, evenly from 0 to `S`. With `f = S/((1−ρ)T)`, quantile `q` is `S(1−(1−q)/f)` where `1−q
//! < f`, and the mean is `f·S/2` above the service time. Here `ρ` is almost zero.

use crate::common::{Document, Target, measure};
use candor_record::Quantile;
use candor_report::document::latency::Distribution;

const S: f64 = 1.0;
const T: f64 = 6.0;
const RATE: u64 = 500;

/// Six seconds of load, in which the target stalls for one.
fn through_a_stall(load: &[&str]) -> Document {
    let target = Target::start(&["--stall", "1s@2s"]);
    let document = measure(&[load, &["-d", "6s", &target.url("/")]].concat());
    assert_eq!(document.ledger("ok"), document.ledger("sent"));
    target.assert_requests(document.ledger("sent"));
    document
}

fn assert_near(measured: f64, wanted: f64, what: &str) {
    let off = (measured / wanted - 1.0).abs();
    assert!(off < 0.1, "{what}: {measured} s measured, {wanted} s by the closed form");
}

#[test]
fn an_open_load_shows_a_stall_in_full() {
    let document = through_a_stall(&["-R", "500", "-c", "8"]);
    assert_eq!(document.ledger("scheduled"), RATE * 6);
    assert_eq!(document.ledger("unsent"), 0);
    let f = S / T;
    for (name, q) in [("p90", 0.9), ("p99", 0.99)] {
        let wanted = S * (1.0 - (1.0 - q) / f);
        assert_near(document.percentile_s("response", name), wanted, name);
    }
    let p95 = quantile_of(&document, "response", 0.95);
    assert_near(p95, S * (1.0 - 0.05 / f), "p95");
    let mean = document.mean_s("response") - document.mean_s("service");
    assert_near(mean, f * S / 2.0, "mean excess");
    let max = document.number("/latencies/response/max_ns") / 1e9;
    assert_near(max, S, "max");

    // Eight requests of 3000 were in flight, so service time does not show the stall. The quantile
    // comes from the histogram, because the document has a percentile only if the samples bound it.
    let service = quantile_of(&document, "service", 0.99);
    assert!(service < S / 20.0, "{service}");
    // The difference is queue wait, and none of it is send lag.
    assert_near(document.mean_s("queue_wait"), f * S / 2.0, "mean queue wait");
    assert!(document.mean_s("send_lag") < f * S / 20.0, "{}", document.mean_s("send_lag"));
}

/// The control: the same stall with a closed loop, which waits with the server.
#[test]
fn a_closed_loop_does_not_show_it() {
    let document = through_a_stall(&["-c", "8", "--think-time", "10ms"]);
    for series in ["response", "service"] {
        let p95 = quantile_of(&document, series, 0.95);
        assert!(p95 < S / 10.0, "{series} p95 {p95}");
    }
    // The stall did happen.
    assert_near(document.number("/latencies/response/max_ns") / 1e9, S, "max");
}

/// Any quantile, from the document's histogram, in seconds.
fn quantile_of(document: &Document, series: &str, q: f64) -> f64 {
    let distribution = document.at(&format!("/latencies/{series}")).clone();
    let distribution: Distribution = serde_json::from_value(distribution).expect("a distribution");
    let quantile_ns = distribution.quantile_ns(Quantile::nearest(q)).expect("a whole histogram");
    quantile_ns.expect("samples") as f64 / 1e9
}
