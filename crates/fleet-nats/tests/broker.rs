//! Links over a real broker: who gets which message, and a broker that is killed, stopped, missing or strict.
#![allow(clippy::unwrap_used, reason = "what a test sets up is there, or the test fails")]

mod peer;

use std::time::{Duration, Instant};

use candor_fleet::agent::To;
use candor_fleet::message::{Hello, Segment};
use candor_fleet::{AgentName, Digest, Head, Message, RunId, RunKey, codec};
use candor_fleet_nats::{Arrival, Broker, Certificates, Link, LinkError};
use peer::{PATIENCE, Server, wait_for};

const RUN: RunId = RunId([1; 16]);
const OTHER: RunId = RunId([2; 16]);

fn name(text: &str) -> AgentName {
    text.parse().unwrap()
}

fn head(run: RunId) -> Head {
    Head { key: RunKey { run, epoch: 0 }, boot: 7 }
}

fn hello(clock_ns: u64) -> Message {
    Message::Hello(Hello {
        boot: 7,
        version: "1.2.3".to_owned(),
        cores: 2,
        policy: Digest::of(b""),
        clock_ns,
        busy: None,
        kept: Vec::new(),
    })
}

fn settled(run: RunId) -> Message {
    Message::Settled { head: head(run) }
}

/// Waits for this message, and says from whom it came.
fn hear<End>(link: &Link<End>, expected: &Message) -> Option<AgentName> {
    wait_for(link, |arrival| match arrival {
        Arrival::Message { from, message } if **message == *expected => Some(from.clone()),
        _ => None,
    })
}

/// All messages that arrive within a short time.
fn rest<End>(link: &Link<End>) -> Vec<Message> {
    let next = || link.recv(Duration::from_millis(300));
    let message = |one| match one {
        Arrival::Message { message, .. } => Some(*message),
        _ => None,
    };
    std::iter::from_fn(next).filter_map(message).collect()
}

#[test]
fn messages_reach_their_receivers_and_no_others() {
    let server = Server::start();
    let one = Link::of_agent(&server.broker(), name("a1")).unwrap();
    let two = Link::of_agent(&server.broker(), name("a2")).unwrap();
    let first = Link::of_coordinator(&server.broker(), RUN).unwrap();
    let second = Link::of_coordinator(&server.broker(), OTHER).unwrap();
    one.send(To::Coordinators, &hello(1));
    assert_eq!(hear(&first, &hello(1)), Some(name("a1")));
    assert_eq!(hear(&second, &hello(1)), Some(name("a1")));
    // The largest segment, to one run.
    let bytes = (0..codec::PIECE_BYTES).map(|at| at as u8).collect();
    let segment = Segment { sequence: 3, ends: candor_fleet::message::Ends::Nothing, bytes };
    let segment = Message::Segment { head: head(RUN), segment };
    two.send(To::Coordinator(RUN), &segment);
    assert_eq!(hear(&first, &segment), Some(name("a2")));
    first.send(&name("a1"), &settled(RUN));
    assert_eq!(hear(&one, &settled(RUN)), None);
    assert_eq!((rest(&second), rest(&two)), (vec![], vec![]));
    for dropped in [one.dropped(), two.dropped(), first.dropped(), second.dropped()] {
        assert_eq!(dropped, 0);
    }
}

/// A message that is sent again and again until it arrives, as beats are.
fn send_until_heard(from: &Link<AgentName>, to: &Link<RunId>) -> Duration {
    let began = Instant::now();
    for clock_ns in 0.. {
        assert!(began.elapsed() < PATIENCE, "it does not arrive");
        let asked = Instant::now();
        from.send(To::Coordinators, &hello(clock_ns));
        assert!(asked.elapsed() < Duration::from_millis(100), "a send waits for nothing");
        if let Some(Arrival::Message { .. }) = to.recv(Duration::from_millis(50)) {
            break;
        }
    }
    began.elapsed()
}

/// A broker that is killed and comes back: links report it, drop messages meanwhile, and reconnect.
#[test]
fn a_killed_broker_comes_back() {
    let mut server = Server::start();
    let agent = Link::of_agent(&server.broker(), name("a1")).unwrap();
    let coordinator = Link::of_coordinator(&server.broker(), RUN).unwrap();
    send_until_heard(&agent, &coordinator);
    server.kill();
    wait_for(&agent, |arrival| (*arrival == Arrival::Disconnected).then_some(()));
    for clock_ns in 0..10 {
        agent.send(To::Coordinators, &hello(clock_ns));
    }
    let began = Instant::now();
    while agent.dropped() < 10 {
        assert!(began.elapsed() < PATIENCE, "{} were dropped", agent.dropped());
        std::thread::sleep(Duration::from_millis(10));
    }
    server.start_again();
    wait_for(&agent, |arrival| (*arrival == Arrival::Connected).then_some(()));
    let took = send_until_heard(&agent, &coordinator);
    assert!(took < Duration::from_secs(3), "{took:?}");
}

