//! The limits of an agent: it prepares and starts nothing without a grant of its own, and nothing that
//! its policy forbids.

use std::net::IpAddr;

use crate::common::lone::{
    BOOT, LOOPBACK, NOW, OTHER, SHARE, agent, fetch, fetch_with, grant, head, key, order, policy,
    reserve, said, usual,
};
use crate::common::{MS, S, UNIX_S, operator, plan};
use candor_fleet::agent::{Event, Now, read_plan};
use candor_fleet::audit::What;
use candor_fleet::message::{Command, Go, Have, Order, Phase};
use candor_fleet::{
    Caps, Demand, Grant, GrantError, Head, MOST_PLAN_BYTES, Message, OperatorKey, Policy,
    PolicyRefusal, Refusal, RunId, SignedGrant,
};
use candor_plan::{Plan, Rate, Work};
use candor_record::{Workers, wire};

#[test]
fn a_run_is_granted_prepared_and_started_once() {
    let mut agent = agent(policy(LOOPBACK));
    let fetched = fetch(&mut agent, &usual(), 1);
    let [Event::Prepare { key: of, plan, workers }] = fetched.events.as_slice() else {
        panic!("{fetched:?}")
    };
    assert_eq!((*of, *workers), (key(1), SHARE));
    // The plan is pinned to the address that was checked.
    assert_eq!(plan.target.resolved, ["127.0.0.1".parse::<IpAddr>().unwrap()]);
    assert_eq!(plan.target.allow.as_ref().unwrap().entries.len(), 1);
    agent.handle_prepared(NOW, key(1), Ok(2));
    assert!(matches!(said(&mut agent).phase, Some(Phase::Prepared { connections: 2, .. })));
    let go = Go { origin_ns: NOW.ns + S, offset_ns: 0, bound_ns: 1 };
    for _ in 0..3 {
        agent.handle_message(NOW, order(1, Command::Go(go)));
    }
    let armed = said(&mut agent);
    let starts = armed.events.iter().filter(|event| matches!(event, Event::Start { .. }));
    assert_eq!(starts.count(), 1);
    assert_eq!(armed.phase, Some(Phase::Armed { origin_ns: go.origin_ns }));
    // The same grant again, after the run: it was used.
    agent.handle_message(NOW, order(1, Command::Stop));
    assert!(matches!(said(&mut agent).events.as_slice(), [Event::Abandon { .. }]));
    agent.handle_message(NOW, reserve(&usual(), 1, operator().sign(&grant(&usual(), 1))));
    let again = said(&mut agent);
    assert_eq!(again.refused, Some(Refusal::Grant(GrantError::Used)));
    assert_eq!(
        again.audit,
        [(What::Refused, "the grant is refused: it was used before".to_owned())]
    );
    assert_eq!((again.phase, again.events), (None, vec![]));
}

#[test]
fn bad_grants_start_nothing() {
    let plan = usual();
    let good = grant(&plan, 1);
    let other_plan = crate::common::plan(
        "url = \"http://127.0.0.1:8080/\"\nrate = \"101/s\"\nduration = \"5s\"\n",
    );
    let stranger = OperatorKey::from_seed(&[8; 32]);
    let forged = SignedGrant { operator: operator().public(), ..stranger.sign(&good) };
    let mut changed = operator().sign(&good);
    *changed.body.last_mut().unwrap() ^= 1;
    let sign = |grant: Grant| operator().sign(&grant);
    let cases = [
        (stranger.sign(&good), GrantError::Operator),
        (forged, GrantError::Signature),
        (changed, GrantError::Signature),
        (sign(Grant { expires_unix_s: UNIX_S, ..good.clone() }), GrantError::Expired),
        (sign(Grant { expires_unix_s: UNIX_S + 90_000, ..good.clone() }), GrantError::TooLong),
        (sign(Grant { key: key(2), ..good.clone() }), GrantError::Run),
        (sign(grant(&other_plan, 1)), GrantError::Plan),
        (
            sign(Grant { agents: vec![("a2".parse().unwrap(), BOOT, SHARE)], ..good.clone() }),
            GrantError::Agent,
        ),
        (
            sign(Grant { agents: vec![("a1".parse().unwrap(), BOOT + 1, SHARE)], ..good.clone() }),
            GrantError::Agent,
        ),
        // The share that is asked for is not the one that was signed.
        (
            sign(Grant { agents: vec![("a1".parse().unwrap(), BOOT, OTHER)], ..good.clone() }),
            GrantError::Share,
        ),
    ];
    for (grant, why) in cases {
        let mut agent = agent(policy(LOOPBACK));
        // Twice: the audit file has it once.
        for _ in 0..2 {
            agent.handle_message(NOW, reserve(&plan, 1, grant.clone()));
        }
        let said = said(&mut agent);
        assert_eq!(said.refused, Some(Refusal::Grant(why)), "{why}");
        assert_eq!(said.audit.len(), 1);
        assert_eq!((said.phase, said.events), (None, vec![]));
        // No order helps without a grant.
        let go = Go { origin_ns: NOW.ns + S, offset_ns: 0, bound_ns: 1 };
        agent.handle_message(NOW, order(1, Command::Prepare));
        agent.handle_message(NOW, order(1, Command::Go(go)));
        assert_eq!(crate::common::lone::said(&mut agent).events, []);
    }
}

