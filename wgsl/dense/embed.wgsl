// Embedding: y[r] = row ids[r] of the matrix, where the bound piece (rows first_row .. first_row + matrix_rows) has it.
// Shapes: weights (matrix_rows, size) quantised; ids (rows); y (rows, size), left alone for ids outside the piece.
// Grid: a workgroup a row. Once a piece of the embedding matrix, at the start of a pass.
// Numerics: the decoder's exact values.
// #include common/group
// #include common/decode

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
    let id = ids[row];
    if id < parameters.first_row || id - parameters.first_row >= parameters.matrix_rows {
        return;
    }
    let start = (id - parameters.first_row) * parameters.row_bytes;
    let count = parameters.size / 8u;
    for (var number = thread; number < count; number += WORKGROUP) {
        let values = row_eight(start, number);
        let place = (row * count + number) * 2u;
        y[place] = values.low;
        y[place + 1u] = values.high;
    }
}
