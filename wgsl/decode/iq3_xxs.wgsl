// IQ3_XXS: scale grid sign. Half d at 0, index bytes per 4 values at 2, a word per 32 values at 66: four times 7 sign
// bits and 4 bits of scale. Codes stand for 4, 12, .. 52, 62.
fn $four(index: u32) -> vec4f {
    let codes = codes_of_3_bits(codebook_entry(IQ3_XXS_GRID + index));
    return vec4f(4u + 8u * codes + select(vec4u(0u), vec4u(2u), codes == vec4u(7u)));
}

fn $decode(block: u32, group: u32) -> Eight {
    let word = $load_u32(block + 66u + (group >> 2u) * 4u);
    let indices = $load_u16(block + 2u + group * 2u);
    let scale = $load_half(block) * (0.5 + f32(word >> 28u)) * 0.5;
    let values = Eight($four(indices & 0xffu), $four(indices >> 8u));
    return signed(values, scale, even_signs((word >> ((group & 3u) * 7u)) & 127u));
}