/// Shares and sizes that no honest coordinator asks for, although they are signed.
#[test]
fn a_share_that_is_none_and_a_plan_without_bounds_are_refused() {
    let plan = usual();
    let ask = |share: Workers, plan_bytes: Option<u32>| {
        let mut agent = agent(policy(LOOPBACK));
        let agents = vec![("a1".parse().unwrap(), BOOT, share)];
        let grant = operator().sign(&Grant { agents, ..grant(&plan, 1) });
        let Message::Reserve { head, mut reserve } = reserve(&plan, 1, grant) else {
            unreachable!()
        };
        reserve.workers = share;
        reserve.plan_bytes = plan_bytes.unwrap_or(reserve.plan_bytes);
        agent.handle_message(NOW, Message::Reserve { head, reserve });
        said(&mut agent).refused
    };
    let workers = |first, count, of| Workers { first, count, of };
    assert_eq!(ask(workers(1, 1, 2), None), None);
    for share in [workers(0, 0, 2), workers(2, 0, 2), workers(1, 2, 2), workers(u32::MAX, 2, 2)] {
        assert_eq!(ask(share, None), Some(Refusal::Share), "{share:?}");
    }
    let beyond = MOST_PLAN_BYTES + 1;
    assert_eq!(ask(SHARE, Some(MOST_PLAN_BYTES)), None);
    assert_eq!(ask(SHARE, Some(beyond)), Some(Refusal::PlanSize(beyond)));
}

#[test]
fn grants_are_for_their_targets_and_caps() {
    let plan = usual();
    let good = grant(&plan, 1);
    let narrow = |caps| Grant { caps, ..good.clone() };
    let slow = Caps { rate: Some(Rate::per_second(99)), ..good.caps };
    let short = Caps { duration_ns: Some(4 * S), ..good.caps };
    let few = Caps { connections: Some(3), ..good.caps };
    let elsewhere = Grant { targets: vec![("127.0.0.1".to_owned(), 8081)], ..good.clone() };
    for (grant, why) in [
        (narrow(slow), GrantError::Caps),
        (narrow(short), GrantError::Caps),
        (narrow(few), GrantError::Caps),
        (elsewhere, GrantError::Target),
    ] {
        let policy = policy(LOOPBACK);
        let refused = policy.check(&plan, Workers::all(1), &grant).unwrap_err();
        assert_eq!(refused, Refusal::Grant(why));
    }
    assert_eq!(policy(LOOPBACK).check(&plan, Workers::all(1), &good), Ok(()));
}

