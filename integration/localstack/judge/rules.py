"""The constraints of a model: required members, unions, lengths, ranges, patterns and enums.

botocore's own ParamValidator checks required members and minimums only.
"""

import functools

import regex

# Constraints that AWS does not enforce, or in which the model of this release is wrong: (service, operation, member,
# rule) and the reason. A rule that is not listed here is enforced. Each entry has a case in judge_test.go.
NOT_ENFORCED = {
    ("cloudformation", operation, ".DeploymentConfig", "unknown member"): "the CDK, whose SDK is newer than this release of botocore, sends it"
    for operation in ("CreateChangeSet", "CreateStack", "DeleteStack", "UpdateStack")
}

# Structures that are unions by the documentation of their service, although the model does not say so.
UNIONS = {("dynamodb", "AttributeValue"), ("dynamodbstreams", "AttributeValue")}

# Java writes these classes in its own way, and characters above U+FFFF as two.
CLASSES = {r"\p{Print}": r"\x20-\x7e", r"\p{ASCII}": r"\x00-\x7f", r"\p{Graph}": r"\x21-\x7e", r"\p{Punct}": r"!-/:-@\[-`{-~"}
BEYOND = (r"\uD800\uDC00-\uDBFF\uDFFF", r"\U00010000-\U0010FFFF")


@functools.cache
def pattern(text):
    """A pattern of a model, which must describe the whole value."""
    text = text.replace(*BEYOND)
    for theirs, ours in CLASSES.items():
        inside = regex.sub(r"\[(?:\\.|[^\]\\])*\]", lambda m: m[0].replace(theirs, ours), text)
        text = inside.replace(theirs, f"[{ours}]")
    return regex.compile(text, regex.DOTALL)


def length(value, low, high, what, path, found):
    n = len(value)
    if low is not None and n < low:
        found(path, f"at least {low} {what}", value)
    if high is not None and n > high:
        found(path, f"at most {high} {what}, not {n}", value)


def check(service, shape, value, path, found):
    kind, of = shape.type_name, shape.metadata
    low, high = of.get("min"), of.get("max")
    if kind == "structure":
        if shape.is_document_type:
            return
        for name in shape.required_members:
            if name not in value:
                found(f"{path}.{name}", "required", None)
        if (shape.is_tagged_union or (service, shape.name) in UNIONS) and len(value) != 1:
            found(path, f"one member of the union, not {len(value)}", sorted(value))
        for name, x in value.items():
            check(service, shape.members[name], x, f"{path}.{name}", found)
    elif kind == "list":
        length(value, low, high, "elements", path, found)
        for x in value:
            check(service, shape.member, x, path + "[]", found)
    elif kind == "map":
        length(value, low, high, "entries", path, found)
        for key, x in value.items():
            check(service, shape.key, key, path + "{key}", found)
            check(service, shape.value, x, path + "{}", found)
    elif kind in ("string", "blob"):
        length(value, low, high, "characters" if kind == "string" else "bytes", path, found)
        if kind == "string":
            text(shape, value, path, found)
    elif kind in ("integer", "long", "float", "double"):
        if isinstance(value, str):
            return  # NaN and infinity
        if low is not None and value < low:
            found(path, f"at least {low}", value)
        if high is not None and value > high:
            found(path, f"at most {high}", value)


def text(shape, value, path, found):
    if shape.enum and value not in shape.enum:
        found(path, "enum", value)
    if (expected := shape.metadata.get("pattern")) is not None and not pattern(expected).fullmatch(value):
        found(path, f"pattern {expected}", value)
