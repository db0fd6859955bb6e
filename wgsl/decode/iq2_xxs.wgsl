// IQ2_XXS: scale grid sign. Half d at 0; eight bytes per 32 values from 2: four indices, then a word of four times 7
// sign bits and 4 bits of scale.
fn $decode(block: u32, group: u32) -> Eight {
    let pair = $load_pair(block + 2u + (group >> 2u) * 8u);
    let part = group & 3u;
    let scale = $load_half(block) * (0.5 + f32(pair.y >> 28u)) * 0.25;
    let entry = codebook_entry(IQ2_XXS_GRID + ((pair.x >> (part * 8u)) & 0xffu));
    return signed(iq2_values(entry), scale, even_signs((pair.y >> (part * 7u)) & 127u));
}
