// Q4_1: scale quant + minimum. Halves d at 0 and m at 2, nibbles at 4.
fn $decode(block: u32, group: u32) -> Eight {
    let first = block >> 2u;
    let scale = half_value($words[first] & 0xffffu);
    let minimum = half_value($words[first] >> 16u);
    let bytes = first + 1u + (group & 1u) * 2u;
    let plane = group >> 1u;
    return Eight(
        scale * vec4f(nibbles_of($words[bytes], plane)) + minimum,
        scale * vec4f(nibbles_of($words[bytes + 1u], plane)) + minimum,
    );
}
