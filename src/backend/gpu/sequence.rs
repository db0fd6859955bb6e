//! The state of one sequence in GPU memory.

use super::launcher::{Launcher, View};
use crate::error::Result;
use crate::memory::KvType;
use crate::model::{Config, MixerKind};

/// Positions in a block of keys and values; decode splits attention at their ends.
pub const KV_BLOCK: u32 = 256;

/// Most positions of one slab of keys: memory is taken as the sequence grows.
const KV_SLAB_POSITIONS: u64 = 16 * KV_BLOCK as u64;

/// The state of a sequence.
pub struct Sequence {
    /// Tokens that went through the trunk.
    pub position: u32,
    /// False from the start of a pass to its end.
    pub intact: bool,
    /// The state of each layer, the next-token block's last.
    pub layers: Vec<LayerState>,
    /// Kept for the next-token block only.
    pub hidden: Option<HiddenRows>,
}

/// The state of one layer.
pub enum LayerState {
    /// Keys and values of all positions.
    Kv(KvCache),
    /// The recurrent state.
    Recurrent(RecurrentState),
}

/// Keys and values of one layer, in slabs that are taken as they are needed.
pub struct KvCache {
    /// Keys and values, (positions, kv heads, head) each.
    pub slabs: Vec<(View, View)>,
    /// Positions of a slab, a multiple of [`KV_BLOCK`].
    pub slab_positions: u32,
    position_bytes: u64,
}

/// The recurrent state of one layer.
pub struct RecurrentState {
    /// (value heads, value dimension, key dimension).
    pub delta: View,
    /// (taps - 1, channels).
    pub conv: View,
    /// Both before each row of a provisional pass, oldest first.
    pub delta_before: Vec<View>,
    pub conv_before: Vec<View>,
}

/// Hidden rows after the final norm: one before the last trunk pass, then the rows of that pass.
pub struct HiddenRows {
    /// (1 + rows, hidden); the row before the first of all is zeros.
    pub rows: View,
    /// Takes turns with `rows`.
    pub other: View,
    /// The position of row 1.
    pub start: u32,
    /// How many rows of the last pass were kept.
    pub count: u32,
}

impl Sequence {
    /// An empty sequence.
    pub fn new(
        launcher: &Launcher,
        config: &Config,
        next_token: bool,
        kv_type: KvType,
        rows: u32,
        slab_bytes: u64,
    ) -> Result<Sequence> {
        let kv = || LayerState::Kv(KvCache::new(config.attention.kv_size(), kv_type, slab_bytes));
        let float = size_of::<f32>();
        let mut layers = Vec::new();
        for kind in &config.mixers {
            layers.push(match kind {
                MixerKind::Attention => kv(),
                MixerKind::DeltaNet => LayerState::Recurrent(RecurrentState {
                    delta: launcher.buffer("delta state", (config.delta_net.state_size() * float) as u64)?,
                    conv: launcher.buffer("conv state", (config.delta_net.conv_state_size() * float) as u64)?,
                    delta_before: Vec::new(),
                    conv_before: Vec::new(),
                }),
            });
        }
        let mut hidden = None;
        if next_token {
            layers.push(kv());
            let bytes = (1 + u64::from(rows)) * (config.hidden * float) as u64;
            let (rows, other) = (launcher.buffer("hidden rows", bytes)?, launcher.buffer("hidden rows", bytes)?);
            hidden = Some(HiddenRows { rows, other, start: 0, count: 0 });
        }
        Ok(Sequence { position: 0, intact: true, layers, hidden })
    }
}

impl Sequence {
    /// Undoes the rows of a provisional pass behind the first `keep` of `rows`.
    pub fn keep(&mut self, keep: u32, rows: u32) {
        for layer in &mut self.layers {
            if let LayerState::Recurrent(state) = layer {
                if keep < rows {
                    state.delta = state.delta_before.swap_remove(keep as usize);
                    state.conv = state.conv_before.swap_remove(keep as usize);
                }
                state.delta_before.clear();
                state.conv_before.clear();
            }
        }
    }
}

impl KvCache {
    fn new(width: usize, kv_type: KvType, slab_bytes: u64) -> KvCache {
        let position_bytes = (width * kv_type.bytes()) as u64;
        let fitting = slab_bytes / position_bytes / u64::from(KV_BLOCK) * u64::from(KV_BLOCK);
        let slab_positions = fitting.clamp(u64::from(KV_BLOCK), KV_SLAB_POSITIONS) as u32;
        KvCache { slabs: Vec::new(), slab_positions, position_bytes }
    }

    /// Takes slabs until `positions` fit.
    pub fn reserve(&mut self, launcher: &Launcher, positions: u32) -> Result<()> {
        while self.slabs.len() < positions.div_ceil(self.slab_positions) as usize {
            let bytes = u64::from(self.slab_positions) * self.position_bytes;
            self.slabs.push((launcher.buffer("keys", bytes)?, launcher.buffer("values", bytes)?));
        }
        Ok(())
    }
}
