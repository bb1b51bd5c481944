#!/bin/sh
# Pretends to send a report, for which it needs a template: report.sh DATE
sleep 1
test -f template.html || { echo template.html is missing >&2; exit 1; }
echo the report of $1 is sent
