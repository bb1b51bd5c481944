#!/usr/bin/env bash
# run.sh [localstack|account|list|cases|remove STAGE]: deploys a stage of its own, runs the end-to-end list
# against it, the same one that runs against the server of one machine, and what only a deployed stack
# has; measures it, removes it, looks whether anything is left, and writes a report.
#
# localstack  starts a LocalStack of its own on a free port and stops it at the end, whatever
#             happens; with LS_PORT the one on that port is used, and left alone if it ran. The list runs
#             as in a new account, and what kills functions or counts calls runs after it. The report goes
#             to the folder bin.
# account     the AWS account and region of the environment, whose region is bootstrapped for the CDK.
#             STAGE names the stage, which must not be there (a name by chance), KEEP=1 leaves it,
#             CONTEXT adds "-c" arguments of the cdk command, REPORT is the file of the report.
# list, cases a part of the list alone, against the stack that ZERODAG_SERVER, _TOKEN and _STAGE name.
# remove      removes the stage of a run that was kept, or whose removal failed, and looks again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
where=${1:-localstack}
part=${ZERODAG_PART:-all} # most: without what `make test-long` has no time for: recorded cases, other deployments, ten busy machines
localstack=integration/localstack/localstack.sh
cdk=infra/_cdk/node_modules/.bin/cdk

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

# tests runs some; a run keeps what became of them, for its report.
tests() {
  if [ -z "${ZERODAG_RUN:-}" ]; then
    go test -count=1 "$@"
  else
    go test -count=1 -json "$@" | "$ZERODAG_RUN/awsrun" tests -run "$ZERODAG_RUN"
  fi
}

# What must pass on a deployed stack: recorded calls and command lines with Digdag's client, what only
# a stack has, and the cases of conformance and gated, which wait much, so they run side by side, and load
# both cores, so nothing runs beside them. Machines of an account make all of it slower.
patience=${ZERODAG_PATIENCE:-15m}
the_recorded() { tests -p 2 -timeout "$patience" ./integration/rest ./integration/cli ./integration/client; }
the_stack() { tests -timeout "$patience" ./integration/stack; }
the_cases() { tests -p 2 -parallel 8 -timeout "$patience" -run TestServer ./integration/conformance ./integration/gated; }

# In a new account what is recorded of commands is left to the cases' turn: machines ask much of ten calls.
the_list() {
  local failed=
  ZERODAG_NO_COMMANDS=1 the_recorded || failed=1
  the_stack || failed=1
  [ -z "$failed" ]
}

# alone runs what kills functions, stops queues or counts calls, one after the other. ZERODAG_KILLS=200 and
# ZERODAG_STARTS=1000 are what a release was proven with; what CI runs takes two minutes of it.
alone() {
  local busy='|TestBusyFargate|TestPoolOfTen'
  [ "$part" != most ] || busy=
  ZERODAG_ALONE=1 go test -count=1 -timeout 20m -run "TestCrashes|TestStartsAtOnce|TestFaults|TestNewerForm$busy" ./integration/stack
  ZERODAG_ALONE=1 go test -count=1 -timeout 10m ./integration/stackbench
}

# elsewhere deploys other stages: an app with plain CDK, a restored table, a clean export, small logs.
elsewhere() {
  ZERODAG_CDK=1 REQUIRE=cdk,$REQUIRE go test -count=1 -timeout 30m -run 'TestPlainCDK|TestRestoredElsewhere|TestCleanExport' ./integration/stack ./infra
  local variables
  variables=$(integration/localstack/deploy.sh e2e-logs -c smallLogs=true)
  eval "$variables"
  ZERODAG_SMALL_LOGS=1 go test -count=1 -run TestLogLinks ./integration/stack
}

# begin makes the folder of a run and looks whether it can be made. From then on all that it makes is
# removed at the end, whatever happens.
begin() {
  stage=${STAGE:-it$(printf '%04x%04x' "$RANDOM" "$RANDOM")}
  ZERODAG_RUN=$(mktemp -d)
  begun=
  trap finish EXIT
  trap 'exit 130' INT TERM
  go build -o "$ZERODAG_RUN/awsrun" ./integration/awsrun
  go build -o "$ZERODAG_RUN/zerodag" ./cmd/zerodag
  "$ZERODAG_RUN/awsrun" begin -run "$ZERODAG_RUN" -stage "$stage" -commit "$(git describe --always --dirty 2>/dev/null || echo unknown)" -version "$("$ZERODAG_RUN/zerodag" version | head -1)"
  begun=1
  export ZERODAG_RUN
}

# finish removes what begin has begun, and writes the report.
finish() {
  local status=$?
  trap - EXIT
  trap '' INT TERM
  if [ -n "$begun" ]; then
    if [ -n "${KEEP:-}" ]; then
      echo "run.sh: stage $stage is kept, and paid for: integration/stack/run.sh remove $stage" >&2
    elif ! "$ZERODAG_RUN/awsrun" remove -run "$ZERODAG_RUN" -stage "$stage"; then
      status=1
      echo "run.sh: NOT EVERYTHING WAS REMOVED. To try again: integration/stack/run.sh remove $stage" >&2
    fi
    "$ZERODAG_RUN/awsrun" report -run "$ZERODAG_RUN" -into "$report" && echo "run.sh: the report is $report" >&2 || status=1
  fi
  rm -rf "$ZERODAG_RUN"
  [ -z "${ours:-}" ] || "$localstack" down
  exit "$status"
}

