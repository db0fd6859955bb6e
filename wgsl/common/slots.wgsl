// Slots of the expert pool. An entry is slab number << 24 | byte offset / 256.
const NO_SLAB: u32 = 0xffu;

// Whether the expert of this entry lies in the slab that is bound.
fn slot_is_here(entry: u32) -> bool {
    return entry >> 24u == parameters.slab_number && entry >> 24u != NO_SLAB;
}

// The first byte of the slot.
fn slot_start(entry: u32) -> u32 {
    return (entry & 0xffffffu) * 256u;
}
