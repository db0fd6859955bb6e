// TQ1_0: scale digit, of -1, 0, 1. Base-3 digits, five a byte: 32 bytes at 0 hold values 0 .. 159, 16 bytes at 32
// values 160 .. 239, 4 bytes at 48 (four digits each) the rest; half d at 52. A byte stands for the fraction
// byte / 256: digit p is the whole part of three times what remains after p digits.
fn $digits(bytes: u32, digit: u32) -> vec4f {
    let power = select((0x1b090301u >> ((digit & 3u) * 8u)) & 0xffu, 81u, digit == 4u);
    let remainder = (bytes_of(bytes) * power) & vec4u(0xffu);
    return vec4f((remainder * 3u) >> vec4u(8u)) - 1.0;
}

fn $decode(block: u32, group: u32) -> Eight {
    let scale = $load_half(block + 52u);
    var offset = (group & 3u) * 8u;
    var digit = group >> 2u;
    if group >= 20u {
        offset = 32u + (group & 1u) * 8u;
        digit = (group - 20u) >> 1u;
    }
    if group >= 30u {
        let bytes = $load_u32(block + 48u);
        digit = (group - 30u) * 2u;
        return Eight(scale * $digits(bytes, digit), scale * $digits(bytes, digit + 1u));
    }
    let bytes = $load_pair(block + offset);
    return Eight(scale * $digits(bytes.x, digit), scale * $digits(bytes.y, digit));
}