#[test]
fn targets_outside_of_the_policy_are_refused_after_they_were_resolved() {
    let named =
        "[[target]]\nhost = \"*.staging.example\"\nnetworks = [\"10.0.0.0/8\"]\nports = [80]\n";
    let plan = |url: &str| plan(&format!("url = \"{url}\"\nrate = \"1/s\"\nduration = \"1s\"\n"));
    let inside: IpAddr = "10.1.2.3".parse().unwrap();
    let outside: IpAddr = "11.1.2.3".parse().unwrap();
    let resolve = |url: &str, found: &[IpAddr]| {
        let mut agent = agent(policy(named));
        let fetched = fetch(&mut agent, &plan(url), 1);
        match fetched.events.as_slice() {
            [Event::Resolve { key, .. }] => {
                agent.handle_resolved(NOW, *key, Ok(found));
                said(&mut agent)
            }
            _ => fetched,
        }
    };
    let good = resolve("http://a.staging.example/", &[inside]);
    let [Event::Prepare { plan: pinned, .. }] = good.events.as_slice() else { panic!("{good:?}") };
    assert_eq!(pinned.target.resolved, [inside]);
    // A name, an address, a port, one address of two, a literal address, no address.
    for (url, found) in [
        ("http://b.example/", &[inside][..]),
        ("http://a.staging.example/", &[outside]),
        ("http://a.staging.example:81/", &[inside]),
        ("http://a.staging.example/", &[inside, outside]),
        ("http://10.1.2.3/", &[]),
        ("http://a.staging.example/", &[]),
    ] {
        let refused = resolve(url, found);
        let is_it = matches!(
            refused.refused,
            Some(Refusal::Policy(PolicyRefusal::Target(_)) | Refusal::Resolve(_))
        );
        assert!(is_it, "{url}: {refused:?}");
        assert!(!refused.events.iter().any(|event| matches!(event, Event::Prepare { .. })));
        assert_eq!(refused.audit.last().unwrap().0, What::Refused);
    }
    // Addresses that the plan itself gives for a name are not the name's.
    let given = crate::common::plan(
        "url = \"http://a.staging.example/\"\nrate = \"1/s\"\nduration = \"1s\"\nresolve = \
         [\"a.staging.example:80:10.9.9.9\"]\n",
    );
    assert!(!given.target.resolved.is_empty());
    let mut named = agent(policy(named));
    let refused = fetch(&mut named, &given, 1);
    assert!(
        matches!(refused.refused, Some(Refusal::Policy(PolicyRefusal::Target(_)))),
        "{refused:?}"
    );
    // Connections that go elsewhere are checked by where they go.
    let elsewhere = crate::common::plan(
        "url = \"http://127.0.0.1:8080/\"\nrate = \"1/s\"\nduration = \"1s\"\nconnect-to = \
         \"192.0.2.1:80\"\n",
    );
    let mut agent = agent(policy(LOOPBACK));
    let refused = fetch(&mut agent, &elsewhere, 1);
    assert!(
        matches!(refused.refused, Some(Refusal::Policy(PolicyRefusal::Target(_)))),
        "{refused:?}"
    );
}

/// A name that is resolved again may come to have what the policy allows it, and nothing else.
#[test]
fn a_name_that_is_resolved_again_is_bound_to_the_policy() {
    let named = "[[target]]\nhost = \"*.staging.example\"\nnetworks = [\"10.0.0.0/8\"]\nports = [80]\n\
                 [[target]]\nhost = \"b.example\"\n[[target]]\nnetworks = [\"12.0.0.0/8\"]\nports = [81]\n";
    let pinned = |top: &str, found: &str| {
        let plan = crate::common::plan(&format!(
            "{top}\nrate = \"1/s\"\nduration = \"1s\"\ndns-refresh = \"1s\"\n"
        ));
        policy(named).pin(&plan, 0, &[found.parse().unwrap()])
    };
    let allowed = |top: &str, found: &str| {
        let plan = pinned(top, found).unwrap();
        assert!(plan.target.looked_up().is_some(), "the engine resolves it");
        plan.target.allow.clone().unwrap().entries
    };
    let staging = allowed("url = \"http://a.staging.example/\"", "10.1.2.3");
    assert_eq!(staging, ["10.0.0.0/8".parse().unwrap()]);
    assert_eq!(allowed("url = \"http://b.example/\"", "9.9.9.9"), ["b.example".parse().unwrap()]);
    let by_port = allowed("url = \"http://c.example:81/\"", "12.0.0.1");
    assert_eq!(by_port, ["12.0.0.0/8".parse().unwrap()]);
    let refused = pinned("url = \"http://a.staging.example/\"", "11.1.2.3").unwrap_err();
    assert!(matches!(refused, Refusal::Policy(PolicyRefusal::Target(_))), "{refused:?}");
    let own = "url = \"http://a.staging.example/\"\nallow = \"10.1.0.0/16\"";
    assert!(matches!(pinned(own, "10.1.2.3").unwrap_err(), Refusal::Plan(_)));
}

