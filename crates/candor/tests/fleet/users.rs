//! Rows of data, and users of journeys, on a fleet.

use std::os::unix::fs::MetadataExt;

use super::*;

/// Agents read no files: the rows come with the plan, and each is used once by all agents together.
#[test]
fn rows_of_data_reach_the_agents() {
    let nginx = Nginx::start(true).unwrap();
    let fleet = Fleet::start(2, "127.0.0.1");
    let file = fleet.directory.path().join("users.csv");
    let rows: String = (0..60).map(|row| format!("user-{row}\n")).collect();
    fs::write(&file, format!("name\n{rows}")).unwrap();
    let data = format!("users={}:once", file.display());
    let url = format!("http://{}/${{users.name}}", nginx.address());
    let flags = ["-R", "200", "-c", "4", "-d", "5s", "--expect-status", "404", "--data", &data];
    let outcome = fleet.measure(&[&flags[..], &[&url]].concat()).finish();
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    outcome.document().assert_all_ok();
    let log = fs::read_to_string(nginx.path("access.log")).unwrap();
    let asked: BTreeSet<&str> = log.lines().filter_map(|line| line.split('"').nth(1)).collect();
    assert_eq!((log.lines().count(), asked.len()), (60, 60), "{log}");
}

/// A file that is larger than a plan may be goes to each agent once, however many runs use it.
#[test]
fn a_large_data_file_is_kept_by_its_content() {
    let nginx = Nginx::start(true).unwrap();
    let fleet = Fleet::start(2, "127.0.0.1");
    let file = fleet.directory.path().join("users.csv");
    let rows: String = (0..2_000_000).map(|row| format!("user-{row:035}\n")).collect();
    let content = format!("name\n{rows}");
    assert!(content.len() > 64 << 20);
    fs::write(&file, &content).unwrap();
    let data = format!("users={}", file.display());
    let url = format!("http://{}/${{users.name}}", nginx.address());
    let flags = ["-R", "50", "-c", "4", "-d", "1s", "--expect-status", "404", "--data", &data];
    let kept = || {
        let of_agent = |name: &str| {
            let folder = fleet.folder().join("agents").join(name).join("data");
            let files: Vec<_> = fs::read_dir(folder).unwrap().map(Result::unwrap).collect();
            let [file] = &files[..] else { panic!("{files:?}") };
            let metadata = file.metadata().unwrap();
            assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
            (file.path(), metadata.ino())
        };
        ["a0", "a1"].map(of_agent)
    };
    let mut first = None;
    for _ in 0..2 {
        let outcome = fleet.measure(&[&flags[..], &[&url]].concat()).finish();
        assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
        outcome.document().assert_all_ok();
        let now = kept();
        assert_eq!(*first.get_or_insert_with(|| now.clone()), now, "it is not sent again");
    }
    for (path, _) in first.unwrap() {
        assert!(fs::read(path).unwrap() == content.as_bytes());
    }
    let log = fs::read_to_string(nginx.path("access.log")).unwrap();
    let asked: BTreeSet<&str> = log.lines().filter_map(|line| line.split('"').nth(1)).collect();
    // Both runs use the first rows.
    assert_eq!((log.lines().count(), asked.len()), (100, 50), "{log}");
}

/// An nginx that gives each user a token, and what its users do, with this load: the file of a plan.
fn of_users(directory: &Path, load: &str) -> (Nginx, PathBuf) {
    let directives = "location ~ ^/login/(.*)$ { return 200 '{\"token\": \"of-$1\"}'; } \
                      location /cart/ { return 200 ok; } location /home/ { return 200 ok; }";
    let listener = Listener { directives: directives.to_owned(), ..Listener::default() };
    let nginx = Nginx::start_with(true, &[listener]).unwrap();
    let rows: String = (0..1000).map(|row| format!("user-{row}\n")).collect();
    fs::write(directory.join("users.csv"), format!("name\n{rows}")).unwrap();
    let steps = r#"
        [data.users]
        file = "users.csv"
        order = "once"
        [[journey]]
        name = "buy"
        weight = 2
        [[journey.step]]
        name = "login"
        path = "/login/${users.name}/${seq}/${env:CANDOR_TEST_WORD}"
        capture = { token = "json:$.token" }
        [[journey.step]]
        name = "cart"
        path = "/cart/${token}/${random 1..1000000}"
        think = "uniform 50ms..400ms"
        repeat = "1..3"
        [[journey]]
        name = "look"
        [[journey.step]]
        name = "home"
        path = "/home/${users.name}""#;
    let url = format!("url = \"http://{}/\"\nseed = 7\n{load}", nginx.listeners()[0]);
    let plan = directory.join("plan.toml");
    fs::write(&plan, url + steps + "\n").unwrap();
    (nginx, plan)
}

