#!/usr/bin/env python3
"""Checks drivers against the line protocol of docs/drivers.md, and their counts against a server's.

    check.py                            every driver here whose library is installed
    check.py -- COMMAND ARGUMENT...     a driver of yours

The server is the kit's raw target, whose own count of responses must equal the driver's. Servers
that never respond, close, or respond late are made here.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
KIT = os.path.join(os.path.dirname(HERE), "beam")
KINDS = {"timeout", "pool-timeout", "refused", "closed", "status", "body", "crash", "other"}


def drivers():
    erlang = [os.path.join(KIT, "bin", "driver"), "--client"]
    python = [sys.executable, os.path.join(HERE, "python", "driver.py"), "--client"]
    found = [erlang + [name] for name in ("null", "httpc", "gun", "hackney", "ibrowse", "buoy", "katipo", "dlhttpc",
                                        "finch", "req")]
    found += [python + [name] for name in ("null", "urllib3", "aiohttp")]
    if shutil.which("node"):
        found += [["node", os.path.join(HERE, "node", "driver.mjs"), "--client", name] for name in ("null", "undici")]
    if os.path.exists(os.path.join(HERE, "go", "driver")):
        found += [[os.path.join(HERE, "go", "driver"), "--client", name] for name in ("null", "net-http")]
    return found


class Driver:
    """A running driver."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        start_new_session=True)

    def ask(self, line):
        self.process.stdin.write((line if isinstance(line, str) else json.dumps(line)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, f"it ended with {self.process.wait(5)}"
        return json.loads(answer)

    def run(self, url, pool, concurrency, duration_ms=400, warm_up_ms=100, timeout_ms=2000, body=12):
        result = self.ask({"do": "run", "url": url, "pool": pool, "concurrency": concurrency, "warm_up_ms": warm_up_ms,
                           "duration_ms": duration_ms, "timeout_ms": timeout_ms, "expect_status": 200,
                           "expect_body_bytes": body})
        assert "error" not in result, result["error"]
        assert (result["pool"], result["concurrency"]) == (pool, concurrency), result
        assert result["window_ns"] == duration_ms * 1_000_000, result["window_ns"]
        kinds = set(result["errors"]) | set(result["outside"]["errors"])
        assert kinds <= KINDS and kinds == set(result["examples"]), (kinds, result["examples"])
        self.check_latency(result)
        return result

    @staticmethod
    def check_latency(result):
        latency, ok = result["latency_ns"], result["ok"]
        values = [value for value, _ in latency["counts"]]
        assert sum(count for _, count in latency["counts"]) == ok, "latencies are not as many as answers"
        assert values == sorted(set(values)), "values are not in order"
        assert all(value == value >> max(0, value.bit_length() - 11) << max(0, value.bit_length() - 11)
                   for value in values), "a value is not the lowest of its bucket"
        if ok:
            low = sum(value * count for value, count in latency["counts"])
            assert low <= latency["sum"] <= low * 1.001 + 1, (low, latency["sum"])
            assert values[0] <= latency["min"] <= latency["max"] <= result["window_ns"] * 100, latency["max"]
        else:
            assert latency["min"] is None and latency["max"] is None and latency["sum"] == 0, latency

    def end(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                code = self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise AssertionError("it goes on after the end of its input")
            assert code == 0, f"it ended with {code}"
            try:
                os.killpg(self.process.pid, 0)
                raise AssertionError("processes of its group are left")
            except ProcessLookupError:
                pass


class Server:
    """The raw target, with its own count of requests."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        port_file = os.path.join(self.folder.name, "port")
        self.process = subprocess.Popen([os.path.join(KIT, "bin", "target"), "--server", "raw", "--scenario", "httpc_bench",
                                         "--stats-interval", "20ms", "--port-file", port_file],
                                        stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 30
        while not os.path.exists(port_file):
            assert self.process.poll() is None and time.monotonic() < until, "the server did not start"
            time.sleep(0.02)
        with open(port_file) as lines:
            self.lines = dict(line.rstrip("\n").split("=", 1) for line in lines)
        self.url = f"http://127.0.0.1:{self.lines['PORT']}"

    def answered(self):
        time.sleep(0.1)
        with urllib.request.urlopen(self.lines["STATS"], timeout=5) as answer:
            return json.load(answer)["requests_answered"]

    def end(self):
        self.process.terminate()
        self.process.wait(10)


def misbehaving(behaviour):
    """A listener that passes every connection to a function, in a thread of its own. Returns its URL."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)

    def accept():
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=behaviour, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return f"http://127.0.0.1:{listener.getsockname()[1]}/"


def never_answers(connection):
    while connection.recv(65536):
        pass


def closes(connection):
    connection.recv(65536)
    connection.close()


def answers_late(connection):
    try:
        while connection.recv(65536):
            time.sleep(0.05)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nhttpc_bench!")
    except OSError:
        pass


def check(command, server):
    driver = Driver(command)
    try:
        described = driver.ask({"do": "describe"})
        assert described["driver"] == "candor.driver/1" and described["client"] and described["runtime"], described
        null = described["client"] == "null"
        # dlhttpc picks a connection by a hash and reports it as taken even if others are free; nothing is sent then.
        taken = {"pool-timeout"} if described["client"] == "dlhttpc" else set()
        for pool, concurrency in ((5, 4), (17, 16), (65, 64)):
            counted(driver, server, pool, concurrency, null, taken)
        if not null:
            errors(driver, server, taken)
        for line in ("nonsense", "[]", '{"do":"fly"}', '{"do":"run"}', {"do": "run", "url": "http://a/"},
                     {"do": "run", "url": "http://a/", "pool": 0, "concurrency": 1, "duration_ms": 1}):
            assert driver.ask(line).get("error"), f"no error for {line}"
        return described
    finally:
        driver.end()


def counted(driver, server, pool, concurrency, null, taken):
    before = server.answered()
    result = driver.run(server.url + "/httpc-bench", pool, concurrency)
    assert result["ok"] > 0 and set(result["errors"]) <= taken, result["errors"]
    total = result["ok"] + result["outside"]["ok"]
    answered = server.answered() - before
    assert answered == (0 if null else total), f"{pool}/{concurrency}: the driver counts {total}, the server {answered}"


def errors(driver, server, taken):
    only(driver.run(server.url + "/json", 5, 4), {"body"}, taken)
    only(driver.run(server.url + "/nowhere", 5, 4), {"status"}, taken)
    # Some clients wait for a server to come up, which ends in a timeout; others report that there is no connection.
    only(driver.run("http://127.0.0.1:1/", 4, 4, timeout_ms=100), {"refused", "timeout", "pool-timeout"})
    only(driver.run(misbehaving(never_answers), 4, 4, timeout_ms=100), {"timeout", "pool-timeout"})
    # Some retry until the timeout.
    only(driver.run(misbehaving(closes), 4, 4, timeout_ms=200), {"closed", "timeout", "pool-timeout"})
    # Twelve callers, two connections, 50 ms for a response: most callers time out, and each client
    # has its own name for that. httpc's callers all get connections of their own, undici's wait
    # without a limit.
    small = driver.run(misbehaving(answers_late), 2, 12, timeout_ms=130, duration_ms=800)
    assert small["ok"] > 0, "no response through a small pool"
    if driver.process.args[-1] not in ("httpc", "undici"):
        assert set(small["errors"]) & {"timeout", "pool-timeout"}, small["errors"]


def only(result, kinds, also=frozenset()):
    """No responses; errors of at least one of these kinds, and no others except the optional ones."""
    assert result["ok"] == 0, f"{result['ok']} responses, but there can be none"
    seen = set(result["errors"]) | set(result["outside"]["errors"])
    assert seen & kinds, "no errors, but there must be some"
    assert seen <= kinds | also, f"{seen} and not {kinds}: {result['examples']}"


def main(arguments):
    commands = [arguments[1:]] if arguments[:1] == ["--"] else drivers()
    server, wrong = Server(), 0
    try:
        for command in commands:
            name = " ".join(os.path.basename(word) for word in command)
            there = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
            if there.returncode == 2:
                print(f"{name}: {there.stderr.splitlines()[0]}", flush=True)
                wrong += arguments[:1] == ["--"]
                continue
            try:
                described = check(command, server)
                print(f"{name}: right ({described['version']}, {described['runtime']})", flush=True)
            except Exception as error:  # Any exception means that this driver is wrong; the next one may be right.
                wrong += 1
                print(f"{name}: WRONG: {type(error).__name__}: {error}", flush=True)
    finally:
        server.end()
    print(f"{wrong} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
