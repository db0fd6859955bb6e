// Rows of a matrix that LANES threads share: each takes every LANES-th group of eight values.
const LANES: u32 = WORKGROUP / MATVEC_ROWS;

// A thread's four partial sums, added.
fn lane_sum(sums: vec4f) -> f32 {
    return (sums.x + sums.y) + (sums.z + sums.w);
}
