// BF16, eight values as a block: the upper half of an f32.
fn $decode(block: u32, group: u32) -> Eight {
    let first = block >> 2u;
    let words = vec4u($words[first], $words[first + 1u], $words[first + 2u], $words[first + 3u]);
    let even = words << vec4u(16u);
    let odd = words & vec4u(0xffff0000u);
    return Eight(
        bitcast<vec4f>(vec4u(even.x, odd.x, even.y, odd.y)),
        bitcast<vec4f>(vec4u(even.z, odd.z, even.w, odd.w)),
    );
}
