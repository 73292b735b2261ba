#!/usr/bin/env bash
# Prints the statement coverage of each package in a profile, then the statements that no test ran, and fails when there
# are any. main.go is left out: its main function only runs in processes of its own, which the tests start.
#   scripts/coverage.sh coverage.out
set -euo pipefail

grep -v -e '^mode:' -e '/cmd/fencepost/main\.go:' "$1" | awk '
  { statements[$1] = $2; runs[$1] += $3 }
  END {
    for (block in statements) {
      package = block
      sub(/\/[^\/]*$/, "", package)
      total[package] += statements[block]
      if (runs[block]) { covered[package] += statements[block] } else { missed[block] }
    }
    sorted = "sort"
    for (package in total) {
      printf "%-40s %6.1f%% of %d statements\n", package, int(1000 * covered[package] / total[package]) / 10, total[package] | sorted
    }
    close(sorted)
    for (block in missed) { print "not covered: " block | sorted; failed = 1 }
    close(sorted)
    exit failed
  }'
