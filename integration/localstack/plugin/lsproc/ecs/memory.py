"""Ends containers that take more memory than they or their task were given.

Off unless the fault "memory" is on: looking at all processes five times a second costs.
Counted is what belongs to the processes alone, not files that they have mapped.
"""

import os
import signal
import threading
import time

from . import faults

EVERY = 0.2
OUT = "OutOfMemoryError: Container killed due to memory usage"
MIB = 1 << 20
_watched, _lock, _started = set(), threading.Lock(), False


def watch(task):
    global _started
    with _lock:
        _watched.add(task)
        if not _started:
            _started = True
            threading.Thread(target=_loop, daemon=True, name="ecs-memory").start()


def forget(task):
    with _lock:
        _watched.discard(task)


def _loop():
    while True:
        time.sleep(EVERY)
        with _lock:
            tasks = [t for t in _watched if faults.of(t.cluster)["memory"]]
        if tasks:
            children = _tree()
            for t in tasks:
                _check(t, children)


def _check(task, children):
    used = {c: sum(_taken(p) for p in _below(c.process.pid, children)) for c in task.containers if c.status == "RUNNING" and c.process}
    over = [c for c, n in used.items() if c.memory and n > c.memory * MIB]
    if not over and used and sum(used.values()) > int(task.base["memory"]) * MIB:
        over = [max(used, key=used.get)]
    for c in over:
        c.reason = OUT
        c.signal(signal.SIGKILL)


def _tree():
    """pid -> its children."""
    out = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as f:
                    parent = int(f.read().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
            out.setdefault(parent, []).append(int(name))
    return out


def _below(pid, children):
    yield pid
    for child in children.get(pid, ()):
        yield from _below(child, children)


def _taken(pid):
    try:
        with open(f"/proc/{pid}/status") as f:
            return sum(int(line.split()[1]) * 1024 for line in f if line.startswith(("RssAnon:", "RssShmem:")))
    except (OSError, IndexError, ValueError):
        return 0