/// The agent itself asks its policy and its grant about the plan that it has fetched.
#[test]
fn a_fetched_plan_is_checked() {
    let slow = fetch(&mut agent(policy(&format!("rate = \"49/s\"\n{LOOPBACK}"))), &usual(), 1);
    let is_rate = matches!(slow.refused, Some(Refusal::Policy(PolicyRefusal::Rate { .. })));
    assert!(is_rate && slow.events == [Event::Abandon { key: key(1) }], "{slow:?}");
    let mut agent = agent(policy(LOOPBACK));
    let grant = grant(&usual(), 1);
    let caps = Caps { connections: Some(3), ..grant.caps };
    let few = fetch_with(&mut agent, &usual(), 1, &Grant { caps, ..grant });
    assert_eq!(few.refused, Some(Refusal::Grant(GrantError::Caps)));
    assert_eq!(few.events, [Event::Abandon { key: key(1) }]);
    // A reservation for another life of the agent is none for this one.
    let stranger = Head { boot: BOOT + 1, ..head(2) };
    let signed = operator().sign(&crate::common::lone::grant(&usual(), 2));
    let Message::Reserve { reserve, .. } = reserve(&usual(), 2, signed) else { unreachable!() };
    agent.handle_message(NOW, Message::Reserve { head: stranger, reserve });
    let ignored = said(&mut agent);
    assert_eq!((ignored.refused, ignored.phase, agent.phase()), (None, None, None));
}

#[test]
fn caps_scripts_and_sockets() {
    let plan = |rest: &str| plan(&format!("url = \"http://127.0.0.1:8080/\"\n{rest}"));
    let check = |plan: &Plan, rest: &str| {
        let all = Workers { first: 0, count: 1, of: 2 };
        match policy(&format!("{rest}{LOOPBACK}")).check(plan, all, &grant(plan, 1)) {
            Err(Refusal::Policy(why)) => Some(why),
            Err(other) => panic!("{other}"),
            Ok(()) => None,
        }
    };
    let open = plan("rate = \"1k/s\"\nduration = \"1m\"\nconnections = 40\n");
    // An agent is asked for half of it.
    for (fits, beyond) in [
        ("rate = \"500/s\"\n", "rate = \"499/s\"\n"),
        ("connections = 20\n", "connections = 19\n"),
        ("duration = \"60s\"\n", "duration = \"59s\"\n"),
    ] {
        assert_eq!(check(&open, fits), None);
        assert!(check(&open, beyond).is_some(), "{beyond}");
    }
    let closed = plan("requests = 100\n");
    assert_eq!(check(&closed, "rate = \"1G/s\"\n"), Some(PolicyRefusal::NoRate));
    assert_eq!(check(&closed, "duration = \"1h\"\n"), Some(PolicyRefusal::NoDuration));
    assert_eq!(check(&closed, ""), None);
    let proxied = plan("duration = \"1s\"\nproxy = \"10.0.0.9:3128\"\n");
    assert_eq!(check(&proxied, ""), Some(PolicyRefusal::Proxy));
    for auth in ["cmd:date", "file:/etc/hostname"] {
        let taking = plan(&format!("duration = \"1s\"\nauth = {auth:?}\n"));
        assert_eq!(check(&taking, ""), Some(PolicyRefusal::Credential));
    }
    let socket = plan("duration = \"1s\"\nunix-socket = \"/run/x\"\n");
    assert_eq!(check(&socket, ""), Some(PolicyRefusal::UnixSocket));
    let scripted = |sandbox: bool| {
        let limits = candor_plan::ScriptLimits {
            call_ns: S,
            body_bytes: 1,
            memory_bytes: 1 << 20,
            instructions: 1000,
        };
        let source = b"".to_vec().into();
        let script = candor_plan::Script {
            path: "s.lua".to_owned(),
            source,
            arguments: Vec::new(),
            sandbox,
            limits,
        };
        let plan = plan("duration = \"1s\"\n");
        let request = Box::new(plan.work.requests()[0].clone());
        plan.with(|parts| parts.work = Work::Script { request, script }).unwrap()
    };
    assert!(matches!(check(&scripted(true), ""), Some(PolicyRefusal::Script(_))));
    let sandboxed = "scripts = \"sandboxed\"\n";
    assert!(matches!(check(&scripted(false), sandboxed), Some(PolicyRefusal::Script(_))));
    assert_eq!(check(&scripted(true), sandboxed), None);
}

