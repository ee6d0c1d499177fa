#!/usr/bin/env bash
# Runs sinter on a GPU and writes what it saw: the gpu tests, the digits example, compute-sanitizer over a
# few kernels, and a bandwidth table against a copy of the same bytes.
# Usage: bench/gpu.sh OUT_DIR, from a bundle (tools/bundle) or from a tree with build/release.
# OUT_DIR gets results.json, report.md, bandwidth.svg and logs.tar.gz. Every step is tried, whatever the
# others did; the exit status is 0 if all passed.
set -uo pipefail

if (($# != 1)); then
  echo "usage: bench/gpu.sh OUT_DIR" >&2
  exit 2
fi
mkdir -p "$1"
out=$(cd "$1" && pwd)
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 2
if [[ -f build/env.sh ]]; then source build/env.sh; fi
bin=bin
if [[ ! -d $bin ]]; then bin=build/release/bin; fi
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# --- steps --------------------------------------------------------------------------------------

names=() codes=() seconds=()

# step NAME LIMIT_S COMMAND…: runs it under a time limit, log in $logs/NAME.log, and keeps how it ended.
# Status 127 means that the program is not there, 124 that the limit was passed.
step() {
  local name=$1 limit=$2 start code
  shift 2
  start=$(date +%s.%N)
  timeout --kill-after=10 "$limit" "$@" >"$logs/$name.log" 2>&1
  code=$?
  names+=("$name") codes+=("$code")
  seconds+=("$(awk -v from="$start" -v to="$(date +%s.%N)" 'BEGIN { printf "%.1f", to - from }')")
  echo "gpu: $name: exit $code after ${seconds[-1]} s"
}

# fail_if_found TEXT FILE WHY: the last step failed if TEXT stands in FILE, whatever its status says.
fail_if_found() {
  if grep -qs "$1" "$2"; then
    codes[-1]=1
    echo "gpu: ${names[-1]}: $3"
  fi
}

# Prints a JSON file if a program wrote it whole, else null.
json_or_null() {
  if [[ -s $1 && $(tail -c 3 "$1" | tr -d '[:space:]') == *'}' ]]; then cat "$1"; else echo null; fi
}

json_string() { printf '"%s"' "$(printf '%s' "$1" | tr -d '\000-\037' | sed 's/[\\"]/\\&/g')"; }

sanitizer() {
  local program
  for program in compute-sanitizer "${CUDA_HOME:-/usr/local/cuda}"/{bin,compute-sanitizer}/compute-sanitizer; do
    if command -v "$program"; then return; fi
  done
  return 1
}

query() { nvidia-smi --query-gpu="$1" --format=csv,noheader,nounits 2>/dev/null | head -n 1; }

gpu_name=$(query name) driver=$(query driver_version) memory_mib=$(query memory.total)
memory_mhz=$(query clocks.max.memory)

step machine 60 nvidia-smi -q
step gpu_tests 600 $bin/sinter_gpu_tests --gtest_output="json:$logs/gpu_tests.json"
fail_if_found '"result": "SKIPPED"' "$logs/gpu_tests.json" "tests were skipped"
step digits 300 $bin/digits --device cuda
step bandwidth 300 $bin/bandwidth_bench \
  --benchmark_out="$logs/bandwidth.json" --benchmark_out_format=json
fail_if_found '"error_occurred": true' "$logs/bandwidth.json" "benchmarks did not run"
if check=$(sanitizer); then
  # The tests whose names say Memcheck are small runs of one kernel of each shape.
  for program in "hello $bin/hello" "tests $bin/sinter_gpu_tests --gtest_filter=*Memcheck*"; do
    read -r name command <<<"$program"
    read -ra command <<<"$command"
    # Without idle memory every array ends where the memory ends that the driver gave for it.
    step "memcheck_$name" 300 env SINTER_IDLE_BYTES=0 "$check" --tool memcheck --error-exitcode 99 "${command[@]}"
  done
else
  echo "compute-sanitizer is not there" | tee "$logs/memcheck_none.log"
fi

# --- what came out ------------------------------------------------------------------------------

{
  printf '{\n"gpu": %s,\n"driver": %s,\n"memory_mib": %s,\n"memory_mhz": %s,\n"date": "%s",\n' \
    "$(json_string "$gpu_name")" "$(json_string "$driver")" "$(json_string "$memory_mib")" \
    "$(json_string "$memory_mhz")" "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
  printf '"steps": ['
  for i in "${!names[@]}"; do
    ((i > 0)) && printf ', '
    printf '\n  {"name": "%s", "exit": %d, "seconds": %s}' "${names[i]}" "${codes[i]}" "${seconds[i]}"
  done
  printf '\n],\n"digits_last_line": %s,\n' "$(json_string "$(tail -n 1 "$logs/digits.log")")"
  printf '"bandwidth": %s,\n"gpu_tests": %s\n}\n' \
    "$(json_or_null "$logs/bandwidth.json")" "$(json_or_null "$logs/gpu_tests.json")"
} >"$out/results.json"

# One line per benchmark: name, GB/s, ratio to the copy of as many bytes (the bench's counters
# gb_per_s and of_copy).
bandwidth_rows() {
  [[ -s $logs/bandwidth.json ]] || return 0
  awk -F': *' '
    { gsub(/[",]/, "") ; key = $1; gsub(/[ \t]/, "", key) }
    key == "name" { name = $2; sub(/\/.*/, "", name); speed = ratio = "" }
    key == "gb_per_s" { speed = $2 }
    key == "of_copy" { ratio = $2 }
    /^ *}/ { if (name != "" && speed != "") printf "%s %.1f %.3f\n", name, speed, ratio; name = "" }
  ' "$logs/bandwidth.json"
}

{
  echo "# sinter on ${gpu_name:-no GPU}"
  echo
  echo "Driver ${driver:-unknown}, ${memory_mib:-?} MiB, memory at most ${memory_mhz:-?} MHz, $(date -u +%Y-%m-%d)."
  echo
  echo "| step | exit | seconds |"
  echo "|---|---|---|"
  for i in "${!names[@]}"; do echo "| ${names[i]} | ${codes[i]} | ${seconds[i]} |"; done
  echo
  echo "## Bandwidth"
  echo
  echo "| kernel | GB/s | of a copy of the same bytes |"
  echo "|---|---|---|"
  bandwidth_rows | while read -r name speed ratio; do echo "| $name | $speed | $ratio |"; done
  echo
  echo "## Tests"
  echo
  echo '```'
  grep -E '^\[  (PASSED|FAILED|SKIPPED) |^\[=+\] [0-9]+ tests .* ran' "$logs/gpu_tests.log" | tail -n 40
  echo '```'
  echo
  echo "## Digits"
  echo
  echo '```'
  tail -n 60 "$logs/digits.log"
  echo '```'
  echo
  echo "## compute-sanitizer"
  echo
  echo '```'
  tail -n 5 "$logs"/memcheck_*.log
  echo '```'
} >"$out/report.md"

bandwidth_rows | awk '
  { name[NR] = $1; speed[NR] = $2; ratio[NR] = $3; if ($2 > top) top = $2 }
  END {
    height = 40 + 28 * NR
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"760\" height=\"%d\" font-family=\"sans-serif\" font-size=\"13\">\n", height
    printf "<rect width=\"760\" height=\"%d\" fill=\"white\"/>\n<text x=\"10\" y=\"22\">GB/s (share of a copy)</text>\n", height
    for (i = 1; i <= NR; ++i) {
      y = 16 + 28 * i
      width = top > 0 ? 380 * speed[i] / top : 0
      printf "<text x=\"10\" y=\"%d\">%s</text>\n<rect x=\"230\" y=\"%d\" width=\"%.1f\" height=\"18\" fill=\"#3b7dd8\"/>\n", y + 14, name[i], y, width
      printf "<text x=\"%.1f\" y=\"%d\">%.0f (%.2f)</text>\n", 238 + width, y + 14, speed[i], ratio[i]
    }
    print "</svg>"
  }' >"$out/bandwidth.svg"

tar -C "$logs" -czf "$out/logs.tar.gz" .
echo "gpu: wrote $out/results.json, report.md, bandwidth.svg, logs.tar.gz"

for code in "${codes[@]}"; do
  if ((code != 0)); then exit 1; fi
done
