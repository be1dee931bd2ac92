//! Who may do what: grants, policies, certificates and the files that have secrets.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener};

use super::*;

/// The certificate of an agent neither makes, reads nor empties the stream, and adds to it in its own name only.
#[test]
fn the_stream_is_the_operators() {
    let fleet = Fleet::start(2, "127.0.0.0/8");
    let run = RunId([9; 16]);
    let link = |folder: &str| Link::of_coordinator(&fleet.broker_for(folder), run).unwrap();
    let arrival = |link: &Link<RunId>| {
        let began = Instant::now();
        let arrivals = std::iter::from_fn(|| link.recv(PATIENCE));
        let mut arrivals = arrivals.take_while(|_| began.elapsed() < PATIENCE);
        arrivals.find(|one| matches!(one, Arrival::Stream(_) | Arrival::Stored { .. }))
    };
    let operator = link("operator");
    operator.make_stream();
    assert_eq!(arrival(&operator), Some(Arrival::Stream(Ok(()))));
    let message = Message::Kill { run };
    let speak = |name: &str| {
        let name = name.parse().unwrap();
        let link = Link::of_agent(&fleet.broker_for("agents/a0"), name).unwrap();
        link.send(To::Coordinator(run), &message);
    };
    speak("a0");
    speak("a1");
    let thief = link("agents/a0");
    thief.make_stream();
    let denied = Arrival::Stream(Err("it does not let the operator use JetStream".to_owned()));
    assert_eq!(arrival(&thief), Some(denied));
    thief.fetch("a0".parse().unwrap(), 0);
    thief.forget();
    std::thread::sleep(Duration::from_millis(2500));
    let stored = |arrival: &Arrival| matches!(arrival, Arrival::Stored { .. });
    assert!(!std::iter::from_fn(|| thief.recv(Duration::ZERO)).any(|one| stored(&one)));
    for (name, has_it) in [("a0", true), ("a1", false)] {
        operator.fetch(name.parse().unwrap(), 0);
        let Some(Arrival::Stored { found, .. }) = arrival(&operator) else { panic!("no reply") };
        let found = found.map(|(_, message)| *message.unwrap());
        assert_eq!(found, has_it.then(|| message.clone()), "{name}");
    }
}

/// Makes a run with the operator's certificate, but a signing key of this seed and another time.
fn attempt(fleet: &Fleet, url: &str, seed: [u8; 32], expires_in_s: i64) -> Verdict {
    struct NoFiles;
    impl ReadFile for NoFiles {
        fn read(&self, _: &Path) -> std::io::Result<Vec<u8>> {
            Err(std::io::ErrorKind::NotFound.into())
        }
    }
    let text = format!("url = \"{url}\"\nrate = \"100/s\"\nduration = \"1s\"\nconnections = 4\n");
    let began = Instant::now();
    let now_ns = || began.elapsed().as_nanos() as u64;
    let unix_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let run = RunId(std::array::from_fn(|at| seed[at] ^ expires_in_s as u8));
    let settings = Settings {
        key: RunKey { run, epoch: 0 },
        plan: Options::from_toml("plan.toml", &text).unwrap().build(&NoFiles).unwrap().0,
        rows: None,
        wanted: Wanted::Count(1),
        threads: Threads::ByCores,
        on_loss: OnLoss::Stop,
        operator: OperatorKey::from_seed(&seed),
        nonce: [3; 16],
        expires_unix_s: unix_s.saturating_add_signed(expires_in_s),
        timings: Timings::default(),
    };
    let link = Link::of_coordinator(&fleet.broker_for("operator"), run).unwrap();
    let mut coordinator = Coordinator::new(settings, now_ns());
    while began.elapsed() < PATIENCE {
        coordinator.handle_timeout(now_ns(), &mut |_| {});
        if let Some(Arrival::Message { from: Some(from), message }) =
            link.recv(Duration::from_millis(10))
        {
            coordinator.handle_message(now_ns(), &from, *message);
        }
        while let Some((to, message)) = coordinator.poll_transmit() {
            link.send(&to, &message);
        }
        while let Some(event) = coordinator.poll_event() {
            if let Event::Over(over) = event {
                return over.verdict;
            }
        }
    }
    panic!("it does not end: {}", fleet.log("a0"));
}

