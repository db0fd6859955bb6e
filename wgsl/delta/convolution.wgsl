// Causal depthwise convolution: out[t][c] = silu(sum over j of taps[j][c] u[t - (TAPS - 1) + j][c]), u = qkv after
//   state.
// Shapes: qkv, out (.., channels), of which rows first_row .. first_row + rows; taps (TAPS, channels); state (TAPS -
//   1, channels).
// Grid: a thread a channel, walking the rows of one sequence. Before delta/prepare.
// Numerics: f32, fma in the order of the taps; a row has the same bits alone and among others.
// Channels are independent, so a walk needs no barrier and leaves the state where the next one begins.
// #include common/group
// #include common/activation

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let channels = parameters.channels;
    let channel = group_number(group, groups) * WORKGROUP + thread;
    if channel >= channels {
        return;
    }
    // The rows that the taps see, oldest first.
    var window: array<f32, TAPS>;
    var weights: array<f32, TAPS>;
    for (var j = 0u; j < TAPS; j += 1u) {
        weights[j] = taps[j * channels + channel];
        if j > 0u {
            window[j] = state[(j - 1u) * channels + channel];
        }
    }
    for (var row = parameters.first_row; row < parameters.first_row + parameters.rows; row += 1u) {
        for (var j = 1u; j < TAPS; j += 1u) {
            window[j - 1u] = window[j];
        }
        window[TAPS - 1u] = qkv[row * channels + channel];
        var sum = 0.0;
        for (var j = 0u; j < TAPS; j += 1u) {
            sum = fma(weights[j], window[j], sum);
        }
        out[row * channels + channel] = silu(sum);
    }
    for (var j = 1u; j < TAPS; j += 1u) {
        state[(j - 1u) * channels + channel] = window[j];
    }
}
