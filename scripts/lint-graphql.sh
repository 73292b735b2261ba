#!/usr/bin/env bash
# Checks schema.graphqls with graphql-eslint, compares it with the latest release's, where a breaking change fails, and
# sees to it that the Go client compiles with the types that it generates from the schema. It needs Node.js and npm. With
# "release" it keeps today's schema as the one that the next comparison is with.
#   scripts/lint-graphql.sh [release]
set -euo pipefail
cd "$(dirname "$0")/.."
lint=graph/lint released=graph/lint/released.graphqls

if [ "${1:-}" = release ]; then
  cp schema.graphqls "$released"
  exit
fi
(cd "$lint" && npm ci --ignore-scripts --no-audit --no-fund --silent)
"$lint/node_modules/.bin/eslint" --config "$lint/eslint.config.js" --max-warnings 0 schema.graphqls
"$lint/node_modules/.bin/graphql-inspector" diff "$released" schema.graphqls
(cd graph/clients/genqlient && go generate && go vet .)
