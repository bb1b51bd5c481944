#!/bin/sh
# Installs zerodag {{.Version}}: downloads the archive for this system, verifies it and puts the program into a folder.
#
#   curl -fsSL URL/install.sh | sh
#
# ZERODAG_URL  where the files of the release are{{if .URL}} (default: {{.URL}}){{end}}
# ZERODAG_BIN  the folder for the program (default: /usr/local/bin for root, otherwise ~/.local/bin)
set -eu

fail() {
  echo "install zerodag: $1" >&2
  exit 1
}

# get NAME downloads a file of the release into $work.
get() {
  if command -v curl >/dev/null; then
    curl -fsSL --retry 3 -o "$work/$1" "$url/$1" || fail "cannot download $url/$1"
  elif command -v wget >/dev/null; then
    wget -q -O "$work/$1" "$url/$1" || fail "cannot download $url/$1"
  else
    fail "curl or wget is needed"
  fi
}

sum() {
  if command -v sha256sum >/dev/null; then
    sha256sum "$1" | cut -d ' ' -f 1
  elif command -v shasum >/dev/null; then
    shasum -a 256 "$1" | cut -d ' ' -f 1
  else
    fail "sha256sum or shasum is needed"
  fi
}

# The script is a function, so that none of it runs if the download of the script is cut off.
main() {
  version={{.Version}}
  url=${ZERODAG_URL:-{{.URL}}}
  [ -n "$url" ] || fail "set ZERODAG_URL to where the files of the release are"
  url=${url%/}
  case $(uname -s) in
  Linux) system=linux ;;
  Darwin) system=darwin ;;
  *) fail "there is no archive for $(uname -s) that this script can install" ;;
  esac
  case $(uname -m) in
  x86_64 | amd64) processor=amd64 ;;
  aarch64 | arm64) processor=arm64 ;;
  *) fail "there is no archive for the processor $(uname -m)" ;;
  esac
  archive=zerodag_${version}_${system}_${processor}.tar.gz
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  trap 'exit 1' HUP INT TERM

  get SHA256SUMS
{{- if .Key}}
  command -v openssl >/dev/null || fail "openssl is needed to verify the signature"
  get SHA256SUMS.sig
  cat >"$work/key" <<'KEY'
{{.Key}}KEY
  openssl base64 -d -A -in "$work/SHA256SUMS.sig" -out "$work/signature" &&
    openssl dgst -sha256 -verify "$work/key" -signature "$work/signature" "$work/SHA256SUMS" >/dev/null 2>&1 ||
    fail "the signature of $url/SHA256SUMS is not valid: nothing was installed"
{{- else}}
  echo "install zerodag: this release is not signed: only the checksum is verified" >&2
{{- end}}
  want=$(awk -v name="$archive" '$2 == name {print $1}' "$work/SHA256SUMS")
  [ -n "$want" ] || fail "this release has no $archive"
  get "$archive"
  [ "$(sum "$work/$archive")" = "$want" ] || fail "the checksum of $archive is wrong: nothing was installed"
  tar -xzf "$work/$archive" -C "$work" zerodag

  if [ "$(id -u)" = 0 ]; then bin=${ZERODAG_BIN:-/usr/local/bin}; else bin=${ZERODAG_BIN:-$HOME/.local/bin}; fi
  mkdir -p "$bin"
  cp "$work/zerodag" "$bin/.zerodag.new" # a program that runs can be replaced, but not overwritten
  chmod 755 "$bin/.zerodag.new"
  mv -f "$bin/.zerodag.new" "$bin/zerodag"
  echo "Installed $("$bin/zerodag" --version) as $bin/zerodag"
  case :$PATH: in
  *:"$bin":*) ;;
  *) echo "$bin is not on your PATH: export PATH=\"$bin:\$PATH\"" ;;
  esac
}

main
