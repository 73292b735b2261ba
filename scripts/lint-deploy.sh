#!/usr/bin/env bash
# Checks what runs elsewhere: the Dockerfile, compose.yaml with its Prometheus, the Kubernetes manifests against Kubernetes'
# own types and the rules of kube-score, and the systemd units. It needs npm, promtool and systemd. That the command lines
# in them are understood is a test of cmd/fencepost.
#   scripts/lint-deploy.sh
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

tool() { go -C deploy/tools tool "$@"; }

echo "Dockerfile"
npx --yes dockerfile-utils@0.16.3 lint Dockerfile

echo "compose.yaml"
tool github.com/compose-spec/compose-go/v2/cmd "$PWD/compose.yaml" >/dev/null

echo "Prometheus"
promtool check config deploy/prometheus/prometheus.yml >/dev/null

echo "Kubernetes"
tool kustomize build "$PWD/deploy/kubernetes" >"$work/manifests.yaml"
go -C deploy/tools run ./strict <"$work/manifests.yaml"
# An image by its version is always the same, so that it need not be pulled each time.
tool kube-score score --kubernetes-version v1.32 --exit-one-on-warning --ignore-test container-image-pull-policy \
  "$work/manifests.yaml" >"$work/score" || { cat "$work/score" && exit 1; }

echo "systemd"
units=$work/etc/systemd/system
mkdir -p "$units" "$work/usr/lib/systemd" "$work/usr/local/bin"
cp -r /usr/lib/systemd/system "$work/usr/lib/systemd/"
cp -r deploy/systemd/*.service deploy/systemd/*.service.d "$units"
install /dev/null "$work/usr/local/bin/fencepost"
systemd-analyze verify --root="$work" --man=no "$units"/*.service
systemd-analyze security --root="$work" --offline=true --threshold=20 --no-pager fencepost-{serve,work,migrate}.service | grep Overall
