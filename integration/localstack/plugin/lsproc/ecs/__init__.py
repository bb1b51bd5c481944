"""ECS on Fargate with local processes as containers.

    definitions.py  what RegisterTaskDefinition and its kin refuse
    launch.py       RunTask: checks, idempotency, rate, faults
    api.py          the other operations on tasks
    task.py         the life of a task: states, order of its containers, stopping
    container.py    one container: its processes, its end
    sandbox.py      how its processes are shut in: namespaces where root may, else not
    events.py       what a task looks like to DescribeTasks, to EventBridge and to tests
    logs.py         awslogs
    memory.py       ends what takes more memory than it was given
    faults.py       what goes wrong, and how fast tasks may be launched
    control.py      the gateway's /_ecs: faults, Spot interruptions, lost tasks, metadata

Clusters, task definitions and services are moto's.  LSPROC_IMAGES maps images to programs of
this machine, e.g. {"runner": ["/path/to/runner"]}: the longest key that is a part of the image's
name wins and is its entry point.  Any other image is this machine's own file system; one with
"missing" in its name is not there.
"""

from . import api, definitions, launch


def overrides():
    return {
        "RunTask": launch.run_task, "DescribeTasks": api.describe_tasks, "StopTask": api.stop_task, "ListTasks": api.list_tasks,
        "RegisterTaskDefinition": definitions.register, "DescribeTaskDefinition": definitions.describe,
        "ListTaskDefinitions": definitions.list_all, "DeleteTaskDefinitions": definitions.delete,
    }
