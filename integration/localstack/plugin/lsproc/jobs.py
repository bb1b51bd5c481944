"""Batch jobs, steps of EMR clusters and job runs of EMR Serverless as local processes.

Queues, definitions, clusters and applications are moto's, and so is what is said about a
job; moto runs none.  Here the command of a job runs as a process, and its end is the job's:

- Batch: the command of the definition or its override, an attempt at a time, an array's
  jobs side by side.
- EMR: bootstrap actions, then the steps one after the other, with HOME in a folder of the
  cluster and `aws_cli.py` as its `aws`.  Spark and Hive are not there.
- EMR Serverless: entryPoint, a shell script on S3, with its arguments; `clientToken` counts.
"""

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time

from localstack.aws.api import CommonServiceException
from localstack.aws.connect import connect_to
from localstack.services.moto import call_moto, call_moto_with_request

TOKENS = {}  # (application, client token) -> answer of StartJobRun
STARTS = threading.Lock()
RUNNING = {}  # id of a job, a step or a job run -> Process


class Process:
    """One process with all that it starts."""

    def __init__(self, argv, folder, account, region, env=None):
        self.stopped = False
        self.popen = None
        try:
            self.popen = subprocess.Popen(
                argv, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                env={"PATH": folder + "/bin:" + os.environ["PATH"], "HOME": folder, "TMPDIR": folder, "AWS_REGION": region, "AWS_DEFAULT_REGION": region,
                     "AWS_ACCESS_KEY_ID": account if account != "000000000000" else "test", "AWS_SECRET_ACCESS_KEY": "test",
                     "AWS_ENDPOINT_URL": f"http://{os.environ.get('GATEWAY_LISTEN', '127.0.0.1:4566').split(',')[0]}", **(env or {})})
        except OSError:
            pass

    def wait(self, seconds=None):
        """Returns the exit code; None when the time is over."""
        if not self.popen:
            return 127
        try:
            code = self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            self.stop()
            return None
        return code if code >= 0 else 128 - code

    def stop(self):
        self.stopped = True
        if self.popen and self.popen.poll() is None:
            os.killpg(self.popen.pid, signal.SIGKILL)


def _folder():
    """A home with the programs that hosts of AWS have."""
    at = tempfile.mkdtemp(prefix="job-")
    os.mkdir(at + "/bin")
    program = at + "/bin/aws"
    with open(program, "w") as f:
        f.write(f'#!/bin/sh\nexec {sys.executable} {os.path.dirname(os.path.abspath(__file__))}/aws_cli.py "$@"\n')
    os.chmod(program, os.stat(program).st_mode | stat.S_IEXEC)
    return at


def _background(f, *args):
    threading.Thread(target=f, args=args, daemon=True).start()


def _stop(id):
    if id in RUNNING:
        RUNNING[id].stop()


# Batch


def _create_environment(context, request):
    """Without a role it is that of the service, which AWS makes when it is first needed."""
    from moto.iam.models import iam_backends

    backend, name = iam_backends[context.account_id]["aws"], "AWSServiceRoleForBatch"
    if not any(r.name == name for r in backend.roles.values()):
        backend.create_role(name, "{}", "/aws-service-role/batch.amazonaws.com/", None, None, [], 3600)
    role = next(r.arn for r in backend.roles.values() if r.name == name)
    return call_moto_with_request(context, {"serviceRole": role, **request})


def _submit_job(context, request):
    from moto.batch.models import batch_backends

    answer = call_moto(context)
    backend = batch_backends[context.account_id][context.region]
    job = backend._jobs[answer["jobId"]]
    children = job._child_jobs or []
    for j in [job, *children]:  # moto has ended them already
        j.job_stopped, j.attempts, j.latest_attempt, j.exit_code, j.status = False, [], None, None, "RUNNING"
    attempts = (request.get("retryStrategy") or {}).get("attempts") or 1
    _background(_run_array if children else _run_batch, context, job, attempts)
    return answer


def _run_array(context, job, attempts):
    threads = [threading.Thread(target=_run_batch, args=(context, j, attempts), daemon=True) for j in job._child_jobs]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    failed = any(j.status == "FAILED" for j in job._child_jobs)
    job.job_stopped_reason = job.job_stopped_reason or ("Array Child Job failed" if failed else None)
    job._mark_stopped(success=not failed)


