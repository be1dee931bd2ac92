"""HTTP/3 on aioquic, with the certificate and the key of the files in the arguments: /SIZE answers with so many bytes, /reset
resets the stream, /close closes the connection, /away says GOAWAY before it answers, /token gives a token and a cookie of
it, /use counts those that come back, /row counts rows, /elsewhere redirects to /use, /keys takes new keys at every tenth
request. Prints its port, which a third argument chooses; at the end of its input it prints what it counted, as JSON,
and ends."""

import asyncio
import collections
import json
import os
import sys
import threading
import time

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.h3.connection import FrameType, H3Connection, encode_frame
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted, ProtocolNegotiated
from aioquic.tls import Epoch

counts = collections.Counter()
tokens = set()


class Server(QuicConnectionProtocol):
    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.http = None
        self.requests = {}
        self.phase = 0

    def quic_event_received(self, event):
        if isinstance(event, ProtocolNegotiated):
            self.http = H3Connection(self._quic)
        elif isinstance(event, HandshakeCompleted):
            counts["connections"] += 1
            counts["resumed"] += event.session_resumed
        elif isinstance(event, ConnectionTerminated):
            counts[f"closed with {event.error_code:#x}"] += 1
        for event in self.http.handle_event(event) if self.http else []:
            if isinstance(event, HeadersReceived):
                fields = dict(event.headers)
                counts[fields[b":method"].decode()] += 1
                counts["x-id"] += b"x-id" in fields
                self.requests[event.stream_id] = fields
            elif isinstance(event, DataReceived):
                counts["bytes"] += len(event.data)
            if event.stream_ended:
                self.answer(event.stream_id, self.requests.pop(event.stream_id))
        self.transmit()
        if self.http:
            before, self.phase = self.phase, self._quic._cryptos[Epoch.ONE_RTT].key_phase
            counts["key updates"] += before != self.phase

    def answer(self, stream, fields):
        path = fields[b":path"].decode().strip("/")
        counts["requests"] += 1
        if path == "close":
            return self._quic.close(error_code=0x102, reason_phrase="as asked for")
        if path == "reset":
            return self._quic.reset_stream(stream, 0x10B)
        if path == "away":
            goaway = encode_frame(FrameType.GOAWAY, bytes([0x80, *(stream + 4).to_bytes(3, "big")]))
            self._quic.send_stream_data(self.http._local_control_stream_id, goaway)
        body = b"x" * int(path if path.isdigit() else 5)
        status, more = b"200", []
        if path == "token":
            token = f"t-{counts['requests']}".encode()
            tokens.add(token)
            body = json.dumps({"token": token.decode()}).encode()
            more = [(b"set-cookie", b"sid=" + token + b"; Path=/")]
        elif path == "use":
            token = fields.get(b"x-token")
            counts["used"] += token in tokens and fields.get(b"cookie") == b"sid=" + token
        elif path == "row":
            counts["row " + fields[b"x-row"].decode()] += 1
        elif path == "keys" and counts["requests"] % 10 == 0:
            self._quic.request_key_update()
        elif path == "elsewhere":
            status, more = b"302", [(b"location", b"/use")]
        length = str(len(body)).encode()
        head = [(b":status", status), (b"server", b"aioquic"), (b"content-length", length), *more]
        self.http.send_headers(stream, head, end_stream=not body)
        if body:
            self.http.send_data(stream, body, end_stream=True)


def end():
    sys.stdin.read()
    # A connection that was closed is over three timeouts later (RFC 9000 10.2).
    for _ in range(500):
        if sum(n for name, n in counts.copy().items() if name.startswith("closed")) >= counts["connections"]:
            break
        time.sleep(0.01)
    try:
        print(json.dumps(counts), flush=True)
    finally:
        os._exit(0)


async def main():
    configuration = QuicConfiguration(alpn_protocols=["h3"], is_client=False)
    configuration.load_cert_chain(*sys.argv[1:3])
    tickets = {}
    server = await serve(
        "127.0.0.1",
        int(sys.argv[3]) if len(sys.argv) > 3 else 0,
        configuration=configuration,
        create_protocol=Server,
        session_ticket_fetcher=tickets.get,
        session_ticket_handler=lambda ticket: tickets.update({ticket.ticket: ticket}),
    )
    print(server._transport.get_extra_info("sockname")[1], flush=True)
    threading.Thread(target=end, daemon=True).start()
    await asyncio.Event().wait()


asyncio.run(main())
