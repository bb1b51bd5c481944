#!/usr/bin/env bash
# run.sh [localstack|account|list|cases]: deploys the stack and runs the end-to-end list against it, the
# same one that runs against the server of one machine, and what only a deployed stack has.
#
# localstack  starts a LocalStack of its own on a free port and stops it at the end, whatever
#             happens; with LS_PORT the one on that port is used, and left alone if it ran.
# account     the AWS account and region of the environment, whose region is bootstrapped for
#             the CDK. Deploys the stage STAGE (it) and leaves it; CONTEXT adds "-c" arguments
#             of the cdk command. With AWS_ENDPOINT_URL that account may be LocalStack.
# list, cases a part of the list alone, against the stack that ZERODAG_SERVER, _TOKEN and _STAGE name.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
where=${1:-localstack}
localstack=integration/localstack/localstack.sh

# free_port takes the first port that no program listens on and no other run of this script has.
free_port() {
  local home=${LS_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/zerodag/localstack} port
  mkdir -p "$home"
  for port in 4566 $(seq 5566 1000 14566); do
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && continue
    if command -v flock >/dev/null; then
      exec 8>"$home/port-$port"
      flock -n 8 || continue
    fi
    LS_PORT=$port
    return
  done
  echo "run.sh: no free port for LocalStack: name one in LS_PORT" >&2
  exit 1
}

# the_list and the_cases run everything that a deployed stack must pass. The cases of conformance
# wait much and load both cores, so they run alone.
the_list() {
  # What these recorded of commands is the way of one machine: how fast they begin, one log, no state.
  ZERODAG_NO_COMMANDS=1 go test -count=1 -p 2 -timeout 15m ./integration/rest ./integration/cli ./integration/client
  go test -count=1 -timeout 15m ./integration/stack
}

the_cases() { go test -count=1 -timeout 15m -run TestServer ./integration/conformance; }

# alone runs what kills functions, stops queues or counts calls, one after the other. ZERODAG_KILLS=200 and
# ZERODAG_STARTS=1000 are what a release was proven with; what CI runs takes two minutes of it.
alone() {
  ZERODAG_ALONE=1 go test -count=1 -timeout 20m -run 'TestCrashes|TestStartsAtOnce|TestFaults|TestUpgrade|TestNewerForm|TestBusyFargate' ./integration/stack
  ZERODAG_ALONE=1 go test -count=1 -timeout 10m ./integration/stackbench
}

on_localstack() {
  [ -n "${LS_PORT:-}" ] || free_port
  export LS_PORT REQUIRE=${REQUIRE:-localstack}
  "$localstack" running || trap '"$localstack" down' EXIT
  eval "$("$localstack" up)"
  npm ci --prefix integration/localstack/iam --silent --no-audit --no-fund >&2
  go test -count=1 ./integration/localstack ./integration/localstack/proxy ./internal/fargate ./internal/dynamo ./internal/sqs ./internal/s3 ./internal/ssm ./internal/cloud ./operators/{aws,s3,sns,sqs,lambda,dynamodb,stepfunctions,athena,glue,redshift,ecs,batch,emr}
  local variables
  variables=$(integration/localstack/deploy.sh e2e -c commandFunction=true)
  eval "$variables"
  # A new account has ten calls of functions at once, and what is refused is tried again seconds later:
  # recordings of what takes seconds are no proof of anything there.
  go run ./integration/localstack/bed -fresh "$ZERODAG_STAGE" integration/stack/run.sh list
  go run ./integration/localstack/bed "$ZERODAG_STAGE" integration/stack/run.sh cases
  alone
  variables=$(integration/localstack/deploy.sh e2e-logs -c smallLogs=true)
  eval "$variables"
  ZERODAG_SMALL_LOGS=1 go test -count=1 -run TestLogLinks ./integration/stack
}

# What it costs: about 400 attempts at $16 a million, and 40,000 requests to the API, which wait
# for them, at $1 a million for the gateway and $3 for the function.
on_account() {
  stage=${STAGE:-it}
  echo "run.sh: deploys zerodag-$stage to the account of the environment; a run costs about \$0.20, the stack under \$2 a month until it is removed" >&2
  out=$(mktemp -d)
  trap 'rm -rf "$out"
    echo "run.sh: remove it with: infra/_cdk/node_modules/.bin/cdk destroy --all -c file=none -c stage=$stage; then the table and the buckets zerodag-$stage*, which outlive the stack" >&2' EXIT
  [ -x infra/_cdk/node_modules/.bin/cdk ] || npm ci --prefix infra/_cdk --silent --no-audit --no-fund >&2
  # shellcheck disable=SC2086 # several arguments
  infra/_cdk/node_modules/.bin/cdk deploy --all --require-approval never --no-notices --output "$out/cdk" --outputs-file "$out/outputs.json" -c file=none -c deletionProtection=false -c stage="$stage" ${CONTEXT:-} >&2
  go build -o "$out/zerodag" ./cmd/zerodag
  ZERODAG_SERVER=$(sed -n 's/.*"Url": "\(.*\)".*/\1/p' "$out/outputs.json")
  ZERODAG_TOKEN=$("$out/zerodag" tokens create --name "run $(date -u +%FT%TZ)" --role admin --iam -e "$ZERODAG_SERVER" --output json | sed -n 's/.*"token": *"\([^"]*\)".*/\1/p')
  [ -n "$ZERODAG_TOKEN" ] || { echo "run.sh: no token was made" >&2; exit 1; }
  export ZERODAG_SERVER ZERODAG_TOKEN ZERODAG_STAGE=$stage ZERODAG_NO_COMMANDS=1
  the_list
  the_cases
}

case $where in
localstack) on_localstack ;;
list) the_list ;;
cases) the_cases ;;
account) on_account ;;
*)
  echo "usage: run.sh [localstack|account|list|cases]" >&2
  exit 1
  ;;
esac
