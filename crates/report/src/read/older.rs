//! Documents of earlier major versions. In the first, plans had another form, and results only one machine; in the
//! second, plans had a field for each kind of work and wire.
//!
//! Only this module reads those forms: it writes such a document's text again in the present form, so that
//! documents have one reader. Fields that an old form lacks get their defaults.

use candor_plan::units::fmt_rate;
use candor_plan::url::parse_host_port;
use candor_plan::{Endpoint, NS_PER_S, Rate, StatusSet};
use serde_json::{Map, Value, json};

/// Fields of results that now belong to a machine.
const MACHINE: [&str; 3] = ["host", "hiccups", "memory"];

/// The text of a document of an earlier version, as one of `format`, or what cannot be read in it.
pub(super) fn upgraded(text: &str, version: u32, format: &'static str) -> Result<String, String> {
    let mut document: Map<String, Value> =
        serde_json::from_str(text).map_err(|error| error.to_string())?;
    if version == 1 && format.starts_with("candor.result/") {
        // It had all workers.
        let mut machine = json!({ "first_worker": 0, "workers": u32::MAX });
        for name in MACHINE {
            if let Some(value) = document.remove(name) {
                machine[name] = value;
            }
        }
        document.insert("machines".to_owned(), json!([machine]));
    }
    if let Some(old) = document.get_mut("plan") {
        let second = if version == 1 { plan(old) } else { Some(old.take()) };
        *old = second.and_then(chosen).ok_or("its plan cannot be read")?;
    }
    document.insert("format".to_owned(), format.into());
    Ok(Value::from(document).to_string())
}

/// A plan of the second version with its work and its wire, each one choice.
fn chosen(mut plan: Value) -> Option<Value> {
    let fields = plan.as_object_mut()?;
    let mut take = |name| fields.remove(name).unwrap_or_default();
    let mut requests = take("requests");
    let (script, journeys, users) = (take("script"), take("journeys"), take("users"));
    let (websocket, calls) = (take("websocket"), take("calls"));
    let list = requests.get_mut("list")?;
    let has_journeys = journeys.as_array().is_some_and(|all| !all.is_empty());
    let work = match (script, has_journeys) {
        (Value::Null, false) => json!({ "requests": requests }),
        (Value::Null, true) => {
            json!({ "journeys": { "list": journeys, "requests": list.take(), "users": users } })
        }
        (script, _) => {
            json!({ "script": { "request": list.get_mut(0)?.take(), "script": script } })
        }
    };
    let wire = match (websocket, calls) {
        (Value::Null, Value::Null) => json!("http"),
        (Value::Null, calls) => json!({ "grpc": calls }),
        (websocket, _) => json!({ "websocket": websocket }),
    };
    fields.extend([("work".to_owned(), work), ("wire".to_owned(), wire)]);
    Some(plan)
}

/// A plan of the first version as one of the second. `None` if a text in it is invalid.
fn plan(old: &Value) -> Option<Value> {
    let connections = &old["connections"];
    let once = connections["once"] == true;
    let connect_rate = &connections["connect_rate_per_s"];
    let requests: Option<Vec<Value>> = old["requests"].as_array()?.iter().map(request).collect();
    Some(json!({
        "target": {
            "url": old["url"],
            "authority": old["authority"],
            "endpoint": endpoint(old["endpoint"].as_str()?)?,
            "resolved": old["resolved"],
            "allow": null,
            "tls": tls(&old["tls"]),
            "http": or(&old["http"], "http/1.1"),
        },
        "requests": { "list": requests?, "order": old["order"], "sequence": { "whole": [] } },
        "load": load(&old["load"])?,
        "stop": old["stop"],
        "connections": with(connections, json!({
            "streams": or(&connections["streams"], 1),
            "windows": { "stream_bits": 30, "connection_bits": 30 },
            "frames": candor_plan::Frames::default(),
            "connect_rate": connect_rate.as_f64().map(|per_s| rate(per_s, "")),
            "connect_during_run": connections["during_run"] == true && !once,
            "once": once,
        })),
        "timeouts": old["timeouts"],
        "recording": {
            "digits": old["digits"],
            "interval_ns": old["interval_ns"],
            "warm_up_ns": old["warm_up_ns"],
            "trace": null,
            "kernel_timestamps": null,
            "held_up": false,
        },
        "threads": {
            "count": old["threads"],
            "pin": old["pin"],
            "pacing": old["pacing"].as_str().filter(|text| !text.is_empty()).unwrap_or("auto"),
            "reactor": "auto",
        },
        "seed": old["seed"],
        "script": null,
        "secrets": "hidden",
    }))
}

/// An object of the old form with the fields of `new` replaced.
fn with(old: &Value, mut new: Value) -> Value {
    for (name, value) in old.as_object().into_iter().flatten() {
        if new.get(name).is_none() {
            new[name] = value.clone();
        }
    }
    new
}

fn or(value: &Value, default: impl Into<Value>) -> Value {
    if value.is_null() { default.into() } else { value.clone() }
}

