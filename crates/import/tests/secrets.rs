//! What is moved out of an input, and what stays: values that are secret, where they stand as values, and nothing else.

use candor_import::{Options, curl, har, openapi, postman};

fn checked(imported: Result<candor_import::Imported, candor_import::ImportError>) -> String {
    let plan = imported.expect("a plan").plan;
    crate::common::check(&plan);
    plan
}

fn of_curl(command: &str) -> String {
    checked(curl(command.as_bytes(), &Options::default()))
}

/// Asserts that a plan has each of these lines, or parts of lines.
fn assert_has(plan: &str, lines: &[&str]) {
    lines.iter().for_each(|line| assert!(plan.contains(line), "{line} is not in\n{plan}"));
}

#[test]
fn a_password_that_is_a_word_is_no_part_of_other_words() {
    let plan = of_curl(
        "curl http://h/users/password/edit -d 'user=ann&password=password&new_password=password'\n\
         curl 'http://h/accounts/password?next=/password' -H 'X-Note: no password here' \
         -H 'Content-Type: application/json' -d '{\"password\":\"password\",\"password_hint\":\"my password\"}'",
    );
    assert_has(
        &plan,
        &[
            "path = \"/users/password/edit\"",
            "body = \"user=ann&password=${env:PASSWORD}&new_password=${env:PASSWORD}\"",
            "path = \"/accounts/password?next=/password\"",
            "json = { password = \"${env:PASSWORD}\", password_hint = \"my password\" }",
            "X-Note = \"no password here\"",
            "# Secrets are read from the environment; set it before the run: PASSWORD\n",
        ],
    );
    // A word that is no name of a secret is a secret wherever it is the whole value.
    let plan = of_curl(
        "curl 'http://h/swordfish?a=swordfish&b=swordfishes&swordfish=1' -d 'password=swordfish&note=a+swordfish'",
    );
    assert_has(
        &plan,
        &[
            "path = \"/swordfish?a=${env:PASSWORD}&b=swordfishes&swordfish=1\"",
            "body = \"password=${env:PASSWORD}&note=a+swordfish\"",
        ],
    );
}

#[test]
fn a_value_that_is_no_word_is_hidden_within_texts_too() {
    let plan = of_curl(
        "curl http://h/reset/Zx9-sEcReT/x -H 'X-Note: see Zx9-sEcReT, not Zx9-sEcReTs' -d 'token=Zx9-sEcReT&Zx9-sEcReT=1'",
    );
    assert_has(
        &plan,
        &[
            "path = \"/reset/${env:TOKEN}/x\"",
            "X-Note = \"see ${env:TOKEN}, not Zx9-sEcReTs\"",
            "body = \"token=${env:TOKEN}&Zx9-sEcReT=1\"",
        ],
    );
}

#[test]
fn examples_of_a_description_are_no_secrets() {
    let description = |property: &str| {
        format!(
            "openapi: 3.0.0\ninfo: {{title: t, version: '1'}}\nservers: [{{url: 'http://h'}}]\npaths:\n  \
             /password/{{secret}}:\n    post:\n      parameters: [{{name: secret, in: path, required: true, example: \
             s3cret-0123456789}}]\n      requestBody: {{content: {{application/json: {{schema: {{type: object, \
             properties: {{username: {{type: string, example: admin}}, password: {{type: string{property}}}}}}}}}}}}}\n      \
             responses: {{'200': {{description: ok}}}}\n"
        )
    };
    for given in ["example: password", "default: password", "enum: [password, other]"] {
        let text = description(&format!(", {given}"));
        let plan = checked(openapi(text.as_bytes(), &Options::default()));
        assert_has(
            &plan,
            &[
                "path = \"/password/s3cret-0123456789\"",
                "json = { username = \"admin\", password = \"password\" }",
            ],
        );
    }
    // Without one, the user's own password is better than a text that is made.
    let plan = checked(openapi(description("").as_bytes(), &Options::default()));
    assert_has(&plan, &["json = { username = \"admin\", password = \"${env:PASSWORD}\" }"]);
}

