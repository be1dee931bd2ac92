//! Pages in a real browser: their content and controls, and that they run no foreign code and
//! request no other file.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Outcome, Target, candor};
use candor_testkit::browser::{Browser, View};
use serde_json::{Value, json};

const WIDE: View = View { width: 1200, height: 900, dark: false, scripts: true };
const NARROW: View = View { width: 400, height: 800, ..WIDE };

/// Colours of the first two series in light pages (`page.css`).
const RESPONSE: [u8; 3] = [0x00, 0x72, 0xb2];
const SERVICE: [u8; 3] = [0xd5, 0x5e, 0x00];

/// An open run in a stalling server, with a page.
fn run() -> Outcome {
    let target = Target::start(&["--stall", "200ms@600ms"]);
    let flags = ["-R", "500", "-c", "8", "-d", "2s", "--interval", "250ms"];
    let files = ["--json", "result.json", "--html", "page.html"];
    let outcome = candor(&[&flags[..], &files, &[&target.url("/")]].concat());
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    outcome
}

/// Opens a page, and asserts that there are no errors and no requests but for the page itself.
fn open(browser: &mut Browser, file: &Path, view: View) {
    browser.open(file, view).expect("the page opens");
    assert_eq!(browser.complaints().unwrap(), [""; 0], "{view:?}");
    let requests = browser.requests().unwrap();
    let other = |url: &&String| !url.starts_with("data:image/svg+xml,");
    let others: Vec<_> = requests.iter().filter(other).collect();
    assert_eq!(others.len(), 1, "{others:?}");
    assert!(others[0].starts_with("file://") && others[0].ends_with(".html"), "{others:?}");
}

/// A decoded picture in RGB.
struct Picture {
    size: (u32, u32),
    pixels: Vec<[u8; 3]>,
}

impl Picture {
    fn of(browser: &mut Browser, selector: Option<&str>) -> Picture {
        let file = browser.picture(selector).expect("a picture");
        let mut decoder = png::Decoder::new(std::io::Cursor::new(file));
        decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
        let mut reader = decoder.read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        let samples = info.color_type.samples();
        assert!(samples >= 3, "{info:?}");
        let pixels = bytes[..info.buffer_size()].chunks(samples);
        let pixels = pixels.map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
        Picture { size: (info.width, info.height), pixels }
    }

    /// How many pixels have nearly this colour.
    fn count(&self, colour: [u8; 3]) -> usize {
        let near = |pixel: &&[u8; 3]| pixel.iter().zip(colour).all(|(a, b)| a.abs_diff(b) < 24);
        self.pixels.iter().filter(near).count()
    }

    /// The brightness of its first pixel, the background, from 0 to 255.
    fn background(&self) -> u32 {
        self.pixels[0].iter().map(|&part| u32::from(part)).sum::<u32>() / 3
    }
}

fn text(browser: &mut Browser, selector: &str) -> String {
    let selector = serde_json::to_string(selector).unwrap();
    let text =
        browser.evaluate(&format!("document.querySelector({selector}).textContent")).unwrap();
    text.as_str().unwrap_or_default().to_owned()
}

fn number(browser: &mut Browser, expression: &str) -> f64 {
    let value = browser.evaluate(expression).unwrap();
    value.as_f64().unwrap_or_else(|| panic!("{expression}: {value}"))
}

/// The centre of an element in the viewport, after scrolling to it.
fn middle(browser: &mut Browser, selector: &str) -> (f64, f64) {
    let selector = serde_json::to_string(selector).unwrap();
    let place = browser
        .evaluate(&format!(
            "(() => {{ const e = document.querySelector({selector}); \
             e.scrollIntoView({{block: 'center', behavior: 'instant'}}); const b = \
             e.getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]; }})()"
        ))
        .unwrap();
    (place[0].as_f64().unwrap(), place[1].as_f64().unwrap())
}

fn click(browser: &mut Browser, selector: &str) {
    // A pointer that comes leaves another place first, whose figures go; without them the legend may be shorter.
    let (x, y) = middle(browser, selector);
    browser.pointer("hover", x, y).unwrap();
    let (x, y) = middle(browser, selector);
    for kind in ["mousePressed", "mouseReleased"] {
        browser.pointer(kind, x, y).unwrap();
    }
}

