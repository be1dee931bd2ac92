#!/usr/bin/env python3
"""Every installed target server against every scenario that it says it can do, from outside.

Servers are started by bin/target, asked by curl and by plain sockets, and ended by the process id of
the start. What has to come back is what the scenarios say: status, length, bytes. Then the ways in
which a target can fail. `black_box.py [SERVER...]` tests only these.
"""

import gzip
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import zlib

KIT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TARGET = os.path.join(KIT, "bin", "target")
CURL = {"h1": ["--http1.1"], "h2c": ["--http2-prior-knowledge"], "h2": ["--http2"]}
LARGE = bytes(ord("a") + i % 26 for i in range(65536))
FORM = "&".join(f"k{i:03}=abcdefghijklmnopqrstuvwxyz" for i in range(128)).encode()


class Target:
    """A running bin/target."""

    def __init__(self, *flags):
        self.folder = tempfile.TemporaryDirectory()
        port_file = os.path.join(self.folder.name, "port")
        self.log = open(os.path.join(self.folder.name, "log"), "w+")
        self.process = subprocess.Popen([TARGET, "--port-file", port_file, *flags], stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log, start_new_session=True)
        until = time.monotonic() + 30
        while not os.path.exists(port_file):
            if self.process.poll() is not None or time.monotonic() > until:
                raise AssertionError(f"{' '.join(flags)}: not ready ({self.process.poll()}):\n{self.said()}")
            time.sleep(0.02)
        with open(port_file) as lines:
            self.lines = dict(line.rstrip("\n").split("=", 1) for line in lines)
        self.protocol = self.lines["PROTOCOL"]
        self.port = int(self.lines["PORT"])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.log.close()
        self.folder.cleanup()

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def stats(self):
        with urllib.request.urlopen(self.lines["STATS"], timeout=5) as answer:
            return json.load(answer)

    def curl(self, path, *flags):
        """Status, headers and body of a request."""
        scheme = "https" if "CERT" in self.lines else "http"
        authority = ["--cacert", self.lines["CERT"]] if "CERT" in self.lines else []
        head, body = (os.path.join(self.folder.name, name) for name in ("head", "body"))
        for file in (head, body):
            open(file, "w").close()
        done = subprocess.run(["curl", "-sS", "--max-time", "20", *CURL[self.protocol], *authority, "-D", head, "-o", body,
                               "-w", "%{http_code} %{http_version}", *flags, f"{scheme}://127.0.0.1:{self.port}{path}"],
                              capture_output=True, text=True)
        assert done.returncode == 0, f"curl: {done.stderr.strip()}"
        status, version = done.stdout.split()
        assert version == ("1.1" if self.protocol == "h1" else "2"), f"spoke HTTP/{version}"
        with open(head) as file:
            last = file.read().strip().split("\n\n")[-1].splitlines()[1:]
        headers = dict((line.split(":", 1)[0].lower(), line.split(":", 1)[1].strip()) for line in last if ":" in line)
        with open(body, "rb") as file:
            return int(status), headers, file.read()

    def connect(self):
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        return connection, connection.makefile("rb")


def read_answer(stream, with_body=True):
    """Status, headers, body of an answer on a plain connection."""
    line = stream.readline()
    assert line.startswith(b"HTTP/1.1 "), f"not an answer: {line!r}"
    headers = {}
    while (field := stream.readline()) not in (b"\r\n", b""):
        name, value = field.decode().split(":", 1)
        headers[name.lower()] = value.strip()
    status = int(line.split()[1])
    body = b""
    if with_body and status >= 200 and status not in (204, 304):
        body = read_body(stream, headers)
    return status, headers, body


def read_body(stream, headers):
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = b""
        while (size := int(stream.readline().split(b";")[0], 16)) > 0:
            body += stream.read(size)
            stream.readline()
        stream.readline()
        return body
    if "content-length" in headers:
        return stream.read(int(headers["content-length"]))
    return stream.read()


