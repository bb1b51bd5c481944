"""DescribeTasks, ListTasks and StopTask."""

import time

from . import events
from .definitions import page
from .errors import EcsError, parameter
from .task import TASKS

KEPT = 3600  # seconds that a stopped task is shown


def cluster_of(context, request):
    """The cluster, as moto has it, that a request names; "default" is always there."""
    from moto.ecs.models import ecs_backends

    name, backend = (request.get("cluster") or "default").rsplit("/", 1)[-1], ecs_backends[context.account_id][context.region]
    if name == "default" and name not in backend.clusters:
        backend.create_cluster(name)
    if name not in backend.clusters or backend.clusters[name].status != "ACTIVE":
        raise EcsError("ClusterNotFoundException", "Cluster not found.")
    return backend.clusters[name]


def shown(task):
    ended = task.times.get("stoppedAt")
    return ended is None or time.time() - ended.timestamp() < KEPT


def _find(cluster_arn, ref):
    task = TASKS.get(cluster_arn.replace(":cluster/", ":task/") + "/" + ref.rsplit("/", 1)[-1])
    return task if task and shown(task) else None


def describe_tasks(context, request):
    arn = cluster_of(context, request).arn
    refs = request.get("tasks") or []
    if not 1 <= len(refs) <= 100:
        raise parameter("Tasks must have 1 to 100 entries.")
    found, failures = [], []
    for ref in refs:
        if task := _find(arn, ref):
            found.append(events.view(task, tags="TAGS" in (request.get("include") or [])))
        else:
            failures.append({"arn": ref if ref.startswith("arn:") else arn.replace(":cluster/", ":task/") + "/" + ref, "reason": "MISSING"})
    return {"tasks": found, "failures": failures}


def list_tasks(context, request):
    cluster = cluster_of(context, request).arn
    want, family, by, kind = (request.get(k) for k in ("desiredStatus", "family", "startedBy", "launchType"))
    if by and (want or family or kind):
        raise parameter("cannot specify startedBy with other arguments")
    return page(request, "taskArns", [
        t.arn for t in list(TASKS.values())
        if t.base["clusterArn"] == cluster and t.desired == (want or "RUNNING") and shown(t)
        and (not family or f"/{family}:" in t.base["taskDefinitionArn"])
        and (not by or t.base["startedBy"] == by) and (not kind or t.base.get("launchType") == kind)
    ])


def stop_task(context, request):
    cluster = cluster_of(context, request).arn
    task = _find(cluster, request["task"])
    if not task:
        raise parameter("The referenced task was not found.")
    task.stop(request.get("reason") or "Task stopped by user", "UserInitiated")
    return {"task": events.view(task)}
