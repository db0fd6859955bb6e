//! Where experts land: slots, their size classes, and the tables that say which expert is in which.

use crate::error::Result;
use crate::gguf;
use crate::model::{Layer, Model};

/// A place for one expert, numbered over all classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(pub u32);

/// A matrix of an expert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// (feed forward, hidden).
    Gate,
    /// (feed forward, hidden).
    Up,
    /// (hidden, feed forward).
    Down,
}

impl Part {
    /// All parts, in the order in which a slot holds them.
    pub const ALL: [Part; 3] = [Part::Gate, Part::Up, Part::Down];
}

/// Slots of one size. Experts differ in size between layers, so a pool has one or more classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotClass {
    /// Bytes of gate, up and down.
    pub parts: [usize; 3],
    /// The first slot of the class.
    pub first: u32,
    /// How many slots.
    pub slots: u32,
}

impl SlotClass {
    /// A class for each layer of the trunk, and for the next-token block's where it is asked for, with a slot for each
    /// expert.
    pub fn of_layers(model: &Model, next_token: bool) -> Vec<SlotClass> {
        let experts = model.config.experts.count as u32;
        let layers = model.config.layers + usize::from(next_token && model.next_token.is_some());
        let class = |(index, layer): (usize, &Layer)| SlotClass {
            parts: [&layer.experts.gate, &layer.experts.up, &layer.experts.down].map(|m| m.expert_bytes()),
            first: index as u32 * experts,
            slots: experts,
        };
        model.all_layers().take(layers).enumerate().map(class).collect()
    }

    /// The class of a slot, among classes in the order of their slots.
    pub fn of_slot(classes: &[SlotClass], slot: Slot) -> &SlotClass {
        &classes[classes.partition_point(|class| class.first <= slot.0) - 1]
    }
}

/// Memory of slots that experts are read into, by any thread.
pub trait ExpertMemory: Send + Sync {
    /// The classes, in the order of their slots.
    fn classes(&self) -> &[SlotClass];

    /// Has `read` write one part of an expert into a slot.
    ///
    /// # Errors
    /// What `read` returned, or a failed device.
    fn fill(
        &self,
        slot: Slot,
        part: Part,
        read: &mut dyn FnMut(&mut [u8]) -> std::result::Result<(), gguf::Error>,
    ) -> Result<()>;
}

/// Which slot holds each expert of one layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotTable {
    slots: Vec<Slot>,
}

impl SlotTable {
    /// A table of all experts of a layer, in order of their ids.
    pub fn new(slots: Vec<Slot>) -> SlotTable {
        SlotTable { slots }
    }

    /// The slot of an expert.
    pub fn slot(&self, expert: u32) -> Slot {
        self.slots[expert as usize]
    }
}
