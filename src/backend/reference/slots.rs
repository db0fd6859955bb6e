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
        let classes = SlotClass::of_layers(model, next_token);
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
        let parts = SlotClass::of_slot(&self.classes, slot).parts;
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
