#!/bin/sh
# The settings may hold passwords: only root and the server read them. A server that runs is restarted, so that it is
# the new one; the first one is for the administrator to start.
set -e
root=${DPKG_ROOT:-}
group=$(sed -n 's/^zerodag:[^:]*:\([0-9]*\):.*/\1/p' "$root/etc/group")
chgrp "$group" "$root/etc/zerodag" "$root/etc/zerodag/server.properties"
chmod 0750 "$root/etc/zerodag"
chmod 0640 "$root/etc/zerodag/server.properties"
if [ -z "$root" ] && [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart zerodag.service
  systemctl is-active --quiet zerodag.service || echo "Start the server with: systemctl enable --now zerodag"
fi
