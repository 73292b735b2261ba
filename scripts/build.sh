#!/bin/sh
# Builds the program as it is released: static, and the same bytes wherever the same source is built for the same platform
# (GOOS and GOARCH) with the same Go. What it prints as its version is the first argument.
#   scripts/build.sh v1.2.3 bin/fencepost
set -eu

cd "$(dirname "$0")/.."
CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w -X main.release=$1" -o "$2" ./cmd/fencepost
