#!/usr/bin/env python3
"""Writes src/quant/grids/packed.rs: the codebook grids of the IQ types, one 16-bit word an entry.

Needs `pip install gguf==0.19.0`. The tables are ggml's, under LICENSES/MIT-ggml.txt.
"""

import hashlib
from pathlib import Path

import numpy as np
from gguf import quants

OUTPUT = Path(__file__).parent.parent / "src/quant/grids/packed.rs"
WORDS_PER_LINE = 14
# Start of the SHA-256 of each table as int8, row by row. tests/quant checks the packed form against the same.
GRIDS = {
    "IQ2_XXS": "05826b5d3e472a3a",
    "IQ2_XS": "06e47aaca60b4dc1",
    "IQ2_S": "e1aa1473412b0552",
    "IQ3_XXS": "46e35f5a997efdee",
    "IQ3_S": "bd1af4945a1717c6",
    "IQ1_S": "07540ffc1aeaf6ad",
}


def packed(name: str) -> tuple[list[int], list[int], int]:
    """The words of a grid, the values its codes stand for, and the bits of a code."""
    source = getattr(quants, name)
    source.init_grid()
    table = np.asarray(source.grid).reshape(source.grid_shape).astype(np.int8)
    digest = hashlib.sha256(table.tobytes()).hexdigest()[:16]
    assert digest == GRIDS[name], f"{name}: the installed gguf holds another table ({digest})"
    values = sorted(set(table.flatten().tolist()))
    bits = (len(values) - 1).bit_length()
    codes = np.searchsorted(values, table)
    words = (codes << (bits * np.arange(table.shape[1]))).sum(axis=1)
    return words.tolist(), values, bits


def main() -> None:
    text = "//! Written by `ci/make_grids.py`. The tables are ggml's, under `LICENSES/MIT-ggml.txt`.\n"
    for name in GRIDS:
        words, values, bits = packed(name)
        text += f"\n/// {len(words)} entries, codes of {bits} bits for {', '.join(map(str, values))}.\n"
        text += f"pub(super) static {name}: [u16; {len(words)}] = [\n"
        for start in range(0, len(words), WORDS_PER_LINE):
            text += "    " + " ".join(f"0x{word:04x}," for word in words[start : start + WORDS_PER_LINE]) + "\n"
        text += "];\n"
    OUTPUT.write_text(text)


if __name__ == "__main__":
    main()
