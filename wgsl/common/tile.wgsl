// Products of MATMUL_ROWS rows of a matrix with TILE_INPUTS inputs, TILE_GROUPS groups of eight columns at a time.
// Rows and inputs are brought into workgroup memory; thread t then holds rows t % 16 + 0, 16, 32, 48 by inputs
// 4 (t / 16) + 0 .. 3. What lies past the last row or input is neither brought nor written.
const TILE_STEPS: u32 = TILE_GROUPS * 2u;
// Odd, so that the rows that neighbouring threads read lie in different banks.
const TILE_STRIDE: u32 = TILE_STEPS + 1u;

var<workgroup> tile_inputs: array<vec4f, TILE_INPUTS * TILE_STRIDE>;

// The steps of four columns that a thread goes: none where it has no inputs.
fn tile_steps(thread: u32, inputs: u32, groups: u32) -> u32 {
    return select(0u, groups * 2u, thread / 16u * 4u < inputs);
}

// The thread's four inputs at a step.
fn inputs_at(thread: u32, step: u32) -> mat4x4f {
    let place = thread / 16u * 4u * TILE_STRIDE + step;
    return mat4x4f(
        tile_inputs[place],
        tile_inputs[place + TILE_STRIDE],
        tile_inputs[place + 2u * TILE_STRIDE],
        tile_inputs[place + 3u * TILE_STRIDE],
    );
}

// Adds the products of four columns of four rows with four inputs, in the order of the columns. In `sums`, a vector
// holds the inputs of one row.
fn add_products(sums: mat4x4f, rows: mat4x4f, inputs: mat4x4f) -> mat4x4f {
    let columns = transpose(inputs);
    return mat4x4f(
        add_row(sums[0], rows[0], columns),
        add_row(sums[1], rows[1], columns),
        add_row(sums[2], rows[2], columns),
        add_row(sums[3], rows[3], columns),
    );
}

fn add_row(sums: vec4f, row: vec4f, columns: mat4x4f) -> vec4f {
    let one = fma(vec4f(row.x), columns[0], sums);
    let two = fma(vec4f(row.y), columns[1], one);
    let three = fma(vec4f(row.z), columns[2], two);
    return fma(vec4f(row.w), columns[3], three);
}
