#!/usr/bin/env bash
# allocations.sh RECORDED MEASURED: fails when a Go benchmark never allocated as rarely as in the recorded run at its worst, or was not
# recorded. Both files are output of `go test -bench . -benchmem`. Times are not compared, since machines differ.
set -euo pipefail

awk '
  $1 == "pkg:" { package = $2 }
  $NF != "allocs/op" { next }
  { name = package " " $1; allocations = $(NF - 1) + 0 }
  FNR == NR { if (!(name in recorded) || allocations > recorded[name]) recorded[name] = allocations; next }
  !(name in measured) || allocations < measured[name] { measured[name] = allocations }
  END {
    for (name in measured) {
      counted++
      if (!(name in recorded)) {
        print name ": not recorded; make bench-go-record"
        failed = 1
      } else if (measured[name] > recorded[name]) {
        print name ": " measured[name] " allocations, recorded were " recorded[name]
        failed = 1
      }
    }
    print counted + 0 " benchmarks counted"
    exit failed || !counted
  }' "$1" "$2"
