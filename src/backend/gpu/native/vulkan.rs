//! Vulkan.

use ash::vk;

/// Bytes of device-local memory that can be had: what the driver says this process may take, or where it does not
/// say, the size of the largest device-local heap.
pub fn device_memory(adapter: &wgpu::Adapter) -> Option<u64> {
    // SAFETY: the handles are only asked for facts, while the adapter is alive.
    let adapter = unsafe { adapter.as_hal::<wgpu::hal::api::Vulkan>() }?;
    let instance = adapter.shared_instance().raw_instance();
    let told = adapter.physical_device_capabilities().supports_extension(ash::ext::memory_budget::NAME);
    let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
    let mut memory = vk::PhysicalDeviceMemoryProperties2::default();
    if told {
        memory = memory.push_next(&mut budget);
    }
    // SAFETY: the physical device belongs to this instance, and the structures are chained as the call asks.
    unsafe { instance.get_physical_device_memory_properties2(adapter.raw_physical_device(), &mut memory) };
    let properties = memory.memory_properties;
    let local = |heap: &&vk::MemoryHeap| heap.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL);
    let heaps = &properties.memory_heaps[..properties.memory_heap_count as usize];
    let (index, heap) = heaps.iter().enumerate().filter(|(_, heap)| local(heap)).max_by_key(|(_, heap)| heap.size)?;
    let left = budget.heap_budget[index].saturating_sub(budget.heap_usage[index]);
    Some(if told && left > 0 { left.min(heap.size) } else { heap.size })
}
