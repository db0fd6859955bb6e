//! `redlite inspect`: what a file holds and what it needs, also of files that cannot be run here.

mod text;

use super::generate::DEFAULT_CONTEXT;
use super::{Failure, model, output};
use crate::engine::LoadOptions;
use crate::gguf::{Array, Gguf, Value};
use crate::memory::{self, KvType, Request};
use crate::model::Model;
use crate::quant::Type;
use crate::tokenizer::Tokenizer;
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Longer arrays are shown by their type and length alone.
const ARRAY_SHOWN: usize = 64;

/// What `inspect` is asked to do.
#[derive(Clone, Debug)]
pub struct InspectOptions {
    /// The model file; the embedded model where absent.
    pub model: Option<PathBuf>,
    /// List all tensors.
    pub tensors: bool,
    /// Print one JSON object.
    pub json: bool,
}

/// Describes a model file.
///
/// # Errors
/// The file cannot be read, or the output not written.
pub fn run(options: &InspectOptions) -> Result<(), Failure> {
    let file = Arc::new(model::open(options.model.as_deref())?);
    let report = Report::of(&file, options.tensors);
    if options.json { output::print_json(&report) } else { output::print(text::of(&report)) }
}

/// All that there is to say about a file.
#[derive(Serialize)]
struct Report {
    file: String,
    file_bytes: u64,
    architecture: Option<String>,
    name: Option<String>,
    /// Why it cannot be run, where it cannot.
    cannot_run: Option<String>,
    /// Metadata in the order of the file. Long arrays are given by their type and length.
    metadata: serde_json::Map<String, serde_json::Value>,
    tensor_count: usize,
    tensor_bytes: u64,
    parameters: u64,
    tensors_by_type: Vec<TypeTotal>,
    needs: Option<Needs>,
    tokenizer: Option<TokenizerReport>,
    /// Why the tokenizer cannot be used, where it cannot.
    tokenizer_problem: Option<String>,
    chat_template: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    tensors: Option<Vec<TensorReport>>,
}

/// The tensors of one type.
#[derive(Serialize)]
struct TypeTotal {
    r#type: &'static str,
    tensors: usize,
    bytes: u64,
}

/// One tensor.
#[derive(Serialize)]
struct TensorReport {
    name: String,
    shape: Vec<u64>,
    r#type: &'static str,
    bytes: u64,
}

/// What running the model needs.
#[derive(Serialize)]
struct Needs {
    context_length: u32,
    layers: usize,
    attention_layers: usize,
    delta_net_layers: usize,
    next_token_block: bool,
    experts: usize,
    experts_used: usize,
    /// Bytes of one routed expert in each layer, the next-token block's last.
    expert_bytes: Vec<usize>,
    /// Of the trunk: the next-token block is not loaded to generate text.
    kv_bytes_per_token: KvBytes,
    state_bytes: u64,
    plan: PlanReport,
    /// What the machine can give now; absent where it does not say.
    available_bytes: Option<u64>,
}

#[derive(Serialize)]
struct KvBytes {
    f16: u64,
    f32: u64,
}

/// The memory plan of `generate` with its defaults.
#[derive(Serialize)]
struct PlanReport {
    context: u32,
    batch: u32,
    kv_type: &'static str,
    dense_bytes: u64,
    expert_bytes: u64,
    kv_bytes: u64,
    state_bytes: u64,
    scratch_bytes: u64,
    total_bytes: u64,
}

/// The tokenizer in figures.
#[derive(Serialize)]
struct TokenizerReport {
    pre: String,
    tokens: usize,
    kinds: serde_json::Map<String, serde_json::Value>,
    merges: usize,
    begin: Option<u32>,
    end: Option<u32>,
    padding: Option<u32>,
    add_begin: bool,
    end_tokens: Vec<EndToken>,
}

#[derive(Serialize)]
struct EndToken {
    id: u32,
    text: String,
}

