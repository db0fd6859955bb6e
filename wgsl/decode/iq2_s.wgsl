// IQ2_S: scale grid sign. Half d at 0, low index bytes at 2, signs at 34, upper 2 index bits at 66, nibbles of scale
// per 16 values at 74.
fn $decode(block: u32, group: u32) -> Eight {
    let upper = ($load_u8(block + 66u + (group >> 2u)) >> ((group & 3u) * 2u)) & 3u;
    let small = ($load_u8(block + 74u + (group >> 2u)) >> (((group >> 1u) & 1u) * 4u)) & 15u;
    let scale = $load_half(block) * (0.5 + f32(small)) * 0.25;
    let entry = codebook_entry(IQ2_S_GRID + ($load_u8(block + 2u + group) | (upper << 8u)));
    return signed(iq2_values(entry), scale, $load_u8(block + 34u + group));
}
