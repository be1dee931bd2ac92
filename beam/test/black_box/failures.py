"""The ways in which a target can fail or be ended, and options that are no server's business."""

import os
import re
import signal
import subprocess
import tempfile
import time

from target import TARGET, Target, equal, nothing_left, profile_of


def fails(code, pattern, *flags):
    # Without libraries of the person's own: some of these must not be found.
    environment = {name: value for name, value in os.environ.items() if name != "ERL_LIBS"}
    done = subprocess.run([TARGET, *flags], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                          env=environment)
    equal(done.returncode, code)
    assert re.search(pattern, done.stderr), f"said {done.stderr!r}, nothing like {pattern!r}"


def usage():
    fails(2, "--server is needed")
    fails(2, 'one of raw, inets.*not "nginx"', "--server", "nginx")
    fails(2, "did you mean --scenario", "--server", "raw", "--scenaro", "hello")
    fails(2, "did you mean large_response", "--server", "raw", "--scenario", "large_respons")
    fails(2, "raw does not speak h2 here, only h1", "--server", "raw", "--protocol", "h2")
    for server in ("elli", "inets"):
        fails(2, f"{server} cannot do websocket_msg_throughput over h1; it can do", "--server", server, "--scenario",
              "websocket_msg_throughput")
    fails(2, "--cores takes a list", "--server", "raw", "--cores", "all")


def missing_library():
    fails(69, r"elli is not installed.*\n.*rebar3 as elli compile", "--server", "elli")
    fails(69, r"roadrunner is not installed.*\n.*rebar3 as roadrunner compile", "--server", "roadrunner")


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
        assert "preempt each other" not in target.said(), target.said()
    # Of all servers of a suite.
    with Target("--server", "raw", "--cores", "0", ERL_FLAGS="+S 3:3") as target:
        equal(target.lines["SCHEDULERS"], "3")
        assert "3 schedulers on 1 cores preempt each other" in target.said(), target.said()


def profiled_with_calls():
    assert "{candor_http1,head,1}" in profile_of("--server", "raw", kind="fprof")


def profile_impossible():
    fails(1, "cannot write /no/such/folder/profile: no such file", "--server", "raw", "--profile", "eprof",
          "--profile-output", "/no/such/folder/profile")


def memory_profiled():
    with tempfile.TemporaryDirectory() as folder:
        file, other = (os.path.join(folder, name) for name in ("memory", "other"))
        with Target("--server", "raw", "--memory-profile", file, "--memory-above", "1") as target:
            with Target("--server", "raw", "--memory-profile", other, "--memory-above", "100000"):
                until = time.monotonic() + 5
                while not os.path.exists(file) and time.monotonic() < until:
                    target.curl("/")
        with open(file) as text:
            said = text.read()
        for part in ("memory of the runtime, MB", "  binary", "  prim_inet:accept0/3", "  candor_memory:process/1"):
            assert part in said, f"{part!r} is not in\n{said}"
        assert not os.path.exists(other), "written below the bound"


WAYS_TO_FAIL = [usage, missing_library, port_file_impossible, stdin_ends, killed, schedulers, profiled_with_calls, profile_impossible,
                memory_profiled]
