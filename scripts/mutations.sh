#!/usr/bin/env bash
# Removes one guard after the other from a copy of the code and demands that a test notices: a guard that no test misses
# is either not needed or not tested. scripts/mutations.txt lists the guards. A mutation also has to leave the ordinary life
# of a job intact, else it would prove nothing. Prints each mutation with the tests that failed.
#   scripts/mutations.sh [WORDS]    only the guards whose name contains the words
set -euo pipefail
cd "$(dirname "$0")/.."

ordinary_life='TestReplayedJobFollowsTheOrdinaryLife'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/original"
tar --exclude=./.git --exclude=./.cache --exclude=node_modules --exclude=./bin -c . | tar -x -C "$work/original"
cp -r "$work/original" "$work/mutant"

# mutate SED FILE... changes the files, and fails when one of them stays as it was.
mutate() {
  local script=$1 file
  shift
  for file in "$@"; do
    sed -E "$script" "$work/original/$file" >"$work/mutant/$file"
    ! cmp -s "$work/original/$file" "$work/mutant/$file" || return 1
  done
}

restore() {
  local file
  for file in "$@"; do cp "$work/original/$file" "$work/mutant/$file"; done
}

# packages TEST... prints the folders of the tests.
packages() {
  local names="$*"
  (cd "$work/original" && grep -rlE "^func (${names// /|})\\(" --include='*_test.go' . | xargs dirname | sort -u)
}

# failures PATTERN PACKAGE... prints the tests that fail on the mutant, one a line, or what went wrong before they could.
failures() {
  (cd "$work/mutant" && go test -count=1 -vet=off -timeout=5m -run "$@") &>"$work/output" && return
  grep -oP '^--- FAIL: \K\w+' "$work/output" || tail -1 "$work/output"
}

survivors=0

# judge GUARD FILES SED TESTS runs the tests without the guard. All of them must fail.
judge() {
  local guard=$1 verdict=caught failed test files tests
  read -ra files <<<"$2"
  read -ra tests <<<"$4"
  if mutate "$3" "${files[@]}"; then
    # shellcheck disable=SC2046 # no folder has a space in its name
    failed=$(failures "^($ordinary_life|${4// /|})\$" $(packages "$ordinary_life" "${tests[@]}"))
    for test in "${tests[@]}"; do
      grep -qx "$test" <<<"$failed" || verdict=SURVIVED
    done
    ! grep -qvx '\w*' <<<"$failed" && ! grep -qx "$ordinary_life" <<<"$failed" || verdict=BROKEN
  else
    verdict=BROKEN failed="does not apply"
  fi
  restore "${files[@]}"
  [ "$verdict" = caught ] || survivors=$((survivors + 1))
  printf '%-8s %s: %s\n' "$verdict" "$guard" "${failed//$'\n'/, }"
}

while read -r field value; do
  case $field in
    guard:) guard=$value ;;
    file:) files=$value ;;
    sed:) script=$value ;;
    test:) [[ $guard != *"$*"* ]] || judge "$guard" "$files" "$script" "$value" ;;
  esac
done <scripts/mutations.txt

[ "$survivors" = 0 ] || { echo "$survivors mutations were not caught"; exit 1; }
