"""Athena queries that really run: on SQLite, each on an empty database of its own.

Workgroups, catalogs and the list of executions are moto's, which runs no query, forgets the
client's token and knows no failure.  A query runs in a thread until it ends or is stopped;
results come in pages, the names of the columns as the first row.
"""

import sqlite3
import threading

from localstack.aws.api import CommonServiceException
from localstack.services.moto import call_moto

QUERIES = {}  # execution id -> Query
TOKENS = {}  # (account, region, token) -> (request, execution id)
LOCK = threading.Lock()


class Query:
    def __init__(self, request):
        self.sql, self.literals = request["QueryString"], request.get("ExecutionParameters") or []
        self.state, self.reason, self.columns, self.rows = "QUEUED", None, [], []
        self.lock = threading.Lock()
        self.database = sqlite3.connect(":memory:", check_same_thread=False)
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        self.become("RUNNING")
        try:
            values = [self.database.execute("SELECT " + literal).fetchone()[0] for literal in self.literals]
            cursor = self.database.execute(self.sql, values)
            self.columns = [c[0] for c in cursor.description or []]
            self.rows = cursor.fetchall()
            self.become("SUCCEEDED")
        except sqlite3.Error as e:
            self.reason = f"SYNTAX_ERROR: {e}"
            self.become("FAILED")

    def become(self, state):
        with self.lock:
            if self.state not in ("SUCCEEDED", "FAILED", "CANCELLED"):
                self.state = state

    def stop(self):
        self.become("CANCELLED")
        self.database.interrupt()

    def kind(self, i):
        kinds = {int: "bigint", float: "double", str: "varchar", bytes: "varbinary"}
        return next((kinds[type(row[i])] for row in self.rows if row[i] is not None), "varchar")


def _invalid(message):
    return CommonServiceException("InvalidRequestException", message, status_code=400, sender_fault=True)


def _start(context, request):
    token = request.get("ClientRequestToken")
    if not token or not 32 <= len(token) <= 128:
        raise _invalid("ClientRequestToken must have 32 to 128 characters")
    key = (context.account_id, context.region, token)
    with LOCK:
        if key in TOKENS:
            before, response = TOKENS[key]
            if before != request:
                raise _invalid("Idempotent parameters do not match")
            return response
        response = call_moto(context)
        QUERIES[response["QueryExecutionId"]] = Query(request)
        TOKENS[key] = (request, response)
        return response


def _find(request):
    query = QUERIES.get(request["QueryExecutionId"])
    if query is None:
        raise _invalid(f"QueryExecution {request['QueryExecutionId']} was not found")
    return query


def _get(context, request):
    query = _find(request)
    response = call_moto(context)
    execution = response["QueryExecution"]
    execution["Status"]["State"] = query.state
    if query.reason:
        execution["Status"]["StateChangeReason"] = query.reason
    execution["Statistics"]["DataScannedInBytes"] = len(query.rows)
    return response


def _results(context, request):
    query = _find(request)
    if query.state != "SUCCEEDED":
        raise _invalid(f"Query has not yet finished. Current state: {query.state}")
    rows = [query.columns] + query.rows if query.columns else []
    first, size = int(request.get("NextToken") or 0), request.get("MaxResults") or 1000
    data = [{"Data": [{} if v is None else {"VarCharValue": v.decode() if isinstance(v, bytes) else str(v)} for v in row]} for row in rows[first : first + size]]
    info = [{"Name": name, "Label": name, "Type": query.kind(i)} for i, name in enumerate(query.columns)]
    response = {"ResultSet": {"Rows": data, "ResultSetMetadata": {"ColumnInfo": info}}}
    if first + size < len(rows):
        response["NextToken"] = str(first + size)
    return response


def _stop(context, request):
    _find(request).stop()
    return {}


def overrides():
    return {"StartQueryExecution": _start, "GetQueryExecution": _get, "GetQueryResults": _results, "StopQueryExecution": _stop}
