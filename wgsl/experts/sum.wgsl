// End of a layer: x[r] += (sum over k of weights[r][k] outputs[r][k]) + shared_output[r] sigmoid(shared_gate[r]).
// Shapes: outputs (rows, used, hidden); weights (rows, used); shared_output, x (rows, hidden); shared_gate (rows).
// Grid: a workgroup every WORKGROUP values of x. After the experts' down products.
// Numerics: f32, fma in the order of the choice, k = 0, 1, ..; no order depends on where an expert was computed.
// A thread a value: neighbouring threads read neighbouring values of every output.
// #include common/group
// #include common/activation

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let i = group_number(group, groups) * WORKGROUP + thread;
    let hidden = parameters.hidden;
    if i >= parameters.rows * hidden {
        return;
    }
    let row = i / hidden;
    var sum = 0.0;
    for (var k = 0u; k < parameters.used; k += 1u) {
        let pair = row * parameters.used + k;
        sum = fma(weights[pair], outputs[pair * hidden + i % hidden], sum);
    }
    x[i] += fma(shared_output[i], sigmoid(shared_gate[row]), sum);
}
