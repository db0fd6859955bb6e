// Second half of a chosen expert: y[p][o] = down[o] . x[p].
// Shapes: slab holds the experts' slots; slots (experts); ids (pairs); x (pairs, columns); y (pairs, rows of a part).
// Grid: [rows / MATVEC_ROWS rounded up, pairs]. Once a slab in the decode class; pairs of other slabs are left alone.
// Numerics: as dense/matvec.
// #include common/group
// #include common/decode
// #include common/lanes
// #include common/slots
var<workgroup> parts: array<f32, WORKGROUP>;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let pair = group.z;
    let entry = slots[ids[pair]];
    if !slot_is_here(entry) {
        return;
    }
    let first_row = group_number(group, groups) * MATVEC_ROWS;
    // Threads past the last row repeat it, and do not write.
    let matrix_row = min(first_row + thread / LANES, parameters.rows - 1u);
    let start = slot_start(entry) + parameters.down_offset + matrix_row * parameters.row_bytes;
    let count = parameters.columns / 8u;
    var lane_sums = vec4f();
    for (var number = thread % LANES; number < count; number += LANES) {
        let place = (pair * count + number) * 2u;
        let weights = row_eight(start, number);
        lane_sums = fma(weights.high, x[place + 1u], fma(weights.low, x[place], lane_sums));
    }
    parts[thread] = lane_sum(lane_sums);
    workgroupBarrier();
    let row = first_row + thread;
    if thread >= MATVEC_ROWS || row >= parameters.rows {
        return;
    }
    var sum = 0.0;
    for (var lane = 0u; lane < LANES; lane++) {
        sum += parts[thread * LANES + lane];
    }
    y[pair * parameters.rows + row] = sum;
}
