#!/bin/sh
# Makes the user whom the server runs as. DPKG_ROOT is set when another system's folder is installed into.
set -e
root=${DPKG_ROOT:-}
if ! grep -q '^zerodag:' "$root/etc/group" 2>/dev/null; then
  groupadd --system ${root:+--prefix "$root"} zerodag
fi
if ! grep -q '^zerodag:' "$root/etc/passwd" 2>/dev/null; then
  useradd --system ${root:+--prefix "$root"} --gid zerodag --home-dir /var/lib/zerodag --no-create-home --shell /usr/sbin/nologin --comment "zerodag server" zerodag
fi
