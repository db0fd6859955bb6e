// Rows of a quantised matrix. `$` is the prefix of one matrix.
const $BLOCK_GROUPS: u32 = $BLOCK_VALUES / 8u;

// Values 8 number .. 8 number + 7 of the row whose first byte is at `row`.
fn $row_eight(row: u32, number: u32) -> Eight {
    return $decode(row + number / $BLOCK_GROUPS * $BLOCK_BYTES, number % $BLOCK_GROUPS);
}
