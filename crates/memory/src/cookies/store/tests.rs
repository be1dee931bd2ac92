use super::*;

/// RFC 6265 5.1.4.
#[test]
fn the_default_path_ends_before_the_last_slash() {
    for (target, expected) in [
        ("/", "/"),
        ("/a", "/"),
        ("/a/", "/a"),
        ("/a/b", "/a"),
        ("/a/b/c.html", "/a/b"),
        ("/a/b?c=/d/e", "/a"),
        ("/?/a/b", "/"),
        ("/a/b#/c/d", "/a"),
        ("//a", "/"),
        ("", "/"),
        ("*", "/"),
        ("a/b", "/"),
        ("http://host/a/b", "/"),
    ] {
        assert_eq!(default_path(target.as_bytes()), expected.as_bytes(), "{target}");
    }
}

/// RFC 6265 5.1.4.
#[test]
fn a_path_matches_from_a_slash_on() {
    for (path, cookie, expected) in [
        ("/", "/", true),
        ("/a", "/", true),
        ("/a", "/a", true),
        ("/a/", "/a", true),
        ("/a/b", "/a", true),
        ("/a/b", "/a/", true),
        ("/ab", "/a", false),
        ("/a", "/a/", false),
        ("/a", "/b", false),
        ("/A", "/a", false),
        ("/", "/a", false),
        ("/a?b", "/a", false),
    ] {
        assert_eq!(path_matches(path.as_bytes(), cookie.as_bytes()), expected, "{path} {cookie}");
    }
    assert_eq!(without_query(b"/a?b"), b"/a");
}

#[test]
fn an_entry_is_small() {
    assert!(size_of::<Entry>() <= 32, "{}", size_of::<Entry>());
}
