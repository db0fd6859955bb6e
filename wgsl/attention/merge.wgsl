// Attention from its blocks: M = max m[b]; out = sum e^(m[b] - M) o[b] / sum e^(m[b] - M) l[b], times sigmoid(gate).
// Shapes: partials (rows, heads, total blocks, HEAD + 2): m, l, o; query_gate (.., 2 heads HEAD), positions (..), out
//   (.., heads, HEAD), of which rows first_row .. first_row + rows.
// Grid: a workgroup a row and head. After attention/split.
// Numerics: f32; blocks 0 ..= position / 256 in ascending order, whatever other rows have.
// A thread a dimension: each recomputes the few factors rather than wait for others.
// #include common/group
// #include common/activation

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let number = group_number(group, groups);
    if number / parameters.heads >= parameters.rows {
        return;
    }
    let row = parameters.first_row + number / parameters.heads;
    let blocks = positions[row] / 256u + 1u;
    let start = number * parameters.total_blocks * (HEAD + 2u);
    var largest = partials[start];
    for (var block = 1u; block < blocks; block += 1u) {
        largest = max(largest, partials[start + block * (HEAD + 2u)]);
    }
    let gates = (2u * row * parameters.heads + parameters.heads + number % parameters.heads) * HEAD;
    for (var i = thread; i < HEAD; i += WORKGROUP) {
        var total = 0.0;
        var sum = 0.0;
        for (var block = 0u; block < blocks; block += 1u) {
            let part = start + block * (HEAD + 2u);
            let factor = exp(partials[part] - largest);
            total = fma(factor, partials[part + 1u], total);
            sum = fma(factor, partials[part + 2u + i], sum);
        }
        out[(row * parameters.heads + number % parameters.heads) * HEAD + i] = sum / total * sigmoid(query_gate[gates + i]);
    }
}
