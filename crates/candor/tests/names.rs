//! Names whose addresses change during a run: `--dns-refresh`, with a hosts file that the test makes.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use candor_testkit::process::{free_port, wait_until};

use crate::common::{CANDOR, Candor, Document, Outcome, Target, is_root};

const PATIENCE: Duration = Duration::from_secs(20);

/// Candor in a namespace of mounts, with a hosts file of its own.
struct Named {
    directory: tempfile::TempDir,
}

impl Named {
    /// `shop.test` has these addresses to begin with.
    fn new(addresses: &[&str]) -> Self {
        let named = Named { directory: tempfile::tempdir().unwrap() };
        named.resolve_to(addresses);
        named
    }

    fn hosts(&self) -> PathBuf {
        self.directory.path().join("hosts")
    }

    /// From now on it has these.
    fn resolve_to(&self, addresses: &[&str]) {
        let lines: String = addresses.iter().map(|one| format!("{one} shop.test\n")).collect();
        // The file itself: another one in its place would be another mount.
        fs::write(self.hosts(), lines).unwrap();
    }

    fn start(&self, arguments: &[&str]) -> Candor {
        Candor::start_as(Command::new("unshare"), |directory, command| {
            let bind = "mount --bind \"$0\" /etc/hosts && exec \"$@\"";
            command.args(["--mount", "sh", "-c", bind]).arg(self.hosts()).arg(CANDOR);
            command.args(["--json", "result.json"]).args(arguments).current_dir(directory);
        })
    }
}

/// Servers at these addresses of loopback, and their port.
fn servers(addresses: &[&str]) -> (Vec<Target>, u16) {
    let port = free_port().unwrap();
    let start = |one: &&str| {
        let listen = format!("{one}:{port}");
        Target::at(one.parse().unwrap(), &["--listen", &listen])
    };
    (addresses.iter().map(start).collect(), port)
}

/// Address, measured requests and connections of each row.
fn rows(document: &Document) -> Vec<(String, u64, u64)> {
    let row = |row: &serde_json::Value| {
        let count = |name: &str| row.pointer(name).and_then(serde_json::Value::as_u64).unwrap();
        let address = row["address"].as_str().unwrap().to_owned();
        (address, count("/requests/sent"), count("/opened"))
    };
    document.list("/addresses").iter().map(row).collect()
}

fn well(outcome: &Outcome) -> Document {
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    outcome.document()
}

/// Connections to an address that is gone end after the requests in flight, and the new one has what follows.
#[test]
fn a_run_follows_a_name() {
    if !is_root("a namespace of mounts") {
        return;
    }
    for flags in [&[][..], &["--h2c", "--streams", "3"], &["--reactor", "uring"]] {
        let (servers, port) = servers(&["127.0.0.2", "127.0.0.3", "127.0.0.4"]);
        let named = Named::new(&["127.0.0.2", "127.0.0.3"]);
        let url = format!("http://shop.test:{port}/");
        let load = ["-R", "400", "-c", "6", "-t", "2", "-d", "4s", "--dns-refresh", "100ms"];
        let run = named.start(&[&load[..], &["--by", "address", &url], flags].concat());
        assert!(wait_until(PATIENCE, || servers[0].requests() > 50));
        named.resolve_to(&["127.0.0.3", "127.0.0.4"]);
        assert!(wait_until(PATIENCE, || servers[2].requests() > 50), "the new one is used");
        let outcome = run.finish();
        let document = well(&outcome);
        assert_eq!((document.ledger("scheduled"), document.ledger("ok")), (1600, 1600));
        let rows = rows(&document);
        let addresses: Vec<&str> = rows.iter().map(|row| &row.0[..9]).collect();
        assert_eq!(addresses, ["127.0.0.2", "127.0.0.3", "127.0.0.4"]);
        for (row, server) in rows.iter().zip(&servers) {
            server.assert_requests(row.1);
        }
        // Half of them went to the first, and were replaced; those to the second stayed.
        assert_eq!(rows[0].2, 3, "{rows:?}");
        assert_eq!(rows[1].2 + rows[2].2, 6, "{rows:?}");
        let name = &document.list("/names")[0];
        assert_eq!((name["name"].as_str(), name["failed"].as_u64()), (Some("shop.test"), Some(0)));
        assert_eq!((name["added"].as_u64(), name["gone"].as_u64()), (Some(1), Some(1)));
        assert_eq!(document.count("/connections/lost"), 0);
    }
}

/// What cannot be resolved, or may not be used, changes nothing and is said.
#[test]
fn a_name_that_is_lost_keeps_its_addresses() {
    if !is_root("a namespace of mounts") {
        return;
    }
    let (servers, port) = servers(&["127.0.0.2"]);
    let outside = TcpListener::bind(format!("127.1.0.9:{port}")).unwrap();
    outside.set_nonblocking(true).unwrap();
    let url = format!("http://shop.test:{port}/");
    let load = ["-R", "100", "-c", "2", "-d", "2s", "--dns-refresh", "100ms"];
    for (addresses, key) in [(&[][..], "failed"), (&["127.1.0.9", "203.0.113.1"], "left_out")] {
        let named = Named::new(&["127.0.0.2"]);
        let before = servers[0].requests();
        let own = ["--allow", "127.0.0.0/16", "--by", "address", &url];
        let run = named.start(&[&load[..], &own].concat());
        assert!(wait_until(PATIENCE, || servers[0].requests() > before + 20));
        named.resolve_to(addresses);
        let document = well(&run.finish());
        assert_eq!(document.ledger("ok"), 200);
        assert_eq!(rows(&document).len(), 1);
        let name = &document.list("/names")[0];
        assert!(name[key].as_u64() > Some(0), "{name}");
        assert_eq!((name["added"].as_u64(), name["gone"].as_u64()), (Some(0), Some(0)));
        assert!(document.verdicts().contains(&"name-not-resolved"), "{:?}", document.verdicts());
    }
    assert!(outside.accept().is_err(), "nothing went there");
}
