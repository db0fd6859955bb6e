// Queries: RMSNorm of each head, then rotary: x[j], x[j + half] = x[j] cos[j] - x[j + half] sin[j], x[j] sin[j] + x[j
//   + half] cos[j] for j < half.
// Shapes: query_gate (rows, 2 heads HEAD), queries of all heads, then their gates; norm (HEAD); cosines, sines (rows,
//   half).
// Grid: a workgroup a row and head. Before attention of either kind.
// Numerics: f32; each thread sums every WORKGROUP-th square, then a tree. Angles come from the CPU (f64).
// A thread takes both values of a pair, so that the rotation is in place without another barrier.
// #include common/group
// #include common/reduce

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let number = group_number(group, groups);
    let row = number / parameters.heads;
    if row >= parameters.rows {
        return;
    }
    let start = (2u * row * parameters.heads + number % parameters.heads) * HEAD;
    var squares = 0.0;
    for (var i = thread; i < HEAD; i += WORKGROUP) {
        squares += query_gate[start + i] * query_gate[start + i];
    }
    let scale = 1.0 / sqrt(workgroup_sum(thread, squares) / f32(HEAD) + parameters.epsilon);
    let half = parameters.half;
    for (var i = thread; i < half; i += WORKGROUP) {
        let low = query_gate[start + i] * scale * norm[i];
        let high = query_gate[start + half + i] * scale * norm[half + i];
        let cosine = cosines[row * half + i];
        let sine = sines[row * half + i];
        query_gate[start + i] = low * cosine - high * sine;
        query_gate[start + half + i] = low * sine + high * cosine;
    }
    for (var i = 2u * half + thread; i < HEAD; i += WORKGROUP) {
        query_gate[start + i] = query_gate[start + i] * scale * norm[i];
    }
}
