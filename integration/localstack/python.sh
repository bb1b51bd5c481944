#!/usr/bin/env bash
# python.sh FOLDER: builds a Python that LocalStack runs on into FOLDER/python-VERSION and prints
# its path. For machines that have none of 3.13 or later, and no package of one: the source is
# Debian's copy of CPython's release, and takes some minutes of a compiler.
#
#   DEBIAN_MIRROR  where the source is (default http://deb.debian.org/debian)
set -euo pipefail
VERSION=3.13.5
SHA256=93e583f243454e6e9e4588ca2c2662206ad961659863277afcdb96801647d640
SOURCE=${DEBIAN_MIRROR:-http://deb.debian.org/debian}/pool/main/p/python3.13/python3.13_$VERSION.orig.tar.xz
PREFIX=$(cd "${1:?usage: python.sh FOLDER}" && pwd)/python-$VERSION

[ -x "$PREFIX/bin/python3" ] && { echo "$PREFIX/bin/python3"; exit; }

fail() {
  echo "python.sh: $*" >&2
  exit 1
}

if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq gcc make xz-utils libc6-dev libssl-dev zlib1g-dev libffi-dev libsqlite3-dev libbz2-dev liblzma-dev; } >/dev/null ||
    fail "apt-get could not install the compiler and the headers that Python is built with"
fi
for tool in gcc make curl xz sha256sum; do
  command -v "$tool" >/dev/null || fail "needs $tool, and headers of OpenSSL, zlib, libffi, SQLite, bzip2 and xz; or set LS_PYTHON to a Python of 3.13 or later"
done

work=$(mktemp -d)
trap 'rm -rf "$work" "$PREFIX.new"' EXIT
echo "building Python $VERSION into $PREFIX: some minutes" >&2
curl --silent --show-error --fail --location --retry 3 --output "$work/source.tar.xz" "$SOURCE" ||
  fail "cannot fetch $SOURCE: name another mirror with DEBIAN_MIRROR, or set LS_PYTHON to a Python of 3.13 or later"
echo "$SHA256  $work/source.tar.xz" | sha256sum --check --quiet >&2 || fail "$SOURCE is not the file that is expected"
mkdir "$work/source"
tar -xJf "$work/source.tar.xz" -C "$work/source" --strip-components 1
{
  cd "$work/source"
  ./configure --prefix="$PREFIX" --disable-test-modules
  make -j"$(getconf _NPROCESSORS_ONLN)"
  make install DESTDIR="$PREFIX.new"
} >"$work/log" 2>&1 || {
  tail -30 "$work/log" >&2
  fail "Python could not be built"
}
"$PREFIX.new$PREFIX/bin/python3" -c 'import ssl, sqlite3, ctypes, zlib, bz2, lzma, ensurepip; from warnings import deprecated' ||
  fail "this Python lacks a part: are the headers there?"
mv "$PREFIX.new$PREFIX" "$PREFIX" # whole or not at all
echo "$PREFIX/bin/python3"
