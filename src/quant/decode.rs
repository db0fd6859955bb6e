pub(super) fn f32(_bytes: &[u8], _values: &mut [f32]) {
    todo!()
}
pub(super) fn f16(_bytes: &[u8], _values: &mut [f32]) {
    todo!()
}
pub(super) fn bf16(_bytes: &[u8], _values: &mut [f32]) {
    todo!()
}
pub(super) fn q4_0(_bytes: &[u8], _values: &mut [f32]) {
    todo!()
}
pub(super) fn q4_1(_bytes: &[u8], _values: &mut [f32]) {
    todo!()
}
pub(super) fn q5_0(_bytes: &[u8], _values: &mut [f32]) {
    todo!()
}
pub(super) fn q5_1(_bytes: &[u8], _values: &mut [f32]) {
    todo!()
}
pub(super) fn q8_0(_bytes: &[u8], _values: &mut [f32]) {
    todo!()
}
pub(super) fn q2_k(_bytes: &[u8], _values: &mut [f32]) {
    todo!()
}
pub(super) fn q3_k(_bytes: &[u8], _values: &mut [f32]) {
    todo!()
}
pub(super) fn q4_k(_bytes: &[u8], _values: &mut [f32]) {
    todo!()
}
pub(super) fn q5_k(_bytes: &[u8], _values: &mut [f32]) {
    todo!()
}
pub(super) fn q6_k(_bytes: &[u8], _values: &mut [f32]) {
    todo!()
}
pub(super) fn iq1_s(_bytes: &[u8], _values: &mut [f32]) {
    todo!()
}
pub(super) fn iq1_m(_bytes: &[u8], _values: &mut [f32]) {
    todo!()
}
pub(super) fn iq2_xxs(_bytes: &[u8], _values: &mut [f32]) {
    todo!()
}
pub(super) fn iq2_xs(_bytes: &[u8], _values: &mut [f32]) {
    todo!()
}
pub(super) fn iq2_s(_bytes: &[u8], _values: &mut [f32]) {
    todo!()
}
pub(super) fn iq3_xxs(_bytes: &[u8], _values: &mut [f32]) {
    todo!()
}
pub(super) fn iq3_s(_bytes: &[u8], _values: &mut [f32]) {
    todo!()
}
pub(super) fn iq4_nl(_bytes: &[u8], _values: &mut [f32]) {
    todo!()
}
pub(super) fn iq4_xs(_bytes: &[u8], _values: &mut [f32]) {
    todo!()
}
pub(super) fn tq1_0(_bytes: &[u8], _values: &mut [f32]) {
    todo!()
}
pub(super) fn tq2_0(_bytes: &[u8], _values: &mut [f32]) {
    todo!()
}
pub(super) fn mxfp4(_bytes: &[u8], _values: &mut [f32]) {
    todo!()
}