def _run_batch(context, job, attempts):
    env = {e["name"]: e["value"] for e in job._get_container_property("environment", [])}
    env.update({e["name"]: e["value"] for e in job.container_overrides.get("environment", [])})
    env["AWS_BATCH_JOB_ID"] = job.job_id
    if "index" in job.array_properties:
        env["AWS_BATCH_JOB_ARRAY_INDEX"] = str(job.array_properties["index"])
    command = job._add_parameters_to_command(job._get_container_property("command", []))
    seconds = (job.timeout or {}).get("attemptDurationSeconds")
    code = reason = None
    for attempt in range(attempts):
        if job.stop:
            break
        folder = _folder()
        job._start_attempt()
        RUNNING[job.job_id] = Process(command, folder, context.account_id, context.region, {**env, "AWS_BATCH_JOB_ATTEMPT": str(attempt + 1)})
        code = RUNNING[job.job_id].wait(seconds)
        shutil.rmtree(folder, ignore_errors=True)
        reason = "Essential container in task exited" if code is not None else "Job attempt duration exceeded timeout"
        job.latest_attempt["statusReason"] = reason
        if code is not None:
            job.latest_attempt["container"]["exitCode"] = code
        if code == 0:
            break
    job.exit_code = code
    job.job_stopped_reason = job.job_stopped_reason or reason
    job._mark_stopped(success=code == 0 and not job.stop)


def _describe_jobs(context, request):
    from moto.batch.models import batch_backends

    answer = call_moto(context)
    for described in answer["jobs"]:
        job = batch_backends[context.account_id][context.region]._jobs[described["jobId"]]
        if job.exit_code is not None and "container" in described:
            described["container"]["exitCode"] = job.exit_code
    return answer


def _terminate_job(context, request):
    from moto.batch.models import batch_backends

    answer = call_moto(context)
    job = batch_backends[context.account_id][context.region]._jobs.get(request["jobId"])
    for j in [job, *(job._child_jobs or [])] if job else []:
        j.terminate(request["reason"])
        _stop(j.job_id)
    return answer


def batch_overrides():
    from moto.core.models import default_user_config

    default_user_config["batch"] = {"use_docker": False}
    return {"CreateComputeEnvironment": _create_environment, "SubmitJob": _submit_job, "DescribeJobs": _describe_jobs, "TerminateJob": _terminate_job}


# EMR


def _cluster(context, id):
    from moto.emr.models import emr_backends

    cluster = emr_backends[context.account_id][context.region].clusters.get(id)
    if not cluster or cluster.state.startswith("TERMINAT"):
        raise CommonServiceException("InvalidRequestException", f"Cluster id '{id}' is not valid.", sender_fault=True)
    return cluster


def _run_job_flow(context, request):
    from moto.emr.models import emr_backends

    answer = call_moto(context)
    cluster = emr_backends[context.account_id][context.region].clusters[answer["JobFlowId"]]
    cluster.home, cluster.lock, cluster.state = _folder(), threading.Lock(), "STARTING"
    for step in cluster.steps:
        step.state, step.start_date_time = "PENDING", None
    _background(_live, context, cluster, request.get("BootstrapActions") or [])
    return answer


def _live(context, cluster, bootstrap):
    """The life of a cluster, until it is terminated."""
    cluster.state = "BOOTSTRAPPING"
    for action in bootstrap:
        script = action["ScriptBootstrapAction"]
        path = _download(context, script["Path"], cluster.home)
        code = path and Process([path, *(script.get("Args") or [])], cluster.home, context.account_id, context.region).wait()
        if code != 0:
            return _end(cluster, "TERMINATED_WITH_ERRORS", f"bootstrap action {action['Name']} returned a non-zero return code")
    while cluster.state in ("BOOTSTRAPPING", "RUNNING", "WAITING"):
        if _run_next(context, cluster):
            continue
        if cluster.keep_job_flow_alive_when_no_steps:
            cluster.state = "WAITING"
            time.sleep(0.05)
        else:
            failed = any(s.state == "FAILED" for s in cluster.steps)
            return _end(cluster, "TERMINATED_WITH_ERRORS" if failed else "TERMINATED", "Steps completed" + " with errors" * failed)


def _run_next(context, cluster):
    """Runs the first pending step, and reports whether there was one. While steps are added, moto gives them states of its
    own for a moment, so they are looked at under the lock: else the second of them may seem to be the first."""
    with cluster.lock:
        if cluster.state.startswith("TERMINAT"):
            return True  # the caller looks at the state
        step = next((s for s in cluster.steps if s.state == "PENDING"), None)
        if not step:
            return False
        cluster.state = step.state = "RUNNING"
        step.start()
        p = RUNNING[step.id] = Process(list(step.args), cluster.home, context.account_id, context.region)
    code = p.wait()
    if p.stopped:
        step.state = "CANCELLED"
        return True
    step.state = "COMPLETED" if code == 0 else "FAILED"
    if code and step.action_on_failure != "CONTINUE":
        for s in cluster.steps:
            if s.state == "PENDING":
                s.state = "CANCELLED"
        if step.action_on_failure.startswith("TERMINATE"):
            _end(cluster, "TERMINATED_WITH_ERRORS", "Shut down as step failed")
    return True


