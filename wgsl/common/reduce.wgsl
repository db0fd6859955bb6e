// Sums over a workgroup, in a tree of fixed order: halves onto halves.
var<workgroup> reduce_parts: array<f32, WORKGROUP>;

// The sum of all threads' values, given to every thread. WORKGROUP is a power of two.
fn workgroup_sum(thread: u32, value: f32) -> f32 {
    reduce_parts[thread] = value;
    for (var width = WORKGROUP / 2u; width > 0u; width /= 2u) {
        workgroupBarrier();
        if thread < width {
            reduce_parts[thread] += reduce_parts[thread + width];
        }
    }
    workgroupBarrier();
    let total = reduce_parts[0];
    workgroupBarrier();
    return total;
}
