"""The gRPC services of the pages, on grpcio with reflection: shop.Orders, and the Greeter of gRPC's examples.

    python3 grpc.py PORT FOLDER     # writes orders.proto and greeter.proto into the folder
"""

import os
import sys
import threading
import time
from concurrent import futures

# This file's own name is that of the package.
sys.path.pop(0)
import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from grpc_reflection.v1alpha import reflection

STRING, INT64 = 9, 3
# Package, service, methods (name, message, its fields, whether the response is a stream).
SERVICES = [
    ("shop", "Orders", "Order", [("id", INT64), ("topic", STRING)], [("Get", False), ("Watch", True)]),
    ("helloworld", "Greeter", "Hello", [("name", STRING), ("message", STRING)], [("SayHello", False)]),
]
pool = descriptor_pool.Default()
server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))


def stream(request, context):
    for _ in range(5):
        yield request
        time.sleep(0.005)


for package, service, message, fields, methods in SERVICES:
    file = descriptor_pb2.FileDescriptorProto(name=f"{service}.proto", package=package, syntax="proto3")
    text = f'syntax = "proto3";\npackage {package};\n\nmessage {message} {{\n'
    for number, (name, kind) in enumerate(fields, 1):
        made = file.message_type[0] if file.message_type else file.message_type.add(name=message)
        made.field.add(name=name, number=number, type=kind, label=1)
        text += f"  {'string' if kind == STRING else 'int64'} {name} = {number};\n"
    text += f"}}\n\nservice {service} {{\n"
    described = file.service.add(name=service)
    for name, is_stream in methods:
        full = f".{package}.{message}"
        described.method.add(name=name, input_type=full, output_type=full, server_streaming=is_stream)
        text += f"  rpc {name}({message}) returns ({'stream ' if is_stream else ''}{message});\n"
    pool.AddSerializedFile(file.SerializeToString())
    Message = message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{message}"))
    handlers = {
        name: (grpc.unary_stream_rpc_method_handler(stream, Message.FromString, Message.SerializeToString)
               if is_stream else
               grpc.unary_unary_rpc_method_handler(lambda request, _: request, Message.FromString,
                                                   Message.SerializeToString))
        for name, is_stream in methods
    }
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(f"{package}.{service}", handlers)])
    with open(os.path.join(sys.argv[2], f"{service.lower()}.proto"), "w") as out:
        out.write(text + "}\n")

reflection.enable_server_reflection(["shop.Orders", "helloworld.Greeter", reflection.SERVICE_NAME], server)
server.add_insecure_port(f"127.0.0.1:{sys.argv[1]}")
server.start()
threading.Event().wait()
