//! The state of one sequence: keys and values, recurrent states, the last hidden rows.

use crate::memory::KvType;
use crate::model::{Config, MixerKind};
use half::f16;
use half::slice::HalfFloatSliceExt;

/// Positions in a block of keys and values.
pub const KV_BLOCK: usize = 256;

/// The state of a sequence.
#[derive(Clone)]
pub struct Sequence {
    /// Tokens that went through the trunk.
    pub position: u32,
    /// False from the start of a pass to its end: should it never come, the recurrent states are half-way.
    pub intact: bool,
    /// The state of each layer, the next-token block's last.
    pub layers: Vec<LayerState>,
    /// Hidden rows after the final norm, from `hidden_start` on; kept for the next-token block only.
    pub hidden: Vec<f32>,
    /// The position of the first of them.
    pub hidden_start: u32,
}

/// The state of one layer.
#[derive(Clone)]
pub enum LayerState {
    /// Keys and values of all positions.
    Kv(KvCache),
    /// The recurrent state.
    Recurrent(RecurrentState),
}

/// Keys and values of one layer, in blocks of [`KV_BLOCK`] positions that are taken as they are needed.
#[derive(Clone)]
pub struct KvCache {
    keys: Vec<KvBlock>,
    values: Vec<KvBlock>,
    width: usize,
    kv_type: KvType,
}

#[derive(Clone)]
enum KvBlock {
    F16(Vec<f16>),
    F32(Vec<f32>),
}

/// The recurrent state of one layer.
#[derive(Clone)]
pub struct RecurrentState {
    /// (value heads, value dimension, key dimension).
    pub delta: Vec<f32>,
    /// (taps - 1, channels): the convolution's last inputs.
    pub conv: Vec<f32>,
    /// States before each row of a provisional pass, oldest first.
    pub before: Vec<(Vec<f32>, Vec<f32>)>,
}

impl Sequence {
    /// An empty sequence.
    pub fn new(config: &Config, next_token: bool, kv_type: KvType) -> Sequence {
        let kv = || LayerState::Kv(KvCache::new(config.attention.kv_size(), kv_type));
        let trunk = config.mixers.iter().map(|kind| match kind {
            MixerKind::Attention => kv(),
            MixerKind::DeltaNet => LayerState::Recurrent(RecurrentState {
                delta: vec![0.0; config.delta_net.state_size()],
                conv: vec![0.0; config.delta_net.conv_state_size()],
                before: Vec::new(),
            }),
        });
        Sequence {
            position: 0,
            intact: true,
            layers: trunk.chain(next_token.then(kv)).collect(),
            hidden: Vec::new(),
            hidden_start: 0,
        }
    }

    /// Bytes of the state.
    pub fn bytes(&self) -> usize {
        let layer = |state: &LayerState| match state {
            LayerState::Kv(cache) => cache.bytes(),
            LayerState::Recurrent(state) => (state.delta.len() + state.conv.len()) * size_of::<f32>(),
        };
        self.layers.iter().map(layer).sum::<usize>() + self.hidden.len() * size_of::<f32>()
    }

    /// Undoes the trunk's rows of a provisional pass after the first `keep` of `rows`.
    pub fn keep(&mut self, keep: u32, rows: u32) {
        for layer in &mut self.layers {
            if let LayerState::Recurrent(state) = layer {
                if keep < rows {
                    (state.delta, state.conv) = state.before.swap_remove(keep as usize);
                }
                state.before.clear();
            }
        }
    }
}

impl KvCache {
    fn new(width: usize, kv_type: KvType) -> KvCache {
        KvCache { keys: Vec::new(), values: Vec::new(), width, kv_type }
    }

    /// Writes the key and value of a position: the one that follows the last written, or an earlier one again.
    pub fn write(&mut self, position: u32, key: &[f32], value: &[f32]) {
        let (block, offset) = (position as usize / KV_BLOCK, position as usize % KV_BLOCK * self.width);
        if block == self.keys.len() {
            self.keys.push(KvBlock::new(self.kv_type, KV_BLOCK * self.width));
            self.values.push(KvBlock::new(self.kv_type, KV_BLOCK * self.width));
        }
        self.keys[block].write(offset, key);
        self.values[block].write(offset, value);
    }

    /// Keys and values of one head at positions `start .. start + count` of one block, as `f32`, each
    /// (count, head size).
    pub fn read_head(&self, start: usize, count: usize, head: usize, head_size: usize) -> (Vec<f32>, Vec<f32>) {
        let (block, first) = (start / KV_BLOCK, start % KV_BLOCK);
        let (mut keys, mut values) = (vec![0.0; count * head_size], vec![0.0; count * head_size]);
        for i in 0..count {
            let offset = (first + i) * self.width + head * head_size;
            let range = i * head_size..(i + 1) * head_size;
            self.keys[block].read(offset, &mut keys[range.clone()]);
            self.values[block].read(offset, &mut values[range]);
        }
        (keys, values)
    }

    fn bytes(&self) -> usize {
        2 * self.keys.len() * KV_BLOCK * self.width * self.kv_type.bytes()
    }
}

impl KvBlock {
    fn new(kv_type: KvType, length: usize) -> KvBlock {
        match kv_type {
            KvType::F16 => KvBlock::F16(vec![f16::ZERO; length]),
            KvType::F32 => KvBlock::F32(vec![0.0; length]),
        }
    }

    fn write(&mut self, offset: usize, from: &[f32]) {
        match self {
            KvBlock::F16(block) => block[offset..offset + from.len()].convert_from_f32_slice(from),
            KvBlock::F32(block) => block[offset..offset + from.len()].copy_from_slice(from),
        }
    }

    fn read(&self, offset: usize, into: &mut [f32]) {
        match self {
            KvBlock::F16(block) => block[offset..offset + into.len()].convert_to_f32_slice(into),
            KvBlock::F32(block) => into.copy_from_slice(&block[offset..offset + into.len()]),
        }
    }
}
