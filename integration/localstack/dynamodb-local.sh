#!/usr/bin/env bash
# dynamodb-local.sh ROOT: puts DynamoDB Local (from Maven Central) where LocalStack's package
# installer looks for it below ROOT, so that nothing is downloaded later.
set -euo pipefail
ROOT=${1:?folder that LocalStack takes for the root of its file system}
VER=2.6.1
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
WORK=$ROOT/.ddbwork
LIBS=$ROOT/var/lib/localstack/lib
D=$LIBS/dynamodb-local/2
IS="$VER $(cat "$HERE"/dynamodb/*.java | cksum)"
[ "$(cat "$D/.complete" 2>/dev/null)" = "$IS" ] && exit 0
rm -rf "$WORK" "$D"
mkdir -p "$WORK/main" "$WORK/agent" "$D/DynamoDBLocal_lib" "$LIBS/java"

cat >"$WORK/pom.xml" <<P
<project><modelVersion>4.0.0</modelVersion><groupId>x</groupId><artifactId>ddb</artifactId><version>1</version>
<dependencies><dependency><groupId>com.amazonaws</groupId><artifactId>DynamoDBLocal</artifactId><version>$VER</version></dependency></dependencies></project>
P
L=$D/DynamoDBLocal_lib
(cd "$WORK" && mvn -q -B dependency:copy-dependencies -DoutputDirectory="$L" -DincludeScope=runtime)

# sqlite4java looks for its native library under the name without a version as well.
for so in "$L"/libsqlite4java-linux-*-*.so; do
  [ -e "$so" ] && cp "$so" "$(echo "$so" | sed -E 's/-[0-9.]+\.so$/.so/')"
done

# A jar that starts our main class with Maven's jars; lines of a manifest have 72 bytes at most.
javac --release 17 -cp "$L/*" -d "$WORK/main" "$HERE/dynamodb/LoopbackMain.java"
{
  echo "Main-Class: LoopbackMain"
  printf 'Class-Path: .'
  for jar in "$L"/*.jar; do printf ' DynamoDBLocal_lib/%s' "$(basename "$jar")"; done
  echo
} | awk '{ while (length($0) > 70) { print substr($0, 1, 70); $0 = " " substr($0, 71) } print }' >"$WORK/main.mf"
jar cfm "$D/DynamoDBLocal.jar" "$WORK/main.mf" -C "$WORK/main" .

javac --release 17 -d "$WORK/agent" "$HERE/dynamodb/NoopAgent.java"
echo "Premain-Class: NoopAgent" >"$WORK/agent.mf"
jar cfm "$D/ddb-local-loader-0.1.jar" "$WORK/agent.mf" -C "$WORK/agent" NoopAgent.class

# LocalStack asks for lib/java/<version>/bin/java.
JH=${JAVA_HOME:-$(dirname "$(dirname "$(readlink -f "$(command -v java)")")")}
ln -sfn "$JH" "$LIBS/java/21"
ln -sfn "$JH" "$LIBS/java/11"
echo "$IS" >"$D/.complete"
rm -rf "$WORK"
