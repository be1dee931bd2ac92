use proptest::prelude::*;

use super::*;
use crate::{MOST_COOKIES, MOST_USER_BYTES, Memory};

const NOW_S: u64 = 1_800_000_000;

/// A user of a host, over TLS or not, and then of both.
struct User {
    memory: Memory,
    sites: Sites,
    site: u16,
}

impl User {
    fn of(host: &str, is_https: bool) -> Self {
        let sites = Sites::new([(host, is_https), (host, !is_https)]);
        User { memory: Memory::new(0), sites, site: 0 }
    }

    fn set(&mut self, path: &str, line: &str) -> CookieCounts {
        let fields = format!("Set-Cookie: {line}\r\n");
        let site = (&self.sites, self.site);
        self.memory.take_cookies(site, path.as_bytes(), fields.as_bytes(), NOW_S, false)
    }

    fn sent(&self, path: &str) -> String {
        self.sent_at(path, NOW_S)
    }

    fn sent_at(&self, path: &str, now_s: u64) -> String {
        let mut out = b"Cookie: ".to_vec();
        let site = (&self.sites, self.site);
        let any = self.memory.write_cookies(site, path.as_bytes(), now_s, &mut out);
        let sent = String::from_utf8(out).unwrap().split_off(8);
        assert_eq!(any, !sent.is_empty());
        sent
    }
}

fn counts(change: impl FnOnce(&mut CookieCounts)) -> CookieCounts {
    let mut counts = CookieCounts::default();
    change(&mut counts);
    counts
}

/// RFC 6265 3.1.
#[test]
fn the_examples_of_the_rfc() {
    let mut user = User::of("www.example.com", true);
    user.set("/", "SID=31d4d96e407aad42");
    assert_eq!(user.sent("/"), "SID=31d4d96e407aad42");
    user.set("/", "SID=31d4d96e407aad42; Path=/; Domain=example.com");
    assert_eq!(
        user.sent("/"),
        "SID=31d4d96e407aad42; SID=31d4d96e407aad42",
        "RFC 6265bis: host-only is another"
    );
    let mut user = User::of("www.example.com", true);
    let fields = b"Set-Cookie: SID=31d4d96e407aad42; Path=/; Secure; HttpOnly\r\n\
        Set-Cookie: lang=en-US; Path=/; Domain=example.com\r\n";
    let taken = user.memory.take_cookies((&user.sites, 0), b"/", fields, NOW_S, false);
    assert_eq!(taken, counts(|counts| counts.stored = 2));
    assert_eq!(user.sent("/"), "SID=31d4d96e407aad42; lang=en-US");
    let removed =
        user.set("/", "lang=; Domain=.EXAMPLE.com; Expires=Sun, 06 Nov 1994 08:49:37 GMT; Path=/");
    assert_eq!(removed, counts(|counts| counts.removed = 1));
    assert_eq!(user.sent("/"), "SID=31d4d96e407aad42");
    assert_eq!(user.memory.cookies(), 1);
}

/// RFC 6265 5.3, step 11: what is replaced keeps its place.
#[test]
fn a_cookie_is_replaced_by_name_domain_and_path() {
    let mut user = User::of("a.example.com", false);
    for line in ["a=1", "b=2", "c=3"] {
        user.set("/", line);
    }
    user.set("/", "a=a longer value");
    user.set("/", "c=");
    assert_eq!(user.sent("/"), "a=a longer value; b=2; c=");
    user.set("/", "A=4");
    user.set("/", "a=5; Path=/x");
    assert_eq!(user.sent("/x/"), "a=5; a=a longer value; b=2; c=; A=4");
    assert_eq!(user.sent("/xy"), "a=a longer value; b=2; c=; A=4");
}