fn left_out(count: &Value, hash: &Value) -> Value {
    json!({ "left-out": { "count": count, "hash": or(hash, "") } })
}

fn endpoint(text: &str) -> Option<Endpoint> {
    if let Some(path) = text.strip_prefix("unix:") {
        return Some(Endpoint::Unix { path: path.into() });
    }
    let (host, port) = parse_host_port(text).ok()?;
    Some(Endpoint::Tcp { host, port: port? })
}

fn tls(old: &Value) -> Value {
    let pem = |file: &Value| json!({ "file": file, "text": left_out(&0.into(), &Value::Null) });
    let own = || json!({ "certificates": pem(&"".into()), "key": pem(&"".into()) });
    match old {
        Value::Null => Value::Null,
        old => with(
            old,
            json!({
                "trust": match old["trust"].as_str() {
                    Some("system" | "anybody") => old["trust"].clone(),
                    _ => json!({ "only": pem(&old["trust"]) }),
                },
                "identity": (old["own_certificate"] == true).then(own),
                "min": old["versions"][0],
                "max": old["versions"][1],
                "early_data": old["early_data"] == true,
            }),
        ),
    }
}

fn request(old: &Value) -> Option<Value> {
    let header = |one: &Value| json!([one["name"], one["value"]]);
    let headers: Vec<Value> = old["headers"].as_array()?.iter().map(header).collect();
    let delivery = &old["delivery"];
    let pieces = json!({ "count": delivery["pieces"], "gap_ns": delivery["piece_gap_ns"] });
    let expected = old["expect_body"].as_str()?;
    let bytes = || expected.split(' ').find_map(|word| word.parse::<u64>().ok());
    Some(with(
        old,
        json!({
            "headers": headers,
            "body": match old["body_bytes"].as_u64()? {
                0 => json!({ "whole": [] }),
                _ => left_out(&old["body_bytes"], &old["body_hash"]),
            },
            "delivery": {
                "chunk_bytes": delivery["chunk_bytes"],
                "pieces": if delivery["pieces"].is_null() { Value::Null } else { pieces },
                "continue_ns": delivery["continue_timeout_ns"],
                "break_off_after": delivery["break_off_after_bytes"],
            },
            "expect": {
                "status": old["expect_status"].as_str()?.parse::<StatusSet>().ok()?,
                "body": match expected {
                    "any" => json!("any"),
                    text if text.starts_with("exactly") => {
                        json!({ "exact": left_out(&bytes()?.into(), &Value::Null) })
                    }
                    _ => json!({ "length": bytes()? }),
                },
            },
            "redacted": { "query_hash": old["query_hash"] },
        }),
    ))
}

fn load(old: &Value) -> Option<Value> {
    if old["kind"] == "closed" {
        return Some(json!({ "closed": { "think_time_ns": old["think_time_ns"] } }));
    }
    let description = old["description"].as_str()?;
    let segment = |one: &Value| {
        let rate = |name: &str| one[name].as_f64().map(|per_s| rate(per_s, description));
        let duration_ns = &one["duration_ns"];
        Some(match one["kind"].as_str()? {
            "hold" => json!({ "hold": {
                "rate": rate("rate_per_s")?, "duration_ns": duration_ns,
            } }),
            "ramp" => json!({ "ramp": {
                "from": rate("from_per_s")?, "to": rate("to_per_s")?, "duration_ns": duration_ns,
            } }),
            "burst" => json!({ "burst": {
                "size": one["size"], "every_ns": one["every_ns"], "duration_ns": duration_ns,
            } }),
            _ => json!({ "replay": {
                "offsets_ns": left_out(&one["count"], &Value::Null), "duration_ns": duration_ns,
            } }),
        })
    };
    let segments: Option<Vec<Value>> = old["segments"].as_array()?.iter().map(segment).collect();
    Some(json!({ "open": {
        "segments": segments?,
        "arrivals": old["arrivals"],
        "shed_after_ns": old["shed_after_ns"],
    } }))
}

/// A rate was a number per second. Its unit comes from the description, if that has one.
fn rate(per_s: f64, description: &str) -> Rate {
    const UNITS_S: [u64; 4] = [1, 60, 3600, 86_400];
    let of = |per_ns: u64| {
        let events = per_s * per_ns as f64 / 1e9;
        let is_whole = (events - events.round()).abs() <= events * 1e-12;
        is_whole.then_some(Rate { events: events.round() as u64, per_ns })
    };
    let decimals = (0..6).map(|decimals| 10u64.pow(decimals));
    let exact =
        decimals.flat_map(|tens| UNITS_S.map(|unit_s| unit_s * tens * NS_PER_S)).filter_map(of);
    let exact: Vec<Rate> = exact.collect();
    let typed = exact.iter().find(|rate| description.contains(&fmt_rate(**rate)));
    let nearly =
        || Rate { events: (per_s * 1e9).round() as u64, per_ns: 1_000_000_000_000_000_000 };
    typed.or(exact.first()).copied().unwrap_or_else(nearly)
}