/// The labels of axes that leave the page.
const CUT: &str = "[...document.querySelectorAll('.gx text')].map(t => t.getBoundingClientRect())\
     .filter(b => b.left < 0 || b.right > document.documentElement.clientWidth).length";

const VIEW_BOX: &str = "document.querySelector('#percentiles .picture').getAttribute('viewBox')";
const PLOT: &str = "#percentiles .stage";

#[test]
fn a_page_is_one_small_file_and_report_makes_it_again() {
    let outcome = run();
    let page = outcome.file("page.html");
    assert!(page.len() < 300_000, "{}", page.len());
    let path = outcome.path("result.json");
    let again = candor(&["report", path.to_str().unwrap(), "--format", "html"]);
    assert_eq!((again.code(), again.stdout), (0, page));
    let two = [path.to_str().unwrap(); 2];
    let refused = candor(&["report", two[0], two[1], "--to", "html"]);
    refused.assert_refused(2, &["only one result", "one FILE"]);
}

/// Light and dark, wide and narrow, with and without scripts.
#[test]
fn everything_is_to_be_seen_in_every_view() {
    let outcome = run();
    let page = outcome.path("page.html");
    let mut browser = Browser::start().expect("chromium, which scripts/need-peers installs");
    for view in [WIDE, NARROW].into_iter().flat_map(|view| [view, View { dark: true, ..view }]) {
        let drawings = [true, false].map(|scripts| {
            open(&mut browser, &page, View { scripts, ..view });
            let whole = Picture::of(&mut browser, None);
            assert_eq!(whole.size.0, view.width);
            match view.dark {
                true => assert!(whole.background() < 50, "{}", whole.background()),
                false => assert!(whole.background() > 240, "{}", whole.background()),
            }
            // Nothing overflows, and the labels of an axis do not overlap.
            let wide = number(&mut browser, "document.documentElement.scrollWidth");
            assert!(wide <= f64::from(view.width), "{wide} {view:?}");
            let overlaps = number(
                &mut browser,
                "[...document.querySelectorAll('.gx')].flatMap(g => [...g.querySelectorAll('text')]\
                 .map(t => t.getBoundingClientRect()).filter(b => b.width > 0)\
                 .map((b, n, all) => n > 0 && b.left < all[n - 1].right)).filter(Boolean).length",
            );
            assert_eq!(overlaps, 0.0, "{view:?}");
            assert_eq!(number(&mut browser, CUT), 0.0, "{view:?}");
            if !view.dark {
                let chart = Picture::of(&mut browser, Some(PLOT));
                let (response, service) = (chart.count(RESPONSE), chart.count(SERVICE));
                assert!(response > 200 && service > 100, "{response} {service} {view:?}");
            }
            let plots = "[...document.querySelectorAll('.plot')].map(p => p.outerHTML).join('')";
            browser.evaluate(plots).unwrap()
        });
        assert_eq!(drawings[0], drawings[1], "the script draws something, {view:?}");
        assert!(drawings[0].as_str().unwrap().len() > 5_000);
    }
    open(&mut browser, &page, WIDE);
    let printed = browser.print().unwrap();
    assert!(printed.starts_with(b"%PDF") && printed.len() > 20_000, "{}", printed.len());
}

#[test]
fn series_are_put_off_without_any_script() {
    let outcome = run();
    let mut browser = Browser::start().expect("chromium, which scripts/need-peers installs");
    for scripts in [false, true] {
        open(&mut browser, &outcome.path("page.html"), View { scripts, ..WIDE });
        let before = Picture::of(&mut browser, Some(PLOT));
        click(&mut browser, "#percentiles .legend .k0");
        let (x, y) = middle(&mut browser, "h1");
        browser.pointer("hover", x, y).unwrap();
        let after = Picture::of(&mut browser, Some(PLOT));
        assert!(before.count(RESPONSE) > 200, "{}", before.count(RESPONSE));
        assert!(after.count(RESPONSE) < 20, "{}", after.count(RESPONSE));
        assert!(after.count(SERVICE) > 100, "{}", after.count(SERVICE));
    }
}