/// RFC 6265 5.4, step 2.
#[test]
fn longer_paths_come_first_and_then_earlier_cookies() {
    let mut user = User::of("a.example", false);
    for line in
        ["r1=1; Path=/", "ab=2; Path=/a/b", "a1=3; Path=/a", "r2=4; Path=/", "a2=5; Path=/a"]
    {
        user.set("/", line);
    }
    assert_eq!(user.sent("/a/b/c?d=/"), "ab=2; a1=3; a2=5; r1=1; r2=4");
    assert_eq!(user.sent("/a"), "a1=3; a2=5; r1=1; r2=4");
    assert_eq!(user.sent("/?/a"), "r1=1; r2=4");
    assert_eq!(user.sent("*"), "r1=1; r2=4");
}

#[test]
fn without_a_path_the_directory_of_the_request_counts() {
    let mut user = User::of("a.example", false);
    user.set("/shop/cart?x=/y/z", "a=1");
    user.set("/shop/cart", "b=2; Path=relative");
    assert_eq!(user.sent("/shop/other"), "a=1; b=2");
    assert_eq!(user.sent("/shop"), "a=1; b=2");
    assert_eq!(user.sent("/"), "");
}

#[test]
fn a_cookie_ends_with_its_second() {
    let mut user = User::of("a.example", false);
    user.set("/", "a=1; Max-Age=10");
    user.set("/", "b=2");
    assert_eq!(user.sent_at("/", NOW_S + 9), "a=1; b=2");
    assert_eq!(user.sent_at("/", NOW_S + 10), "b=2");
    assert_eq!(user.sent_at("/", u64::MAX - 1), "b=2");
    assert_eq!(user.set("/", "b=2; Max-Age=0").removed, 1);
    assert_eq!(user.set("/", "none=2; Max-Age=0").removed, 1, "there was none");
    assert_eq!(user.sent("/"), "a=1");
}

#[test]
fn foreign_domains_are_counted() {
    let mut user = User::of("www.example.com", false);
    for domain in ["example.org", "www2.example.com", "x.www.example.com", "com", ".com"] {
        let taken = user.set("/", &format!("a=b; Domain={domain}"));
        assert_eq!(taken, counts(|counts| counts.foreign = 1), "{domain}");
        assert_eq!(taken.ignored(), 1);
    }
    assert_eq!(user.sent("/"), "");
    assert_eq!(user.set("/", "a=b; Domain=example.com").stored, 1);
    let mut user = User::of("127.0.0.1", false);
    assert_eq!(user.set("/", "a=b; Domain=127.0.0.1").stored, 1);
    assert_eq!(user.set("/", "a=b; Domain=localhost").foreign, 1);
    let mut user = User::of("localhost", false);
    assert_eq!(user.set("/", "a=b; Domain=localhost").stored, 1);
    user.set("/", "a=c");
    assert_eq!(user.sent("/"), "a=c", "both are host-only");
}

/// RFC 6265bis 4.1.3 and 5.7.
#[test]
fn secure_cookies_need_https() {
    let mut user = User::of("a.example", false);
    let insecure = counts(|counts| counts.insecure = 1);
    for line in ["a=b; Secure", "__Secure-a=b", "__HOST-a=b; Path=/", "__Secure-a=b; Secure"] {
        assert_eq!(user.set("/", line), insecure, "{line}");
    }
    let mut user = User::of("www.a.example", true);
    for line in [
        "__secure-a=b",
        "__Host-a=b; Secure",
        "__Host-a=b; Secure; Path=/x",
        "__Host-a=b; Path=/",
        "__Host-a=b; Secure; Path=/; Domain=a.example",
    ] {
        assert_eq!(user.set("/", line), insecure, "{line}");
    }
    assert_eq!(user.set("/", "__Host-a=b; Secure; Path=/").stored, 1);
    assert_eq!(user.set("/", "__Secure-a=b; Secure; Domain=a.example").stored, 1);
    assert_eq!(user.sent("/"), "__Host-a=b; __Secure-a=b");
    let mut out = Vec::new();
    assert!(!user.memory.write_cookies((&user.sites, 1), b"/", NOW_S, &mut out), "not over http");

    // A site that answers on both: http leaves the secure cookie alone.
    user.set("/", "id=1; Secure; Path=/x");
    user.site = 1;
    assert_eq!(user.set("/", "id=2; Path=/x/y"), insecure);
    assert_eq!(user.set("/", "id=2; Path=/x; Max-Age=0"), insecure);
    assert_eq!(user.set("/", "id=2; Path=/y").stored, 1);
}

