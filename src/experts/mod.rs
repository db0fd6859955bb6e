//! Which expert is in which slot. Policy only: bytes land through [`ExpertMemory`].

use crate::backend::{ExpertMemory, Part, Slot, SlotTable};
use crate::error::{Error, Result};
use crate::model::{ExpertMatrix, Layer, Model};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// Reads every expert of the model into a slot of its own.
///
/// The memory has a class for each layer, with a slot for each expert. `read` is told how many bytes have been read,
/// from any thread; where it returns false, loading ends with [`Error::Cancelled`].
///
/// # Errors
/// The file cannot be read.
pub fn load_resident(
    model: &Model,
    memory: &dyn ExpertMemory,
    read: &(dyn Fn(u64) -> bool + Sync),
) -> Result<Vec<SlotTable>> {
    let bytes = AtomicU64::new(0);
    memory
        .classes()
        .iter()
        .zip(model.all_layers())
        .map(|(class, layer)| {
            let slots: Vec<Slot> = (class.first..class.first + class.slots).map(Slot).collect();
            slots.par_iter().enumerate().try_for_each(|(expert, slot)| {
                fill(model, layer, expert, memory, *slot)?;
                let expert_bytes = layer.experts.expert_bytes() as u64;
                let so_far = bytes.fetch_add(expert_bytes, Ordering::Relaxed) + expert_bytes;
                if read(so_far) { Ok(()) } else { Err(Error::Cancelled) }
            })?;
            Ok(SlotTable::new(slots))
        })
        .collect()
}

/// Reads one expert into a slot.
fn fill(model: &Model, layer: &Layer, expert: usize, memory: &dyn ExpertMemory, slot: Slot) -> Result<()> {
    let matrix = |part| -> &ExpertMatrix {
        match part {
            Part::Gate => &layer.experts.gate,
            Part::Up => &layer.experts.up,
            Part::Down => &layer.experts.down,
        }
    };
    Part::ALL
        .iter()
        .try_for_each(|part| memory.fill(slot, *part, &mut |bytes| matrix(*part).read(&model.file, expert, bytes)))
}