#[test]
fn a_pointer_gets_figures_and_zooms() {
    let outcome = run();
    let mut browser = Browser::start().expect("chromium, which scripts/need-peers installs");
    open(&mut browser, &outcome.path("page.html"), WIDE);
    let (x, y) = middle(&mut browser, "#percentiles .frame");
    browser.pointer("hover", x, y).unwrap();
    let here = text(&mut browser, "#percentiles .here");
    assert!(here.ends_with(" %"), "{here}");
    let response = text(&mut browser, "#percentiles output");
    assert!(["µs", "ms", " s"].iter().any(|unit| response.ends_with(unit)), "{response}");

    let whole = browser.evaluate(VIEW_BOX).unwrap();
    browser.pointer("mousePressed", x, y).unwrap();
    for step in 1..=10 {
        browser.pointer("mouseMoved", x + f64::from(step) * 20.0, y).unwrap();
    }
    assert_eq!(number(&mut browser, "document.querySelectorAll('.range').length"), 1.0);
    browser.pointer("mouseReleased", x + 200.0, y).unwrap();
    let part = browser.evaluate(VIEW_BOX).unwrap();
    assert_ne!(whole, part);
    assert_eq!(number(&mut browser, "document.querySelectorAll('.range').length"), 0.0);
    let labels = number(&mut browser, "document.querySelectorAll('#percentiles .gx text').length");
    assert!(labels >= 2.0, "{labels}");
    click(&mut browser, "#percentiles button");
    assert_eq!(browser.evaluate(VIEW_BOX).unwrap(), whole);
    assert_eq!(browser.complaints().unwrap(), [""; 0]);

    // The heat map shows the content of a cell, and time charts move together.
    let (x, y) = middle(&mut browser, "#heat .frame");
    browser.pointer("hover", x, y).unwrap();
    let cell = text(&mut browser, "#heat .here");
    assert!(cell.contains(" to ") && cell.contains(" · "), "{cell}");
    let other = text(&mut browser, "#rate .here");
    assert!(!other.is_empty() && cell.starts_with(&other), "{other} {cell}");
}

#[test]
fn keys_do_what_a_pointer_does() {
    let outcome = run();
    let mut browser = Browser::start().expect("chromium, which scripts/need-peers installs");
    open(&mut browser, &outcome.path("page.html"), WIDE);
    let whole = browser.evaluate(VIEW_BOX).unwrap();
    // Tab alone reaches the first chart; the boxes of its legend come before.
    let reached = (0..60).any(|_| {
        browser.press("Tab").unwrap();
        browser.evaluate("document.activeElement.className").unwrap() == "stage"
    });
    assert!(reached, "no chart gets the focus");
    browser.press("Home").unwrap();
    assert_eq!(text(&mut browser, "#percentiles .here"), "0 %");
    for _ in 0..6 {
        browser.press("ArrowRight").unwrap();
    }
    assert_eq!(text(&mut browser, "#percentiles .here"), "50 %");
    let told = text(&mut browser, "#percentiles [role=status]");
    assert!(told.starts_with("percentile 50 %, response time "), "{told}");
    browser.press("+").unwrap();
    assert_ne!(browser.evaluate(VIEW_BOX).unwrap(), whole);
    browser.press("0").unwrap();
    assert_eq!(browser.evaluate(VIEW_BOX).unwrap(), whole);
    assert_eq!(browser.complaints().unwrap(), [""; 0]);
}

/// Every figure under the cursor is the document's.
#[test]
fn figures_under_the_cursor_are_the_reports() {
    let outcome = run();
    let mut browser = Browser::start().expect("chromium, which scripts/need-peers installs");
    open(&mut browser, &outcome.path("page.html"), WIDE);
    let document: Value = serde_json::from_str(&outcome.file("result.json")).unwrap();
    let name = |ns: u64| candor_plan::units::fmt_duration_ns(ns);
    middle(&mut browser, PLOT);
    browser.evaluate("document.querySelector('#percentiles .stage').focus()").unwrap();
    browser.press("Home").unwrap();
    for wanted in ["50 %", "90 %"] {
        let reached = (0..60).any(|_| {
            browser.press("ArrowRight").unwrap();
            text(&mut browser, "#percentiles .here") == wanted
        });
        assert!(reached, "{wanted}");
        let key = format!("p{}", wanted.trim_end_matches(" %"));
        let ns = document["latencies"]["response"]["percentiles_ns"][key].as_u64();
        // Not every run has a bounded p90; the median of a thousand requests always is.
        if let Some(ns) = ns {
            assert_eq!(text(&mut browser, "#percentiles output"), name(ns));
        }
    }
}