#[test]
fn a_user_of_several_sites_sends_each_cookie_where_its_domain_reaches() {
    let sites = Sites::new([
        ("auth.example.com", true),
        ("api.example.com", true),
        ("cdn.example.org", false),
    ]);
    let mut memory = Memory::new(0);
    let lines = b"Set-Cookie: own=1\r\nSet-Cookie: all=2; Domain=example.com\r\nSet-Cookie: no=3; Domain=example.org\r\n";
    let taken = memory.take_cookies((&sites, 0), b"/", lines, NOW_S, false);
    assert_eq!((taken.stored, taken.foreign), (2, 1));
    // The other site replaces what belongs to both.
    memory.take_cookies(
        (&sites, 1),
        b"/",
        b"Set-Cookie: all=4; Domain=EXAMPLE.com\r\n",
        NOW_S,
        false,
    );
    let sent = |site| {
        let mut out = Vec::new();
        memory.write_cookies((&sites, site), b"/", NOW_S, &mut out);
        String::from_utf8(out).unwrap()
    };
    assert_eq!((0..3).map(sent).collect::<Vec<_>>(), ["own=1; all=4", "all=4", ""]);
}

#[test]
fn cookies_are_bounded_in_number() {
    let mut user = User::of("a.example", false);
    user.set("/", "first=1; Max-Age=5");
    for number in 0..MOST_COOKIES - 1 {
        assert_eq!(user.set("/", &format!("c{number}=1")).dropped, 0);
    }
    assert_eq!(user.set("/", "c0=2").dropped, 0, "in the place of another");
    let taken =
        user.memory.take_cookies((&user.sites, 0), b"/", b"set-cookie: x=1\n", NOW_S + 5, false);
    assert_eq!(taken, counts(|counts| (counts.stored, counts.dropped) = (1, 1)));
    assert!(user.sent("/").starts_with("c0=2; c1=1; "), "the expired one is dropped first");
    assert_eq!(user.set("/", "y=1").dropped, 1);
    assert!(user.sent("/").starts_with("c1=1; "), "then the oldest");
    assert_eq!(user.memory.cookies(), MOST_COOKIES);
}

#[test]
fn ten_thousand_lines_are_bounded() {
    let mut user = User::of("a.example", false);
    let fields: String =
        (0..10_000).map(|n| format!("Set-Cookie: c{n}={}\r\n", "x".repeat(4000))).collect();
    let taken = user.memory.take_cookies((&user.sites, 0), b"/", fields.as_bytes(), NOW_S, false);
    assert_eq!((taken.stored, taken.dropped, taken.too_many), (500, 450, 9500));
    assert_eq!(user.memory.cookies(), MOST_COOKIES);
    assert!(user.memory.bytes() <= MOST_USER_BYTES);
    let mut sum = taken;
    sum.add(&taken);
    assert_eq!((sum.stored, sum.dropped, sum.too_many, sum.ignored()), (1000, 900, 19_000, 19_000));
}

#[test]
fn a_path_that_is_too_long_has_no_cookies() {
    let mut user = User::of("a.example", false);
    let path = format!("/{}/x", "y".repeat(1024));
    assert_eq!(user.set(&path, "a=b"), counts(|counts| counts.too_long = 1));
    assert_eq!(user.set(&path, "a=b; Path=/").stored, 1);
    assert_eq!(user.sent(&path), "a=b");
}

