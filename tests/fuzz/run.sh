#!/usr/bin/env bash
# run.sh BUILD SECONDS: every fuzz target of the build folder for so many seconds, two at a time, seeded by
# tests/fuzz/*seeds.py and by all earlier findings in tests/fuzz/findings/<target>. What a target learns is
# kept in the build folder. A finding fails the run and is written to tests/fuzz/findings/: fix it and commit
# the file. FUZZ_SEED starts the mutations, 1 unless named: a fresh clone then tries the same inputs first; 0
# takes the clock.
set -euo pipefail
cd "$(dirname "$0")"
export build=../../$1 seconds=$2 seed=${FUZZ_SEED:-1}
export ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1

fuzz_one() {
  local target=$1 name learnt
  name=$(basename "$target")
  learnt=$build/corpus/$name
  mkdir -p "$learnt" "findings/$name"
  case $name in
    model_fuzz) python seeds.py "$learnt" ;;
    bundle_fuzz) python bundle_seeds.py "$learnt" ;;
    manifest_fuzz) python manifest_seeds.py "$learnt" ;;
    tuf_fuzz) python tuf_seeds.py "$learnt" ;;
    package_fuzz) python package_seeds.py "$learnt" ;;
    policy_fuzz) python policy_seeds.py "$learnt" ;;
    tunnel_fuzz) python tunnel_seeds.py "$learnt" ;;
    *) python stream_seeds.py "$name" "$learnt" ;;
  esac
  local limits=(-seed="$seed" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=3000
    -malloc_limit_mb=2000 -max_len=16384)
  if ! "$target" "$learnt" "findings/$name" "${limits[@]}" \
    -artifact_prefix="findings/$name/" -print_final_stats=1 2>"$build/$name.log"; then
    tail -n 60 "$build/$name.log"
    return 1
  fi
  local stats
  stats=$(sed -nE 's/^stat::(number_of_executed_units|peak_rss_mb): +/\1 /p' "$build/$name.log" \
    | paste -sd, -)
  echo "$name, $seconds s, seed $seed: $stats"
}
export -f fuzz_one

printf '%s\0' "$build"/*_fuzz | xargs -0 -n 1 -P 2 bash -euo pipefail -c 'fuzz_one "$0"'
