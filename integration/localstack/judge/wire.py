"""Decodes a request by the protocol of its service, and reports what the model does not describe.

`found(path, rule, value)` takes each finding. What cannot be decoded is reported and left out of the result, so
that rules.py does not report it a second time.
"""

import base64
import binascii
import json
import re
from datetime import datetime
from email.utils import parsedate_to_datetime
from urllib.parse import parse_qsl, unquote
from xml.etree import ElementTree

import cbor2

NOTHING = object()  # a value that could not be decoded

# Headers that belong to HTTP, to signatures and to the SDKs' own bookkeeping. Every other header must be a member of
# the operation.
HEADERS = {
    "accept", "accept-encoding", "authorization", "cache-control", "connection", "content-encoding", "content-length", "content-md5", "content-type",
    "date", "expect", "host", "keep-alive", "te", "trailer", "transfer-encoding", "user-agent", "amz-sdk-invocation-id", "amz-sdk-request", "smithy-protocol",
    "x-amz-api-version", "x-amz-content-sha256", "x-amz-date", "x-amz-decoded-content-length", "x-amz-security-token", "x-amz-target", "x-amz-trailer",
    "x-amz-user-agent", "x-amzn-query-mode", "x-amzn-trace-id", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto",
}  # fmt: skip

# Query parameters of signed links, and the SDKs' name of the operation.
QUERY = {"x-id", "x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-expires", "x-amz-security-token", "x-amz-signature", "x-amz-signedheaders"}

