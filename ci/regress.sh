#!/usr/bin/env bash
# All that must not get worse, of the models in the repository or of the one that is named: numbers, texts, and
# that models of other shapes run. A line for each check, `N/N PASS` last; exit code 1 otherwise.
#
#   ci/regress.sh [MODEL]
#
# BACKEND names the backend (else auto). REDLITE_BIN is a folder with both programs (else they are built), and
# REDLITE_CHECKS one for the results (else target/checks).
set -euo pipefail

if [ $# -gt 1 ] || [[ ${1:-} = -* ]]; then
    echo "usage: ci/regress.sh [MODEL]" >&2
    exit 2
fi

here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=ci/checks.sh
source "$here/checks.sh"
# shellcheck source=ci/model_checks.sh
source "$here/model_checks.sh"

backend=${BACKEND:-auto}

# synthetic TYPES: a model with random weights is written, and gives finite logits.
synthetic() {
    local file=$out/synthesize.$1.gguf
    "$redlite" synthesize --preset tiny --types "$1" -o "$file"
    "$redlite" bench -m "$file" -p 64 -n 8 --reps 1 --backend "$backend"
    rm "$file"
}

if [ $# -eq 1 ]; then
    model_checks "$1" "$backend" 512 yes ""
else
    for file in zoo.gguf legacy.gguf model/redlite-mini-rust-68m-IQ2_XXS.gguf; do
        prefix=$(basename "$file" .gguf)
        model_checks "$root/fixtures/$file" "$backend" 512 yes "${prefix%%-rust*}."
        check "${prefix%%-rust*}.prefill.parity.batch-64" "$engine" prefill --backend "$backend" \
            --model "$root/fixtures/$file" --tokens "$oracle/toks300.txt" --kv-type f32 --batch 64
    done
fi
for types in iq2_xxs iq1_m q4_k_m; do
    check "synthesize.$types" synthetic "$types"
done
finish
