// MXFP4: scale table[nibble]. Exponent at 0: the scale is 2^(exponent - 128), for 0 and 1 subnormal; nibbles at 1.
// The table is E2M1 doubled: 0, 1, 2, 3, 4, 6, 8, 12 and their negatives; minus zero is plain zero.
const $TABLE = vec4u(0x03020100u, 0x0c080604u, 0xfdfeff00u, 0xf4f8fafcu);

fn $decode(block: u32, group: u32) -> Eight {
    let exponent = $load_u8(block);
    let scale = bitcast<f32>(select((exponent - 1u) << 23u, 0x00200000u << (exponent & 1u), exponent < 2u));
    let bytes = $load_pair(block + 1u + (group & 1u) * 8u);
    let plane = group >> 1u;
    return Eight(
        scale * table_values($TABLE, nibbles_of(bytes.x, plane)),
        scale * table_values($TABLE, nibbles_of(bytes.y, plane)),
    );
}
