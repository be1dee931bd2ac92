//! Journeys, from a plan's tables to the plan.

use std::time::Instant;

use crate::common::*;
use candor_plan::journey::Variables;
use candor_plan::template::{Names, Piece, Template, Unit, Value};
use candor_plan::{Capture, OnFailure, Options, Plan, Segment, Think};

const BUY: &str = "
url = 'http://h/'
[data.users]
file = 'users.csv'
[[journey]]
name = 'buy'
weight = 3
cookies = true
on-failure = 'go-on'
[[journey.step]]
name = 'login'
method = 'POST'
path = '/login'
json = { user = '${users.name}', password = '${users.password}' }
capture = { token = 'json:$.auth.token', id = 'header:X-Id' }
[[journey.step]]
name = 'cart'
path = '/cart/${id}'
headers = { Authorization = 'Bearer ${token}' }
think = 'exp 2s'
expect-status = 200
repeat = '1..3'
when = '${token}'
[[journey]]
[[journey.step]]
";

fn planned(text: &str) -> Result<Plan, String> {
    let files = Memory::with(&[("users.csv", "name,password")]);
    let built =
        Options::from_toml("plan.toml", text).map_err(|error| error.to_string())?.build(&files);
    built.map(|(plan, _)| plan).map_err(|error| error.to_string())
}

#[test]
fn a_plan_has_one_kind_of_work() {
    let files = Memory::with(&[("s.lua", "")]);
    let refused = |text: &str| {
        let options = Options::from_toml("plan.toml", text).unwrap();
        options.build(&files).expect_err(text).to_string()
    };
    let (request, journey) = ("[[request]]\n", "[[journey]]\n[[journey.step]]\n");
    for (top, tables, one, other) in [
        ("", [request, journey], "[[request]]", "[[journey]]"),
        ("script = 's.lua'", ["", request], "--script", "[[request]]"),
        ("script = 's.lua'", ["", journey], "--script", "[[journey]]"),
    ] {
        let said = refused(&format!("url = 'http://h/'\n{top}\n{}", tables.concat()));
        assert!(said.starts_with(&format!("{one} cannot be used with {other}: ")), "{said}");
    }
    let said = refused("url = 'http://h/'\nusers = 3\n");
    assert!(said.starts_with("--users: only a plan with a [[journey]] has users"), "{said}");
}

#[test]
fn a_journey_is_steps_of_requests() {
    let plan = planned(BUY).unwrap();
    let names: Vec<&str> = plan.work.requests().iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["login", "cart", "GET /"]);
    let [buy, other] = plan.work.journeys() else { panic!("{:?}", plan.work.journeys()) };
    assert_eq!((buy.name.as_str(), buy.weight, buy.cookies), ("buy", 3, true));
    assert_eq!(buy.on_failure, OnFailure::GoOn);
    assert_eq!((other.name.as_str(), other.weight, other.cookies), ("journey 2", 1, false));
    let (login, cart) = (&buy.steps[0], &buy.steps[1]);
    let capture =
        |variable: &str, source: &str| Capture { variable: variable.into(), source: source.into() };
    assert_eq!(
        login.captures,
        [capture("token", "json:$.auth.token"), capture("id", "header:X-Id")]
    );
    assert_eq!((login.think, login.repeat, &login.when), (Think::None, (1, 1), &None));
    assert_eq!(cart.think, Think::Exponential { mean_ns: 2_000_000_000 });
    assert_eq!((cart.repeat, cart.when.as_deref()), ((1, 3), Some("${token}")));
    let variables = Variables::of(plan.work.journeys());
    assert_eq!(variables.names(), ["token", "id"]);
    let before = |request: u32| {
        let known = variables.before(request);
        known.names().map(|name| (name, known.number(name).unwrap())).collect::<Vec<_>>()
    };
    assert_eq!(before(0), []);
    assert_eq!(before(1), [("token", 0), ("id", 1)]);
    assert_eq!(before(2), [], "a user of another journey has not logged in");
}

