//! Files and commands that people bring are imported exactly: each request as the program that made it sends it, and
//! what cannot be is said.

use candor_import::{ImportError, Imported, Options, access_log, curl, har, openapi, postman};
use serde_json::{Value, json};
use toml::Table;

/// The requests of a plan, with the header fields that all have, and its text.
fn tables(imported: Result<Imported, ImportError>) -> (Vec<Table>, String) {
    let plan = imported.unwrap().plan;
    crate::common::check(&plan);
    let table: Table = toml::from_str(&plan).unwrap();
    let steps = match table.get("journey") {
        Some(journey) => journey[0]["step"].as_array().unwrap(),
        None => table["request"].as_array().unwrap(),
    };
    let with_fields = |step: &toml::Value| {
        let mut step = step.as_table().unwrap().clone();
        let mut all = Table::new();
        for header in [table.get("header"), step.get("header")].into_iter().flatten() {
            for line in header.as_array().into_iter().flatten() {
                let (name, value) = line.as_str().unwrap().split_once(": ").unwrap();
                let before = all
                    .get(name)
                    .map_or(String::new(), |one| format!("{}|", one.as_str().unwrap()));
                all.insert(name.to_owned(), (before + value).into());
            }
            all.extend(header.as_table().cloned().into_iter().flatten());
        }
        step.insert("header".to_owned(), all.into());
        step
    };
    (steps.iter().map(with_fields).collect(), plan)
}

fn commands(text: &str) -> (Vec<Table>, String) {
    tables(curl(text.as_bytes(), &Options::default()))
}

fn command(text: &str) -> Table {
    let (mut steps, plan) = commands(text);
    assert_eq!(steps.len(), 1, "{plan}");
    steps.remove(0)
}

fn refused(text: &str) -> String {
    curl(text.as_bytes(), &Options::default()).unwrap_err().to_string()
}

fn text<'t>(step: &'t Table, key: &str) -> &'t str {
    step.get(key).map_or("-", |value| value.as_str().unwrap())
}

fn field<'t>(step: &'t Table, name: &str) -> &'t str {
    let mut header = step["header"].as_table().unwrap().iter();
    let found = header.find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map_or("-", |(_, value)| value.as_str().unwrap())
}

fn all<'t>(steps: &'t [Table], key: &str) -> Vec<&'t str> {
    steps.iter().map(|step| text(step, key)).collect()
}

#[test]
fn patterns_in_urls_are_the_requests_that_curl_sends() {
    let (steps, _) = commands("curl 'http://h/items/[1-3]'");
    assert_eq!(all(&steps, "path"), ["/items/1", "/items/2", "/items/3"]);
    let (steps, _) = commands("curl -X POST 'http://h/{a,b}/[01-02]' -d x");
    assert_eq!(all(&steps, "path"), ["/a/01", "/a/02", "/b/01", "/b/02"]);
    assert_eq!(all(&steps, "body"), ["x"; 4]);
    assert_eq!(text(&command("curl -g 'http://h/items/[1-3]{x}'"), "path"), "/items/[1-3]{x}");
    assert!(
        refused("curl 'http://h/[1-'").contains("[1- is not closed; curl takes it for a pattern")
    );
}

