// Attention of 32 rows of one head over a range of keys, by an online softmax (arXiv 1805.02867) over blocks of 32
//   keys; at the end o / l sigmoid(gate).
// Shapes: query_gate (.., 2 heads HEAD), positions (..), state (.., heads, HEAD + 2): m, l, o, out (.., heads, HEAD),
//   of which rows first_row .. first_row + rows; slabs (positions from slab_first on, kv heads, HEAD).
// Grid: [ceil(rows / 32), heads]. Ingest class: flags 1 starts with nothing, 2 finishes; between dispatches m, l, o
//   wait in state.
// Numerics: f32; blocks are fixed by absolute position, so that any split of the keys at multiples of 256 gives the
//   same bits.
// A tile of scores is a small matrix product through workgroup memory, two rows by two keys a thread; then a thread
//   adds four dimensions of the values to a few rows, read once for all of them. Both take at least four
//   multiplications a load.
// #include common/group
// #include common/kv
// #include common/activation
const ROWS: u32 = 32u;
const KEYS: u32 = 32u;
const QUADS: u32 = HEAD / 4u;
// Quads of the dimension that are staged at a time, and the length of a staged line: one more, for the banks.
const STAGE: u32 = 8u;
const STAGED: u32 = STAGE + 1u;
const LINE: u32 = ROWS + 1u;
// Threads that share a row in the softmax, each with four keys.
const LANES: u32 = 8u;
// Groups of threads in the product with the values, and the rows of each.
const GROUPS: u32 = WORKGROUP / QUADS;
const GROUP_ROWS: u32 = (ROWS + GROUPS - 1u) / GROUPS;
var<workgroup> query_tile: array<vec4f, ROWS * STAGED>;
var<workgroup> key_tile: array<vec4f, KEYS * STAGED>;
var<workgroup> weights: array<f32, KEYS * LINE>;
var<workgroup> maxima: array<f32, WORKGROUP>;
var<workgroup> totals: array<f32, WORKGROUP>;
var<workgroup> factors: array<f32, ROWS>;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let first = group_number(group, groups) * ROWS;
    if first >= parameters.rows {
        return;
    }
    let count = min(ROWS, parameters.rows - first);
    let first_row = parameters.first_row + first;
    let heads = parameters.heads;
    let head = group.z;
    let kv_head = head / (heads / parameters.kv_heads);
    let stride = parameters.kv_heads * QUADS;
    var end = 0u;
    for (var i = 0u; i < count; i += 1u) {
        end = max(end, positions[first_row + i] + 1u);
    }
    end = min(end, parameters.last_position);

    // In the softmax: row `line` of the tile, keys 4 lane .. 4 lane + 4 of a block.
    let line = thread / LANES;
    let lane = thread % LANES;
    var line_end = 0u;
    if line < count {
        line_end = positions[first_row + line] + 1u;
    }
    // In the product with the values: rows group_row .. group_row + GROUP_ROWS, one quad.
    let quad = thread % QUADS;
    let group_row = thread / QUADS * GROUP_ROWS;
    var largest = LOWEST;
    var total = 0.0;
    var sums: array<vec4f, GROUP_ROWS>;
    for (var i = 0u; i < GROUP_ROWS; i += 1u) {
        sums[i] = vec4f();
    }
    if (parameters.flags & 1u) == 0u {
        if line < count {
            let at = ((first_row + line) * heads + head) * (HEAD + 2u);
            largest = state[at];
            total = state[at + 1u];
        }
        for (var i = 0u; i < GROUP_ROWS; i += 1u) {
            if group_row + i < count {
                let at = ((first_row + group_row + i) * heads + head) * (HEAD + 2u) + 2u + 4u * quad;
                sums[i] = vec4f(state[at], state[at + 1u], state[at + 2u], state[at + 3u]);
            }
        }
    }

    let scale = 1.0 / sqrt(f32(HEAD));
    let score_row = thread / 16u;
    let score_key = thread % 16u;
    for (var start = parameters.first_position; start < end; start += KEYS) {
        let slab = (start - parameters.slab_first) * stride + kv_head * QUADS;
        var near_near = vec4f();
        var near_far = vec4f();
        var far_near = vec4f();
        var far_far = vec4f();
        for (var stage = 0u; stage < QUADS; stage += STAGE) {
            let i = stage + lane;
            var query = vec4f();
            var key = vec4f();
            if i < QUADS && line < count {
                query = query_gate[(2u * (first_row + line) * heads + head) * QUADS + i];
            }
            if i < QUADS && start + line < end {
                key = key_quad(slab + line * stride + i);
            }
            query_tile[line * STAGED + lane] = query;
            key_tile[line * STAGED + lane] = key;
            workgroupBarrier();
            for (var k = 0u; k < STAGE; k += 1u) {
                let query_near = query_tile[score_row * STAGED + k];
                let query_far = query_tile[(score_row + 16u) * STAGED + k];
                let key_near = key_tile[score_key * STAGED + k];
                let key_far = key_tile[(score_key + 16u) * STAGED + k];
                near_near = fma(query_near, key_near, near_near);
                near_far = fma(query_near, key_far, near_far);
                far_near = fma(query_far, key_near, far_near);
                far_far = fma(query_far, key_far, far_far);
            }
            workgroupBarrier();
        }
        weights[score_key * LINE + score_row] = sum_of(near_near) * scale;
        weights[(score_key + 16u) * LINE + score_row] = sum_of(near_far) * scale;
        weights[score_key * LINE + score_row + 16u] = sum_of(far_near) * scale;
        weights[(score_key + 16u) * LINE + score_row + 16u] = sum_of(far_far) * scale;
        workgroupBarrier();

        // How many of the thread's four keys its row sees.
        let seen = clamp(i32(line_end) - i32(start + 4u * lane), 0, 4);
        var block_largest = LOWEST;
        for (var i = 0; i < seen; i += 1) {
            block_largest = max(block_largest, weights[(4u * lane + u32(i)) * LINE + line]);
        }
        maxima[thread] = block_largest;
        workgroupBarrier();
        let before = largest;
        for (var i = 0u; i < LANES; i += 1u) {
            largest = max(largest, maxima[line * LANES + i]);
        }
        var lane_total = 0.0;
        for (var i = 0; i < 4; i += 1) {
            let at = (4u * lane + u32(i)) * LINE + line;
            var weight = 0.0;
            if i < seen {
                weight = exp(weights[at] - largest);
            }
            weights[at] = weight;
            lane_total += weight;
        }
        totals[thread] = lane_total;
        // Bounded, so that a row without a key before subtracts nothing from the lowest number.
        let factor = exp(max(before - largest, -1000.0));
        if lane == 0u {
            factors[line] = factor;
        }
        workgroupBarrier();
        var block_total = 0.0;
        for (var i = 0u; i < LANES; i += 1u) {
            block_total += totals[line * LANES + i];
        }
        total = fma(total, factor, block_total);
        if group_row < ROWS {
            // Rows past the tile repeat its last one and are never written.
            for (var i = 0u; i < GROUP_ROWS; i += 1u) {
                sums[i] *= factors[min(group_row + i, ROWS - 1u)];
            }
            for (var key = 0u; key < min(KEYS, end - start); key += 1u) {
                let value = value_quad(slab + key * stride + quad);
                for (var i = 0u; i < GROUP_ROWS; i += 1u) {
                    let weight = weights[key * LINE + min(group_row + i, ROWS - 1u)];
                    sums[i] = fma(vec4f(weight), value, sums[i]);
                }
            }
        }
    }

    let finish = (parameters.flags & 2u) != 0u;
    workgroupBarrier();
    if lane == 0u {
        factors[line] = total;
        if line < count && !finish {
            let at = ((first_row + line) * heads + head) * (HEAD + 2u);
            state[at] = largest;
            state[at + 1u] = total;
        }
    }
    workgroupBarrier();
    for (var i = 0u; i < GROUP_ROWS; i += 1u) {
        let row = group_row + i;
        if row < count {
            let number = (first_row + row) * heads + head;
            let gate = query_gate[(2u * (first_row + row) * heads + heads + head) * QUADS + quad];
            for (var k = 0u; k < 4u; k += 1u) {
                if finish {
                    out[number * HEAD + 4u * quad + k] = sums[i][k] / factors[row] * sigmoid(gate[k]);
                } else {
                    state[number * (HEAD + 2u) + 2u + 4u * quad + k] = sums[i][k];
                }
            }
        }
    }
}
