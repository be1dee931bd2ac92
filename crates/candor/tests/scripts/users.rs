//! Scripts with the rows and states of users.

use super::*;

/// The Lua example of `wrk.user` in the docs.
fn example_of_users() -> &'static str {
    let page = include_str!("../../../../docs/scripts.md");
    let section = page.split_once("\n## Users: `wrk.user`\n").unwrap().1;
    section.split_once("```lua\n").unwrap().1.split_once("```").unwrap().0
}

/// Runs a script against the server with a data set `users` of this number of rows: name0, secret0 and so on.
fn run_with_users(server: &Server, script: &str, rows: usize, flags: &[&str]) -> Outcome {
    let url = format!("http://{}/base", server.address);
    Candor::start_as(std::process::Command::new(crate::common::CANDOR), |directory, command| {
        let lines: String = (0..rows).map(|row| format!("name{row},secret{row}\n")).collect();
        std::fs::write(directory.join("users.csv"), format!("name,password\n{lines}")).unwrap();
        std::fs::write(directory.join("load.lua"), script).unwrap();
        command.args(["--script", "load.lua", "--json", "result.json", "--drain", "1s", "-q"]);
        command.args(flags).arg(url).current_dir(directory);
    })
    .finish()
}

/// How often each path was requested.
fn counts(seen: &[Seen]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for one in seen {
        *counts.entry(one.line.split(' ').nth(1).unwrap().to_owned()).or_insert(0) += 1;
    }
    counts
}

#[test]
fn the_example_of_users_logs_each_of_them_in_once() {
    for threads in ["-t1", "-t4"] {
        let server = Server::start();
        let flags = [threads, "-c6", "-n120", "--data", "users=users.csv"];
        let outcome = run_with_users(&server, example_of_users(), 6, &flags);
        assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
        let seen = server.seen();
        assert_eq!((seen.len(), outcome.document().ledger("ok")), (120, 120));
        let (logins, carts): (Vec<Seen>, Vec<Seen>) =
            seen.into_iter().partition(|one| one.line == "POST /login HTTP/1.1");
        let mut users: Vec<(usize, String)> =
            logins.into_iter().map(|one| (one.connection, one.body)).collect();
        for one in carts {
            // The token is that of the connection, which is the user's, and so is the number.
            assert_eq!(one.header("Authorization"), Some(&*format!("t{}", one.connection)));
            let number = one.line.strip_prefix("GET /cart/").unwrap().split(' ').next().unwrap();
            let own = (one.connection, format!("name{number}:secret{number}"));
            assert!(users.contains(&own), "{own:?} in {users:?}");
        }
        users.sort_by(|a, b| a.1.cmp(&b.1));
        let names: Vec<String> = users.into_iter().map(|(_, name)| name).collect();
        let expected: Vec<String> = (0..6).map(|row| format!("name{row}:secret{row}")).collect();
        assert_eq!(names, expected, "{threads}");
    }
}

#[test]
fn each_row_arrives_as_often_as_it_should_for_any_number_of_threads() {
    let script = "function request() local user = wrk.user\n\
        return wrk.format(nil, '/' .. user.index .. '/' .. user.users.name) end";
    let sent = |flags: &[&str]| {
        let server = Server::start();
        let outcome = run_with_users(&server, script, 50, flags);
        assert_eq!(outcome.code(), 0, "{flags:?}: {}", outcome.stderr);
        counts(&server.seen())
    };
    for order in ["", ":shuffle", ":random", ":once"] {
        let data = format!("users=users.csv{order}");
        let all =
            ["-t1", "-t4"].map(|threads| sent(&["-c8", threads, "-R2k", "-n200", "--data", &data]));
        assert_eq!(all[0], all[1], "{order}");
        let indices = if order == ":once" { 50 } else { 200 };
        assert!(all[0].len() == indices && all[0].values().all(|count| *count == 1), "{order}");
        let mut rows = BTreeMap::new();
        for path in all[0].keys() {
            *rows.entry(path.rsplit('/').next().unwrap().to_owned()).or_insert(0) += 1;
        }
        if order != ":random" {
            let times = indices / 50;
            assert!(
                rows.len() == 50 && rows.values().all(|count| *count == times),
                "{order}: {rows:?}"
            );
        }
    }
    // The users of a closed load are its connections, however many requests they make.
    for threads in ["-t1", "-t4"] {
        let users = sent(&["-c8", threads, "-n400", "--data", "users=users.csv:shuffle"]);
        let numbers: BTreeSet<&str> =
            users.keys().map(|path| path.split('/').nth(1).unwrap()).collect();
        assert!(
            numbers.iter().copied().eq(["0", "1", "2", "3", "4", "5", "6", "7"]),
            "{numbers:?}"
        );
        assert_eq!(users.values().sum::<usize>(), 400);
    }
    // Parts of a run have the users of the whole.
    let parts = ["1/2", "2/2"].map(|part| {
        sent(&["-c8", "-t2", "-R2k", "-n200", "--part", part, "--data", "users=users.csv"])
    });
    let [mut both, second] = parts;
    assert_eq!((both.len(), second.len()), (100, 100));
    both.extend(second);
    assert_eq!(both, sent(&["-c8", "-t1", "-R2k", "-n200", "--data", "users=users.csv"]));
    let closed = ["1/2", "2/2"]
        .map(|part| sent(&["-c4", "-t2", "-d300ms", "--part", part, "--data", "users=users.csv"]));
    let numbers = closed.map(|one| one.into_keys().collect::<Vec<String>>());
    assert_eq!(numbers, [["/0/name0", "/2/name2"], ["/1/name1", "/3/name3"]]);
}

