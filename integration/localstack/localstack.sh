#!/usr/bin/env bash
# localstack.sh [up|down|running|env|tools|verdict [SERVICE...]|judge FILE]: LocalStack community 4.14.0 as a process of this machine, no
# container engine. Everything it needs is pinned and put into LS_HOME; everything it opens
# is bound to 127.0.0.1. "up" may be called again and again; "tools" makes sure that there is a
# Python for it. "verdict" prints what is wrong with the requests that came since the last verdict, by the models of
# AWS's services, and fails if anything is, or if there were none, of each SERVICE; "judge" judges those of a file.
#
#   LS_HOME    where it lives           (default ~/.cache/zerodag/localstack)
#   LS_PORT    port of its gateway      (default 4566); tests use a LocalStack only where it is set
#   LS_PYTHON  a Python of 3.13 or later (default: looked for in PATH, beside the first Python there and
#              in pyenv's versions; where there is none, python.sh builds one into LS_HOME)
#   DEBUG=1    a full log in $LS_HOME/log-$LS_PORT
#
# Needs Go, PyPI (pip), Maven Central (mvn) and a JDK of 17 or later (java, javac, jar).
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LS_HOME=${LS_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/zerodag/localstack}
LS_PORT=${LS_PORT:-4566}
mkdir -p "$LS_HOME"
LS_HOME=$(cd "$LS_HOME" && pwd)
PINS=$(sha256sum <"$HERE/requirements.lock" | cut -c1-12)
VENV=$LS_HOME/venv-$PINS
PIDFILE=$LS_HOME/pid-$LS_PORT
LOG=$LS_HOME/log-$LS_PORT
VIOLATIONS=$LS_HOME/violations-$LS_PORT
SHARED=/var/tmp/zerodag-localstack-$(id -u)-$LS_PORT # a folder that containers see: not below /tmp, which is their own

client_env() {
  cat <<E
export AWS_ENDPOINT_URL=http://127.0.0.1:$LS_PORT AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1 LSPROC_SHARED=$SHARED LS_PORT=$LS_PORT
E
}

fail() {
  echo "localstack.sh: $*" >&2
  exit 1
}

# LocalStack 4.14 imports warnings.deprecated and has syntax of Python 3.13. A shim of pyenv may
# exist and not run, so each candidate is asked for what is needed.
find_python() {
  local p
  local beside pyenv=${PYENV_ROOT:-$(pyenv root 2>/dev/null || echo "$HOME/.pyenv")}/versions
  beside=$(dirname "$(python3 -c 'import sys; print(sys.base_prefix)' 2>/dev/null || echo /usr)")
  for p in "${LS_PYTHON:-}" python3 python3.{14,13} {"$pyenv","$beside"}/3.1[3-9]*/bin/python3 "$LS_HOME"/python-3.1[3-9]*/bin/python3; do
    [ -n "$p" ] && "$p" -c 'import venv, ensurepip; from warnings import deprecated' 2>/dev/null && { echo "$p"; return; }
  done
  [ -z "${LS_PYTHON:-}" ] || fail "LS_PYTHON=$LS_PYTHON is no Python of 3.13 or later with venv"
  "$HERE/python.sh" "$LS_HOME"
}

tools() { find_python >/dev/null; }

healthy() { curl -sf -m 2 "http://127.0.0.1:$LS_PORT/_lsproc/ready" >/dev/null; }