#[test]
fn collections_keep_names_and_lose_values() {
    let collection = |variables: &str, body: &str| {
        let body = serde_json::Value::from(body);
        format!(
            r#"{{"info":{{"name":"t","schema":"https://schema.getpostman.com/json/collection/v2.1.0/collection.json"}},
            "variable":[{variables}],"item":[{{"name":"login","request":{{"method":"POST",
            "header":[{{"key":"Content-Type","value":"application/json"}},{{"key":"X-Own","value":"{{{{mine}}}}"}}],
            "body":{{"mode":"raw","raw":{body}}},"url":{{"raw":"http://h/api/login"}}}}}}]}}"#
        )
    };
    let body = r#"{"email":"a@b.c","password":"password"}"#;
    let plan = checked(postman(collection("", body).as_bytes(), &Options::default()));
    assert_has(&plan, &["json = { email = \"a@b.c\", password = \"${env:PASSWORD}\" }"]);
    let secret = r#"{"key":"mine","value":"plain words","type":"secret"}"#;
    let plan = checked(postman(collection(secret, "{}").as_bytes(), &Options::default()));
    assert_has(&plan, &["X-Own = \"${env:SECRET}\""]);
    assert!(!plan.contains("plain words"), "{plan}");
}

#[test]
fn secrets_are_known_by_their_names_and_by_their_forms() {
    let issued = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N";
    for (arguments, kept) in [
        ("'http://h/cb?code=SplxlOBeZQQYbYS6WxSbIA&state=a'", "code=${env:CODE}&state=a"),
        (
            "http://h/ -d 'SAMLResponse=PHNhbWxwOlJlc3BvbnNl&RelayState=a'",
            "SAMLResponse=${env:TOKEN}&RelayState=a",
        ),
        ("'http://h/blob?sv=2022-11-02&sig=aB3dE5gH7jK9%2Bx%3D&sp=r'", "sig=${env:SIGNATURE}&sp=r"),
        (
            "'http://h/?shop=a.example&hmac=4712bf92ffc2917d15a2f5a273e39f0a'",
            "hmac=${env:SIGNATURE}",
        ),
        (&format!("http://h/ -H 'X-Unknown: {issued}'"), "X-Unknown = \"${env:TOKEN}\""),
        (
            &format!("http://h/ -H 'X-Unknown: Bearer {issued}'"),
            "X-Unknown = \"Bearer ${env:BEARER_TOKEN}\"",
        ),
        (&format!("http://h/{jwt}/x"), "path = \"/${env:TOKEN}/x\""),
        ("http://h/ -d 'totp=424242&code=404'", "totp=${env:CODE}&code=404"),
        ("'http://h/cb?code=a1b2c3&state=a'", "code=${env:CODE}&state=a"),
        ("http://h/ -u ann:hunter22 -d 'note=hunter22'", "note=${env:PASSWORD}"),
        (
            "http://h/ -d 'back=http://h/?access_token=q1w2e3r4t5'",
            "back=http://h/?access_token=${env:TOKEN}",
        ),
    ] {
        let plan = of_curl(&format!("curl {arguments}"));
        assert_has(&plan, &[kept]);
    }
}

#[test]
fn a_recording_keeps_how_a_form_was_written() {
    for (value, kept) in [
        ("correct+horse", "password=${form env:PASSWORD}"),
        ("correct%20horse", "password=${env:PASSWORD}"),
        ("p@ss", "password=${raw env:PASSWORD}"),
        ("%c3%a9", "password=${raw env:PASSWORD}"),
    ] {
        let text = format!(
            r#"{{"log":{{"entries":[{{"startedDateTime":"2024-01-01T00:00:00Z","time":1,"request":{{"method":"POST",
            "url":"http://h/login","headers":[{{"name":"Content-Type","value":"application/x-www-form-urlencoded"}}],
            "postData":{{"mimeType":"application/x-www-form-urlencoded","text":"user=a&password={value}"}}}},
            "response":{{"status":200,"headers":[],"content":{{"text":""}}}}}}]}}}}"#
        );
        assert_has(&checked(har(text.as_bytes(), &Options::default())), &[kept]);
    }
}

