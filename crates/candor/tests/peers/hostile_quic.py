"""A hostile server of HTTP/3, with the certificate and the key of the files in the arguments; the third chooses what it does.
Prints its port, and ends at the end of its input. A fourth argument is a file that it makes at the first request of parts."""

import asyncio
import os
import socket
import sys
import threading

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.h3.connection import FrameType, H3Connection, encode_frame
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import HandshakeCompleted, ProtocolNegotiated

MODE = sys.argv[3]
# Status 200 of the static table of QPACK.
OK = bytes([0, 0, 0xD9])
# A table of 4,096 bytes, and one entry of 3,901 for it.
ENTRY = bytes([0x3F, 0xE1, 0x1F, 0x41]) + b"x" + bytes([0x7F, 0xBD, 0x1D]) + b"y" * 3900


class Deaf:
    """An encoder that hears nothing of what the client's decoder says to inserts that it did not make."""

    def apply_settings(self, **_):
        return b""

    def feed_decoder(self, _):
        pass


class Server(QuicConnectionProtocol):
    http = None
    is_dark = False
    has_replied = False
    has_inserted = False

    def datagram_received(self, data, address):
        self.peer = address
        if not self.is_dark:
            super().datagram_received(data, address)

    def quic_event_received(self, event):
        if isinstance(event, ProtocolNegotiated):
            self.http = H3Connection(self._quic)
            if MODE == "qpack bomb":
                self.http._encoder = Deaf()
        elif isinstance(event, HandshakeCompleted) and MODE == "black hole":
            # What belongs to the handshake leaves; nothing comes in any more, and nothing else goes out.
            asyncio.get_running_loop().call_later(0.02, self.go_dark)
        for event in self.http.handle_event(event) if self.http else []:
            if isinstance(event, HeadersReceived) and MODE != "black hole":
                kind = MODE.split()[0]
                if len(sys.argv) > 4 and kind != "socket":
                    open(sys.argv[4], "w").close()
                parts = {"events": self.answer_events, "call": self.answer_call, "socket": self.open_socket}
                parts.get(kind, self.answer)(event.stream_id)
            elif isinstance(event, DataReceived) and MODE.startswith("socket") and not self.has_replied:
                self.has_replied = True
                if len(sys.argv) > 4:
                    open(sys.argv[4], "w").close()
                self.answer_message(event.stream_id)
        self.transmit()

    def go_dark(self):
        self.is_dark = True

    def transmit(self):
        if not self.is_dark:
            super().transmit()

    def answer(self, stream):
        quic = self._quic
        send = lambda data, ends=True: quic.send_stream_data(stream, data, ends)
        headers = encode_frame(FrameType.HEADERS, OK)
        if MODE == "qpack bomb":
            if not self.has_inserted:
                self.has_inserted = True
                quic.send_stream_data(self.http._local_encoder_stream_id, ENTRY)
            # 50 times the entry that was inserted first.
            send(encode_frame(FrameType.HEADERS, bytes([2, 0, 0xD9]) + b"\x80" * 50))
        elif MODE == "frames out of place":
            send(encode_frame(FrameType.DATA, b"before its headers"))
        elif MODE == "settings on a request":
            send(encode_frame(FrameType.SETTINGS, b""))
        elif MODE == "reset in mid-body":
            send(headers + encode_frame(FrameType.DATA, b"half")[:4], False)
            asyncio.get_running_loop().call_later(0.02, self.reset, stream)
        elif MODE == "stateless reset":
            token = quic._host_cids[0].stateless_reset_token
            self._transport.sendto(bytes([0x40]) + os.urandom(40) + token, self.peer)
            self.is_dark = True
        else:
            send(headers + encode_frame(FrameType.DATA, b"fine"))

    def again(self, stream, content):
        """The same content in a frame of its own, until the client wants no more of it."""
        try:
            self._quic.send_stream_data(stream, encode_frame(FrameType.DATA, content), False)
        except RuntimeError:
            return
        self.transmit()
        asyncio.get_running_loop().call_later(0.02, self.again, stream, content)

    def answer_events(self, stream):
        head, event = encode_frame(FrameType.HEADERS, OK), encode_frame(FrameType.DATA, b"data: a\n\n")
        self._quic.send_stream_data(stream, head + event, False)
        if MODE == "events without end":
            self.again(stream, b"data: b\n\n")
        elif MODE == "events of nothing":
            self._quic.send_stream_data(stream, encode_frame(FrameType.DATA, b"") * 10001, False)
        else:
            asyncio.get_running_loop().call_later(0.02, self.reset, stream)

    def answer_call(self, stream):
        self.http.send_headers(stream, [(b":status", b"200"), (b"content-type", b"application/grpc")])
        if MODE == "call without end":
            return self.again(stream, bytes(5))
        lengths = {"call cut short": b"\0\0\0\0\x09abc", "call too large": b"\0\xff\xff\xff\xff"}
        self.http.send_data(stream, lengths.get(MODE, bytes(5)), False)
        if MODE == "call without status":
            self._quic.send_stream_data(stream, b"", True)
        else:
            self.http.send_headers(stream, [(b"grpc-status", b"0")], True)

    def open_socket(self, stream):
        refuses = MODE == "socket refused"
        self.http.send_headers(stream, [(b":status", b"403" if refuses else b"200")], refuses)

    def answer_message(self, stream):
        if MODE == "socket masked":
            frame = bytes([0x81, 0x81, 1, 2, 3, 4, 0x61])
            self._quic.send_stream_data(stream, encode_frame(FrameType.DATA, frame), False)
        elif MODE == "socket reset":
            self.reset(stream)
        elif MODE == "socket stopped":
            self._quic.stop_stream(stream, 0x100)
        elif MODE == "socket ended":
            self._quic.send_stream_data(stream, b"", True)
        elif MODE == "socket gone":
            goaway = encode_frame(FrameType.GOAWAY, bytes([0]))
            self._quic.send_stream_data(self.http._local_control_stream_id, goaway)
        elif MODE == "socket cut off":
            self._quic.close(0x102)

    def reset(self, stream):
        self._quic.reset_stream(stream, 0x102)
        self.transmit()


