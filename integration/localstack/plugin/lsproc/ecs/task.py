"""The life of a task, in a thread of its own.

    PROVISIONING -> PENDING -> RUNNING -> [STOPPING] -> DEPROVISIONING -> STOPPED

RUNNING is a task all of whose containers have started.  A container starts when what it depends
on allows it.  The end of an essential one, StopTask and a Spot interruption stop the others: a
container gets SIGTERM when those that depend on it are gone, and SIGKILL after its stopTimeout.
Each change has a higher version and is an event.
"""

import logging
import os
import queue
import shutil
import signal
import tempfile
import threading
import time
import uuid

from . import events, faults, logs, memory
from .container import Container
from .sandbox import FOLDERS

LOG = logging.getLogger(__name__)
TASKS = {}  # arn -> Task, all since the start


class Task:
    def __init__(self, base, definition, overrides, cluster, region, account):
        self.lock, self.news = threading.RLock(), queue.Queue()
        self.base, self.definition, self.overrides = base, definition, overrides or {}
        self.arn, self.cluster, self.region, self.account = base["taskArn"], cluster, region, account
        self.id = self.arn.rsplit("/", 1)[-1]
        self.status, self.desired, self.version = "PROVISIONING", "RUNNING", 1
        self.stop_code, self.stopped_reason, self.grace = None, None, None
        self.lost, self.quiet = False, False
        self.times = {"createdAt": events.now()}
        self.role = self.overrides.get("taskRoleArn") or definition.get("taskRoleArn")
        self.credentials = uuid.uuid4().hex
        self.dir = tempfile.mkdtemp(prefix=FOLDERS)
        self.containers, self.streams, self.thread = self._containers(), [], None
        TASKS[self.arn] = self

    def begin(self):
        self.thread = threading.Thread(target=self._run, daemon=True, name=f"ecs-{self.id[:8]}")
        self.thread.start()

    def _containers(self):
        folders = {}
        for v in self.definition.get("volumes") or []:
            folders[v["name"]] = os.path.join(self.dir, "volumes", v["name"])
            os.makedirs(folders[v["name"]])
        by_name = {o.get("name"): o for o in self.overrides.get("containerOverrides") or []}
        out = []
        for i, d in enumerate(self.definition["containerDefinitions"]):
            c = Container(d, by_name.get(d["name"], {}), os.path.join(self.dir, f"c{i}"), folders, self._environment(d["name"]))
            c.id = str(uuid.uuid4())
            out.append(c)
        return out

    def _environment(self, container):
        gateway = f"http://{os.environ.get('GATEWAY_LISTEN', '127.0.0.1:4566').split(',')[0]}"
        out = {"AWS_REGION": self.region, "AWS_DEFAULT_REGION": self.region, "AWS_EXECUTION_ENV": "AWS_ECS_FARGATE",
               "ECS_CONTAINER_METADATA_URI_V4": f"{gateway}/_ecs/v4/{self.id}/{container}"}
        if self.role:
            out["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = f"{gateway}/_ecs/credentials/{self.credentials}"
            out["AWS_ENDPOINT_URL"] = gateway
        return out

    # -- what others ask for; the thread of the task carries it out ------------------------------

    def stop(self, reason, code, grace=None):
        """Has it stopped; the first caller gives the reason."""
        with self.lock:
            if self.desired == "STOPPED":
                return
            self.desired, self.stop_code, self.stopped_reason, self.grace = "STOPPED", code, reason, grace
            self.times["stoppingAt"] = events.now()
        self.news.put(None)

    def lose(self, event=True):
        """Its host is gone: everything ends at once and there are no exit codes."""
        with self.lock:
            self.lost, self.quiet = True, not event
        self.stop("Host EC2 (instance i-0123456789abcdef0) terminated.", "TerminationNotice")
        self.kill()

    def kill(self):
        for c in self.containers:
            c.signal(signal.SIGKILL)

    # -- its thread ------------------------------------------------------------------------------

    def _run(self):
        try:
            self._event()
            self._life()
        except Exception as e:
            LOG.exception("task %s", self.arn)
            self.stop(f"InternalError: {e}", "TaskFailedToStart")
            self.kill()
        finally:
            self._end()

    def _life(self):
        self._wait(faults.of(self.cluster)["start_delay"])
        if self.desired == "STOPPED":
            return
        self._become("PENDING", "connectivityAt", "pullStartedAt")
        if not self._pull():
            return
        memory.watch(self)
        told = False  # that it is to stop
        while True:
            self._start_ready()
            if self.desired == "RUNNING" and self.status == "PENDING" and all(c.began or c.status == "STOPPED" and not c.essential for c in self.containers):
                self._become("RUNNING", "startedAt")
            self._essential_ended()
            alive = [c for c in self.containers if c.status == "RUNNING"]
            if not alive and (self.desired == "STOPPED" or all(c.status == "STOPPED" for c in self.containers)):
                return
            if self.desired == "STOPPED":
                if not told:
                    told = True
                    self._event()
                    self._become("STOPPING")
                self._stop_some(alive)
            self._hear()

    def _wait(self, seconds):
        until = time.monotonic() + seconds
        while self.desired == "RUNNING" and (left := until - time.monotonic()) > 0:
            try:
                self.news.get(timeout=left)
            except queue.Empty:
                return

    def _pull(self):
        """Images and log streams; False when the task cannot start."""
        broken = faults.of(self.cluster).hit("pull_errors")
        try:
            for c in self.containers:
                image = c.definition["image"]
                if broken or "missing" in image:
                    c.stopped(None, f"CannotPullContainerError: pull image manifest has been retried 1 time(s): failed to resolve ref {image}: {image}: not found")
                    raise logs.Missing(c.reason)
                self.streams.append(logs.Stream(c.log_path, c.name, self.id, c.definition, self.region, self.account))
        except logs.Missing as e:
            self.stop(str(e), "TaskFailedToStart")
            return False
        self.times["pullStoppedAt"] = events.now()
        return True

    def _start_ready(self):
        by_name = {c.name: c for c in self.containers}
        moved = True
        while moved and self.desired == "RUNNING":
            moved = False
            for c in self.containers:
                if c.status != "PENDING":
                    continue
                waits = [(by_name[d["containerName"]], d["condition"]) for d in c.definition.get("dependsOn") or []]
                if never := next((on for on, how in waits if _never(on, how)), None):
                    c.stopped(143, "CannotStartContainerError: dependency graph: failed to resolve container ordering dependency "
                                   f"[{never.name} (STOPPED->RUNNING) - Exit: {never.code}] for target [{c.name} (NONE->RUNNING)]")
                    moved = True
                elif all(_met(on, how) for on, how in waits):
                    c.start(lambda c, code: self.news.put((c, code)))
                    moved = True

    def _essential_ended(self):
        ended = next((c for c in self.containers if c.essential and c.status == "STOPPED"), None)
        if not ended:
            return
        self.times.setdefault("executionStoppedAt", events.now())
        if "startedAt" in self.times:
            self.stop("Essential container in task exited", "EssentialContainerExited")
        else:
            self.stop(ended.reason or "Task failed to start", "TaskFailedToStart")

    def _stop_some(self, alive):
        needed = {d["containerName"] for c in alive for d in c.definition.get("dependsOn") or []}
        for c in alive:
            if c.kill_at is None and c.name not in needed:
                c.kill_at = time.monotonic() + (self.grace if self.grace is not None else c.grace)
                c.signal(signal.SIGTERM)
            elif c.kill_at is not None and time.monotonic() >= c.kill_at:
                c.signal(signal.SIGKILL)

    def _hear(self):
        """Waits for news, until the next line of a log or the next SIGKILL may be due."""
        due = [c.kill_at - time.monotonic() for c in self.containers if c.kill_at and c.status == "RUNNING"]
        try:
            news = self.news.get(timeout=max(0.02, min([1.0, *due])))
        except queue.Empty:
            self._ship()
            return
        if news:
            c, code = news
            with self.lock:
                c.stopped(None if self.lost else code)
            c.clean()

    def _ship(self, last=False):
        for s in self.streams:
            try:
                if os.path.exists(s.path):
                    s.ship(last)
            except Exception as e:
                LOG.warning("logs of %s: %s", self.arn, e)

    def _become(self, status, *stamps):
        with self.lock:
            self.status = status
            self.version += 1
            for s in stamps:
                self.times[s] = events.now()
        self._event()

    def _event(self):
        if not self.quiet:
            events.send(self)

    def _end(self):
        memory.forget(self)
        with self.lock:
            self.desired = "STOPPED"
            for c in self.containers:
                c.stopped(None)
        self._become("DEPROVISIONING")
        self._ship(last=True)
        _remove(self.dir)
        self._become("STOPPED", "stoppedAt")


def _never(on, how):
    return how == "SUCCESS" and on.status == "STOPPED" and on.code != 0 or how != "SUCCESS" and on.status == "STOPPED" and not on.began


def _met(on, how):
    if how == "START":
        return on.status != "PENDING"
    return on.status == "STOPPED" and (how == "COMPLETE" or on.code == 0)


def sweep():
    """Removes what an earlier LocalStack of this temporary folder left."""
    for name in os.listdir(tempfile.gettempdir()):
        if name.startswith(FOLDERS):
            shutil.rmtree(os.path.join(tempfile.gettempdir(), name), ignore_errors=True)


def end_all():
    """Ends all tasks, when LocalStack does."""
    alive = [t for t in TASKS.values() if t.status != "STOPPED"]
    for t in alive:
        t.lose(event=False)
    for t in alive:
        if t.thread:
            t.thread.join(5)
        _remove(t.dir)


def _remove(folder):
    for _ in range(40):  # a container's end lets go of its mounts a moment later
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):
            return
        time.sleep(0.05)
    LOG.warning("%s could not be removed", folder)
