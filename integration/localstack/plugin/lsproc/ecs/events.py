"""What a task looks like: to DescribeTasks, on the event bus, and to tests."""

import datetime
import json
import logging

from localstack.aws.connect import connect_to

LOG = logging.getLogger(__name__)
TIMES = ("createdAt", "pullStartedAt", "pullStoppedAt", "connectivityAt", "startedAt", "stoppingAt", "executionStoppedAt", "stoppedAt")


def now():
    return datetime.datetime.now(datetime.timezone.utc)


def view(task, tags=False):
    """A Task of the API."""
    with task.lock:
        out = {k: v for k, v in task.base.items() if v is not None and (tags or k != "tags")}
        out.update(task.times, lastStatus=task.status, desiredStatus=task.desired, version=task.version)
        if task.stop_code:
            out.update(stopCode=task.stop_code, stoppedReason=task.stopped_reason)
        if "connectivityAt" in task.times:
            out["connectivity"] = "CONNECTED"
        out["containers"] = [_container(task, c) for c in task.containers]
        return out


def _container(task, c):
    out = {"containerArn": f"{task.arn.replace(':task/', ':container/')}/{c.id}", "taskArn": task.arn, "name": c.name, "image": c.definition["image"],
           "lastStatus": c.status, "networkInterfaces": [], "cpu": str(c.definition.get("cpu", 0))}
    if c.memory:
        out["memory"] = str(c.memory)
    if c.status != "PENDING":
        out["runtimeId"] = f"{task.id}-{c.id[:10]}"
    if c.code is not None:
        out["exitCode"] = c.code
    if c.reason:
        out["reason"] = c.reason
    return out


def send(task):
    """Puts the task's state on the default bus."""
    detail = {k: v.isoformat(timespec="milliseconds").replace("+00:00", "Z") if k in TIMES else v for k, v in view(task).items()}
    entry = {"Source": "aws.ecs", "DetailType": "ECS Task State Change", "Resources": [task.arn], "Detail": json.dumps(detail)}
    try:
        connect_to(region_name=task.region, aws_access_key_id=task.account).events.put_events(Entries=[entry])
    except Exception:
        LOG.exception("event of %s", task.arn)


def report(task):
    """What tests see: names, but no values, of environment variables."""
    v = view(task, tags=True)
    out = {"arn": task.arn, "cluster": task.cluster, "definition": v["taskDefinitionArn"], "status": v["lastStatus"], "desired": v["desiredStatus"],
           **{k: v.get(k) for k in ("stopCode", "stoppedReason", "startedBy", "group", "launchType", "capacityProviderName", "cpu", "memory", "version", "tags")},
           **{k: v[k].timestamp() for k in TIMES if k in v},
           "containers": [{k: c.get(k) for k in ("name", "lastStatus", "exitCode", "reason")} for c in v["containers"]]}
    overrides = json.loads(json.dumps(v.get("overrides") or {}))
    for c in overrides.get("containerOverrides", []):
        c["environment"] = [e["name"] for e in c.get("environment") or []]
    out["overrides"] = overrides
    return out
