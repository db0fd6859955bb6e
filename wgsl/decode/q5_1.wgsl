// Q5_1: scale quant + minimum. Halves d at 0 and m at 2, fifth bits at 4, nibbles at 8.
fn $decode(block: u32, group: u32) -> Eight {
    let first = block >> 2u;
    let scale = half_value($words[first] & 0xffffu);
    let minimum = half_value($words[first] >> 16u);
    let fifth = $words[first + 1u] >> (group * 8u);
    let bytes = first + 2u + (group & 1u) * 2u;
    let plane = group >> 1u;
    let low = nibbles_of($words[bytes], plane) | (bits_of(fifth) << vec4u(4u));
    let high = nibbles_of($words[bytes + 1u], plane) | (bits_of(fifth >> 4u) << vec4u(4u));
    return Eight(scale * vec4f(low) + minimum, scale * vec4f(high) + minimum);
}
