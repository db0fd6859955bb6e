// IQ2_XS: scale grid sign. Half d at 0, words at 2 (9 bits of index, 7 sign bits), nibbles of scale per 16 values at 66.
fn $decode(block: u32, group: u32) -> Eight {
    let word = $load_u16(block + 2u + group * 2u);
    let small = ($load_u8(block + 66u + (group >> 2u)) >> (((group >> 1u) & 1u) * 4u)) & 15u;
    let scale = $load_half(block) * (0.5 + f32(small)) * 0.25;
    return signed(iq2_values(codebook_entry(IQ2_XS_GRID + (word & 511u))), scale, even_signs(word >> 9u));
}
