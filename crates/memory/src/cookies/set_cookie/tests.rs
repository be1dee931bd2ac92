use proptest::prelude::*;

use super::*;

const NOW_S: u64 = 1_800_000_000;

fn parse(line: &str) -> SetCookie<'_> {
    SetCookie::parse(line.as_bytes()).unwrap()
}

/// RFC 6265 5.2: name and value.
#[test]
fn a_line_begins_with_name_and_value() {
    for (line, name, value) in [
        ("SID=31d4d96e407aad42", "SID", "31d4d96e407aad42"),
        ("a=b; Path=/", "a", "b"),
        (" \ta \t=\t b c ; x", "a", "b c"),
        ("a=", "a", ""),
        ("a=b=c==", "a", "b=c=="),
        ("a=\"b\"", "a", "\"b\""),
        ("a=b;", "a", "b"),
        ("a=b;;;Secure;;", "a", "b"),
        ("lang=en-US; Expires=Wed, 09 Jun 2021 10:18:14 GMT", "lang", "en-US"),
        ("ä=ö", "ä", "ö"),
    ] {
        let cookie = parse(line);
        assert_eq!((cookie.name(), cookie.value()), (name, value), "{line}");
    }
}

#[test]
fn a_line_without_a_name_is_malformed() {
    for line in ["", "a", "=b", " =b", ";", "; a=b", "a; b=c"] {
        assert_eq!(SetCookie::parse(line.as_bytes()).unwrap_err(), Ignored::Malformed, "{line}");
    }
    for line in [&b"a=\xff"[..], b"a=\0", b"a=b\rc", b"a=b; Path=/\x7f", b"a\x01=b"] {
        assert_eq!(SetCookie::parse(line).unwrap_err(), Ignored::Malformed, "{line:?}");
    }
}

/// RFC 6265 5.2.3 to 5.2.5.
#[test]
fn attributes_have_no_case_and_the_last_counts() {
    let cookie = parse("a=b; DOMAIN=.Example.com; path = /x ;SECURE; httponly; other=1");
    assert_eq!((cookie.domain(), cookie.path()), (Some("Example.com"), Some("/x")));
    assert!(cookie.is_secure());
    let cookie = parse("a=b; Path=/a; Path=/b; Domain=a.example; Domain=b.example");
    assert_eq!((cookie.domain(), cookie.path()), (Some("b.example"), Some("/b")));
    assert!(!cookie.is_secure());
    assert!(parse("a=b; Secure=false").is_secure(), "its value does not matter");
    for line in ["a=b; Path=", "a=b; Path", "a=b; Path=x/", "a=b; Path=/a; Path=b", "a=b; Domain="]
    {
        assert_eq!((parse(line).path(), parse(line).domain()), (None, None), "{line}");
    }
    let long = format!("a=b; Path=/{}", "x".repeat(1024));
    assert_eq!(parse(&long).path(), None);
    let longest = format!("a=b; Path=/{}", "x".repeat(1023));
    assert_eq!(parse(&longest).path().map(str::len), Some(1024));
}

/// RFC 6265 5.2.1, 5.2.2 and 5.3, step 3.
#[test]
fn an_age_comes_before_a_date() {
    let past = "Expires=Wed, 09 Jun 2021 10:18:14 GMT";
    let soon = "Expires=Fri, 15 Jan 2027 08:01:00 GMT";
    for (attributes, expected_s) in [
        (String::new(), u64::MAX),
        (past.to_owned(), 1_623_233_894),
        (soon.to_owned(), NOW_S + 60),
        ("Expires=Fri, 15-Jan-27 08:01:00 GMT".to_owned(), NOW_S + 60),
        ("Expires=Friday, 15-Jan-27 08:01:00 GMT".to_owned(), NOW_S + 60),
        ("Expires=Fri Jan 15 08:01:00 2027".to_owned(), NOW_S + 60),
        ("Expires=15 Jan 2027 8:1:0 UTC".to_owned(), NOW_S + 60),
        ("Expires=Thu, 1 Jan 1970 00:00:00 GMT".to_owned(), 0),
        ("Expires=Mon, 1 Jan 1900 00:00:00 GMT".to_owned(), 0),
        ("Expires=Mon, 01 Jan 1900 00:00:00 GMT".to_owned(), 0),
        ("Expires=0".to_owned(), u64::MAX),
        ("Expires=tomorrow; expires=1 Jan 1970 00:00:05; Expires=x".to_owned(), 5),
        ("Max-Age=60".to_owned(), NOW_S + 60),
        (format!("Max-Age=60; {past}"), NOW_S + 60),
        (format!("{past}; max-age=60"), NOW_S + 60),
        ("Max-Age=0".to_owned(), 0),
        ("Max-Age=-1".to_owned(), 0),
        (format!("Max-Age=1x; {soon}"), NOW_S + 60),
        (format!("Max-Age=+5; {soon}"), NOW_S + 60),
        ("Max-Age=99999999999999999999999".to_owned(), NOW_S + 400 * 86_400),
        ("Expires=Fri, 31 Dec 9999 23:59:59 GMT".to_owned(), NOW_S + 400 * 86_400),
    ] {
        let line = format!("a=b; {attributes}");
        assert_eq!(parse(&line).expires_s(NOW_S), expected_s, "{line}");
    }
    assert_eq!(parse("a=b; Max-Age=9").expires_s(u64::MAX), u64::MAX);
}

#[test]
fn long_lines_are_refused() {
    let line = |value: usize| format!("a={}; Path=/", "x".repeat(value));
    assert!(SetCookie::parse(line(4095).as_bytes()).is_ok());
    assert_eq!(SetCookie::parse(line(4096).as_bytes()).unwrap_err(), Ignored::TooLong);
    let attributes = format!("a=b{}", "; Secure".repeat(2000));
    assert_eq!(SetCookie::parse(attributes.as_bytes()).unwrap_err(), Ignored::TooLong);
}

proptest! {
    #[test]
    fn any_line_is_a_cookie_or_not(line in prop::collection::vec(any::<u8>(), 0..100), now_s in any::<u64>()) {
        if let Ok(cookie) = SetCookie::parse(&line) {
            cookie.expires_s(now_s);
        }
    }

    #[test]
    fn any_attributes_do_no_harm(
        line in "a=b(; ?(expires|max-age|domain|path|secure)(=[a-z0-9:,./ é-]{0,30})?){0,4}",
        date in "([0-9]{0,3}[: -]?|jan|Feb|GMT|,| ){0,12}",
        now_s in any::<u64>(),
    ) {
        for line in [line, format!("a=b; Expires={date}")] {
            let cookie = SetCookie::parse(line.as_bytes()).unwrap();
            let _ = (cookie.expires_s(now_s), cookie.domain(), cookie.path(), cookie.is_secure());
        }
    }

    /// A date in the usual form is read as the library writes it.
    #[test]
    fn dates_are_as_the_library_writes_them(second in 0i64..253_402_300_800) {
        let date = time_of(second);
        prop_assert_eq!(date::parse(date.as_bytes()), Some(second), "{}", date);
    }
}

/// RFC 9110 5.6.7, by the library.
fn time_of(second: i64) -> String {
    let date = cookie::time::OffsetDateTime::from_unix_timestamp(second).unwrap();
    let cookie = Cookie::build(("a", "b")).expires(date).build().to_string();
    cookie.split_once("Expires=").unwrap().1.to_owned()
}