#[test]
fn what_options_of_curl_add_is_sent() {
    for (arguments, path) in [
        ("--url-query 'q=a b' --url-query page=2 http://h/search", "/search?q=a+b&page=2"),
        ("--url-query a=1 'http://h/?x=1&'", "/?x=1&a=1"),
        ("-G -d a=1 'http://h/?'", "/?a=1"),
        ("--url-query +r=%2f http://h/search?z", "/search?z&r=%2f"),
        ("-G --data-urlencode 'q=a b&c' -d x http://h/s?y=1", "/s?y=1&q=a+b%26c&x"),
        ("--proto-default https h/a", "/a"),
        ("http://h/a/../b/./c?d=/../e", "/b/c?d=/../e"),
        ("--path-as-is http://h/a/../b", "/a/../b"),
        ("--request-target /x -X OPTIONS http://h/a", "/x"),
        ("--request-target '*' -X OPTIONS http://h/a", "*"),
        ("-T a/b.bin http://h/d/", "/d/b.bin"),
        ("-T 'a b' http://h", "/a%20b"),
        ("-T a.bin http://h/c?d=/", "/c?d=/"),
    ] {
        assert_eq!(text(&command(&format!("curl {arguments}")), "path"), path, "{arguments}");
    }
    assert!(commands("curl --proto-default https h/a").1.contains("url = \"https://h\""));
    let (steps, _) = commands("curl -T a http://h/1 -T b http://h/2");
    assert_eq!(all(&steps, "body-file"), ["a", "b"]);
    for (arguments, name, value) in [
        ("-H 'Host: www.example.com' -H 'Accept-Language: en'", "host", "www.example.com"),
        ("-H 'Host: www.example.com' -H 'Accept-Language: en'", "accept-language", "en"),
        ("-H 'Host: h:80'", "host", "-"),
        ("-H 'Sec-WebSocket-Protocol: a'", "sec-websocket-protocol", "a"),
        ("-r 600", "range", "bytes=600-"),
        ("-r 0-99,200-", "range", "bytes=0-99,200-"),
        ("--compressed", "accept-encoding", "deflate, gzip, br, zstd"),
        ("--compressed -H 'Accept-Encoding: gzip'", "accept-encoding", "gzip"),
        ("-A x -A y", "user-agent", "y"),
        ("-A x -H 'user-agent: z'", "user-agent", "z"),
        ("-A x -H 'User-Agent:'", "user-agent", "-"),
        ("-e r -H 'Referer: q'", "referer", "q"),
        ("-e 'http://h/a?b=c#d'", "referer", "http://h/a?b=c#d"),
        ("-H 'X-A: 1' -H 'X-A: 1'", "x-a", "1|1"),
        ("-H 'X-A: 1' -H 'X-A: 2'", "x-a", "1|2"),
        ("-d x -H 'Content-Type:'", "content-type", "-"),
        ("--json '{}' -H 'Content-Type: a/b+json'", "content-type", "a/b+json"),
        ("-b a=1 -b b=2 -H 'X-B: 1'", "cookie", "${env:COOKIE}"),
    ] {
        let step = command(&format!("curl http://h/ {arguments}"));
        assert_eq!(field(&step, name), value, "{arguments}");
    }
    let (_, plan) = commands("curl http://h/ -H 'Transfer-Encoding: chunked' -d x");
    assert!(plan.contains("# left out: header Transfer-Encoding, which belongs to the connection"));
}

#[test]
fn options_without_a_meaning_here_are_accepted_and_said() {
    let (_, plan) = commands(
        "curl --retry 3 --retry-connrefused --retry-all-errors -sS --fail -R --ssl-no-revoke --capath /x http://h/",
    );
    for name in ["retry", "retry-connrefused", "retry-all-errors"] {
        assert!(plan.contains(&format!("# Left out: curl's {name}: nothing is retried")), "{plan}");
    }
    assert!(plan.contains("# Left out: curl's capath: details of TLS"), "{plan}");
    // Unambiguous beginnings of names, and what is switched off.
    let step =
        command("curl --head --max-t 2 --no-buffer --no-compressed --data-u 'a=b c' -G http://h/");
    assert_eq!((text(&step, "method"), text(&step, "path")), ("HEAD", "/?a=b+c"));
    assert!(commands("curl --no-alpn https://h/").1.contains("h1 = true"));
    assert_eq!(
        refused("curl --retry-a --dat x http://h/"),
        "curl command: line 1, column 16: the option --dat could be --data or --data-ascii or --data-binary or \
         --data-raw or --data-urlencode; write the whole name"
    );
    for option in ["--digest", "--ntlm", "--negotiate", "--anyauth"] {
        assert_eq!(
            refused(&format!("curl {option} -u u:p http://h/")),
            format!(
                "curl command: line 1, column 6: the option {option}: a plan cannot authenticate so; remove it, or \
                 authenticate by Basic or a header field"
            )
        );
    }
}

#[test]
fn bodies_of_commands_are_sent_byte_for_byte() {
    let odd = r#"{"size":0,"query":{"match_all":{}},"sort":[{"z":"asc","a":"desc"}],"$type":"Foo","v":1.0,"dup":1,"dup":2,"big":1e3}"#;
    let step = command(&format!("curl -H 'Content-Type: application/json' -d '{odd}' http://h/"));
    assert_eq!(text(&step, "body"), odd);
    let blanks = "{ \"b\": 1.50,\n  \"a\" : \"\\u00e9\\/\" }";
    assert_eq!(text(&command(&format!("curl --json '{blanks}' http://h/")), "body"), blanks);
    // A secret within stands alone; all else is as it was.
    let step = command("curl --json '{ \"password\": \"pw-1\", \"b\": 1e2 }' http://h/");
    assert_eq!(text(&step, "body"), "{ \"password\": \"${env:PASSWORD}\", \"b\": 1e2 }");
    let document = "curl -X POST http://h/hd -H 'Content-Type: application/json' -d @- <<JSON\n{\"a\": 1}\nJSON\n";
    let step = command(document);
    assert_eq!((text(&step, "method"), text(&step, "body")), ("POST", "{\"a\": 1}"));
    for (line, body) in [
        ("curl http://h/ --data-binary @- <<'E'\na\n\nb\nE", "a\n\nb\n"),
        ("cat <<E | curl http://h/ -d @-\na\nb\nE", "ab"),
        ("curl http://h/ -d @- <<< x=1", "x=1"),
        ("curl http://h/ --data-urlencode n@- <<E\na b\nE", "n=a+b%0A"),
        ("curl -T - http://h/ <<E\na\nE", "a\n"),
    ] {
        assert_eq!(text(&command(line), "body"), body, "{line}");
    }
    assert_eq!(text(&command("curl http://h/ --data-binary @- < f"), "body-file"), "f");
    let copied = "curl ^\"http://h/mp^\" ^\n  -H ^\"content-type: multipart/form-data; boundary=----B^\" ^\n  \
         --data-raw ^\"------B^\n\nContent-Disposition: form-data; name=^\\^\"a^\\^\"^\n\n^\n\n1^\n\n------B--^\n\n^\"\n";
    assert_eq!(
        text(&command(copied), "body"),
        "------B\nContent-Disposition: form-data; name=\"a\"\n\n1\n------B--\n"
    );
    let error = refused("curl http://h/ -d $'\\xe9'");
    assert!(error.contains("line 1, column 19: the text has bytes that are not UTF-8"), "{error}");
}

