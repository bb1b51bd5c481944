#!/usr/bin/env bash
# deploy.sh [STAGE] [-c name=value ...]: deploys the stack to LocalStack as to an account, but
# for the architecture and short leases, and prints URL, token and stage of it as shell
# variables. More context, as -c of the cdk command, comes last and wins. With DESTROY=1 the
# stack is removed instead, which keeps its table and buckets; a later deploy imports them.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$HERE/../.."
stage=e2e
case "${1:-}" in -* | "") ;; *)
  stage=$1
  shift
  ;;
esac
more=("$@")
eval "$(bash "$HERE/localstack.sh" up)"
export CDK_DISABLE_CLI_TELEMETRY=true CI=1 JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=1
[ -f engine/expr/assets/dist/moment.min.js ] || make --no-print-directory assets >&2
[ -x infra/_cdk/node_modules/.bin/cdk ] || npm ci --prefix infra/_cdk --silent --no-audit --no-fund >&2
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cdk() { infra/_cdk/node_modules/.bin/cdk "$@" --no-notices --output "$out/cdk" -c architecture=x86_64 -c leaseSeconds=5 -c attemptLimit=1000 -c file=none -c stage="$stage" ${more[@]+"${more[@]}"} >&2; }
if [ "${DESTROY:-}" = 1 ]; then
  cdk destroy --all --force
  exit
fi
cdk bootstrap "aws://000000000000/us-east-1"
cdk deploy --all --import-existing-resources --require-approval never --outputs-file "$out/outputs.json"
url=$(sed -n 's/.*"Url": "\(.*\)".*/\1/p' "$out/outputs.json")
token=$(curl -sf -X POST "$AWS_ENDPOINT_URL/2015-03-31/functions/zerodag-$stage-api/invocations" \
  -H 'Authorization: AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/lambda/aws4_request, SignedHeaders=host, Signature=0' \
  -d '{"zerodag":"first-token"}' | sed -n 's/.*"token":"\([^"]*\)".*/\1/p')
echo "export ZERODAG_SERVER=$url ZERODAG_TOKEN=$token ZERODAG_STAGE=$stage LS_PORT=$LS_PORT"
