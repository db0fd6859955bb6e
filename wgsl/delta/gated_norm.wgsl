// Gated RMSNorm of heads: y[h][i] = y[h][i] / sqrt(mean over i of y[h][i]^2 + epsilon) weight[i] silu(gate[h][i]).
// Shapes: y, gate (heads, HEAD), the value heads of all rows; weight (HEAD).
// Grid: a workgroup a head. Between delta/rule and the output product.
// Numerics: f32; each thread sums every WORKGROUP-th square, then a tree.
// Norm first, then gate: the weight is shared by all heads and carries no added 1.
// #include common/group
// #include common/reduce
// #include common/activation

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let head = group_number(group, groups);
    if head >= parameters.heads {
        return;
    }
    let start = head * HEAD;
    var squares = 0.0;
    for (var i = thread; i < HEAD; i += WORKGROUP) {
        squares += y[start + i] * y[start + i];
    }
    let scale = 1.0 / sqrt(workgroup_sum(thread, squares) / f32(HEAD) + parameters.epsilon);
    for (var i = thread; i < HEAD; i += WORKGROUP) {
        y[start + i] = y[start + i] * scale * weight[i] * silu(gate[start + i]);
    }
}
