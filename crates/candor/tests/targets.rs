//! Plans with several targets: each counts what it got, and each is allowed or nothing is sent.

use std::process::Command;

use candor_testkit::peer::RefusingPort;

use crate::common::{CANDOR, Candor, Outcome, Target};

fn run(plan: &str, flags: &[&str]) -> Outcome {
    let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
        std::fs::write(directory.join("plan.toml"), plan).expect("a plan");
        command.args(["run", "plan.toml", "--json", "result.json"]).args(flags);
        command.current_dir(directory);
    });
    run.finish()
}

#[test]
fn a_journey_over_three_servers_is_what_each_of_them_counts() {
    let (shop, auth, cdn) = (Target::start(&[]), Target::start(&["--tls"]), Target::start(&[]));
    let auth_url = auth.url("/").replacen("http://127.0.0.1", "https://localhost", 1);
    let plan = format!(
        "url = '{}'\nrequests = 200\nrate = 400\n\
         expect = ['errors == 0', '[target:auth] p50 < 20s']\n\
         [target.auth]\nurl = '{auth_url}'\ninsecure = true\nconnections = 3\n\
         [target.cdn]\nurl = '{}'\nh2 = true\n\
         [[journey]]\n\
         [[journey.step]]\nname = 'login'\ntarget = 'auth'\n\
         [[journey.step]]\nname = 'buy'\nmethod = 'POST'\npath = '/echo'\nbody = 'x'\n\
         [[journey.step]]\nname = 'picture'\ntarget = 'cdn'\nrepeat = 2\n",
        shop.url("/"),
        cdn.url("/"),
    );
    let outcome = run(&plan, &["--report", "full"]);
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    let rows: Vec<_> = document
        .list("/targets")
        .iter()
        .map(|row| (row["name"].as_str().unwrap(), row["sent"].as_u64(), row["ok"].as_u64()))
        .collect();
    assert_eq!(
        rows,
        [
            ("main", Some(200), Some(200)),
            ("auth", Some(200), Some(200)),
            ("cdn", Some(400), Some(400))
        ]
    );
    shop.assert_requests(200);
    cdn.assert_requests(400);
    for words in ["auth", "cdn"] {
        assert!(outcome.stdout.contains(words), "{}", outcome.stdout);
    }
}

/// One of two targets refuses every connection: the other has all of its requests in time.
#[test]
fn a_dead_target_takes_nothing_from_another() {
    let (alive, dead) = (Target::start(&[]), RefusingPort::new());
    let plan = format!(
        "url = '{}'\nrate = 200\nduration = '2s'\n\
         [target.dead]\nurl = 'http://{}/'\n[[request]]\n[[request]]\ntarget = 'dead'\n",
        alive.url("/"),
        dead.addr()
    );
    let outcome = run(&plan, &[]);
    let document = outcome.document();
    let ok = |at: usize| document.list("/targets")[at]["ok"].as_u64().unwrap();
    assert_eq!((ok(0), ok(1)), (200, 0), "{}", outcome.stdout);
    alive.assert_requests(200);
    assert_eq!(document.ledger("scheduled"), 400);
    assert_eq!(document.ledger("unsent"), 200);
}

#[test]
fn a_target_that_no_list_allows_keeps_all_others_from_load() {
    let alive = Target::start(&[]);
    let plan = format!(
        "url = '{}'\nduration = '1s'\nallow = ['127.0.0.1']\n\
         [target.other]\nurl = 'http://127.0.0.2:9/'\n[[request]]\n[[request]]\ntarget = 'other'\n",
        alive.url("/")
    );
    let outcome = run(&plan, &[]);
    assert_ne!(outcome.code(), 0);
    assert!(outcome.stderr.contains("127.0.0.2 is not allowed"), "{}", outcome.stderr);
    alive.assert_requests(0);
}
