// F16, eight values as a block.
fn $two_halves(word: u32) -> vec2f {
    return vec2f(half_value(word & 0xffffu), half_value(word >> 16u));
}

fn $decode(block: u32, group: u32) -> Eight {
    let first = block >> 2u;
    return Eight(
        vec4f($two_halves($words[first]), $two_halves($words[first + 1u])),
        vec4f($two_halves($words[first + 2u]), $two_halves($words[first + 3u])),
    );
}