/// A broker that is stopped is noticed by its silence, and no call waits for it, nor does the end of a link.
#[test]
fn a_stopped_broker_is_noticed_and_holds_nothing_up() {
    let server = Server::start();
    let agent = Link::of_agent(&server.broker(), name("a1")).unwrap();
    server.signal("STOP");
    let began = Instant::now();
    let is_lost = |arrival: &Arrival| (*arrival == Arrival::Disconnected).then_some(());
    agent.send(To::Coordinators, &hello(1));
    wait_for(&agent, is_lost);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    let began = Instant::now();
    // More than the queue has room for.
    for clock_ns in 0..3000 {
        agent.send(To::Coordinators, &hello(clock_ns));
    }
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    let began = Instant::now();
    drop(agent);
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    server.signal("CONT");
}

/// The end of a link whose queues are full, before it has noticed that its broker takes nothing.
#[test]
fn a_link_with_full_queues_ends_in_time() {
    let server = Server::start();
    let agent = Link::of_agent(&server.broker(), name("a1")).unwrap();
    server.signal("STOP");
    let bytes = vec![7; 16 << 10];
    let segment = Segment { sequence: 0, ends: candor_fleet::message::Ends::Nothing, bytes };
    let segment = Message::Segment { head: head(RUN), segment };
    let began = Instant::now();
    while agent.dropped() < 100 {
        assert!(began.elapsed() < PATIENCE, "{} were dropped", agent.dropped());
        agent.send(To::Coordinator(RUN), &segment);
    }
    let began = Instant::now();
    drop(agent);
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    server.signal("CONT");
}

#[test]
fn a_missing_broker_is_an_error_in_time() {
    let mut server = Server::start();
    let broker = Broker { patience: Duration::from_secs(1), ..server.broker() };
    server.kill();
    let began = Instant::now();
    let error = Link::of_agent(&broker, name("a1")).unwrap_err();
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    let LinkError::Unreachable { broker: named, why } = &error else { panic!("{error:?}") };
    assert_eq!(*named, broker.urls[0]);
    assert!(why.contains("refused"), "{why}");
    // One that starts within the patience is found.
    let late = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(700));
        server.start_again();
        server
    });
    let broker = Broker { patience: PATIENCE, ..broker };
    let link = Link::of_agent(&broker, name("a1")).unwrap();
    drop((link, late.join().unwrap()));
}

/// Of several addresses the first that responds is used, and another one when its broker dies. The brokers carry
/// messages to each other.
#[test]
fn another_broker_takes_over() {
    let port = || std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let ports = [port(), port()];
    let cluster = |at: usize| {
        let (own, other) = (ports[at], ports[1 - at]);
        Some(format!(
            "server_name: s{at}\ncluster {{name: fleet, listen: \"127.0.0.1:{own}\", \
             routes: [\"nats://127.0.0.1:{other}\"]}}\n"
        ))
    };
    let (mut first, second) = (Server::with(cluster(0)), Server::with(cluster(1)));
    let dead = format!("nats://127.0.0.1:{}", port());
    let broker = |urls: &[&str]| Broker {
        urls: urls.iter().map(|url| (*url).to_owned()).collect(),
        ..first.broker()
    };
    let (one, two) = (first.url(), second.url());
    let agent = Link::of_agent(&broker(&[&dead, &one, &two]), name("a1")).unwrap();
    let coordinator = Link::of_coordinator(&broker(&[&two, &one]), RUN).unwrap();
    assert_eq!((agent.url(), coordinator.url()), (&*one, &*two));
    send_until_heard(&agent, &coordinator);
    first.kill();
    wait_for(&agent, |arrival| (*arrival == Arrival::Disconnected).then_some(()));
    wait_for(&agent, |arrival| (*arrival == Arrival::Connected).then_some(()));
    send_until_heard(&agent, &coordinator);
    // If none responds, each is named with its reason.
    let patience = Duration::from_secs(1);
    let nowhere = Broker { urls: vec![dead.clone(), one.clone()], tls: None, patience };
    let LinkError::Unreachable { why, .. } = Link::of_agent(&nowhere, name("a1")).unwrap_err()
    else {
        panic!("an unreachable broker")
    };
    assert!(why.contains(&format!("{dead}: ")) && why.contains(&format!("{one}: ")), "{why}");
}