def _end(cluster, state, why):
    cluster.last_state_change_reason = why
    with cluster.lock:
        cluster.state = "TERMINATING"
        for s in cluster.steps:
            if s.state in ("PENDING", "RUNNING"):
                _stop(s.id)
                s.state = "CANCELLED"
    shutil.rmtree(cluster.home, ignore_errors=True)
    cluster.state = state


def _download(context, uri, folder):
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    fd, path = tempfile.mkstemp(dir=folder)
    os.close(fd)
    try:
        connect_to(region_name=context.region, aws_access_key_id=context.account_id).s3.download_file(Bucket=bucket, Key=key, Filename=path)
    except Exception:
        return None
    os.chmod(path, 0o700)
    return path


def _look(context, request):
    from moto.emr.models import emr_backends

    if request["ClusterId"] not in emr_backends[context.account_id][context.region].clusters:
        raise CommonServiceException("InvalidRequestException", f"Cluster id '{request['ClusterId']}' is not valid.", sender_fault=True)
    return call_moto(context)


def _add_steps(context, request):
    cluster = _cluster(context, request["JobFlowId"])
    with cluster.lock:
        first, state = len(cluster.steps), cluster.state
        answer = call_moto(context)
        cluster.state = state
        for step in cluster.steps[first:]:
            step.state = "PENDING"
    return answer


def _cancel_steps(context, request):
    cluster = _cluster(context, request["ClusterId"])
    said = []
    for step in cluster.steps:
        if step.id not in request["StepIds"]:
            continue
        with cluster.lock:
            if step.state == "PENDING":
                step.state = "CANCELLED"
            elif step.state == "RUNNING":
                _stop(step.id)
            else:
                said.append({"StepId": step.id, "Status": "FAILED", "Reason": "The step is already in a terminal state."})
                continue
        said.append({"StepId": step.id, "Status": "SUBMITTED"})
    return {"CancelStepsInfoList": said}


def _terminate(context, request):
    from moto.emr.models import emr_backends

    clusters = [emr_backends[context.account_id][context.region].clusters.get(id) for id in request["JobFlowIds"]]
    if any(c and c.termination_protected for c in clusters):
        return call_moto(context)
    for cluster in clusters:
        if cluster and not cluster.state.startswith("TERMINATED"):
            _end(cluster, "TERMINATED", "Terminated by user request")
    return {}


def emr_overrides():
    return {"RunJobFlow": _run_job_flow, "AddJobFlowSteps": _add_steps, "CancelSteps": _cancel_steps, "TerminateJobFlows": _terminate,
            "DescribeCluster": _look, "ListSteps": _look, "DescribeStep": _look}


# EMR Serverless


def _job_run(context, application, id):
    from moto.emrserverless.models import emrserverless_backends

    return emrserverless_backends[context.account_id][context.region].get_job_run(application, id)


def _start_job_run(context, request):
    token = (request["applicationId"], request["clientToken"])
    with STARTS:
        if token not in TOKENS:
            answer = call_moto(context)
            run = _job_run(context, answer["applicationId"], answer["jobRunId"])
            run.state = "SUBMITTED"
            _background(_run_serverless, context, run, request["jobDriver"])
            TOKENS[token] = answer
        return TOKENS[token]


def _run_serverless(context, run, driver):
    folder = _folder()
    spark = driver.get("sparkSubmit") or {}
    path = _download(context, spark.get("entryPoint") or (driver.get("hive") or {}).get("query") or "", folder)
    code = 1
    if path and run.state == "SUBMITTED":
        run.state = "RUNNING"
        p = RUNNING[run.id] = Process(["/bin/sh", path, *(spark.get("entryPointArguments") or [])], folder, context.account_id, context.region)
        code = p.wait()
    shutil.rmtree(folder, ignore_errors=True)
    if run.state in ("CANCELLING", "CANCELLED"):
        run.state = "CANCELLED"
    elif code == 0:
        run.state = "SUCCESS"
    else:
        run.state_details = f"Job failed, please check complete logs in configured logging destination. ExitCode: {code}." if path else "The entry point was not found."
        run.state = "FAILED"


def _cancel_job_run(context, request):
    run = _job_run(context, request["applicationId"], request["jobRunId"])
    if run.state in ("SUCCESS", "FAILED", "CANCELLED"):
        raise CommonServiceException("ValidationException", f"Job run {run.id} is in a terminal state.", sender_fault=True)
    run.state = "CANCELLING"
    _stop(run.id)
    return {"applicationId": request["applicationId"], "jobRunId": run.id}


def emr_serverless_overrides():
    return {"StartJobRun": _start_job_run, "CancelJobRun": _cancel_job_run}
