#!/usr/bin/env bash
# Submits every *.json file of a folder as a job, follows the jobs to their ends, and replays those that failed.
#
#   FENCEPOST_USER=ann FENCEPOST_PASSWORD=... examples/folder/submit-folder.sh FOLDER [REPLAYS]
#
# A job that failed is replayed with the bytes of its file, and so is a replay that failed, up to REPLAYS times (3 unless
# given). A cancelled job is left alone, since somebody wanted that. The script can be stopped and started again at any
# time: each key is made from what the write is for, so the same bytes are the same job, and no replay is made twice.
#
# Ends with 0 when everything is loaded, with 1 when something is not, and otherwise with the code of the command that
# could not go on (see "fencepost job --help").
set -euo pipefail
shopt -s nullglob

folder=${1:?name a folder}
replays=${2:-3}
files=() ids=() unloaded=()

submit() { # FILE; prints the id of its job
  local key
  key=$(sha256sum <"$1")
  fencepost job submit "$1" --idempotency-key "${key%% *}" --output id
}

follow() { # FILE JOB; returns how it ended, after the replays
  local file=$1 id=$2 replayed=0 code
  while true; do
    code=0
    fencepost job watch "$id" || code=$?
    if ((code != 8 || replayed == replays)); then return "$code"; fi
    id=$(fencepost job replay "$id" "$file" --idempotency-key "replay of $id" --output id) || return
    replayed=$((replayed + 1))
    echo "$file is replayed as $id"
  done
}

note() { # FILE CODE; goes on if the trouble is this file's alone
  case $2 in
    0) ;;
    5 | 6 | 8 | 9) unloaded+=("$1") ;; # refused, invalid, failed, cancelled
    *) exit "$2" ;;
  esac
}

for file in "$folder"/*.json; do
  code=0
  id=$(submit "$file") || code=$?
  note "$file" "$code"
  if ((code == 0)); then files+=("$file") ids+=("$id"); fi
done

for i in "${!files[@]}"; do
  code=0
  follow "${files[i]}" "${ids[i]}" || code=$?
  note "${files[i]}" "$code"
done

if ((${#unloaded[@]})); then
  printf 'not loaded: %s\n' "${unloaded[@]}" >&2
  exit 1
fi
