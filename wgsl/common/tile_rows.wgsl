var<workgroup> $tile_rows: array<vec4f, MATMUL_ROWS * TILE_STRIDE>;

// Decodes groups first .. first + groups of `rows` rows into the tile, each once. `start` is the first row's byte.
fn $bring_rows(thread: u32, start: u32, row_bytes: u32, rows: u32, first: u32, groups: u32) {
    for (var item = thread; item < rows * TILE_GROUPS; item += WORKGROUP) {
        let row = item / TILE_GROUPS;
        let number = item % TILE_GROUPS;
        if number < groups {
            let values = $row_eight(start + row * row_bytes, first + number);
            let place = row * TILE_STRIDE + number * 2u;
            $tile_rows[place] = values.low;
            $tile_rows[place + 1u] = values.high;
        }
    }
}

// The thread's four rows at a step.
fn $rows_at(thread: u32, step: u32) -> mat4x4f {
    let place = thread % 16u * TILE_STRIDE + step;
    return mat4x4f(
        $tile_rows[place],
        $tile_rows[place + 16u * TILE_STRIDE],
        $tile_rows[place + 32u * TILE_STRIDE],
        $tile_rows[place + 48u * TILE_STRIDE],
    );
}
