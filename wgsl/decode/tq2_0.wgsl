// TQ2_0: scale (quant - 1). 2 bits a value at 0, in the order of Q2_K; half d at 64.
fn $decode(block: u32, group: u32) -> Eight {
    let scale = $load_half(block + 64u);
    let bytes = $load_pair(block + (group >> 4u) * 32u + (group & 3u) * 8u) >> vec2u(((group >> 2u) & 3u) * 2u);
    let quants = bytes & vec2u(0x03030303u);
    return Eight(scale * (vec4f(bytes_of(quants.x)) - 1.0), scale * (vec4f(bytes_of(quants.y)) - 1.0));
}
