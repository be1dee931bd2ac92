//! What becomes of the words of a curl command: redirections, escaped URLs, cookies, secrets.

use candor_import::{Format, ImportError, Options, curl};

fn plan(command: &str) -> String {
    let plan = curl(command.as_bytes(), &Options::default()).unwrap().plan;
    crate::common::check(&plan);
    plan
}

#[test]
fn redirections_are_not_urls() {
    for command in [
        "curl http://h/a > out.txt",
        "curl http://h/a >>out.txt 2>/dev/null",
        "curl -s http://h/a 2>&1 | jq .",
    ] {
        let plan = plan(command);
        assert!(plan.contains("path = \"/a\"") && !plan.contains("[[journey]]"), "{plan}");
    }
}

#[test]
fn brackets_that_browsers_escape_are_themselves() {
    let plan = plan(r"curl 'http://h/a\[0\]?f=\{x\}'");
    assert!(plan.contains("path = \"/a[0]?f={x}\""), "{plan}");
}

/// The body is not known; without it the request would be another one.
#[test]
fn the_standard_input_of_curl_is_refused() {
    for option in ["-d @-", "--data-binary @-", "--json @-", "--data-urlencode a@-", "-T -"] {
        let command = format!("curl http://h/ {option}");
        let error = curl(command.as_bytes(), &Options::default()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "curl command: line 1, column 16: the body is the standard input, which is not known here; write it to a \
             file and use @FILE instead of @-"
        );
    }
}

#[test]
fn a_file_that_is_a_part_of_a_body_or_a_url_is_refused() {
    for option in ["--data-urlencode a@f.txt", "--data-urlencode @f.txt", "--url-query a@f.txt"] {
        let command = format!("curl http://h/ {option}");
        let error = curl(command.as_bytes(), &Options::default()).unwrap_err().to_string();
        assert!(error.contains("write its content instead"), "{error}");
    }
}

#[test]
fn a_file_is_a_body_as_it_is() {
    assert!(plan("curl http://h/ -T a.bin").contains("body-file = \"a.bin\""));
    let plan = plan("curl http://h/ -T a.bin -H 'X-Api-Key: k-0123456789abcdef'");
    assert!(plan.contains("body-file = \"a.bin\"") && plan.contains("${env:"), "{plan}");
}

#[test]
fn an_upgrade_is_for_fixed_requests() {
    assert!(plan("curl --http2 http://h/a").contains("h2c-upgrade = true"));
    for command in ["curl --http2 http://h/a http://h/b", "curl --http2 http://h/?password=secret"]
    {
        let plan = plan(command);
        assert!(!plan.contains("h2c-upgrade") && plan.contains("# Left out: an upgrade"), "{plan}");
    }
    assert!(plan("curl --http2 https://h/a").contains("h2 = true"));
}

#[test]
fn http_3_is_for_https_without_a_proxy() {
    for command in ["--http3 https://h/a", "--http3-only https://h/a https://h/b -d x=1"] {
        let plan = plan(&format!("curl {command}"));
        assert!(plan.contains("h3 = true") && !plan.contains("Left out"), "{plan}");
    }
    let upgraded = plan("curl --http3 --http2 http://h/a");
    assert!(upgraded.contains("h2c-upgrade = true") && !upgraded.contains("h3"), "{upgraded}");
    assert!(!plan("curl --http1.1 --http3 https://h/a").contains("h3"), "the first one counts");
    for elsewhere in ["-x http://p:8080", "--unix-socket /s"] {
        let plan = plan(&format!("curl --http3 {elsewhere} https://h/a"));
        assert!(!plan.contains("h3 = true") && plan.contains("Left out: HTTP/3"), "{plan}");
    }
}

#[test]
fn cookies_are_one_field_and_secret() {
    let plan =
        plan("curl http://h/a -b sid=Zx9-sEcReT_q7W -b b=2 -H 'X-Copy: Zx9-sEcReT_q7W; b=2'");
    assert!(plan.contains("Cookie = \"${env:COOKIE}\""), "{plan}");
    assert_eq!(plan.matches("Cookie").count(), 1);
}

#[test]
fn where_a_request_came_from_has_no_query() {
    let referer = "-H 'referer: https://h/a?ticket=0815&token=Zx9-sEcReT_q7W#x' -d a=b";
    let browser = "-H 'accept-language: de' -H 'user-agent: Mozilla/5.0'";
    let of_browser = plan(&format!("curl https://h/b {browser} {referer}"));
    assert!(of_browser.contains("Referer = \"https://h/a\""), "{of_browser}");
    let typed = plan(&format!("curl https://h/b {referer}"));
    let whole = "Referer = \"https://h/a?ticket=0815&token=${env:TOKEN}#x\"";
    assert!(typed.contains(whole), "{typed}");
}

#[test]
fn numbers_that_are_secret_are_moved_however_long() {
    let json = r#"{"card_number":41111111111111111111111,"pin":1234,"n":7}"#;
    let plan = plan(&format!("curl http://h/ --json '{json}'"));
    let body = r#"{"card_number":${env:CARD},"pin":${env:CODE},"n":7}"#;
    assert!(plan.contains(&format!("body = '{body}'")), "{plan}");
}