#[test]
fn a_captured_variable_may_have_the_name_of_a_time() {
    let text = "url = 'http://h/'\n[[journey]]\n[[journey.step]]\nname = 'a'\npath = '/${now}${now_s}${now_ns}'\n\
                capture = { now = 'body', now_s = 'body', now_ns = 'body' }\n\
                [[journey.step]]\nname = 'b'\npath = '/${now}${now_s}${now_ns}'";
    let plan = planned(text).unwrap();
    let variables = Variables::of(plan.work.journeys());
    let times = [Value::Now(Unit::Date), Value::Now(Unit::Seconds), Value::Now(Unit::Nanos)];
    let captured = ["now", "now_s", "now_ns"].map(|name| variables.number(name).unwrap());
    for (request, values) in [(0, times), (1, captured.map(Value::Variable))] {
        let names = Names { data: &[], environment: &[], captured: variables.before(request) };
        let of = &plan.work.requests()[request as usize];
        let template = Template::compile(of, 0, names).unwrap();
        let holes = template.path.into_iter().filter_map(|piece| match piece {
            Piece::Hole(hole) => Some(hole.value),
            Piece::Text(_) => None,
        });
        assert_eq!(holes.collect::<Vec<_>>(), values, "{request}");
    }
}

#[test]
fn what_does_not_fit_together_is_refused_with_its_remedy() {
    let step = |keys: &str| format!("url = 'http://h/'\n[[journey]]\n[[journey.step]]\n{keys}");
    let table = [
        (
            "url = 'http://h/'\n[[journey]]".to_owned(),
            "journey \"journey 1\": it has no step; add a [[journey.step]]",
        ),
        (
            format!("{BUY}\n[[journey]]\nname = 'buy'\n[[journey.step]]"),
            "journey \"buy\": two journeys have this name; give one of them another",
        ),
        (
            "url = 'http://h/'\n[[request]]\n[[journey]]\n[[journey.step]]".to_owned(),
            "[[request]] cannot be used with [[journey]]",
        ),
        (
            "url = 'http://h/'\n[[request]]\nthink = '1s'".to_owned(),
            "think cannot be used with [[request]]",
        ),
        (
            "url = 'http://h/'\n[[request]]\ncapture = { a = 'body' }".to_owned(),
            "capture cannot be used with [[request]]",
        ),
        (step("path = '/${token}'"), "the path: ${token} is not known"),
        // A step does not know what it captures itself.
        (step("path = '/${a}'\ncapture = { a = 'body' }"), "the path: ${a} is not known"),
        (step("when = '${a}'"), "when: ${a} is not known"),
        (step("capture = { a = 'jsn:$.a' }"), "journey \"journey 1\": step \"GET /\": capture a: "),
        (step("capture = { 'a b' = 'body' }"), "`a b` is not a name for a variable"),
        (step("think = 'often'"), "think"),
        (step("repeat = '3..1'"), "`3..1` is not a number of times"),
        (step("[[journey.step]]"), "two steps have this name; give one of them another"),
        (step("pth = '/'"), "unknown key \"pth\"; did you mean \"path\"?"),
        (
            "url = 'http://h/'\n[[journey]]\nwieght = 1".to_owned(),
            "unknown key \"wieght\"; did you mean \"weight\"?",
        ),
    ];
    for (text, message) in table {
        let error = planned(&text).expect_err(&text);
        assert!(error.contains(message), "{text}: {error}");
    }
}

#[test]
fn a_rate_may_be_of_requests() {
    // Three quarters of the users make 1 + 2 requests on average, the others one: 2.5 each.
    let text = |keys: &str| format!("{keys}\n{BUY}");
    let rate = |keys: &str| -> Vec<f64> {
        let plan = planned(&text(keys)).unwrap();
        let of = |one: &Segment| match one {
            Segment::Hold { rate, .. } => vec![rate.per_s_f64()],
            Segment::Ramp { from, to, .. } => vec![from.per_s_f64(), to.per_s_f64()],
            _ => Vec::new(),
        };
        plan.load.segments().iter().flat_map(of).collect()
    };
    assert_eq!(rate("rate = 500\nrate-of = 'users'"), [500.0]);
    assert_eq!(rate("rate = 500\nrate-of = 'requests'"), [200.0]);
    assert_eq!(rate("rate = '1/m'\nrate-of = 'requests'"), [0.4 / 60.0]);
    let ramp = "load = 'ramp 0..500 over 10s; hold 100'\nrate-of = 'requests'";
    assert_eq!(rate(ramp), [0.0, 200.0, 40.0]);
    for (keys, message) in [
        ("rate-of = 'requests'", "--rate-of requests cannot be used with a closed loop"),
        ("rate-of = 'requests'\nload = 'burst 5 every 1s'", "cannot be used with burst or replay"),
        ("rate-of = 'user'", "did you mean \"users\"?"),
    ] {
        let error = planned(&text(keys)).expect_err(keys);
        assert!(error.contains(message), "{keys}: {error}");
    }
    let error = planned("url = 'http://h/'\nrate = 5\nrate-of = 'users'").expect_err("no users");
    assert!(error.contains("--rate-of: only a plan with a [[journey]] has users"), "{error}");
}

