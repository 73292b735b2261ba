#!/usr/bin/env bash
# fuzz.sh TIME [PATTERN]: runs each fuzz target for that long (as "30s"), one after the other, and adds up the executions. PATTERN is
# a part of their names. It stops at the first input that breaks a target's property, which Go keeps in testdata/fuzz.
set -euo pipefail
cd "$(dirname "$0")/.."

grep -rno --include='*_test.go' --exclude-dir=.cache --exclude-dir=node_modules '^func Fuzz[A-Za-z]*' . |
  sed -E 's|^(.*)/[^/]*:func (Fuzz.*)|\1 \2|' | grep "${2:-}" | sort |
  while read -r package target; do
    output=$(go test -run='^$' -fuzz="^$target\$" -fuzztime="$1" -fuzzminimizetime=100x "$package") || { echo "$output"; exit 1; }
    echo "$package $target $(grep -o 'execs: [0-9]*' <<<"$output" | tail -1 | cut -d' ' -f2)"
  done | tee >(cat >&2) | awk '{ sum += $3 } END { print NR " targets, " sum " executions" }'
