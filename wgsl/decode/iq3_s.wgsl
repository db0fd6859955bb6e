// IQ3_S: scale grid sign. Half d at 0, low index bytes per 4 values at 2, ninth index bits at 66, signs at 74, nibbles
// of scale per 32 values at 106. Codes stand for 1, 3, .. 15.
fn $four(index: u32) -> vec4f {
    return vec4f(1u + 2u * codes_of_3_bits(codebook_entry(IQ3_S_GRID + index)));
}

fn $decode(block: u32, group: u32) -> Eight {
    let indices = $load_u16(block + 2u + group * 2u);
    let ninth = $load_u8(block + 66u + (group >> 2u)) >> ((group & 3u) * 2u);
    let small = ($load_u8(block + 106u + (group >> 3u)) >> (((group >> 2u) & 1u) * 4u)) & 15u;
    let scale = $load_half(block) * f32(1u + 2u * small);
    let low = (indices & 0xffu) | ((ninth & 1u) << 8u);
    let high = (indices >> 8u) | ((ninth & 2u) << 7u);
    return signed(Eight($four(low), $four(high)), scale, $load_u8(block + 74u + group));
}