#[cfg(test)]
mod tests {
    use candor_plan::{Load, Parts, Plan, PlanError, Replies, Trust, Wire, Work, describe};

    use crate::document::{Document, FORMAT};
    use crate::experiment::{peak::Peak, sweep::Sweep};
    use crate::json;

    const OPEN: &str = include_str!("../../older/1/open.json");
    const CLOSED: &str = include_str!("../../older/1/closed.json");

    #[test]
    fn an_open_load_over_tls() {
        let document = Document::from_json(OPEN).unwrap();
        let plan = &document.plan;
        assert_eq!(
            describe::load(plan),
            "open load, 30/m to 100/s over 300 ms then 90/m for 200 ms then bursts of 3 every \
             100 ms for 200 ms then replay of 3 requests"
        );
        assert_eq!(plan.target.endpoint.to_string(), "127.0.0.1:45593");
        let tls = plan.target.tls.as_ref().unwrap();
        assert_eq!((&tls.trust, tls.min.to_string().as_str()), (&Trust::Anybody, "1.2"));
        let request = &plan.work.requests()[0];
        assert_eq!(request.headers[1], ("Accept".to_owned(), "text/html".to_owned()));
        assert_eq!((request.body.count(), request.body.hash()), (9, Some("bf48")));
        let expect = (request.expect.status.to_string(), request.expect.body.to_string());
        assert_eq!(expect, ("200-299,304".to_owned(), "6 bytes".to_owned()));
        assert_eq!((plan.connections.streams, plan.threads.count), (3, Some(2)));
        assert_eq!(plan.load.segments()[3].duration_ns(), Some(150_000_001));
    }

    #[test]
    fn a_closed_load_in_pieces() {
        let Parts { load, work, recording, .. } = Document::from_json(CLOSED).unwrap().plan;
        assert_eq!(load, Load::Closed { think_time_ns: 5_000_000 });
        let delivery = work.requests()[0].delivery;
        assert_eq!(delivery.chunk_bytes, Some(3));
        assert_eq!(
            delivery.pieces.map(|pieces| (pieces.count, pieces.gap_ns)),
            Some((3, 1_000_000))
        );
        assert_eq!(recording.warm_up_ns, 100_000_000);
    }

    #[test]
    fn experiments_have_plans_too() {
        let peak = Peak::from_json(include_str!("../../older/1/peak.json")).unwrap();
        let sweep = Sweep::from_json(include_str!("../../older/1/sweep.json")).unwrap();
        assert_eq!((peak.plan.recording.digits, sweep.plan.recording.digits), (3, 3));
    }

    #[test]
    fn it_becomes_a_document_of_the_present_and_no_plan_to_run() {
        for text in [OPEN, CLOSED] {
            let document = Document::from_json(text).unwrap();
            assert_eq!(document.format, FORMAT);
            assert_eq!(Document::from_json(&json::render(&document)).unwrap(), document);
            assert!(matches!(Plan::try_from(document.plan), Err(PlanError::LeftOut)));
        }
    }

    #[test]
    fn the_second_versions_users_scripts_and_messages() {
        let read = |text| {
            let document = Document::from_json(text).unwrap();
            assert_eq!(Document::from_json(&json::render(&document)).unwrap(), document);
            document
        };
        let users = read(include_str!("../../older/2/users.json"));
        let Work::Journeys(journeys) = &users.plan.work else { panic!("{:?}", users.plan.work) };
        let names: Vec<_> = journeys.requests.iter().map(|one| one.name.as_str()).collect();
        assert_eq!((names.as_slice(), journeys.users), (["look", "pay"].as_slice(), Some(4)));
        assert_eq!(journeys.list[0].steps[0].captures[0].variable, "message");
        assert_eq!(users.plan.wire, Wire::Http);
        let script = read(include_str!("../../older/2/script.json")).plan;
        assert_eq!(script.work.script().unwrap().path, "s.lua");
        assert_eq!(script.work.requests()[0].path, "/");
        let messages = read(include_str!("../../older/2/messages.json")).plan;
        assert_eq!(messages.wire.websocket().unwrap().replies, Replies::Ordered);
        assert!(matches!(messages.work, Work::Requests(one) if one.list.len() == 1));
    }

    #[test]
    fn damage_is_an_error() {
        for (whole, damaged) in [
            ("\"endpoint\":\"127.0.0.1:45593\"", "\"endpoint\":\"nowhere\""),
            ("\"expect_status\":\"200-299,304\"", "\"expect_status\":\"ok\""),
            ("\"order\":\"rotation\"", "\"order\":7"),
            ("\"rate_per_s\":1.5", "\"rate_per_s\":\"many\""),
        ] {
            assert!(OPEN.contains(whole), "{whole}");
            assert!(Document::from_json(&OPEN.replacen(whole, damaged, 1)).is_err(), "{damaged}");
        }
        // Every number gives a rate that can be shown.
        let far = OPEN.replacen("\"rate_per_s\":1.5", "\"rate_per_s\":-1e300", 1);
        assert!(Document::from_json(&far).is_ok());
    }
}
