//! Activations of a pass.

use super::kernels::{EXPERT_TILE, most_tiles};
use super::launcher::{Launcher, View};
use crate::error::Result;
use crate::model::Config;

/// Buffers for the activations of up to a number of rows, (rows, size) each.
pub struct Scratch {
    pub tokens: View,
    pub positions: View,
    pub cosines: View,
    pub sines: View,
    pub head_rows: View,
    /// Residual stream.
    pub x: View,
    /// Input of a mixer, later of the experts.
    pub h: View,
    /// Output of a mixer.
    pub mixed: View,
    pub query_gate: View,
    pub keys: View,
    pub values: View,
    pub attended: View,
    /// Largest score, sum and weighted values so far of each row and head.
    pub attention_state: View,
    pub qkv: View,
    pub convolved: View,
    pub output_gate: View,
    pub beta_alpha: View,
    pub gates: View,
    pub delta_out: View,
    pub shared_gate: View,
    pub shared_up: View,
    pub shared: View,
    pub shared_weight: View,
    pub router: View,
    pub ids: View,
    pub expert_weights: View,
    pub order: View,
    pub tiles: View,
    pub activation: View,
    pub outputs: View,
    /// Input of the next-token block's projection.
    pub joined: View,
}

/// Values of the widest activation of one row, which bounds the rows of a pass on a device with small bindings.
pub fn widest_row(config: &Config) -> usize {
    let experts = &config.experts;
    [
        2 * config.attention.query_size(),
        config.attention.heads * (config.attention.head_size + 2),
        config.delta_net.conv_size(),
        experts.used * config.hidden.max(experts.feed_forward),
        experts.count,
        experts.shared_feed_forward,
        2 * config.hidden,
    ]
    .into_iter()
    .max()
    .unwrap_or(1)
}

impl Scratch {
    /// Buffers for passes of up to `rows` rows.
    pub fn new(launcher: &Launcher, config: &Config, rows: u32) -> Result<Scratch> {
        let (attention, delta, experts) = (&config.attention, &config.delta_net, &config.experts);
        let buffer = |label: &str, size: usize| launcher.buffer(label, u64::from(rows) * 4 * size as u64);
        let pairs = rows * experts.used as u32;
        let tiles = most_tiles(pairs, experts.count as u32, EXPERT_TILE);
        Ok(Scratch {
            tokens: buffer("tokens", 1)?,
            positions: buffer("positions", 1)?,
            cosines: buffer("cosines", attention.rotary.dimensions() / 2)?,
            sines: buffer("sines", attention.rotary.dimensions() / 2)?,
            head_rows: buffer("head rows", 1)?,
            x: buffer("x", config.hidden)?,
            h: buffer("h", config.hidden)?,
            mixed: buffer("mixed", config.hidden)?,
            query_gate: buffer("query and gate", 2 * attention.query_size())?,
            keys: buffer("keys", attention.kv_size())?,
            values: buffer("values", attention.kv_size())?,
            attended: buffer("attended", attention.query_size())?,
            attention_state: buffer("attention state", attention.heads * (attention.head_size + 2))?,
            qkv: buffer("qkv", delta.conv_size())?,
            convolved: buffer("convolved", delta.conv_size())?,
            output_gate: buffer("output gate", delta.value_size())?,
            beta_alpha: buffer("beta and alpha", 2 * delta.value_heads)?,
            gates: buffer("gates", 2 * delta.value_heads)?,
            delta_out: buffer("delta out", delta.value_size())?,
            shared_gate: buffer("shared gate", experts.shared_feed_forward)?,
            shared_up: buffer("shared up", experts.shared_feed_forward)?,
            shared: buffer("shared", config.hidden)?,
            shared_weight: buffer("shared weight", 1)?,
            router: buffer("router", experts.count)?,
            ids: buffer("expert ids", experts.used)?,
            expert_weights: buffer("expert weights", experts.used)?,
            order: buffer("order", experts.used)?,
            tiles: launcher.buffer("tiles", 12 * u64::from(tiles))?,
            activation: buffer("activation", experts.used * experts.feed_forward)?,
            outputs: buffer("expert outputs", experts.used * config.hidden)?,
            joined: buffer("joined", 2 * config.hidden)?,
        })
    }
}