#[test]
fn a_server_with_a_password_is_refused() {
    let url = Some("http://me:secret@h/".to_owned());
    let options = Options { url, ..Options::default() };
    let error = curl(b"curl http://h/", &options).unwrap_err();
    assert_eq!(error, ImportError::Credentials);
    assert_eq!(
        error.to_string(),
        "URL of the server: it has a user or a password, which would stand in the plan; leave them out, and \
         add an Authorization header with ${env:NAME} to the plan"
    );
}

#[test]
fn what_is_too_long_is_refused_before_it_is_read() {
    let text = "curl http://h/ ".to_owned() + &"x".repeat(1 << 20);
    let error = curl(text.as_bytes(), &Options::default()).unwrap_err();
    assert_eq!(error, ImportError::TooLong { format: Format::Curl });
    assert_eq!(error.to_string(), "curl command: it is longer than 1 MiB; import it in parts");
    // A field is left out, and that is said.
    let long = "a".repeat(20_000);
    let plan = plan(&format!("curl http://h/ -H 'X-A: {long}' -H 'X-B: b'"));
    assert!(plan.contains("X-B") && !plan.contains("X-A") && !plan.contains("aaaa"), "{plan}");
    assert!(plan.contains("# left out: header fields above 200, or longer than 16 KiB"), "{plan}");
}

#[test]
fn redirects_are_followed_as_often_as_curl_was_told() {
    for (options, most) in [
        ("-L", Some(5)),
        ("-sL --max-redirs 3", Some(3)),
        ("--max-redirs 3 --location", Some(3)),
        ("-L --max-redirs 50", Some(20)),
        ("-L --max-redirs -1", Some(20)),
        ("--location-trusted", Some(5)),
        ("-L --max-redirs 0", None),
        ("--max-redirs 3", None),
        ("", None),
    ] {
        let plan = plan(&format!("curl {options} http://h/a"));
        let key = most.map(|most| format!("location = {most}\n"));
        let has = plan.lines().any(|line| line.starts_with("location = "));
        assert_eq!(has, key.is_some(), "{options}: {plan}");
        assert!(key.is_none_or(|key| plan.contains(&key)), "{options}: {plan}");
        assert_eq!(plan.contains("curl follows 50"), most == Some(5), "{options}: {plan}");
    }
    let upgraded = plan("curl -L --http2 http://h/a");
    assert!(!upgraded.contains("h2c-upgrade") && upgraded.contains("location = 5"), "{upgraded}");
}

#[test]
fn signed_requests_have_the_key_in_variables() {
    for (arguments, host, scope) in [
        ("aws:amz:eu-central-1:execute-api", "h", "eu-central-1:execute-api"),
        ("AWS:AMZ:us-east-1:s3", "h:9000", "us-east-1:s3"),
        ("aws:amz", "lambda.eu-west-1.example", "eu-west-1:lambda"),
        ("aws:amz:eu-west-2", "lambda.eu-west-1.example", "eu-west-2:lambda"),
        ("aws:amz::s3", "lambda.eu-west-1.example", "eu-west-1:lambda"),
    ] {
        let plan = plan(&format!(
            "curl --aws-sigv4 {arguments} -u 'AKIDEXAMPLE:wJalr/UtnFEMI' 'http://{host}/a?k=wJalr/UtnFEMI' \
             -H 'X-Amz-Date: 20150830T123600Z' -H 'x-amz-content-sha256: UNSIGNED-PAYLOAD' -H 'X-Amz-Meta-A: b'"
        ));
        let auth = format!(
            "auth = {{ aws-sigv4 = \"{scope}\", id = \"${{env:AWS_ACCESS_KEY_ID}}\", secret = \"${{env:AWS_SECRET_ACCESS_KEY}}\" }}\n"
        );
        let said = "set them before the run: AWS_ACCESS_KEY_ID,\n#   AWS_SECRET_ACCESS_KEY\n";
        let query = "/a?k=${raw env:AWS_SECRET_ACCESS_KEY}\"";
        for line in [&*auth, said, query, "X-Amz-Meta-A = \"b\""] {
            assert!(plan.contains(line), "{line} is not in\n{plan}");
        }
        for left_out in ["UtnFEMI", "AKIDEXAMPLE", "2015", "UNSIGNED", "BASIC", "Authorization"] {
            assert!(!plan.contains(left_out), "{left_out} is in\n{plan}");
        }
    }
    let temporary = plan(
        "curl http://h/ --http2 --aws-sigv4 aws:amz:a:b -H 'X-Amz-Security-Token: FwoGZXIv+session=='",
    );
    let auth = "auth = { aws-sigv4 = \"a:b\", id = \"${env:AWS_ACCESS_KEY_ID}\", secret = \"${env:AWS_SECRET_ACCESS_KEY}\", \
                session-token = \"${env:AWS_SESSION_TOKEN}\" }";
    assert!(temporary.contains(auth) && !temporary.contains("FwoGZXIv"), "{temporary}");
    for (wrong, why) in [
        ("aws", "for aws:amz alone"),
        ("osc:osc:eu-west-2:api", "for aws:amz alone"),
        ("goog4:goog:a:b", "for aws:amz alone"),
        ("aws:amz", "names region and service"),
        ("aws:amz:$REGION:s3", "names region and service"),
    ] {
        let command = format!("curl -u a:geheim --aws-sigv4 '{wrong}' http://localhost/");
        let error = curl(command.as_bytes(), &Options::default()).unwrap_err().to_string();
        assert!(error.starts_with("curl command: line 1, column 18: "), "{error}");
        assert!(error.contains(why) && !error.contains("geheim"), "{error}");
    }
}
