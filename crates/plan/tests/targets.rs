//! Several targets, from a plan's tables and URLs to the plan.

use crate::common::*;
use candor_plan::{
    CredentialSource, Endpoint, HaproxyProtocol, HttpVersion, Options, Plan, ProxyWay, Trust,
};

const SHOP: &str = "
url = 'http://shop.example/start'
header = ['X-Run: 1']
[target.api]
url = 'https://api.example:8443/v1'
connections = 3
h2 = true
insecure = true
headers = { Authorization = 'Bearer abc' }
[[journey]]
[[journey.step]]
name = 'page'
[[journey.step]]
name = 'login'
target = 'api'
[[journey.step]]
name = 'orders'
url = 'https://API.example:8443/v1/orders?id=${random 1..9}'
headers = { Authorization = 'Bearer own' }
[[journey.step]]
name = 'picture'
url = 'http://ann:pw@cdn.example/a.png'
";

fn planned(text: &str) -> Result<Plan, String> {
    let built = Options::from_toml("plan.toml", text).map_err(|error| error.to_string())?;
    built.build(&Memory::with(&[])).map(|(plan, _)| plan).map_err(|error| error.to_string())
}

#[test]
fn steps_go_to_targets_by_name_and_by_url() {
    let plan = planned(SHOP).unwrap();
    let targets: Vec<_> =
        plan.targets().map(|one| (one.name.as_str(), one.authority.as_str(), one.http)).collect();
    assert_eq!(
        targets,
        [
            ("main", "shop.example", HttpVersion::H1),
            ("api", "api.example:8443", HttpVersion::H2),
            ("cdn.example", "cdn.example", HttpVersion::H1),
        ]
    );
    let ways: Vec<_> =
        plan.work.requests().iter().map(|one| (one.target, one.path.as_str())).collect();
    let orders = "/v1/orders?id=${random 1..9}";
    assert_eq!(ways, [(0, "/start"), (1, "/v1"), (1, orders), (2, "/a.png")]);
    let api = &plan.others[0];
    assert_eq!(api.tls.as_ref().unwrap().trust, Trust::Anybody);
    assert_eq!(api.endpoint, Endpoint::Tcp { host: "api.example".to_owned(), port: 8443 });
    assert_eq!(plan.connections_to(api), (3, 3));
    assert_eq!(plan.connections_in_all(), (23, 23));
    assert_eq!(plan.most_threads(), 3);
    // Fields of the target, but a step's own go before.
    let fields = |at: usize| {
        let list = plan.work.requests()[at].headers.iter();
        list.map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>()
    };
    assert_eq!(fields(0), ["X-Run: 1"]);
    assert_eq!(fields(1), ["X-Run: 1", "Authorization: Bearer abc"]);
    assert_eq!(fields(2), ["X-Run: 1", "Authorization: Bearer own"]);
    assert_eq!(fields(3), ["X-Run: 1", "Authorization: Basic YW5uOnB3"]);
    // Nothing of a target that may be secret is in a result.
    assert!(!format!("{:?}", plan.redacted().others).contains("pw"));
}

/// As an import of a recording writes it, where a host that is not the first redirects.
#[test]
fn a_step_goes_where_another_host_has_redirected_to() {
    let plan = planned(
        "url = 'https://shop.example'
[[journey]]
[[journey.step]]
name = 'page'
[[journey.step]]
name = 'old'
url = 'http://legacy.example:81/cgi-bin/stock?item=7'
capture = { location = 'header:Location' }
expect-status = 302
[[journey.step]]
name = 'new'
url = 'http://legacy.example:81${path location}'",
    );
    let plan = plan.unwrap();
    let ways: Vec<_> =
        plan.work.requests().iter().map(|one| (one.target, one.path.as_str())).collect();
    assert_eq!(ways, [(0, "/"), (1, "/cgi-bin/stock?item=7"), (1, "${path location}")]);
    assert_eq!(plan.others[0].authority, "legacy.example:81");
}

