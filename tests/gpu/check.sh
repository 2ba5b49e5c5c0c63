#!/bin/sh
# The local engine on a GPU: agreement with the CPU, tokens a second, memory. Needs torch and transformers, no network.
#     sh tests/gpu/check.sh                   on a GPU, at most 8 minutes
#     sh tests/gpu/check.sh --device cpu      the same at toy size, to try the script
set -eu
cd "$(dirname "$0")/../.."
PYTHON="${PYTHON:-python3}"
test -x .venv/bin/python && PYTHON="${PYTHON_GPU:-.venv/bin/python}"
OUT="${OUT:-.}"
PYTHONPATH=. timeout 480 "$PYTHON" tests/gpu/check.py --out "$OUT/gpu-check.json" "$@"
