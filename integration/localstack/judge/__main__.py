"""Judges what it is sent, on a Unix socket or as a file.

    python -m judge SOCKET VIOLATIONS    until its standard input ends, which is when the emulator does
    python -m judge FILE                 prints the verdict on the messages of a file; fails if that is bad

A message is three lengths of four bytes each (big endian), then JSON, the body of a request and the body of its
answer. The JSON is {"service", "operation", "protocol", "method", "target", "headers", "status", "answered"}, where
target is the path with the query and answered are the headers of the answer; or {"verdict": SERVICES}, which
is answered with a verdict on all that came before it, in JSON, and begins anew.
"""

import collections
import functools
import json
import os
import queue
import selectors
import socket
import struct
import sys
import threading

import botocore.loaders
import botocore.model

from judge import rules, wire

LENGTHS = struct.Struct(">III")
LONGEST = 100  # characters of a value that is shown
EXPECTED = "x-judge-expects"  # a header by which a test announces the one violation that it sends on purpose

loader = botocore.loaders.Loader()


@functools.cache
def service(name):
    return botocore.model.ServiceModel(loader.load_service_model(name, "service-2"), name)


@functools.cache
def operation(of, name):
    return service(of).operation_model(name)


class Judge:
    def __init__(self, file=None):
        self.file = file
        self.begin()

    def begin(self):
        self.operations, self.violations, self.warnings = collections.Counter(), {}, {}
        self.answers = 0  # that were looked at

    def take(self, about, body, answer):
        """Judges one request and its answer."""
        of, protocol = about["service"], about["protocol"]
        found = collections.defaultdict(list)
        message = wire.Message(about["method"], about["target"], about["headers"], body)
        name = about["operation"] or wire.operation_of(service(of), protocol, message)
        label = f"{of} {name or '?'}"
        self.operations[label] += 1
        expected = message.headers.pop(EXPECTED, None)

        def note(path, rule, value):
            if (of, name, path, rule) not in rules.NOT_ENFORCED:
                found[path, rule].append(value)

        try:
            model = operation(of, name)
        except botocore.model.OperationNotFoundError:
            note("", "operation", f"{name} {about['method']} {about['target']}")
            model = None
        if model:
            self.guarded(note, lambda: self.request(model, protocol, message, note))
        if expected:
            self.foresee(found, expected[0])
        for (path, rule), values in found.items():
            self.add(self.violations, label, path, rule, values[0], self.file)
        if model and about["status"] // 100 == 2 and not model.has_streaming_output:
            self.answers += 1
            warn = functools.partial(self.add, self.warnings, label)
            reply = wire.Message("", "", about["answered"], answer)
            self.guarded(warn, lambda: wire.answer(model, protocol, reply, warn))

    @staticmethod
    def request(model, protocol, message, note):
        rejected = []

        def found(path, rule, value):
            rejected.append(path)
            note(path, rule, value)

        def broken(path, rule, value):
            # A member that could not be decoded is there all the same.
            if not (rule == "required" or rule.startswith("one member")) or not any(r == path or r.startswith(path + ".") for r in rejected):
                note(path, rule, value)

        values = wire.request(model, protocol, message, found)
        if model.input_shape:
            rules.check(model.service_model.service_name, model.input_shape, values, "", broken)

    @staticmethod
    def guarded(note, judge):
        """A message that the judge cannot deal with is a violation: it was not judged."""
        try:
            judge()
        except Exception as e:
            note("", f"not judged: {type(e).__name__}", str(e))

    @staticmethod
    def foresee(found, text):
        """Takes away the one violation that was announced; that it is missing is one, too."""
        for path, rule in list(found):
            if f"{path}: {rule}" == text:
                del found[path, rule]
                return
        found["", "announced violation"].append(text)

    @staticmethod
    def add(into, label, path, rule, value, file=None):
        key = label, path, rule
        if key in into:
            into[key][1] += 1
            return
        shown = repr(value)
        into[key] = [shown if len(shown) <= LONGEST else shown[:LONGEST] + "...", 1]
        if file:
            with open(file, "a") as f:
                f.write(line(key, into[key]) + "\n")

    def verdict(self, services=()):
        """What is to be said of all that was taken; then begins anew."""
        requests = self.operations.total()
        judged = {label.split()[0] for label in self.operations}
        out = {
            "requests": requests,
            "answers": self.answers,
            "operations": len(self.operations),
            "services": sorted(judged),
            "violations": [line(*x) for x in sorted(self.violations.items())],
            "warnings": [line(*x) for x in sorted(self.warnings.items())],
            "missing": sorted(set(services) - judged) if requests else ["everything: no request was judged"],
        }
        self.begin()
        return out


def line(key, seen):
    label, path, rule = key
    value, times = seen
    return f"{label} {path or '(request)'}: {rule}: {value} ({times} times)" if times > 1 else f"{label} {path or '(request)'}: {rule}: {value}"


def frames(buffer):
    """Takes whole messages off the front of a buffer."""
    while len(buffer) >= LENGTHS.size:
        sizes = LENGTHS.unpack_from(buffer)
        end = LENGTHS.size + sum(sizes)
        if len(buffer) < end:
            return
        at, parts = LENGTHS.size, []
        for size in sizes:
            parts.append(bytes(buffer[at : at + size]))
            at += size
        del buffer[:end]
        yield json.loads(parts[0]), parts[1], parts[2]


def receive(listener, messages):
    """Reads from all connections at once. A question is put behind all that was sent before it."""
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    questions = []
    while True:
        ready = selector.select(0.02 if questions else None)
        if not ready:
            for q in questions:
                messages.put(q)
            questions.clear()
        for key, _ in ready:
            if key.fileobj is listener:
                connection, _ = listener.accept()
                selector.register(connection, selectors.EVENT_READ, bytearray())
                continue
            data = key.fileobj.recv(1 << 20)
            if not data:
                selector.unregister(key.fileobj)
                continue
            key.data.extend(data)
            for about, body, answer in frames(key.data):
                if "verdict" in about:
                    selector.unregister(key.fileobj)
                    questions.append((about, key.fileobj, None))
                else:
                    messages.put((about, body, answer))


def serve(path, file):
    if os.path.exists(path):
        os.remove(path)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    messages = queue.Queue()
    threading.Thread(target=receive, args=(listener, messages), daemon=True).start()
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    judge = Judge(file)
    while True:
        about, body, answer = messages.get()
        if "verdict" in about:
            with body as connection:  # the question's own
                connection.sendall(json.dumps(judge.verdict(about["verdict"])).encode())
        else:
            judge.take(about, body, answer)


def main(arguments):
    if len(arguments) == 2:
        serve(*arguments)
    judge = Judge()
    with open(arguments[0], "rb") as f:
        for message in frames(bytearray(f.read())):
            judge.take(*message)
    verdict = judge.verdict()
    json.dump(verdict, sys.stdout, indent=1)
    return 1 if verdict["violations"] or verdict["missing"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