/// A function that lacks its argument is refused; a capture of its name comes first.
#[test]
fn captures_go_before_functions() {
    let text = |name: &str| {
        format!(
            "url = 'http://h/'\n[[journey]]\n[[journey.step]]\ncapture = {{ {name} = 'body' }}\n\
             [[journey.step]]\npath = '/${{random}}'\n"
        )
    };
    assert!(planned(&text("other")).is_err());
    assert!(planned(&text("random")).is_ok(), "{:?}", planned(&text("random")));
}

#[test]
fn a_path_can_be_a_captured_one() {
    let text = "url = 'http://h/'
        [[journey]]
        [[journey.step]]
        capture = { location = 'header:Location' }
        [[journey.step]]
        path = '${path location}'";
    let plan = planned(text).unwrap();
    assert_eq!(plan.work.requests()[1].path, "${path location}");
    let error =
        planned(&text.replace("path location}'", "path location}x y'")).expect_err("a blank");
    assert!(error.contains("path"), "{error}");
}

#[test]
fn users_may_have_connections_of_their_own() {
    let text = |keys: &str, more: &str| {
        format!(
            "url = 'http://h/'\n{keys}\n[[journey]]\nconnection = 'own'\n[[journey.step]]\n{more}"
        )
    };
    let connections = |keys: &str| {
        let plan = planned(&text(keys, "")).unwrap();
        assert!(plan.connections.own);
        (plan.connections.count, plan.connections.max, plan.work.users())
    };
    assert_eq!(connections(""), (10, 10, Some(10)));
    assert_eq!(connections("users = 7"), (7, 7, Some(7)));
    assert_eq!(connections("rate = 5"), (10_000, 10_000, Some(10_000)));
    assert_eq!(connections("rate = 5\nusers = 50"), (50, 50, Some(50)));
    for (keys, more, message) in [
        ("connections = 5", "", "--connections cannot be used with connection = \"own\""),
        ("rate = 5\nmax-connections = 50", "", "--max-connections cannot be used with"),
        ("once = true", "", "--once cannot be used with"),
        ("", "[[journey]]\n[[journey.step]]", "give every [[journey]] the same"),
        ("", "[[journey]]\nconnection = 'mine'\n[[journey.step]]", "unknown variant `mine`"),
    ] {
        let error = planned(&text(keys, more)).expect_err(keys);
        assert!(error.contains(message), "{keys}: {error}");
    }
}

