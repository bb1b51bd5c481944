"""Runs moto on a free port of 127.0.0.1, prints the port, and ends with its standard input.

moto is not atomic: two conditional writes at once may both succeed, and two receives may get the same message. So it
answers one request at a time.
"""

import copy
import logging
import sys
import threading
import time

from moto.dynamodb import models
from moto.dynamodb.models.table import Table
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from moto.sqs.models import Queue
from werkzeug.serving import make_server


class OneByOne:
    """A WSGI application that answers one request at a time."""

    def __init__(self, app):
        self.app, self.lock = app, threading.Lock()

    def __call__(self, environ, start_response):
        with self.lock:
            answer = self.app(environ, start_response)
            try:
                return [b"".join(answer)]
            finally:
                if hasattr(answer, "close"):
                    answer.close()


class CopyOnce:
    """Stands in for the module copy during one transaction, for which moto copies a table once for each item."""

    def __init__(self):
        self.tables = {}

    def deepcopy(self, x, memo=None):
        if not isinstance(x, Table):
            return copy.deepcopy(x, memo)
        if x.name not in self.tables:
            self.tables[x.name] = copy.deepcopy(x)
        return self.tables[x.name]


def copy_table(table, memo):
    """Copies a table without its stream, which holds every item it ever had, and which nobody here reads."""
    new = object.__new__(Table)
    memo[id(table)] = new
    for name, value in vars(table).items():
        setattr(new, name, value if name == "stream_shard" else copy.deepcopy(value, memo))
    return new


def hurry_transactions():
    """Makes transactions cost what their table holds, once. The lock of OneByOne is what makes this safe."""
    carry_out = models.DynamoDBBackend.transact_write_items

    def transact_write_items(self, transact_items):
        models.copy = CopyOnce()
        return carry_out(self, transact_items)

    models.DynamoDBBackend.transact_write_items = transact_write_items
    Table.__deepcopy__ = copy_table


def wait_beside(lock):
    """Lets other requests be answered while a receive waits for messages."""

    def wait_for_messages(self, timeout):
        lock.release()
        time.sleep(0.02)
        lock.acquire()

    Queue.wait_for_messages = wait_for_messages


def main():
    logging.disable()  # tests report what fails
    hurry_transactions()
    app = OneByOne(DomainDispatcherApplication(create_backend_app))
    wait_beside(app.lock)
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=MotoRequestHandler)
    server.socket.listen(4096)  # as many as come at once: werkzeug lets 128 wait
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()


main()
