// Keys and values into a KV slab: RMSNorm and rotary of each key head as in attention/query; values as they are.
// Shapes: keys, values (.., kv heads, HEAD), cosines, sines (.., half), positions (..), of which rows first_row ..
//   first_row + rows; slabs (slab positions, kv heads, HEAD).
// Grid: a workgroup a row and KV head. Once for every slab that the rows of one sequence reach into; rows outside it
//   do nothing.
// Numerics: f32; KV_F16 = 1 stores halves, two a word, the lower first, rounded to the nearest even; 0 stores f32.
// Keys are only read, so a thread can make both halves of a word, whatever pair of the rotation they belong to.
// #include common/group
// #include common/reduce
// #include common/half

// Value i of a head: normalised and turned.
fn key_at(row: u32, start: u32, i: u32, scale: f32) -> f32 {
    let half = parameters.half;
    let own = keys[start + i] * scale * norm[i];
    if i >= 2u * half {
        return own;
    }
    let pair = i % half;
    let cosine = cosines[row * half + pair];
    let sine = sines[row * half + pair];
    if i < half {
        return own * cosine - keys[start + i + half] * scale * norm[i + half] * sine;
    }
    return keys[start + pair] * scale * norm[pair] * sine + own * cosine;
}

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let number = group_number(group, groups);
    let head = number % parameters.kv_heads;
    if number / parameters.kv_heads >= parameters.rows {
        return;
    }
    let row = parameters.first_row + number / parameters.kv_heads;
    let position = positions[row];
    if position < parameters.slab_first || position - parameters.slab_first >= parameters.slab_positions {
        return;
    }
    let start = (row * parameters.kv_heads + head) * HEAD;
    var squares = 0.0;
    for (var i = thread; i < HEAD; i += WORKGROUP) {
        squares += keys[start + i] * keys[start + i];
    }
    let scale = 1.0 / sqrt(workgroup_sum(thread, squares) / f32(HEAD) + parameters.epsilon);
    let target_start = ((position - parameters.slab_first) * parameters.kv_heads + head) * HEAD;
    if KV_F16 == 1u {
        for (var i = 2u * thread; i < HEAD; i += 2u * WORKGROUP) {
            let word = (target_start + i) / 2u;
            let low = half_bits(key_at(row, start, i, scale));
            key_slab[word] = low | (half_bits(key_at(row, start, i + 1u, scale)) << 16u);
            value_slab[word] = half_bits(values[start + i]) | (half_bits(values[start + i + 1u]) << 16u);
        }
    } else {
        for (var i = thread; i < HEAD; i += WORKGROUP) {
            key_slab[target_start + i] = bitcast<u32>(key_at(row, start, i, scale));
            value_slab[target_start + i] = bitcast<u32>(values[start + i]);
        }
    }
}
