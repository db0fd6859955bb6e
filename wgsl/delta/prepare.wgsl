// Unit queries and keys, x / sqrt(sum of x^2 + epsilon) a head, and gates: decay = e^(ssm_a softplus(alpha + bias)),
//   beta = sigmoid(b).
// Shapes: mixed (rows, channels) = query heads, key heads, value heads of HEAD; beta_alpha (rows, 2 value heads);
//   gates (rows, value heads, 2).
// Grid: a workgroup a row. Between delta/convolution and delta/rule.
// Numerics: f32; a head's squares in 8 sums, added in order. decay is in [0, 1] for every input, since ssm_a <= 0.
// Eight threads share a head, so that one barrier serves WORKGROUP / 8 heads at a time.
// #include common/group
// #include common/activation
const LANES: u32 = 8u;
const HEADS: u32 = WORKGROUP / LANES;
var<workgroup> parts: array<f32, WORKGROUP>;

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
    let value_heads = parameters.value_heads;
    for (var v = thread; v < value_heads; v += WORKGROUP) {
        let beta = beta_alpha[2u * row * value_heads + v];
        let alpha = beta_alpha[(2u * row + 1u) * value_heads + v];
        gates[2u * (row * value_heads + v)] = exp(decay[v] * softplus(alpha + alpha_bias[v]));
        gates[2u * (row * value_heads + v) + 1u] = sigmoid(beta);
    }
    let lane = thread % LANES;
    for (var first = 0u; first < 2u * parameters.key_heads; first += HEADS) {
        let head = first + thread / LANES;
        let start = row * parameters.channels + head * HEAD;
        var squares = 0.0;
        if head < 2u * parameters.key_heads {
            for (var i = lane; i < HEAD; i += LANES) {
                squares += mixed[start + i] * mixed[start + i];
            }
        }
        parts[thread] = squares;
        workgroupBarrier();
        var total = 0.0;
        for (var i = 0u; i < LANES; i += 1u) {
            total += parts[thread - lane + i];
        }
        let scale = 1.0 / sqrt(total + parameters.epsilon);
        if head < 2u * parameters.key_heads {
            for (var i = lane; i < HEAD; i += LANES) {
                mixed[start + i] *= scale;
            }
        }
        workgroupBarrier();
    }
}
