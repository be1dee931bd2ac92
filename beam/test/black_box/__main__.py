"""Every installed target server against every scenario that it says it can do, from outside; then the ways
in which a target can fail. `python3 beam/test/black_box [SERVER...]` tests only these servers.
"""

import glob
import re
import shutil
import socket
import subprocess
import sys
import time

from failures import WAYS_TO_FAIL
from scenarios import CHECKS, OWN_SETTINGS, OWN_TARGET
from target import TARGET, Target, equal, nothing_left, profile_of

failures = []
# Servers whose log is not looked at, and why: here that a process of the library crashes if a connection is closed while it
# is handed over to it.
LOUD = {"erlang_quic"}
# Servers that a release of OTP broke: from which on, and by what. Their failures are shown, and are no failures of the kit.
BROKEN = {"cowboy1": (24, "cowboy 1 calls erlang:get_stacktrace/0, which OTP 24 removed")}


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
    right, otp, before = 0, 0, len(failures)
    if protocol == "h3" and not shutil.which("candor"):
        print(f"{name}: skipped: no candor to ask over HTTP/3")
        return
    try:
        with Target("--server", server, "--protocol", protocol, *flags) as target:
            otp = int(target.lines["OTP"].split(".")[0])
            for scenario in names:
                if protocol == "h3":
                    right += attempt(f"{name} {scenario}", target.candor, scenario)
                    continue
                check = CHECKS[scenario]
                arguments = (server, protocol) if scenario in OWN_TARGET else (target,)
                right += attempt(f"{name} {scenario}", check, *arguments)
            right += attempt(f"{name} stats", stats, target)
            right += server in LOUD or attempt(f"{name} log", quiet, target)
            right += attempt(f"{name} SIGTERM", terminated, target)
    except AssertionError as error:
        failures.append(name)
        print(f"  {name}: {error}")
    settings = [scenario for scenario in names if scenario in OWN_SETTINGS]
    for scenario in settings:
        right += attempt(f"{name} --scenario {scenario}", own_settings, server, protocol, scenario, *flags)
    right += attempt(f"{name} port taken", port_taken, server, protocol, *flags)
    right += attempt(f"{name} profiled", profiled, server, protocol, *flags)
    all_of_it = len(names) + 5 + len(settings)
    print(f"{name}: {right} of {all_of_it} right ({target.lines['VERSION'] if right else 'none'})", flush=True)
    since, why = BROKEN.get(server, (None, None))
    if since and otp >= since and len(failures) > before:
        print(f"{name}: known on OTP {otp}: {why}", flush=True)
        del failures[before:]


def own_settings(server, protocol, scenario, *flags):
    with Target("--server", server, "--protocol", protocol, "--scenario", scenario, *flags) as target:
        equal(target.lines["SCENARIO"], scenario)
        CHECKS[scenario](target)
        quiet(target)


def profiled(server, protocol, *flags):
    """Each scope has the server's processes; the watch's listener and TLS, which has processes of its own, are in one only."""
    for scope, has_others in (("server", False), ("all", True)):
        profile = profile_of("--server", server, "--protocol", protocol, "--profile-scope", scope, *flags)
        others = {"candor_stats:tell/2": has_others, "tls_sender:connection/3": has_others and protocol == "h2"}
        wanted = {"candor_counter:answer/2": True, **others}
        equal({function: function in profile for function in wanted}, wanted)


def quiet(target):
    equal(re.findall("CRASH REPORT|SUPERVISOR REPORT|Error in process", target.said()), [])


def port_taken(server, protocol, *flags):
    with socket.socket(type=socket.SOCK_DGRAM if protocol == "h3" else socket.SOCK_STREAM) as taken:
        # On every address, as some servers listen on every one.
        taken.bind(("0.0.0.0", 0))
        _ = protocol == "h3" or taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run([TARGET, "--server", server, "--protocol", protocol, "--port", str(port), *flags],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    equal((done.returncode, done.stderr),
          (1, f"candor target: cannot listen on 127.0.0.1:{port}: address already in use\n"))


def stats(target):
    time.sleep(0.3)
    before = target.stats()["requests_answered"]
    for _ in range(10):
        target.visit()
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
    leftovers = glob.glob(f"/tmp/candor-target-{target.process.pid}-*")
    assert not leftovers, f"{leftovers} are left"


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
