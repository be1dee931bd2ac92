"""Event streams on uvicorn: /COUNT/MS sends so many events, each so many milliseconds after the one before. Prints its
port; at the end of its input it prints what it counted, as JSON, and ends."""

import asyncio
import collections
import json
import os
import socket
import sys
import threading

import uvicorn

counts = collections.Counter()


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    count, wait_ms = (int(part) for part in scope["path"].strip("/").split("/"))
    counts["streams"] += 1
    kind = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": kind})
    for number in range(count):
        await asyncio.sleep(wait_ms / 1000)
        body = f": a comment\n\nid: {number}\ndata: event {number}\n\n".encode()
        await send({"type": "http.response.body", "body": body, "more_body": True})
        counts["events"] += 1
    await send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})


def end():
    sys.stdin.read()
    try:
        print(json.dumps(counts), flush=True)
    finally:
        # Even if there is nobody any more to tell.
        os._exit(0)


listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(128)
print(listener.getsockname()[1], flush=True)
threading.Thread(target=end, daemon=True).start()
uvicorn.Server(uvicorn.Config(app, log_level="critical")).run(sockets=[listener])
