// IQ1_M: scale (grid +- 1/8). Low index bytes at 0, nibbles at 32 (three more bits, the sign of the shift), four words
// at 48: 3 bits of scale per 16 values, and the half d in their upper nibbles.
fn $decode(block: u32, group: u32) -> Eight {
    let first = block >> 2u;
    let scales = vec2u($words[first + 12u], $words[first + 13u]);
    let factor = ((scales.x >> 12u) & 0xfu) | ((scales.x >> 24u) & 0xf0u)
        | ((scales.y >> 4u) & 0xf00u) | ((scales.y >> 16u) & 0xf000u);
    let word = select(scales.x, scales.y, group >= 16u) >> (((group >> 3u) & 1u) * 16u);
    let small = (word >> (((group >> 1u) & 3u) * 3u)) & 7u;
    let nibble = ($load_u8(block + 32u + (group >> 1u)) >> ((group & 1u) * 4u)) & 15u;
    let index = $load_u8(block + group) | ((nibble & 7u) << 8u);
    let scale = half_value(factor) * f32(2u * small + 1u);
    return iq1_values(codebook_entry(IQ1_GRID + index), select(0.125, -0.125, nibble >= 8u), scale);
}
