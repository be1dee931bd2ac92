"""A target server from outside: started by bin/target, asked by curl (over HTTP/3 by candor) and by plain sockets, ended
by the process id of its start.
"""

import json
import os
import socket
import subprocess
import tempfile
import time
import urllib.request

KIT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TARGET = os.path.join(KIT, "bin", "target")
CURL = {"h1": ["--http1.1"], "h2c": ["--http2-prior-knowledge"], "h2": ["--http2"]}


class Target:
    """A running bin/target."""

    def __init__(self, *flags, **environment):
        self.folder = tempfile.TemporaryDirectory()
        port_file = os.path.join(self.folder.name, "port")
        # (Appended to: reading moves the offset that the target writes at.)
        self.log = open(os.path.join(self.folder.name, "log"), "a+")
        self.process = subprocess.Popen([TARGET, "--port-file", port_file, *flags], stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log, start_new_session=True,
                                        env={**os.environ, **environment})
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
            # In order, so that it removes its folder.
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
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

    def visit(self):
        """A request for the first page."""
        if self.protocol == "h3":
            self.candor("hello", 1)
        else:
            self.curl("/")

    def candor(self, scenario, requests=20):
        """Requests of a scenario, each response held against what the scenario means."""
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(["candor", "run", "--h3", "--cacert", self.lines["CERT"], "--scenario", scenario,
                                   "-n", str(requests), "-c", "2", "--out", "json:" + os.path.join(folder, "run.json"),
                                   f"https://127.0.0.1:{self.port}/"], capture_output=True, text=True)
            assert done.returncode == 0, f"candor: {done.stdout}{done.stderr}"
            with open(os.path.join(folder, "run.json")) as file:
                equal(json.load(file)["ledger"]["ok"], requests)

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


def profile_of(*flags, kind="eprof"):
    """The text of a profile of a target, which is asked from before the window until some time in it."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "profile")
        with Target(*flags, "--profile", kind, "--profile-after", "10ms", "--profile-output", file) as target:
            begun, until = False, time.monotonic() + 20
            time.sleep(0.3)
            while time.monotonic() < until:
                target.visit()
                equal(target.stats()["profile"], kind)
                # Tracing all functions takes a while to begin.
                if not begun and "candor target: profiles" in target.said():
                    begun, until = True, time.monotonic() + 0.3
            assert begun, f"the window never began:\n{target.said()}"
            target.process.terminate()
            equal(target.process.wait(60), 0)
        with open(file) as text:
            return text.read()


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
