"""Queues that feed functions with several batches at a time, as AWS does.

LocalStack's poller waits for the end of each invocation before it receives again: a function
behind a queue would never run beside itself, and no message would ever come a second time
while its first receiver is still at work. AWS begins with five batches at once and adds 300 a minute
for as long as messages wait; a FIFO queue itself holds back what is behind a message in flight. A batch
of a FIFO queue has messages of several groups, as on AWS, and whoever looks at a queue waits there for
a message: LocalStack's poller makes a batch of each group, and looks, then waits.

Nor does LocalStack's poller try again what was throttled: the message would be away for the whole
visibility of its queue. AWS's does, ever more slowly, until that time is over, and then gives it up.

Tests say that receives of a queue come to nothing, as those do that a poller has given up: the batch
is dropped without an invocation and is back after the visibility, with one receive more.

    PUT    /_lsproc/receives/<queue>  {"seed": 7, "share": 0.2}   this share of batches is dropped, from now on
    GET    /_lsproc/receives/<queue>  {"received": 10, "dropped": 2}   batches since then
    DELETE /_lsproc/receives/<queue>
"""

import json
import os
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from botocore.exceptions import ClientError
from localstack.services.edge import ROUTER
from localstack.services.lambda_.event_source_mapping import esm_worker
from localstack.services.lambda_.event_source_mapping.pollers import sqs_poller
from localstack.services.lambda_.event_source_mapping.pollers.poller import EmptyPollResultsException
from werkzeug import Request, Response

AT_ONCE = 5
MOST = int(os.environ.get("LSPROC_MOST_BATCHES", "20"))  # each is a process of this machine
GROWTH = 0.2  # seconds until one more may be under way
FIRST_WAIT, LONGEST_WAIT = 0.1, 5  # seconds between two tries of a throttled batch
LOOK = 1  # seconds that a receive waits for a message; a mapping that is disabled ends after it
DROPS = {}  # name of a queue -> Drops


class Drops:
    """Which receives of a queue come to nothing."""

    def __init__(self, seed, share):
        self.random, self.share = random.Random(seed), share
        self.received = self.dropped = 0
        self.lock = threading.Lock()

    def hit(self):
        with self.lock:
            hit = self.random.random() < self.share
            self.received += 1
            self.dropped += hit
            return hit


class Batches:
    """The batches of a queue that are under way: more and more of them while all that may be are, and messages wait."""

    def __init__(self):
        self.pool = ThreadPoolExecutor(MOST, thread_name_prefix="lsproc-batch")
        self.changed = threading.Condition()
        self.under_way, self.allowed = 0, AT_ONCE
        self.grows = None  # from when on another one may be allowed

    def wait(self):
        """Waits until another one may begin."""
        with self.changed:
            while self.under_way >= self.allowed:
                now = time.monotonic()
                if self.grows is not None and now >= self.grows and self.allowed < MOST:
                    self.allowed += 1
                    self.grows = None
                    continue
                if self.grows is None:
                    self.grows = now + GROWTH
                self.changed.wait(self.grows - now if self.allowed < MOST else None)

    def begin(self, call):
        self.wait()
        with self.changed:
            self.under_way += 1
        self.pool.submit(self._run, call)

    def _run(self, call):
        try:
            call()
        finally:
            with self.changed:
                self.under_way -= 1
                self.changed.notify()

    def nothing_waits(self):
        with self.changed:
            self.allowed, self.grows = AT_ONCE, None


def register():
    ROUTER.add("/_lsproc/receives/<queue>", _receives, methods=["PUT", "GET", "DELETE"])


def _receives(request: Request, queue: str) -> Response:
    if request.method == "PUT":
        DROPS[queue] = Drops(**json.loads(request.get_data()))
    drops = DROPS.pop(queue, None) if request.method == "DELETE" else DROPS.get(queue)
    if drops is None:
        return Response(f"no receive of {queue} is dropped", 404)
    return Response(json.dumps({"received": drops.received, "dropped": drops.dropped}), 200, content_type="application/json")


def side_by_side():
    poller = sqs_poller.SqsPoller
    poll_events, handle_messages = poller.poll_events, poller.handle_messages

    def poll(self):
        if not hasattr(self, "lsproc_batches"):
            self.lsproc_batches = Batches()
            self.source_client.meta.events.register_first("provide-client-params.sqs.ReceiveMessage", patiently)
        self.lsproc_batches.wait()  # else what is received would have to wait here, in flight
        if self.lsproc_stopped:
            return
        try:
            poll_events(self)
        except EmptyPollResultsException:
            self.lsproc_batches.nothing_waits()

    def patiently(params, **kwargs):
        if "sqs_override_max_message_count" in params:  # a poller's: others may have the same client
            params["WaitTimeSeconds"] = LOOK

    def handle(self, messages):
        drops = DROPS.get(self.source_arn.rsplit(":", 1)[-1])
        if drops is not None and drops.hit():
            return
        self.lsproc_batches.begin(lambda: run(self, messages))

    def run(self, messages):
        try:
            invoke(self, messages)
        except Exception as e:  # a failed batch comes again when its time is over
            sqs_poller.LOG.warning("Batch of %s failed: %s", self.source_arn, e)

    def invoke(self, messages):
        end, wait = None, FIRST_WAIT
        while True:
            try:
                return handle_messages(self, messages)
            except ClientError as e:
                if e.response["Error"]["Code"] != "TooManyRequestsException":
                    raise
                if end is None:
                    end = time.monotonic() + visibility(self)
                if time.monotonic() + wait >= end:
                    raise
            time.sleep(wait * random.uniform(0.5, 1))
            wait = min(2 * wait, LONGEST_WAIT)

    stop = esm_worker.EsmWorker.stop

    def stop_and_wait(self):
        """Whoever is told that a mapping is disabled may rely on it: nothing is received any more."""
        self.poller.lsproc_stopped = True
        stop(self)
        if self._poller_thread is not None:
            self._poller_thread.join(2 * LOOK)

    poller.poll_events, poller.handle_messages, poller.lsproc_stopped = poll, handle, False
    esm_worker.EsmWorker.stop = stop_and_wait
    sqs_poller.split_by_message_group_id = lambda messages: {None: messages}


def visibility(poller):
    """How many seconds a message of the poller's queue stays away once it was received."""
    attributes = poller.source_client.get_queue_attributes(QueueUrl=poller.queue_url, AttributeNames=["VisibilityTimeout"])
    return int(attributes["Attributes"]["VisibilityTimeout"])
