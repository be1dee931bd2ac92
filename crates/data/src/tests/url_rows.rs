//! Files of URLs and access logs.

use candor_plan::DataFormat::Urls;

use super::{SMALL, fault, file, rows_within, set_of, texts};
use crate::{Table, columns_of, site_of};

#[test]
fn urls_methods_and_paths() {
    let table: [(&str, &[&[&str]]); 9] = [
        ("/a?b=c\n", &[&["GET", "/a?b=c"]]),
        ("# all of them\n\n  # more\n/a\r\n", &[&["GET", "/a"]]),
        ("POST /a\nget\t /b \n", &[&["POST", "/a"], &["get", "/b"]]),
        ("http://h/a\nPUT http://h:80/b#c", &[&["GET", "/a"], &["PUT", "/b"]]),
        ("http://h\nHTTP://H?x\nhttp://h#y\n", &[&["GET", "/"], &["GET", "/?x"], &["GET", "/"]]),
        ("http://[::1]:81/x\n/y#z\n", &[&["GET", "/x"], &["GET", "/y"]]),
        ("/a?u=http://x/y\n//b\n", &[&["GET", "/a?u=http://x/y"], &["GET", "//b"]]),
        ("\u{feff}/ä/%7e/\"\\|\n", &[&["GET", "/ä/%7e/\"\\|"]]),
        ("/${users.name}\n", &[&["GET", "/${users.name}"]]),
    ];
    for (text, rows) in table {
        assert_eq!(texts(Urls, text), rows, "{text:?}");
    }
}

/// The lines of Apache's documentation of its log formats, of nginx, and with a virtual host.
const LOG: &str = r#"127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326
127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "POST /x?y=z HTTP/1.1" 200 2326 "http://www.example.com/start.html" "Mozilla/4.08 [en] (Win98; I ;Nav)"
example.com:443 ::1 - - [10/Oct/2000:13:55:36 -0700] "HEAD /a#b HTTP/2.0" 304 -
10.0.0.1 - - [24/Nov/2026:16:13:16 +0000] "GET /say?\"hi\\\x22\xc3\xa4\q HTTP/1.1" 404 153 "-" "curl/8"
10.0.0.1 - - [24/Nov/2026:16:13:16 +0000] "GET /old" 200 5
"#;

#[test]
fn access_logs_are_read() {
    let rows: [[&str; 2]; 5] = [
        ["GET", "/apache_pb.gif"],
        ["POST", "/x?y=z"],
        ["HEAD", "/a"],
        ["GET", "/say?\"hi\\\"ä\\q"],
        ["GET", "/old"],
    ];
    assert_eq!(texts(Urls, LOG), rows);
}

#[test]
fn log_lines_without_a_request_to_repeat_are_counted() {
    let requests = [
        "-",
        "",
        r"\x16\x03\x01\x02",
        "GET",
        "OPTIONS * HTTP/1.1",
        "CONNECT example.com:443 HTTP/1.1",
        "GET http://example.com/ HTTP/1.1",
        "GET /a b HTTP/1.1",
        "GET /a b",
        r"GET /a\nb HTTP/1.1",
        r"GET /a\x20b HTTP/1.1",
        r"GET /a\x7f HTTP/1.1",
        "G(T /a HTTP/1.1",
        "GET  HTTP/1.1",
    ];
    let line =
        |request: &str| format!("::1 - - [24/Nov/2026:16:13:16 +0000] \"{request}\" 400 0\n");
    let lines: String = requests.iter().map(|request| line(request)).collect();
    let text = format!("{lines}{}{lines}", line("GET /a HTTP/1.1"));
    assert_eq!(texts(Urls, &text), [["GET", "/a"]]);
    let file = file(text.as_bytes());
    let table = Table::open(&set_of(Urls, &file, text.as_bytes()), &|| false).unwrap();
    assert_eq!(table.unusable_lines(), 2 * requests.len() as u64);
    assert_eq!(
        fault(Urls, lines.as_bytes()),
        "FILE: no line of the log has a request with a path; add a line such as `GET /path`"
    );
}

