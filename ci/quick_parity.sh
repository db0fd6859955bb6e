#!/usr/bin/env bash
# Whether a model's numbers are right: against recordings of llama.cpp where there are some for a file of this name,
# and against itself, chunks against token by token. A line for each check, `N/N PASS` last; exit code 1 otherwise.
#
#   ci/quick_parity.sh MODEL [--long] [--batch N] [--backend B]
#
# --long adds what takes minutes on a CPU. REDLITE_BIN is a folder with both programs (else they are built), and
# REDLITE_CHECKS one for the results (else target/checks).
set -euo pipefail

usage() {
    echo "usage: ci/quick_parity.sh MODEL [--long] [--batch N] [--backend B]" >&2
    exit 2
}

model="" long=no batch=512 backend=auto
while [ $# -gt 0 ]; do
    case $1 in
        --long) long=yes ;;
        --batch | --backend)
            [ $# -ge 2 ] || usage
            declare "${1#--}=$2"
            shift
            ;;
        -*) usage ;;
        *)
            [ -z "$model" ] || usage
            model=$1
            ;;
    esac
    shift
done
[ -n "$model" ] || usage

here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=ci/checks.sh
source "$here/checks.sh"
# shellcheck source=ci/model_checks.sh
source "$here/model_checks.sh"

model_checks "$model" "$backend" "$batch" "$long" ""
finish
