#!/usr/bin/env bash
# Tests and measures sinter and its peers on a machine with a GPU, by default within nine minutes. Runs from a
# bundle (tools/bundle) or from a build tree; bench/README.md explains the results.
#
# Usage: bench/gpu.sh OUT_DIR [--only PART…] [--seconds N] [--rehearse]
#   tests            the gpu tests and the digits example
#   sanitizer        compute-sanitizer's memcheck, racecheck and initcheck over a kernel of each kind:
#                    among them a scan, a cooperative launch and a cluster
#   bench[:TEXT]     the quick cases of the suite, or those with TEXT in their name or as their group
#   peers[:SYSTEM]   the same cases on torch_eager, torch_compile, jax_jit, cupy, cub, liger, quack, nvfuser
#   host[:NAME]      host costs: record, plan, compile, launch and, only if named, cache; needs no GPU.
#                    A bundle has no cache_bench
#   static           counted figures of kernels against bench/baseline; needs NVRTC, but no GPU; only if named
#   libraries        matrix products and convolutions by cuBLASLt and cuDNN, and training with them; only if named
#   constants        the constants that the planner assumes, to OUT_DIR/target.json; only if named
#   approximations   the errors of approximate instructions, to OUT_DIR/approximations.json; only if named
#
# --rehearse runs the parts at tiny sizes on the virtual GPU (tests/virtual_gpu), whose times mean nothing: the
# results say "virtual": true and have no times. Without it the script refuses a virtual GPU.
# OUT_DIR gets results.json, report.md, logs.tar.gz and, if Python has matplotlib, bandwidth.png and
# ratios.png. Parts share the seconds by weight; later parts get the time that a part does not use. The report
# names everything that is missing or had no time. Exit status: 0 all parts passed, 1 a part failed, 2 usage,
# 3 there is no GPU, or no NVRTC.
set -uo pipefail

