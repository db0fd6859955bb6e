// SwiGLU: gate[i] = silu(gate[i]) up[i], silu(x) = x / (1 + e^-x).
// Shapes: gate, up (count), of any number of rows.
// Grid: a workgroup every 4 WORKGROUP values. Between the gate and up products and the down product.
// Numerics: f32, of single values; nothing overflows.
// A thread's values are WORKGROUP apart, so that neighbouring threads read neighbouring values.
// #include common/group
// #include common/activation

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let start = group_number(group, groups) * 4u * WORKGROUP + thread;
    for (var k = 0u; k < 4u; k += 1u) {
        let i = start + k * WORKGROUP;
        if i < parameters.count {
            gate[i] = silu(gate[i]) * up[i];
        }
    }
}
