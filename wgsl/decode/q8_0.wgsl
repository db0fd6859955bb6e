// Q8_0: scale quant. Half d at 0, signed bytes at 2.
fn $decode(block: u32, group: u32) -> Eight {
    let scale = $load_half(block);
    let bytes = $load_pair(block + 2u + group * 8u);
    return Eight(scale * vec4f(signed_bytes_of(bytes.x)), scale * vec4f(signed_bytes_of(bytes.y)));
}
