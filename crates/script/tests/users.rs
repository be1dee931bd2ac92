//! `wrk.user` in whole runs on simulated time: numbers, rows, states and how long they live, errors.
#![allow(clippy::unwrap_used, reason = "a test may end with it")]

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use candor_engine::{Control, drive_scripted, rows};
use candor_plan::{DataFormat, Options, Plan, ReadFile};
use candor_record::RunRecord;
use candor_script::Program;
use candor_testkit::sim::{Link, Reaction, SimReactor, SimServer};

const MS: u64 = 1_000_000;

struct Source(String);

impl ReadFile for Source {
    fn read(&self, _: &Path) -> std::io::Result<Vec<u8>> {
        Ok(self.0.clone().into_bytes())
    }

    fn columns(&self, _: &Path, _: DataFormat) -> Result<Vec<String>, String> {
        Ok(vec!["name".to_owned(), "password".to_owned()])
    }
}

/// A plan with this script and these options, and a data set `users` of 7 rows, shuffled.
fn plan(script: &str, options: &str) -> (Plan, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("users.csv");
    let lines: String = (0..7).map(|row| format!("name{row},secret{row}\n")).collect();
    std::fs::write(&file, format!("name,password\n{lines}")).unwrap();
    let text = format!(
        "url = 'http://h/'\nscript = 'load.lua'\nthreads = 1\n{options}\n\
         [data.users]\nfile = '{}'\norder = 'shuffle'\n",
        file.display()
    );
    let options = Options::from_toml("plan.toml", &text).unwrap();
    (options.build(&Source(script.to_owned())).unwrap().0, directory)
}

/// Notes the paths of requests; each request for which `is_bad` holds, by its number, has this reaction.
struct Server {
    paths: Rc<RefCell<Vec<String>>>,
    is_bad: fn(usize) -> bool,
    bad: fn(u64) -> Reaction,
}

impl SimServer for Server {
    fn request(&mut self, _: u64, _: u64, _: u64) -> Reaction {
        unreachable!("requests are asked for with their text");
    }

    fn text(&mut self, at_ns: u64, _: u64, _: u64, request: &[u8]) -> Reaction {
        let text = String::from_utf8(request.to_vec()).unwrap();
        let path = text.split(' ').nth(1).unwrap().to_owned();
        let number = self.paths.borrow().len();
        self.paths.borrow_mut().push(path.clone());
        if (self.is_bad)(number) {
            return (self.bad)(at_ns);
        }
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", path.len());
        Reaction::Answer { at_ns: at_ns + 20 * MS, bytes: (head + &path).into_bytes() }
    }
}

/// Which requests have which reaction.
type Failure = (fn(usize) -> bool, fn(u64) -> Reaction);
type Outcome = (RunRecord, Vec<String>, Result<(), String>);

fn run_at(plan: &Plan, is_bad: fn(usize) -> bool, bad: fn(u64) -> Reaction) -> Outcome {
    let program = Program::load(plan, plan.work.script().unwrap(), 1).unwrap();
    let scripts = program.scripts(plan).unwrap();
    let paths = Rc::default();
    let server = Server { paths: Rc::clone(&paths), is_bad, bad };
    let reactor = SimReactor::new(server, Link::default());
    let record = drive_scripted(plan, reactor, &Control::default(), &scripts, &mut ());
    let ended = program.ended().map_err(|error| error.to_string());
    let paths = paths.borrow().clone();
    (record, paths, ended)
}

fn run(script: &str, options: &str) -> (Vec<String>, Result<(), String>) {
    let (plan, _directory) = plan(script, options);
    let (_, paths, ended) = run_at(&plan, |_| false, |_| Reaction::Never);
    (paths, ended)
}

const OPEN: &str = "connections = 4\nrate = '200'\nduration = '1s'";

#[test]
fn users_have_the_rows_of_their_numbers() {
    let script = "function request() local user = wrk.user\n\
        return wrk.format(nil, ('/%d/%d/%s/%s'):format(user.index, user.row.users, user.users.name,\n\
        user.users.password)) end";
    for (options, users, sent) in
        [(OPEN, 200, 200), ("connections = 5\nrequests = 20\nduration = '9s'", 5, 20)]
    {
        let (plan, _directory) = plan(script, options);
        let (_, paths, ended) = run_at(&plan, |_| false, |_| Reaction::Never);
        assert_eq!((paths.len(), ended), (sent, Ok(())));
        // The rows that templates of the same plan would have.
        let rows = rows(&plan, users, &Control::default()).unwrap();
        let mut seen = std::collections::BTreeSet::new();
        for path in paths {
            let parts: Vec<&str> = path.split('/').collect();
            let index: usize = parts[1].parse().unwrap();
            seen.insert(index);
            let values: Vec<&[u8]> = rows[index][0].iter().map(Vec::as_slice).collect();
            assert_eq!(values, [parts[3].as_bytes(), parts[4].as_bytes()], "{path}");
            assert_eq!(parts[3], format!("name{}", parts[2]), "{path}");
        }
        assert_eq!(seen, (0..users as usize).collect());
    }
}