/// Starts a run of a plan whose variable this process alone has.
fn measure_users(flags: &[&str], plan: &Path) -> Candor {
    Candor::start_as(Command::new(CANDOR), |directory, command| {
        command.arg("run").args(flags).arg(plan).args(["--json", "result.json"]);
        command.env("CANDOR_TEST_WORD", "hidden-word").current_dir(directory);
    })
}

/// The users of all agents are those of one machine: each makes the same requests, with the row, the token, the random
/// values and the repetitions of its number.
#[test]
fn users_are_those_of_one_machine() {
    let fleet = Fleet::start(2, "127.0.0.1");
    let operator = fleet.operator();
    let limits = "requests = 90\nconnections = 4\n";
    for load in ["rate = 100", "rate = 100\narrivals = \"poisson\"", "users = 9"] {
        let run = |flags: &[&str]| {
            let directory = tempfile::tempdir().unwrap();
            let (nginx, plan) = of_users(directory.path(), &format!("{load}\n{limits}"));
            let outcome = measure_users(flags, &plan).finish();
            assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
            let document = outcome.document();
            document.assert_all_ok();
            assert!(!outcome.file("result.json").contains("hidden-word"));
            let log = fs::read_to_string(nginx.path("access.log")).unwrap();
            let mut asked: Vec<String> =
                log.lines().filter_map(|line| line.split('"').nth(1)).map(str::to_owned).collect();
            asked.sort();
            assert_eq!(nginx.stop().unwrap(), document.ledger("sent"));
            let rows = |pointer: &str, fields: &[&str]| {
                let row = |row: &Value| fields.iter().map(|one| row[one].clone()).collect();
                document.list(pointer).iter().map(row).collect::<Vec<Vec<Value>>>()
            };
            let ledger = ["name", "started", "completed", "failed", "unfinished"];
            let users = rows("/users/journeys", &ledger);
            (asked, users, rows("/requests", &["name", "sent", "ok"]))
        };
        let one = run(&["--threads", "1"]);
        let two = run(&["--fleet", "2", "--operator", &operator]);
        assert_eq!(one, two, "{load}");
        let (asked, users, _) = one;
        let started: u64 = users.iter().map(|row| row[1].as_u64().unwrap()).sum();
        assert_eq!(started, 90);
        let distinct: BTreeSet<&String> = asked.iter().collect();
        assert!(distinct.len() == asked.len() && asked.len() > 150, "{asked:?}");
        assert!(asked.iter().any(|one| one.contains("/hidden-word ")), "{asked:?}");
    }
}

/// Users of a killed agent are unfinished or unaccounted for, and no other user is.
#[test]
fn the_users_of_a_killed_agent_are_accounted_for() {
    let directory = tempfile::tempdir().unwrap();
    let (nginx, plan) =
        of_users(directory.path(), "rate = 100\nconnections = 8\ninterval = \"500ms\"\n");
    let mut fleet = Fleet::start(2, "127.0.0.1");
    let operator = fleet.operator();
    let flags = ["--fleet", "2", "--operator", &operator, "--on-loss", "continue", "-d", "1m"];
    let run = measure_users(&flags, &plan);
    assert!(wait_until(PATIENCE, || lines(&nginx) > 500), "{}", fleet.log("a1"));
    fleet.agents.remove("a1").unwrap().child().kill().unwrap();
    let outcome = run.finish();
    assert_eq!(outcome.code(), DEGRADED, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    assert_eq!(names_of_lost(&document), ["a1"]);
    assert!(ids(&document).contains(&"agent-lost"), "{:?}", ids(&document));
    let unaccounted = document.count("/users/unaccounted");
    let sum = |field: &str| -> u64 {
        let rows = document.list("/users/journeys").iter();
        rows.map(|row| row[field].as_u64().unwrap()).sum()
    };
    // There are 1,000 rows, so 1,000 users, whose other half has them all.
    assert_eq!(sum("started") + unaccounted, 1000);
    for row in document.list("/users/journeys") {
        let n = |field: &str| row[field].as_u64().unwrap();
        assert_eq!(n("started"), n("completed") + n("failed") + n("unfinished"), "{row}");
    }
    let known_ns = document.count("/machines/1/agent/lost/known_to_ns");
    let later = 500 - known_ns / 20_000_000;
    assert!((later..later + 10).contains(&unaccounted), "{unaccounted} of {later} at 50/s");
    assert_eq!(sum("failed"), 0);
    assert!((1..40).contains(&sum("unfinished")), "those of its last half second: {outcome:?}");
    // How many requests they would have made is not known.
    assert!(document.at("/ledger").get("unaccounted").is_none());
    let said = format!("agent a1: {unaccounted} users unaccounted for");
    assert!(outcome.stderr.contains(&said), "{}", outcome.stderr);
    let page = outcome.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains(&format!("{unaccounted} unaccounted for")), "{page}");
    assert!(page.contains("scheduled users are unaccounted for"), "{page}");
    assert!(nginx.stop().unwrap() >= document.ledger("sent"));
}
