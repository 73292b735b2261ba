#!/usr/bin/env bash
# Generates the types of the TypeScript example from schema.graphqls and compiles it. It needs Node.js and npm.
#   scripts/lint-typescript.sh
set -euo pipefail
cd "$(dirname "$0")/../examples/typescript"
npm ci --ignore-scripts --no-audit --no-fund --silent
npm run --silent build
