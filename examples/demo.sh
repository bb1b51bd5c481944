#!/usr/bin/env bash
# Serves examples/daily-report with the program given: pushes it, lets a day fail, runs the
# rest of that day once what failed works again, and shows what happened.
set -euo pipefail
zerodag=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
data=$(mktemp -d)/data
export ZERODAG_CONFIG_HOME="$data/none"

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }

say "1. A server, its data in $data"
mkdir -p "$data"
"$zerodag" server -n 0 -o "$data" -X server.runtime-info.path="$data/runtime.json" >"$data/server.log" 2>&1 &
server=$!
trap 'kill $server 2>/dev/null || true; wait $server 2>/dev/null || true' EXIT
for _ in $(seq 100); do [ -s "$data/runtime.json" ] && break; sleep 0.05; done
[ -s "$data/runtime.json" ] || { cat "$data/server.log"; exit 1; }
port=$(sed -E 's/.*"port":([0-9]+).*/\1/' "$data/runtime.json")
z() { printf '\033[2m$ zerodag %s\033[0m\n' "$*"; "$zerodag" "$@" -e "http://127.0.0.1:$port"; }
cat "$data/server.log"

say "2. Push the project examples/daily-report"
z push reports --project "$here/daily-report" -r first

say "3. A day on which the rate service is down"
z start reports daily-report --session 2024-02-29 -p broken=true --follow || true

say "4. The service is back: run the rest of that day, what succeeded is kept"
z retry 1 --latest-revision --resume -p broken= --follow
z tasks 2

say "5. Where to look"
z status
echo "  the API:     http://127.0.0.1:$port/api/attempts/2 (ends with this demo)"
echo "  the data:    $data"
echo "  run it on:   $zerodag server -o $data"
echo "  then:        $zerodag sessions; $zerodag log 2; $zerodag start reports daily-report --session daily"

say "6. The same as a page"
page=http://127.0.0.1:$port/attempts/2
picture=$(dirname "$data")/page.png
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -z "$browser" ]; then
  echo "  no picture:  there is no Chromium here to take one (apt-get install chromium)"
elif ! timeout 60 "$browser" --headless $([ "$(id -u)" != 0 ] || echo --no-sandbox) --hide-scrollbars --window-size=1280,800 --virtual-time-budget=5000 \
  --user-data-dir="$data.browser" --screenshot="$picture" "$page" >"$data.browser.log" 2>&1 || [ ! -s "$picture" ]; then
  echo "  no picture:  $browser took none, and says why in $data.browser.log"
else
  echo "  a picture:   $picture"
fi
rm -rf "$data.browser"
echo "  the page:    $page (ends with this demo)"
