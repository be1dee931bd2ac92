//! What becomes of the parts of a recording, or of a collection: values that come again, cookies, statuses, bodies.

use candor_import::{Options, har, postman};
use serde_json::{Value, json};
use toml::Table;

/// An exchange; `sent` and `got` are header fields.
fn exchange(
    request: &str,
    sent: &[(&str, &str)],
    body: &str,
    status: u16,
    got: &[(&str, &str)],
    response: &str,
) -> Value {
    let (method, url) = request.split_once(' ').unwrap();
    let fields = |list: &[(&str, &str)]| -> Value {
        list.iter().map(|(name, value)| json!({"name": name, "value": value})).collect()
    };
    let kind =
        sent.iter().find(|(name, _)| *name == "content-type").map_or("text/plain", |one| one.1);
    let mime = if response.starts_with('<') { "text/html" } else { "application/json" };
    let mut entry = json!({
        "startedDateTime": "2024-01-01T00:00:00.000Z", "time": 5,
        "request": {"method": method, "url": format!("https://h.example.com{url}"), "headers": fields(sent)},
        "response": {"status": status, "headers": fields(got), "content": {"mimeType": mime, "text": response}},
    });
    if !body.is_empty() {
        entry["request"]["postData"] = json!({"mimeType": kind, "text": body});
    }
    entry
}

fn get(path: &str, response: &str) -> Value {
    exchange(&format!("GET {path}"), &[], "", 200, &[], response)
}

/// The journey, its steps, and the text of the plan.
fn imported(entries: Vec<Value>) -> (Table, Vec<Table>, String) {
    let text = json!({"log": {"entries": entries}}).to_string();
    let plan = har(text.as_bytes(), &Options::default()).unwrap().plan;
    crate::common::check(&plan);
    let table: Table = toml::from_str(&plan).unwrap();
    let journey = table["journey"][0].as_table().unwrap().clone();
    let steps = journey["step"].as_array().unwrap().iter();
    let steps = steps.map(|step| step.as_table().unwrap().clone()).collect();
    (journey, steps, plan)
}

fn captures(step: &Table) -> Vec<(&str, &str)> {
    let all = step.get("capture").map(|one| one.as_table().unwrap());
    all.into_iter().flatten().map(|(name, from)| (name.as_str(), from.as_str().unwrap())).collect()
}