install() {
  local tool
  for tool in mvn java javac jar curl; do
    command -v "$tool" >/dev/null || fail "needs $tool (Maven and a JDK of 17 or later)"
  done
  local version
  version=$(javac -version 2>&1 | grep -oE '[0-9]+' | head -1)
  [ "${version:-0}" -ge 17 ] || fail "needs a JDK of 17 or later, and $(command -v javac) is $version"
  if [ ! -f "$VENV/.complete" ]; then
    local python
    python=$(find_python)
    echo "installing LocalStack into $VENV" >&2
    rm -rf "$VENV"
    "$python" -m venv "$VENV"
    "$VENV/bin/pip" install -q --disable-pip-version-check -r "$HERE/requirements.lock" >&2
    touch "$VENV/.complete"
  fi
  "$HERE/dynamodb-local.sh" "$LS_HOME/root" >&2
  (cd "$HERE" && go build -o "$LS_HOME/tap-$LS_PORT" ./tap >&2)
  [ "$(uname)" != Linux ] || (cd "$HERE" && go build -o "$LS_HOME/sandbox-$LS_PORT" ./sandbox >&2)
}

# alive reports whether the process that was started last is there: it may have ended, and another one may have its number. `up` leaves one alone
# that a busy machine keeps from answering, as what others have in it would be gone.
alive() { [ -f "$PIDFILE" ] && ps -p "$(cat "$PIDFILE")" -o args= 2>/dev/null | grep -q localstack.runtime.main; }

down() {
  [ -f "$PIDFILE" ] || return 0 # the one on this port is another run's, and so is what it shares
  rm -rf "$SHARED"
  if ! alive; then
    rm -f "$PIDFILE"
    return 0
  fi
  local pid
  pid=$(cat "$PIDFILE")
  kill "$pid" 2>/dev/null || true
  for _ in $(seq 100); do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  kill -9 "$pid" 2>/dev/null || true
  rm -f "$PIDFILE"
}

# FILESYSTEM_ROOT, OVERRIDE_IN_DOCKER: inside a container LocalStack would take that for its
#   own image and write all over the file system.
# GATEWAY_SERVER=loopback (plugin): the stock server ignores the host of GATEWAY_LISTEN.
# SQS_ENDPOINT_STRATEGY=path: queue URLs that need no DNS.
# DYNAMODB_SHARE_DB=1: functions ask DynamoDB Local directly, under whatever name they sign.
# *_DYNAMODB=v2: streams without a download.
# S3_SKIP_SIGNATURE_VALIDATION=0: expired and forged links are refused, as on AWS.
# LAMBDA_EVENT_SOURCE_MAPPING_POLL_INTERVAL_SEC=0.0: the plugin waits in the receive of a message.
# IN_MEMORY_CLIENT=1: LocalStack calls itself without a connection, which took it a third of its time.
# LSPROC_FREEZE=1: as on AWS, a function's process stands still from its answer to its next call.
# LSPROC_INIT_TIMEOUT: AWS gives the start of a process 10 s; here several share two cores with
#   everything else, and a message whose process did not start stays away for a quarter of an hour.
# LSPROC_JUDGE: every request is held against the models of AWS's services, in a process with what time is left.
# LSPROC_SANDBOX: every function runs as confined as on AWS. Only Linux can do that.
# CFN_IGNORE_UNSUPPORTED_RESOURCE_TYPES: 0 refuses every type, since the list of those that
#   are supported is a download. The plugin is strict in its place.
start() {
  cd "$LS_HOME"
  export FILESYSTEM_ROOT=$LS_HOME/root XDG_CACHE_HOME=$LS_HOME/cache TMPDIR=$LS_HOME/tmp-$LS_PORT OVERRIDE_IN_DOCKER=0
  export PYTHONPATH=$HERE/plugin PYTHONPYCACHEPREFIX=$LS_HOME/cache/python
  export GATEWAY_LISTEN=127.0.0.1:$LS_PORT GATEWAY_SERVER=loopback LOCALSTACK_HOST=127.0.0.1:$LS_PORT
  export SQS_ENDPOINT_STRATEGY=path SQS_DISABLE_CLOUDWATCH_METRICS=1 DNS_ADDRESS=0
  export DISABLE_EVENTS=1 SKIP_SSL_CERT_DOWNLOAD=1
  export DYNAMODB_IN_MEMORY=1 DYNAMODB_SHARE_DB=1 PROVIDER_OVERRIDE_DYNAMODB=v2 PROVIDER_OVERRIDE_DYNAMODBSTREAMS=v2
  export S3_SKIP_SIGNATURE_VALIDATION=0
  export LAMBDA_RUNTIME_EXECUTOR=process LAMBDA_RETRY_BASE_DELAY=1
  export LAMBDA_EVENT_SOURCE_MAPPING_POLL_INTERVAL_SEC=0.0 IN_MEMORY_CLIENT=1
  export LSPROC_FREEZE=${LSPROC_FREEZE:-1} LSPROC_INIT_TIMEOUT=${LSPROC_INIT_TIMEOUT:-60}
  export CFN_IGNORE_UNSUPPORTED_RESOURCE_TYPES=1
  export LSPROC_SHARED=$SHARED
  [ "$(uname)" != Linux ] || export LSPROC_SANDBOX=$LS_HOME/sandbox-$LS_PORT
  export LSPROC_JUDGE_SOCKET=$LS_HOME/judge-$LS_PORT LSPROC_TAP=$LS_HOME/tap-$LS_PORT
  export LSPROC_JUDGE="env PYTHONPATH=$HERE nice $VENV/bin/python -m judge $LSPROC_JUDGE_SOCKET $VIOLATIONS"
  export DEBUG=${DEBUG:-0}
  exec setsid "$VENV/bin/python" -m localstack.runtime.main
}