/// Counts the states that are left before each request, and puts the number into its path.
const COUNTING: &str = "local all = setmetatable({}, {__mode = 'k'})\n\
    local function count() collectgarbage() collectgarbage()\n\
      local n = 0 for _ in pairs(all) do n = n + 1 end return n end\n\
    function request()\n\
      local before, state = count(), wrk.user.state\n\
      assert(next(state) == nil, 'a new user has the state of another')\n\
      state.index, all[state] = wrk.user.index, true\n\
      assert(wrk.user.state == state)\n\
      return wrk.format(nil, '/' .. before .. '/' .. wrk.user.index)\nend\n";

#[test]
fn a_state_of_an_open_load_lives_until_the_response_or_the_failure() {
    let reads = "function response(status, _, body)\n\
        assert(wrk.user.state.index == wrk.user.index)\n\
        assert(body:match('%d+$') == tostring(wrk.user.index)) end";
    let failures: [Failure; 4] = [
        (|_| false, |_| Reaction::Never),
        (|number| number % 3 == 1, |at_ns| Reaction::Reset { at_ns }),
        (|number| number % 3 == 1, |_| Reaction::Never),
        (|number| number % 3 == 1, |at_ns| Reaction::AnswerAndClose { at_ns, bytes: Vec::new() }),
    ];
    for sandbox in ["", "\nsandbox = true"] {
        for reads in ["", reads] {
            for (is_bad, bad) in failures {
                let (plan, _directory) = plan(
                    &format!("{COUNTING}{reads}"),
                    &format!("{OPEN}\ntimeout = '30ms'{sandbox}"),
                );
                let (record, paths, ended) = run_at(&plan, is_bad, bad);
                assert_eq!(ended, Ok(()));
                let ledger = &record.total.ledger;
                assert_eq!(ledger.ok < 150, is_bad(1), "{ledger:?}");
                let before = paths.iter().map(|path| path.split('/').nth(1).unwrap());
                let most = before.map(|count| count.parse::<u32>().unwrap()).max();
                // Four connections, one of which is free.
                assert!(most <= Some(3), "{most:?} of {ledger:?}");
                assert!(most >= Some(1), "{most:?}");
            }
        }
    }
}

#[test]
fn a_state_of_a_closed_load_is_its_connections() {
    let script = "local all = {}\nfunction request()\n\
        local state = wrk.user.state\n state.sent = (state.sent or 0) + 1\n all[state] = true\n\
        assert(wrk.user.index + 1 == wrk.connection())\n\
        local n = 0 for _ in pairs(all) do n = n + 1 end assert(n <= 3)\n\
        return wrk.format(nil, '/' .. wrk.user.index .. '/' .. state.sent) end\n\
        function response() wrk.user.state.answered = (wrk.user.state.answered or 0) + 1\n\
        assert(wrk.user.state.answered <= wrk.user.state.sent) end\n\
        function delay() return wrk.user.index end";
    let (plan, _directory) = plan(script, "connections = 3\nduration = '1s'");
    let (_, paths, ended) =
        run_at(&plan, |number| number % 7 == 6, |at_ns| Reaction::Reset { at_ns });
    assert_eq!(ended, Ok(()));
    for user in 0..3 {
        let prefix = format!("/{user}/");
        let own = paths.iter().filter_map(|path| path.strip_prefix(&prefix));
        let own: Vec<usize> = own.map(|count| count.parse().unwrap()).collect();
        // Lost connections are replaced, and the user goes on.
        assert!(own.len() > 20 && own.iter().copied().eq(1..=own.len()), "{own:?}");
    }
}