def raw():
    """Says nothing, or that it speaks a version that nobody knows (RFC 9000 17.2.1)."""
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 0))
    print(udp.getsockname()[1], flush=True)
    while True:
        data, address = udp.recvfrom(65536)
        if MODE == "unknown version" and data[0] & 0x80:
            length = data[5]
            to, rest = data[5 : 6 + length], data[6 + length :]
            own = rest[: 1 + rest[0]]
            udp.sendto(bytes([0xC0, 0, 0, 0, 0]) + own + to + bytes.fromhex("1a2a3a4a"), address)


def nothing(*_, **__):
    pass


def end():
    sys.stdin.read()
    os._exit(0)


async def main():
    windows = {}
    if MODE in ("tiny windows", "closed windows"):
        windows = {"max_data": 300, "max_stream_data": 200}
    if MODE == "closed windows":
        QuicConnection._write_connection_limits = QuicConnection._write_stream_limits = nothing
    if MODE == "no acknowledgements":
        real = QuicConnection._write_ack_frame

        def ack(self, builder, space, now):
            # Of handshakes alone.
            if space is not self._spaces[list(self._spaces)[-1]]:
                real(self, builder=builder, space=space, now=now)

        QuicConnection._write_ack_frame = ack
    configuration = QuicConfiguration(alpn_protocols=["h3"], is_client=False, **windows)
    configuration.load_cert_chain(*sys.argv[1:3])
    server = await serve("127.0.0.1", 0, configuration=configuration, create_protocol=Server)
    print(server._transport.get_extra_info("sockname")[1], flush=True)
    await asyncio.Event().wait()


threading.Thread(target=end, daemon=True).start()
if MODE in ("silence", "unknown version"):
    raw()
else:
    asyncio.run(main())
