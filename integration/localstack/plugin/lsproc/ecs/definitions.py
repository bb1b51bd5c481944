"""Task definitions: moto keeps them, here is what Fargate refuses and where moto is not ECS."""

import re

from localstack.aws.connect import connect_to
from localstack.services.moto import call_moto, call_moto_with_request

from .errors import client

FAMILY = re.compile(r"[a-zA-Z0-9_-]{1,255}")
PAGE = 100
GB = 1024
SIZES = {  # CPU units -> MiB
    256: [GB // 2, GB, 2 * GB],
    512: range(GB, 4 * GB + 1, GB),
    1024: range(2 * GB, 8 * GB + 1, GB),
    2048: range(4 * GB, 16 * GB + 1, GB),
    4096: range(8 * GB, 30 * GB + 1, GB),
    8192: range(16 * GB, 60 * GB + 1, 4 * GB),
    16384: range(32 * GB, 120 * GB + 1, 8 * GB),
}


def size(cpu, memory):
    """(CPU units, MiB) of a task, which may be written as "1 vCPU" and "2 GB"."""
    if not cpu:
        raise client("Fargate requires that 'cpu' be defined at the task level.")
    if not memory:
        raise client("Fargate requires that 'memory' be defined at the task level.")
    c, m = _units(cpu, "vcpu"), _units(memory, "gb")
    if m not in SIZES.get(c, ()):
        raise client(f"No Fargate configuration exists for given values: {c} CPU, {m} memory. See the Amazon ECS documentation for the valid values.")
    return c, m


def _units(text, unit):
    m = re.fullmatch(r"\s*([\d.]+)\s*([a-z]*)\s*", str(text).lower())
    if not m or m[2] not in ("", unit):
        raise client(f"Invalid setting for task: {text!r} is no size.")
    return int(float(m[1]) * 1024) if m[2] else int(float(m[1]))


def register(context, request):
    if not FAMILY.fullmatch(request.get("family") or ""):
        raise client("Family contains invalid characters or is longer than 255.")
    containers = request.get("containerDefinitions") or []
    if not containers:
        raise client("Container list cannot be empty.")
    _dependencies(containers)
    if "FARGATE" in (request.get("requiresCompatibilities") or []):
        _fargate(request, containers)
    return call_moto(context)


def _fargate(request, containers):
    if request.get("networkMode") != "awsvpc":
        raise client("Fargate only supports network mode 'awsvpc'.")
    size(request.get("cpu"), request.get("memory"))
    storage = (request.get("ephemeralStorage") or {}).get("sizeInGiB", 21)
    if not 21 <= storage <= 200:
        raise client("EphemeralStorage size must be between 21 and 200 GiB.")
    volumes = set()
    for v in request.get("volumes") or []:
        if (v.get("host") or {}).get("sourcePath"):
            raise client("Fargate compatible task definitions do not support sourcePath.")
        volumes.add(v["name"])
    for c in containers:
        if c.get("privileged"):
            raise client("Fargate compatible task definitions do not support privileged.")
        if not 0 <= c.get("stopTimeout", 30) <= 120:
            raise client(f"Invalid 'stopTimeout' setting for container '{c['name']}': Fargate takes at most 120 seconds.")
        if (c.get("logConfiguration") or {}).get("logDriver") == "awslogs" and not request.get("executionRoleArn"):
            raise client("Fargate requires task definition to have execution role ARN to support log driver awslogs.")
        for m in c.get("mountPoints") or []:
            if m.get("sourceVolume") not in volumes:
                raise client(f"Unknown volume '{m.get('sourceVolume')}'.")


def _dependencies(containers):
    by_name = {c.get("name"): c for c in containers}
    if len(by_name) != len(containers):
        raise client("Container names must be unique within a task definition.")
    if not any(c.get("essential", True) for c in containers):
        raise client("At least one container in the task definition must be essential.")
    for c in containers:
        for d in c.get("dependsOn") or []:
            on = by_name.get(d["containerName"])
            if on is None:
                raise client(f"Unknown container '{d['containerName']}' in dependsOn of '{c['name']}'.")
            if d["condition"] in ("SUCCESS", "COMPLETE") and on.get("essential", True):
                raise client("A dependency container with SUCCESS or COMPLETE condition cannot be an essential container")
            if d["condition"] == "HEALTHY":
                raise client(f"The test bed has no health checks: container '{c['name']}' cannot wait for HEALTHY.")
    done = set()
    while len(done) < len(containers):
        ready = {n for n, c in by_name.items() if n not in done and all(d["containerName"] in done for d in c.get("dependsOn") or [])}
        if not ready:
            raise client("Container dependencies must not form a circle.")
        done |= ready


def _kept(context):
    from moto.ecs.models import ecs_backends

    return ecs_backends[context.account_id][context.region].task_definitions


def newest(context, ref):
    """family:revision of a reference; a family alone is its newest active revision."""
    name = ref.rsplit("/", 1)[-1]
    if ":" in name:
        return name
    active = [r for r, d in _kept(context).get(name, {}).items() if d.status == "ACTIVE"]
    if not active:
        raise client("Unable to describe task definition.")
    return f"{name}:{max(active)}"


_shapes = {}  # ARN -> (task definition as the API shows it, its tags); they do not change


def shape(context, ref):
    """(task definition, tags) that RunTask names."""
    family, revision = newest(context, ref).split(":", 1)
    kept = _kept(context).get(family, {}).get(int(revision) if revision.isdigit() else None)
    if kept is None:
        raise client("TaskDefinition not found.")
    if kept.status != "ACTIVE":
        raise client("TaskDefinition is inactive")
    if kept.arn not in _shapes:
        ecs = connect_to(region_name=context.region, aws_access_key_id=context.account_id).ecs
        found = ecs.describe_task_definition(taskDefinition=kept.arn, include=["TAGS"])
        _shapes[kept.arn] = (found["taskDefinition"], found.get("tags") or [])
    return _shapes[kept.arn]


def describe(context, request):
    if ":" not in request["taskDefinition"].rsplit("/", 1)[-1]:
        return call_moto_with_request(context, {**request, "taskDefinition": newest(context, request["taskDefinition"])})
    return call_moto(context)


def list_all(context, request):
    family, status = request.get("familyPrefix"), request.get("status") or "ACTIVE"
    found = [d.arn for name in sorted(_kept(context)) if family in (None, name)
             for _, d in sorted(_kept(context)[name].items()) if d.status == status]
    if request.get("sort") == "DESC":
        found.reverse()
    return page(request, "taskDefinitionArns", found)


def page(request, key, found):
    at, n = int(request.get("nextToken") or 0), min(request.get("maxResults") or PAGE, PAGE)
    out = {key: found[at:at + n]}
    if at + n < len(found):
        out["nextToken"] = str(at + n)
    return out


def delete(context, request):
    """As moto, but what is deleted can be described still, and no revision comes again."""
    before = {family: dict(revisions) for family, revisions in _kept(context).items()}
    out = call_moto(context)
    for family, revisions in before.items():
        _kept(context)[family].update({r: d for r, d in revisions.items() if r not in _kept(context)[family]})
    return out