up() {
  local mine=
  for _ in $(seq 1500); do
    if healthy; then
      client_env
      return
    fi
    if [ -z "$mine" ] && ! alive; then
      down
      install
      mkdir -p "$LS_HOME/tmp-$LS_PORT" "$LS_HOME/cache" "$SHARED"
      chmod 1777 "$SHARED"
      rm -f "$VIOLATIONS"
      (start) >"$LOG" 2>&1 </dev/null 9>&- &
      mine=$!
      echo "$mine" >"$PIDFILE"
    elif [ -n "$mine" ] && ! kill -0 "$mine" 2>/dev/null; then
      tail -20 "$LOG" >&2
      rm -f "$PIDFILE"
      fail "LocalStack ended; its log is $LOG"
    fi
    sleep 0.2
  done
  fail "not healthy after five minutes; its log is $LOG"
}

# verdict waits until all requests are judged. What the emulator answers wrongly is its own affair, and only said.
verdict() {
  local services
  services=$(IFS=,; echo "$*")
  curl -sS --fail-with-body -m 900 "http://127.0.0.1:$LS_PORT/_lsproc/verdict?services=$services" | "$VENV/bin/python" -c '
import json, sys
text = sys.stdin.read()
v = json.loads(text) if text.startswith("{") else {}
if "violations" not in v:
    sys.exit("localstack.sh: no verdict on requests: " + text)
for w in v["warnings"]:
    print("answer beside the model:", w)
for x in v["violations"]:
    print("request against the model:", x)
for m in v["missing"]:
    print("NOT JUDGED:", m)
print("judged by the models of AWS: {} requests, {} answers, {} operations of {}; {} violations".format(v["requests"], v["answers"], v["operations"], ", ".join(v["services"]) or "no service", len(v["violations"])))
sys.exit(1 if v["violations"] or v["missing"] else 0)
'
}

# Tests of several packages may ask for it at once: one starts it, the others wait.
locked() {
  if command -v flock >/dev/null; then
    exec 9>"$LS_HOME/lock"
    flock 9
  fi
}

case "${1:-up}" in
up)
  healthy || locked
  up
  ;;
down) down ;;
running) healthy ;;
env) client_env ;;
tools) tools ;;
verdict)
  shift
  verdict "$@"
  ;;
judge)
  [ -f "$VENV/.complete" ] || install
  PYTHONPATH=$HERE exec "$VENV/bin/python" -m judge "$2"
  ;;
*) fail "usage: localstack.sh [up|down|running|env|tools|verdict [SERVICE...]|judge FILE]" ;;
esac