def equal(got, wanted):
    assert got == wanted, f"{short(got)} and not {short(wanted)}"


def short(value):
    text = repr(value)
    return text if len(text) < 120 else text[:120] + "…"


def same(path, wanted, *flags, status=200):
    def check(target):
        got, _, body = target.curl(path, *flags)
        equal((got, body), (status, wanted))
    return check


def posted(path, body, wanted, *flags):
    def check(target):
        file = os.path.join(target.folder.name, "posted")
        with open(file, "wb") as out:
            out.write(body)
        same(path, wanted, "-H", "Expect:", *flags, "--data-binary", "@" + file)(target)
    return check


def json_document(target):
    _, headers, body = target.curl("/json", "-H", "Accept: application/json")
    equal((len(body), type(json.loads(body)), headers["content-type"]), (115, dict, "application/json"))


def head(target):
    # (What curl writes for a HEAD are the headers.)
    status, headers, _ = target.curl("/large", "--head")
    equal((status, headers["content-length"]), (200, "65536"))
    if target.protocol == "h1":
        connection, stream = target.connect()
        with connection:
            connection.sendall(b"HEAD /large HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n")
            equal(read_answer(stream, with_body=False)[1]["content-length"], "65536")
            equal(read_answer(stream)[2], b"alive\r\n")


def pipelined(target):
    connection, stream = target.connect()
    with connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" * 4)
        equal([read_answer(stream)[2] for _ in range(4)], [b"alive\r\n"] * 4)


def slow(target):
    connection, stream = target.connect()
    with connection:
        for piece in (b"GE", b"T / HT", b"TP/1.1\r\nHo", b"st: a\r\n", b"\r\n"):
            connection.sendall(piece)
            time.sleep(0.001)
        equal(read_answer(stream)[2], b"alive\r\n")


def storm(target):
    for _ in range(10):
        connection, stream = target.connect()
        with connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            equal((read_answer(stream)[2], stream.read()), (b"alive\r\n", b""))


def burst(target):
    connections = [target.connect() for _ in range(50)]
    for connection, _ in connections:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    for connection, stream in connections:
        equal(read_answer(stream)[2], b"alive\r\n")
        connection.close()


def mixed(target):
    connection, stream = target.connect()
    with connection:
        for path, length in (("/", 7), ("/json", 115), ("/large", 65536), ("/", 7)) * 3:
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
            equal(len(read_answer(stream)[2]), length)


