//! The tags of a run in InfluxDB's line protocol: its options, in the words and the order of ghz.
//!
//! Data and metadata may have secrets in them, so they are empty without `--show-secrets`.

use candor_plan::values::{Count, PositiveNanos, SmallCount};
use candor_render::ghz::influx::{Tag, json, quoted};
use serde_json::Value;

use super::arguments::{Asked, Schedule};
use super::plan::{CONCURRENCY, TIMEOUT_NS, TOTAL};

pub(super) fn tags(asked: &Asked) -> Vec<Tag> {
    let ns = |time: Option<PositiveNanos>| time.map_or(0, PositiveNanos::get);
    let s = |time: Option<PositiveNanos>| (ns(time) as f64 / 1e9).to_string();
    let text = |path: &std::path::Path| quoted(&path.to_string_lossy());
    let mut all = Vec::new();
    all.extend(asked.name.as_ref().map(|name| ("name", quoted(name.trim()))));
    match (&asked.proto, &asked.protoset) {
        (Some(proto), _) => all.push(("proto", text(proto))),
        (None, Some(protoset)) => all.push(("Protoset", text(protoset))),
        (None, None) => {}
    }
    let call = asked.call.as_ref().map(|call| call.name()).unwrap_or_default();
    all.push(("call", quoted(call)));
    all.push(("host", quoted(&asked.host)));
    all.push(("n", asked.total.map_or(TOTAL, Count::get).to_string()));
    all.push(("c", asked.concurrency.map_or(CONCURRENCY, SmallCount::get).to_string()));
    match asked.schedule {
        Schedule::Const => all.push(("rps", asked.rps.map_or(0, Count::get).to_string())),
        changing => all.extend([
            ("load-schedule", if changing == Schedule::Step { "step" } else { "line" }.to_owned()),
            ("load-start", asked.load_start.to_string()),
            ("load-end", asked.load_end.unwrap_or(0).to_string()),
            ("load-step", asked.load_step.to_string()),
            ("load-step-duration", ns(asked.load_step_duration).to_string()),
            ("load-max-duration", ns(asked.load_max_duration).to_string()),
        ]),
    }
    let timeout = asked.timeout.unwrap_or_else(|| PositiveNanos::new(TIMEOUT_NS));
    let connecting = asked.connect_timeout.or_else(|| PositiveNanos::new(10_000_000_000));
    let shown = |given: &Option<String>| match given.as_deref().filter(|_| asked.show_secrets) {
        Some(given) => json(given),
        None => quoted(""),
    };
    all.extend([
        ("z", ns(asked.duration).to_string()),
        ("timeout", s(timeout)),
        ("dial_timeout", s(connecting)),
        ("keepalive", "0".to_owned()),
        ("data", shown(&asked.data)),
        ("metadata", shown(&asked.metadata)),
        ("tags", shown_tags(asked.tags.as_ref())),
    ]);
    all
}

fn shown_tags(tags: Option<&Value>) -> String {
    tags.map_or_else(|| quoted(""), |tags| json(&tags.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_the_options_in_the_order_of_ghz() {
        let mut asked = Asked {
            name: Some("run name".to_owned()),
            proto: Some("/apis/greeter.proto".into()),
            call: Some("helloworld.Greeter.SayHello".parse().unwrap()),
            host: "0.0.0.0:50051".to_owned(),
            data: Some(r#"{"name":"Bob Smith"}"#.to_owned()),
            ..Asked::default()
        };
        let line = |asked: &Asked| {
            let all: Vec<String> =
                tags(asked).iter().map(|(name, value)| format!("{name}={value}")).collect();
            all.join(",")
        };
        let front = r#"name="run\ name",proto="/apis/greeter.proto",call="helloworld.Greeter/SayHello",host="0.0.0.0:50051",n=200,c=50,rps=0,z=0,timeout=20,dial_timeout=10,keepalive=0"#;
        assert_eq!(line(&asked), format!(r#"{front},data="",metadata="",tags="""#));
        asked.show_secrets = true;
        let data = r#"data="{\"name\":\"Bob\ Smith\"}""#;
        assert_eq!(line(&asked), format!(r#"{front},{data},metadata="",tags="""#));
        asked.schedule = Schedule::Line;
        assert!(line(&asked).contains(",c=50,load-schedule=line,load-start=0,load-end=0,"));
    }
}