#[test]
fn the_demand_of_a_schedule_is_its_busiest_second() {
    let most = |load: &str| {
        let text = format!("url = \"http://h/\"\n{load}\nconnections = 9\nmax-connections = 30\n");
        let demand = Demand::of(&plan(&text), Workers { first: 0, count: 1, of: 3 });
        assert_eq!(demand.connections, 10);
        demand.rate.unwrap().events * 3
    };
    assert_eq!(most("rate = \"30/m\"\nduration = \"1s\""), 3);
    assert_eq!(most("load = \"ramp 0..900/s over 3s; hold 600/s for 1s\""), 900);
    assert_eq!(most("load = \"burst 300 every 1h\"\nduration = \"1s\""), 300);
    assert_eq!(most("load = \"burst 300 every 300ms\"\nduration = \"1s\""), 1200);
    let offsets: Vec<u64> = vec![0, 900 * MS, S, 1800 * MS, 1899 * MS, 5 * S];
    let replay = plan("url = \"http://h/\"\nrate = 1\nduration = \"1s\"\n").with(|parts| {
        let candor_plan::Load::Open(open) = &mut parts.load else { unreachable!() };
        open.segments = vec![candor_plan::Segment::replay(offsets.clone())];
    });
    let demand = Demand::of(&replay.unwrap(), Workers::all(1));
    assert_eq!(demand.rate, Some(Rate::per_second(4)));
}

/// The users of an agent's share may make all requests of the longest journey, with its repetitions: for a policy that
/// is their rate. Their connections are those of the plan, or one for each.
#[test]
fn users_count_by_the_most_requests_that_they_make() {
    let journeys = |own: &str| {
        let step = |name: &str, rest: &str| {
            format!("[[journey.step]]\nname = \"{name}\"\npath = \"/\"\n{rest}\n")
        };
        let steps = [
            format!("[[journey]]\nname = \"buy\"\n{own}\n"),
            step("login", ""),
            step("cart", "repeat = \"0..5\""),
            step("pay", ""),
            format!("[[journey]]\nname = \"look\"\nweight = 9\n{own}\n"),
            step("home", "repeat = 3"),
        ];
        steps.concat()
    };
    let of = |load: &str, own: &str| {
        plan(&format!("url = \"http://127.0.0.1:8080/\"\n{load}{}", journeys(own)))
    };
    let half = Workers { first: 0, count: 1, of: 2 };
    let check = |plan: &Plan, rest: &str| {
        policy(&format!("{rest}{LOOPBACK}")).check(plan, half, &grant(plan, 1))
    };
    let open = of("rate = 100\nduration = \"1m\"\nconnections = 40\n", "");
    let demand = Demand::of(&open, half);
    assert_eq!((demand.rate, demand.each), (Some(Rate::per_second(50 * 7)), Some(7)));
    assert_eq!(demand.connections, 20);
    assert_eq!(check(&open, "rate = \"350/s\"\n"), Ok(()));
    let refused = check(&open, "rate = \"349/s\"\n").unwrap_err();
    assert_eq!(
        refused.to_string(),
        "its policy forbids this: this agent's share is 350/s if each user makes 7 requests, the most; the limit is 349/s"
    );
    // A rate of requests is one of users before that: a tenth make 4.5, the others 3, so 320/s are 101.6 users.
    let requests = of("rate = 320\nrate-of = \"requests\"\nduration = \"1m\"\n", "");
    assert_eq!(Demand::of(&requests, half).rate, Some(Rate::per_second(102 * 7 / 2)));
    // Users with a connection each.
    let own = of("rate = 100\nduration = \"1m\"\nusers = 30\n", "connection = \"own\"");
    assert_eq!(Demand::of(&own, half).connections, 15);
    assert_eq!(check(&own, "connections = 15\n"), Ok(()));
    assert!(check(&own, "connections = 14\n").is_err());
    assert!(check(&own, "duration = \"59s\"\n").is_err());
    // In a closed load the server decides, as without users.
    let closed = of("users = 20\nconnections = 10\nduration = \"1m\"\n", "");
    let no_rate = Refusal::Policy(PolicyRefusal::NoRate);
    assert_eq!(check(&closed, "rate = \"1G/s\"\n"), Err(no_rate));
    assert_eq!((check(&closed, ""), Demand::of(&closed, half).connections), (Ok(()), 5));
}