impl Report {
    fn of(file: &Arc<Gguf>, list_tensors: bool) -> Report {
        let metadata = file.metadata();
        // A key of another type is shown with the metadata; here it counts as absent.
        let text = |key: &str| metadata.str(key).ok().flatten().map(str::to_owned);
        let (needs, cannot_run) = match Model::open(file.clone()) {
            Ok(model) => (Some(Needs::of(&model)), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let (tokenizer, tokenizer_problem) = match Tokenizer::from_metadata(metadata) {
            Ok(tokenizer) => (Some(TokenizerReport::of(&tokenizer)), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let tensors = file.tensors();
        let list = || {
            let report = |tensor: &crate::gguf::TensorInfo| TensorReport {
                name: tensor.name.clone(),
                shape: tensor.shape.clone(),
                r#type: tensor.kind.name(),
                bytes: tensor.bytes,
            };
            tensors.iter().map(report).collect()
        };
        Report {
            file: file.name().to_owned(),
            file_bytes: file.file_bytes(),
            architecture: text("general.architecture"),
            name: text("general.name"),
            cannot_run,
            metadata: metadata.iter().map(|(key, value)| (key.to_owned(), shown(value))).collect(),
            tensor_count: tensors.len(),
            tensor_bytes: sum(tensors.iter().map(|tensor| tensor.bytes)),
            parameters: sum(tensors.iter().map(|tensor| tensor.elements())),
            tensors_by_type: totals(file),
            needs,
            tokenizer,
            tokenizer_problem,
            chat_template: text("tokenizer.chat_template").is_some(),
            tensors: list_tensors.then(list),
        }
    }
}

/// A sum that ends at the largest number: the tensors of a damaged file may claim any size.
fn sum(terms: impl Iterator<Item = u64>) -> u64 {
    terms.fold(0, u64::saturating_add)
}

/// Tensors and bytes of each type, the largest first.
fn totals(file: &Gguf) -> Vec<TypeTotal> {
    let mut by_type: BTreeMap<Type, (usize, u64)> = BTreeMap::new();
    for tensor in file.tensors() {
        let (count, bytes) = by_type.entry(tensor.kind).or_default();
        *count += 1;
        *bytes = tensor.bytes.saturating_add(*bytes);
    }
    let total = |(kind, (tensors, bytes)): (Type, _)| TypeTotal { r#type: kind.name(), tensors, bytes };
    let mut totals: Vec<TypeTotal> = by_type.into_iter().map(total).collect();
    totals.sort_by_key(|total| std::cmp::Reverse(total.bytes));
    totals
}

impl Needs {
    fn of(model: &Model) -> Needs {
        let config = &model.config;
        let defaults = LoadOptions::default();
        let context = config.context_length.min(DEFAULT_CONTEXT);
        let request = Request { context, batch: defaults.batch, kv_type: KvType::F16, next_token: false };
        let plan = memory::plan(model, &request);
        let delta_net_layers = config.delta_net_layers();
        Needs {
            context_length: config.context_length,
            layers: config.layers,
            attention_layers: config.layers - delta_net_layers,
            delta_net_layers,
            next_token_block: config.next_token,
            experts: config.experts.count,
            experts_used: config.experts.used,
            expert_bytes: model.all_layers().map(|layer| layer.experts.expert_bytes()).collect(),
            kv_bytes_per_token: KvBytes {
                f16: memory::kv_bytes_per_token(model, KvType::F16, false),
                f32: memory::kv_bytes_per_token(model, KvType::F32, false),
            },
            state_bytes: memory::state_bytes(model),
            plan: PlanReport {
                context,
                batch: request.batch,
                kv_type: request.kv_type.name(),
                dense_bytes: plan.dense,
                expert_bytes: plan.experts,
                kv_bytes: plan.kv,
                state_bytes: plan.states,
                scratch_bytes: plan.scratch,
                total_bytes: plan.total(),
            },
            available_bytes: memory::available(),
        }
    }
}

impl TokenizerReport {
    fn of(tokenizer: &Tokenizer) -> TokenizerReport {
        let summary = tokenizer.summary();
        TokenizerReport {
            pre: summary.pre,
            tokens: summary.tokens,
            kinds: summary.kinds.iter().map(|(kind, count)| (kind.to_string(), json!(count))).collect(),
            merges: summary.merges,
            begin: summary.begin,
            end: summary.end,
            padding: summary.padding,
            add_begin: summary.add_begin,
            end_tokens: summary.end_tokens.into_iter().map(|(id, text)| EndToken { id, text }).collect(),
        }
    }
}

/// A metadata value; a long array by its type and length.
fn shown(value: &Value) -> serde_json::Value {
    match value {
        Value::U8(value) => json!(value),
        Value::I8(value) => json!(value),
        Value::U16(value) => json!(value),
        Value::I16(value) => json!(value),
        Value::U32(value) => json!(value),
        Value::I32(value) => json!(value),
        Value::U64(value) => json!(value),
        Value::I64(value) => json!(value),
        Value::F32(value) => output::json_number(*value),
        Value::F64(value) => json!(value),
        Value::Bool(value) => json!(value),
        Value::String(value) => json!(value),
        Value::Array(array) if array.len() > ARRAY_SHOWN => {
            json!({ "type": array.type_name(), "length": array.len() })
        }
        Value::Array(array) => match array {
            Array::U8(values) => json!(values),
            Array::I8(values) => json!(values),
            Array::U16(values) => json!(values),
            Array::I16(values) => json!(values),
            Array::U32(values) => json!(values),
            Array::I32(values) => json!(values),
            Array::U64(values) => json!(values),
            Array::I64(values) => json!(values),
            Array::F32(values) => values.iter().map(|value| output::json_number(*value)).collect(),
            Array::F64(values) => json!(values),
            Array::Bool(values) => json!(values),
            Array::String(values) => json!(values),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::sum;

    #[test]
    fn a_sum_beyond_all_numbers_is_the_largest_number() {
        assert_eq!(sum([1 << 63, 1 << 63, 5].into_iter()), u64::MAX);
    }
}
