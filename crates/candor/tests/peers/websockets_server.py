"""An echo over WebSocket on the library websockets, with compression. Prints its port; at the end of its input it prints
what it counted, as JSON, and ends."""

import asyncio
import collections
import json
import os
import sys
import threading

from websockets.asyncio.server import serve

counts = collections.Counter()


async def echo(connection):
    counts["connections"] += 1
    async for message in connection:
        counts["text" if isinstance(message, str) else "binary"] += 1
        await connection.send(message)
    counts[f"closed with {connection.close_code}"] += 1


def end():
    sys.stdin.read()
    try:
        print(json.dumps(counts), flush=True)
    finally:
        # Even if there is nobody any more to tell.
        os._exit(0)


async def main():
    async with serve(echo, "127.0.0.1", 0) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        threading.Thread(target=end, daemon=True).start()
        await server.serve_forever()


asyncio.run(main())