#[test]
fn a_policy_that_cannot_be_read_says_where_and_what_to_do() {
    let wrong = |text: &str| Policy::from_toml("policy.toml", text).unwrap_err().to_string();
    for (text, words) in [
        ("", "operators"),
        (
            "operators = [\"x\"]",
            "policy.toml: operators: \"x\" is not a public key; write ed25519:",
        ),
        ("operators = []\nrat = 1", "policy.toml:2:1: unknown key \"rat\"; did you mean"),
        ("operators = []\nrate = \"x\"", "policy.toml: rate"),
        (
            "operators = []\n[[target]]\nports = [1]",
            "policy.toml: target: it has neither host nor networks",
        ),
        ("operators = []\n[[target]]\nhost = \"10.0.0.0/8\"", "is not a host"),
        ("operators = []\n[[target]]\nnetworks = [\"h\"]", "is not a network"),
        ("operators = []\n[[target]]\nnetworks = [\"unix:/x\"]", "is not a network"),
        ("operators = []\nscripts = \"any\"", "policy.toml:2"),
    ] {
        assert!(wrong(text).contains(words), "{text:?}: {}", wrong(text));
    }
}

#[test]
fn late_orders_and_kills() {
    let ready = || {
        let mut agent = agent(policy(LOOPBACK));
        fetch(&mut agent, &usual(), 1);
        agent.handle_prepared(NOW, key(1), Ok(2));
        said(&mut agent);
        agent
    };
    for origin_ns in [0, NOW.ns - 1, NOW.ns, NOW.ns + 9 * MS, NOW.ns + 601 * S, u64::MAX] {
        let mut agent = ready();
        let go = Go { origin_ns, offset_ns: 0, bound_ns: 1 };
        agent.handle_message(NOW, order(1, Command::Go(go)));
        let said = said(&mut agent);
        assert_eq!(said.refused, Some(Refusal::Late), "{origin_ns}");
        assert_eq!(said.events, [Event::Abandon { key: key(1) }]);
        assert_eq!(agent.phase(), None);
    }
    let mut agent = ready();
    agent.handle_message(NOW, Message::Kill { run: RunId([6; 16]) });
    assert_eq!(said(&mut agent).events, []);
    agent.handle_message(NOW, Message::Kill { run: key(1).run });
    let killed = said(&mut agent);
    assert_eq!(killed.events, [Event::Abandon { key: key(1) }]);
    assert_eq!(killed.audit.last().unwrap().0, What::Killed);
    // Orders for another life, or another run, are nothing.
    let mut agent = ready();
    let stranger = Head { boot: BOOT + 1, ..head(1) };
    let stop =
        Order { beat_ns: None, command: Command::Stop, lease_ns: 5 * S, have: Have::default() };
    agent.handle_message(NOW, Message::Lease { head: stranger, order: stop.clone() });
    agent.handle_message(NOW, Message::Lease { head: head(2), order: stop });
    assert_eq!(said(&mut agent).events, []);
    // A second run finds it busy.
    agent.handle_message(NOW, reserve(&usual(), 2, operator().sign(&grant(&usual(), 2))));
    assert_eq!(said(&mut agent).refused, Some(Refusal::Busy(key(1))));
}