/// A store without any thought of space: a list in the order of creation.
#[derive(Default)]
struct Model(Vec<ModelCookie>);

#[derive(Clone, PartialEq)]
struct ModelCookie {
    name: String,
    value: String,
    domain: Option<&'static str>,
    path: &'static str,
    expires_s: u64,
}

impl Model {
    fn set(&mut self, new: ModelCookie, now_s: u64) {
        let same = |old: &ModelCookie| {
            old.name == new.name && old.domain == new.domain && old.path == new.path
        };
        let at = self.0.iter().position(same);
        match (at, new.expires_s > now_s) {
            (Some(at), true) => self.0[at] = new,
            (Some(at), false) => drop(self.0.remove(at)),
            (None, true) => self.0.push(new),
            (None, false) => {}
        }
        if self.0.len() > MOST_COOKIES {
            let newest = self.0.len() - 1;
            let expired = self.0[..newest].iter().position(|cookie| cookie.expires_s <= now_s);
            self.0.remove(expired.unwrap_or(0));
        }
    }

    fn sent(&self, path: &str, now_s: u64) -> String {
        let matches = |cookie: &&ModelCookie| {
            let below = format!("{}/", cookie.path.trim_end_matches('/'));
            cookie.expires_s > now_s && (path == cookie.path || path.starts_with(&below))
        };
        let mut sent: Vec<_> = self.0.iter().filter(matches).collect();
        sent.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        let pairs: Vec<_> =
            sent.iter().map(|cookie| format!("{}={}", cookie.name, cookie.value)).collect();
        pairs.join("; ")
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_sequence_of_cookies_is_as_in_the_model(
        lines in prop::collection::vec((
            0u64..3,
            "[ab][0-9]{0,2}",
            "[a-z]{0,8}",
            prop::sample::select(&[None, Some("example.com"), Some("www.example.com")][..]),
            prop::sample::select(&["/", "/a", "/a/b", "/ab"][..]),
            prop::sample::select(&[None, Some(0), Some(2), Some(50)][..]),
        ), 0..150),
    ) {
        let mut user = User::of("www.example.com", false);
        let mut model = Model::default();
        let mut now_s = NOW_S;
        for (passed_s, name, value, domain, path, age_s) in lines {
            now_s += passed_s;
            let mut line = format!("Set-Cookie: {name}={value}; Path={path}");
            if let Some(domain) = domain {
                line += &format!("; Domain={domain}");
            }
            if let Some(age_s) = age_s {
                line += &format!("; Max-Age={age_s}");
            }
            let taken = user.memory.take_cookies((&user.sites, 0), b"/", line.as_bytes(), now_s, false);
            prop_assert_eq!(taken.stored + taken.removed, 1);
            let expires_s = match age_s {
                None => u64::MAX,
                Some(0) => 0,
                Some(age_s) => now_s + age_s,
            };
            model.set(ModelCookie { name, value, domain, path, expires_s }, now_s);
            prop_assert_eq!(user.memory.cookies(), model.0.len());
            for path in ["/", "/a", "/a/", "/a/b/c", "/ab", "/x"] {
                prop_assert_eq!(user.sent_at(path, now_s), model.sent(path, now_s));
            }
        }
    }

    #[test]
    fn any_block_does_no_harm(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        path in prop::collection::vec(any::<u8>(), 0..20),
        host in "\\PC{0,20}",
        now_s in any::<u64>(),
    ) {
        let mut user = User::of(&host, true);
        let block = [b"Set-Cookie: a=b\r\nset-cookie:", &bytes[..], b"\r\n"].concat();
        let taken = user.memory.take_cookies((&user.sites, 0), &path, &block, now_s, false);
        prop_assert!(taken.stored >= 1);
        let mut out = Vec::new();
        user.memory.write_cookies((&user.sites, 0), &path, now_s, &mut out);
    }
}
