use super::*;
use proptest::prelude::*;

const HIDDEN: Secrets = Secrets::Hidden;

fn command(text: &str) -> String {
    HIDDEN.command(&words::split(text).unwrap()).join(" ")
}

#[test]
fn fields_are_hidden_unless_they_are_harmless() {
    for name in [
        "Authorization",
        "proxy-authorization",
        "COOKIE",
        "X-Api-Key",
        "X-Access-Key",
        "X-Functions-Key",
        "Ocp-Apim-Subscription-Key",
        "X-Session-Id",
        "X-JWT",
        "X-Credential",
        "X-Passwd",
        "X-Anything",
        "Referer",
    ] {
        assert_eq!(HIDDEN.header(name, "hunter2"), REDACTED, "{name}");
        assert_eq!(Secrets::Shown.header(name, "hunter2"), "hunter2", "{name}");
    }
    for name in ["Accept", "HOST", "Content-Type", "user-agent", ":authority"] {
        assert_eq!(HIDDEN.header(name, "x"), "x", "{name}");
    }
    assert_eq!(HIDDEN.header("User-Agent", "x Bearer abc"), REDACTED);
    assert_eq!(HIDDEN.header("Accept", "BASIC abc"), REDACTED);
}

#[test]
fn exchanges_that_are_looked_at_hide_what_is_known_to_be_secret() {
    for name in ["Authorization", "COOKIE", "Set-Cookie", "X-Api-Key", "X-CSRF-Token"] {
        assert_eq!(HIDDEN.seen_header(name, "hunter2"), REDACTED, "{name}");
        assert_eq!(Secrets::Shown.seen_header(name, "hunter2"), "hunter2", "{name}");
    }
    for name in ["X-Id", "Location", "ETag", "Keep-Alive", "Host", "User-Agent"] {
        assert_eq!(HIDDEN.seen_header(name, "x"), "x", "{name}");
    }
    assert_eq!(HIDDEN.seen_header("X-Id", "Bearer abc"), REDACTED);
    assert_eq!(HIDDEN.seen_header("Host", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"), REDACTED);
    assert!(
        ["password", "apiKey", "access_token", "session_id"]
            .iter()
            .all(|one| HIDDEN.hides(one, ""))
    );
    let shown = ["user", "login", "name", "id", "code", "shipping", "author", "token_type"];
    assert!(!shown.iter().any(|one| HIDDEN.hides(one, "")));
    assert!(HIDDEN.hides("code", "SplxlOBeZQQYbYS6WxSbIA") && !HIDDEN.hides("code", "404"));
    assert!(!Secrets::Shown.hides("password", ""));
}

#[test]
fn urls_keep_hosts_paths_and_names() {
    for (url, shown) in [
        ("http://me:secret@host:80/a@b", "http://[redacted]@host:80/a@b"),
        ("me:secret@host/x", "[redacted]@host/x"),
        ("db://u:pa/s#s@host/x?k=v", "db://[redacted]@host/x?k=…"),
        ("http://[::1]:80/a@b", "http://[::1]:80/a@b"),
        ("http://host/a@b", "http://host/a@b"),
        ("http://h/?access_token=x&page=2&e=", "http://h/?access_token=…&page=…&e="),
        ("http://h?x=a=b", "http://h?x=…"),
        ("/p?bare&&a=1", "/p?…&&a=…"),
        ("/a;jsessionid=F00;v/b", "/a;jsessionid=…;…/b"),
        ("http://h/p#access_token=x", "http://h/p#…"),
        ("http://h/p?a=1#x=2", "http://h/p?a=…#…"),
        ("http://h:S3cretPassword/a", "http://h:[redacted]/a"),
        ("http://h:dead1234beef/a", "http://h:[redacted]/a"),
        ("http://[::1]:S3cret12/a", "http://[::1]:[redacted]/a"),
        ("http://h:http/a", "http://h:http/a"),
        ("fe80::1/a", "fe80::1/a"),
        ("*", "*"),
    ] {
        assert_eq!(HIDDEN.url(url), shown);
        assert_eq!(Secrets::Shown.url(url), url);
    }
    assert_eq!(HIDDEN.path("/a?b=c"), "/a?b=…");
}

#[test]
fn commands_keep_what_is_known_to_be_harmless() {
    for (typed, shown) in [
        ("./server --port 8080 -c4 --cores 0-3", "./server --port 8080 -c4 --cores 0-3"),
        ("bin/target cowboy --mode fast", "bin/target cowboy --mode fast"),
        ("java -jar app.jar {port_file} /etc/x", "java -jar app.jar {port_file} /etc/x"),
        ("s --bind 127.0.0.1:80 --on true", "s --bind 127.0.0.1:80 --on true"),
        ("s --db-password hunter", "s --db-password [redacted]"),
        ("s --db-password 1234 80", "s --db-password [redacted] 80"),
        ("s --password -x --port 1", "s --password [redacted] --port 1"),
        ("s --x-token=abc --n=5", "s --x-token=[redacted] --n=5"),
        ("env PGPASSWORD=abc N=4 s", "env PGPASSWORD=[redacted] N=4 s"),
        ("s --db postgres://u:p@h/d?k=v", "s --db postgres://[redacted]@h/d?k=…"),
        ("mysql -phunter2 -p hunter2", "mysql -p[redacted] -p [redacted]"),
        ("s -H 'Authorization: Bearer abc'", "s -H [redacted]"),
        ("s Authorization: Bearer 123 4", "s [redacted] [redacted] [redacted] 4"),
        ("s bearer abc", "s bearer [redacted]"),
        ("sh -c 'X=1 ./s'", "sh -c X=[redacted]"),
        ("s 12345678=", "s [redacted]"),
        ("s dXNlcjpwdw==", "s [redacted]"),
        ("s --mode Hunter2", "s --mode [redacted]"),
        ("s --on 127.0.0.1:{port} [::1]:{port}", "s --on 127.0.0.1:{port} [::1]:{port}"),
        ("s localhost:{port} --on u:pw:{port}", "s localhost:{port} --on [redacted]"),
        ("s --on ::1:{Hunter2}", "s --on [redacted]"),
        ("s a b --x y hunter2", "s a b --x y [redacted]"),
        ("erl -noshell -setcookie abc", "erl -noshell -s[redacted] [redacted]"),
        ("s --key-id AKIA --pin 1234", "s --key-id [redacted] --pin [redacted]"),
    ] {
        assert_eq!(command(typed), shown);
    }
    let words = vec!["s".to_owned(), "--password".to_owned(), "x".to_owned()];
    assert_eq!(Secrets::Shown.command(&words), words);
    assert!(HIDDEN.command(&[]).is_empty());
}

#[test]
fn a_command_line_shows_what_each_word_may() {
    let mut typed = Typed::default();
    typed.push("candor", Kind::Plain, "");
    typed.push("-H", Kind::Header, "X-Key: hunter2");
    typed.push("--header=", Kind::Header, "Accept: */*");
    typed.push("", Kind::Header, "hunter2");
    typed.push("--body=", Kind::Hidden, "hunter2");
    typed.push("", Kind::Setting, "A=hunter2");
    typed.push("", Kind::Command, "./s --password 'hunter2 '");
    typed.push("", Kind::Command, "./s 'hunter2");
    typed.push("", Kind::Url, "http://h/?a=hunter2");
    let shown = typed.shown(HIDDEN);
    assert_eq!(
        shown,
        [
            "candor",
            "-HX-Key: [redacted]",
            "--header=Accept: */*",
            "[redacted]",
            "--body=[redacted]",
            "A=[redacted]",
            "./s --password '[redacted]'",
            "[redacted]",
            "http://h/?a=…",
        ]
    );
    assert!(!format!("{typed:?}").contains("hunter2"));
    assert!(is_shortened(&shown) && !is_shortened(&shown[..1]));
    assert_eq!(typed.shown(Secrets::Shown)[6], "./s --password 'hunter2 '");
}

#[test]
fn a_hash_tells_apart_and_gives_little_away() {
    assert_eq!(hash(b"a"), hash(b"a"));
    assert_ne!(hash(b"a"), hash(b"b"));
    // With 16 bits, some of 200,000 wrong guesses pass.
    let right = hash(b"{\"password\":\"hunter2\"}");
    let guess = |n: u32| hash(format!("{{\"password\":\"{n}\"}}").as_bytes());
    assert!((0..200_000).any(|n| guess(n) == right));
    assert_eq!(right.len(), 4);
}

#[test]
fn a_first_row_of_values_is_no_header() {
    let told = |names: &[&str]| {
        refused::columns(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())
    };
    assert_eq!(told(&["name", "user_id", "Full-Name"]), "it has name, user_id, Full-Name");
    for row in [&["ann", "1"][..], &["ann", "ann@h.x"], &["S3cret", "ann"], &["name", ""]] {
        assert_eq!(told(row), "it has 2 columns; the first row must name them", "{row:?}");
    }
}

proptest! {
    #[test]
    fn what_stands_behind_the_name_of_a_secret_never_shows(
        name in "(--|-)?[a-z]{0,5}(password|token|api-key|secret)[a-z]{0,3}",
        between in "[= ]",
        value in "[A-Za-z0-9/.:@-]{0,12}HUNTER2[A-Za-z0-9/.=@-]{0,12}",
    ) {
        let shown = command(&format!("s --x 1 {name}{between}{value}"));
        prop_assert!(!shown.contains("HUNTER2"), "{}", shown);
    }

    #[test]
    fn parameters_and_user_information_never_show(
        path in "[a-z/;]{0,9}",
        name in "[a-z]{0,4}",
        user in "[a-z:]{0,5}",
    ) {
        let url = format!("http://{user}HUNTER2@h/{path}?{name}=HUNTER2&HUNTER2#HUNTER2");
        prop_assert!(!HIDDEN.url(&url).contains("HUNTER2"));
    }

    #[test]
    fn nothing_panics(text in ".{0,60}", shaped in "[-=İa-z:@/;?&# ]{0,30}") {
        for text in [text, shaped] {
            let _ = (HIDDEN.url(&text), HIDDEN.path(&text), HIDDEN.header(&text, &text));
            let _ = HIDDEN.command(&[text.clone(), text.clone(), text]);
        }
    }
}
