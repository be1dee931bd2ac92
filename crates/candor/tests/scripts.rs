//! Scripts, end to end: the server receives a script's requests, and the user its errors.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

mod users;

use crate::common::{Candor, Outcome};
use candor_testkit::peer::{Peer, Script, Step};
use rustix::process::Signal;

/// One request as the server read it.
#[derive(Debug, Clone)]
struct Seen {
    /// From 1.
    connection: usize,
    line: String,
    headers: Vec<String>,
    body: String,
}

impl Seen {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// A server that records its requests, and responds with a token of the connection: `t1` on the first.
struct Server {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    fn start() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let log = Arc::clone(&seen);
        std::thread::spawn(move || {
            for (connection, stream) in (1..).zip(listener.incoming().flatten()) {
                let log = Arc::clone(&log);
                std::thread::spawn(move || {
                    let mut writer = stream.try_clone().unwrap();
                    let mut reader = BufReader::new(stream);
                    let token = format!("X-Token: t{connection}\r\nContent-Length: 5");
                    let answer = format!("HTTP/1.1 200 OK\r\n{token}\r\n\r\nhello");
                    while let Some(one) = read_request(&mut reader) {
                        log.lock().unwrap().push(Seen { connection, ..one });
                        if writer.write_all(answer.as_bytes()).is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Server { address, seen }
    }

    fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

fn read_request(reader: &mut BufReader<std::net::TcpStream>) -> Option<Seen> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let length = lines.iter().find_map(|line| line.strip_prefix("Content-Length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    reader.read_exact(&mut body).ok()?;
    if lines.contains(&"Transfer-Encoding: chunked".to_owned()) {
        // The raw body, up to the last chunk.
        while !body.ends_with(b"0\r\n\r\n") {
            reader.read_until(b'\n', &mut body).ok().filter(|read| *read > 0)?;
        }
    }
    let body = String::from_utf8(body).unwrap();
    Some(Seen { connection: 0, line: lines.remove(0), headers: lines, body })
}

/// Runs a script against the server with these flags.
fn run_at(server: &Server, script: &str, flags: &[&str]) -> Outcome {
    let url = format!("http://{}/base", server.address);
    Candor::start_as(std::process::Command::new(crate::common::CANDOR), |directory, command| {
        std::fs::write(directory.join("load.lua"), script).unwrap();
        command.args(["--script", "load.lua", "--json", "result.json", "--drain", "1s"]);
        command.args(flags).arg(url).current_dir(directory);
    })
    .finish()
}

fn run(script: &str, flags: &[&str]) -> (Vec<Seen>, Outcome) {
    let server = Server::start();
    let outcome = run_at(&server, script, flags);
    (server.seen(), outcome)
}

const TEN: [&str; 4] = ["-c1", "-t1", "-n10", "-q"];

#[test]
fn a_script_that_only_sets_wrk_is_one_request() {
    let script = "wrk.method = 'POST'\nwrk.body = 'a=b'\nwrk.headers['X-Kind'] = 'form'\n\
                  function init(args) wrk.path = '/' .. args[1] .. '?' .. args[0]:sub(1, 4) end";
    let (seen, outcome) = run(script, &[&TEN[..], &["--script-arg", "x"]].concat());
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    assert_eq!(seen.len(), 10);
    assert_eq!((seen[9].line.as_str(), seen[9].body.as_str()), ("POST /x?http HTTP/1.1", "a=b"));
    assert_eq!(seen[0].header("X-Kind"), Some("form"));
    assert!(seen[0].header("Host").unwrap().starts_with("127.0.0.1:"));
    assert_eq!(outcome.document().ledger("ok"), 10);
}

#[test]
fn a_counter_stands_in_path_and_header_in_closed_and_open_load() {
    let script = "local n = 0\nfunction request()\n n = n + 1\n wrk.headers['X-N'] = n\n\
                  return wrk.format(nil, '/n' .. n)\nend";
    for load in [&["-n10"][..], &["-n10", "-R200"]] {
        let (seen, outcome) = run(script, &[&["-c1", "-t1", "-q"], load].concat());
        assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
        let lines: Vec<String> = seen.iter().map(|one| one.line.clone()).collect();
        let wanted: Vec<String> = (1..=10).map(|n| format!("GET /n{n} HTTP/1.1")).collect();
        assert_eq!(lines, wanted);
        assert_eq!(seen[6].header("X-N"), Some("7"));
    }
}

#[test]
fn a_token_of_an_answer_is_used_afterwards() {
    let script = "local token\nfunction request()\n wrk.headers['Authorization'] = token\n\
                  return wrk.format()\nend\nfunction response(status, headers, body)\n\
                  assert(status == 200 and body == 'hello')\n token = headers['X-Token']\nend";
    let (seen, outcome) = run(script, &TEN);
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    assert_eq!(seen[0].header("Authorization"), None);
    assert!(seen[1..].iter().all(|one| one.header("Authorization") == Some("t1")));
}

#[test]
fn a_script_keeps_state_for_each_connection_pipelined_too() {
    let script = "local tokens = {}\nassert(wrk.connection() == nil)\n\
                  function response(_, headers) tokens[wrk.connection()] = headers['X-Token'] end\n\
                  function request()\n wrk.headers['X-Token'] = tokens[wrk.connection()]\n\
                  return wrk.format()\nend";
    // At a rate, the response before a request is another connection's.
    for (load, pipeline) in [("--pipeline=1", 1), ("--pipeline=4", 4), ("--rate=1000", 1)] {
        let (seen, outcome) = run(script, &["-c5", "-t2", "-n200", "-q", load]);
        assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
        assert_eq!((seen.len(), outcome.document().ledger("ok")), (200, 200));
        let mut connections = std::collections::HashSet::new();
        let mut without = 0;
        for one in &seen {
            connections.insert(one.connection);
            match one.header("X-Token") {
                Some(token) => assert_eq!(token, format!("t{}", one.connection), "{load}"),
                None => without += 1,
            }
        }
        // The first batch of each connection knows no token yet.
        assert_eq!(without, connections.len() * pipeline, "{load}");
    }
}

#[test]
fn several_requests_in_one_string_are_pipelined() {
    let script = "function request()\n return wrk.format(nil, '/1') .. \
                  wrk.format('POST', '/2', nil, 'body') .. wrk.format(nil, '/3')\nend";
    for load in [&["-n9"][..], &["-n9", "-R300"]] {
        let (seen, outcome) = run(script, &[&["-c1", "-t1", "-q"], load].concat());
        assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
        let paths: Vec<&str> = seen.iter().map(|one| one.line.as_str()).collect();
        let batch = ["GET /1 HTTP/1.1", "POST /2 HTTP/1.1", "GET /3 HTTP/1.1"];
        assert_eq!(paths, batch.repeat(3));
        assert_eq!(outcome.document().ledger("ok"), 9);
    }
}

/// A script that makes a chunked request and a plain one, in one text.
const CHUNKED: &str = "local head = 'POST /echo HTTP/1.1\\r\\nHost: h\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n'\n\
    local text = head .. '3;x=y\\r\\nabc\\r\\n02\\r\\nde\\r\\n0\\r\\n\\r\\n'\n\
    function request() return text .. wrk.format('POST', '/echo', nil, 'seven b') end";

#[test]
fn chunks_are_sent_as_the_script_wrote_them() {
    for load in [&["-n10"][..], &["-n10", "-R300"]] {
        let (seen, outcome) = run(CHUNKED, &[&["-c1", "-t1", "-q"], load].concat());
        assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
        assert_eq!((seen.len(), outcome.document().ledger("ok")), (10, 10));
        for pair in seen.chunks(2) {
            assert_eq!(pair[0].body, "3;x=y\r\nabc\r\n02\r\nde\r\n0\r\n\r\n");
            assert_eq!(pair[0].header("Content-Length"), None);
            assert_eq!(pair[1].body, "seven b");
        }
    }
    // Even if a script replaces wrk.format.
    let script = "local text = 'PUT /p HTTP/1.1\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n1\\r\\nx\\r\\n0\\r\\n\\r\\n'\n\
                  function wrk.format() return text end";
    let (seen, outcome) = run(script, &TEN);
    assert_eq!((outcome.code(), seen.len()), (0, 10), "{}", outcome.stderr);
    assert!(seen.iter().all(|one| one.body == "1\r\nx\r\n0\r\n\r\n"));
    let script = "wrk.headers['Transfer-Encoding'] = 'chunked' wrk.body = 'x'";
    let (_, outcome) = run(script, &TEN);
    outcome.assert_refused(1, &["request of wrk", "both Content-Length and Transfer-Encoding"]);
}

#[test]
fn threads_are_set_up_stopped_and_asked_in_the_end() {
    let script = "local threads = {}\nfunction setup(thread)\n\
                  thread:set('id', #threads + 1)\n thread:set('config', { deep = { 'x', true } })\n\
                  thread.addr = wrk.lookup(wrk.host, wrk.port)[1]\n\
                  assert(wrk.connect(thread.addr))\n table.insert(threads, thread)\nend\n\
                  sent = 0\nfunction init() assert(config.deep[1] == 'x' and config.deep[2]) end\n\
                  function request()\n sent = sent + 1\n if sent == 5 then wrk.thread:stop() end\n\
                  return wrk.format(nil, '/t' .. id)\nend\n\
                  function done(summary, latency, requests)\n\
                  for _, thread in ipairs(threads) do\n\
                  print(('thread %d sent %d'):format(thread:get('id'), thread:get('sent')))\n end\n\
                  print(summary.requests, summary.errors.status, summary.duration > 0, summary.bytes > 0)\n\
                  local value, count = latency(1)\n\
                  print(value == latency[1], count >= 1, latency.min <= value, #latency >= 1)\n\
                  print(latency:percentile(100) == latency.max, latency.mean > 0, requests.stdev)\nend";
    let (seen, outcome) = run(script, &["-c2", "-t2", "-d20s", "-q"]);
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    assert!(outcome.wall < Duration::from_secs(10), "{:?}", outcome.wall);
    assert_eq!(seen.iter().filter(|one| one.line.starts_with("GET /t1 ")).count(), 5);
    assert_eq!(seen.iter().filter(|one| one.line.starts_with("GET /t2 ")).count(), 5);
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert_eq!(lines[..2], ["thread 1 sent 5", "thread 2 sent 5"]);
    assert!(lines[2].ends_with("0\ttrue\ttrue"), "{lines:?}");
    assert_eq!(lines[3], "true\ttrue\ttrue\ttrue");
    assert!(lines[4].starts_with("true\ttrue\t"), "{lines:?}");
}

#[test]
fn delay_is_think_time() {
    let (seen, outcome) = run("function delay() return 50 end", &["-c1", "-t1", "-n5", "-q"]);
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    assert_eq!(seen.len(), 5);
    assert!(outcome.wall >= Duration::from_millis(250), "{:?}", outcome.wall);
}

#[test]
fn bad_scripts_are_refused_with_their_line() {
    let table: [(&str, &[&str]); 9] = [
        ("x = = 1", &["load.lua:1:", "unexpected symbol"]),
        ("\nerror('no way')", &["load.lua:2: no way"]),
        ("function init() local x = nil + 1 end", &["init()", "load.lua:1:", "arithmetic"]),
        ("function setup() error('s') end", &["setup()", "load.lua:1: s"]),
        ("function init() while true do end end", &["init()", "load.lua:1:", "ran for longer"]),
        ("while true do end", &["load.lua:1:", "ran for longer"]),
        ("wrk.method = 'GET /'", &["request of wrk", "does not begin"]),
        (
            "function init() while true do pcall(function() while true do end end) end end",
            &["init()", "ran for longer"],
        ),
        ("\x1bLJ\x02", &["script:"]),
    ];
    for (script, words) in table {
        let flags = ["-c1", "-t1", "-d5s", "-q", "--script-timeout", "300ms"];
        let (seen, outcome) = run(script, &flags);
        outcome.assert_refused(1, words);
        assert!(seen.is_empty(), "{script}");
    }
    crate::common::candor(&["--script", "none.lua", "http://127.0.0.1:1/"])
        .assert_refused(2, &["none.lua"]);
}

#[test]
fn a_failure_stops_the_run_and_keeps_what_was_measured() {
    let table: [(&str, &[&str]); 8] = [
        ("return nil", &["request()", "it returned nil"]),
        ("return 7", &["request()", "it returned number"]),
        ("return 'garbage'", &["request()", "does not begin with", "garbage"]),
        ("return ('x'):rep(100 * 1024 * 1024)", &["request()", "104857600 bytes"]),
        ("error('oops')", &["request()", "load.lua:4: oops"]),
        ("error({})", &["request()", "error with a table"]),
        (
            "while true do end",
            &["request()", "load.lua:4:", "ran for longer than 300 ms; --script-timeout"],
        ),
        ("return ''", &["request()", "empty"]),
    ];
    for (bad, words) in table {
        let script = format!(
            "local n = 0\nfunction request()\n n = n + 1 if n <= 5 then return wrk.format() end\n{bad}\nend"
        );
        let flags = ["-c1", "-t1", "-d5s", "-q", "--script-timeout", "300ms"];
        let (seen, outcome) = run(&script, &flags);
        outcome.assert_refused(1, words);
        assert_eq!(seen.len(), 5, "{bad}");
        let document = outcome.document();
        assert_eq!(document.ledger("ok"), 5, "{bad}");
        assert!(outcome.file("result.json").contains("script-failed"), "{bad}");
    }
    for bad in ["error('r')", "while true do end"] {
        let script = format!("function response()\n{bad} end");
        let flags = ["-c2", "-t2", "-d5s", "-q", "--script-timeout", "300ms"];
        let (_, outcome) = run(&script, &flags);
        outcome.assert_refused(1, &["response()", "load.lua:2:"]);
        assert!(outcome.document().ledger("sent") >= 1);
    }
    let (_, outcome) = run("function done() error('d') end", &TEN);
    outcome.assert_refused(1, &["done()", "load.lua:1: d"]);
    assert_eq!(outcome.document().ledger("ok"), 10);
}

/// A module in C that calls Lua's functions, as LuaSocket and cjson do.
const MODULE: &str = "
typedef struct lua_State lua_State;
extern const char *luaL_checklstring(lua_State *, int, unsigned long *);
extern void lua_pushinteger(lua_State *, long);
extern void lua_pushcclosure(lua_State *, int (*)(lua_State *), int);
static int length(lua_State *L) {
    unsigned long bytes;
    luaL_checklstring(L, 1, &bytes);
    lua_pushinteger(L, bytes);
    return 1;
}
int luaopen_length(lua_State *L) { lua_pushcclosure(L, length, 0); return 1; }
";

#[test]
fn modules_are_found_where_wrk_finds_them_and_those_in_c_load() {
    let directory = tempfile::tempdir().unwrap();
    let (source, module) = (directory.path().join("length.c"), directory.path().join("length.so"));
    std::fs::write(&source, MODULE).unwrap();
    let made =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&module, &source]).status();
    assert!(made.unwrap().success());
    let script = format!(
        "package.cpath = package.cpath .. ';{}/?.so'\n\
         wrk.path = '/' .. require('length')('four')\n\
         assert(require('wrk') == wrk)\n\
         local function has(path, part) assert(path:find(part, 1, true), part .. ' is not in ' .. path) end\n\
         has(package.path, '/usr/share/lua/5.1/?.lua')\n\
         has(package.path, '/usr/local/share/lua/5.1/?.lua')\n\
         has(package.cpath, '-linux-gnu/lua/5.1/?.so')\n\
         has(package.cpath, '/usr/local/lib/lua/5.1/?.so')\n",
        directory.path().display()
    );
    let (seen, outcome) = run(&script, &TEN);
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    assert!(seen.len() == 10 && seen.iter().all(|one| one.line == "GET /4 HTTP/1.1"), "{seen:?}");
}

#[test]
fn init_of_wrk_can_be_replaced_and_threads_know_their_address() {
    let script = "local before = wrk.init\n\
         function init(args) wrk.headers['X-Init'] = args[0]:sub(1, 7) end\n\
         function wrk.init(args)\n\
           before(args)\n\
           wrk.headers['X-Address'] = tostring(wrk.thread.addr)\n\
         end\n\
         function setup(thread) thread:set('from_setup', tostring(thread.addr)) end\n\
         function request() return wrk.format('GET', '/' .. from_setup) end\n";
    let (seen, outcome) = run(script, &TEN);
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    assert_eq!(seen.len(), 10);
    for one in seen {
        let host = one.header("Host").unwrap();
        assert_eq!(one.line, format!("GET /{host} HTTP/1.1"));
        assert_eq!((one.header("X-Address"), one.header("X-Init")), (Some(host), Some("http://")));
    }
}

/// As with wrk 4.1, whose C code calls these functions of `wrk`.
#[test]
fn what_wrk_itself_calls_can_be_replaced() {
    let before = "local before = wrk.setup\n\
         function wrk.setup(thread)\n\
           before(thread)\n\
           thread.addr = wrk.addrs[1]\n\
           thread:set('path', (path or '') .. '/' .. #wrk.addrs .. '/' .. tostring(thread.addr))\n\
         end\n\
         function setup(thread) path = '/setup' end\n\
         function request() return wrk.format('GET', path) end\n";
    let resolve = "function wrk.resolve(host, service)\n\
           wrk.addrs = wrk.lookup(host, service)\n\
           path = '/' .. host .. ':' .. service .. '/' .. #wrk.addrs\n\
         end\n\
         function setup(thread) thread:set('path', path .. '/' .. tostring(thread.addr)) end\n\
         function request() return wrk.format('GET', path) end\n";
    let instead = "function wrk.setup(thread) thread.addr = wrk.addrs[1] thread:set('path', '/only/') end\n\
         function setup(thread) error('it is not called') end\n\
         function wrk.init(args) wrk.request = function() return wrk.format('PUT', path) end end\n";
    let made = "function init(args) wrk.path = '/init' end\n\
         function wrk.request() error('it is replaced after init') end\n";
    for (script, line) in [
        (before, "GET /setup/1/HOST HTTP/1.1"),
        (resolve, "GET /HOST/1/HOST HTTP/1.1"),
        (instead, "PUT /only/ HTTP/1.1"),
        (made, "GET /init HTTP/1.1"),
    ] {
        let (seen, outcome) = run(script, &TEN);
        assert_eq!(outcome.code(), 0, "{script}{}", outcome.stderr);
        assert_eq!(seen.len(), 10);
        for one in seen {
            let host = one.header("Host").unwrap();
            assert_eq!(one.line, line.replace("HOST", host), "{script}");
        }
    }
}

#[test]
fn a_sandbox_has_no_way_out() {
    let absent = ["io", "os", "package", "ffi", "debug", "jit", "require", "dofile", "loadfile"];
    for name in absent {
        let script = format!("assert({name} == nil, '{name} is there')");
        let (_, outcome) = run(&script, &[&TEN[..], &["--sandbox"]].concat());
        assert_eq!(outcome.code(), 0, "{name}: {}", outcome.stderr);
    }
    let escapes: [(&str, &[&str]); 8] = [
        ("require('ffi')", &["nil value"]),
        ("local d = string.dump(function() end) loadstring(d)", &["nil value"]),
        ("assert(loadstring('\\27LJ\\2\\0'))()", &["load.lua:1:"]),
        ("assert(load('\\27LJ\\2\\0', 'x', 'b'))()", &["load.lua:1:"]),
        ("assert(load(function() return '\\27LJ\\2\\0' end, 'x', 'bt'))()", &["load.lua:1:"]),
        ("local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1e6) .. i end", &["memory"]),
        ("local s = 'x' while true do s = s .. s end", &["memory"]),
        ("while true do pcall(function() while true do end end) end", &["instructions"]),
    ];
    for (script, words) in escapes {
        let (seen, outcome) = run(script, &[&TEN[..], &["--sandbox"]].concat());
        outcome.assert_refused(1, words);
        assert!(seen.is_empty());
    }
    let script = "function request() return wrk.format() end function response() end";
    let (seen, outcome) = run(script, &[&TEN[..], &["--sandbox"]].concat());
    assert_eq!((seen.len(), outcome.code()), (10, 0), "{}", outcome.stderr);
}

/// Runs a script against the embedded target; `flags` choose the protocol.
fn run_at_target(tls: bool, script: &str, flags: &[&str]) -> Outcome {
    let target = crate::common::Target::start(if tls { &["--tls"] } else { &[] });
    let url = target.url("/echo");
    let url = if tls { url.replace("http://", "https://") } else { url };
    let trust: &[&str] = if tls { &["-k"] } else { &[] };
    let outcome = Candor::start_as(
        std::process::Command::new(crate::common::CANDOR),
        |directory, command| {
            std::fs::write(directory.join("load.lua"), script).unwrap();
            command.args(["--script", "load.lua", "--json", "result.json", "-q"]);
            command.args(flags).args(trust).arg(url).current_dir(directory);
        },
    )
    .finish();
    assert_eq!(outcome.code(), 0, "{flags:?}: {}{}", outcome.stdout, outcome.stderr);
    if !tls {
        // The target counts requests in clear text.
        target.assert_requests(outcome.document().ledger("sent"));
    }
    outcome
}

#[test]
fn scripts_make_requests_and_read_answers_over_http_2_and_tls() {
    // Every response must be that of the request whose body it repeats, in any interleaving.
    let script = "local n, seen = 0, 0\n\
        local threads = {}\n\
        function setup(thread) table.insert(threads, thread) end\n\
        function request()\n n = n + 1\n\
          return wrk.format('POST', '/echo?' .. n, {['Content-Type'] = 'x/' .. n}, 'body' .. n)\nend\n\
        function response(status, headers, body)\n\
          if status ~= 200 or 'body' .. headers['content-type']:sub(3) ~= body then error(body) end\n\
          seen = seen + 1\n wrk.thread:set('seen', seen)\nend\n\
        function done() local all = 0\n\
          for _, thread in ipairs(threads) do all = all + thread:get('seen') end\n\
          print('seen ' .. all)\nend";
    for (tls, spoken, load) in [
        (false, &["--h2c", "-m5"][..], &["-n300"][..]),
        (false, &["--h2c", "-m5"], &["-n300", "-R1k"]),
        (true, &["--h2", "-m5"], &["-n300"]),
        (true, &["--h1"], &["-n300"]),
    ] {
        let flags = [spoken, load, &["-c4", "-t2"]].concat();
        let outcome = run_at_target(tls, script, &flags);
        let document = outcome.document();
        assert_eq!(document.ledger("ok"), 300, "{flags:?}");
        assert!(outcome.stdout.contains("seen 300\n"), "{flags:?}: {}", outcome.stdout);
    }
}

#[test]
fn several_requests_in_one_text_are_streams_of_their_own() {
    let script = "function request()\n\
        return wrk.format('POST', '/echo', nil, 'one') .. wrk.format('POST', '/echo', nil, 'three')\nend";
    let outcome = run_at_target(false, script, &["--h2c", "-m3", "-n20", "-c1", "-t1"]);
    let document = outcome.document();
    assert_eq!(document.ledger("ok"), 20);
    assert_eq!(document.count("/bytes/bodies"), 10 * (3 + 5));
}

#[test]
fn the_content_of_chunks_is_sent_over_http_2() {
    let script = format!(
        "{CHUNKED}\nfunction response(status, headers, body)\n\
         assert(body == 'abcde' or body == 'seven b', body) end"
    );
    for flags in [&["--h2c", "-m2"][..], &["--h1"]] {
        let outcome = run_at_target(false, &script, &[flags, &["-n20", "-c1", "-t1"]].concat());
        let document = outcome.document();
        assert_eq!(document.ledger("ok"), 20);
        assert_eq!(document.count("/bytes/bodies"), 10 * (5 + 7));
    }
}

/// The most memory that a process had.
fn peak_kib(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

#[test]
fn a_response_beyond_the_limit_is_an_error_of_its_own_in_bounded_memory() {
    let piece = "x".repeat(65_536);
    let chunk = format!("10000\r\n{piece}\r\n");
    for (fields, piece) in [
        ("", &piece),
        ("Content-Length: 9999999999\r\n", &piece),
        ("Transfer-Encoding: chunked\r\n", &chunk),
    ] {
        let head = format!("HTTP/1.1 200 OK\r\n{fields}\r\n");
        let forever = Step::WriteForever(piece.clone().into_bytes().into(), Duration::ZERO);
        let peer = Peer::start(Script::new([Step::ReadRequest, Step::write(head), forever]));
        let url = format!("http://{}/", peer.addr());
        let child = Candor::start_as(
            std::process::Command::new(crate::common::CANDOR),
            |directory, command| {
                std::fs::write(directory.join("load.lua"), "function response() end").unwrap();
                let flags = ["--script", "load.lua", "--script-body-limit", "1Mi", "--sandbox"];
                command.args(flags).args(["-c4", "-t1", "-n20", "-q", "--timeout", "20s"]);
                command.args(["--json", "result.json", &url]).current_dir(directory);
            },
        );
        let pid = child.pid();
        let watch = std::thread::spawn(move || {
            let mut most = 0;
            while let Some(kib) = peak_kib(pid) {
                most = kib.max(most);
                std::thread::sleep(Duration::from_millis(5));
            }
            most
        });
        let outcome = child.finish();
        let document = outcome.document();
        document.assert_errors(&["body-limit"]);
        assert_eq!((document.ledger("sent"), document.ledger("ok")), (20, 0), "{fields}");
        assert_eq!(document.at("/connections/losses/0/kind"), "lost-body-limit");
        let example = document.at("/errors/0/example").to_string();
        assert!(example.contains("1048576 bytes that are kept of one"), "{example}");
        let remedy = document.at("/errors/0/remedy").to_string();
        assert!(remedy.contains("--script-body-limit"), "{remedy}");
        let peak_kib = watch.join().unwrap();
        assert!(peak_kib < 64 << 10, "{fields}: {peak_kib} KiB");
    }
}

#[test]
fn over_http_2_only_the_stream_of_a_long_response_is_given_up() {
    let target = crate::common::Target::start(&[]);
    let url = target.url("/bytes/200000");
    let run = |limit: &str| {
        Candor::start_as(std::process::Command::new(crate::common::CANDOR), |directory, command| {
            let script = "function response(status, headers, body) assert(#body == 200000) end";
            std::fs::write(directory.join("load.lua"), script).unwrap();
            command.args(["--script", "load.lua", "--script-body-limit", limit, "--h2c", "-m5"]);
            command.args(["-c2", "-t1", "-n40", "-q", "--json", "result.json", &url]);
            command.current_dir(directory);
        })
        .finish()
    };
    let outcome = run("199999");
    let document = outcome.document();
    document.assert_errors(&["body-limit"]);
    assert_eq!(document.ledger("sent"), 40);
    assert_eq!(document.count("/connections/lost"), 0);
    let outcome = run("200000");
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    outcome.document().assert_all_ok();
}

#[test]
fn a_signal_is_heard_after_the_call_that_goes_on() {
    let server = Server::start();
    let url = format!("http://{}/", server.address);
    // Fifty connections want a request each, and each takes a fifth of a second to make.
    let script = "function request()\n local over = wrk.time_us() + 2e5\n\
                  while wrk.time_us() < over do end return wrk.format() end";
    let child = Candor::start_as(
        std::process::Command::new(crate::common::CANDOR),
        |directory, command| {
            std::fs::write(directory.join("load.lua"), script).unwrap();
            command.args(["--script", "load.lua", "-c50", "-t1", "-d30s", "-q", "--drain", "1s"]);
            command.args(["--json", "result.json", &url]).current_dir(directory);
        },
    );
    while server.seen().is_empty() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let told = std::time::Instant::now();
    child.signal(Signal::INT);
    let outcome = child.finish();
    assert!(told.elapsed() < Duration::from_secs(5), "{:?}", told.elapsed());
    assert_eq!(outcome.code(), 130);
}

#[test]
fn an_upgrade_and_a_script_that_makes_requests_do_not_go_together() {
    let server = Server::start();
    let script = "function request() return wrk.format() end";
    let outcome = run_at(&server, script, &["--h2c-upgrade", "-n10", "-c1", "-t1", "-q"]);
    outcome.assert_refused(1, &["does not work with an upgrade to HTTP/2; use --h2c"]);
}
