// Q4_0: scale (quant - 8). Half d at 0, nibbles at 2.
fn $decode(block: u32, group: u32) -> Eight {
    let scale = $load_half(block);
    let bytes = $load_pair(block + 2u + (group & 1u) * 8u);
    let plane = group >> 1u;
    return Eight(
        scale * (vec4f(nibbles_of(bytes.x, plane)) - 8.0),
        scale * (vec4f(nibbles_of(bytes.y, plane)) - 8.0),
    );
}