/// Connections are dealt to threads, and lanes of a Poisson process too: an agent's part can be larger
/// than its part of the threads.
#[test]
fn the_demand_of_an_agent_is_that_of_its_threads() {
    let text = "url = \"http://h/\"\nconnections = 1000\nduration = \"1s\"\n";
    let even = plan(&format!("{text}rate = \"1024/s\"\n"));
    let poisson = plan(&format!("{text}rate = \"1024/s\"\narrivals = \"poisson\"\n"));
    let demand = |plan: &Plan, first, count| {
        let demand = Demand::of(plan, Workers { first, count, of: 200 });
        (demand.rate.unwrap().events, demand.connections)
    };
    // 1,024 lanes of 200 threads: the first 24 threads have 6, the others 5.
    assert_eq!((demand(&even, 0, 1), demand(&poisson, 0, 1)), ((6, 5), (6, 5)));
    assert_eq!((demand(&even, 0, 24), demand(&poisson, 0, 24)), ((123, 120), (144, 120)));
    assert_eq!((demand(&even, 20, 8), demand(&poisson, 20, 8)), ((41, 40), (44, 40)));
    assert_eq!((demand(&even, 0, 200), demand(&poisson, 0, 200)), ((1024, 1000), (1024, 1000)));
    // 10 connections of 4 threads are 3, 3, 2 and 2.
    let few = plan("url = \"http://h/\"\nconnections = 10\nduration = \"1s\"\n");
    let parts = [(0, 1), (0, 2), (1, 2), (2, 2), (0, 4)]
        .map(|(first, count)| Demand::of(&few, Workers { first, count, of: 4 }).connections);
    assert_eq!(parts, [3, 6, 5, 4, 10]);
}

/// The list of the plan's own user counts as well, for the addresses that this machine found.
#[test]
fn the_plans_own_list_still_counts() {
    let pin = |allow: &str, found: &str| {
        let text = format!(
            "url = \"http://a.example/\"\nrate = \"1/s\"\nduration = \"1s\"\nallow = [{allow}]\n"
        );
        let any = policy("[[target]]\nnetworks = [\"0.0.0.0/0\"]\n");
        any.pin(&plan(&text), 0, &[found.parse().unwrap()])
    };
    assert!(pin("\"10.0.0.0/8\"", "10.1.1.1").is_ok());
    assert!(pin("\"*.example\"", "192.0.2.1").is_ok());
    assert!(pin("", "192.0.2.1").is_ok());
    for allow in ["\"10.0.0.0/8\"", "\"b.example\""] {
        assert!(matches!(pin(allow, "192.0.2.1"), Err(Refusal::Plan(_))), "{allow}");
    }
}

/// A plan whose bytes are not those that were announced is not read.
#[test]
fn another_plan_than_the_announced_is_refused() {
    let mut agent = agent(policy(LOOPBACK));
    let plan = usual();
    agent.handle_message(NOW, reserve(&plan, 1, operator().sign(&grant(&plan, 1))));
    agent.handle_message(NOW, order(1, Command::Prepare));
    agent.handle_timeout(NOW);
    let mut bytes = wire::to_bytes(&plan);
    *bytes.last_mut().unwrap() ^= 1;
    let of = candor_fleet::Digest::of(&wire::to_bytes(&plan));
    agent.handle_message(NOW, Message::Chunk { head: head(1), of, index: 0, bytes });
    let [Event::Read { key, bytes, digest }] = &said(&mut agent).events[..] else { panic!() };
    agent.handle_read(NOW, *key, read_plan(bytes, *digest));
    assert_eq!(said(&mut agent).refused, Some(Refusal::PlanDigest));
}

