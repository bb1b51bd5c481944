#!/usr/bin/env bash
# Runs examples/daily-report with the program given and shows what happened.
set -euo pipefail
zerodag=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
cp -r "$here/daily-report" "$work/"
cd "$work/daily-report"

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }

say "1. The project: examples/daily-report/daily-report.dig"
"$zerodag" check

say "2. A day on which the rate service is down: the error handler runs, what succeeded is saved"
"$zerodag" run daily-report.dig --session 2024-02-29 -p broken=true || echo "(exit code $?, as it must be)"

say "3. The same day again, the service is back: saved tasks are skipped, the rest runs"
"$zerodag" run daily-report.dig --session 2024-02-29

say "4. Where to look"
echo "  the project:    $work/daily-report"
echo "  saved state:    $work/daily-report/.digdag/status/20240229T000000+0100/ ($(ls .digdag/status/20240229T000000+0100 | wc -l) tasks)"
echo "  run it again:   cd $work/daily-report && $zerodag run daily-report.dig --session 2024-02-29 --rerun"