#[test]
fn the_server_of_absolute_urls_is_told() {
    let site = |text: &str| {
        let file = file(text.as_bytes());
        let table = Table::open(&set_of(Urls, &file, text.as_bytes()), &|| false).unwrap();
        table.site().map(|url| (url.is_https, url.host.clone(), url.port))
    };
    assert_eq!(site("/a\nGET /b\n"), None);
    assert_eq!(site(LOG), None);
    let plain = Some((false, "example.com".to_owned(), 80));
    assert_eq!(site("/a\nhttp://Example.com/b\nPUT http://example.com:80?c\n"), plain);
    assert_eq!(site("https://[::1]:8443"), Some((true, "::1".to_owned(), 8443)));
}

#[test]
fn a_glance_reads_no_further_than_it_must() {
    let broken = file(b"/a\nhttp://h/b\nbroken\n");
    assert_eq!(site_of(broken.path()).unwrap().unwrap().host, "h");
    assert_eq!(columns_of(broken.path(), Urls).unwrap(), ["method", "path"]);
    let alone = file(b"/a\nbroken\n");
    let fault = site_of(alone.path()).unwrap_err();
    assert_eq!((fault.file.as_deref(), fault.line), (Some(alone.path()), Some(2)));
    assert_eq!(site_of(file(b"/a\n/b\n").path()), Ok(None));
    let fault = columns_of("-".as_ref(), Urls).unwrap_err().to_string();
    assert!(fault.starts_with("-: standard input"));
}

#[test]
fn broken_lines_are_named() {
    let remedy = "write e.g. `/path`, `GET /path` or `http://HOST/path`";
    let neither = |line: u32, text: &str| {
        format!(
            "FILE:{line}: {text:?} is neither a URL, nor a method and a URL, nor a line of an \
             access log; {remedy}"
        )
    };
    let blank = "write it percent-encoded, a space as %20";
    let whole = "write http://HOST[:PORT]/PATH, or the path alone";
    let table = [
        ("\n#\nexample.com/x\n", neither(3, "example.com/x")),
        ("/a\nGET x\n", neither(2, "GET x")),
        ("GET /a HTTP/1.1 x", "FILE:1: the URL has the blank or control character ' '; ".to_owned() + blank),
        ("/a b\n", format!("FILE:1: the URL has the blank or control character ' '; {blank}")),
        ("/a\x1bb\n", format!("FILE:1: the URL has the blank or control character '\\u{{1b}}'; {blank}")),
        ("/a\rb\n", format!("FILE:1: the URL has the blank or control character '\\r'; {blank}")),
        ("http://h/a b\n", format!("FILE:1: the URL has the blank or control character ' '; {blank}")),
        ("://x", neither(1, "://x")),
        ("ftp://x/", format!("FILE:1: the URL cannot be used: scheme \"ftp\" is not supported; {whole}")),
        ("http:///x", format!("FILE:1: the URL cannot be used: no host in the URL; {whole}")),
        ("http://h:0/x", format!("FILE:1: the URL cannot be used: \"0\" is not a port; {whole}")),
        (
            "http://me:secret@h/x",
            "FILE:1: the URL has user information before its host; remove it and send an \
             Authorization field instead"
                .to_owned(),
        ),
        (
            "http://h/x\n/y\n#\nhttps://h/x\n",
            "FILE:4: the URL is for https://h, and an earlier one is for http://h; keep URLs of one \
             server in a file"
                .to_owned(),
        ),
        ("", "FILE: the file has no row; add one".to_owned()),
        ("# nothing\n", "FILE: the file has no row; add one".to_owned()),
    ];
    for (text, sentence) in table {
        assert_eq!(fault(Urls, text.as_bytes()), sentence, "{text:?}");
    }
    for pair in ["http://h http://i", "http://h http://h:81", "http://h http://hh"] {
        assert!(rows_within(Urls, pair.replace(' ', "\n").as_bytes(), SMALL).is_err(), "{pair}");
    }
}

/// Whatever a file has, a row can stand in a request line.
#[test]
fn rows_are_safe_in_a_request_line() {
    for byte in 0..=u8::MAX {
        for form in ["/a?b", "GET /a?b", "http://h/a?b", "G? /a", "? /a", "GET ?/a"] {
            let line: Vec<u8> =
                form.bytes().map(|one| if one == b'?' { byte } else { one }).collect();
            for row in rows_within(Urls, &line, SMALL).into_iter().flatten() {
                assert!(row[0].iter().all(|byte| byte.is_ascii_graphic()), "{line:?}");
                assert!(row[1].iter().all(|byte| *byte > b' ' && *byte != 0x7f), "{line:?}");
                assert!(row[1].starts_with(b"/"));
            }
        }
    }
}
