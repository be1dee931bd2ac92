"""What has to come back in each scenario: status, length, bytes. A check takes a target and raises what is wrong."""

import gzip
import json
import os
import socket
import time
import zlib

from target import Target, equal, read_answer, short

LARGE = bytes(ord("a") + i % 26 for i in range(65536))
# The first byte of WebSocket frames.
FINAL = 128
TEXT, BINARY, CLOSE, PING, PONG = (FINAL | kind for kind in (1, 2, 8, 9, 10))
FORM = "&".join(f"k{i:03}=abcdefghijklmnopqrstuvwxyz" for i in range(128)).encode()


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
        connection.sendall(b"GET /ws/echo HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                           b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
        status, headers, _ = read_answer(stream, with_body=False)
        equal((status, headers["sec-websocket-accept"]), (101, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="))
        for first in (TEXT, TEXT, BINARY):
            connection.sendall(frame(first, LARGE[:1024]))
            equal((stream.read(4), stream.read(1024)), (bytes([first, 126, 4, 0]), LARGE[:1024]))
        # Several at once, a message in two frames, control frames.
        connection.sendall(frame(TEXT, b"a") * 3 + frame(PING, b"here"))
        equal(stream.read(9 + 6), bytes([TEXT, 1, 97]) * 3 + bytes([PONG, 4]) + b"here")
        connection.sendall(frame(TEXT - FINAL, b"ab") + frame(FINAL, b"cd"))
        equal(stream.read(6), bytes([TEXT, 4]) + b"abcd")
        connection.sendall(frame(CLOSE, b"\x03\xe8"))
        equal((stream.read(4), stream.read()), (bytes([CLOSE, 2]) + b"\x03\xe8", b""))


def frame(first, data):
    """A client's frame: its first byte (the final bit and what it is), and its data, masked."""
    length = bytes([128 | len(data)]) if len(data) < 126 else bytes([128 | 126]) + len(data).to_bytes(2, "big")
    mask = b"\x01\x02\x03\x04"
    return bytes([first]) + length + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(data))


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


# Connections that a limit of 50 lets through. ranch lets an acceptor go on as soon as its connection is counted, until the
# 50th: that one, and those of the other 15 acceptors after it, are served and hold their acceptors. (Of inets see the
# check.)
SLOTS = {"raw": 50, "inets": 50, "mochiweb": 50, "roadrunner": 50, "bandit": 50, "cowboy": 49 + 16, "cowboy1": 49 + 16}


def slots(server, protocol):
    """One connection after the other, each answered before the next one comes; they all stay open.

    All at once would let fewer through to inets, and how many would be chance: its acceptor starts a handler for
    whoever comes, each handler asks httpd_manager whether there is room (httpd_request_handler:continue_init), and
    that one counts the handlers that there are by then, those that it is going to refuse too (httpd_manager:
    handle_new_connection/4). A handler that asks when 51 have been started is refused though it was the first. One
    after the other, the one that asks is always the last of those counted, and 50 is exact.
    """
    with Target("--server", server, "--scenario", "backpressure_sustained", "--protocol", protocol) as target:
        streams, served = [], 0
        while len(streams) < 120 and served == len(streams):
            streams.append(asking(target))
            # cowboy closes connections on which nothing has come for 5 s, so all of this has to be over before that.
            served += is_served(streams[-1], patience=2)
        # No client has left, so the rest is refused (a close, a 503), or waits.
        rest = [asking(target) for _ in range(120 - len(streams))]
        time.sleep(1)
        late = sum(is_served(stream, patience=0.001) for stream in rest)
        for connection, _ in streams + rest:
            connection.close()
        equal((served, late), (SLOTS[server], 0))


def asking(target):
    connection, stream = target.connect()
    try:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    except ConnectionError:
        pass  # It was closed at once, which is_served finds out.
    return connection, stream


def is_served(asked, patience):
    connection, stream = asked
    connection.settimeout(patience)
    try:
        return read_answer(stream)[0] == 200
    except (OSError, AssertionError):
        return False


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
# These need a target that was started for them; so do those whose settings differ.
OWN_TARGET = {"backpressure_sustained", "large_keepalive_session"}
OWN_SETTINGS = {"gzip_response", "large_post_streaming", "httparena_upload_20mb_manual"}
