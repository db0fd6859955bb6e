// Product with many inputs: y[t][output_first + o] = sum over i of W[o][i] x[t][i].
// Shapes: weights (rows, columns) quantised; x (inputs, columns); y (inputs, output_stride).
// Grid: [rows / MATMUL_ROWS, inputs / MATMUL_INPUTS], rounded up. Every dense matrix in the ingest class.
// Numerics: f32, each output one chain of fma in the order of the columns. Weights are decoded once a workgroup.
// #include common/group
// #include common/decode
// #include common/tile
// #matrix common/tile_rows
const TILE_INPUTS: u32 = MATMUL_INPUTS;
const TILE_GROUPS: u32 = 4u;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let first_row = group_number(group, groups) * MATMUL_ROWS;
    let first_input = group.z * MATMUL_INPUTS;
    if first_row >= parameters.rows {
        return;
    }
    let rows = min(MATMUL_ROWS, parameters.rows - first_row);
    let inputs = min(MATMUL_INPUTS, parameters.inputs - first_input);
    let start = first_row * parameters.row_bytes;
    let count = parameters.columns / 8u;
    var sums = mat4x4f();
    for (var first = 0u; first < count; first += TILE_GROUPS) {
        let here = min(TILE_GROUPS, count - first);
        bring_rows(thread, start, parameters.row_bytes, rows, first, here);
        for (var item = thread; item < inputs * TILE_STEPS; item += WORKGROUP) {
            let input = item / TILE_STEPS;
            let step = item % TILE_STEPS;
            if step < here * 2u {
                tile_inputs[input * TILE_STRIDE + step] = x[((first_input + input) * count + first) * 2u + step];
            }
        }
        workgroupBarrier();
        let steps = tile_steps(thread, inputs, here);
        for (var step = 0u; step < steps; step++) {
            sums = add_products(sums, rows_at(thread, step), inputs_at(thread, step));
        }
        workgroupBarrier();
    }
    // A copy, so that indexing it does not keep the sums above in memory.
    var outputs = sums;
    for (var j = 0u; j < 4u; j++) {
        let row = thread % 16u + j * 16u;
        for (var i = 0u; i < 4u; i++) {
            let input = thread / 16u * 4u + i;
            if row < rows && input < inputs {
                let place = (first_input + input) * parameters.output_stride + parameters.output_first;
                y[place + first_row + row] = outputs[j][i];
            }
        }
    }
}
