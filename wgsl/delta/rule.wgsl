// Gated delta rule (arXiv 2412.06464): S = decay S; delta[j] = beta (v[j] - S[j] . k); S[j] += delta[j] k; out[j] =
//   S[j] . q / sqrt(HEAD).
// Shapes: mixed (.., channels) as in delta/prepare, gates (.., value heads, 2), out (.., value heads, HEAD), of which
//   rows first_row .. first_row + rows; state (value heads, HEAD values, HEAD keys).
// Grid: value heads times ceil(HEAD / WORKGROUP); a thread a state row, walking the rows of one sequence. After
//   delta/prepare.
// Numerics: f32, fma; four sums along the key dimension; a row has the same bits alone and among others.
// State rows are independent: each stays in one thread's registers, all threads read the same query and key, and
//   nobody waits.
// #include common/group
const QUADS: u32 = HEAD / 4u;
const PARTS: u32 = (HEAD + WORKGROUP - 1u) / WORKGROUP;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let number = group_number(group, groups);
    let head = number / PARTS;
    let j = (number % PARTS) * WORKGROUP + thread;
    if head >= parameters.value_heads || j >= HEAD {
        return;
    }
    let start = (head * HEAD + j) * QUADS;
    var s: array<vec4f, QUADS>;
    for (var i = 0u; i < QUADS; i += 1u) {
        s[i] = state[start + i];
    }
    let key_heads = parameters.key_heads;
    let key_head = head / (parameters.value_heads / key_heads);
    let scale = 1.0 / sqrt(f32(HEAD));
    for (var row = parameters.first_row; row < parameters.first_row + parameters.rows; row += 1u) {
        let base = row * (parameters.channels / 4u);
        let query = base + key_head * QUADS;
        let key = base + (key_heads + key_head) * QUADS;
        let value = mixed[base + (2u * key_heads + head) * QUADS + j / 4u][j % 4u];
        let gate = row * parameters.value_heads + head;
        let decay = gates[2u * gate];
        let beta = gates[2u * gate + 1u];
        var recalled = vec4f();
        for (var i = 0u; i < QUADS; i += 1u) {
            s[i] *= decay;
            recalled = fma(s[i], mixed[key + i], recalled);
        }
        let delta = vec4f((value - ((recalled.x + recalled.y) + (recalled.z + recalled.w))) * beta);
        var sum = vec4f();
        for (var i = 0u; i < QUADS; i += 1u) {
            s[i] = fma(delta, mixed[key + i], s[i]);
            sum = fma(s[i], mixed[query + i], sum);
        }
        out[gate * HEAD + j] = ((sum.x + sum.y) + (sum.z + sum.w)) * scale;
    }
    for (var i = 0u; i < QUADS; i += 1u) {
        state[start + i] = s[i];
    }
}