usage() {
  sed -n '5,23s/^# \?//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}

(($# >= 1)) && [[ $1 != -* ]] || usage
out=$1
shift
parts=() budget=540 rehearses=
while (($# > 0)); do
  case $1 in
    --only)
      shift
      while (($# > 0)) && [[ $1 != --* ]]; do parts+=("$1") && shift; done
      ;;
    --seconds) (($# > 1)) || usage; budget=$2 && shift 2 ;;
    --rehearse) rehearses=1 && shift ;;
    *) usage ;;
  esac
done
for part in "${parts[@]}"; do
  [[ ${part%%:*} =~ ^(tests|sanitizer|bench|peers|host|static|libraries|constants|approximations)$ ]] || usage
done

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
start_folder=$PWD
cd "$root" || exit 2
if [[ -f build/env.sh ]]; then source build/env.sh; fi
bin=${SINTER_BIN:-bin}
if [[ ! -d $bin ]]; then bin=build/release/bin; fi

# The name of the first GPU by sinter: nvidia-smi does not know the virtual GPU.
device=$(timeout 60 "$bin/sinter" devices 2>/dev/null | sed -nE 's/^cuda:0 +(.*), sm_[0-9]+, .*/\1/p' | head -n 1)
if [[ $device == "virtual GPU"* && -z $rehearses ]]; then
  echo "gpu: $device interprets kernels, so its times mean nothing; --rehearse runs every part on it and records none"
  exit 3
elif [[ $device != "virtual GPU"* && -n $rehearses ]]; then
  echo "gpu: --rehearse is for the virtual GPU, but the first GPU is ${device:-missing}"
  exit 2
fi
cd "$start_folder" && mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 2
cd "$root" || exit 2
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# --- chosen parts -------------------------------------------------------------------------------

# texts PART: prints the texts after "PART:" in the chosen parts, one per line.
texts() {
  local part
  for part in "${parts[@]}"; do
    if [[ $part == "$1":* ]]; then echo "${part#*:}"; fi
  done
}
chosen() {
  local part
  ((${#parts[@]} == 0)) && return 0
  for part in "${parts[@]}"; do
    if [[ ${part%%:*} == "$1" ]]; then return 0; fi
  done
  return 1
}
# chosen_of PART NAME: true if PART is chosen without a text, or with a prefix of NAME.
chosen_of() {
  local text
  chosen "$1" || return 1
  [[ -z $(texts "$1") ]] && return 0
  while read -r text; do
    if [[ $2 == "$text"* ]]; then return 0; fi
  done < <(texts "$1")
  return 1
}

only=() tier=quick
if [[ -n $rehearses ]]; then
  export SINTER_REHEARSE=on SINTER_CACHE=off
  # A test of each kind of kernel, by gtest's own variable, and a case of each kind of measurement.
  export GTEST_FILTER='Memcheck.*'
  tier=tiny only=(--only row_sum_f32,latency5_f32)
fi
if [[ -n $(texts bench) ]]; then only=(--only "$(texts bench | paste -sd,)"); fi

# --- steps --------------------------------------------------------------------------------------

# The steps are collected first: name, weight, kind and words. A gpu step needs a GPU, a cpu step does not. A
# peer step reports itself what it is missing, and its failure is not a failure of the run.
step_names=() step_weights=() step_kinds=() step_words=()
step() {
  step_names+=("$1") step_weights+=("$2") step_kinds+=("$3")
  shift 3
  step_words+=("$(printf '%q ' "$@")")
}

sanitizer_program() {
  local program
  for program in compute-sanitizer "${CUDA_HOME:-/usr/local/cuda}"/{bin,compute-sanitizer}/compute-sanitizer; do
    if command -v "$program"; then return; fi
  done
  return 1
}

missing=()  # "name: reason" of steps that are not tried
python=$(command -v python3 || true)
# tools/setup sets SINTER_NUMPY if Python itself has no NumPy.
if [[ -n ${SINTER_NUMPY:-} ]]; then export PYTHONPATH=${PYTHONPATH:+$PYTHONPATH:}$SINTER_NUMPY; fi
export PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1

# Prints the NVRTC library of a toolkit, else of the wheels of the Python that the peers use. Its version is at most
# the driver's CUDA version, because a driver rejects the output of newer ones. If nvidia-smi reports no version,
# any NVRTC is accepted.
find_nvrtc() {
  local folder wheels='' versions='12 13' version cuda file
  cuda=$(nvidia-smi 2>/dev/null | sed -nE 's/.*CUDA Version: *([0-9]+).*/\1/p' | head -n 1)
  if [[ -n $cuda ]]; then versions=$( ((cuda < 13)) && echo 12 || echo 13 12); fi
  if [[ -n $python ]]; then
    wheels=$("$python" -c 'import nvidia; print(*nvidia.__path__, sep="\n")' 2>/dev/null)
  fi
  for version in $versions; do
    for folder in "${CUDA_HOME:-/no}"/lib64 "${SINTER_CUDA_PREFIX:-/usr/local/cuda}"{,-*}/lib64; do
      if [[ -e $folder/libnvrtc.so.$version ]]; then echo "$folder/libnvrtc.so.$version" && return; fi
    done
    while read -r folder; do
      for file in "$folder"/*/lib/libnvrtc.so.$version; do
        if [[ -e $file ]]; then echo "$file" && return; fi
      done
    done <<<"$wheels"
  done
}
if [[ ${SINTER_NVRTC:-} == */* && ! -e $SINTER_NVRTC ]]; then
  echo "gpu: SINTER_NVRTC=$SINTER_NVRTC does not exist; looking elsewhere"
  unset SINTER_NVRTC
fi
if [[ -z ${SINTER_NVRTC:-} ]] && file=$(find_nvrtc) && [[ -n $file ]]; then export SINTER_NVRTC=$file; fi

if chosen tests; then
  step gpu_tests 150 gpu bench/gpu_tests "$bin/sinter_gpu_tests" "$logs" LIMIT
fi
if chosen bench; then
  step bench 160 gpu bench/gpu_bench sinter "$logs" LIMIT "$bin/suite_bench" \
    --suite bench/suite/suite.json --tier $tier "${only[@]}"
fi
no_peers=
if [[ -z $python ]]; then
  no_peers="there is no python3"
elif ! "$python" -c 'import numpy' 2>/dev/null; then
  no_peers="python3 has no NumPy"
fi
# has_module NAME: true if Python finds the module. The check is fast, so a missing peer takes no time from others.
has_module() {
  "$python" -c "import importlib.util, sys; sys.exit(importlib.util.find_spec('$1') is None)" 2>/dev/null
}
# peer NAME WEIGHT MODULE SCRIPT WORDS…
peer() {
  local name=$1 weight=$2 module=$3 script=$4 why=$no_peers
  shift 4
  chosen_of peers "$name" || return 0
  if [[ -z $why ]] && ! has_module "$module"; then why="python3 has no module $module"; fi
  if [[ -n $why ]]; then
    missing+=("$name: $why")
    return
  fi
  step "$name" "$weight" peer bench/gpu_bench "$name" "$logs" LIMIT "$python" "bench/peers/$script" "$@" \
    --tier $tier "${only[@]}"
}
peer torch_compile_default 90 torch torch_compile.py default
cub_weight=25
if [[ ! -x bin/cub_peer ]]; then cub_weight=60; fi  # nvcc must compile it
peer cub $cub_weight numpy cub.py
peer torch_eager 30 torch torch_eager.py
# The training takes a minute on the virtual GPU, where it has a test of its own.
if chosen tests && [[ -z $rehearses ]]; then step digits 20 gpu "$bin/digits" --device cuda; fi
if chosen sanitizer; then
  if check=$(sanitizer_program); then
    # The suite has neither scans nor kernels of clusters at tiny sizes; the tests have both.
    tiny=softmax_f32,rms_norm_backward_bf16,column_var_mean_f32,foreach_adamw_6,cross_entropy_bf16,full_sum_f32
    # The tests with Memcheck in their names are small runs of one kernel of each kind: Scan, Cooperative, Cluster
    # and others. Without idle memory, every array ends at the end of a driver allocation.
    for tool in memcheck:30 racecheck:25 initcheck:15; do
      command=(env SINTER_IDLE_BYTES=0 SINTER_TUNE=off "$check" --tool "${tool%:*}" --error-exitcode 99)
      step "${tool%:*}_tests" "${tool#*:}" gpu "${command[@]}" "$bin/sinter_gpu_tests" "--gtest_filter=*Memcheck*"
      step "${tool%:*}_suite" "${tool#*:}" gpu "${command[@]}" "$bin/suite_bench" \
        --suite bench/suite/suite.json --tier tiny --only "$tiny" --modes L
    done
  else
    missing+=("sanitizer: compute-sanitizer was not found")
  fi
fi
peer jax_jit 35 jax jax_jit.py
peer torch_compile_max-autotune-no-cudagraphs 45 torch torch_compile.py max-autotune-no-cudagraphs
peer torch_compile_reduce-overhead 20 torch torch_compile.py reduce-overhead --modes E
peer cupy_fuse 15 cupy cupy_kernels.py fuse
peer cupy_kernels 15 cupy cupy_kernels.py kernels
peer liger 8 liger_kernel torch_libraries.py liger
peer quack 8 quack torch_libraries.py quack
nvfuser_module=nvfuser_direct
if [[ -n $python ]] && ! has_module $nvfuser_module; then nvfuser_module=nvfuser; fi
peer nvfuser 8 $nvfuser_module torch_libraries.py nvfuser
# host_bench NAME WEIGHT FILTER: the filter leaves out the slowest benchmarks.
host_bench() {
  chosen_of host "$1" || return 0
  step "$1_bench" "$2" cpu "$bin/$1_bench" --benchmark_min_time=$host_seconds --benchmark_filter="$3" \
    --benchmark_out="$logs/host_$1.json" --benchmark_out_format=json
}
host_seconds=0.05
if [[ -z $rehearses ]]; then
  host_bench record 4 .
  host_bench launch 6 .
  host_bench plan 20 .
  host_bench compile 16 '^(nothing|pointwise_add|pointwise_50_ops|softmax|layer_norm)/iterations'
else
  host_seconds=0.001
  host_bench record 4 '^record_chain_again'
  host_bench launch 6 '^(run|replay)_prepared'
  host_bench plan 20 '^chain/1000$'
  host_bench compile 16 '^nothing/iterations'
fi
if [[ -n $(texts host) ]]; then host_bench cache 60 '^(load_process|hit_in_memory)'; fi  # half a minute
if ((${#parts[@]} > 0)) && chosen static; then
  if [[ -n $python ]]; then
    step static 20 cpu "$python" bench/compare --against bench/baseline --sinter "$bin/sinter" --tier quick "${only[@]}"
  else
    missing+=("static: there is no python3")
  fi
fi

if ((${#parts[@]} > 0)) && chosen libraries; then
  step libraries 60 gpu "$bin/library_bench" --benchmark_min_time=0.05 \
    --benchmark_out="$logs/libraries.json" --benchmark_out_format=json
  step mlp 20 gpu "$bin/mlp"
fi
if ((${#parts[@]} > 0)) && chosen constants; then
  step constants 40 gpu "$bin/measure_gpu" constants --json "$out/target.json"
fi
if ((${#parts[@]} > 0)) && chosen approximations; then
  stride=1
  if [[ -n $rehearses ]]; then stride=262144; fi
  step approximations 60 gpu "$bin/measure_gpu" approximations --stride $stride --json "$out/approximations.json"
fi

# --- running them -------------------------------------------------------------------------------

began=$SECONDS
codes=() seconds=() notes=()
gpu_problem='' gpu_note=''
# The first probe only opens the device. The second checks for NVRTC, without which no kernel can be compiled.
# The third runs a kernel, to report early an error that all steps would have.
probe=(timeout 60 "$bin/suite_bench" --suite bench/suite/suite.json --tier tiny --only add_f32_tiny --modes L)
nvrtc=$(timeout 60 "$bin/sinter" devices 2>&1 | sed -nE 's/^nvrtc +//p' | head -n 1)
if ! "${probe[@]}" --seconds 1e-9 >"$logs/probe.log" 2>&1; then
  gpu_note="no GPU" gpu_problem="there is no GPU to use: $(tail -n 1 "$logs/probe.log")"
elif [[ $nvrtc == missing* ]]; then
  gpu_note="no NVRTC" gpu_problem="no kernel can be compiled: NVRTC is $nvrtc"
elif ! "${probe[@]}" >"$logs/probe_kernel.log" 2>&1; then
  echo "gpu: the first kernel did not run: $(tail -n 1 "$logs/probe_kernel.log")"
fi
if [[ -n $gpu_problem ]]; then echo "gpu: $gpu_problem"; fi
if [[ $nvrtc != missing* ]]; then echo "gpu: NVRTC: ${nvrtc:-"$bin/sinter does not say which"}"; fi

query() { nvidia-smi --query-gpu="$1" --format=csv,noheader,nounits 2>/dev/null | head -n 1; }
gpu_name=$(query name)
gpu_name=${gpu_name:-$device}
driver=$(query driver_version) memory_mib=$(query memory.total)
clocks_before=$(query clocks.sm,clocks.mem,clocks.max.sm,clocks.max.mem)
nvidia-smi -q >"$logs/machine.log" 2>&1

weight_left=0
for weight in "${step_weights[@]}"; do weight_left=$((weight_left + weight)); done
for i in "${!step_names[@]}"; do
  name=${step_names[i]} weight=${step_weights[i]}
  left=$((budget - 10 - (SECONDS - began)))  # 10 s are for the report
  limit=$((left * weight / weight_left))
  weight_left=$((weight_left - weight))
  note=
  if [[ ${step_kinds[i]} == gpu && -n $gpu_problem ]]; then
    code=-1 spent=0 note=$gpu_note
  elif ((limit < 2)); then
    code=-1 spent=0 note="no time was left"
  else
    words=${step_words[i]//LIMIT/$((limit > 10 ? limit - 5 : limit / 2))}  # the step's own limit
    start=$(date +%s%N)
    eval "timeout --kill-after=5 $limit $words" >"$logs/$name.log" 2>&1
    code=$?
    spent=$(awk -v ns=$(($(date +%s%N) - start)) 'BEGIN { printf "%.1f", ns / 1e9 }')
    if ((code == 124 || code == 137)); then note="stopped after its $limit s"; fi
    if ((code == 127)); then note="not found"; fi
    if [[ $name == gpu_tests ]] && tail -n 1 "$logs/$name.log" | grep -q ' passed'; then
      note=${note:+$note; }$(tail -n 1 "$logs/$name.log")
    fi
    if grep -qs ' is missing: ' "$logs/$name.log"; then note=$(grep -m 1 ' is missing: ' "$logs/$name.log"); fi
  fi
  codes+=("$code") seconds+=("$spent") notes+=("$note")
  echo "gpu: $name: $([[ $code == -1 ]] && echo "not run" || echo "exit $code after $spent s")${note:+ ($note)}"
done
for why in "${missing[@]}"; do echo "gpu: missing: $why"; done
clocks_after=$(query clocks.sm,clocks.mem,clocks.max.sm,clocks.max.mem)

# --- results ------------------------------------------------------------------------------------

# Prints a JSON file if it is complete, that is, ends with a line "}", else null. Google Benchmark may write NaN,
# which is not valid JSON.
json_or_null() {
  if [[ -s $1 && $(tail -n 1 "$1") == '}' ]]; then
    sed -E 's/: -?(NaN|Infinity)(,?)$/: null\2/I' "$1"
  else
    echo null
  fi
}
json_string() { printf '"%s"' "$(printf '%s' "$1" | tr -d '\000-\037' | sed 's/[\\"]/\\&/g')"; }
json_strings() {
  local separator=
  for text in "$@"; do
    printf '%s' "$separator" && json_string "$text"
    separator=', '
  done
}
# json_files PREFIX: prints the JSON files with that prefix, separated by commas.
json_files() {
  local separator='' file
  for file in "$logs/$1"*.json; do
    [[ -e $file ]] || continue
    printf '%s' "$separator" && json_or_null "$file"
    separator=','
  done
}

commit=$(cat COMMIT 2>/dev/null || git rev-parse HEAD 2>/dev/null || echo unknown)
{
  printf '{\n"schema": "sinter-gpu-1",\n'
  if [[ -n $rehearses ]]; then printf '"virtual": true,\n'; fi
  printf '"gpu": %s,\n"gpu_problem": %s,\n"driver": %s,\n"nvrtc": %s,\n"memory_mib": %s,\n' \
    "$(json_string "$gpu_name")" "$(json_string "$gpu_problem")" "$(json_string "$driver")" \
    "$(json_string "$nvrtc")" "$(json_string "$memory_mib")"
  printf '"clocks_are": "SM, memory, largest SM, largest memory, in MHz",\n"clocks_before": %s,\n"clocks_after": %s,\n' \
    "$(json_string "$clocks_before")" "$(json_string "$clocks_after")"
  printf '"commit": %s,\n"date": "%s",\n"parts": [%s],\n"missing": [%s],\n' "$(json_string "$commit")" \
    "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$(json_strings "${parts[@]}")" "$(json_strings "${missing[@]}")"
  printf '"steps": ['
  for i in "${!step_names[@]}"; do
    ((i > 0)) && printf ','
    printf '\n  {"name": "%s", "exit": %s, "seconds": %s, "note": %s}' "${step_names[i]}" \
      "$([[ ${codes[i]} == -1 ]] && echo null || echo "${codes[i]}")" "${seconds[i]}" "$(json_string "${notes[i]}")"
  done
  printf '\n],\n"results": [%s],\n"host": [%s],\n"libraries": %s,\n"gpu_tests": %s\n}\n' "$(json_files results_)" \
    "$([[ -n $rehearses ]] || json_files host_)" "$(json_or_null "$logs/libraries.json")" \
    "$(json_or_null "$logs/gpu_tests.json")"
} >"$out/results.json"

# Tables and pictures of the results.
measured=("$logs"/results_*.json)
if [[ -e ${measured[0]} && -n $python ]]; then
  timeout 60 "$python" bench/compare "${measured[@]}" --out "$logs/compared" >"$logs/compare.log" 2>&1
  mv "$logs"/compared/*.png "$out/" 2>/dev/null
fi

# tail_of NAME LINES: prints the end of a step's log as a code block, if the step was run.
tail_of() {
  [[ -s $logs/$1.log ]] || return 0
  printf '\n## %s\n\n```\n%s\n```\n' "$1" "$(tail -n "$2" "$logs/$1.log")"
}
{
  echo "# sinter on ${gpu_name:-no GPU}"
  echo
  echo "Driver ${driver:-unknown}, ${memory_mib:-?} MiB, commit $commit, $(date -u +%Y-%m-%d)."
  echo "NVRTC: ${nvrtc:-unknown}."
  echo "Clocks (SM, memory, and the largest of both, in MHz): ${clocks_before:-unknown} before, ${clocks_after:-unknown} after."
  if [[ -n $gpu_problem ]]; then printf '\n**%s**\n' "${gpu_problem^}"; fi
  if [[ -n $rehearses ]]; then printf '\n**A rehearsal on a virtual GPU: nothing here is a measurement.**\n'; fi
  printf '\n| step | exit | seconds | |\n|---|---|---|---|\n'
  for i in "${!step_names[@]}"; do
    echo "| ${step_names[i]} | ${codes[i]/#-1/not run} | ${seconds[i]} | ${notes[i]} |"
  done
  for why in "${missing[@]}"; do echo "| ${why%%:*} | not run | 0 | ${why#*: } |"; done
  if [[ -s $logs/compared/compare.md ]]; then
    echo
    cat "$logs/compared/compare.md"
  fi
  tail_of gpu_tests 40
  tail_of bench 120
  tail_of digits 60
  tail_of libraries 60
  tail_of mlp 5
  for tool in memcheck racecheck initcheck; do
    tail_of "${tool}_tests" 5
    tail_of "${tool}_suite" 5
  done
  tail_of static 20
  tail_of constants 20
  tail_of approximations 40
} >"$out/report.md"

for file in "$logs"/*.log; do  # at most 2 MB of each
  if (($(stat -c %s "$file") > 2000000)); then tail -c 2000000 "$file" >"$file.end" && mv "$file.end" "$file"; fi
done
tar -C "$logs" -czf "$out/logs.tar.gz" .
echo "gpu: wrote $(cd "$out" && ls -m results.json report.md logs.tar.gz {target,approximations}.json ./*.png 2>/dev/null | tr '\n' ' ')in $out after $((SECONDS - began)) s"

status=0
for i in "${!codes[@]}"; do
  if ((codes[i] > 0)) && [[ ${step_kinds[i]} != peer ]]; then status=1; fi
done
if [[ $status == 0 && -n $gpu_problem ]]; then status=3; fi
exit $status