#[test]
fn states_of_users_never_cross_in_any_interleaving() {
    // Each response repeats its request, which only its user knows.
    let open = "local n = 0\nfunction request()\n n = n + 1\n local state = wrk.user.state\n\
        assert(next(state) == nil, 'a new user has a state')\n\
        state.body, state.index = 'body ' .. n, wrk.user.index\n\
        return wrk.format('POST', '/echo', nil, state.body)\nend\n\
        function response(status, headers, body)\n local state = wrk.user.state\n\
        assert(state.body == body and state.index == wrk.user.index, body)\n\
        assert(not state.seen) state.seen = true\nend";
    let closed = "function request()\n local state = wrk.user.state\n\
        state.sent = (state.sent or 0) + 1\n\
        return wrk.format('POST', '/echo', nil, 'body ' .. wrk.user.index)\nend\n\
        function response(status, headers, body)\n local state = wrk.user.state\n\
        assert(body == 'body ' .. wrk.user.index, body)\n\
        state.seen = (state.seen or 0) + 1 assert(state.seen <= state.sent)\nend";
    let pair = "function request()\n local one = wrk.format('POST', '/echo', nil, tostring(wrk.user.index))\n\
        return one .. one\nend\nfunction response(status, headers, body)\n\
        assert(body == tostring(wrk.user.index), body) end";
    for (script, load) in [
        (open, &["-n300", "-R3k"][..]),
        (closed, &["-n300"]),
        (pair, &["-n300", "-R3k"]),
        (pair, &["-n300"]),
    ] {
        for spoken in [&["--h2c", "-m5"][..], &["--h1"], &["--h1", "-p3"]] {
            let flags = [spoken, load, &["-c4", "-t2"]].concat();
            let outcome = run_at_target(false, script, &flags);
            assert_eq!(outcome.document().ledger("ok"), 300, "{flags:?}");
        }
    }
}

#[test]
fn a_plan_has_a_script_and_data_and_errors_name_what_there_is() {
    let server = Server::start();
    let url = format!("http://{}/base", server.address);
    let run = |script: &str| {
        Candor::start_as(std::process::Command::new(crate::common::CANDOR), |directory, command| {
            std::fs::write(directory.join("people.jsonl"), "{\"id\": 7}\n{\"id\": 8}\n").unwrap();
            std::fs::write(directory.join("load.lua"), script).unwrap();
            let plan = format!(
                "url = '{url}'\nscript = 'load.lua'\nconnections = 1\nthreads = 1\nrequests = 4\n\
                 rate = '1k'\n[data.people]\nfile = 'people.jsonl'\n"
            );
            std::fs::write(directory.join("plan.toml"), plan).unwrap();
            command.args(["plan.toml", "-q"]).current_dir(directory);
        })
        .finish()
    };
    let outcome = run("function request() return wrk.format(nil, '/' .. wrk.user.people.id) end");
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    let lines: Vec<String> = server.seen().into_iter().map(|one| one.line).collect();
    let twice = ["GET /7 HTTP/1.1", "GET /8 HTTP/1.1"].repeat(2);
    assert_eq!(lines, twice);
    let outcome = run("function request() return wrk.user.peple.id end");
    outcome.assert_refused(
        1,
        &["request()", "load.lua:1: wrk.user: the plan has no data set \"peple\"", "\"people\"?"],
    );
}
