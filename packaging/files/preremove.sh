#!/bin/sh
# dpkg says "remove" or "upgrade", rpm 0 or 1.
set -e
case "${1:-}" in
remove | 0)
  if [ -z "${DPKG_ROOT:-}" ] && [ -d /run/systemd/system ]; then
    systemctl disable --now zerodag.service
  fi
  ;;
esac
