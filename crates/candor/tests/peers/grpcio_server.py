"""The service of echo.proto on grpcio, with reflection. Prints its port; at the end of its input it prints what it
counted, as JSON, and ends.

    python3 grpcio_server.py ECHO.BINPB
"""

import collections
import json
import sys
import time
from concurrent import futures

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from grpc_reflection.v1alpha import reflection

descriptors = descriptor_pb2.FileDescriptorSet.FromString(open(sys.argv[1], "rb").read())
pool = descriptor_pool.Default()
for file in descriptors.file:
    pool.AddSerializedFile(file.SerializeToString())
Message = message_factory.GetMessageClass(pool.FindMessageTypeByName("candor.Message"))
counts = collections.Counter()
seen = collections.Counter()


def fail(request, context):
    if request.status:
        codes = {code.value[0]: code for code in grpc.StatusCode}
        context.abort(codes[request.status], "as asked for")


def unary(request, context):
    counts["unary"] += 1
    seen[request.seq] += 1
    for name, value in context.invocation_metadata():
        if name.startswith("x-"):
            counts[f"{name}: {value}"] += 1
    fail(request, context)
    return request


def server_stream(request, context):
    counts["server_stream"] += 1
    for seq in range(request.count):
        time.sleep(request.every_ns / 1e9)
        counts["sent"] += 1
        yield Message(seq=seq)


def client_stream(requests, context):
    counts["client_stream"] += 1
    count = sum(1 for _ in requests)
    counts["received"] += count
    return Message(count=count)


def bidi(requests, context):
    counts["bidi"] += 1
    for request in requests:
        counts["echoed"] += 1
        yield request


kinds = {
    "Unary": grpc.unary_unary_rpc_method_handler(unary, Message.FromString, Message.SerializeToString),
    "ServerStream": grpc.unary_stream_rpc_method_handler(server_stream, Message.FromString, Message.SerializeToString),
    "ClientStream": grpc.stream_unary_rpc_method_handler(client_stream, Message.FromString, Message.SerializeToString),
    "Bidi": grpc.stream_stream_rpc_method_handler(bidi, Message.FromString, Message.SerializeToString),
}
server = grpc.server(futures.ThreadPoolExecutor(max_workers=16))
server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("candor.Echo", kinds)])
reflection.enable_server_reflection(["candor.Echo", reflection.SERVICE_NAME], server)
print(server.add_insecure_port("127.0.0.1:0"), flush=True)
server.start()
sys.stdin.read()
counts["distinct"] = len(seen)
try:
    print(json.dumps(counts), flush=True)
finally:
    # Even if there is nobody any more to tell.
    server.stop(None)
