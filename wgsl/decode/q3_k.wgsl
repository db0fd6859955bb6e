// Q3_K: scale (quant - 4). Third bits at 0, 2 bits a value at 32, scales of 6 bits at 96, half d at 108.
fn $decode(block: u32, group: u32) -> Eight {
    let sixteen = group >> 1u;
    let low_scale = ($load_u8(block + 96u + (sixteen & 7u)) >> ((sixteen >> 3u) * 4u)) & 15u;
    let high_scale = ($load_u8(block + 104u + (sixteen & 3u)) >> ((sixteen >> 2u) * 2u)) & 3u;
    let scale = $load_half(block + 108u) * (f32(low_scale | (high_scale << 4u)) - 32.0);
    let lanes = (group & 3u) * 8u;
    let bits = ($load_pair(block + lanes) >> vec2u(group >> 2u)) & vec2u(0x01010101u);
    let pairs = $load_pair(block + 32u + (group >> 4u) * 32u + lanes) >> vec2u(((group >> 2u) & 3u) * 2u);
    let quants = (pairs & vec2u(0x03030303u)) | (bits << vec2u(2u));
    return Eight(scale * (vec4f(bytes_of(quants.x)) - 4.0), scale * (vec4f(bytes_of(quants.y)) - 4.0));
}