#[test]
fn values_that_come_again_are_captured_where_they_came_first() {
    let json_type = [("content-type", "application/json")];
    let bearer = [("authorization", "Bearer abcDEF123456"), ("X-Ray", "trace-0001")];
    let (_, steps, _) = imported(vec![
        exchange(
            "POST /login",
            &json_type,
            r#"{"user":"alice"}"#,
            200,
            &[("X-Trace", "trace-0001")],
            r#"{"t":{"a b":"abcDEF123456"},"n":12}"#,
        ),
        exchange(
            "POST /orders",
            &json_type,
            r#"{"n":12}"#,
            201,
            &[],
            r#"{"id":31,"again":"abcDEF123456"}"#,
        ),
        exchange("GET /orders/31?t=abcDEF123456&p=12", &bearer, "", 200, &[], "{}"),
        exchange("POST /x", &json_type, r#"{"order":31,"list":["trace-0001"]}"#, 200, &[], "{}"),
    ]);
    assert_eq!(
        captures(&steps[0]),
        [("a_b", "json:$.t['a b']"), ("n", "json:$.n"), ("trace", "header:X-Trace")]
    );
    assert_eq!(captures(&steps[1]), [("id", "json:$.id")]);
    assert_eq!(steps[1]["body"].as_str(), Some(r#"{"n":${n}}"#));
    assert_eq!(steps[2]["path"].as_str(), Some("/orders/${id}?t=${a_b}&p=${n}"));
    assert_eq!(steps[2]["header"]["Authorization"].as_str(), Some("Bearer ${a_b}"));
    assert_eq!(steps[2]["header"]["X-Ray"].as_str(), Some("${trace}"));
    assert_eq!(steps[3]["body"].as_str(), Some(r#"{"order":${id},"list":["${trace}"]}"#));
}

#[test]
fn what_the_user_typed_is_not_captured() {
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let (_, steps, _) = imported(vec![
        exchange("POST /search", &form, "code=AB-12345678", 200, &[], r#"{"you":"AB-12345678"}"#),
        get("/search?code=AB-12345678", r#"{"short":"a1","date":"2024-05-01T00:00:00Z"}"#),
        get("/a1/2024-05-01T00:00:00Z", "{}"),
    ]);
    assert!(steps.iter().all(|step| captures(step).is_empty()), "{steps:?}");
    assert_eq!(steps[1]["path"].as_str(), Some("/search?code=AB-12345678"));
}

#[test]
fn a_token_that_changes_has_a_capture_each_time() {
    let page =
        |token: &str| format!(r#"<form><input type="hidden" name="csrf" value="{token}"></form>"#);
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let (_, steps, plan) = imported(vec![
        get("/form", &page("tok+1/AAAA==")),
        exchange("POST /form", &form, "csrf=tok%2B1%2FAAAA%3D%3D", 200, &[], &page("tok+2/BBBB==")),
        exchange("POST /form", &form, "csrf=tok%2B2%2FBBBB%3D%3D", 200, &[], "<p>"),
    ]);
    assert_eq!(captures(&steps[0]), [("csrf", r#"regex:name="csrf" value="([^"]+)""#)]);
    assert_eq!(captures(&steps[1]), [("csrf_2", r#"regex:name="csrf" value="([^"]+)""#)]);
    assert_eq!(steps[1]["body"].as_str(), Some("csrf=${csrf}"));
    assert_eq!(steps[2]["body"].as_str(), Some("csrf=${csrf_2}"));
    assert!(!plan.contains("AAAA") && !plan.contains("BBBB"));
}

#[test]
fn redirects_are_steps() {
    let (_, steps, plan) = imported(vec![
        exchange("POST /new", &[], "", 303, &[("Location", "/things/77?tab=1")], ""),
        get("/things/77?tab=1", "{}"),
        exchange("GET /old", &[], "", 301, &[("Location", "https://h.example.com/things/88")], ""),
        get("/things/88", "{}"),
        exchange("GET /fixed", &[], "", 302, &[("Location", "/home")], ""),
        get("/home", "{}"),
    ]);
    assert_eq!(captures(&steps[0]), [("location", "header:Location")]);
    assert_eq!(steps[1]["path"].as_str(), Some("${path location}"));
    assert_eq!(steps[0]["expect-status"].as_integer(), Some(303));
    assert_eq!(steps[3]["path"].as_str(), Some("/things/88"));
    assert!(plan.contains("came from the Location of the step before, whose URL is absolute"));
    // A place that is always the same is no value.
    assert_eq!((captures(&steps[4]).len(), steps[5]["path"].as_str()), (0, Some("/home")));
}

#[test]
fn cookies_are_the_journeys_or_a_variable() {
    let set = [("Set-Cookie", "sid=abcdef123456; Path=/; HttpOnly\nxsrf=Token-123456")];
    let sent = [("Cookie", "sid=abcdef123456; theme=dark-0815"), ("X-Xsrf-Token", "Token-123456")];
    let (journey, steps, plan) = imported(vec![
        exchange("GET /", &[], "", 200, &set, "<p>"),
        exchange("GET /a", &sent, "", 200, &[], "<p>"),
    ]);
    assert_eq!(journey["cookies"].as_bool(), Some(true));
    assert!(plan.contains("no response in it set: theme. COOKIE has them"), "{plan}");
    assert!(plan.contains("the header X-Xsrf-Token repeats the cookie xsrf"), "{plan}");
    assert_eq!(steps[1]["header"]["X-Xsrf-Token"].as_str(), Some("${env:CSRF_TOKEN}"));
    assert!(!plan.contains("abcdef123456") && !plan.contains("dark-0815"));
    let (journey, ..) = imported(vec![get("/", "<p>")]);
    assert!(!journey.contains_key("cookies"));
}

#[test]
fn bodies_are_written_as_a_person_would() {
    let json_type = [("content-type", "application/json; charset=utf-8")];
    let patch = [("content-type", "application/merge-patch+json")];
    let (_, steps, _) = imported(vec![
        exchange("PUT /a", &json_type, r#"{"b":1,"a":[true,{"c":"d"}]}"#, 204, &[], ""),
        exchange("PUT /b", &patch, r#"{"gone":null}"#, 204, &[], ""),
        exchange("PUT /c", &json_type, "{not json", 400, &[], ""),
        exchange("PUT /d", &[], "plain ${text}\r\n", 200, &[], ""),
    ]);
    assert_eq!(steps[0]["json"].to_string(), r#"{ b = 1, a = [true, { c = "d" }] }"#);
    assert!(!steps[0].contains_key("header"), "`json` sends its own type");
    assert_eq!(steps[1]["body"].as_str(), Some(r#"{"gone":null}"#));
    assert_eq!(steps[1]["header"]["Content-Type"].as_str(), Some("application/merge-patch+json"));
    assert_eq!(
        (steps[2]["body"].as_str(), steps[2]["expect-status"].as_integer()),
        (Some("{not json"), Some(400))
    );
    assert_eq!(steps[3]["body"].as_str(), Some("plain $${text}\r\n"));
}

#[test]
fn responses_from_the_cache_and_long_bodies() {
    let mut cached = get("/cached", "{}");
    cached["_fromCache"] = json!("disk");
    let mut unchanged = get("/unchanged", "{}");
    unchanged["response"]["status"] = json!(304);
    let mut long = exchange("POST /long", &[], "x", 200, &[], "{}");
    long["request"]["postData"]["text"] = json!("x".repeat(600 * 1024));
    let mut encoded = get("/encoded", "");
    // {"token":"abcDEF123456"}
    encoded["response"]["content"] = json!({"mimeType": "application/json", "encoding": "base64", "text": "eyJ0b2tlbiI6ImFiY0RFRjEyMzQ1NiJ9"});
    let (_, steps, plan) =
        imported(vec![cached, unchanged, long, encoded, get("/abcDEF123456", "{}")]);
    assert_eq!(steps.len(), 3);
    assert_eq!(steps[0]["expect-status"].as_integer(), Some(200));
    assert!(
        plan.contains("# Left out: 1 request with a body that is not in the recording"),
        "{plan}"
    );
    assert!(plan.contains("/long; write the body"), "{plan}");
    assert_eq!(captures(&steps[1]), [("token", "json:$.token")]);
}

#[test]
fn nothing_in_a_plan_is_invisible() {
    let odd = "a\u{200b}\u{202e}b\"\\\u{3164}\u{1}é";
    let json_type = [("content-type", "application/json")];
    let (_, steps, plan) = imported(vec![
        exchange("PUT /a", &json_type, &json!({"odd": odd}).to_string(), 200, &[], ""),
        exchange("PUT /b", &json_type, &json!({odd: 1}).to_string(), 200, &[], ""),
        exchange("PUT /c", &[], odd, 200, &[], ""),
    ]);
    assert!(plan.chars().all(|c| c.is_ascii() || c == 'é'), "{plan}");
    assert_eq!(steps[0]["json"]["odd"].as_str(), Some(odd));
    assert_eq!(steps[1]["json"][odd].as_integer(), Some(1));
    assert_eq!(steps[2]["body"].as_str(), Some(odd));
}

/// Converters write URLs in parts only, and `null` for the authentication of the folder above.
#[test]
fn collections_may_have_urls_in_parts() {
    let collection = json!({
        "variable": [{"key": "baseUrl", "value": "http://h:81/v1"}],
        "auth": {"type": "bearer", "bearer": [{"key": "token", "value": "abcdef123456"}]},
        "item": [
            {"request": {"auth": null, "url": {"host": ["{{baseUrl}}"], "path": ["items", ":id", {"value": "x"}],
                "query": [{"key": "a", "value": "1"}, {"key": "b", "value": "2", "disabled": true}, {"key": "c", "value": null}],
                "variable": [{"key": "id", "value": "7"}]}}},
            {"request": {"url": {"protocol": "http", "host": ["h"], "port": "81", "path": "/y"}}},
            {"request": {"auth": {"type": "noauth"}, "url": {"host": ["{{baseUrl}}"]}}},
        ]
    });
    let plan = postman(collection.to_string().as_bytes(), &Options::default()).unwrap().plan;
    crate::common::check(&plan);
    let table: Table = toml::from_str(&plan).unwrap();
    assert_eq!(table["url"].as_str(), Some("http://h:81"));
    let steps = table["journey"][0]["step"].as_array().unwrap();
    let paths: Vec<_> = steps.iter().map(|step| step["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["/v1/items/7/x?a=1&c", "/y", "/v1/"]);
    let bearer = "Bearer ${env:BEARER_TOKEN}";
    assert_eq!(steps[0]["header"]["Authorization"].as_str(), Some(bearer));
    assert!(steps[1].get("header").is_some() && steps[2].get("header").is_none());
}
