//! How the launcher hands work to the device.

use crate::support::launcher;
use redlite::backend::gpu::kernels::NORM;
use redlite::backend::gpu::launcher::SUBMISSION_WORK;

#[test]
fn much_work_goes_out_in_submissions_that_no_system_ends_for_their_length() {
    let Some(mut launcher) = launcher() else { return };
    let values = [1f32; 64];
    let views = [&values[..], &values, &values].map(|v| launcher.upload("values", bytemuck::cast_slice(v)).unwrap());
    let [x, weight, y] = &views;
    for _ in 0..10 {
        let parameters = [1, 64, 1e-6f32.to_bits()];
        let work = SUBMISSION_WORK / 3;
        launcher.launch(&NORM.variant(&[], &[]), &[x, weight, y], &parameters, [1, 1], work).unwrap();
    }
    launcher.finish().unwrap();
    assert!(launcher.largest_submission() <= SUBMISSION_WORK);
    assert!(launcher.largest_submission() >= SUBMISSION_WORK / 3 * 3 - 3, "work is put together as far as it may be");
}
