#!/usr/bin/env bash
# rules.sh REPOSITORY COMMIT FOLDER: puts the Guard rules of the Well-Architected pillars Security and Reliability into a folder, and
# prints it.
set -euo pipefail
repository=$1 commit=$2 folder=$3
if [ ! -d "$folder" ]; then
  clone=$(mktemp -d)
  trap 'rm -rf "$clone"' EXIT
  git -C "$clone" init --quiet
  git -C "$clone" fetch --quiet --depth 1 "$repository" "$commit" || {
    echo "NOT RUN: rules of Well-Architected: $repository cannot be reached" >&2
    exit 1
  }
  git -C "$clone" checkout --quiet FETCH_HEAD
  mkdir "$clone/rules-of-pillars"
  sed -n 's/.*"guardFilePath": *"\([^"]*\)".*/\1/p' "$clone"/mappings/rule_set_wa-{Security,Reliability}-Pillar.json | sort -u | while read -r file; do
    cp "$clone/$file" "$clone/rules-of-pillars/"
  done
  mkdir -p "$(dirname "$folder")"
  mv "$clone/rules-of-pillars" "$folder"
fi
echo "$folder"
