#!/usr/bin/env python3
"""job>: NAME starts a job elsewhere and waits for it without holding a worker.

The job here is made up. One that is real is started with the idempotency key, so that a
second delivery of the first run does not start a second job.
"""
import json
import os
import sys

request = json.load(sys.stdin)
state = request["state"]
key = request["task"]["idempotency_key"]


def answer(**fields):
    with open(os.environ["ZERODAG_RESULT"], "w") as f:
        json.dump(fields, f)


if request["action"] == "cancel":
    print("ending", state["id"])  # the attempt was killed
    sys.exit()

if "id" not in state:
    state = {"id": f"{request['command']}-{key}", "round": 0}
    print("starting", state["id"])
elif state["round"] >= request["params"].get("rounds", 3):
    print("done:", state["id"])
    answer(store={"job": {"id": state["id"], "rounds": state["round"]}})
    sys.exit()

state["round"] += 1
answer(poll={"after": 1, "state": state, "cancel": True})
