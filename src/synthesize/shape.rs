//! The dimensions of a model, and those of models that exist.

use crate::error::RequestError;
use std::ops::RangeInclusive;

/// The dimensions of a model of the `qwen3next` family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Layers. Every fourth has full attention.
    pub layers: u32,
    /// Width of the residual stream.
    pub hidden: u32,
    /// Query heads.
    pub heads: u32,
    /// Key and value heads of full attention.
    pub kv_heads: u32,
    /// Values in a head of full attention.
    pub head_size: u32,
    /// Values of a head that are rotated by position.
    pub rotary_size: u32,
    /// Key heads of the DeltaNet.
    pub key_heads: u32,
    /// Value heads of the DeltaNet.
    pub value_heads: u32,
    /// Values in a head of the DeltaNet.
    pub linear_head_size: u32,
    /// Taps of the convolution.
    pub conv_kernel: u32,
    /// Routed experts of a layer.
    pub experts: u32,
    /// Experts that a token uses.
    pub experts_used: u32,
    /// Width of a routed expert.
    pub expert_feed_forward: u32,
    /// Width of the shared expert.
    pub shared_feed_forward: u32,
    /// Entries of the vocabulary.
    pub vocabulary: u32,
    /// Trained context in tokens.
    pub context: u32,
}

impl Shape {
    /// Qwen3-Next-80B-A3B (its published configuration).
    pub const QWEN3_NEXT_80B: Shape = Shape {
        layers: 48,
        hidden: 2048,
        heads: 16,
        kv_heads: 2,
        head_size: 256,
        rotary_size: 64,
        key_heads: 16,
        value_heads: 32,
        linear_head_size: 128,
        conv_kernel: 4,
        experts: 512,
        experts_used: 10,
        expert_feed_forward: 512,
        shared_feed_forward: 512,
        vocabulary: 151_936,
        context: 262_144,
    };

    /// A few megabytes with the same layers, for trials on a CPU.
    pub const TINY: Shape = Shape {
        layers: 4,
        hidden: 256,
        heads: 4,
        kv_heads: 2,
        head_size: 256,
        rotary_size: 64,
        key_heads: 4,
        value_heads: 8,
        linear_head_size: 128,
        conv_kernel: 4,
        experts: 32,
        experts_used: 4,
        expert_feed_forward: 256,
        shared_feed_forward: 256,
        vocabulary: 2048,
        context: 32_768,
    };

    /// Every how many layers full attention comes.
    pub(super) const ATTENTION_INTERVAL: u32 = 4;

    /// # Errors
    /// [`RequestError::BadOption`] names the first dimension that cannot be, as the command line calls it.
    pub fn check(&self) -> Result<(), RequestError> {
        // Widths end where the bytes of all tensors together could no longer be counted.
        const WIDTH: RangeInclusive<u32> = 1..=65_536;
        const HEADS: RangeInclusive<u32> = 1..=4096;
        const HEAD_SIZE: RangeInclusive<u32> = 32..=256;
        within("layers", self.layers, 1..=1024)?;
        within("hidden", self.hidden, WIDTH)?;
        within("heads", self.heads, HEADS)?;
        within("kv-heads", self.kv_heads, HEADS)?;
        within("head-dim", self.head_size, HEAD_SIZE)?;
        within("rope-dims", self.rotary_size, 2..=self.head_size)?;
        within("key-heads", self.key_heads, HEADS)?;
        within("value-heads", self.value_heads, HEADS)?;
        within("linear-dim", self.linear_head_size, HEAD_SIZE)?;
        within("conv", self.conv_kernel, 2..=16)?;
        within("experts", self.experts, WIDTH)?;
        within("top-k", self.experts_used, 1..=self.experts.min(32))?;
        within("expert-ffn", self.expert_feed_forward, WIDTH)?;
        within("shared-ffn", self.shared_feed_forward, WIDTH)?;
        within("vocab", self.vocabulary, 2..=1 << 20)?;
        within("ctx", self.context, 1..=u32::MAX)?;
        let expect = |holds: bool, name: &str, found: u32, expected: String| {
            if holds { Ok(()) } else { Err(bad(name, found, expected)) }
        };
        let divides = self.heads.is_multiple_of(self.kv_heads);
        expect(divides, "kv-heads", self.kv_heads, format!("a divisor of the {} heads", self.heads))?;
        let divides = self.value_heads.is_multiple_of(self.key_heads);
        expect(divides, "key-heads", self.key_heads, format!("a divisor of the {} value heads", self.value_heads))?;
        expect(self.rotary_size.is_multiple_of(2), "rope-dims", self.rotary_size, "an even number".to_owned())
    }

    /// Whether a layer has full attention.
    pub(super) fn is_attention(&self, layer: u32) -> bool {
        (layer + 1).is_multiple_of(Shape::ATTENTION_INTERVAL)
    }

    /// Width of all query heads.
    pub(super) fn query_size(&self) -> u32 {
        self.heads * self.head_size
    }

    /// Width of all key heads of the DeltaNet.
    pub(super) fn key_size(&self) -> u32 {
        self.key_heads * self.linear_head_size
    }

    /// Width of all value heads of the DeltaNet.
    pub(super) fn value_size(&self) -> u32 {
        self.value_heads * self.linear_head_size
    }
}

fn within(name: &str, found: u32, range: RangeInclusive<u32>) -> Result<(), RequestError> {
    match range.contains(&found) {
        true => Ok(()),
        false => Err(bad(name, found, format!("a number from {} to {}", range.start(), range.end()))),
    }
}

fn bad(name: &str, found: u32, expected: String) -> RequestError {
    RequestError::BadOption { name: name.to_owned(), found: found.to_string(), expected }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dimension_that_cannot_be_is_named_as_it_was_typed() {
        let refused = |shape: Shape| shape.check().unwrap_err().to_string();
        let tiny = Shape::TINY;
        assert_eq!(refused(Shape { kv_heads: 3, ..tiny }), "--kv-heads is 3; expected a divisor of the 4 heads");
        assert_eq!(refused(Shape { rotary_size: 63, ..tiny }), "--rope-dims is 63; expected an even number");
        assert_eq!(refused(Shape { experts_used: 33, ..tiny }), "--top-k is 33; expected a number from 1 to 32");
        assert_eq!(refused(Shape { layers: 0, ..tiny }), "--layers is 0; expected a number from 1 to 1024");
        assert_eq!(
            refused(Shape { key_heads: 3, ..tiny }),
            "--key-heads is 3; expected a divisor of the 8 value heads"
        );
    }
}
