// Product with a few inputs: y[t][output_first + o] = sum over i of W[o][i] x[t][i].
// Shapes: weights (rows, columns) quantised; x (inputs, columns); y (inputs, output_stride).
// Grid: [rows / MATVEC_ROWS, inputs / INPUTS], rounded up. Every dense matrix in the decode class.
// Numerics: f32; a thread sums every LANES-th group of eight, then the lanes in order: the same for every INPUTS.
// #include common/group
// #include common/decode
// #include common/lanes
var<workgroup> parts: array<f32, INPUTS * WORKGROUP>;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let first_row = group_number(group, groups) * MATVEC_ROWS;
    let first_input = group.z * INPUTS;
    // Threads past the last row or input repeat the last one, and do not write.
    let start = min(first_row + thread / LANES, parameters.rows - 1u) * parameters.row_bytes;
    let count = parameters.columns / 8u;
    var sums: array<vec4f, INPUTS>;
    for (var number = thread % LANES; number < count; number += LANES) {
        let weights = row_eight(start, number);
        for (var t = 0u; t < INPUTS; t++) {
            let place = (min(first_input + t, parameters.inputs - 1u) * count + number) * 2u;
            sums[t] = fma(weights.low, x[place], sums[t]);
            sums[t] = fma(weights.high, x[place + 1u], sums[t]);
        }
    }
    for (var t = 0u; t < INPUTS; t++) {
        parts[t * WORKGROUP + thread] = lane_sum(sums[t]);
    }
    workgroupBarrier();
    if thread >= INPUTS * MATVEC_ROWS {
        return;
    }
    let row = first_row + thread % MATVEC_ROWS;
    let t = thread / MATVEC_ROWS;
    if row >= parameters.rows || first_input + t >= parameters.inputs {
        return;
    }
    var sum = 0.0;
    for (var lane = 0u; lane < LANES; lane++) {
        sum += parts[t * WORKGROUP + (thread % MATVEC_ROWS) * LANES + lane];
    }
    y[(first_input + t) * parameters.output_stride + parameters.output_first + row] = sum;
}
