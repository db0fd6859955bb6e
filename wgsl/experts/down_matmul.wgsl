// Second half of the chosen experts: y[p][o] = down[o] . x[p].
// Shapes: slab holds the experts' slots; slots (experts); order (pairs, sorted by expert); tiles (tiles, 3): expert,
// first index into order, count of at most EXPERT_TILE; x (pairs, columns); y (pairs, rows of a part).
// Grid: [rows / MATMUL_ROWS rounded up, tiles]. Once a slab in the ingest class; pairs of other slabs are left alone.
// Numerics: as dense/matmul.
// #include common/group
// #include common/decode
// #include common/tile
// #matrix common/tile_rows
// #include common/slots
const TILE_INPUTS: u32 = EXPERT_TILE;
const TILE_GROUPS: u32 = 2u;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let first_pair = tiles[group.z * 3u + 1u];
    let pairs = tiles[group.z * 3u + 2u];
    let first_row = group_number(group, groups) * MATMUL_ROWS;
    if pairs == 0u || first_row >= parameters.rows {
        return;
    }
    let entry = slots[tiles[group.z * 3u]];
    if !slot_is_here(entry) {
        return;
    }
    let rows = min(MATMUL_ROWS, parameters.rows - first_row);
    let start = slot_start(entry) + parameters.down_offset + first_row * parameters.row_bytes;
    let count = parameters.columns / 8u;
    var sums = mat4x4f();
    for (var first = 0u; first < count; first += TILE_GROUPS) {
        let here = min(TILE_GROUPS, count - first);
        bring_rows(thread, start, parameters.row_bytes, rows, first, here);
        for (var item = thread; item < pairs * TILE_STEPS; item += WORKGROUP) {
            let input = item / TILE_STEPS;
            let step = item % TILE_STEPS;
            if step < here * 2u {
                let input_row = order[first_pair + input];
                tile_inputs[input * TILE_STRIDE + step] = x[(input_row * count + first) * 2u + step];
            }
        }
        workgroupBarrier();
        let steps = tile_steps(thread, pairs, here);
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
            if row < rows && input < pairs {
                let pair = order[first_pair + input];
                y[pair * parameters.rows + first_row + row] = outputs[j][i];
            }
        }
    }
}
