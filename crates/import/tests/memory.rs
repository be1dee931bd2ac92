//! Inputs that would become many times as large in a plan, or on the way to it, and those that would take a
//! square of their length in time: memory stays within some hundred MiB, and each ends within seconds. This is a
//! binary of its own with one test, because it reads the peak of the whole process.
#![allow(clippy::unwrap_used, reason = "what a test sets up is there, or the test fails")]

use candor_import::{Options, curl, har, openapi, postman};

/// The most resident memory of this process so far, in MiB.
fn peak_mib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<usize>().unwrap() / 1024
}

/// A document with `count` operations, each with `operation`, and the schemas.
fn spec(count: usize, operation: &str, schemas: &str) -> String {
    let paths: Vec<_> =
        (0..count).map(|at| format!(r#""/{at}":{{"post":{{{operation}}}}}"#)).collect();
    let paths = paths.join(",");
    format!(r#"{{"openapi":"3.0.0","paths":{{{paths}}},"components":{{"schemas":{schemas}}}}}"#)
}

const JSON_BODY: &str = r##""requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/A"}}}}"##;

fn of_openapi(long: &str) -> Vec<String> {
    let aliases = "- *a\n".repeat(100_000);
    let anchored = format!("openapi: 3.0.0\na: &a {long}\nb:\n{aliases}paths: {{}}\n");
    let merged = format!(
        "openapi: 3.0.0\ne: &e {{}}\na:\n{}{}paths: {{}}\n",
        (0..100_000).map(|at| format!("  k{at}: 1\n")).collect::<String>(),
        "  <<: *e\n".repeat(100_000)
    );
    // A path with its one parameter many times; a text in every field of every body; names.
    let holes = "{a}".repeat(20_000);
    let path = format!(
        r#"{{"openapi":"3.0.0","paths":{{"/{holes}":{{"get":{{"parameters":[{{"name":"a","in":"path","example":"{long}"}}]}}}}}}}}"#
    );
    let fields: Vec<_> =
        (0..400).map(|at| format!(r##""f{at}":{{"$ref":"#/components/schemas/B"}}"##)).collect();
    let fields = fields.join(",");
    let text = format!(r#"{{"A":{{"properties":{{{fields}}}}},"B":{{"example":"{long}"}}}}"#);
    let name = format!(r#"{{"A":{{"properties":{{"{long}":{{"type":"string"}}}}}}}}"#);
    let kind = format!(r#"{{"A":{{"type":"array","items":{{"enum":["{long}"]}}}}}}"#);
    let security = format!(
        r#"{{"openapi":"3.0.0","security":[{{"s":[]}}],"components":{{"securitySchemes":{{"s":{{"type":"apiKey","in":"query","name":"{long}"}}}}}},"paths":{{{}}}}}"#,
        (0..200).map(|at| format!(r#""/{at}":{{"get":{{}}}}"#)).collect::<Vec<_>>().join(",")
    );
    let server = format!(
        r#"{{"openapi":"3.0.0","servers":[{{"url":"http://h/{holes}","variables":{{"a":{{"default":"{long}"}}}}}}],"paths":{{"/":{{"get":{{}}}}}}}}"#
    );
    // Objects and lists that are long to search, from many places.
    let keys: Vec<_> = (0..100_000).map(|at| format!(r#""k{at}":{{}}"#)).collect();
    let keys = keys.join(",");
    let names: Vec<_> = (0..100_000).map(|at| format!(r#""k{at}""#)).collect();
    let wide = format!(r#"{{"A":{{"required":[{}],"properties":{{{keys}}}}}}}"#, names.join(","));
    let junk = format!(r#"{{"A":{{"properties":{{{fields}}}}},"B":{{{keys}}}}}"#);
    let parts = vec![r##"{"$ref":"#/components/schemas/A"}"##; 100_000].join(",");
    let composed = format!(r#"{{"A":{{"allOf":[{parts}]}}}}"#);
    // Choices that no value satisfies, and patterns that are long to search.
    let kinds = vec![r##"{"$ref":"#/components/schemas/B"}"##; 2000].join(",");
    let chosen = format!(
        r##"{{"A":{{"oneOf":[{kinds}]}},"B":{{"properties":{{"a":{{"anyOf":[{kinds}]}},"b":{{"not":{{}}}}}},"required":["a","b"]}}}}"##
    );
    let slow = format!(r#"{{"pattern":"^(a+)+(b|a)*$","example":"{}!"}}"#, "a".repeat(10_000));
    let slow: Vec<_> = (0..400).map(|at| format!(r#""f{at}":{slow}"#)).collect();
    let matched = format!(r#"{{"A":{{"properties":{{{}}}}}}}"#, slow.join(","));
    vec![
        anchored,
        merged,
        path,
        spec(200, JSON_BODY, &text),
        spec(200, JSON_BODY, &name),
        spec(200, JSON_BODY, &kind),
        security,
        server,
        spec(200, JSON_BODY, &wide),
        spec(200, JSON_BODY, &junk),
        spec(200, JSON_BODY, &composed),
        spec(200, JSON_BODY, &chosen),
        spec(200, JSON_BODY, &matched),
        format!(r#"{{"openapi":"3.0.0","paths":{{}},"x":[{}1]}}"#, "1,".repeat(5_000_000)),
    ]
}

fn of_postman(long: &str) -> Vec<String> {
    let item = |url: &str, more: &str| {
        format!(r#"{{"item":[{{"request":{{"url":{url},"header":[{more}]}}}}]}}"#)
    };
    let segments = "/:a".repeat(20_000);
    let path =
        format!(r#"{{"raw":"http://h{segments}","variable":[{{"key":"a","value":"{long}"}}]}}"#);
    let many = "{{a}}".repeat(200_000);
    let filled = format!(
        r#"{{"variable":[{{"key":"a","value":"{long}"}}],"item":[{{"request":{{"url":"http://h/?x={many}"}}}}]}}"#
    );
    let fields: Vec<_> =
        (0..100_000).map(|at| format!(r#"{{"key":"k{at}","value":"v"}}"#)).collect();
    let requests = vec![r#"{"request":"http://h"}"#; 200_000].join(",");
    let others: Vec<_> =
        (0..100_000).map(|at| format!(r#"{{"request":"http://h{at}"}}"#)).collect();
    vec![
        item(&path, ""),
        filled,
        item(r#""http://h""#, &fields.join(",")),
        format!(r#"{{"item":[{requests}]}}"#),
        format!(r#"{{"item":[{}]}}"#, others.join(",")),
    ]
}

fn of_har() -> Vec<String> {
    let entry = |body: &str, response: &str, cookies: &str| {
        format!(
            r#"{{"request":{{"method":"POST","url":"http://h/","headers":[{{"name":"content-type","value":"application/json"}}],"postData":{{"text":"{body}"}}}},"response":{{"status":200,"headers":[{cookies}],"content":{{"mimeType":"text/html","text":"{response}"}}}}}}"#
        )
    };
    let log = |entries: Vec<String>| format!(r#"{{"log":{{"entries":[{}]}}}}"#, entries.join(","));
    let list = format!("[{}1]", r#"\"a\","#.repeat(60_000));
    // Each value comes again in every later request, and stands behind the same text.
    let values: Vec<_> = (0..10_000).map(|at| format!("value-{at:06}")).collect();
    let again = values.iter().map(|one| format!(r#"\"{one}\","#)).collect::<String>();
    let tags = values.iter().map(|one| format!("<a title='x{one}'>")).collect::<String>();
    let title = values.iter().map(|one| format!(" title='{one}'")).collect::<String>();
    let cookies: Vec<_> = (0..200)
        .map(|field| {
            let lines = (0..500).map(|at| format!(r"a{at}=cookie-{field}-{at}\n"));
            format!(r#"{{"name":"set-cookie","value":"{}"}}"#, lines.collect::<String>())
        })
        .collect();
    vec![
        log(vec![entry(&list, "", ""); 45]),
        log([
            vec![entry("1", &format!("{tags}{title}"), "")],
            vec![entry(&format!("[{again}1]"), &tags, ""); 40],
        ]
        .concat()),
        log(vec![entry("1", "", &cookies.join(",")); 8]),
    ]
}

fn of_curl() -> Vec<String> {
    let body = format!("[{}1]", "\"a\",".repeat(60_000));
    let json = "-H 'content-type: application/json'";
    let urls = "http://h/ ".repeat(50_000);
    let fields: String = (0..40_000).map(|at| format!("-H 'x{at}: 1' ")).collect();
    let hosts: String = (0..60_000).map(|at| format!("http://h{at}/ ")).collect();
    vec![
        format!("curl {json} -d '{body}' {urls}"),
        format!("curl http://h {fields}"),
        format!("curl {hosts}"),
    ]
}

#[test]
fn memory_and_time_are_bounded() {
    let long = "x".repeat(1 << 20);
    let options = Options { max_requests: Some(100_000), ..Options::default() };
    let own = peak_mib();
    let check = |kind: &str, at: usize, import: &dyn Fn(&Options)| {
        import(&options);
        let peak = peak_mib() - own;
        assert!(peak < 400, "{kind} {at}: {peak} MiB");
    };
    for (at, text) in of_openapi(&long).iter().enumerate() {
        check("openapi", at, &|options| drop(openapi(text.as_bytes(), options)));
    }
    for (at, text) in of_postman(&long).iter().enumerate() {
        check("postman", at, &|options| drop(postman(text.as_bytes(), options)));
    }
    for (at, text) in of_curl().iter().enumerate() {
        check("curl", at, &|options| drop(curl(text.as_bytes(), options)));
    }
    for (at, text) in of_har().iter().enumerate() {
        check("har", at, &|options| drop(har(text.as_bytes(), options)));
    }
}