def routes(target):
    connection, stream = target.connect()
    with connection:
        for number in range(100):
            connection.sendall(f"GET /route/{number} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
            equal(read_answer(stream)[2], str(number).encode())
    equal(target.curl("/route/100")[0], 404)


def no_route(target):
    equal(target.curl("/no/such/route", "-H", "Connection: close")[0], 404)


def gzipped(target):
    _, headers, body = target.curl("/gzip", "-H", "Accept-Encoding: gzip")
    plain = gzip.decompress(body)
    equal((headers["content-encoding"], len(plain), type(json.loads(plain))), ("gzip", 16384, list))


def events(target):
    connection, stream = target.connect()
    with connection:
        connection.sendall(b"GET /sse HTTP/1.1\r\nHost: a\r\n\r\n")
        _, headers, body = read_answer(stream)
        equal((headers["content-type"], body.count(b"event: tick"), stream.read()), ("text/event-stream", 100, b""))


def continued(target):
    connection, stream = target.connect()
    with connection:
        connection.sendall(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 256\r\nExpect: 100-continue\r\n\r\n")
        equal(read_answer(stream)[0], 100)
        connection.sendall(LARGE[:256])
        equal(read_answer(stream)[2], LARGE[:256])


def partial(target):
    connection, stream = target.connect()
    with connection:
        connection.sendall(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 256\r\n\r\n" + LARGE[:128])
        connection.shutdown(socket.SHUT_WR)
        answer = stream.read()
        assert answer == b"" or answer.split()[1] == b"400", f"neither a close nor a 400: {short(answer)}"


def not_modified(target):
    status, headers, body = target.curl("/etag", "-H", 'If-None-Match: "v1"')
    equal((status, body, "content-length" in headers and headers["content-length"] != "0"), (304, b"", False))


def preflight(target):
    status, headers, body = target.curl("/api", "-X", "OPTIONS", "-H", "Origin: http://a", "-H",
                                        "Access-Control-Request-Method: PUT")
    equal((status, body, headers["access-control-allow-origin"]), (204, b"", "*"))


def redirected(target):
    status, headers, _ = target.curl("/redirect")
    equal(status, 302)
    assert headers["location"].endswith("/"), headers["location"]


def chunked(target):
    connection, stream = target.connect()
    with connection:
        pieces = b"".join(b"100\r\n" + LARGE[:256] + b"\r\n" for _ in range(4))
        connection.sendall(b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + pieces + b"0\r\n\r\n")
        equal(read_answer(stream)[2], LARGE[:256] * 4)


def compressed(target):
    body = zlib.compress(LARGE[:1024])
    posted("/echo", body, body, "-H", "Content-Encoding: gzip")(target)


def items(target):
    document = json.loads(target.curl("/httparena_json/50?m=3")[2])
    equal(document["count"], 50)
    for item in document["items"]:
        equal(item["total"], item["price"] * item["quantity"] * 3)


def websocket(target):
    connection, stream = target.connect()
    with connection:
        connection.sendall(b"GET /websocket HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                           b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
        status, headers, _ = read_answer(stream, with_body=False)
        equal((status, headers["sec-websocket-accept"]), (101, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="))
        for _ in range(3):
            mask = b"\x01\x02\x03\x04"
            masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(LARGE[:1024]))
            connection.sendall(b"\x81\xfe\x04\x00" + mask + masked)
            equal((stream.read(4), stream.read(1024)), (b"\x81\x7e\x04\x00", LARGE[:1024]))


def session(server, protocol):
    with Target("--server", server, "--scenario", "large_keepalive_session", "--protocol", protocol) as target:
        connection, stream = target.connect()
        with connection:
            answers = 0
            while True:
                try:
                    connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                    # inets does not announce it.
                    if server == "inets" and not stream.peek(1):
                        break
                except ConnectionError:
                    break
                _, headers, _ = read_answer(stream)
                answers += 1
                if headers.get("connection", "").lower() == "close":
                    break
                assert answers < 1100, "never closed"
            equal(answers, 1000)


def slots(server, protocol):
    with Target("--server", server, "--scenario", "backpressure_sustained", "--protocol", protocol) as target:
        connections, answered = [target.connect() for _ in range(120)], 0
        for connection, _ in connections:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        # Long enough for all that are served. The others are closed, refused with a 503, or wait.
        time.sleep(2)
        for connection, stream in connections:
            connection.settimeout(0.001)
            try:
                answered += read_answer(stream)[0] == 200
            except (OSError, AssertionError):
                pass
            connection.close()
        assert 40 <= answered <= 80, f"{answered} of 120 connections were served"


CHECKS = {
    "hello": same("/", b"alive\r\n", "-H", "X-A: b"),
    "echo": posted("/echo", LARGE[:256], LARGE[:256]),
    "large_response": same("/large", LARGE),
    "json": json_document,
    "headers_heavy": same("/", b"alive\r\n", *[word for n in range(1, 17)
                                              for word in ("-H", f"x-bench-{n}: {'0123456789abcdefg'[n] * n}")]),
    "head_method": head,
    "cookies_heavy": same("/cookies", b"8", "-H", "Cookie: " + "; ".join(f"c{n}={'v' * 20}" for n in range(8))),
    "multi_request_body": posted("/echo", LARGE[:4096], LARGE[:4096]),
    "pipelined_h1": pipelined,
    "slow_client": slow,
    "connection_storm": storm,
    "mixed_workload": mixed,
    "post_4kb_form": posted("/form", FORM, b"128"),
    "large_post_streaming": posted("/drain", LARGE * 16, b"ok"),
    "router_404_storm": no_route,
    "varied_paths_router": routes,
    "gzip_response": gzipped,
    "backpressure_sustained": slots,
    "server_sent_events": events,
    "expect_100_continue": continued,
    "large_keepalive_session": session,
    "websocket_msg_throughput": websocket,
    "url_with_qs": same("/qs?a=1&b=2&c=3&d=4&e=5&f=6", b"6"),
    "accept_storm_burst": burst,
    "etag_304": not_modified,
    "partial_body_drop": partial,
    "path_with_unicode": same("/qs?stra%C3%9Fe=a+b&%C3%A9t%C3%A9=1&%E6%97%A5=%E6%9C%AC&n=%C3%B1+o&z=%E2%82%AC", b"5"),
    "cors_preflight": preflight,
    "chunked_request_body": chunked,
    "redirect_response": redirected,
    "compressed_request_body": compressed,
    "httparena_baseline": same("/baseline11?a=123&b=456", b"579"),
    "httparena_json": items,
    "httparena_upload_20mb_auto": posted("/upload", LARGE * 320, b"20971520"),
    "httparena_upload_20mb_manual": posted("/upload", LARGE * 320, b"20971520"),
    "httparena_limited_conn": same("/baseline11?a=-5&b=3", b"-2"),
    "httparena_static": same("/static/hello.txt", b"Hello from a static file.\n"),
    "streaming_response": same("/streaming", LARGE[:4096] * 4),
    "multi_stream_h2": same("/", b"alive\r\n"),
    "small_chunked_response": same("/small", LARGE[:64] * 100),
    "tls_handshake_throughput": same("/", b"alive\r\n"),
    "large_post_h2": posted("/drain", LARGE[:49152], b"ok"),
    "hello_world": same("/hello-world", b"Hello world!"),
    "httpc_bench": same("/httpc-bench", b"httpc_bench!"),
}
OWN_TARGET = {"backpressure_sustained", "large_keepalive_session"}
failures = []


def attempt(what, check, *arguments):
    try:
        check(*arguments)
        return True
    except Exception as error:  # Whatever it was: this one is wrong, and the next one may be right.
        failures.append(what)
        print(f"  {what}: {type(error).__name__}: {error}", flush=True)
        return False


def scenarios(server, protocol, names, *flags):
    name = " ".join([server, protocol, *flags])
    right = 0
    try:
        with Target("--server", server, "--protocol", protocol, *flags) as target:
            for scenario in names:
                check = CHECKS[scenario]
                arguments = (server, protocol) if scenario in OWN_TARGET else (target,)
                right += attempt(f"{name} {scenario}", check, *arguments)
            right += attempt(f"{name} stats", stats, target)
            right += attempt(f"{name} SIGTERM", terminated, target)
    except AssertionError as error:
        failures.append(name)
        print(f"  {name}: {error}")
    print(f"{name}: {right} of {len(names) + 2} right ({target.lines['VERSION'] if right else 'none'})", flush=True)


def stats(target):
    time.sleep(0.3)
    before = target.stats()["requests_answered"]
    for _ in range(10):
        target.curl("/")
    time.sleep(0.3)
    document = target.stats()
    equal((document["format"], document["requests_answered"] - before), ("candor.beam-stats/1", 10))
    shares = document["scheduler_utilization"] + document["dirty_cpu_scheduler_utilization"]
    assert shares and all(0 <= share <= 1 for share in shares), shares
    assert document["beam_memory_bytes"] > 1_000_000 and document["sampling"]["samples"] > 1


def terminated(target):
    equal(int(target.lines["PID"]), target.process.pid)
    target.process.terminate()
    equal(target.process.wait(10), 0)
    assert nothing_left(target.process.pid), "processes of its group are left"
    leftovers = f"/tmp/candor-target-{target.process.pid}"
    assert not os.path.exists(leftovers), f"{leftovers} is left"


def nothing_left(group, patience=3.0):
    """Whether no process of the group is there any more."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def fails(code, pattern, *flags):
    done = subprocess.run([TARGET, *flags], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    equal(done.returncode, code)
    assert re.search(pattern, done.stderr), f"said {done.stderr!r}, nothing like {pattern!r}"


def usage():
    fails(2, "--server is needed")
    fails(2, 'one of raw, inets.*not "nginx"', "--server", "nginx")
    fails(2, "did you mean --scenario", "--server", "raw", "--scenaro", "hello")
    fails(2, "did you mean large_response", "--server", "raw", "--scenario", "large_respons")
    fails(2, "raw does not speak h2 here, only h1", "--server", "raw", "--protocol", "h2")
    fails(2, "elli cannot do websocket_msg_throughput over h1; it can do", "--server", "elli", "--scenario",
          "websocket_msg_throughput")
    fails(2, "--cores takes a list", "--server", "raw", "--cores", "all")


def missing_library():
    fails(2, r"elli is not installed.*\n.*rebar3 as elli compile", "--server", "elli")
    fails(2, r"roadrunner is not installed.*\n.*rebar3 as roadrunner compile", "--server", "roadrunner")


def port_taken():
    with Target("--server", "raw") as target:
        fails(1, "cannot listen: address already in use", "--server", "raw", "--port", str(target.port))


def port_file_impossible():
    fails(1, "cannot write /no/such/folder/port: no such file", "--server", "raw", "--port-file", "/no/such/folder/port")


def stdin_ends():
    target = subprocess.Popen([TARGET, "--server", "raw", "--stop-with-stdin"], stdin=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, start_new_session=True)
    time.sleep(1.5)
    equal(target.poll(), None)
    target.stdin.close()
    equal(target.wait(10), 0)
    assert nothing_left(target.pid), "processes of its group are left"


def killed():
    with Target("--server", "raw") as target:
        os.killpg(target.process.pid, signal.SIGKILL)
        target.process.wait()
        assert nothing_left(target.process.pid), "processes of its group are left"


def schedulers():
    with Target("--server", "raw", "--schedulers", "1", "--pin", "--busy-wait", "none") as target:
        time.sleep(0.3)
        equal(len(target.stats()["scheduler_utilization"]), 1)


def profiled():
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "profile")
        with Target("--server", "raw", "--profile", "eprof", "--profile-after", "10ms", "--profile-for", "500ms",
                    "--profile-output", file) as target:
            time.sleep(0.3)
            equal(target.stats()["profile"], "eprof")
            until = time.monotonic() + 1.5
            while time.monotonic() < until:
                target.curl("/")
            target.process.terminate()
            equal(target.process.wait(60), 0)
        with open(file) as text:
            assert "candor_http1:head/1" in text.read(), "the profile has no line of the server's"


WAYS_TO_FAIL = [usage, missing_library, port_taken, port_file_impossible, stdin_ends, killed, schedulers, profiled]


def main(wanted):
    listed = subprocess.run([TARGET, "--list"], capture_output=True, text=True, check=True).stdout
    for line in listed.splitlines():
        server, protocol, *names = line.split()
        if protocol == "-":
            print(f"{server}: not installed")
        elif not wanted or server in wanted:
            scenarios(server, protocol, names)
            if server == "cowboy":
                scenarios(server, protocol, [name for name in names if name != "websocket_msg_throughput"],
                          "--handler", "stream")
    if not wanted:
        right = sum(attempt(way.__name__, way) for way in WAYS_TO_FAIL)
        print(f"ways to fail: {right} of {len(WAYS_TO_FAIL)} right")
    print(f"{len(failures)} wrong" + "".join(f"\n  {what}" for what in failures))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
