//! What wgpu does not tell, asked of the interface below it. All `unsafe` of that kind stands in this folder.

#[cfg(target_os = "macos")]
mod metal;
#[cfg(not(target_vendor = "apple"))]
mod vulkan;

#[cfg(not(target_vendor = "apple"))]
pub use vulkan::device_memory;

/// Bytes of device memory that can be had: the recommended working set.
#[cfg(target_os = "macos")]
pub fn device_memory(adapter: &wgpu::Adapter) -> Option<u64> {
    metal::recommended_working_set(adapter)
}
