#!/usr/bin/env python3
"""Writes fixtures/quant/<type>.bin: random blocks of every quantisation type, then the f32 values gguf decodes them to.

Needs `pip install gguf==0.19.0`. The numbers of blocks and values follow from a file's length, since a type's block
has a fixed number of bytes and values. Little endian. The last two blocks hold an infinite and a NaN scale.
"""

from pathlib import Path

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, quants

OUTPUT = Path(__file__).parent.parent / "fixtures/quant"
# Byte offsets of the f16 scales in a block.
SCALES = {
    "Q4_0": [0],
    "Q4_1": [0, 2],
    "Q5_0": [0],
    "Q5_1": [0, 2],
    "Q8_0": [0],
    "Q2_K": [80, 82],
    "Q3_K": [108],
    "Q4_K": [0, 2],
    "Q5_K": [0, 2],
    "Q6_K": [208],
    "IQ1_S": [0],
    "IQ2_XXS": [0],
    "IQ2_XS": [0],
    "IQ2_S": [0],
    "IQ3_XXS": [0],
    "IQ3_S": [0],
    "IQ4_NL": [0],
    "IQ4_XS": [0],
    "TQ1_0": [52],
    "TQ2_0": [64],
}
# One block each: ordinary scales of both signs, powers of two, both zeros, subnormal and the largest finite numbers.
FINITE = [0x211F, 0xA3C5, 0x3C00, 0xB5A7, 0x0000, 0x8000, 0x0001, 0x83FF, 0x7BFF, 0xFBFF]
SPECIAL = [0x7C00, 0x7E01]
EXPONENTS = [0, 1, 2, 3, 100, 120, 126, 127, 128, 252, 253, 254, 255]


def blocks_of(name: str, random: np.random.Generator) -> np.ndarray:
    """Blocks of random bytes with chosen scales: (blocks, bytes of a block)."""
    size = GGML_QUANT_SIZES[GGMLQuantizationType[name]][1]
    scales = EXPONENTS if name == "MXFP4" else FINITE + SPECIAL
    count = len(scales) if name == "MXFP4" or name in SCALES or name == "IQ1_M" else 512
    blocks = random.integers(0, 256, (count, size), dtype=np.uint8)
    if name == "MXFP4":
        blocks[:, 0] = scales
    elif name == "IQ1_M":
        # The scale lies in the upper four bits of four 16-bit words, its lowest digit first.
        for block, scale in zip(blocks, scales):
            for digit in range(4):
                high = block[49 + 2 * digit]
                block[49 + 2 * digit] = (high & 15) | (scale >> (4 * digit) & 15) << 4
    elif name in SCALES:
        for number, offset in enumerate(SCALES[name]):
            # A second scale takes another order, so that the two differ in size and sign.
            order = np.roll(scales[: len(FINITE)], 3 * number).tolist() + SPECIAL
            blocks[:, offset : offset + 2] = np.array(order, dtype="<u2").view(np.uint8).reshape(-1, 2)
    return blocks


def main() -> None:
    OUTPUT.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(2)
    for name in ["F32", "F16", "BF16", *SCALES, "IQ1_M", "MXFP4"]:
        blocks = blocks_of(name, random)
        with np.errstate(all="ignore"):
            values = quants.dequantize(blocks, GGMLQuantizationType[name])
        assert values.dtype == np.float32
        (OUTPUT / f"{name.lower()}.bin").write_bytes(blocks.tobytes() + values.astype("<f4").tobytes())


if __name__ == "__main__":
    main()
