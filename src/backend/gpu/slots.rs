//! Expert slots in GPU memory: slabs that one binding can hold, cut into slots.

use super::device::Device;
use super::launcher::{ALIGNMENT, Launcher, View};
use crate::backend::{ExpertMemory, Part, Slot, SlotClass, SlotTable};
use crate::error::{Error, Result};
use crate::gguf;
use crate::memory::Bytes;
use crate::model::Model;
use std::sync::atomic::{AtomicU64, Ordering};

/// Largest slab: buffers beyond this are refused by some drivers and gain nothing.
const LARGEST_SLAB: u64 = 1 << 30;

/// Slabs that a slot entry can name: it has eight bits for it, and all ones mean no slab.
const MOST_SLABS: usize = 255;

/// Bytes that may wait in the queue's staging memory before a fill waits for the device.
const STAGED_BYTES: u64 = 64 << 20;

/// One slot for every expert of the model, in GPU memory.
pub struct GpuSlots {
    device: Device,
    classes: Vec<SlotClass>,
    slabs: Vec<View>,
    /// Slab and byte offset of each slot.
    places: Vec<Place>,
    staged: AtomicU64,
}

#[derive(Clone, Copy)]
struct Place {
    slab: u32,
    offset: u64,
}

/// Where the parts of a layer's experts start in a slot, in bytes.
pub fn part_offsets(parts: [usize; 3]) -> [u64; 3] {
    let mut next = 0;
    parts.map(|bytes| {
        let offset = next;
        next += (bytes as u64).next_multiple_of(ALIGNMENT);
        offset
    })
}

/// Bytes of a slot.
pub fn slot_bytes(parts: [usize; 3]) -> u64 {
    parts.iter().map(|bytes| (*bytes as u64).next_multiple_of(ALIGNMENT)).sum()
}

impl GpuSlots {
    /// Slots for all experts of the trunk, and of the next-token block where it is asked for, a class a layer.
    ///
    /// # Errors
    /// The device has not the memory.
    pub fn new(launcher: &Launcher, model: &Model, next_token: bool, slab_bytes: u64) -> Result<GpuSlots> {
        let classes = SlotClass::of_layers(model, next_token);
        let limit = slab_bytes.min(LARGEST_SLAB);
        let mut sizes: Vec<u64> = Vec::new();
        let mut places = Vec::new();
        for class in &classes {
            let bytes = slot_bytes(class.parts);
            for _ in 0..class.slots {
                match sizes.last_mut() {
                    Some(size) if *size + bytes <= limit => *size += bytes,
                    _ => sizes.push(bytes),
                }
                let slab = sizes.len() - 1;
                places.push(Place { slab: slab as u32, offset: sizes[slab] - bytes });
            }
        }
        if sizes.len() > MOST_SLABS {
            return Err(Error::Backend(format!(
                "the adapter binds at most {}, so the experts would need {} buffers and {MOST_SLABS} can be told apart; \
                 use `--backend reference`",
                Bytes(limit),
                sizes.len(),
            )));
        }
        let slabs = sizes.iter().map(|size| launcher.buffer("expert slab", *size)).collect::<Result<_>>()?;
        Ok(GpuSlots { device: launcher.device().clone(), classes, slabs, places, staged: AtomicU64::new(0) })
    }

    /// The slabs.
    pub fn slabs(&self) -> &[View] {
        &self.slabs
    }

    /// The slot entries of a layer's experts, as kernels read them, and the slabs they lie in.
    pub fn entries(&self, table: &SlotTable, experts: u32) -> (Vec<u32>, Vec<u32>) {
        let entries: Vec<u32> = (0..experts)
            .map(|expert| {
                let place = self.places[table.slot(expert).0 as usize];
                place.slab << 24 | (place.offset / ALIGNMENT) as u32
            })
            .collect();
        let mut slabs: Vec<u32> = entries.iter().map(|entry| entry >> 24).collect();
        slabs.dedup();
        (entries, slabs)
    }
}

impl ExpertMemory for GpuSlots {
    fn classes(&self) -> &[SlotClass] {
        &self.classes
    }

    fn fill(
        &self,
        slot: Slot,
        part: Part,
        read: &mut dyn FnMut(&mut [u8]) -> std::result::Result<(), gguf::Error>,
    ) -> Result<()> {
        let parts = SlotClass::of_slot(&self.classes, slot).parts;
        let bytes = parts[part as usize];
        let mut staged = vec![0; bytes.next_multiple_of(4)];
        read(&mut staged[..bytes])?;
        let place = self.places[slot.0 as usize];
        let slab = &self.slabs[place.slab as usize];
        let offset = slab.offset + place.offset + part_offsets(parts)[part as usize];
        self.device.queue.write_buffer(&slab.buffer, offset, &staged);
        // Staging memory is freed when the device is done with it, so it must be given the chance.
        if self.staged.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64 > STAGED_BYTES {
            self.staged.store(0, Ordering::Relaxed);
            self.device.queue.submit([]);
            self.device.wait()?;
        }
        self.device.check()
    }
}
