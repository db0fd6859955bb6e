// IQ1_S: scale (grid +- 1/8). Half d at 0, low index bytes at 2, words at 34: a word per 32 values has three more bits
// of four indices, 3 bits of scale and the sign of the shift.
fn $decode(block: u32, group: u32) -> Eight {
    let word = $load_u16(block + 34u + (group >> 2u) * 2u);
    let index = $load_u8(block + 2u + group) | (((word >> ((group & 3u) * 3u)) & 7u) << 8u);
    let scale = $load_half(block) * f32(2u * ((word >> 12u) & 7u) + 1u);
    return iq1_values(codebook_entry(IQ1_GRID + index), select(0.125, -0.125, word >= 0x8000u), scale);
}
