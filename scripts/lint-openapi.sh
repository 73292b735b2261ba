#!/usr/bin/env bash
# Checks rest/openapi.yaml with the strictest rules of two linters. It needs Node.js and npm.
set -euo pipefail
cd "$(dirname "$0")/../rest/lint"

npm ci --ignore-scripts --no-audit --no-fund --silent
export REDOCLY_SUPPRESS_UPDATE_NOTICE=true REDOCLY_TELEMETRY=off
npx redocly lint --config redocly.yaml ../openapi.yaml
npx spectral lint --ruleset spectral.yaml --fail-severity hint ../openapi.yaml
