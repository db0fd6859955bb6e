// Q5_K: as Q4_K, with fifth bits at 16 (bit g of a byte for group g of 32 values) and nibbles at 48.
fn $decode(block: u32, group: u32) -> Eight {
    let first = block >> 2u;
    let factors = $words[first];
    let part = group >> 2u;
    let small = scale_and_minimum(vec3u($words[first + 1u], $words[first + 2u], $words[first + 3u]), part);
    let scale = half_value(factors & 0xffffu) * small.x;
    let minimum = half_value(factors >> 16u) * small.y;
    let lanes = (group & 3u) * 2u;
    let fifth = first + 4u + lanes;
    let bytes = first + 12u + (group >> 3u) * 8u + lanes;
    let low_fifth = bytes_of(($words[fifth] >> part) & 0x01010101u) << vec4u(4u);
    let high_fifth = bytes_of(($words[fifth + 1u] >> part) & 0x01010101u) << vec4u(4u);
    return Eight(
        scale * vec4f(nibbles_of($words[bytes], part & 1u) | low_fifth) - minimum,
        scale * vec4f(nibbles_of($words[bytes + 1u], part & 1u) | high_fifth) - minimum,
    );
}
