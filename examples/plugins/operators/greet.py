#!/usr/bin/env python3
"""greet>: NAME makes a greeting and stores it as ${greeted}.

A plugin reads its request from stdin and writes its answer to the file of ZERODAG_RESULT.
What it prints goes to the task's log.
"""
import json
import os
import sys

request = json.load(sys.stdin)
if request["version"] != 1:
    sys.exit("greet> speaks version 1 of the protocol")
params = request["params"]


def answer(**fields):
    with open(os.environ["ZERODAG_RESULT"], "w") as f:
        json.dump(fields, f)


if not isinstance(request["command"], str):
    answer(error={"message": "greet>: name who is to be greeted, as text"})
    sys.exit()

text = f"{params.get('greeting', 'Good day')}, {request['command']}"
if "--loud" in sys.argv[1:]:
    text = text.upper()
print("greeting in attempt", request["task"]["attempt_id"])
answer(store={"greeted": text})