#[test]
fn addresses_are_for_the_target_that_has_the_name() {
    let text =
        format!("resolve = ['api.example:8443:127.0.0.1', 'shop.example:80:127.0.0.2']{SHOP}");
    let plan = planned(&text).unwrap();
    let resolved = |at: usize| plan.targets().nth(at).unwrap().resolved.clone();
    assert_eq!([resolved(0), resolved(1)].concat().len(), 2);
    assert_eq!(resolved(1), ["127.0.0.1".parse::<std::net::IpAddr>().unwrap()]);
    let text = format!("resolve = ['other.example:80:127.0.0.1']{SHOP}");
    assert!(planned(&text).unwrap_err().contains("not to other.example:80"));
}

#[test]
fn the_proxy_protocol_is_that_of_all_targets_but_those_that_say_otherwise() {
    let tables = "[target.b]\nurl = 'http://b/'\nhaproxy-protocol = 'off'\n\
                  [[request]]\n[[request]]\ntarget = 'b'\n[[request]]\nurl = 'http://c/'\n";
    let plan = planned(&format!("url = 'http://a/'\nhaproxy-protocol = 'v2'\n{tables}")).unwrap();
    let all: Vec<HaproxyProtocol> = plan.targets().map(|one| one.haproxy_protocol).collect();
    assert_eq!(all, [HaproxyProtocol::V2, HaproxyProtocol::Off, HaproxyProtocol::V2]);
    let refused = |top: &str| planned(&format!("url = 'http://a/'\n{top}")).unwrap_err();
    assert!(
        refused("haproxy-protocol = 'v1'\nproxy = 'http://p:1'").starts_with(
            "--haproxy-protocol: connections go to a proxy, which takes no such header"
        )
    );
    assert!(refused("haproxy-protocol = 'v3'").contains("write off or v1 or v2"));
}

/// Each target has its version, and what is of one version alone is for the targets that have it.
#[test]
fn versions_of_http_stand_beside_each_other() {
    let tables = "[target.b]\nurl = 'https://b/'\nh2 = true\n[target.c]\nurl = 'https://c/'\nh3 = true\n\
                  [[request]]\n[[request]]\ntarget = 'b'\n[[request]]\ntarget = 'c'\n[[request]]\nurl = 'https://d/'\n";
    let versions = |top: &str| {
        let plan = planned(&format!("{top}\n{tables}")).unwrap();
        let all: Vec<HttpVersion> = plan.targets().map(|one| one.http).collect();
        (all, plan.connections.windows.stream_bits, plan.connections.quic.datagram_bytes)
    };
    use HttpVersion::{H1, H2, H3, Negotiated};
    let below = versions("url = 'http://a/'\nmtu = 1300");
    assert_eq!(below, (vec![H1, H2, H3, Negotiated], 24, 1300));
    let above = versions("url = 'https://a/'\nh3 = true\nmax-frame-size = '32KiB'");
    assert_eq!(above, (vec![H3, H2, H3, H3], 24, 1452));
    let refused = planned(&format!("url = 'http://a/'\nreactor = 'uring'\n{tables}")).unwrap_err();
    assert!(refused.contains("--reactor uring"), "{refused}");
    let without = tables.replace("h3 = true", "h1 = true");
    let refused = planned(&format!("url = 'http://a/'\nmtu = 1300\n{without}")).unwrap_err();
    assert!(refused.contains("--mtu"), "{refused}");
}

