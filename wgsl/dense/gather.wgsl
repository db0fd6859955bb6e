// Gathered rows: y[r] = x[index[r]].
// Shapes: x (any number of rows, size); index (rows); y (rows, size).
// Grid: a workgroup a row. For the rows whose logits are wanted, and for embeddings that are stored as f32.
// Numerics: a copy.
// The caller answers for every index being a row of x.
// #include common/group

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
    let source = index[row] * parameters.size;
    let start = row * parameters.size;
    for (var i = thread; i < parameters.size; i += WORKGROUP) {
        y[start + i] = x[source + i];
    }
}
