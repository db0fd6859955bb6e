#!/usr/bin/env bash
# Runs all tests: unit, integration and documentation tests. Arguments are passed on, as in `ci/test.sh --test parity`.
set -euo pipefail
cd "$(dirname "$0")/.."
exec cargo test --locked --no-fail-fast "$@"
