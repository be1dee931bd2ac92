#!/usr/bin/env python3
"""A driver for Python's HTTP clients: driver.py --client urllib3|aiohttp|null.

The protocol is that of docs/drivers.md. urllib3 has a thread for each caller, aiohttp a task.
"""

import argparse
import asyncio
import sys
import threading
import time

from load import Caller, Failure, result, serve, window


def run_urllib3(cell):
    import urllib3
    timeout = urllib3.Timeout(total=cell["timeout_ms"] / 1000)
    # `block`: a caller waits for a connection, with the same timeout as for a response, and the
    # number of connections never exceeds the pool's size.
    manager = urllib3.PoolManager(num_pools=1, maxsize=cell["pool"], block=True, retries=False)
    pool = manager.connection_from_url(cell["url"])
    target = urllib3.util.parse_url(cell["url"]).request_uri

    def request():
        try:
            answer = pool.request("GET", target, timeout=timeout, pool_timeout=cell["timeout_ms"] / 1000,
                                  redirect=False)
            return {"status": answer.status, "body_bytes": len(answer.data)}
        except urllib3.exceptions.HTTPError as error:
            return {"failure": Failure(urllib3_kind(urllib3.exceptions, error), error)}

    done = in_threads(cell, request)
    manager.clear()
    return done


def urllib3_kind(exceptions, error):
    if isinstance(error, exceptions.EmptyPoolError):
        return "pool-timeout"
    # By inheritance, the error of a refused connection is a timeout too.
    if isinstance(error, exceptions.NewConnectionError):
        return "refused" if "refused" in str(error) else "other"
    if isinstance(error, exceptions.TimeoutError):
        return "timeout"
    if isinstance(error, exceptions.ProtocolError):
        return "closed"
    return "other"


def in_threads(cell, request):
    begin_ns, end_ns = window(cell)
    callers = [Caller(cell, begin_ns, end_ns) for _ in range(cell["concurrency"])]

    def call(caller):
        going = True
        while going:
            sent_ns = time.monotonic_ns()
            going = caller.ended(sent_ns, **request())

    threads = [threading.Thread(target=call, args=(caller,), daemon=True) for caller in callers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return result(cell, callers)


def run_aiohttp(cell):
    return asyncio.run(aiohttp_cell(cell))


async def aiohttp_cell(cell):
    import aiohttp
    connector = aiohttp.TCPConnector(limit=cell["pool"], force_close=False)
    timeout = aiohttp.ClientTimeout(total=cell["timeout_ms"] / 1000)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        begin_ns, end_ns = window(cell)
        callers = [Caller(cell, begin_ns, end_ns) for _ in range(cell["concurrency"])]

        async def call(caller):
            going = True
            while going:
                sent_ns = time.monotonic_ns()
                going = caller.ended(sent_ns, **await request())

        async def request():
            try:
                async with session.get(cell["url"], allow_redirects=False) as answer:
                    body = await answer.read()
                    return {"status": answer.status, "body_bytes": len(body)}
            except asyncio.TimeoutError as error:
                return {"failure": Failure("timeout", error)}
            except aiohttp.ClientConnectorError as error:
                refused = isinstance(error.os_error, ConnectionRefusedError)
                return {"failure": Failure("refused" if refused else "other", error)}
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientPayloadError, ConnectionError) as error:
                return {"failure": Failure("closed", error)}
            except aiohttp.ClientError as error:
                return {"failure": Failure("other", error)}

        await asyncio.gather(*(call(caller) for caller in callers))
    return result(cell, callers)


def run_null(cell):
    return in_threads(cell, lambda: {"status": cell["expect_status"], "body_bytes": cell["expect_body_bytes"]})


CLIENTS = {"urllib3": run_urllib3, "aiohttp": run_aiohttp, "null": run_null}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--client", required=True, choices=sorted(CLIENTS))
    client = parser.parse_args().client
    version = "none"
    if client != "null":
        try:
            version = __import__(client).__version__
        except ImportError:
            print(f"candor driver: {client} is not installed: python3 -m pip install {client}", file=sys.stderr)
            sys.exit(2)
    serve(client, version, CLIENTS[client])


if __name__ == "__main__":
    main()