#[test]
fn names_are_resolved_again_where_there_are_some() {
    let with = |top: &str| planned(&format!("dns-refresh = '2s'\n{top}"));
    let plan = with("url = 'http://h/'").unwrap();
    assert_eq!(plan.connections.dns_refresh_ns, Some(2_000_000_000));
    assert_eq!(plan.target.looked_up(), Some(("h", 80)));
    // One of several is a name; and a proxy has one.
    let other = "[target.b]\nurl = 'http://b/'\n[[request]]\n[[request]]\ntarget = 'b'\n";
    let of = |top: &str| {
        let plan = with(&format!("{top}\n{other}")).unwrap();
        plan.targets().map(|one| one.looked_up().is_some()).collect::<Vec<_>>()
    };
    assert_eq!(of("url = 'http://10.0.0.1/'"), [false, true]);
    assert_eq!(of("url = 'http://h/'\nresolve = 'h:80:10.0.0.1'"), [false, true]);
    assert!(with("url = 'http://10.0.0.1/'\nproxy = 'http://p:1'").is_ok());
    for (top, words) in [
        ("url = 'http://10.0.0.1/'", "--dns-refresh: 10.0.0.1 is an address and no name"),
        ("url = 'http://[::1]/'", "--dns-refresh: ::1 is an address and no name"),
        (
            "url = 'http://h/'\nresolve = 'h:80:10.0.0.1'",
            "--dns-refresh cannot be used with --resolve",
        ),
        (
            "url = 'http://h/'\nunix-socket = '/s'",
            "--dns-refresh cannot be used with --unix-socket",
        ),
        ("url = 'http://h/'\nonce = true", "--dns-refresh cannot be used with --once"),
        ("url = 'http://h/'\ndns-refresh = '1ms'", "duplicate key"),
    ] {
        let refused = with(top).unwrap_err();
        assert!(refused.contains(words), "{top}: {refused}");
    }
    let often = planned("url = 'http://h/'\ndns-refresh = '99ms'").unwrap_err();
    assert!(often.starts_with("--dns-refresh: too often"), "{often}");
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let tables = "[target.b]\nurl = 'http://b/'\n[[request]]\n[[request]]\ntarget = 'b'\n";
    let with = |top: &str| planned(&format!("url = 'http://a/'\n{top}\n{tables}")).map(|_| ());
    assert_eq!(with(""), Ok(()));
    for (top, words) in [
        ("once = true", "--once cannot be used with several targets"),
        ("h2c-upgrade = true", "--h2c-upgrade cannot be used with several targets"),
        ("threads = 2\nconnections = 1", "2 threads cannot share 1 connection"),
    ] {
        let refused = with(top).unwrap_err();
        assert!(refused.contains(words), "{top}: {refused}");
    }
    for (text, words) in [
        ("[[request]]\ntarget = 'api'", "target \"api\": there is none; add a [target.NAME] table"),
        (
            "[target.api]\nurl = 'http://b/'\n[[request]]\ntarget = 'apo'",
            "target \"apo\": there is none; did you mean",
        ),
        ("[target.api]\nh2 = true\n[[request]]", "target \"api\": it has no url"),
        ("[target.api]\nurl = 'http://b/'\n[[request]]", "target \"api\": no request goes to it"),
        (
            "[target.api]\nurl = 'http://b/'\n[[request]]\ntarget = 'api'",
            "target \"main\": no request goes to the plan's own url",
        ),
        ("[target.main]\nurl = 'http://b/'", "main"),
        ("[target.api]\nurl = 'gopher://b/'\n[[request]]\ntarget = 'api'", "target \"api\": URL"),
        ("[[request]]\nurl = 'http://b/'\npath = '/x'", "url cannot be used with path"),
        ("[[request]]\nurl = 'http://b/'\ntarget = 'b'", "url cannot be used with target"),
        ("[target.api]\nreactor = 'epoll'", "unknown key \"reactor\""),
    ] {
        let refused = planned(&format!("url = 'http://a/'\n{text}")).unwrap_err();
        assert!(refused.contains(words), "{text}: {refused}");
    }
}

