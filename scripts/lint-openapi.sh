#!/usr/bin/env bash
# Checks rest/openapi.yaml with the strictest rules of two linters, and compares it with the latest release's, where a
# breaking change fails. It needs Node.js and npm. With "release" it keeps today's document as the one that the next
# comparison is with.
#   scripts/lint-openapi.sh [release]
set -euo pipefail
cd "$(dirname "$0")/../rest/lint"
readonly oasdiff=github.com/oasdiff/oasdiff@v1.38.0

if [ "${1:-}" = release ]; then
  cp ../openapi.yaml released.yaml
  exit
fi
npm ci --ignore-scripts --no-audit --no-fund --silent
export REDOCLY_SUPPRESS_UPDATE_NOTICE=true REDOCLY_TELEMETRY=off
npx redocly lint --config redocly.yaml ../openapi.yaml
npx spectral lint --ruleset spectral.yaml --fail-severity hint ../openapi.yaml
go run "$oasdiff" breaking --fail-on WARN --severity-levels severity.txt released.yaml ../openapi.yaml
