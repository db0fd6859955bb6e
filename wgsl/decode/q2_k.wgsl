// Q2_K: scale quant - minimum. Scales and minima (a byte per 16 values) at 0, 2 bits a value at 16, halves d and dmin
// at 80. Halves of the block have four planes of 32 values.
fn $decode(block: u32, group: u32) -> Eight {
    let first = block >> 2u;
    let factors = $words[first + 20u];
    let small = ($words[first + (group >> 3u)] >> (((group >> 1u) & 3u) * 8u)) & 0xffu;
    let scale = half_value(factors & 0xffffu) * f32(small & 15u);
    let minimum = half_value(factors >> 16u) * f32(small >> 4u);
    let bytes = first + 4u + (group >> 4u) * 8u + (group & 3u) * 2u;
    let shift = ((group >> 2u) & 3u) * 2u;
    return Eight(
        scale * vec4f(bytes_of(($words[bytes] >> shift) & 0x03030303u)) - minimum,
        scale * vec4f(bytes_of(($words[bytes + 1u] >> shift) & 0x03030303u)) - minimum,
    );
}
