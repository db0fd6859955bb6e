//! Which expert is in which slot. Policy only: bytes land through [`ExpertMemory`].

use crate::backend::{ExpertMemory, Part, Slot, SlotTable};
use crate::error::{Error, Result};
use crate::model::{ExpertMatrix, Layer, Model};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

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
    let mut tables = Vec::new();
    for (class, layer) in memory.classes().iter().zip(model.all_layers()) {
        let slots: Vec<Slot> = (class.first..class.first + class.slots).map(Slot).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            // The experts of a layer are dealt one by one, so that no reader waits for a slow one's share.
            while let Some((expert, slot)) = next_of(&slots, &next) {
                fill(model, layer, expert, memory, slot)?;
                let expert_bytes = layer.experts.expert_bytes() as u64;
                let so_far = bytes.fetch_add(expert_bytes, Ordering::Relaxed) + expert_bytes;
                if !read(so_far) {
                    return Err(Error::Cancelled);
                }
            }
            Ok(())
        };
        thread::scope(|scope| {
            let readers: Vec<_> = (0..READERS).map(|_| scope.spawn(work)).collect();
            let ended = readers.into_iter().map(|reader| reader.join().expect("a reader does not panic"));
            ended.fold(Ok(()), Result::and)
        })?;
        tables.push(SlotTable::new(slots));
    }
    Ok(tables)
}

/// Threads that read at the same time: enough to keep a disk busy.
const READERS: usize = 4;

fn next_of(slots: &[Slot], next: &AtomicUsize) -> Option<(usize, Slot)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    Some((index, *slots.get(index)?))
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
