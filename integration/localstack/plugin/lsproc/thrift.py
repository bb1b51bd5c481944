"""Work and waiting of LocalStack that no test needs, half of it in one thread for all its services."""

import functools
import sys

from localstack.services.lambda_.invocation import metrics
from twisted.web import http


def save():
    # The one thread that reads and writes all connections gives way at each call of the system
    # and waited five milliseconds, the default, until another one gave way.
    sys.setswitchinterval(0.0005)
    # Each invocation called CloudWatch for it; those of queues have a switch (localstack.sh).
    metrics.publish_lambda_metric = lambda *args, **kwargs: None
    # The type of a body was parsed as that of an e-mail, for each request anew.
    http._parseContentType = functools.lru_cache(maxsize=100)(http._parseContentType)
