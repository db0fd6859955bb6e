// Attention of one row and head over one block of 256 keys: s = q . k / sqrt(HEAD), m = max s, l = sum e^(s - m), o =
//   sum e^(s - m) v.
// Shapes: query_gate (.., 2 heads HEAD), positions (..), of which rows first_row .. first_row + rows; slabs (positions
//   from slab_first on, kv heads, HEAD); partials (rows, heads, total blocks, HEAD + 2): m, l, o.
// Grid: a workgroup a row and head, by KV blocks from first_block on. Decode class; then attention/merge.
// Numerics: f32; blocks and every order inside them are fixed by absolute position, so a row's bits depend on no
//   other row.
// Eight threads share a key so that reads are contiguous; then a thread takes four dimensions of a slice of the values.
// #include common/group
// #include common/kv
const QUADS: u32 = HEAD / 4u;
const LANES: u32 = 8u;
const SLICES: u32 = WORKGROUP / QUADS;
// One more than a block, so that lanes of a key lie in different banks.
const LINE: u32 = KV_BLOCK + 1u;
const PARTS: u32 = 16u;
var<workgroup> parts: array<f32, LANES * LINE>;
var<workgroup> weights: array<f32, KV_BLOCK>;
var<workgroup> maxima: array<f32, PARTS>;
var<workgroup> totals: array<f32, WORKGROUP>;

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
    let head = number % parameters.heads;
    let kv_head = head / (parameters.heads / parameters.kv_heads);
    let block = parameters.first_block + group.z;
    let first = block * KV_BLOCK;
    let target_start = (number * parameters.total_blocks + block) * (HEAD + 2u);
    let position = positions[row];
    if first > position {
        for (var i = thread; i < HEAD + 2u; i += WORKGROUP) {
            partials[target_start + i] = select(0.0, LOWEST, i == 0u);
        }
        return;
    }
    let count = min(KV_BLOCK, position - first + 1u);
    let query = (2u * row * parameters.heads + head) * QUADS;
    // A key's quads begin at slab + its number in the block times stride.
    let stride = parameters.kv_heads * QUADS;
    let slab = (first - parameters.slab_first) * stride + kv_head * QUADS;

    let lane = thread % LANES;
    for (var key = thread / LANES; key < count; key += WORKGROUP / LANES) {
        var sum = vec4f();
        for (var i = lane; i < QUADS; i += LANES) {
            sum = fma(query_gate[query + i], key_quad(slab + key * stride + i), sum);
        }
        parts[lane * LINE + key] = sum_of(sum);
    }
    workgroupBarrier();
    var score = LOWEST;
    if thread < count {
        var sum = 0.0;
        for (var i = 0u; i < LANES; i += 1u) {
            sum += parts[i * LINE + thread];
        }
        score = sum * (1.0 / sqrt(f32(HEAD)));
    }
    weights[thread] = score;
    workgroupBarrier();
    if thread < PARTS {
        var largest = LOWEST;
        for (var i = thread; i < KV_BLOCK; i += PARTS) {
            largest = max(largest, weights[i]);
        }
        maxima[thread] = largest;
    }
    workgroupBarrier();
    var largest = LOWEST;
    for (var i = 0u; i < PARTS; i += 1u) {
        largest = max(largest, maxima[i]);
    }
    if thread < count {
        weights[thread] = exp(score - largest);
    }
    workgroupBarrier();
    let slice = thread / QUADS;
    let quad = thread % QUADS;
    if slice < SLICES {
        var total = 0.0;
        var sum = vec4f();
        for (var key = slice; key < count; key += SLICES) {
            total += weights[key];
            sum = fma(vec4f(weights[key]), value_quad(slab + key * stride + quad), sum);
        }
        for (var i = 0u; i < 4u; i += 1u) {
            parts[slice * HEAD + 4u * quad + i] = sum[i];
        }
        if quad == 0u {
            totals[slice] = total;
        }
    }
    workgroupBarrier();
    for (var i = thread; i < HEAD; i += WORKGROUP) {
        var sum = 0.0;
        for (var k = 0u; k < SLICES; k += 1u) {
            sum += parts[k * HEAD + i];
        }
        partials[target_start + 2u + i] = sum;
    }
    if thread == 0u {
        var total = 0.0;
        for (var k = 0u; k < SLICES; k += 1u) {
            total += totals[k];
        }
        partials[target_start] = largest;
        partials[target_start + 1u] = total;
    }
}
