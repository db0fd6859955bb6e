// Rows side by side: y[r] = [a[r], b[r]].
// Shapes: a, b (rows, size); y (rows, 2 size).
// Grid: a workgroup a row. For the input of the next-token block.
// Numerics: a copy.
// Embedding and hidden row are normalised apart, so they cannot be written in place by one norm.
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
    let size = parameters.size;
    for (var i = thread; i < size; i += WORKGROUP) {
        y[2u * row * size + i] = a[row * size + i];
        y[(2u * row + 1u) * size + i] = b[row * size + i];
    }
}
