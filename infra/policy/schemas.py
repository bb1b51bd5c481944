"""Derives schemas.json: what the CloudFormation registry says about each resource type of a deployment, and what IAM says about
the actions named there. `make schemas` runs it; with --check it fails if the file is out of date.

The registry's schemas come with cfn-lint, whose Python runs this. The actions come with the policy simulator of the test bed.
Only the facts that tests compare with are kept: permissions of the handlers, properties whose change replaces the resource,
properties that identify it, and actions that IAM cannot restrict to a resource.

Types are those of the templates in testdata, and those that schemas.json lists already.
"""

import glob
import json
import os
import re
import sys

import cfnlint

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "schemas.json")
TEMPLATES = os.path.join(HERE, "..", "deployment", "testdata", "*.json")
ACTIONS = os.path.join(HERE, "..", "..", "integration", "localstack", "iam", "node_modules", "@cloud-copilot", "iam-data", "data", "actions")
REGISTRY = os.path.join(os.path.dirname(cfnlint.__file__), "data", "schemas")
HANDLERS = ("create", "read", "update", "delete")


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def types():
    found = set(read(OUT)["types"]) if os.path.exists(OUT) else set()
    for path in glob.glob(TEMPLATES):
        with open(path, encoding="utf-8") as file:
            found |= set(re.findall(r'"Type": "(AWS::\w+::\w+)"', file.read()))
    return sorted(found)


def schema(regions, name):
    """All regions that have a type must agree, or a fact would hold in some of them only."""
    numbers = {region[name] for region in regions if name in region}
    if len(numbers) != 1:
        sys.exit(f"schemas.py: {name} has {len(numbers)} schemas in {len(regions)} regions")
    return read(os.path.join(REGISTRY, "resources", numbers.pop() + ".json"))


def properties(of, *keys):
    """Names of the top-level properties: /properties/Name/Inner is part of Name."""
    return sorted({path.split("/")[2] for key in keys for path in of.get(key) or []})


def derive():
    regions = [read(path) for path in glob.glob(os.path.join(REGISTRY, "providers", "*.json"))]
    all_types, permissions = {}, set()
    for name in types():
        of = schema(regions, name)
        handlers = {h: sorted(of.get("handlers", {}).get(h, {}).get("permissions", [])) for h in HANDLERS}
        permissions |= {p for list in handlers.values() for p in list}
        all_types[name] = {**handlers,
                           "createOnly": properties(of, "createOnlyProperties", "conditionalCreateOnlyProperties"),
                           "identifier": properties(of, "primaryIdentifier")}
    services = {p.split(":")[0] for p in permissions} & {name.removesuffix(".json") for name in os.listdir(ACTIONS)}
    return {"types": all_types, "anywhere": sorted(a for service in services for a in anywhere(service))}


def anywhere(service):
    """Actions of a service that IAM cannot restrict to a resource, so that a policy must grant them on *."""
    return [service + ":" + a["name"] for a in read(os.path.join(ACTIONS, service + ".json")).values() if not a["resourceTypes"]]


text = json.dumps(derive(), indent=1) + "\n"
if "--check" in sys.argv:
    with open(OUT, encoding="utf-8") as file:
        if file.read() != text:
            sys.exit("infra/policy/schemas.json is out of date: run make schemas")
else:
    with open(OUT, "w", encoding="utf-8") as file:
        file.write(text)