#[test]
fn without_a_valid_grant_nothing_is_sent() {
    let nginx = Nginx::start(true).unwrap();
    let fleet = Fleet::start(1, "127.0.0.0/8");
    let url = format!("http://{}/", nginx.address());
    let text = fs::read_to_string(fleet.folder().join("operator/signing.key")).unwrap();
    let text = text.trim();
    let seed: [u8; 32] =
        std::array::from_fn(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap());
    let mut expected = Vec::new();
    for (seed, expires_in_s, why) in [
        ([7; 32], 60, "its signer is not an operator of the policy"),
        (seed, -1, "it has expired"),
        (seed, 100_000, "it expires in more than a day"),
    ] {
        let verdict = attempt(&fleet, &url, seed, expires_in_s);
        let Verdict::Void(void) = &verdict else { panic!("{verdict:?}") };
        assert!(void.to_string().contains(why), "{void}");
        expected.push(why);
    }
    let audit = fleet.audit("a0");
    assert_eq!(audit.len(), expected.len(), "{audit:?}");
    for ((what, detail), why) in audit.iter().zip(expected) {
        assert!(what == "refused" && detail.contains(why), "{what}: {detail}");
    }
    // The same with a valid grant sends.
    let outcome = fleet.measure(&["-R", "100", "-d", "1s", "-c", "4", &url]).finish();
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    assert_eq!(nginx.stop().unwrap(), 100);
}

/// The policy of an agent is the limit, whatever was signed.
#[test]
fn a_target_outside_of_the_policy_gets_nothing() {
    let nginx = Nginx::start(true).unwrap();
    let fleet = Fleet::start(2, "10.0.0.0/8");
    for host in ["127.0.0.1", "localhost"] {
        let url = format!("http://{host}:{}/", nginx.address().port());
        let outcome = fleet.measure(&["-R", "100", "-d", "1s", "-c", "4", &url]).finish();
        outcome.assert_refused(COULD_NOT_RUN, &["agent a", "no entry allows the target", host]);
    }
    let refused = ["a0", "a1"].iter().any(|name| {
        fleet
            .audit(name)
            .iter()
            .any(|(what, detail)| what == "refused" && detail.contains("no entry"))
    });
    assert!(refused);
    assert_eq!(nginx.stop().unwrap(), 0);
}

/// A plan with several targets runs where the policy has all of them.
#[test]
fn a_policy_covers_every_target_or_refuses() {
    let (one, other) = (Nginx::start(true).unwrap(), Nginx::start(true).unwrap());
    let fleet = Fleet::start(2, "127.0.0.1");
    let file = fleet.directory.path().join("plan.toml");
    let measure = |host: &str| {
        let plan = format!(
            "url = 'http://{}/'\nrate = 200\nduration = '1s'\nconnections = 4\n[target.other]\n\
             url = 'http://{host}:{}/'\n[[request]]\n[[request]]\ntarget = 'other'\n",
            one.address(),
            other.address().port()
        );
        fs::write(&file, plan).unwrap();
        fleet.measure(&[file.to_str().unwrap()]).finish()
    };
    measure("127.0.0.2")
        .assert_refused(COULD_NOT_RUN, &["agent a", "no entry allows", "127.0.0.2"]);
    let outcome = measure("127.0.0.1");
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    outcome.document().assert_all_ok();
    assert_eq!((one.stop().unwrap(), other.stop().unwrap()), (100, 100));
}

/// Listens where no load may go, and tells whether anybody came.
struct Outside(TcpListener);

impl Outside {
    fn listen(port: u16) -> Outside {
        let listener = TcpListener::bind((Ipv4Addr::new(127, 0, 0, 2), port)).unwrap();
        listener.set_nonblocking(true).unwrap();
        Outside(listener)
    }

    fn port(&self) -> u16 {
        self.0.local_addr().unwrap().port()
    }

    fn is_untouched(&self) -> bool {
        self.0.accept().is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }
}

/// A response that leads out of the policy is a response, and nothing follows it.
#[test]
fn a_redirect_leads_nowhere() {
    let outside = Outside::listen(0);
    let to = format!("location = /away {{ return 302 http://127.0.0.2:{}/; }}", outside.port());
    let listener = Listener { directives: to, ..Listener::default() };
    let nginx = Nginx::start_with(true, &[listener]).unwrap();
    let fleet = Fleet::start(1, "127.0.0.1");
    let url = format!("http://{}/away", nginx.listeners()[0]);
    let outcome = fleet.measure(&["-R", "100", "-c", "4", "-d", "1s", &url]).finish();
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let statuses = outcome.document().at("/statuses").clone();
    assert_eq!((&statuses[0]["status"], &statuses[0]["count"]), (&302.into(), &100.into()));
    assert_eq!(nginx.stop().unwrap(), 100);
    assert!(outside.is_untouched());
}

/// A target under a name, which an agent looks up in a file of its own.
struct Renamed {
    nginx: Nginx,
    /// Where the policy does not allow to go.
    outside: Outside,
    fleet: Fleet,
    url: String,
}

