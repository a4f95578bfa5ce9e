#!/usr/bin/env bash
# run.sh BUILD SECONDS: every fuzz target of the build folder for so many seconds, seeded by tests/fuzz/*seeds.py and by all
# earlier findings in tests/fuzz/findings/<target>. What it learns is kept in the build folder. A finding stops the run and
# is written to tests/fuzz/findings/: fix it and commit the file.
set -euo pipefail
cd "$(dirname "$0")"
build=../../$1 seconds=$2
export ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1
for target in "$build"/*_fuzz; do
  name=$(basename "$target")
  learnt=$build/corpus/$name
  mkdir -p "$learnt" "findings/$name"
  case $name in
    model_fuzz) python seeds.py "$learnt" ;;
    bundle_fuzz) python bundle_seeds.py "$learnt" ;;
    *) python stream_seeds.py "$name" "$learnt" ;;
  esac
  echo "$name for $seconds s"
  limits=(-max_total_time="$seconds" -timeout=10 -rss_limit_mb=3000 -malloc_limit_mb=2000 -max_len=16384)
  if ! "$target" "$learnt" "findings/$name" "${limits[@]}" -artifact_prefix="findings/$name/" -print_final_stats=1 \
    2>"$build/$name.log"; then
    tail -n 60 "$build/$name.log"
    exit 1
  fi
  grep -E "stat::number_of_executed_units|stat::peak_rss_mb" "$build/$name.log"
done
