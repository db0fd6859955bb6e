// RMSNorm: y[r][i] = x[r][i] / sqrt(mean over i of x[r][i]^2 + epsilon) weight[i].
// Shapes: x, y (rows, size); weight (size).
// Grid: a workgroup a row. Before every matrix of the residual stream.
// Numerics: f32; each thread sums every WORKGROUP-th square, then a tree.
// #include common/group
// #include common/reduce

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let row = group_number(group, groups);
    if row >= parameters.rows {
        return;
    }
    let start = row * parameters.size;
    var squares = 0.0;
    for (var i = thread; i < parameters.size; i += WORKGROUP) {
        let value = x[start + i];
        squares += value * value;
    }
    let mean = workgroup_sum(thread, squares) / f32(parameters.size);
    let scale = 1.0 / sqrt(mean + parameters.epsilon);
    for (var i = thread; i < parameters.size; i += WORKGROUP) {
        y[start + i] = x[start + i] * scale * weight[i];
    }
}
