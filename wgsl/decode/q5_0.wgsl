// Q5_0: scale (quant - 16). Half d at 0, fifth bits at 2, nibbles at 6.
fn $decode(block: u32, group: u32) -> Eight {
    let scale = $load_half(block);
    let fifth = $load_u32(block + 2u) >> (group * 8u);
    let bytes = $load_pair(block + 6u + (group & 1u) * 8u);
    let plane = group >> 1u;
    let low = nibbles_of(bytes.x, plane) | (bits_of(fifth) << vec4u(4u));
    let high = nibbles_of(bytes.y, plane) | (bits_of(fifth >> 4u) << vec4u(4u));
    return Eight(scale * (vec4f(low) - 16.0), scale * (vec4f(high) - 16.0));
}