/// A server that says it has this version, and does nothing but respond to pings.
fn impostor(version: &'static str) -> Broker {
    use std::io::{BufRead, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("nats://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let info = format!(
            "INFO {{\"server_id\":\"x\",\"version\":\"{version}\",\"max_payload\":1048576,\"headers\":true}}\r\n"
        );
        socket.write_all(info.as_bytes()).unwrap();
        let lines = std::io::BufReader::new(socket.try_clone().unwrap()).lines();
        for _ in lines.map_while(Result::ok).filter(|line| line == "PING") {
            let _ = socket.write_all(b"PONG\r\n");
        }
    });
    Broker { urls: vec![url], tls: None, patience: PATIENCE }
}

#[test]
fn a_broker_with_known_vulnerabilities_is_reported() {
    for (version, is_outdated) in [("2.11.15", true), ("2.12.7", false)] {
        let link = Link::of_agent(&impostor(version), name("a1")).unwrap();
        let arrivals: Vec<Arrival> =
            std::iter::from_fn(|| link.recv(Duration::from_millis(500))).collect();
        let reported = arrivals.contains(&Arrival::Outdated(version.to_owned()));
        assert_eq!(reported, is_outdated, "{version}: {arrivals:?}");
    }
}

/// Bytes that are no message, from another client of the broker.
#[test]
fn foreign_bytes_are_reported_with_their_sender() {
    use std::io::{Read, Write};
    let server = Server::start();
    let coordinator = Link::of_coordinator(&server.broker(), RUN).unwrap();
    let mut socket = std::net::TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let text = "CONNECT {\"verbose\":false}\r\nPUB candor.hello.a9 5\r\nhello\r\nPUB \
                candor.hello.NO 5\r\nhello\r\nPING\r\n";
    socket.write_all(text.as_bytes()).unwrap();
    socket.read_exact(&mut [0; 4]).unwrap();
    let from = wait_for(&coordinator, |arrival| match arrival {
        Arrival::Unreadable { from, .. } => Some(from.clone()),
        _ => None,
    });
    assert_eq!(from, Some(name("a9")));
    // The subject of the other one names no agent.
    assert_eq!(coordinator.recv(Duration::from_millis(300)), None);
}

/// The reply of the stream to a fetch.
fn fetch(link: &Link<RunId>, from: &str, number: u64) -> Option<(u64, Result<Message, ()>)> {
    link.fetch(name(from), number);
    wait_for(link, |arrival| match arrival {
        Arrival::Stored { agent, after, found } => {
            assert_eq!((agent, *after), (&name(from), number));
            let found = found.clone();
            Some(found.map(|(at, message)| (at, message.map(|one| *one).map_err(|_| ()))))
        }
        _ => None,
    })
}

fn make_stream(link: &Link<RunId>) -> Result<(), String> {
    link.make_stream();
    wait_for(link, |arrival| match arrival {
        Arrival::Stream(made) => Some(made.clone()),
        _ => None,
    })
}

/// The broker copies messages of agents to coordinators, whether or not a coordinator hears them, keeps them over a
/// restart, and forgets those of a run when it is asked to.
#[test]
fn the_stream_has_a_copy_of_each_run() {
    use std::io::{Read, Write};
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().display();
    let text = format!("jetstream {{store_dir: \"{store}\", max_file_store: 1GB}}\n");
    let mut server = Server::with(Some(text));
    let operator = Link::of_coordinator(&server.broker(), RUN).unwrap();
    assert_eq!(make_stream(&operator), Ok(()));
    assert_eq!(make_stream(&operator), Ok(()), "it is there");
    let agent = Link::of_agent(&server.broker(), name("a1")).unwrap();
    agent.send(To::Coordinators, &hello(1));
    agent.send(To::Coordinator(OTHER), &settled(OTHER));
    agent.send(To::Coordinator(RUN), &settled(RUN));
    assert_eq!(hear(&operator, &settled(RUN)), Some(name("a1")), "the live path is the same");
    // Garbage, from a client that wants an acknowledgement, which could go to any subject.
    let mut socket = std::net::TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let text = "CONNECT {\"verbose\":false}\r\nSUB victim 1\r\n\
                PUB candor.run.01010101010101010101010101010101.a1 victim 2\r\nhi\r\nPING\r\n";
    socket.write_all(text.as_bytes()).unwrap();
    let mut said = Vec::new();
    let _ = socket.read_to_end(&mut said);
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("PONG") && !said.contains("MSG"), "{said}");
    drop(operator);
    server.kill();
    server.start_again();
    let operator = Link::of_coordinator(&server.broker(), RUN).unwrap();
    assert_eq!(fetch(&operator, "a1", 0), Some((2, Ok(settled(RUN)))));
    assert_eq!(fetch(&operator, "a1", 2), Some((3, Err(()))));
    assert_eq!(fetch(&operator, "a1", 3), None);
    assert_eq!(fetch(&operator, "a2", 0), None);
    assert_eq!(fetch(&operator, "a1", u64::MAX), None);
    operator.forget();
    // The end of a link waits for its requests.
    drop(operator);
    let operator = Link::of_coordinator(&server.broker(), RUN).unwrap();
    assert_eq!(fetch(&operator, "a1", 0), None);
    let other = Link::of_coordinator(&server.broker(), OTHER).unwrap();
    assert_eq!(fetch(&other, "a1", 0), Some((1, Ok(settled(OTHER)))));
}