/// Pages of experiments consist of the same parts, so one test of the basics is enough.
#[test]
fn pages_of_experiments_are_pages() {
    let target = Target::start(&[]);
    let flags = ["-c", "4", "-d", "2s", "--warm-up", "0s"];
    let sweep = [
        "sweep",
        "--rates",
        "1000,2000",
        "--rounds",
        "2",
        "--html",
        "page.html",
        "--json",
        "s.json",
    ];
    let outcome = candor(&[&sweep[..], &flags, &[&target.url("/")]].concat());
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let again = candor(&["report", outcome.path("s.json").to_str().unwrap(), "--format", "html"]);
    assert_eq!((again.code(), again.stdout), (0, outcome.file("page.html")));
    let mut browser = Browser::start().expect("chromium, which scripts/need-peers installs");
    for view in [WIDE, NARROW] {
        open(&mut browser, &outcome.path("page.html"), view);
        let wide = number(&mut browser, "document.documentElement.scrollWidth");
        assert!(wide <= f64::from(view.width), "{wide} {view:?}");
        let chart = Picture::of(&mut browser, Some("#against .stage"));
        assert!(chart.count(RESPONSE) > 50, "{}", chart.count(RESPONSE));
    }
    let (x, y) = middle(&mut browser, "#against .frame");
    browser.pointer("hover", x, y).unwrap();
    let here = text(&mut browser, "#against .here");
    assert!(here == "1,000/s" || here == "2,000/s", "{here}");
}

/// What was found, bars, and courses that are folded away: of two servers, one of which waits for
/// acknowledgements.
#[test]
fn a_suites_page_answers_before_it_tabulates() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pair.toml");
    let suite = "name = \"pair\"\nscenarios = [\"hello\"]\nprotocols = [\"h1\"]\nrounds = 2\n\
         [run]\nconnections = 4\nwarm-up = \"0s\"\nduration = \"1s\"\n\
         [[server]]\nname = \"nagle\"\nembedded = true\narguments = [\"--split-writes\", \"--nagle\"]\n\
         [[server]]\nname = \"nodelay\"\nembedded = true\narguments = [\"--split-writes\"]\n";
    fs::write(&file, suite).unwrap();
    let out = directory.path().join("out");
    let outcome =
        candor(&["bench", file.to_str().unwrap(), "--out", out.to_str().unwrap(), "--no-keep"]);
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let found = "nagle waits for delayed acknowledgements in hello (nagle-delayed-ack): p50 4";
    assert!(outcome.stdout.contains("SLOWED"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("more: --report full · "), "{}", outcome.stdout);
    let mut browser = Browser::start().expect("chromium, which scripts/need-peers installs");
    for view in [WIDE, NARROW] {
        open(&mut browser, &out.join("index.html"), view);
        let wide = number(&mut browser, "document.documentElement.scrollWidth");
        assert!(wide <= f64::from(view.width), "{wide} {view:?}");
        let header = text(&mut browser, "header");
        assert!(header.contains(found), "{header}");
        // The second server's bar is all there is room for, the first one's next to nothing.
        let bars = Picture::of(&mut browser, Some("#rates1"));
        let (slow, fast) = (bars.count(RESPONSE), bars.count(SERVICE));
        assert!(fast > 100 && fast > 5 * slow, "{slow} {fast} {view:?}");
    }
    let height = "document.querySelector('#course details').getBoundingClientRect().height";
    assert!(number(&mut browser, height) < 60.0, "the course is not folded away");
    click(&mut browser, "#course summary");
    assert!(number(&mut browser, height) > 200.0);
    let (x, y) = middle(&mut browser, "#s1 .frame");
    browser.pointer("hover", x, y).unwrap();
    assert!(!text(&mut browser, "#s1 .here").is_empty(), "no figures under the cursor");
}

