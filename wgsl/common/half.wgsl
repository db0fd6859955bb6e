// The bits of a value in half precision, rounded to the nearest, ties to even. Done in integers, because how
// pack2x16float rounds is up to the driver.
fn half_bits(value: f32) -> u32 {
    let bits = bitcast<u32>(value);
    let sign = (bits >> 16u) & 0x8000u;
    let magnitude = bits & 0x7fffffffu;
    if magnitude > 0x7f800000u {
        return sign | 0x7e00u;
    }
    // 65520, the middle between the largest half and the next power of two.
    if magnitude >= 0x477ff000u {
        return sign | 0x7c00u;
    }
    // 2^-14, the smallest normal half.
    if magnitude >= 0x38800000u {
        let rounded = magnitude + 0xfffu + ((magnitude >> 13u) & 1u);
        return sign | ((rounded - 0x38000000u) >> 13u);
    }
    // 2^-25, half of the smallest half.
    let exponent = magnitude >> 23u;
    if exponent < 102u {
        return sign;
    }
    let mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    let shift = 126u - exponent;
    let rounding = (1u << (shift - 1u)) - 1u + ((mantissa >> shift) & 1u);
    return sign | ((mantissa + rounding) >> shift);
}
