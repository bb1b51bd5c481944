#!/bin/sh
# Data outlives the package, and its user with it: to delete both is up to the administrator.
set -e
if [ -z "${DPKG_ROOT:-}" ] && [ -d /run/systemd/system ]; then
  systemctl daemon-reload
fi
case "${1:-}" in
remove | purge | 0)
  if [ -d "${DPKG_ROOT:-}/var/lib/zerodag" ]; then
    echo "The data of the server stays in /var/lib/zerodag."
  fi
  ;;
esac
