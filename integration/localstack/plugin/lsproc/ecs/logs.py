"""The awslogs driver: what a container writes goes to CloudWatch Logs every second."""

import time

from localstack.aws.connect import connect_to

BYTES, EVENTS = 800_000, 5_000  # of one PutLogEvents
LINE = 256 * 1024 - 26


class Missing(Exception):
    """There is no such log group."""


class Stream:
    """Ships a file; without a log group it only lets it be."""

    def __init__(self, path, name, task_id, definition, region, account):
        options = (definition.get("logConfiguration") or {}).get("options") or {}
        self.path, self.at, self.rest = path, 0, b""
        self.group = options.get("awslogs-group")
        if not self.group:
            return
        self.client = connect_to(region_name=region, aws_access_key_id=account).logs
        self.stream = f"{options.get('awslogs-stream-prefix', '')}/{name}/{task_id}".lstrip("/")
        if options.get("awslogs-create-group") == "true":
            try:
                self.client.create_log_group(logGroupName=self.group)
            except self.client.exceptions.ResourceAlreadyExistsException:
                pass
        try:
            self.client.create_log_stream(logGroupName=self.group, logStreamName=self.stream)
        except self.client.exceptions.ResourceNotFoundException:
            raise Missing("ResourceInitializationError: failed to validate logger args: create stream has been retried 1 times: failed to create "
                          "Cloudwatch log stream: ResourceNotFoundException: The specified log group does not exist. : exit status 1")

    def ship(self, last=False):
        if not self.group:
            return
        while True:
            with open(self.path, "rb") as f:
                f.seek(self.at)
                new = f.read(BYTES)
            self.at += len(new)
            lines = (self.rest + new).split(b"\n")
            self.rest = b"" if last and not new else lines.pop()
            self._put([line[:LINE].decode("utf-8", "replace") for line in lines if line])
            if not new:
                return

    def _put(self, lines):
        for i in range(0, len(lines), EVENTS):
            now = int(time.time() * 1000)
            self.client.put_log_events(logGroupName=self.group, logStreamName=self.stream,
                                       logEvents=[{"timestamp": now, "message": x} for x in lines[i:i + EVENTS]])
