//! Types whose block is one value.

#[inline(always)]
pub(super) fn f32(block: &[u8; 4], value: &mut f32) {
    *value = f32::from_le_bytes(*block);
}

#[inline(always)]
pub(super) fn f16(block: &[u8; 2], value: &mut f32) {
    *value = super::f32_from_f16(*block);
}

#[inline(always)]
pub(super) fn bf16(block: &[u8; 2], value: &mut f32) {
    *value = f32::from_bits(u32::from(u16::from_le_bytes(*block)) << 16);
}
