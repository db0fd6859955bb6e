//! The memory plan: what a model, a context and a chunk need, as a pure function, and what the machine has.

mod bytes;
mod machine;

pub use bytes::{BadSize, Bytes};
pub use machine::{Machine, available, smaller};

use crate::model::Model;
use std::fmt;
use std::str::FromStr;

/// The type in which keys and values are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum KvType {
    /// Half precision.
    #[default]
    F16,
    /// Single precision.
    F32,
}

impl KvType {
    /// All of them.
    pub const ALL: [KvType; 2] = [KvType::F16, KvType::F32];

    /// The name, as it is typed.
    pub fn name(self) -> &'static str {
        match self {
            KvType::F16 => "f16",
            KvType::F32 => "f32",
        }
    }

    /// Bytes of one value.
    pub fn bytes(self) -> usize {
        match self {
            KvType::F16 => 2,
            KvType::F32 => 4,
        }
    }
}

impl fmt::Display for KvType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no [`KvType`] has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no type of keys and values; expected {names}", names = KvType::ALL.map(KvType::name).join(" or "))]
pub struct UnknownKvType(pub String);

impl FromStr for KvType {
    type Err = UnknownKvType;

    fn from_str(name: &str) -> Result<KvType, UnknownKvType> {
        KvType::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| UnknownKvType(name.into()))
    }
}

/// What a session asks for.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Tokens of context.
    pub context: u32,
    /// Rows of the largest chunk.
    pub batch: u32,
    /// How keys and values are kept.
    pub kv_type: KvType,
    /// Whether the next-token block is loaded.
    pub next_token: bool,
}

/// Bytes by purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Weights that every token uses.
    pub dense: u64,
    /// Routed experts, all of them.
    pub experts: u64,
    /// Keys and values of the whole context.
    pub kv: u64,
    /// Recurrent and convolution states.
    pub states: u64,
    /// Activations of the largest chunk.
    pub scratch: u64,
}

impl Plan {
    /// All of it.
    pub fn total(&self) -> u64 {
        sum(&[self.dense, self.experts, self.kv, self.states, self.scratch])
    }

    /// # Errors
    /// The plan and what is available, where the one exceeds the other.
    pub fn check(&self, available: Option<u64>) -> Result<(), DoesNotFit> {
        match available {
            Some(available) if self.total() > available => Err(DoesNotFit { plan: *self, available }),
            _ => Ok(()),
        }
    }
}

/// A plan that needs more memory than there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoesNotFit {
    /// The plan.
    pub plan: Plan,
    /// Bytes that can be had.
    pub available: u64,
}

impl std::error::Error for DoesNotFit {}

impl fmt::Display for DoesNotFit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the model needs {} and {} is available; choose a smaller file or, if it is the context, a smaller \
             --ctx-size",
            self.plan,
            Bytes(self.available),
        )
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} (dense weights {}, experts {}, context {}, states {}, scratch {})",
            Bytes(self.total()),
            Bytes(self.dense),
            Bytes(self.experts),
            Bytes(self.kv),
            Bytes(self.states),
            Bytes(self.scratch),
        )
    }
}

/// Bytes of keys and values of one token, over all layers of the trunk that keep them and, where `next_token` asks for
/// it and the model has one, the next-token block.
pub fn kv_bytes_per_token(model: &Model, kv_type: KvType, next_token: bool) -> u64 {
    let config = &model.config;
    let layers = config.kv_layers() + usize::from(next_token && config.next_token);
    product(&[layers, 2, config.attention.kv_size(), kv_type.bytes()])
}

/// Bytes of the recurrent and convolution states of one sequence, over all layers that have them (always `f32`).
pub fn state_bytes(model: &Model) -> u64 {
    let delta = &model.config.delta_net;
    let values = delta.state_size().saturating_add(delta.conv_state_size());
    product(&[model.config.delta_net_layers(), values, size_of::<f32>()])
}

/// Plans a model with every expert resident.
pub fn plan(model: &Model, request: &Request) -> Plan {
    let next_token_block = format!("blk.{}.", model.config.layers);
    let (mut dense, mut experts) = (0, 0);
    for tensor in model.file.tensors() {
        if tensor.name.starts_with(&next_token_block) && !request.next_token {
            continue;
        }
        let sum: &mut u64 = if tensor.name.ends_with("_exps.weight") { &mut experts } else { &mut dense };
        *sum = sum.saturating_add(tensor.bytes);
    }
    Plan {
        dense,
        experts,
        kv: kv_bytes_per_token(model, request.kv_type, request.next_token).saturating_mul(request.context.into()),
        states: state_bytes(model),
        scratch: scratch_bytes(model, request.batch.min(request.context)),
    }
}

/// Rows whose logits are held at once, at most as many as a chunk has; how many a caller will want is not known yet.
const ROWS_OF_LOGITS: u32 = 64;

/// Activations of `rows` rows: the widest moments of a layer, the outputs of all chosen experts, and the logits.
fn scratch_bytes(model: &Model, rows: u32) -> u64 {
    let config = &model.config;
    let (delta, attention, experts) = (&config.delta_net, &config.attention, &config.experts);
    let delta = sum(&[product(&[2, delta.conv_size()]), product(&[3, delta.value_size()])]);
    let attention = sum(&[product(&[3, attention.query_size()]), product(&[2, attention.kv_size()])]);
    let pair = sum(&[config.hidden as u64, product(&[2, experts.feed_forward])]);
    let shared = sum(&[product(&[3, experts.shared_feed_forward]), experts.count as u64]);
    let row =
        sum(&[product(&[6, config.hidden]), delta.max(attention), pair.saturating_mul(experts.used as u64), shared]);
    let logits = product(&[rows.min(ROWS_OF_LOGITS) as usize, config.vocabulary]);
    sum(&[row.saturating_mul(rows.into()), logits]).saturating_mul(size_of::<f32>() as u64)
}

/// A product that is the largest number where it would be larger: sizes from a file can be of any size, and a plan of
/// that many bytes is refused.
fn product(factors: &[usize]) -> u64 {
    factors.iter().fold(1, |product: u64, factor| product.saturating_mul(*factor as u64))
}

/// A sum of the same kind.
fn sum(terms: &[u64]) -> u64 {
    terms.iter().fold(0, |sum, term| sum.saturating_add(*term))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_found_by_its_name_and_by_no_other() {
        for kind in KvType::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        let error = "q8_0".parse::<KvType>().unwrap_err().to_string();
        assert_eq!(error, "\"q8_0\" is no type of keys and values; expected f16 or f32");
    }

    #[test]
    fn a_plan_that_does_not_fit_says_both_numbers() {
        let plan = Plan { dense: 1 << 30, experts: 20 << 30, kv: 1 << 29, states: 75 << 20, scratch: 1 << 20 };
        let error = plan.check(Some(16 << 30)).unwrap_err().to_string();
        assert!(error.contains("needs 21.57 GiB") && error.contains("16.00 GiB is available"), "{error}");
        assert_eq!(plan.check(Some(22 << 30)), Ok(()));
        assert_eq!(plan.check(None), Ok(()), "a machine that cannot tell is not refused");
    }

    #[test]
    fn sizes_beyond_all_numbers_are_refused_rather_than_wrapped() {
        assert_eq!(product(&[1 << 40, 1 << 40, 2]), u64::MAX);
        let plan = Plan { dense: 1 << 30, kv: product(&[usize::MAX, 4]), scratch: 1 << 20, ..Plan::default() };
        let error = plan.check(Some(16 << 30)).unwrap_err().to_string();
        assert!(error.contains("needs 17179869184.00 GiB"), "{error}");
    }
}
