// Bytes of a buffer of 32-bit words. `$` is the prefix of one matrix.
// A load joins two words where it needs to, without a branch, and never touches a word that holds none of its bytes.
fn $load_u8(offset: u32) -> u32 {
    return ($words[offset >> 2u] >> ((offset & 3u) * 8u)) & 0xffu;
}

// At an even offset.
fn $load_u16(offset: u32) -> u32 {
    return ($words[offset >> 2u] >> ((offset & 2u) * 8u)) & 0xffffu;
}

// At any offset.
fn $load_u32(offset: u32) -> u32 {
    let shift = (offset & 3u) * 8u;
    // Shifting left by 32 - shift in two steps gives zero where shift is zero.
    return ($words[offset >> 2u] >> shift) | (($words[(offset + 3u) >> 2u] << 1u) << (31u - shift));
}

// Eight bytes at any offset.
fn $load_pair(offset: u32) -> vec2u {
    let shift = (offset & 3u) * 8u;
    let middle = $words[(offset >> 2u) + 1u];
    let low = ($words[offset >> 2u] >> shift) | ((middle << 1u) << (31u - shift));
    return vec2u(low, (middle >> shift) | (($words[(offset + 7u) >> 2u] << 1u) << (31u - shift)));
}

// The number in half precision at an even offset.
fn $load_half(offset: u32) -> f32 {
    return half_value($load_u16(offset));
}
