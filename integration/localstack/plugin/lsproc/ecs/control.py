"""The gateway's /_ecs, for tests and for containers.

    GET  /_ecs                                     {"namespaces": whether containers have their own}
    GET, PUT, DELETE /_ecs/faults[?cluster=NAME]   see faults.py; PUT merges
    GET  /_ecs/tasks[?cluster=NAME]                every task since the start
    POST /_ecs/tasks/<id or ARN>/interrupt         a Spot interruption; {"grace": seconds}
    POST /_ecs/tasks/<id or ARN>/lose              its host is gone; {"event": false} says nothing
    GET  /_ecs/v4/<id>/<container>[/task]          ECS_CONTAINER_METADATA_URI_V4
    GET  /_ecs/credentials/<id>                    those of the task role
"""

import datetime
import json

from localstack.services.edge import ROUTER
from werkzeug import Request, Response

from . import events, faults, sandbox
from .task import TASKS


def _json(value, status=200):
    return Response(json.dumps(value, default=str), status, content_type="application/json")


def _faults(request: Request) -> Response:
    cluster = request.args.get("cluster", "")
    if request.method == "DELETE":
        faults.reset(cluster)
    elif request.method == "PUT":
        try:
            faults.put(cluster, json.loads(request.get_data() or b"{}"))
        except KeyError as e:
            return _json({"message": f"there is no fault {e}"}, 400)
    return _json(faults.of(cluster).values)


def _tasks(request: Request) -> Response:
    cluster = request.args.get("cluster")
    return _json([events.report(t) for t in list(TASKS.values()) if cluster in (None, t.cluster)])


def _verb(request: Request, ref: str, verb: str) -> Response:
    task = _task(ref.rsplit("/", 1)[-1])
    if task is None:
        return _json({"message": f"there is no task {ref}"}, 404)
    given = json.loads(request.get_data() or b"{}")
    if verb == "lose":
        task.lose(given.get("event", True))
    elif task.base["capacityProviderName"] != "FARGATE_SPOT":
        return _json({"message": "only tasks of FARGATE_SPOT are interrupted"}, 409)
    else:
        task.stop("Your Spot Task was interrupted.", "SpotInterruption", given.get("grace", faults.of(task.cluster)["spot_grace"]))
    return _json(events.report(task))


def _task(task_id):
    return next((t for t in list(TASKS.values()) if t.id == task_id), None)


def _metadata(request: Request, task_id: str, container: str, what: str = "") -> Response:
    task = _task(task_id)
    c = next((c for c in task.containers if c.name == container), None) if task else None
    if c is None or what not in ("", "task"):
        return _json({"message": "not found"}, 404)
    view = events.view(task)
    containers = {x["name"]: {"DockerId": x.get("runtimeId", ""), "Name": x["name"], "DockerName": x["name"], "Image": x["image"],
                              "DesiredStatus": task.desired, "KnownStatus": x["lastStatus"], "Type": "NORMAL", "ContainerARN": x["containerArn"]}
                  for x in view["containers"]}
    if not what:
        return _json(containers[container])
    family, _, revision = view["taskDefinitionArn"].rsplit("/", 1)[-1].partition(":")
    return _json({"Cluster": view["clusterArn"], "TaskARN": task.arn, "Family": family, "Revision": revision, "DesiredStatus": task.desired,
                  "KnownStatus": task.status, "Limits": {"CPU": int(view["cpu"]) / 1024, "Memory": int(view["memory"])}, "LaunchType": "FARGATE",
                  "AvailabilityZone": view["availabilityZone"], "Containers": list(containers.values())})


def _credentials(request: Request, key: str) -> Response:
    task = next((t for t in list(TASKS.values()) if t.role and t.credentials == key), None)
    if task is None:
        return _json({"code": "InvalidIdInRequest", "message": "CredentialsV2Request: Credentials not found"}, 400)
    until = events.now() + datetime.timedelta(hours=6)
    return _json({"RoleArn": task.role, "AccessKeyId": "test", "SecretAccessKey": "test", "Token": "test", "Expiration": until.strftime("%Y-%m-%dT%H:%M:%SZ")})


def register():
    ROUTER.add("/_ecs", lambda request: _json({"namespaces": sandbox.choose().namespaces}), methods=["GET"])
    ROUTER.add("/_ecs/faults", _faults, methods=["GET", "PUT", "DELETE"])
    ROUTER.add("/_ecs/tasks", _tasks, methods=["GET"])
    for verb in ("interrupt", "lose"):
        ROUTER.add(f"/_ecs/tasks/<path:ref>/{verb}", lambda request, ref, verb=verb: _verb(request, ref, verb), methods=["POST"])
    ROUTER.add("/_ecs/v4/<task_id>/<container>", _metadata, methods=["GET"])
    ROUTER.add("/_ecs/v4/<task_id>/<container>/<what>", _metadata, methods=["GET"])
    ROUTER.add("/_ecs/credentials/<key>", _credentials, methods=["GET"])