#[test]
fn names_that_do_not_exist_are_errors_with_the_line_of_the_script() {
    let table = [
        (
            "wrk.user.usres.name",
            "load.lua:2: wrk.user: the plan has no data set \"usres\"; did you mean \"users\"?",
        ),
        ("wrk.user.indx", "load.lua:2: wrk.user: the plan has no data set \"indx\"; did you mean"),
        (
            "wrk.user.zzz",
            "load.lua:2: wrk.user: the plan has no data set \"zzz\"; it has users, index, row, state",
        ),
        (
            "wrk.user.users.nmae",
            "load.lua:2: wrk.user.users: data set \"users\" has no column \"nmae\"; did you mean \"name\"?",
        ),
        ("wrk.user.users.zzz", "has no column \"zzz\"; it has name, password"),
        ("wrk.user.users[1]", "load.lua:2: wrk.user.users: a name is a string, not a "),
        ("wrk.user.users[nil]", "load.lua:2: wrk.user.users: a name is a string, not a nil"),
        ("wrk.user[{}]", "load.lua:2: wrk.user: a name is a string, not a table"),
        (
            "wrk.user.row.user",
            "load.lua:2: wrk.user.row: the plan has no data set \"user\"; did you",
        ),
        ("rawset(wrk, 'x', wrk.user.row[nil])", "load.lua:2: wrk.user.row: a name is a string"),
    ];
    for sandbox in ["", "\nsandbox = true"] {
        for (code, words) in table {
            let script = format!("function request()\n local x = {code}\n return wrk.format() end");
            let (paths, ended) = run(&script, &format!("{OPEN}{sandbox}"));
            let error = ended.expect_err(code);
            assert!(error.contains(words), "{code}: {error}");
            assert!(paths.is_empty());
        }
        for code in ["wrk.user.index = 1", "wrk.user.users.name = 'x'", "wrk.user.state = {}"] {
            let script = format!("function request()\n {code}\n return wrk.format() end");
            let error = run(&script, &format!("{OPEN}{sandbox}")).1.expect_err(code);
            assert!(error.contains("load.lua:2: wrk.user"), "{code}: {error}");
            assert!(error.contains("cannot be changed; keep values in wrk.user.state"), "{error}");
        }
    }
}

#[test]
fn there_is_no_user_outside_of_calls_for_one() {
    for name in ["index", "state", "users.name", "row.users"] {
        let error = format!("wrk.user.{name}: there is no user here");
        let error = error.replace(".name:", ":").replace("row.users:", "row:");
        for script in [
            format!("local x = wrk.user.{name}"),
            format!("function init() local x = wrk.user.{name} end"),
            format!("function setup() local x = wrk.user.{name} end"),
        ] {
            let (plan, _directory) = plan(&script, OPEN);
            let loaded = Program::load(&plan, plan.work.script().unwrap(), 1);
            let found = loaded.unwrap_err().to_string();
            assert!(found.contains("load.lua:1: ") && found.contains(&error), "{found}");
        }
    }
    // A view may be taken there; its values are those of the user of the call.
    let script = "local users = wrk.user.users\nfunction request()\n\
                  return wrk.format(nil, '/' .. users.name) end";
    let (paths, ended) = run(script, OPEN);
    assert_eq!((paths.len(), ended), (200, Ok(())));
    assert_ne!(paths[0], paths[1]);
}

#[test]
fn a_script_cannot_reach_behind_its_users_and_may_have_the_name_for_itself() {
    let script = "assert(getmetatable(wrk.user) == false and getmetatable(wrk.user.users) == false)\n\
                  assert(not pcall(setmetatable, wrk.user, {}) and next(wrk.user) == nil)\n\
                  wrk.user = 'ada'\nfunction request() return wrk.format(nil, '/' .. wrk.user) end";
    let (paths, ended) = run(script, &format!("{OPEN}\nsandbox = true"));
    assert_eq!(ended, Ok(()));
    assert!(paths.iter().all(|path| path == "/ada"));
}

#[test]
fn rows_that_cannot_be_read_any_more_end_the_run() {
    let script = "function request() return wrk.format(nil, '/' .. #wrk.user.users.name) end";
    let (plan, directory) = plan(script, OPEN);
    // A file of this length is not held in memory.
    let file = directory.path().join("users.csv");
    let lines = format!("{},x\n", "n".repeat(1000)).repeat(10_000);
    std::fs::write(&file, format!("name,password\n{lines}")).unwrap();
    let (_, paths, ended) = run_at(&plan, |_| false, |_| Reaction::Never);
    assert_eq!((paths.len(), ended), (200, Ok(())));
    let program = Program::load(&plan, plan.work.script().unwrap(), 1).unwrap();
    let scripts = program.scripts(&plan).unwrap();
    let server = move |at_ns: u64, _, nth: u64| {
        if nth == 5 {
            std::fs::write(&file, "name,password\n").unwrap();
        }
        Reaction::Answer { at_ns, bytes: candor_testkit::sim::ok_bytes() }
    };
    let reactor = SimReactor::new(server, Link::default());
    let record = drive_scripted(&plan, reactor, &Control::default(), &scripts, &mut ());
    assert!(record.total.ledger.sent < 100);
    let error = program.ended().unwrap_err().to_string();
    assert!(error.contains("load.lua:1: wrk.user.users: ") && error.contains("changed"), "{error}");
}
