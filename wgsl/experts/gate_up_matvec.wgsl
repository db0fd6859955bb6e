// First half of a chosen expert: y[p][o] = silu(gate[o] . x) (up[o] . x) with x of row p / used.
// Shapes: slab holds the experts' slots; slots (experts); ids (pairs); x (rows, columns); y (pairs, rows of a part).
// Grid: [rows / MATVEC_ROWS rounded up, pairs]. Once a slab in the decode class; pairs of other slabs are left alone.
// Numerics: as dense/matvec.
// #include common/group
// #include common/decode
// #include common/lanes
// #include common/activation
// #include common/slots
var<workgroup> parts: array<vec2f, WORKGROUP>;

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
    let gate_start = slot_start(entry) + parameters.gate_offset + matrix_row * parameters.gate_row_bytes;
    let up_start = slot_start(entry) + parameters.up_offset + matrix_row * parameters.up_row_bytes;
    let count = parameters.columns / 8u;
    let input = pair / parameters.used * count;
    var gate_sums = vec4f();
    var up_sums = vec4f();
    for (var number = thread % LANES; number < count; number += LANES) {
        let place = (input + number) * 2u;
        let low = x[place];
        let high = x[place + 1u];
        let gate = gate_row_eight(gate_start, number);
        let up = up_row_eight(up_start, number);
        gate_sums = fma(gate.high, high, fma(gate.low, low, gate_sums));
        up_sums = fma(up.high, high, fma(up.low, low, up_sums));
    }
    parts[thread] = vec2f(lane_sum(gate_sums), lane_sum(up_sums));
    workgroupBarrier();
    let row = first_row + thread;
    if thread >= MATVEC_ROWS || row >= parameters.rows {
        return;
    }
    var sums = vec2f();
    for (var lane = 0u; lane < LANES; lane++) {
        sums += parts[thread * LANES + lane];
    }
    y[pair * parameters.rows + row] = silu(sums.x) * sums.y;
}
