//! Which tensor gets which type.

use crate::quant::Type;

/// A mixture of quantisation types, named after the type that most weights have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// Two bits for the experts and more for all else, as published 2-bit files of the 80B model have it.
    Iq2Xxs,
    /// 1.8 bits a weight: what llama.cpp's `llama-quantize` gives for `IQ1_M`.
    Iq1M,
    /// 4.9 bits a weight: what it gives for `Q4_K_M`.
    Q4Km,
}

/// What a quantised tensor is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    TokenEmbedding,
    Output,
    Query,
    Key,
    Value,
    AttentionOutput,
    /// Queries, keys and values of the DeltaNet.
    Qkv,
    /// Output gate of the DeltaNet.
    MixerGate,
    BetaAlpha,
    MixerOutput,
    ExpertGateUp,
    ExpertDown,
    SharedGateUp,
    SharedDown,
}

impl Mix {
    /// Every mixture.
    pub const ALL: [Mix; 3] = [Mix::Iq2Xxs, Mix::Iq1M, Mix::Q4Km];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Mix::Iq2Xxs => "iq2_xxs",
            Mix::Iq1M => "iq1_m",
            Mix::Q4Km => "q4_k_m",
        }
    }

    /// Its number in `general.file_type`.
    pub(super) fn file_type(self) -> u32 {
        match self {
            Mix::Q4Km => 15,
            Mix::Iq2Xxs => 19,
            Mix::Iq1M => 31,
        }
    }

    /// The type of a tensor with rows of `columns` values in one of `layers` layers.
    pub(super) fn kind(self, role: Role, layer: u32, layers: u32, columns: u32) -> Type {
        let kind = match self {
            Mix::Iq2Xxs => two_bits(role, layer, layers),
            Mix::Iq1M => one_bit(role, layer, layers),
            Mix::Q4Km => four_bits(role, layer, layers),
        };
        fitting(kind, columns)
    }
}

fn two_bits(role: Role, layer: u32, layers: u32) -> Type {
    match role {
        Role::ExpertDown if layer < layers / 8 => Type::Q2K,
        Role::ExpertGateUp | Role::ExpertDown => Type::Iq2Xxs,
        Role::TokenEmbedding | Role::Query | Role::Qkv | Role::MixerGate | Role::SharedGateUp => Type::Q4K,
        Role::Key | Role::Value | Role::AttentionOutput | Role::MixerOutput | Role::SharedDown => Type::Q5K,
        Role::Output => Type::Q6K,
        Role::BetaAlpha => Type::Q8_0,
    }
}

fn one_bit(role: Role, layer: u32, layers: u32) -> Type {
    match role {
        Role::Output => Type::Q5K,
        Role::TokenEmbedding => Type::Q2K,
        Role::Qkv | Role::Value => Type::Q4K,
        Role::AttentionOutput => Type::Iq2Xxs,
        // Down matrices of routed and shared experts count together, so that an eighth of them is a sixteenth of
        // the layers.
        Role::ExpertDown | Role::SharedDown if layer < layers / 16 => Type::Q2K,
        _ => Type::Iq1M,
    }
}

fn four_bits(role: Role, layer: u32, layers: u32) -> Type {
    match role {
        Role::Output => Type::Q6K,
        Role::Qkv | Role::Value | Role::ExpertDown | Role::SharedDown if has_more_bits(layer, layers) => Type::Q6K,
        _ => Type::Q4K,
    }
}

/// The first and the last eighth of the layers, and every third between.
fn has_more_bits(layer: u32, layers: u32) -> bool {
    let eighth = layers / 8;
    layer < eighth || layer >= 7 * layers / 8 || (layer - eighth) % 3 == 2
}

/// The type itself or, where rows are not whole blocks of it, the next one that fits, as `llama-quantize` chooses it.
fn fitting(kind: Type, columns: u32) -> Type {
    let fits = |kind: Type| (columns as usize).is_multiple_of(kind.block_length());
    let smaller = match kind {
        Type::Iq1M | Type::Iq2Xxs => Type::Iq4Nl,
        Type::Q2K => Type::Q4_0,
        Type::Q4K => Type::Q5_0,
        Type::Q5K => Type::Q5_1,
        _ => Type::Q8_0,
    };
    [kind, smaller].into_iter().find(|kind| fits(*kind)).unwrap_or(Type::F16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_bits_go_to_the_layers_that_llama_quantize_gives_them() {
        let layers: Vec<u32> = (0..48).filter(|layer| has_more_bits(*layer, 48)).collect();
        let expected: Vec<u32> = (0..6).chain((8..42).step_by(3)).chain(42..48).collect();
        assert_eq!(layers, expected);
    }

    #[test]
    fn rows_that_are_no_whole_blocks_get_a_type_of_smaller_blocks() {
        let kind = |columns| Mix::Iq2Xxs.kind(Role::ExpertGateUp, 0, 4, columns);
        assert_eq!([2048, 288, 100].map(kind), [Type::Iq2Xxs, Type::Iq4Nl, Type::F16]);
    }
}
