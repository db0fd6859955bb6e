//! Expert slots in host memory.

use super::operations::experts::ExpertGuard;
use super::operations::matmul::MatrixView;
use crate::backend::{ExpertMemory, Part, Slot, SlotClass};
use crate::error::Result;
use crate::gguf;
use crate::model::Model;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

/// One slot for every expert of the model.
pub struct HostSlots {
    classes: Vec<SlotClass>,
    slots: Vec<RwLock<Vec<u8>>>,
}

impl HostSlots {
    /// Slots for all experts of the trunk, and of the next-token block where it is asked for, a class a layer.
    pub fn new(model: &Model, next_token: bool) -> HostSlots {
        let experts = model.config.experts.count as u32;
        let layers = model.config.layers + usize::from(next_token && model.next_token.is_some());
        let classes: Vec<SlotClass> = model
            .all_layers()
            .take(layers)
            .enumerate()
            .map(|(index, layer)| SlotClass {
                parts: [&layer.experts.gate, &layer.experts.up, &layer.experts.down].map(|m| m.expert_bytes()),
                first: index as u32 * experts,
                slots: experts,
            })
            .collect();
        let slots = classes
            .iter()
            .flat_map(|class| (0..class.slots).map(|_| RwLock::new(vec![0; class.parts.iter().sum()])))
            .collect();
        HostSlots { classes, slots }
    }

    /// Lends an expert of `layer` from its slot.
    pub fn expert<'a>(&'a self, slot: Slot, layer: &'a crate::model::Layer) -> HostExpert<'a> {
        let bytes = self.slots[slot.0 as usize].read().unwrap_or_else(PoisonError::into_inner);
        HostExpert { bytes, layer }
    }

    fn class(&self, slot: Slot) -> &SlotClass {
        let after = self.classes.partition_point(|class| class.first <= slot.0);
        &self.classes[after - 1]
    }
}

impl ExpertMemory for HostSlots {
    fn classes(&self) -> &[SlotClass] {
        &self.classes
    }

    fn fill(
        &self,
        slot: Slot,
        part: Part,
        read: &mut dyn FnMut(&mut [u8]) -> std::result::Result<(), gguf::Error>,
    ) -> Result<()> {
        let parts = self.class(slot).parts;
        let start = parts[..part as usize].iter().sum::<usize>();
        let mut bytes = self.slots[slot.0 as usize].write().unwrap_or_else(PoisonError::into_inner);
        Ok(read(&mut bytes[start..start + parts[part as usize]])?)
    }
}

/// An expert that is being read.
pub struct HostExpert<'a> {
    bytes: RwLockReadGuard<'a, Vec<u8>>,
    layer: &'a crate::model::Layer,
}

impl ExpertGuard for HostExpert<'_> {
    fn parts(&self) -> [MatrixView<'_>; 3] {
        let experts = &self.layer.experts;
        let mut rest = self.bytes.as_slice();
        [&experts.gate, &experts.up, &experts.down].map(|matrix| {
            let (bytes, tail) = rest.split_at(matrix.expert_bytes());
            rest = tail;
            MatrixView { kind: matrix.kind, rows: matrix.rows, columns: matrix.columns, bytes }
        })
    }
}
