"""RunTask as Fargate does it."""

import json
import re
import threading
import time
import uuid

from . import api, events, faults
from .definitions import shape, size
from .errors import ConflictException, EcsError, client, parameter
from .task import Task

TOKENS = {}  # (cluster ARN, client token) -> (request, tasks, time)
TOKEN_AGE = 24 * 3600  # seconds; and an hour after its tasks have stopped
PROVIDERS = ("FARGATE", "FARGATE_SPOT")
OVERRIDES = 8192
CAPACITY = "Capacity is unavailable at this time. Please try again later or in a different availability zone"
_lock = threading.Lock()


def run_task(context, request):
    cluster = api.cluster_of(context, request)
    fault = faults.of(cluster.name)
    if fault.hit("throttle") or not fault.called():
        raise _throttled()
    if known := _known(cluster, request):
        return known
    definition, tags = shape(context, request["taskDefinition"])
    provider = _provider(request, cluster)
    sizes = _check(request, definition)
    count = request.get("count") or 1
    tags = _tags(request, tags)
    with _lock:
        if known := _known(cluster, request):  # the same request beside this one
            return known
        if refused := _refused(fault, provider, count):
            return refused
        if not fault.launched(count):
            raise _throttled()
        tasks = [Task(_base(context, request, cluster.arn, definition, provider, sizes, tags), definition, request.get("overrides"),
                      cluster.name, context.region, context.account_id) for _ in range(count)]
        if request.get("clientToken"):
            TOKENS[cluster.arn, request["clientToken"]] = (_asked(request), tasks, time.time())
    out = {"tasks": [events.view(t) for t in tasks], "failures": []}
    for t in tasks:
        t.begin()
    return out


def _asked(request):
    return json.dumps({k: v for k, v in request.items() if k != "clientToken"}, sort_keys=True, default=str)


def _known(cluster, request):
    """The answer that this token already has, or None."""
    key = (cluster.arn, request.get("clientToken"))
    if not key[1] or key not in TOKENS:
        return None
    asked, tasks, at = TOKENS[key]
    if time.time() - at > TOKEN_AGE or not any(api.shown(t) for t in tasks):
        return None
    if asked != _asked(request):
        raise ConflictException([t.arn for t in tasks])
    return {"tasks": [events.view(t) for t in tasks], "failures": []}


def _tags(request, of_definition):
    given = request.get("tags") or []
    if request.get("propagateTags") != "TASK_DEFINITION":
        return given
    return [t for t in of_definition if t["key"] not in {g["key"] for g in given}] + given


def _throttled():
    return EcsError("ThrottlingException", "Rate exceeded.")


def _refused(fault, provider, count):
    """An answer with failures, or None; no capacity may also be an exception."""
    kind = None
    if provider == "FARGATE_SPOT" and fault.hit("spot"):
        kind = "capacity"
    elif fault.hit("capacity"):
        kind = fault.kind()
    if kind is None:
        return None
    if kind == "exception":
        raise client(CAPACITY)
    return {"tasks": [], "failures": [{"reason": "RESOURCE:ENI" if kind == "eni" else CAPACITY} for _ in range(count)]}


def _provider(request, cluster):
    """FARGATE or FARGATE_SPOT of a capacity provider, None of a launch type."""
    strategy = request.get("capacityProviderStrategy") or []
    if request.get("launchType") and strategy:
        raise parameter("Specifying both a launch type and capacity provider strategy is not supported. Remove one and try again.")
    if request.get("launchType"):
        if request["launchType"] != "FARGATE":
            raise parameter("No Container Instances were found in your cluster.")
        return None
    strategy = strategy or cluster.default_capacity_provider_strategy or []
    if not strategy:
        raise parameter("No Container Instances were found in your cluster.")
    for s in strategy:
        if s["capacityProvider"] not in PROVIDERS or s["capacityProvider"] not in (cluster.capacity_providers or []):
            raise parameter("The specified capacity provider strategy cannot contain a capacity provider that is not associated with the cluster. "
                            f"Associate {s['capacityProvider']} with the cluster and try again.")
    best = max(strategy, key=lambda s: (s.get("base", 0), s.get("weight", 0)))
    return best["capacityProvider"]


def _check(request, definition):
    """(cpu, memory) as the task has them, in text; raises what ECS would."""
    if not 1 <= (request.get("count") or 1) <= 10:
        raise parameter("Count must be between 1 and 10.")
    if len(request.get("startedBy") or "") > 128:
        raise parameter("startedBy is longer than 128 characters.")
    if not re.fullmatch(r"[!-~]{0,64}", request.get("clientToken") or ""):
        raise parameter("clientToken must be at most 64 ASCII characters in the range of 33-126.")
    if "FARGATE" not in (definition.get("requiresCompatibilities") or []):
        raise parameter("Task definition does not support launch_type FARGATE.")
    network = (request.get("networkConfiguration") or {}).get("awsvpcConfiguration")
    if not network:
        raise parameter("Network Configuration must be provided when networkMode 'awsvpc' is specified.")
    if not network.get("subnets"):
        raise parameter("subnets can not be empty.")
    overrides = request.get("overrides") or {}
    if len(json.dumps(overrides, separators=(",", ":"))) > OVERRIDES:
        raise parameter(f"Container Overrides length must be at most {OVERRIDES}")
    names = {c["name"] for c in definition["containerDefinitions"]}
    for o in overrides.get("containerOverrides") or []:
        if o.get("name") not in names:
            raise parameter(f"Override for container named {o.get('name')} is not a container in the TaskDefinition.")
    cpu, memory = overrides.get("cpu") or definition.get("cpu"), overrides.get("memory") or definition.get("memory")
    return tuple(str(n) for n in size(cpu, memory))


def _base(context, request, cluster_arn, definition, provider, sizes, tags):
    """What of the task never changes."""
    subnet = request["networkConfiguration"]["awsvpcConfiguration"]["subnets"][0]
    overrides = request.get("overrides") or {}
    named = {o["name"]: o for o in overrides.get("containerOverrides") or []}
    storage = overrides.get("ephemeralStorage") or definition.get("ephemeralStorage") or {"sizeInGiB": 20}
    return {
        "taskArn": cluster_arn.replace(":cluster/", ":task/") + "/" + uuid.uuid4().hex, "clusterArn": cluster_arn,
        "taskDefinitionArn": definition["taskDefinitionArn"], "launchType": "FARGATE", "capacityProviderName": provider,
        "platformVersion": "1.4.0", "platformFamily": "Linux", "availabilityZone": context.region + "a",
        "overrides": {**overrides, "containerOverrides": [named.get(c["name"], {"name": c["name"]}) for c in definition["containerDefinitions"]]},
        "startedBy": request.get("startedBy"), "group": request.get("group") or f"family:{definition['family']}",
        "cpu": sizes[0], "memory": sizes[1], "tags": tags, "enableExecuteCommand": False, "ephemeralStorage": storage,
        "attributes": [{"name": "ecs.cpu-architecture", "value": "x86_64"}],
        "attachments": [{"id": str(uuid.uuid4()), "type": "eni", "status": "ATTACHED", "details": [{"name": "subnetId", "value": subnet}]}],
    }
