"""Services, which LocalStack loads when they are asked for first.

It notes a service as loaded one moment before it knows its operations: who asks in that moment is told that
there is no such operation.
"""

import threading

from localstack.aws.handlers.service_plugin import ServiceLoader
from localstack.utils.sync import SynchronizedDefaultDict

READY = set()
LOADING = SynchronizedDefaultDict(threading.RLock)


def wait():
    load = ServiceLoader.require_service

    def require_service(self, chain, context, response):
        name = context.service.service_name if context.service else None
        if name is None or name in READY:
            return
        with LOADING[name]:
            load(self, chain, context, response)
            READY.add(name)

    ServiceLoader.require_service = require_service
