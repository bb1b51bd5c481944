"""The schemas of tables that LocalStack keeps for twenty seconds, in a cache that threads share.

The cache is not made for that: two that drop what is too old at the same moment leave it broken, and from
then on each Query of an index fails with the name of some other table.
"""

import threading

from cachetools import TTLCache
from localstack.services.dynamodb import utils


class Locked(TTLCache):
    def __init__(self, *args, **kwargs):
        self.lsproc_lock = threading.RLock()
        super().__init__(*args, **kwargs)

    def get(self, *args):
        with self.lsproc_lock:
            return super().get(*args)

    def __setitem__(self, key, value):
        with self.lsproc_lock:
            super().__setitem__(key, value)

    def pop(self, *args):
        with self.lsproc_lock:
            return super().pop(*args)


def share():
    utils.SCHEMA_CACHE = Locked(maxsize=1000, ttl=20)
