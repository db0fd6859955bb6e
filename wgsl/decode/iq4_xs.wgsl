// IQ4_XS: scale table[nibble]. Half d at 0, then scales of 6 bits per 32 values: upper 2 bits at 2, lower nibbles at 4;
// nibbles at 8.
// The table: -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113.
const $TABLE = vec4u(0xbfad9881u, 0xf6eaddcfu, 0x26190d01u, 0x71594535u);

fn $decode(block: u32, group: u32) -> Eight {
    let first = block >> 2u;
    let factors = $words[first];
    let part = group >> 2u;
    let small = (($words[first + 1u] >> (part * 4u)) & 15u) | (((factors >> (16u + part * 2u)) & 3u) << 4u);
    let scale = half_value(factors & 0xffffu) * (f32(small) - 32.0);
    let bytes = first + 2u + part * 4u + (group & 1u) * 2u;
    let plane = (group >> 1u) & 1u;
    return Eight(
        scale * table_values($TABLE, nibbles_of($words[bytes], plane)),
        scale * table_values($TABLE, nibbles_of($words[bytes + 1u], plane)),
    );
}
