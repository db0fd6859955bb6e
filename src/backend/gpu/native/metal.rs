//! Metal, on Apple hardware. Type-checked only: never run on a Mac.

use objc2_metal::MTLDevice;

/// Bytes that Metal recommends a process to keep on the device at most.
pub fn recommended_working_set(adapter: &wgpu::Adapter) -> Option<u64> {
    // SAFETY: the device is only asked for a number, while the adapter is alive.
    let adapter = unsafe { adapter.as_hal::<wgpu::hal::api::Metal>() }?;
    Some(adapter.raw_device().recommendedMaxWorkingSetSize())
}
