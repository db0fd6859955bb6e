// What the decoders share. All their products are exact in f32 (a scale has 11 bits, a sub-scale at most 7, a quant at
// most 6), so that a fused multiply-add gives the same bits as two operations.

// Eight consecutive values of a row.
struct Eight { low: vec4f, high: vec4f }

// The value of a number in half precision. By integers: many weights have subnormal scales, which drivers may flush.
fn half_value(bits: u32) -> f32 {
    let magnitude = bits & 0x7fffu;
    var value = bitcast<f32>((magnitude << 13u) + ((127u - 15u) << 23u));
    if magnitude < 0x400u {
        value = f32(magnitude) * 5.9604644775390625e-8;
    } else if magnitude >= 0x7c00u {
        value = bitcast<f32>((magnitude << 13u) + ((255u - 31u) << 23u));
    }
    return bitcast<f32>(bitcast<u32>(value) | ((bits & 0x8000u) << 16u));
}

// The four bytes of a word, the lowest first.
fn bytes_of(word: u32) -> vec4u {
    return (vec4u(word) >> vec4u(0u, 8u, 16u, 24u)) & vec4u(0xffu);
}

fn signed_bytes_of(word: u32) -> vec4i {
    return bitcast<vec4i>(vec4u(word) << vec4u(24u, 16u, 8u, 0u)) >> vec4u(24u);
}

// The lowest four bits, a lane each.
fn bits_of(word: u32) -> vec4u {
    return (vec4u(word) >> vec4u(0u, 1u, 2u, 3u)) & vec4u(1u);
}

// One nibble of each byte of a word: the low one for plane 0, the high one for plane 1.
fn nibbles_of(word: u32, plane: u32) -> vec4u {
    return bytes_of((word >> (plane * 4u)) & 0x0f0f0f0fu);
}

// Entries of a table of 16 signed bytes, four to a word.
fn table_values(table: vec4u, index: vec4u) -> vec4f {
    let odd = (index & vec4u(4u)) != vec4u(0u);
    let low = select(vec4u(table.x), vec4u(table.y), odd);
    let high = select(vec4u(table.z), vec4u(table.w), odd);
    let word = select(low, high, (index & vec4u(8u)) != vec4u(0u));
    return vec4f(bitcast<vec4i>(word << (vec4u(24u) - (index & vec4u(3u)) * 8u)) >> vec4u(24u));
}

// Scale and minimum (6 bits each) of group 0 .. 7 of a block of Q4_K or Q5_K, from its 12 bytes.
// Groups 0 to 3 have theirs in the first and second word, groups 4 to 7 the low bits in the third, the high ones atop.
fn scale_and_minimum(words: vec3u, group: u32) -> vec2f {
    let fields = (words >> vec3u((group & 3u) * 8u)) & vec3u(0xffu);
    let early = fields.xy & vec2u(63u);
    let late = vec2u(fields.z & 15u, fields.z >> 4u) | ((fields.xy >> vec2u(6u)) << vec2u(4u));
    return vec2f(select(late, early, group < 4u));
}

// An entry of the codebook: grids one behind the other, two entries a word.
fn codebook_entry(number: u32) -> u32 {
    return (codebook[number >> 1u] >> ((number & 1u) * 16u)) & 0xffffu;
}

// The four lowest codes of 2 bits of a codebook entry.
fn codes_of_2_bits(entry: u32) -> vec4u {
    return (vec4u(entry) >> vec4u(0u, 2u, 4u, 6u)) & vec4u(3u);
}

// The four codes of 3 bits of a codebook entry.
fn codes_of_3_bits(entry: u32) -> vec4u {
    return (vec4u(entry) >> vec4u(0u, 3u, 6u, 9u)) & vec4u(7u);
}

// Eight values of the grids of IQ2: codes 0, 1, 2 stand for 8, 25, 43.
fn iq2_values(entry: u32) -> Eight {
    let low = codes_of_2_bits(entry);
    let high = codes_of_2_bits(entry >> 8u);
    return Eight(vec4f(8u + 17u * low + (low >> vec4u(1u))), vec4f(8u + 17u * high + (high >> vec4u(1u))));
}

// Eight values of the grid of IQ1: codes 0, 1, 2 stand for -1, 0, 1; all of them shifted, then scaled.
fn iq1_values(entry: u32, shift: f32, scale: f32) -> Eight {
    let low = vec4f(codes_of_2_bits(entry)) - 1.0;
    let high = vec4f(codes_of_2_bits(entry >> 8u)) - 1.0;
    return Eight(scale * (low + shift), scale * (high + shift));
}

// Eight sign bits from seven: the eighth makes the number of minus signs even.
fn even_signs(bits: u32) -> u32 {
    return bits | ((countOneBits(bits) & 1u) << 7u);
}

// Values times a scale, negative where the lane's bit of `signs` is set.
fn signed(values: Eight, scale: f32, signs: u32) -> Eight {
    let low = (vec4u(signs) << vec4u(31u, 30u, 29u, 28u)) & vec4u(0x80000000u);
    let high = (vec4u(signs) << vec4u(27u, 26u, 25u, 24u)) & vec4u(0x80000000u);
    return Eight(
        bitcast<vec4f>(bitcast<vec4u>(scale * values.low) ^ low),
        bitcast<vec4f>(bitcast<vec4u>(scale * values.high) ^ high),
    );
}
