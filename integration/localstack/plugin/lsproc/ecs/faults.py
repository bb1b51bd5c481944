"""What goes wrong on purpose, and how fast tasks may be launched.

    start_delay       seconds from PROVISIONING to PENDING
    capacity          so many next RunTask calls find no capacity: in turn a failure of capacity, a
                      failure "RESOURCE:ENI" and an exception; capacity_kind (capacity, eni,
                      exception) makes them all alike
    spot              so many next RunTask calls for FARGATE_SPOT find no capacity
    throttle          so many next RunTask calls are throttled
    pull_errors       so many next tasks cannot pull their image
    memory            true: a container over its memory is killed
    spot_grace        seconds from a Spot interruption's SIGTERM to SIGKILL; else its stopTimeout
    launch_burst, launch_rate, call_burst, call_rate   tasks and RunTask calls at once and a second

Each cluster may have its own, instead of those for all.
"""

import threading
import time

DEFAULTS = {
    "start_delay": 0, "capacity": 0, "capacity_kind": "", "spot": 0, "throttle": 0, "pull_errors": 0, "memory": False, "spot_grace": None,
    "launch_burst": 100, "launch_rate": 20, "call_burst": 20, "call_rate": 20,
}
KINDS = ("capacity", "eni", "exception")


class Bucket:
    def __init__(self, burst, rate):
        self.burst, self.rate, self.level, self.at = burst, rate, burst, time.monotonic()

    def take(self, n):
        now = time.monotonic()
        self.level = min(self.burst, self.level + (now - self.at) * self.rate)
        self.at = now
        if self.level < n:
            return False
        self.level -= n
        return True


class Faults:
    def __init__(self):
        self._lock = threading.Lock()
        self.set({}, DEFAULTS)

    def set(self, given, base=None):
        """Takes over some values; unknown names raise KeyError."""
        with self._lock:
            values = dict(base if base is not None else self.values)
            for k, v in given.items():
                if k not in DEFAULTS:
                    raise KeyError(k)
                values[k] = v
            self.values, self._turn = values, 0
            self.launches = Bucket(values["launch_burst"], values["launch_rate"])
            self.calls = Bucket(values["call_burst"], values["call_rate"])

    def __getitem__(self, name):
        return self.values[name]

    def hit(self, name):
        """Whether this one is to fail; counts it."""
        with self._lock:
            if self.values[name] <= 0:
                return False
            self.values[name] -= 1
            return True

    def kind(self):
        with self._lock:
            self._turn += 1
            return self.values["capacity_kind"] or KINDS[(self._turn - 1) % len(KINDS)]

    def called(self):
        with self._lock:
            return self.calls.take(1)

    def launched(self, n):
        with self._lock:
            return self.launches.take(n)


_all = {"": Faults()}  # cluster name -> Faults; "" is for those without their own


def of(cluster):
    return _all.get(cluster) or _all[""]


def put(cluster, given):
    fresh = _all.get(cluster) or Faults()
    fresh.set(given)
    _all[cluster] = fresh
    return fresh


def reset(cluster):
    if cluster:
        _all.pop(cluster, None)
    else:
        _all[""] = Faults()