/// A broker without a stream says so, to a fetch too.
#[test]
fn a_broker_may_have_no_stream() {
    let server = Server::start();
    let operator = Link::of_coordinator(&server.broker(), RUN).unwrap();
    assert_eq!(make_stream(&operator), Err("it has no JetStream".to_owned()));
    assert_eq!(fetch(&operator, "a1", 0), None);
    operator.forget();
    // One that does not respond is waited for as long as one may take that is 2 s away.
    server.signal("STOP");
    let began = Instant::now();
    assert!(make_stream(&operator).is_err());
    drop(operator);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    server.signal("CONT");
}

/// Mutual TLS: the certificate of an agent gives it its own subjects. In the name of another it is not heard.
#[test]
fn certificates_prove_names() {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let ca_key = KeyPair::generate().unwrap();
    let mut ca = CertificateParams::new(Vec::new()).unwrap();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca_file = file("ca.pem", ca.self_signed(&ca_key).unwrap().pem());
    let issuer = Issuer::new(ca, ca_key);
    let certified = |owner: &str| {
        let key = KeyPair::generate().unwrap();
        let names = CertificateParams::new(vec![owner.to_owned()]).unwrap();
        let certificate = names.signed_by(&key, &issuer).unwrap().pem();
        Certificates {
            ca: ca_file.clone(),
            certificate: file(&format!("{owner}.pem"), certificate),
            key: file(&format!("{owner}.key"), key.serialize_pem()),
        }
    };
    let own = certified("127.0.0.1");
    let user = |name: &str, publish: &str, subscribe: &str| {
        format!(
            "{{user: \"{name}\", permissions: {{publish: [{publish}], subscribe: [{subscribe}]}}}}\n"
        )
    };
    let agent = |name: &str| {
        let publish = format!("\"candor.hello.{name}\", \"candor.run.*.{name}\"");
        user(name, &publish, &format!("\"candor.agent.{name}\""))
    };
    let configuration = format!(
        "tls {{cert_file: {:?}, key_file: {:?}, ca_file: {:?}, verify_and_map: true}}\n\
         authorization {{users: [\n{}{}{}]}}\n",
        own.certificate,
        own.key,
        own.ca,
        user("c1", "\"candor.agent.*\"", "\"candor.hello.*\", \"candor.run.*.*\""),
        agent("a1"),
        agent("a2"),
    );
    let server = Server::with(Some(configuration));
    let broker = |owner: &str| {
        let urls = vec![format!("tls://127.0.0.1:{}", server.port)];
        Broker { urls, tls: Some(certified(owner)), patience: PATIENCE }
    };
    let coordinator = Link::of_coordinator(&broker("c1"), RUN).unwrap();
    let honest = Link::of_agent(&broker("a1"), name("a1")).unwrap();
    honest.send(To::Coordinators, &hello(1));
    assert_eq!(hear(&coordinator, &hello(1)), Some(name("a1")));
    coordinator.send(&name("a1"), &settled(RUN));
    assert_eq!(hear(&honest, &settled(RUN)), None);
    // The certificate of a1 and the name of a2.
    let liar = Link::of_agent(&broker("a1"), name("a2")).unwrap();
    liar.send(To::Coordinators, &hello(2));
    let trouble = wait_for(&liar, |arrival| match arrival {
        Arrival::Trouble(why) => Some(why.clone()),
        _ => None,
    });
    assert!(trouble.to_lowercase().contains("permissions violation"), "{trouble}");
    coordinator.send(&name("a2"), &settled(RUN));
    assert_eq!((rest(&coordinator), rest(&liar)), (vec![], vec![]));
    // Without a certificate there is no link.
    let nobody = Broker { tls: None, patience: Duration::from_secs(2), ..broker("a1") };
    assert!(Link::of_agent(&nobody, name("a1")).is_err());
}