#[test]
fn steps_may_be_made_once_by_each_user() {
    let text = |keys: &str, once: &str| {
        format!(
            "url = 'http://h/'\n{keys}\n[data.users]\nfile = 'u.csv'\n[data.all]\nfile = 'u.csv'\norder = 'once'\n\
             [[journey]]\n[[journey.step]]\npath = '/${{users.name}}'\nonce = {once}\n\
             [[journey.step]]\npath = '/${{all.name}}'\n"
        )
    };
    let files = Memory::with(&[("u.csv", "name\na\nb\n")]);
    let planned = |text: &str| {
        let options = Options::from_toml("plan.toml", text).map_err(|error| error.to_string())?;
        options.build(&files).map(|(plan, _)| plan).map_err(|error| error.to_string())
    };
    for once in ["true", "'user'"] {
        let plan = planned(&text("", once)).unwrap();
        let once = plan.work.journeys()[0].steps.iter().map(|step| step.once);
        assert_eq!(once.collect::<Vec<_>>(), [true, false]);
        assert_eq!(plan.sets_of_users().into_iter().collect::<Vec<_>>(), [0]);
    }
    let plan = planned(&text("location = 1", "true")).unwrap();
    let once = plan.work.journeys()[0].steps.iter().map(|step| step.once);
    assert_eq!(once.collect::<Vec<_>>(), [true, true, false, false]);
    assert!(planned(&text("rate = 5", "false")).unwrap().sets_of_users().is_empty());
    let of_rows = text("", "true").replace(
        "[data.users]\nfile = 'u.csv'\n",
        "[data.users]\nfile = 'u.csv'\norder = 'once'\n",
    );
    for (text, message) in [
        (text("rate = 5", "true"), "once = true cannot be used with an open load"),
        (text("once = true", "true"), "once = true cannot be used with an open load"),
        (of_rows, "once = true cannot be used with order = \"once\""),
        (
            "url = 'http://h/'\nrate = 5\n[[journey]]\n[[journey.step]]\n[[journey.step]]\npath = '/b'\nonce = 'end'"
                .to_owned(),
            "once = \"end\" cannot be used with an open load",
        ),
        (text("", "'end'"), "come after all others"),
        (
            "url = 'http://h/'\n[[journey]]\n[[journey.step]]\n[[journey.step]]\npath = '/b'\nonce = 'end'\nthink = '1s'"
                .to_owned(),
            "nobody thinks when the run is over",
        ),
        (
            "url = 'http://h/'\n[[journey]]\nconnection = 'own'\n[[journey.step]]\n[[journey.step]]\npath = '/b'\nonce = 'end'"
                .to_owned(),
            "once = \"end\" cannot be used with connection = \"own\"",
        ),
        (text("", "'run'"), "no value is shared by the users of a run; use once = true"),
        (text("", "'day'"), "`day` is not one who makes a step; use once = true"),
        (text("", "3"), "expected true, or \"user\""),
        (
            "url = 'http://h/'\n[[request]]\nonce = true".to_owned(),
            "once cannot be used with [[request]]",
        ),
    ] {
        let error = planned(&text).expect_err(&text);
        assert!(error.contains(message), "{text}: {error}");
    }
}

#[test]
fn steps_may_be_made_when_the_run_is_over() {
    let text = "url = 'http://h/'\nlocation = 1\n[[journey]]\n[[journey.step]]\n[[journey.step]]\npath = '/out'\nonce = 'end'\n";
    let plan = planned(text).unwrap();
    let steps = plan.work.journeys()[0].steps.iter().map(|step| (step.once, step.ending));
    let (each, last) = ((false, false), (false, true));
    assert_eq!(steps.collect::<Vec<_>>(), [each, each, last, last]);
}

#[test]
fn every_thread_has_a_user() {
    let text = |keys: &str| {
        format!("url = 'http://h/'\nconnections = 9\n{keys}\n[[journey]]\n[[journey.step]]\n")
    };
    for load in ["", "rate = 5\n"] {
        let threads = |keys: &str| planned(&text(&format!("{load}{keys}"))).unwrap().threads_of(8);
        assert_eq!([threads(""), threads("users = 3"), threads("users = 30")], [8, 3, 8]);
        let error = planned(&text(&format!("{load}users = 3\nthreads = 4"))).expect_err("too many");
        let expected =
            "--threads: 4 threads cannot share 3 users; raise --users, or lower --threads";
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_plan_is_read_in_time_that_grows_with_its_length_alone() {
    let steps = |count: usize| -> String {
        let step = |at: usize| {
            format!(
                "[[journey.step]]\nname = 's{at}'\npath = '/${{id}}'\ncapture = {{ v{at} = 'body' }}\n"
            )
        };
        (0..count).map(step).collect()
    };
    let login = "[[journey.step]]\ncapture = { id = 'body' }\n";
    let journeys = |count: usize| -> String {
        let journey = |at: usize| format!("[[journey]]\nname = 'j{at}'\n{login}{}", steps(1));
        (0..count).map(journey).collect()
    };
    let long = |count: usize| format!("[[journey]]\n{login}{}", steps(count));
    let requests = |count: usize| "[[request]]\npath = '/${seq}'\n".repeat(count);
    let kinds: [(&str, &dyn Fn(usize) -> String); 3] =
        [("journeys", &journeys), ("steps", &long), ("requests", &requests)];
    for (kind, tables) in kinds {
        let fastest = |count: usize| {
            let text = format!("url = 'http://h/'\n{}", tables(count));
            let once = |_| {
                let begun = Instant::now();
                planned(&text).expect(kind);
                begun.elapsed()
            };
            (0..3).map(once).min().expect("three times")
        };
        let times = fastest(16_000).as_secs_f64() / fastest(1_000).as_secs_f64();
        // Where something looks through all others for each, it is 256.
        assert!(times < 64.0, "{kind}: 16 times as many take {times} times as long");
    }
}
