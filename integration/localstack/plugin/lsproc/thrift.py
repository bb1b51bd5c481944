"""Work and waiting of LocalStack that no test needs, half of it in one thread for all its services."""

import functools
import sys

from localstack.services.lambda_.invocation import version_manager
from localstack.utils.threads import start_thread
from twisted.web import http


def save():
    # The one thread that reads and writes all connections gives way at each call of the system
    # and waited five milliseconds, the default, until another one gave way.
    sys.setswitchinterval(0.0005)
    # Each invocation began a thread that told CloudWatch of it and whose stack was kept for ever: after 32,000 of
    # them no thread could begin any more. The metrics of queues have a switch (localstack.sh).
    version_manager.start_thread = _no_metrics
    # The type of a body was parsed as that of an e-mail, for each request anew.
    http._parseContentType = functools.lru_cache(maxsize=100)(http._parseContentType)


def _no_metrics(method, *args, name=None, **kwargs):
    """start_thread, but for what tells CloudWatch of an invocation."""
    if name is None or not name.startswith("record-cloudwatch-metric"):
        return start_thread(method, *args, name=name, **kwargs)