/// What SOCKS 5 has a byte for, decoded; the value itself is in no error.
#[test]
fn a_proxy_takes_255_bytes_of_a_user_a_password_and_a_name() {
    let through =
        |user: &str| planned(&format!("url = 'http://a/'\nproxy = 'socks5h://{user}@p:1'"));
    let most = format!("{}:{}", "%61".repeat(255), "b".repeat(255));
    let plan = through(&most).unwrap();
    let proxy = plan.target.proxy.as_ref().unwrap();
    assert_eq!((proxy.way, proxy.host.as_str(), proxy.port), (ProxyWay::Socks5, "a", 80));
    assert_eq!(proxy.credentials(), Some((vec![b'a'; 255], vec![b'b'; 255])));
    for beyond in [format!("{}:x", "%61".repeat(256)), format!("x:{}", "b".repeat(256))] {
        let refused = through(&beyond).unwrap_err();
        assert!(refused.starts_with("--proxy: ") && refused.contains("255"), "{refused}");
        assert!(!refused.contains("bbb") && !refused.contains("%61"), "{refused}");
    }
}

const AUTH: &str = "
url = 'http://shop.example/'
[auth]
oauth2 = 'https://login.example:8443/token?key=hunter2'
id = 'me'
secret = '${env:TOKEN}'
[target.api]
url = 'http://api.example'
auth = 'file:run/token'
[target.old]
url = 'http://old.example'
auth = { basic = 'ann:${env:TOKEN}' }
[[request]]
[[request]]
target = 'api'
[[request]]
target = 'old'
";

#[test]
fn a_credential_belongs_to_its_target() {
    let plan = planned(AUTH).unwrap();
    let from = |at: usize| plan.targets().nth(at).unwrap().auth.as_ref().map(|one| &one.from);
    let Some(CredentialSource::Oauth2 { server, id, secret, scope: None }) = from(0) else {
        panic!("{:?}", from(0))
    };
    assert_eq!((id.as_str(), secret.as_str()), ("me", "hunter2"));
    assert_eq!(server.http, HttpVersion::Negotiated);
    let endpoint = Endpoint::Tcp { host: "login.example".to_owned(), port: 8443 };
    assert_eq!((&server.endpoint, &server.auth), (&endpoint, &None));
    assert_eq!(from(1), Some(&CredentialSource::File("run/token".into())));
    assert_eq!(from(2), None, "one that never changes is a field");
    let headers = plan.work.requests().iter().map(|one| one.headers.clone());
    let basic = ("Authorization".to_owned(), "Basic ${base64 ann:${env:TOKEN}}".to_owned());
    assert!(headers.eq([vec![], vec![], vec![basic]]));
    // A result has none of it, and is no plan.
    let parts = plan.redacted();
    let shown = format!("{parts:?}");
    assert!(!shown.contains("hunter2") && shown.contains("https://login.example:8443/token?key=…"));
    assert!(Plan::try_from(parts).is_err());
    let bytes = postcard::to_allocvec(&plan).unwrap();
    assert_eq!(postcard::from_bytes::<Plan>(&bytes).unwrap(), plan);
}

#[test]
fn a_credential_that_is_wrong_is_refused_without_its_value() {
    let table = [
        (
            "secret = '${env:TOKEN}'",
            "secret = '${env:NONE}'",
            "the environment has no variable \"NONE\"",
        ),
        ("secret = '${env:TOKEN}'", "secret = '${seq}'", "of templates only ${env:NAME}"),
        (
            "secret = '${env:TOKEN}'",
            "sekret = 'hunter2'",
            "unknown key \"sekret\"; did you mean \"secret\"?",
        ),
        ("oauth2 = 'https://login", "oauth2 = 'wss://login", "a token is asked for by http"),
        ("auth = 'file:run/token'", "auth = 'hunter2'", "not a way to have a credential"),
        ("basic = 'ann:${env:TOKEN}'", "bearer = 'x', id = 'hunter2'", "are for oauth2"),
        (
            "[[request]]\n[[request]]",
            "[[request]]\nheaders = { authorization = 'x' }\n[[request]]",
            "has an Authorization of its own",
        ),
    ];
    for (from, to, why) in table {
        let problem = planned(&AUTH.replacen(from, to, 1)).unwrap_err();
        assert!(problem.contains(why), "{problem}");
        assert!(!problem.contains("hunter2"), "{problem}");
    }
}
