"""Hands a copy of each request that AWS would see, and of its answer, to a judge in a process beside this one.

LSPROC_JUDGE is the command of the judge and LSPROC_JUDGE_SOCKET is where it listens. LSPROC_TAP is a program that passes
the requests on that functions send to DynamoDB directly. Requests of LocalStack to itself are its own affair.
A request with the header X-Judge-Only was answered by a fake, and is only judged.
/_lsproc/verdict asks for the verdict: ?services= names, with commas, those that must have been called.
"""

import json
import os
import shlex
import socket
import struct
import subprocess
import threading
import time
from urllib.parse import urlencode

from rolo.request import get_raw_path
from werkzeug import Response

from localstack.aws.handlers import run_custom_response_handlers, serve_custom_service_request_handlers
from localstack.services.dynamodb.server import DynamodbServer
from localstack.services.edge import ROUTER

SOCKET, TAP = os.environ.get("LSPROC_JUDGE_SOCKET", ""), os.environ.get("LSPROC_TAP", "")
LENGTHS = struct.Struct(">III")
ONLY = "X-Judge-Only"
ADDED = ("x-moto-", "x-localstack-", ONLY.lower())  # headers that LocalStack adds to what a client sent
LONGEST_WAIT = 600  # seconds for a verdict on all that was sent

_lock = threading.Lock()
_children = []  # both end when their standard input does, which is with this process
_connection = None
_tables = None
_lost = []  # requests that the judge was not told of


def _connect():
    for _ in range(4000):  # of a twentieth of a second: it is nice, and others may have all processors
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(SOCKET)
            return connection
        except OSError:
            connection.close()
            if _children[0].poll() is not None:
                break
            time.sleep(0.05)
    raise RuntimeError("the judge of requests does not run")


def _frame(about, body=b"", answer=b""):
    text = json.dumps(about).encode()
    return LENGTHS.pack(len(text), len(body), len(answer)) + text + body + answer


def _only_judged(chain, context, response):
    if context.request.headers.get(ONLY):
        response.status_code = 204
        chain.stop()


def _see(chain, context, response):
    # Paths that begin like this are the emulator's own; before it is ready they are taken for those of S3.
    if context.service is None or context.is_internal_call or context.request.method == "OPTIONS" or context.request.path.startswith("/_"):
        return
    try:
        _hand_over(context, response)
    except Exception as e:
        if isinstance(e, ValueError) and "closed file" in str(e):
            return  # the sender was killed before its answer, and its connection is closed
        _lost.append(f"{context.service.service_name} {context.request.method}: {e!r}")
        raise


def _hand_over(context, response):
    request, operation = context.request, context.operation
    about = {
        "service": context.service.service_name,
        "operation": operation.name if operation else "",
        "protocol": context.protocol or context.service.protocol,
        "method": request.method,
        "target": get_raw_path(request) + "?" + request.query_string.decode(),
        "headers": [(k, v) for k, v in request.headers.items() if not k.lower().startswith(ADDED)],
        "status": 0 if ONLY in request.headers else response.status_code,  # of an answer to look at
        "answered": list(response.headers.items()),
    }
    if operation and operation.has_streaming_input:
        body = b""
    elif request.form:  # the body was read as one
        body = urlencode(list(request.form.items(multi=True))).encode()
    else:
        body = request.get_data()
    answer = b"" if operation is None or operation.has_streaming_output else response.get_data()
    send(_frame(about, body, answer))


def send(message):
    with _lock:
        _connection.sendall(message)


def _verdict(request):
    services = [s for s in request.args.get("services", "").split(",") if s]
    with _connect() as connection:
        connection.settimeout(LONGEST_WAIT)
        connection.sendall(_frame({"verdict": services}))
        answer = b""
        while part := connection.recv(1 << 16):
            answer += part
    if _lost or not answer:
        return Response(f"{len(_lost)} requests never reached the judge: {_lost[:1]}", 500)
    return Response(answer, 200, content_type="application/json")


def tables():
    """The address of DynamoDB for those who ask it directly: LocalStack would only hand their requests on."""
    global _tables
    with _lock:
        if _tables is None:
            _tables = f"http://127.0.0.1:{DynamodbServer.get().port}"
            if SOCKET:
                tap = subprocess.Popen([TAP, _tables, SOCKET], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                _children.append(tap)
                _tables = tap.stdout.readline().strip()
        return _tables


def register():
    global _connection
    if not SOCKET:
        return
    _children.append(subprocess.Popen(shlex.split(os.environ["LSPROC_JUDGE"]), stdin=subprocess.PIPE))
    _connection = _connect()
    serve_custom_service_request_handlers.append(_only_judged)
    run_custom_response_handlers.append(_see)
    ROUTER.add("/_lsproc/verdict", _verdict)