#[test]
fn json_has_its_secrets_whatever_its_type_says() {
    for (arguments, kept) in [
        ("-d '{\"password\":\"hunter22\"}'", r#"{"password":"${env:PASSWORD}"}"#),
        ("-d '{\"password\":\"p@ss\"}'", r#"{"password":"${raw env:PASSWORD}"}"#),
        ("-H 'Content-Type: text/plain' -d '{\"pin\": 4711}'", r#"{"pin": ${env:CODE}}"#),
        (
            "-H 'Content-Type:' -d '[{\"password\":\"p@ss\"}]'",
            r#"[{"password":"${env:PASSWORD}"}]"#,
        ),
        ("-d '{\"password\":\"a\\\"b\"}'", r#"{"password":"${raw json env:PASSWORD}"}"#),
        ("-d '{\"password\":\"password\"}, no JSON'", r#"{"password":"password"}, no JSON"#),
    ] {
        let plan = of_curl(&format!("curl http://h/ {arguments}"));
        assert_has(&plan, &[&format!("body = '{kept}'")]);
    }
}

#[test]
fn what_is_within_a_secret_field_is_hidden_where_it_comes_again() {
    let basic = "YW5uOlp4OS1zRWNSZVQ=";
    for (arguments, again) in [
        ("-b 'a=1; sid=Zx9-sEcReT'", "SESSION"),
        (&format!("-H 'Authorization: Basic {basic}'"), "PASSWORD"),
        ("-e 'http://h/a?x=1&token=Zx9-sEcReT#f'", "TOKEN"),
    ] {
        let plan = of_curl(&format!("curl 'http://h/Zx9-sEcReT/1' {arguments}"));
        assert_has(&plan, &[&format!("path = \"/${{env:{again}}}/1\"")]);
        assert!(!plan.contains("Zx9-sEcReT"), "{plan}");
    }
}

#[test]
fn a_secret_keeps_the_escapes_that_no_function_writes() {
    for (command, variable, value, body) in [
        (
            r#"curl http://h/ --json '{"password":"p\u0061ss","n":"\u00e9","a":1.0}'"#,
            "raw env:PASSWORD",
            r"p\u0061ss",
            r#"{"password":"p\u0061ss","n":"\u00e9","a":1.0}"#,
        ),
        (
            r#"curl http://h/ -d '{ "user": { "token": "ab\/CdEf0123456789" } }'"#,
            "raw env:TOKEN",
            r"ab\/CdEf0123456789",
            r#"{ "user": { "token": "ab\/CdEf0123456789" } }"#,
        ),
        (
            "curl http://h/ -d 'user=a~b&password=a*b~c'",
            "raw env:PASSWORD",
            "a*b~c",
            "user=a~b&password=a*b~c",
        ),
        (
            "curl http://h/ -d 'password=a*b~c+d%20e'",
            "raw env:PASSWORD",
            "a*b~c+d%20e",
            "password=a*b~c+d%20e",
        ),
        ("curl http://h/ --data-urlencode 'password=a*b~c d'", "form env:PASSWORD", "", ""),
    ] {
        let plan = curl(command.as_bytes(), &Options::default()).unwrap().plan;
        let table: toml::Table = plan.parse().unwrap();
        let sent = table["request"][0]["body"].as_str().unwrap();
        if !body.is_empty() {
            assert_eq!(sent.replace(&format!("${{{variable}}}"), value), body, "{plan}");
            let has_escapes = value.contains(['\\', '%']);
            assert_eq!(
                plan.contains("# With the escapes that the request has: "),
                has_escapes,
                "{plan}"
            );
        }
        assert!(sent.contains("env:") && !plan.contains("a*b~c"), "{plan}");
    }
}

#[test]
fn variables_that_a_plan_reads_are_numbered_without_a_gap() {
    let json = "-H 'Content-Type: application/json'";
    let plan = of_curl(&format!(
        "curl -u ann:open-sesame-1 http://h/a\n\
         curl http://h/login {json} -d '{{\"user\":\"ann\",\"password\":\"hunter22x\"}}'\n\
         curl http://h/other {json} -d '{{\"user\":\"bob\",\"password\":1234567}}'"
    ));
    assert_has(&plan, &["password = \"${env:PASSWORD}\"", "BASIC_CREDENTIALS"]);
    assert!(plan.contains("${env:PASSWORD_2}") && !plan.contains("PASSWORD_3"), "{plan}");
    let (_, told) = plan.split_once("set them before the run: ").expect("a note");
    let told = told.replace("\n#  ", "");
    for name in ["BASIC_CREDENTIALS", "PASSWORD", "PASSWORD_2"] {
        let names = told.lines().next().unwrap().split(", ");
        assert!(names.clone().any(|one| one.trim() == name), "{name}: {told}");
    }
    // The password by itself keeps a variable of its own.
    let plan = of_curl(
        "curl -u ann:open-sesame-1 http://h/a\n\
         curl http://h/login -d 'password=hunter22x&note=open-sesame-1'",
    );
    assert_has(&plan, &["body = \"password=${env:PASSWORD_2}&note=${env:PASSWORD}\""]);
}
