"""The common parts of the Python drivers: histogram, counts, and the line protocol of docs/drivers.md.

A driver gives `serve` its description and a function that runs a cell. Nothing here knows an HTTP
library.
"""

import json
import platform
import sys
import time


class Failure(Exception):
    """A failed request, with one of the kinds that all drivers share."""

    def __init__(self, kind, example):
        super().__init__(example)
        self.kind, self.example = kind, str(example)


class Histogram:
    """Durations, bucketed by their eleven leading bits; extremes and the sum are exact."""

    def __init__(self):
        self.counts, self.min, self.max, self.sum = {}, None, None, 0

    def record(self, ns):
        shift = max(0, ns.bit_length() - 11)
        bucket = ns >> shift << shift
        self.counts[bucket] = self.counts.get(bucket, 0) + 1
        self.min = ns if self.min is None else min(self.min, ns)
        self.max = ns if self.max is None else max(self.max, ns)
        self.sum += ns

    def merge(self, other):
        for bucket, count in other.counts.items():
            self.counts[bucket] = self.counts.get(bucket, 0) + count
        if other.min is not None:
            self.min = other.min if self.min is None else min(self.min, other.min)
            self.max = other.max if self.max is None else max(self.max, other.max)
        self.sum += other.sum

    def json(self):
        return {"min": self.min, "max": self.max, "sum": self.sum,
                "counts": [[bucket, self.counts[bucket]] for bucket in sorted(self.counts)]}


class Caller:
    """The counts of one caller: requests that ended in the window, and outside of it."""

    def __init__(self, cell, begin_ns, end_ns):
        self.cell, self.begin_ns, self.end_ns = cell, begin_ns, end_ns
        self.inside, self.outside, self.examples = [0, {}], [0, {}], {}
        self.latency = Histogram()

    def ended(self, sent_ns, status=None, body_bytes=None, failure=None):
        """Counts a request; False when it is time to stop."""
        done_ns = time.monotonic_ns()
        if failure is None:
            failure = self.judge(status, body_bytes)
        in_window = self.begin_ns <= done_ns < self.end_ns
        books = self.inside if in_window else self.outside
        if failure is None:
            books[0] += 1
            if in_window:
                self.latency.record(done_ns - sent_ns)
        else:
            books[1][failure.kind] = books[1].get(failure.kind, 0) + 1
            self.examples.setdefault(failure.kind, failure.example)
        return done_ns < self.end_ns

    def judge(self, status, body_bytes):
        if status != self.cell["expect_status"]:
            return Failure("status", status)
        expected = self.cell["expect_body_bytes"]
        if expected is not None and body_bytes != expected:
            return Failure("body", f"{body_bytes} bytes")
        return None


def result(cell, callers):
    """The reply line for a cell."""
    total = {"inside": [0, {}], "outside": [0, {}]}
    latency, examples = Histogram(), {}
    for caller in callers:
        for name, books in (("inside", caller.inside), ("outside", caller.outside)):
            total[name][0] += books[0]
            for kind, count in books[1].items():
                total[name][1][kind] = total[name][1].get(kind, 0) + count
        latency.merge(caller.latency)
        examples = {**caller.examples, **examples}
    return {"pool": cell["pool"], "concurrency": cell["concurrency"],
            "window_ns": cell["duration_ms"] * 1_000_000,
            "ok": total["inside"][0], "errors": total["inside"][1], "examples": examples,
            "outside": {"ok": total["outside"][0], "errors": total["outside"][1]},
            "latency_ns": latency.json()}


def window(cell):
    """Begin and end of the window after a warm-up that begins now."""
    begin_ns = time.monotonic_ns() + cell["warm_up_ms"] * 1_000_000
    return begin_ns, begin_ns + cell["duration_ms"] * 1_000_000


def checked(line):
    """A cell from a line, with its defaults; a ValueError names the fault."""
    if not isinstance(line.get("url"), str):
        raise ValueError('"url" is needed')
    cell = {"url": line["url"]}
    for name, least, default in (("pool", 1, ...), ("concurrency", 1, ...), ("warm_up_ms", 0, 0),
                                 ("duration_ms", 1, ...), ("timeout_ms", 1, 30000),
                                 ("expect_status", 100, 200), ("expect_body_bytes", 0, None)):
        value = line.get(name, default)
        if value is ...:
            raise ValueError(f'"{name}" is needed')
        if not (value is None and default is None) and (type(value) is not int or value < least):
            raise ValueError(f'"{name}" must be a whole number, at least {least}')
        cell[name] = value
    return cell


def answer(text, client, version, run):
    try:
        line = json.loads(text)
        if not isinstance(line, dict) or line.get("do") not in ("describe", "run"):
            return {"error": 'a line needs "do": "describe" or "run"'}
        if line["do"] == "describe":
            return {"driver": "candor.driver/1", "client": client, "version": version,
                    "runtime": "Python " + platform.python_version()}
        return run(checked(line))
    except json.JSONDecodeError as error:
        return {"error": f"this is no JSON: {error}"}
    except ValueError as error:
        return {"error": str(error)}


def serve(client, version, run):
    """Replies to lines until standard input ends."""
    for text in sys.stdin:
        print(json.dumps(answer(text, client, version, run), separators=(",", ":")), flush=True)