const PAYLOADS: [&str; 5] = [
    "<script>window.ran = 1</script>",
    "</script></style></title><script>window.ran = 1</script>",
    "\"><img src=\"http://127.0.0.1:9/x\" onerror=\"window.ran = 1\">",
    "' autofocus onfocus='window.ran = 1' x='<svg onload=window.ran=1>",
    "</text><foreignObject><iframe src=\"javascript:parent.ran=1\"></iframe></foreignObject>",
];

/// A saved result with a payload wherever a server, a user or a plan can put text.
fn poisoned(outcome: &Outcome, payload: &str) -> PathBuf {
    let mut document: Value = serde_json::from_str(&outcome.file("result.json")).unwrap();
    for field in [
        "/target_note",
        "/arguments/0",
        "/arguments/1",
        "/machines/0/host/cpu",
        "/machines/0/host/kernel",
        "/tool/version",
        "/started_at",
        "/plan/target/url",
        "/plan/target/authority",
        "/plan/target/endpoint/tcp/host",
        "/plan/work/requests/list/0/name",
        "/plan/work/requests/list/0/method",
        "/plan/work/requests/list/0/path",
    ] {
        *document.pointer_mut(field).unwrap_or_else(|| panic!("{field}")) = json!(payload);
    }
    let list = &mut document["plan"]["work"]["requests"]["list"];
    list[0]["headers"] = json!([[payload, payload]]);
    let request = list[0].clone();
    *list = json!([request.clone(), request]);
    document["requests"] =
        json!([{"name": payload, "sent": 1, "ok": 1, "errors": 0, "response": null}]);
    // The example contains the body of an unexpected response.
    let error = json!([{"kind": payload, "count": 1, "sentence": payload, "example": payload}]);
    for field in ["errors", "connect_errors", "warm_up_errors"] {
        document[field] = error.clone();
    }
    document["connections"]["losses"] = error;
    document["verdicts"] = json!([{"id": payload, "severity": "warning", "sentence": payload,
        "evidence": {payload: 1.0}, "remedy": payload}]);
    document["expectations"] = json!([{"expression": payload, "outcome": "not-met",
        "measured": 1.0, "sentence": payload}]);
    document["target"] = json!({"name": payload, "command": [payload], "cores": [0],
        "loader_cores": [1], "samples": [], "cpu_share_mean": 0.5, "cpu_share_max": 0.5,
        "rss_peak_bytes": 1, "cpu_s": 1.0, "requests_per_cpu_s": 1.0,
        "stats": [{"at_s": 0.1, "json": {payload: payload}}], "ended": payload,
        "log_tail": [payload, payload]});
    let path = outcome.path("poisoned.json");
    fs::write(&path, document.to_string()).unwrap();
    path
}

#[test]
fn nothing_of_a_servers_or_a_users_runs() {
    let outcome = run();
    let mut browser = Browser::start().expect("chromium, which scripts/need-peers installs");
    for payload in PAYLOADS {
        let result = poisoned(&outcome, payload);
        let page = candor(&["report", result.to_str().unwrap(), "--format", "html"]);
        assert_eq!(page.code(), 0, "{}", page.stderr);
        let file = outcome.path("poisoned.html");
        fs::write(&file, &page.stdout).unwrap();
        for scripts in [true, false] {
            open(&mut browser, &file, View { scripts, ..WIDE });
            let (x, y) = middle(&mut browser, "#heat .frame");
            browser.pointer("hover", x, y).unwrap();
            assert_eq!(browser.evaluate("typeof window.ran").unwrap(), "undefined", "{payload}");
            let strangers = "document.querySelectorAll('img, iframe, foreignObject, [onload], \
                             [onerror], [onfocus], script:not([type]) ~ script').length";
            assert_eq!(number(&mut browser, strangers), 0.0, "{payload}");
            // The payload is visible as text.
            let all = text(&mut browser, "body");
            assert!(all.matches(payload).count() > 15, "{payload}");
        }
        // Even an unescaped script would not run.
        let bare = page.stdout.replacen("<footer>", "<footer><script>window.ran = 1</script>", 1);
        fs::write(&file, bare).unwrap();
        browser.open(&file, WIDE).unwrap();
        assert_eq!(browser.evaluate("typeof window.ran").unwrap(), "undefined");
        let complaints = browser.complaints().unwrap().join("\n");
        assert!(complaints.contains("Content Security Policy"), "{complaints}");
    }
}