# deploy looks at the account, and deploys the stage with settings NAME=VALUE; tests find it afterwards.
deploy() {
  local setting context=()
  mkdir "$ZERODAG_RUN/stages"
  for setting in "$@"; do
    echo "${setting%%=*}: ${setting#*=}" >>"$ZERODAG_RUN/stages/$stage.yaml"
    context+=(-c "$setting")
  done
  "$ZERODAG_RUN/zerodag" aws doctor "$stage" --stages "$ZERODAG_RUN/stages" --create-role
  # shellcheck disable=SC2086 # several arguments
  "$cdk" deploy --all --require-approval never --no-notices --output "$ZERODAG_RUN/cdk" --outputs-file "$ZERODAG_RUN/outputs.json" -c file=none -c stage="$stage" -c "tags=zerodag-run=$stage" "${context[@]}" ${CONTEXT:-} >&2
  output() { sed -n "s/.*\"$1\": \"\(.*\)\".*/\1/p" "$ZERODAG_RUN/outputs.json"; }
  ZERODAG_SERVER=$(output Url)
  ZERODAG_TOKEN=$("$ZERODAG_RUN/zerodag" tokens create --name "run $(date -u +%FT%TZ)" --role admin --iam -e "$ZERODAG_SERVER" --output json | sed -n 's/.*"token": *"\([^"]*\)".*/\1/p')
  [ -n "$ZERODAG_TOKEN" ] || { echo "run.sh: no token was made" >&2; exit 1; }
  export ZERODAG_SERVER ZERODAG_TOKEN ZERODAG_STAGE=$stage ZERODAG_SCHEDULER_ROLE
  ZERODAG_SCHEDULER_ROLE=$(output SchedulerRole)
}

# What both runs deploy beside the defaults: tests start many attempts at once, and use the function of
# short commands and Spot; the table can be deleted at once. SETTINGS adds others, such as agents=2 in a new account.
# shellcheck disable=SC2206 # several settings
settings=(attemptLimit=1000 commandFunction=true allowSpot=true deletionProtection=false ${SETTINGS:-})

on_localstack() {
  [ -n "${LS_PORT:-}" ] || free_port
  export LS_PORT REQUIRE=${REQUIRE:-localstack}
  report=${REPORT:-bin/aws-run.md}
  "$localstack" running || { ours=1; trap '"$localstack" down' EXIT; }
  eval "$("$localstack" up)"
  npm ci --prefix integration/localstack/iam --silent --no-audit --no-fund >&2
  go test -count=1 ./integration/awsrun ./integration/localstack/... ./internal/{account,cloud,dynamo,eventbridge,fargate,s3,shared,sns,sqs,ssm} ./operators/{aws,s3,sns,sqs,lambda,dynamodb,stepfunctions,athena,glue,redshift,ecs,batch,emr}
  "$localstack" verdict athena batch dynamodb ecs emr emr-serverless events glue lambda redshift-data s3 sns sqs ssm stepfunctions sts
  export CDK_DISABLE_CLI_TELEMETRY=true CI=1 JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=1
  "$cdk" bootstrap --no-notices aws://000000000000/us-east-1 >&2
  begin
  deploy "${settings[@]}" architecture=x86_64 leaseSeconds=5
  # A new account has allow ten concurrent function calls, and what is refused is tried again seconds later:
  # recordings of what takes seconds are no proof of anything there.
  go run ./integration/localstack/bed -fresh -usage "$ZERODAG_RUN/usage-list.json" "$stage" integration/stack/run.sh list
  [ "$part" = most ] ||
    go run ./integration/localstack/bed -usage "$ZERODAG_RUN/usage-cases.json" "$stage" integration/stack/run.sh cases
  "$ZERODAG_RUN/awsrun" measure -run "$ZERODAG_RUN" -calls 20 -starts 10 -commands 2
  "$ZERODAG_RUN/awsrun" usage -run "$ZERODAG_RUN" -stage "$stage"
  alone
  [ "$part" = most ] || elsewhere
  "$localstack" verdict dynamodb ecs events lambda s3 sqs ssm
}

on_account() {
  report=${REPORT:-bin/aws-run-$(date -u +%F)-${AWS_REGION:-${AWS_DEFAULT_REGION:-region-of-profile}}.md}
  export ZERODAG_PATIENCE=${ZERODAG_PATIENCE:-90m}
  patience=$ZERODAG_PATIENCE
  begin
  deploy "${settings[@]}"
  local failed=
  the_recorded || failed=1
  the_stack || failed=1
  the_cases || failed=1
  "$ZERODAG_RUN/awsrun" measure -run "$ZERODAG_RUN" || failed=1
  "$ZERODAG_RUN/awsrun" usage -run "$ZERODAG_RUN" -stage "$stage" || failed=1
  [ -z "$failed" ] || { echo "run.sh: something failed: see the report" >&2; exit 1; }
}

install_cdk() { [ -x "$cdk" ] || npm ci --prefix infra/_cdk --silent --no-audit --no-fund >&2; }

case $where in
localstack)
  install_cdk
  on_localstack
  ;;
list) the_list ;;
cases)
  the_recorded
  the_cases
  ;;
account)
  install_cdk
  on_account
  ;;
remove)
  [ -n "${2:-}" ] || { echo "run.sh: name the stage of the run" >&2; exit 1; }
  go run ./integration/awsrun remove -stage "$2"
  ;;
*)
  echo "usage: run.sh [localstack|account|list|cases|remove STAGE]" >&2
  exit 1
  ;;
esac
