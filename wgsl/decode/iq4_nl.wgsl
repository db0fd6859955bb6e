// IQ4_NL: scale table[nibble]. Half d at 0, nibbles at 2.
// The table: -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113.
const $TABLE = vec4u(0xbfad9881u, 0xf6eaddcfu, 0x26190d01u, 0x71594535u);

fn $decode(block: u32, group: u32) -> Eight {
    let scale = $load_half(block);
    let bytes = $load_pair(block + 2u + (group & 1u) * 8u);
    let plane = group >> 1u;
    return Eight(
        scale * table_values($TABLE, nibbles_of(bytes.x, plane)),
        scale * table_values($TABLE, nibbles_of(bytes.y, plane)),
    );
}
