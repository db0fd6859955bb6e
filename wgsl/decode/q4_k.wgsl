// Q4_K: scale quant - minimum. Halves d and dmin at 0, scales and minima of 6 bits at 4, nibbles at 16: quarters of the
// block have two planes of 32 values.
fn $decode(block: u32, group: u32) -> Eight {
    let first = block >> 2u;
    let factors = $words[first];
    let part = group >> 2u;
    let small = scale_and_minimum(vec3u($words[first + 1u], $words[first + 2u], $words[first + 3u]), part);
    let scale = half_value(factors & 0xffffu) * small.x;
    let minimum = half_value(factors >> 16u) * small.y;
    let bytes = first + 4u + (group >> 3u) * 8u + (group & 3u) * 2u;
    return Eight(
        scale * vec4f(nibbles_of($words[bytes], part & 1u)) - minimum,
        scale * vec4f(nibbles_of($words[bytes + 1u], part & 1u)) - minimum,
    );
}
