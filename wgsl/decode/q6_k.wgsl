// Q6_K: scale (quant - 32). Nibbles at 0, upper 2 bits at 128, signed scales (a byte per 16 values) at 192, half d at
// 208. Halves of the block have four planes of 32 values; planes 0 and 2, 1 and 3 share bytes of nibbles.
fn $decode(block: u32, group: u32) -> Eight {
    let half = group >> 4u;
    let plane = (group >> 2u) & 3u;
    let lanes = (group & 3u) * 8u;
    let small = bitcast<i32>($load_u8(block + 192u + (group >> 1u)) << 24u) >> 24u;
    let scale = $load_half(block + 208u) * f32(small);
    let nibbles = $load_pair(block + half * 64u + (plane & 1u) * 32u + lanes) >> vec2u((plane >> 1u) * 4u);
    let upper = $load_pair(block + 128u + half * 32u + lanes) >> vec2u(plane * 2u);
    let quants = (nibbles & vec2u(0x0f0f0f0fu)) | ((upper & vec2u(0x03030303u)) << vec2u(4u));
    return Eight(scale * (vec4f(bytes_of(quants.x)) - 32.0), scale * (vec4f(bytes_of(quants.y)) - 32.0));
}
