"""The execution environments of a function, which threads that call it walk through while others add one.

LocalStack's dictionary then fails the call, now and then, and its message stays away for the whole visibility of its queue.
"""

from collections import defaultdict

from localstack.services.lambda_.invocation.assignment import AssignmentService


class Environments(dict):
    def values(self):
        return list(super().values())


def share():
    made = AssignmentService.__init__

    def make(self, *args, **kwargs):
        made(self, *args, **kwargs)
        self.environments = defaultdict(Environments)

    AssignmentService.__init__ = make
