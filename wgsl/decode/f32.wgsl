// F32, eight values as a block.
fn $decode(block: u32, group: u32) -> Eight {
    let first = block >> 2u;
    let low = vec4u($words[first], $words[first + 1u], $words[first + 2u], $words[first + 3u]);
    let high = vec4u($words[first + 4u], $words[first + 5u], $words[first + 6u], $words[first + 7u]);
    return Eight(bitcast<vec4f>(low), bitcast<vec4f>(high));
}
