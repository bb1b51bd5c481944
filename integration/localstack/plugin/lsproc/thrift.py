"""Work and waiting of LocalStack that no test needs, half of it in one thread for all its services."""

import functools
import sys
import time
from queue import Empty, Queue

from localstack.services.lambda_.invocation import logs, version_manager
from localstack.utils.threads import start_thread
from twisted.web import http


def save():
    # The one thread that reads and writes all connections gives way at each call of the system
    # and waited five milliseconds, the default, until another one gave way.
    sys.setswitchinterval(0.0005)
    # Each invocation began a thread that told CloudWatch of it and whose stack was kept for ever: after 32,000 of
    # them no thread could begin any more. The metrics of queues have a switch (localstack.sh).
    version_manager.start_thread = _no_metrics
    # What functions write was a call of CloudWatch Logs for each invocation, a sixth of all work.
    logs.Queue = Lines
    # The type of a body was parsed as that of an e-mail, for each request anew.
    http._parseContentType = functools.lru_cache(maxsize=100)(http._parseContentType)


def _no_metrics(method, *args, name=None, **kwargs):
    """start_thread, but for what tells CloudWatch of an invocation."""
    if name is None or not name.startswith("record-cloudwatch-metric"):
        return start_thread(method, *args, name=name, **kwargs)


GATHER = 0.2  # seconds
MOST = 256 * 1024  # characters that are joined: CloudWatch Logs takes 1 MB at once


class Lines(Queue):
    """What functions write, as items of LocalStack's: those of one stream that come within GATHER are one."""

    def __init__(self):
        super().__init__()
        self.gathered = []

    def get(self):
        if not self.gathered:
            items = [super().get()]
            time.sleep(GATHER)
            try:
                while True:
                    items.append(super().get(block=False))
            except Empty:
                pass
            self.gathered = list(_joined(items))
        return self.gathered.pop(0)


def _joined(items):
    of = {}  # stream -> what is joined of it so far
    for item in items:
        if item is logs.QUEUE_SHUTDOWN:
            break
        stream = (item.log_group, item.log_stream)
        before = of.pop(stream, None)
        if before and len(before.logs) + len(item.logs) <= MOST:
            item = logs.LogItem(*stream, before.logs + item.logs)
        elif before:
            yield before
        of[stream] = item
    yield from of.values()
    if logs.QUEUE_SHUTDOWN in items:
        yield logs.QUEUE_SHUTDOWN