#[test]
fn fields_of_forms_have_their_types_and_names() {
    let step = command(
        "curl -F 'metadata={\"a\":1};type=application/json' -F note=hi -F 'semi=\"a;b\"' -F 'x= y ;z' \
         -F 'f=v;type=text/plain; charset=utf-8;filename=\"a b.txt\";headers=\"X-A: 1\"' --form-string 's=@a;type=b' \
         -F 'p=@dir/photo.PNG' -F 'q=@x.bin;type=a/b;filename=y.txt' -F 'r=<note.md' -F 's=v;filename=a.html' http://h/upload",
    );
    // A plan chooses the boundary.
    assert_eq!(field(&step, "content-type"), "-", "{step}");
    let fields: Vec<_> =
        step["form"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
    assert_eq!(
        fields,
        [
            "metadata={\"a\":1};type=application/json",
            "note=hi",
            "semi=\"a;b\"",
            "x=y",
            "f=v;type=text/plain; charset=utf-8;filename=a b.txt;headers=X-A: 1",
            "s=\"@a;type=b\"",
            "p=@dir/photo.PNG",
            "q=@x.bin;type=a/b;filename=y.txt",
            "r=<note.md",
            "s=v;filename=a.html",
        ]
    );
    let step = command(
        "curl -F 'metadata={\"a\":1};type=application/json' -F note=hi -F 'semi=\"a;b\"' -F 'x= y ;z' \
         -F 'f=v;type=text/plain; charset=utf-8;filename=\"a b.txt\";headers=\"X-A: 1\"' --form-string 's=@a;type=b' \
         -F 's=v;filename=a.html' http://h/upload",
    );
    let boundary = field(&step, "content-type").split_once("boundary=").unwrap().1;
    let part = |lines: &str| format!("--{boundary}\r\nContent-Disposition: form-data; {lines}\r\n");
    let expected = [
        "name=\"metadata\"\r\nContent-Type: application/json\r\n\r\n{\"a\":1}",
        "name=\"note\"\r\n\r\nhi",
        "name=\"semi\"\r\n\r\na;b",
        "name=\"x\"\r\n\r\ny",
        "name=\"f\"; filename=\"a b.txt\"\r\nContent-Type: text/plain; charset=utf-8\r\nX-A: 1\r\n\r\nv",
        "name=\"s\"\r\n\r\n@a;type=b",
        "name=\"s\"; filename=\"a.html\"\r\nContent-Type: text/html\r\n\r\nv",
    ];
    let body = expected.map(part).concat() + &format!("--{boundary}--\r\n");
    assert_eq!(text(&step, "body"), body);
    // A form of files alone is a form all the same.
    let (steps, plan) = commands("curl -F 'p=@photo.png' http://h/");
    assert_eq!(text(&steps[0], "method"), "POST", "{plan}");
    let step = command("curl -F 'f=@-;type=a/b' http://h/ <<< hello");
    let part = "name=\"f\"; filename=\"-\"\r\nContent-Type: a/b\r\n\r\nhello\n\r\n";
    assert!(text(&step, "body").contains(part), "{step}");
    assert_eq!(
        command("curl -F 'f=<-' -F password=hunter22 http://h/ < a.txt")["form"].to_string(),
        "[\"f=<a.txt\", \"password=${env:PASSWORD}\"]"
    );
    assert!(refused("curl -F 'f=@-' http://h/").contains("standard input"));
    let (_, plan) = commands("curl -F 'f=@a;encoder=base64' -F 'g=v;headers=@lines' http://h/");
    assert!(
        plan.contains("# Left out: curl's encoder=") && plan.contains("curl's headers="),
        "{plan}"
    );
    let step = command(
        "curl -F a=b -F password=hunter22 -H 'Content-Type: multipart/form-data' http://h/",
    );
    assert!(text(&step, "body").contains("name=\"password\"\r\n\r\n${env:PASSWORD}\r\n"));
    assert!(field(&step, "content-type").starts_with("multipart/form-data; boundary="));
    let step = command("curl --form-escape -F 'a\"b\\=c' http://h/");
    assert!(text(&step, "body").contains("name=\"a\\\"b\\\\\"\r\n\r\nc\r\n"));
    assert!(refused("curl -F 'f=@a.txt,b.txt' http://h/").contains("several files"));
    let step = command("curl -F 'f=@\"a,b.txt\"' http://h/");
    assert_eq!(step["form"][0].as_str(), Some("f=@\"a,b.txt\""));
}

#[test]
fn an_address_keeps_its_zone() {
    let (_, plan) = commands("curl 'http://[fe80::1%25Eth0]:81/a'");
    assert!(plan.contains("url = \"http://[fe80::1%25Eth0]:81\""), "{plan}");
}

#[test]
fn proxies_of_commands_are_those_of_the_plan_without_their_passwords() {
    for (arguments, line) in [
        ("-x proxy.example:3128", "proxy = \"http://proxy.example:3128\""),
        ("--proxy HTTP://proxy.example/", "proxy = \"http://proxy.example\""),
        ("-x socks5h://[::1]:9050", "proxy = \"socks5h://[::1]:9050\""),
        ("--socks5 p:1 --socks5-hostname q:2", "proxy = \"socks5h://q:2\""),
        ("--proxy1.0 p:1", "proxy = \"http://p:1\""),
        ("-x ann:geheim@p:1", "proxy = \"http://p:1\""),
        (
            "-x http://ann:geheim@p:1",
            "# Left out: curl's proxy: no plan has the user and password of a proxy;",
        ),
        (
            "-x p:1 -U ann:geheim",
            "# Left out: curl's proxy-user: no plan has the user and password of a proxy;",
        ),
        (
            "-x socks4://ann:geheim@p:1",
            "# Left out: curl's proxy: a plan has proxies of HTTP and SOCKS 5",
        ),
        (
            "-x https://ann:geheim@p:1",
            "# Left out: curl's proxy: a plan has proxies of HTTP and SOCKS 5",
        ),
        ("--noproxy localhost,.b.example", "noproxy = [\"localhost\", \".b.example\"]"),
        ("-x ''", "noproxy = [\"*\"]"),
        ("-x p:1 --connect-to ::h:2", "# Left out: curl's connect-to: a plan has it or a proxy"),
    ] {
        let (_, plan) = commands(&format!("curl {arguments} http://h/"));
        assert!(plan.contains(line), "{arguments}: {plan}");
        assert!(!plan.contains("geheim") && !plan.contains("ann"), "{plan}");
    }
    let (_, plan) = commands("curl -x p:1 --unix-socket /s http://h/");
    assert!(plan.contains("unix-socket = \"/s\"") && !plan.contains("proxy"), "{plan}");
}

#[test]
fn of_an_option_the_last_one_counts_and_of_commands_the_first() {
    let (_, plan) = commands("curl -m 1 -m 2 http://h/");
    assert!(plan.contains("timeout = \"2s\""), "{plan}");
    let (_, plan) = commands("curl -m 1 http://h/a\ncurl -m 2 -x p:1 http://h/b");
    assert!(plan.contains("timeout = \"1s\"") && plan.contains("proxy = \"http://p:1\""), "{plan}");
    assert!(
        plan.contains("# Guess: all requests have what one command has, the first that names it: proxy, timeout"),
        "{plan}"
    );
}

#[test]
fn a_plan_is_said_to_have_what_it_has() {
    let guess = "# Guess: all requests have what one command has, the first that names it: ";
    let (_, plan) = commands("curl -k -L http://h/a\ncurl http://h/b");
    assert!(!plan.contains("insecure") && plan.contains(&format!("{guess}location\n")), "{plan}");
    let (_, plan) = commands("curl -k https://h/a\ncurl https://h/b");
    assert!(
        plan.contains("insecure = true") && plan.contains(&format!("{guess}insecure\n")),
        "{plan}"
    );
    let (_, plan) = commands("curl -k http://h/a\ncurl http://h/b");
    assert!(!plan.contains("insecure") && !plan.contains(guess), "{plan}");
}

#[test]
fn hosts_that_are_left_out_have_the_number_of_their_requests() {
    let (_, plan) = recorded(vec![
        entry("http://h/a", 0),
        entry("http://cdn.example/logo.png", 1),
        entry("http://api.example/x", 2),
        entry("http://api.example/y", 3),
        entry("http://h/b", 4),
        entry("http://h/c", 5),
    ]);
    assert!(plan.contains("# Left out: other hosts: api.example (2), cdn.example (1)\n"), "{plan}");
}

#[test]
fn what_stands_before_curl_and_what_the_shell_would_put_in_its_place() {
    for before in ["$ ", "time ", "sudo ", "A=b C='d e' ", "env LC_ALL=C "] {
        assert_eq!(text(&command(&format!("{before}curl http://h/a")), "path"), "/a", "{before}");
    }
    for line in [
        "curl http://h/ -d @- <<< $BODY",
        "curl http://h/ -d $(cat file name)",
        "curl http://h/ -d `cat file name`",
        "curl http://h/ --data-binary @- < $FILE",
    ] {
        let (_, plan) = commands(line);
        assert!(
            plan.contains("# guess: the shell would replace a $NAME in this command"),
            "{line}: {plan}"
        );
    }
    assert_eq!(text(&command("curl http://h/ -d $(a (b) c)"), "body"), "$(a (b) c)");
}

#[test]
fn collections_are_sent_as_postman_sends_them() {
    let request = |request: Value| json!({"name": "r", "request": request});
    let parts = json!({
        "raw": "http://shown/x?y={{y}}", "protocol": "http", "host": ["h"], "path": ["p", "{id}", "a#b"],
        "query": [{"key": "y", "value": ""}, {"key": "z=", "value": "1&2='3'{"}, {"key": "n", "value": null},
                  {"key": "v", "value": "{{a&b}}"}],
    });
    let graphql = |variables: Value| {
        json!({"method": "POST", "url": "http://h/g", "body": {"mode": "graphql",
        "graphql": {"query": "{ a(id: \"1\") }", "variables": variables}}})
    };
    let items = json!([
        request(json!({"method": "get", "url": parts})),
        request(
            json!({"method": "POST", "url": "http://h/{{user-id}}/{{userId}}/{{user_id}}/{{user-id}}"})
        ),
        request(json!({"url": {"raw": "http://shown", "auth": {"user": "ann", "password": "p@:w"},
            "protocol": "http", "host": ["h"], "path": ["own"]}})),
        request(graphql(json!(""))),
        request(graphql(json!("{ \"id\": {{id}} }"))),
        request(graphql(json!({"b": 1, "a": 2}))),
    ]);
    let file = json!({"info": {"name": "t"}, "item": items}).to_string();
    let (steps, plan) = tables(postman(file.as_bytes(), &Options::default()));
    let path = "/p/%7Bid%7D/a%23b?y=&z%3D=1%262=%273%27{&n&v=${env:VAR_A_B}";
    assert_eq!((text(&steps[0], "method"), text(&steps[0], "path")), ("-", path));
    let path = "/${env:VAR_USER_ID}/${env:VAR_USER_ID_2}/${env:VAR_USER_ID_3}/${env:VAR_USER_ID}";
    assert_eq!(text(&steps[1], "path"), path);
    let field_of_user = field(&steps[2], "authorization");
    assert_eq!(
        (text(&steps[2], "path"), field_of_user),
        ("/own", "Basic ${env:BASIC_CREDENTIALS}")
    );
    let json = steps[3]["json"].as_table().unwrap();
    assert_eq!((json.len(), json["query"].as_str()), (1, Some("{ a(id: \"1\") }")));
    assert_eq!(
        text(&steps[4], "body"),
        r#"{"query":"{ a(id: \"1\") }","variables":{ "id": ${env:VAR_ID} }}"#
    );
    assert!(plan.contains("variables = { a = 2, b = 1 } }"), "{plan}");
}

#[test]
fn the_rate_of_a_log_is_that_of_the_requests_in_the_plan() {
    let line =
        |date: &str, request: &str| format!("h - - [{date} +0000] \"{request} HTTP/1.1\" 200 1\n");
    let requests =
        ["GET /a", "POST /a", "GET /a", "POST /a", "GET /b", "POST /a", "GET /a", "POST /a"];
    let at = |second: usize| format!("10/Oct/2026:13:55:{second:02}");
    let log: String =
        requests.iter().enumerate().map(|(second, one)| line(&at(second), one)).collect();
    let of = |log: &str, max_requests: Option<usize>| {
        let options = Options { max_requests, ..Options::default() };
        access_log(log.as_bytes(), &options).unwrap().plan
    };
    assert!(of(&log, Some(1)).contains("# rate = \"0.4/s\""), "{}", of(&log, Some(1)));
    assert!(of(&log, None).contains("# rate = \"0.5/s\""), "{}", of(&log, None));
    let years = line("10/Oct/2020:13:55:00", "GET /a") + &line("10/Oct/2026:13:55:00", "GET /a");
    let plan = of(&years, None);
    assert!(plan.contains("# Rate in the log: less than 0.0001 requests/s on average"), "{plan}");
    assert!(!plan.contains("# rate ="), "{plan}");
}

#[test]
fn a_name_like_that_of_a_secret_with_a_pattern_is_made() {
    let text = "openapi: 3.0.3\ninfo: {title: t, version: '1'}\nservers: [{url: 'http://h'}]\npaths:\n  /a:\n    post:\n      \
                requestBody: {content: {application/json: {schema: {type: object, properties: {trunk_sid: {type: string, \
                pattern: '^TK[0-9]{4}$'}, password: {type: string, pattern: '^[a-z]{8}$'}}}}}}\n      responses: {'200': \
                {description: ok}}\n";
    let (steps, _) = tables(openapi(text.as_bytes(), &Options::default()));
    let body = steps[0]["json"].as_table().unwrap();
    assert!(body["trunk_sid"].as_str().unwrap().starts_with("TK"), "{body}");
    assert_eq!(body["password"].as_str(), Some("${env:PASSWORD}"));
}

#[test]
fn references_to_other_files_are_refused_by_name() {
    let text = "openapi: 3.0.3\npaths:\n  /a: {post: {$ref: 'droplets_create.yml'}, get: {responses: {'200': \
                {content: {a/b: {example: {$ref: free.yml}}}}}}}\n";
    let error = openapi(text.as_bytes(), &Options::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "not an OpenAPI document: it refers to another file, droplets_create.yml; write the files into one, e.g. with \
         `redocly bundle`, and import that"
    );
}

fn entry(url: &str, second: u32) -> Value {
    json!({
        "startedDateTime": format!("2026-11-24T10:00:{second:02}.000Z"), "time": 5,
        "request": {"method": "GET", "url": url, "headers": [], "bodySize": 0},
        "response": {"status": 200, "headers": [], "content": {"mimeType": "application/json", "text": "{}"}},
    })
}

fn recorded(entries: Vec<Value>) -> (Vec<Table>, String) {
    let text = json!({"log": {"entries": entries}}).to_string();
    tables(har(text.as_bytes(), &Options::default()))
}

#[test]
fn entries_are_steps_in_the_order_of_their_times() {
    let mut uses = entry("http://h/use", 5);
    uses["request"]["headers"] = json!([{"name": "X-Token", "value": "tok-99887766aabb"}]);
    let mut gives = entry("http://h/gz", 0);
    gives["response"]["content"]["text"] = json!("{\"token\":\"tok-99887766aabb\"}");
    let (steps, plan) = recorded(vec![uses, entry("http://other/", 3), gives]);
    assert_eq!(all(&steps, "path"), ["/gz", "/use"]);
    assert_eq!(steps[0]["capture"]["token"].as_str(), Some("json:$.token"));
    assert_eq!(field(&steps[1], "x-token"), "${token}");
    assert_eq!(text(&steps[1], "think"), "2s", "{plan}");
}

#[test]
fn several_hosts_of_a_recording_are_targets_of_the_plan() {
    let mut uses = entry("https://api.h/use", 5);
    uses["request"]["headers"] = json!([{"name": "X-Token", "value": "tok-99887766aabb"}]);
    let mut gives = entry("http://h/gives", 0);
    gives["response"]["content"]["text"] = json!("{\"token\":\"tok-99887766aabb\"}");
    let entries = vec![gives, entry("http://h/page", 1), uses, entry("https://ads.example/x", 6)];
    let text = json!({"log": {"entries": entries}}).to_string();
    let of_hosts = |hosts: &[&str]| {
        let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
        tables(har(text.as_bytes(), &Options { hosts, ..Options::default() }))
    };
    let url = |step: &Table| step.get("url").map(|url| url.as_str().unwrap().to_owned());
    let (steps, plan) = of_hosts(&["api.h"]);
    let used = Some("https://api.h/use".to_owned());
    assert_eq!(steps.iter().map(url).collect::<Vec<_>>(), [None, None, used.clone()]);
    assert_eq!(field(&steps[2], "x-token"), "${token}", "what one host gives, another has");
    assert!(plan.contains("# Left out: other hosts: ads.example (1)"), "{plan}");
    let (steps, plan) = of_hosts(&["all"]);
    assert_eq!((steps.len(), url(&steps[2])), (4, used));
    assert!(!plan.contains("Left out: other hosts"), "{plan}");
}

#[test]
fn entries_that_are_no_requests_are_left_out_and_said() {
    let mut blocked = entry("http://h/blocked", 0);
    blocked["response"]["status"] = json!(0);
    let mut socket = entry("http://h/socket", 0);
    socket["response"]["status"] = json!(101);
    let mut refused = entry("http://h/refused", 0);
    refused["request"]["headers"] = json!([{"name": "Upgrade", "value": "WebSocket"}]);
    let mut sent = entry("http://h/sent", 0);
    sent.as_object_mut().unwrap().remove("response");
    let mut empty = entry("http://h/empty", 0);
    empty["response"] = Value::Null;
    let mut odd = entry("http://h/odd", 0);
    odd["request"]["method"] = json!("a b");
    let others = ["data:text/plain,hi", "blob:http://x/1", "chrome-extension://x/1", "ws://h/w"];
    let mut entries = vec![entry("http://h/ok", 0), blocked, socket, refused, sent, empty, odd];
    entries.extend(others.map(|url| entry(url, 0)));
    let (steps, plan) = recorded(entries);
    assert_eq!(all(&steps, "path"), ["/ok", "/sent", "/empty"]);
    let statuses: Vec<_> = steps.iter().map(|step| step.contains_key("expect-status")).collect();
    assert_eq!(statuses, [true, false, false]);
    for remark in [
        "# Left out: 3 requests with another URL than http or https",
        "# Left out: 3 requests for a WebSocket, which is a plan of its own, with a ws:// URL",
        "# Left out: 1 request without a response",
        "# Left out: 1 request with a method that HTTP does not have",
    ] {
        assert!(plan.contains(remark), "{remark} is not in\n{plan}");
    }
}

#[test]
fn bodies_of_recordings_are_whole_or_left_out() {
    let post = |body: Value, header: &[(&str, &str)]| {
        let mut one = entry("http://h/up", 0);
        one["request"]["method"] = json!("POST");
        let fields = header.iter().map(|(name, value)| json!({"name": name, "value": value}));
        one["request"]["headers"] = fields.collect();
        one["request"]["postData"] = body;
        one
    };
    let kind = "multipart/form-data; boundary=----WebKitFormBoundaryX";
    let params = json!([
        {"name": "f", "value": "v"},
        {"name": "password", "value": "hunter22"},
        {"name": "file", "fileName": "a.txt", "contentType": "text/plain", "value": "hello"},
    ]);
    let (steps, _) = recorded(vec![post(
        json!({"mimeType": kind, "params": params}),
        &[("Content-Type", kind)],
    )]);
    assert_eq!(field(&steps[0], "content-type"), kind);
    assert_eq!(
        text(&steps[0], "body"),
        "------WebKitFormBoundaryX\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\nv\r\n\
         ------WebKitFormBoundaryX\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n${env:PASSWORD}\r\n\
         ------WebKitFormBoundaryX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\
         Content-Type: text/plain\r\n\r\nhello\r\n\
         ------WebKitFormBoundaryX--\r\n"
    );
    let params = json!([
        {"name": "f=1", "value": "v;w"},
        {"name": "lost", "fileName": "C:\\a\\b.bin", "contentType": "image/png"},
    ]);
    let (steps, plan) = recorded(vec![post(
        json!({"mimeType": kind, "params": params}),
        &[("Content-Type", kind)],
    )]);
    // With the boundary of its header.
    assert_eq!(field(&steps[0], "content-type"), kind);
    let file = "lost=@b.bin;type=image/png;filename=C:\\a\\b.bin";
    assert_eq!(steps[0]["form"], toml::Value::from(vec!["f%3D1=\"v;w\"", file]), "{plan}");
    assert!(plan.contains("it is read from b.bin beside this plan"), "{plan}");
    let mut sized = post(Value::Null, &[]);
    sized["request"]["bodySize"] = json!(12);
    let (steps, plan) = recorded(vec![
        entry("http://h/", 0),
        sized,
        post(json!({"mimeType": "text/plain", "text": ""}), &[("content-length", "3")]),
        post(Value::Null, &[("content-type", kind)]),
        post(Value::Null, &[("content-length", "0")]),
    ]);
    assert_eq!(all(&steps, "method"), ["-", "POST"]);
    let remark = "# Left out: 3 requests with a body that is not in the recording, or longer than 512 KiB: POST /up, \
                  POST /up, POST /up; write the body to a file and use body-file";
    assert!(plan.replace("\n#  ", "").contains(remark), "{plan}");
    let coded = |text: &str| json!({"mimeType": "a/b", "encoding": "base64", "text": text});
    let (steps, plan) = recorded(vec![post(coded("aGVsbG8="), &[]), post(coded("/+8A"), &[])]);
    assert_eq!((text(&steps[0], "body"), field(&steps[0], "content-type")), ("hello", "a/b"));
    assert!(steps.len() == 1 && plan.contains("# Left out: 1 request with a body"), "{plan}");
    let cut = post(json!({"mimeType": "text/plain", "text": "abc"}), &[("content-length", "9")]);
    let (_, plan) = recorded(vec![cut]);
    assert!(plan.contains("# guess: the recording has 3 of 9 bytes of this body"), "{plan}");
}

#[test]
fn requests_of_collections_are_those_that_postman_sends() {
    let item = |request: Value| json!({"name": "x", "request": request});
    let raw = |method: &str, body: &str, language: Option<&str>| {
        let options = language.map(|one| json!({"raw": {"language": one}}));
        item(
            json!({"method": method, "url": "http://h/", "body": {"mode": "raw", "raw": body, "options": options}}),
        )
    };
    let mut kept = raw("GET", "kept", None);
    kept["protocolProfileBehavior"] = json!({"disableBodyPruning": true});
    let items = json!([
        item(json!({"method": "POST", "url": "http://u:p@h/?{{k}}={{n}}", "header": [
            {"key": "X-A", "value": "1"}, {"key": "X-A", "value": "2"}, {"key": "{{name}}", "value": "v"},
            {"key": "Host", "value": "other.example.com"}, {"key": "Content-Length", "value": "3"}],
            "body": {"mode": "formdata", "formdata": [
                {"key": "{{k}}", "value": "{{n}}", "type": "text"},
                {"key": "json", "value": "{}", "type": "text", "contentType": "application/json"},
                {"key": "off", "value": "x", "disabled": true},
                {"key": "upload", "type": "file", "src": "/tmp/a.png"},
                {"key": "two", "type": "file", "src": ["b.json"]},
                {"key": "two", "type": "file", "src": ["/c/d"], "fileName": "e.csv"},
                {"key": "lost", "type": "file", "src": null}]}})),
        item(
            json!({"method": "PUT", "url": "http://h/", "header": "X-B: c: d\n// X-Off: 1\nX-C: e\n",
            "body": {"mode": "urlencoded", "urlencoded": [{"key": "{{k}}", "value": "a b"}]}})
        ),
        raw("GET", "pruned", None),
        kept,
        raw("POST", "<a/>", Some("xml")),
        raw("POST", "text", None),
        raw(
            "POST",
            "{ \"b\": {{n}}, \"{{k}}\": [{{free}}, \"{{n}}\", 1.0], \"password\":\"pw\"}",
            Some("json")
        ),
        item(
            json!({"method": "POST", "url": "http://h/", "body": {"mode": "file", "file": {"src": "a.bin"}}})
        ),
        raw("POST", "{{$isoTimestamp}} {{$timestamp}} {{$randomIP}} {{$randomUUID}}", None),
        item(
            json!({"method": "POST", "url": "http://h/", "body": {"mode": "urlencoded", "urlencoded": []}})
        ),
    ]);
    let variables = json!([{"key": "name", "value": "X-Own"}, {"key": "k", "value": "key"}, {"key": "n", "value": "7"}]);
    let file = json!({"info": {"name": "t"}, "variable": variables, "item": items}).to_string();
    let (steps, plan) = tables(postman(file.as_bytes(), &Options::default()));
    let form = &steps[0];
    assert_eq!(text(form, "path"), "/?key=7");
    assert_eq!(field(form, "authorization"), "Basic ${env:BASIC_CREDENTIALS}");
    assert_eq!((field(form, "x-a"), field(form, "x-own")), ("1|2", "v"));
    assert_eq!((field(form, "host"), field(form, "content-length")), ("other.example.com", "-"));
    assert_eq!(field(form, "content-type"), "-");
    let fields = [
        "key=7",
        "json={};type=application/json",
        "upload=@/tmp/a.png",
        "two=@b.json;type=application/json",
        "two=@/c/d;filename=e.csv",
        "lost=;filename=",
    ];
    assert_eq!(form["form"].to_string(), toml::Value::from(fields.to_vec()).to_string());
    assert!(plan.contains("# guess: field lost has a file that the collection"), "{plan}");
    assert_eq!((field(&steps[1], "x-b"), field(&steps[1], "x-c")), ("c: d", "e"));
    assert_eq!(text(&steps[1], "body"), "key=a%20b");
    assert!(!steps[2].contains_key("body"));
    assert!(plan.contains("# left out: a body, which Postman does not send with GET"), "{plan}");
    let kinds: Vec<_> =
        steps[3..6].iter().map(|step| (text(step, "body"), field(step, "content-type"))).collect();
    assert_eq!(
        kinds,
        [("kept", "text/plain"), ("<a/>", "application/xml"), ("text", "text/plain")]
    );
    assert_eq!(
        text(&steps[6], "body"),
        "{ \"b\": 7, \"key\": [${env:VAR_FREE}, \"7\", 1.0], \"password\":\"${env:PASSWORD}\"}"
    );
    assert_eq!(text(&steps[7], "body-file"), "a.bin");
    assert_eq!(field(&steps[7], "content-type"), "application/octet-stream");
    assert_eq!(text(&steps[8], "body"), "${now} ${now_s} 192.0.2.${random 1..254} ${uuid}");
    // A form without a field is no body.
    assert!(!steps[9].contains_key("body") && field(&steps[9], "content-type") == "-");
}
