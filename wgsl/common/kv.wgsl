// Four values of a KV slab: KV_F16 is 1 for halves, two a word, the lower first, and 0 for f32.
const KV_BLOCK: u32 = 256u;
// Lower than every score.
const LOWEST: f32 = -3.4e38;

fn key_quad(quad: u32) -> vec4f {
    if KV_F16 == 1u {
        let words = key_slab[quad];
        return vec4f(unpack2x16float(words.x), unpack2x16float(words.y));
    }
    return vec4f(bitcast<vec2f>(key_slab[2u * quad]), bitcast<vec2f>(key_slab[2u * quad + 1u]));
}

fn value_quad(quad: u32) -> vec4f {
    if KV_F16 == 1u {
        let words = value_slab[quad];
        return vec4f(unpack2x16float(words.x), unpack2x16float(words.y));
    }
    return vec4f(bitcast<vec2f>(value_slab[2u * quad]), bitcast<vec2f>(value_slab[2u * quad + 1u]));
}

fn sum_of(quad: vec4f) -> f32 {
    return (quad.x + quad.y) + (quad.z + quad.w);
}