TIMES = {
    "iso8601": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z"),
    "rfc822": re.compile(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT"),
    "unixtimestamp": re.compile(r"-?\d{1,12}(\.\d{1,9})?"),
}
INTEGER, NUMBER = re.compile(r"[+-]?\d+"), re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?|NaN|-?Infinity")
NOT_FINITE = ("NaN", "Infinity", "-Infinity")


def wire_name(name, shape):
    return shape.serialization.get("name", name)


def is_time(text, form):
    """Reports whether a text is a point in time in a format, and one that exists."""
    form = form.lower()
    if not TIMES[form].fullmatch(text):
        return False
    try:
        if form == "iso8601":
            datetime.fromisoformat(text)
        elif form == "rfc822":
            parsedate_to_datetime(text)
    except ValueError:
        return False
    return True


def time_of(shape, value, default, path, found):
    form = shape.serialization.get("timestampFormat", default)
    text = repr(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value
    wants_number = form.lower() == "unixtimestamp"
    if not isinstance(text, str) or wants_number != (text is not value) or not is_time(text, form):
        found(path, f"timestamp as {form}", value)
        return NOTHING
    return value


def blob(text, path, found):
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        found(path, "type blob in base64", text)
        return NOTHING


def scalar(shape, text, time_format, path, found):
    """Decodes what a header, a path, a query or an element of XML holds as text."""
    kind, good = shape.type_name, True
    if kind in ("integer", "long"):
        good = INTEGER.fullmatch(text)
        value = int(text) if good else None
    elif kind in ("float", "double"):
        good = NUMBER.fullmatch(text)
        value = float(text.replace("Infinity", "inf")) if good else None
    elif kind == "boolean":
        good, value = text in ("true", "false"), text == "true"
    elif kind == "timestamp":
        if shape.serialization.get("timestampFormat", time_format).lower() == "unixtimestamp" and NUMBER.fullmatch(text):
            return float(text)
        return time_of(shape, text, time_format, path, found)
    elif kind == "blob":
        return blob(text, path, found)
    elif kind in ("string", "character"):
        value = text
    else:
        good = False
    if not good:
        found(path, f"type {kind}", text)
        return NOTHING
    return value


def put(values, name, value):
    if value is not NOTHING:
        values[name] = value


def in_body(shape):
    """The members of a structure that its document holds, by their names there."""
    return {wire_name(n, m): (n, m) for n, m in shape.members.items() if "location" not in m.serialization}


# JSON, and CBOR, whose documents have the same form.


def tree(shape, value, path, found, cbor=False):
    kind = shape.type_name
    if getattr(shape, "is_document_type", False):
        return value
    if kind == "structure" and isinstance(value, dict):
        known, out = in_body(shape), {}
        for key, x in value.items():
            if key not in known:
                # Each answer of a union may name its type.
                found(f"{path}.{key}", "unknown member", x)
            elif x is not None:  # null is as if it were missing
                name, member = known[key]
                put(out, name, tree(member, x, f"{path}.{key}", found, cbor))
        return out
    if kind == "list" and isinstance(value, list):
        return [y for x in value if (y := tree(shape.member, x, path + "[]", found, cbor)) is not NOTHING] if all(x is not None for x in value) else wrong(kind, value, path, found)
    if kind == "map" and isinstance(value, dict):
        out = {}
        for key, x in value.items():
            put(out, key, tree(shape.value, x, path + "{}", found, cbor))
        return out
    if kind == "timestamp":
        if cbor and isinstance(value, datetime):
            return value
        return time_of(shape, value, "unixTimestamp", path, found)
    if kind == "blob":
        if cbor and isinstance(value, bytes):
            return value
        if not cbor and isinstance(value, str):
            return blob(value, path, found)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if (
        (kind in ("string", "character") and isinstance(value, str))
        or (kind == "boolean" and isinstance(value, bool))
        or (kind in ("integer", "long") and is_number and value == int(value))
        or (kind in ("float", "double") and (is_number or value in NOT_FINITE))
    ):
        return value
    return wrong(kind, value, path, found)


def wrong(kind, value, path, found):
    found(path, f"type {kind}", value)
    return NOTHING


def document(shape, body, protocol, path, found):
    """Decodes a whole body."""
    if protocol == "rest-xml":
        try:
            return element(shape, ElementTree.fromstring(body), path, found)
        except ElementTree.ParseError as e:
            found(path, "XML", str(e))
            return NOTHING
    cbor = "cbor" in protocol
    try:
        value = cbor2.loads(body) if cbor else json.loads(body)
    except (ValueError, cbor2.CBORDecodeError) as e:
        found(path, "CBOR" if cbor else "JSON", f"{e}: {body[:60]!r}")
        return NOTHING
    return tree(shape, value, path, found, cbor)


# XML.


def tag(node):
    return node.tag.rpartition("}")[2]


def element(shape, node, path, found):
    kind = shape.type_name
    if kind == "structure":
        return structure(shape, list(node), node.attrib, path, found)
    if kind == "list":
        name, out = wire_name("member", shape.member), []
        for child in node:
            if tag(child) != name:
                found(f"{path}.{tag(child)}", "unknown member", child.text)
            elif (x := element(shape.member, child, path + "[]", found)) is not NOTHING:
                out.append(x)
        return out
    if kind == "map":
        return pairs(shape, list(node), path, found)
    return scalar(shape, node.text or "", "iso8601", path, found)


def structure(shape, children, attributes, path, found):
    members, out, flat = in_body(shape), {}, {}
    for key in attributes:
        name = key.rpartition("}")[2]
        if not any(m.serialization.get("xmlAttribute") and k.endswith(name) for k, (_, m) in members.items()):
            found(f"{path}@{name}", "unknown attribute", attributes[key])
    for key, (name, member) in members.items():
        if member.serialization.get("xmlAttribute"):
            local = key.rpartition(":")[2]
            for k, x in attributes.items():
                if k.rpartition("}")[2] == local:
                    put(out, name, scalar(member, x, "iso8601", f"{path}@{local}", found))
    for child in children:
        key = tag(child)
        if key not in members:
            found(f"{path}.{key}", "unknown member", child.text)
            continue
        name, member = members[key]
        if member.serialization.get("flattened"):
            flat.setdefault(name, (member, f"{path}.{key}", []))[2].append(child)
        elif name in out:
            found(f"{path}.{key}", "one element", child.text)
        else:
            put(out, name, element(member, child, f"{path}.{key}", found))
    for name, (member, at, nodes) in flat.items():
        if member.type_name == "map":
            put(out, name, pairs(member, nodes, at, found))
        else:
            out[name] = [x for n in nodes if (x := element(member.member, n, at + "[]", found)) is not NOTHING]
    return out


def pairs(shape, entries, path, found):
    out = {}
    for e in entries:
        parts = {tag(c): c for c in e}
        key, value = parts.get(wire_name("key", shape.key)), parts.get(wire_name("value", shape.value))
        if key is None or value is None or len(parts) != 2:
            found(path, "key and value", sorted(parts))
            continue
        put(out, key.text or "", element(shape.value, value, path + "{}", found))
    return out


# Forms: the protocol "query", and "ec2" with names of its own.


def form_tree(fields, found):
    """Splits "A.member.1.B" into nested dictionaries; the text of a field is in "" of its own."""
    root = {}
    for name, text in fields:
        node = root
        for part in name.split("."):
            node = node.setdefault(part, {})
        if "" in node:
            found(name, "one value", text)
        node[""] = text
    return root


def form_name(name, shape, ec2):
    if ec2:
        own = shape.serialization.get("queryName")
        short = wire_name(name, shape)
        return own or short[:1].upper() + short[1:]
    if shape.type_name == "list" and shape.serialization.get("flattened"):
        return wire_name(wire_name(name, shape), shape.member)
    return wire_name(name, shape)


def in_order(node, path, found):
    """The elements of a list: 1, 2, 3 and so on."""
    items = sorted((k for k in node if k.isdigit()), key=int)
    if items != [str(i + 1) for i in range(len(items))] or any(not k.isdigit() for k in node):
        found(path, "elements from 1 on", sorted(node))
    return [node[k] for k in items]


def form(shape, node, ec2, path, found):
    kind, flat = shape.type_name, ec2 or shape.serialization.get("flattened")
    if kind == "structure":
        known, out = {form_name(n, m, ec2): (n, m) for n, m in shape.members.items()}, {}
        for key, child in node.items():
            if key not in known:
                found(f"{path}.{key}", "unknown member", child if key == "" else child.get("", ""))
                continue
            name, member = known[key]
            put(out, name, form(member, child, ec2, f"{path}.{key}", found))
        return out
    if kind in ("list", "map") and node == {"": ""}:
        return [] if kind == "list" else {}
    if kind in ("list", "map") and not flat:
        inner = "entry" if kind == "map" else wire_name("member", shape.member)
        for key, child in node.items():
            if key != inner:
                found(f"{path}.{key}", "unknown member", child if key == "" else child.get("", ""))
        node = node.get(inner, {})
    if kind == "list":
        return [x for n in in_order(node, path, found) if (x := form(shape.member, n, ec2, path + "[]", found)) is not NOTHING]
    if kind == "map":
        out, names = {}, {wire_name("key", shape.key), wire_name("value", shape.value)}
        for n in in_order(node, path, found):
            if set(n) != names:
                found(path, "key and value", sorted(n))
                continue
            put(out, n[wire_name("key", shape.key)].get("", ""), form(shape.value, n[wire_name("value", shape.value)], ec2, path + "{}", found))
        return out
    for key in node:
        if key:
            found(f"{path}.{key}", "unknown member", node[key])
    return scalar(shape, node.get("", ""), "iso8601", path, found)


# Requests and answers.


class Message:
    """A request; with the answer's headers and body, an answer."""

    def __init__(self, method="", target="", headers=(), body=b""):
        self.method = method
        self.path, _, query = target.partition("?")
        self.query = parse_qsl(query, keep_blank_values=True)
        self.headers = {}
        for name, value in headers:
            self.headers.setdefault(name.lower(), []).append(value)
        self.body = body
        if any(name.lower() == "x-amz-signature" for name, _ in self.query):
            # Whoever signs a link may move headers into its query.
            moved = [(k, v) for k, v in self.query if k.lower().startswith("x-amz-") and k.lower() not in QUERY]
            self.query = [q for q in self.query if q not in moved]
            for name, value in moved:
                self.headers.setdefault(name.lower(), []).append(value)


def operation_of(service, protocol, message):
    """The name of the operation that a request asks for; an emulator that failed early does not say it."""
    if protocol in ("query", "ec2"):
        fields = dict(message.query) | dict(parse_qsl(message.body.decode("utf-8", "replace")))
        return fields.get("Action", "")
    if protocol.startswith("rest-"):
        return max((rank(service.operation_model(n), message), n) for n in service.operation_names)[1]
    return first(message, "x-amz-target").rpartition(".")[2] or message.path.rpartition("/")[2]


def rank(operation, message):
    """How much of a request an operation of a REST service asks for; nothing where it asks for something else."""
    template, _, constants = operation.http["requestUri"].partition("?")
    rejected = []
    path_values(template, message.path, lambda *finding: rejected.append(finding))
    query = dict(message.query)
    wanted = dict(parse_qsl(constants, keep_blank_values=True))
    needed = []
    for name in operation.input_shape.required_members if operation.input_shape else ():
        member = operation.input_shape.members[name]
        location, wire = member.serialization.get("location"), wire_name(name, member)
        if location in ("querystring", "header"):
            needed.append(wire in query if location == "querystring" else wire.lower() in message.headers)
    if rejected or operation.http["method"] != message.method or any(query.get(k) != v for k, v in wanted.items()) or not all(needed):
        return (-1, 0, 0)
    return (len(wanted) + len(needed), len(re.sub(r"\{[^}]*\}", "", template)), template.count("{"))


def request(operation, protocol, message, found):
    """The members of a request."""
    shape = operation.input_shape
    if protocol.startswith("rest-"):
        return rest(operation, protocol, message, found)
    strange_headers(message, (), (), found)
    if protocol in ("query", "ec2"):
        fields = [*message.query, *parse_qsl(message.body.decode("utf-8", "replace"), keep_blank_values=True)]
        fields = [(k, v) for k, v in fields if k not in ("Action", "Version") and k.lower() not in QUERY]
        node = form_tree(fields, found)
        if shape is None:
            for name in node:
                found("." + name, "unknown member", node[name])
            return {}
        return form(shape, node, protocol == "ec2", "", found)
    if protocol == "json":
        want = f"application/x-amz-json-{operation.service_model.metadata['jsonVersion']}"
        if (got := first(message, "content-type")) != want:
            found("@content-type", f"content type {want}", got)
    for name, value in message.query:
        found("?" + name, "unknown query parameter", value)
    if shape is None or not message.body:
        return {}
    value = document(shape, message.body, protocol, "", found)
    return {} if value is NOTHING else value


def first(message, name):
    return message.headers.get(name, [""])[0]


def rest(operation, protocol, message, found):
    shape = operation.input_shape
    template, _, constants = operation.http["requestUri"].partition("?")
    in_path = path_values(template, message.path, found)
    known = {k for k, _ in parse_qsl(constants, keep_blank_values=True)}
    headers, prefixes, rest_of_query, out = set(), [], None, {}
    for name, member in shape.members.items() if shape else ():
        location, wire = member.serialization.get("location"), wire_name(name, member)
        if location == "uri" and wire in in_path:
            put(out, name, scalar(member, in_path[wire], "iso8601", "." + name, found))
        elif location == "header":
            headers.add(wire.lower())
            if values := message.headers.get(wire.lower()):
                put(out, name, header(member, values, "." + name, found))
        elif location == "headers":
            prefixes.append(wire.lower())
            out[name] = {k[len(wire) :]: v[0] for k, v in message.headers.items() if k.startswith(wire.lower())} or None
        elif location == "querystring" and member.type_name == "map":
            rest_of_query = name
        elif location == "querystring":
            known.add(wire)
            values = [v for k, v in message.query if k == wire]
            if values and member.type_name == "list":
                out[name] = [x for v in values if (x := scalar(member.member, v, "iso8601", f".{name}[]", found)) is not NOTHING]
            elif values:
                put(out, name, scalar(member, values[0], "iso8601", "." + name, found))
                if len(values) > 1:
                    found("." + name, "one value", values)
    for name, value in message.query:
        if name in known or name.lower() in QUERY:
            continue
        if rest_of_query:
            out.setdefault(rest_of_query, {})[name] = value
        else:
            found("?" + name, "unknown query parameter", value)
    if operation.http_checksum:
        prefixes.append("x-amz-checksum-")  # one for each algorithm, of which the model may name none
    strange_headers(message, headers, prefixes, found)
    if shape is None:
        return out
    return {n: v for n, v in (out | rest_body(shape, protocol, message, found)).items() if v is not None}


def path_values(template, path, found):
    pattern = "".join(
        f"(?P<p{i}>{'.*' if part.endswith('+}') else '[^/]*'})" if part.startswith("{") else re.escape(part) for i, part in enumerate(re.split(r"(\{[^}]*\})", template))
    )
    m = re.fullmatch(pattern, path) or re.fullmatch(pattern, path.rstrip("/")) or re.fullmatch(pattern, path + "/")
    if not m:
        found("", f"path {template}", path)
        return {}
    return {part.strip("{}").rstrip("+"): unquote(m[f"p{i}"]) for i, part in enumerate(re.split(r"(\{[^}]*\})", template)) if part.startswith("{")}


def header(shape, values, path, found):
    if shape.serialization.get("jsonvalue"):
        return NOTHING
    if shape.type_name == "list":
        texts = [t.strip() for v in values for t in v.split(",")]
        return [x for t in texts if (x := scalar(shape.member, t, "rfc822", path + "[]", found)) is not NOTHING]
    return scalar(shape, values[0], "rfc822", path, found)


def strange_headers(message, known, prefixes, found):
    for name, values in message.headers.items():
        if name not in HEADERS and name not in known and not any(name.startswith(p) for p in prefixes):
            found("@" + name, "unknown header", values[0])


def rest_body(shape, protocol, message, found):
    name = shape.serialization.get("payload")
    if name is None:
        if not message.body:
            return {}
        value = document(shape, message.body, protocol, "", found)
        return {} if value is NOTHING else value
    member = shape.members[name]
    if member.type_name in ("blob", "string"):
        if member.serialization.get("streaming"):
            return {name: b""}  # no model limits what is streamed, and it was not kept
        return {name: message.body} if message.body else {}
    if not message.body or member.serialization.get("eventstream"):
        return {}
    value = document(member, message.body, protocol, "." + name, found)
    return {} if value is NOTHING else {name: value}


def answer(operation, protocol, message, found):
    """Decodes the body of a successful answer, for what the model does not describe."""
    shape = operation.output_shape
    if shape is None or not message.body:
        return
    if protocol in ("query", "ec2"):
        try:
            root = ElementTree.fromstring(message.body)
        except ElementTree.ParseError as e:
            found("", "XML", str(e))
            return
        inner = [c for c in root if tag(c) not in ("ResponseMetadata", "requestId")]
        if wrapper := shape.serialization.get("resultWrapper"):
            inner = [c for r in inner if tag(r) == wrapper for c in r]
        structure(shape, inner, {}, "", found)
    elif protocol.startswith("rest-"):
        rest_body(shape, protocol, message, found)
    else:
        document(shape, message.body, protocol, "", found)