impl Renamed {
    /// `None` without the right to mount.
    fn start() -> Option<Self> {
        if !crate::common::is_root("a namespace of mounts") {
            return None;
        }
        let nginx = Nginx::start(true).unwrap();
        let outside = Outside::listen(nginx.address().port());
        let mut fleet = Fleet::start(1, "127.0.0.1");
        resolve_to(&fleet, "127.0.0.1");
        fleet.agents.clear();
        let hosts = fleet.directory.path().join("hosts");
        let bind = "mount --bind \"$0\" /etc/hosts && exec \"$@\"";
        let own_hosts = ["unshare", "--mount", "sh", "-c", bind, hosts.to_str().unwrap()];
        fleet.start_agent_as("a0", &own_hosts);
        let url = format!("http://target.test:{}/", outside.port());
        Some(Renamed { nginx, outside, fleet, url })
    }
}

/// The name has this address from now on.
fn resolve_to(fleet: &Fleet, address: &str) {
    fs::write(fleet.directory.path().join("hosts"), format!("{address} target.test\n")).unwrap();
}

/// A name that means another address later: a run keeps the address that was checked, the next one is refused.
#[test]
fn a_name_that_changes_leads_nowhere() {
    let Some(Renamed { nginx, outside, fleet, url }) = Renamed::start() else { return };
    // Each request has a connection of its own.
    let flags = ["-R", "200", "-c", "4", "-d", "2s", "--requests-per-connection", "1", &url];
    let run = fleet.measure(&flags);
    assert!(wait_until(PATIENCE, || lines(&nginx) > 50), "{}", fleet.log("a0"));
    resolve_to(&fleet, "127.0.0.2");
    let outcome = run.finish();
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    assert_eq!((document.ledger("scheduled"), document.ledger("ok")), (400, 400));
    assert!(document.count("/connections/opened") >= 400);
    let refused = fleet.measure(&flags).finish();
    refused.assert_refused(COULD_NOT_RUN, &["agent a0", "no entry allows the target target.test"]);
    let audit = fleet.audit("a0");
    let (what, detail) = audit.last().unwrap();
    assert!(what == "refused" && detail.contains("target.test"), "{what}: {detail}");
    assert_eq!(nginx.stop().unwrap(), 400);
    assert!(outside.is_untouched());
}

/// The same where names are resolved again: the policy decides, and what it does not allow is left out.
#[test]
fn a_name_that_is_resolved_again_leads_where_the_policy_allows() {
    let Some(Renamed { nginx, outside, fleet, url }) = Renamed::start() else { return };
    let run = fleet.measure(&["-R", "200", "-c", "4", "-d", "2s", "--dns-refresh", "100ms", &url]);
    assert!(wait_until(PATIENCE, || lines(&nginx) > 50), "{}", fleet.log("a0"));
    resolve_to(&fleet, "127.0.0.2");
    let outcome = run.finish();
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    assert_eq!((document.ledger("scheduled"), document.ledger("ok")), (400, 400));
    let name = &document.list("/names")[0];
    assert_eq!((name["name"].as_str(), name["added"].as_u64()), (Some("target.test"), Some(0)));
    assert!(name["left_out"].as_u64() > Some(0), "{name}");
    assert!(outside.is_untouched());
    assert_eq!(nginx.stop().unwrap(), 400);
}

#[test]
fn secrets_are_for_their_owner_and_nothing_is_overwritten() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("f");
    let out = folder.to_str().unwrap();
    let init = || {
        candor(&["fleet", "init", "2", "--out", out, "--target", "10.0.0.0/8", "--rate", "5k/s"])
    };
    let made = init();
    assert_eq!(made.code(), 0, "{}", made.stderr);
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.clone()];
    while let Some(one) = folders.pop() {
        for entry in fs::read_dir(&one).unwrap().map(Result::unwrap) {
            let (path, mode) =
                (entry.path(), entry.metadata().unwrap().permissions().mode() & 0o777);
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(&folder).unwrap().display().to_string();
            let text = fs::read_to_string(&path).unwrap();
            let is_secret = name.ends_with("key.pem") || name.ends_with(".key");
            assert_eq!(
                text.contains("PRIVATE KEY") || name.ends_with("signing.key"),
                is_secret,
                "{name}"
            );
            assert_eq!(mode, if is_secret { 0o600 } else { mode }, "{name}");
            files.insert(name, text);
        }
    }
    let keys: Vec<&String> =
        files.iter().filter(|(name, _)| name.ends_with("key.pem")).map(|(_, text)| text).collect();
    assert_eq!(keys.len(), 4);
    assert!(keys.windows(2).all(|pair| pair[0] != pair[1]));
    assert!(files["agents/a1/policy.toml"].contains("networks = [\"10.0.0.0/8\"]"));
    assert!(files["agents/a1/policy.toml"].contains("rate = \"5k/s\""));
    init().assert_refused(COULD_NOT_RUN, &[out, "it is there already", "--out"]);
    for (name, text) in &files {
        assert_eq!(&fs::read_to_string(folder.join(name)).unwrap(), text, "{name}");
    }
}
