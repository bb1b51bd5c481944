"""Glue job runs and crawls that take time, fail and can be stopped.

Jobs, crawlers and their lists are moto's, whose runs are done at once and never fail.  How
a run goes is in its arguments: `--takes` is in seconds, `--fails` the message of its error.
A crawl goes by the crawler's description: "takes 3 fails no access".
"""

import datetime
import re
import time

from moto.glue.models import FakeCrawl, FakeJobRun, glue_backends

from localstack.services.moto import call_moto


def _state(self, done, failed):
    if self.stopped:
        return "STOPPED"
    if time.time() < self.began + self.takes:
        return "RUNNING"
    return failed if self.fails else done


class Run(FakeJobRun):
    @property
    def status(self):
        return _state(self, "SUCCEEDED", "FAILED")

    def as_dict(self):
        d = super().as_dict()
        if self.status == "FAILED":
            d["ErrorMessage"] = self.fails
        return d


class Crawl(FakeCrawl):
    @property
    def status(self):
        return _state(self, "COMPLETED", "FAILED")

    @status.setter
    def status(self, value):  # moto says STOPPING, from where nothing leads on
        self.stopped = value == "STOPPING"


def _become(thing, kind, takes, fails):
    thing.__class__ = kind
    thing.began, thing.takes, thing.fails, thing.stopped = time.time(), float(takes or 0), fails, False


def _start_run(context, request):
    response = call_moto(context)
    for run in glue_backends[context.account_id][context.region].get_job(request["JobName"]).job_runs:
        if run.job_run_id == response["JobRunId"]:
            arguments = run.arguments or {}
            _become(run, Run, arguments.get("--takes"), arguments.get("--fails"))
    return response


def _stop_runs(context, request):
    done, errors = [], []
    runs = {run.job_run_id: run for run in glue_backends[context.account_id][context.region].get_job(request["JobName"]).job_runs}
    for name in request["JobRunIds"]:
        one = {"JobName": request["JobName"], "JobRunId": name}
        if name not in runs:
            errors.append({**one, "ErrorDetail": {"ErrorCode": "EntityNotFoundException", "ErrorMessage": "no such run"}})
        elif runs[name].status != "RUNNING":
            errors.append({**one, "ErrorDetail": {"ErrorCode": "InvalidInputException", "ErrorMessage": "the run has ended"}})
        else:
            runs[name].stopped = True
            done.append(one)
    return {"SuccessfulSubmissions": done, "Errors": errors}


def _start_crawler(context, request):
    response = call_moto(context)
    crawler = glue_backends[context.account_id][context.region].get_crawler(request["Name"])
    how = re.match(r"takes (\S+)(?: fails (.*))?", crawler.description or "")
    _become(crawler.crawls[-1], Crawl, how and how[1], how and how[2])
    return response


# The last crawl is the last that ended; what moto calls COMPLETED is SUCCEEDED, STOPPED is CANCELLED.
def _get_crawler(context, request):
    response = call_moto(context)
    crawls = glue_backends[context.account_id][context.region].get_crawler(request["Name"]).crawls
    ended = [c for c in crawls if c.status != "RUNNING"]
    last = response["Crawler"].pop("LastCrawl", None)
    if ended:
        last["StartTime"] = ended[-1].start_time.replace(tzinfo=datetime.timezone.utc)
        last["Status"] = {"COMPLETED": "SUCCEEDED", "STOPPED": "CANCELLED"}.get(ended[-1].status, "FAILED")
        if last["Status"] == "FAILED":
            last["ErrorMessage"] = ended[-1].fails
        response["Crawler"]["LastCrawl"] = last
    return response


def overrides():
    return {"StartJobRun": _start_run, "BatchStopJobRun": _stop_runs, "StartCrawler": _start_crawler, "GetCrawler": _get_crawler}