/// Without a reply to its beats an agent gives a reservation up, or stops sending, exactly when its lease
/// is over.
#[test]
fn a_lease_ends_by_the_agents_own_clock() {
    let mut agent = agent(policy(LOOPBACK));
    fetch(&mut agent, &usual(), 1);
    agent.handle_prepared(NOW, key(1), Ok(2));
    let go = Go { origin_ns: NOW.ns + S, offset_ns: 0, bound_ns: 1 };
    agent.handle_message(NOW, order(1, Command::Go(go)));
    said(&mut agent);
    let at = |ns| Now { ns: NOW.ns + ns, ..NOW };
    agent.handle_timeout(at(S));
    assert_eq!(agent.phase().unwrap().1, Phase::Running);
    // A reply to the beat that was sent at 2 s comes at 4.9 s.
    let reply = Order {
        beat_ns: Some(NOW.ns + 2 * S),
        command: Command::Hold,
        lease_ns: 5 * S,
        have: Have::default(),
    };
    agent.handle_message(at(4900 * MS), Message::Lease { head: head(1), order: reply });
    let until = Event::SendUntil { key: key(1), until_ns: NOW.ns + 7 * S };
    assert!(said(&mut agent).events.contains(&until));
    agent.handle_timeout(at(7 * S - 1));
    assert_eq!(agent.phase().unwrap().1, Phase::Running);
    agent.handle_timeout(at(7 * S));
    assert_eq!(agent.phase().unwrap().1, Phase::Lapsed);
    assert!(said(&mut agent).events.contains(&Event::Stop { key: key(1), at_once: false }));
    // A reply that comes now changes nothing.
    let late = Order {
        beat_ns: Some(NOW.ns + 6 * S),
        command: Command::Hold,
        lease_ns: 5 * S,
        have: Have::default(),
    };
    agent.handle_message(at(7 * S + 1), Message::Lease { head: head(1), order: late });
    assert_eq!(agent.phase().unwrap().1, Phase::Lapsed);
}

/// Refusals that alternate need no permission, so they must not fill the audit file; those without a line are
/// counted in the next one.
#[test]
fn refusals_do_not_fill_the_audit_file() {
    let plan = usual();
    let mut agent = agent(policy(LOOPBACK));
    let forged =
        |epoch| reserve(&plan, epoch, OperatorKey::from_seed(&[8; 32]).sign(&grant(&plan, epoch)));
    let mut refuse = |ns: u64, count: u32| {
        let now = Now { ns: NOW.ns + ns, ..NOW };
        (0..count).for_each(|at| agent.handle_message(now, forged(at % 2)));
        said(&mut agent).audit
    };
    assert_eq!(refuse(0, 1000).len(), 60);
    assert_eq!(refuse(59 * S, 1).len(), 0);
    let lines = refuse(60 * S, 10);
    assert_eq!(lines.len(), 1);
    assert!(lines[0].1.ends_with("; 941 refusals before it have no line"), "{}", lines[0].1);
    assert_eq!(refuse(24 * 3600 * S, 1000).len(), 60);
}

/// Agents read no files.
#[test]
fn plans_that_name_a_file_are_refused_and_those_that_have_it_are_not() {
    let mut parts: candor_plan::Parts = (*usual()).clone();
    parts.data = vec![candor_plan::DataSet {
        name: "users".to_owned(),
        file: "/etc/passwd".into(),
        format: candor_plan::DataFormat::Csv,
        order: Default::default(),
        columns: vec!["name".to_owned()],
        content: None,
    }];
    let plan = candor_plan::Plan::try_from(parts).unwrap();
    let refused = policy(LOOPBACK).check(&plan, SHARE, &grant(&plan, 1));
    assert_eq!(refused, Err(Refusal::Policy(candor_fleet::PolicyRefusal::Data)));
    let plan = plan.with(|parts| {
        let bytes: std::sync::Arc<[u8]> = (*b"name\nann\n").into();
        parts.data[0].content = Some(candor_plan::Kept::Whole(bytes));
    });
    let plan = plan.unwrap();
    assert_eq!(policy(LOOPBACK).check(&plan, SHARE, &grant(&plan, 1)), Ok(()));
}
