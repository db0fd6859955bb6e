//! A file's description for people.

use super::super::output::{counted, plural, printable, quoted};
use super::{Needs, Report, TokenizerReport};
use crate::memory::Bytes;
use std::fmt::Display;

/// Characters of a metadata value that are shown.
const VALUE_SHOWN: usize = 76;

/// The description of a file, in lines.
pub(super) fn of(report: &Report) -> String {
    let mut lines = Lines::default();
    lines.heading("file");
    lines.row("name", printable(report.name.as_deref().unwrap_or("(none)")));
    lines.row("path", printable(&report.file));
    lines.row("size", Bytes(report.file_bytes));
    lines.row("architecture", printable(report.architecture.as_deref().unwrap_or("(none)")));
    let runs = report.cannot_run.as_deref().map_or("yes".into(), |reason| format!("no: {}", printable(reason)));
    lines.row("runs here", runs);

    lines.heading("metadata (without the tokenizer's)");
    let shown = report.metadata.iter().filter(|(key, _)| !key.starts_with("tokenizer."));
    for (key, value) in shown {
        lines.row(&shortened(&printable(key)), shortened(&metadata_value(value)));
    }

    lines.heading("tensors");
    for total in &report.tensors_by_type {
        lines.row(total.r#type, tensors_and_bytes(total.tensors, total.bytes));
    }
    lines.row("all", tensors_and_bytes(report.tensor_count, report.tensor_bytes));
    lines.row("parameters", report.parameters);

    if let Some(needs) = &report.needs {
        describe_needs(needs, &mut lines);
    }
    describe_tokenizer(report, &mut lines);
    if let Some(tensors) = &report.tensors {
        lines.heading("tensor list (name, shape with the contiguous dimension first, type, bytes)");
        for tensor in tensors {
            let shape = format!("{:?}", tensor.shape);
            let row = format!("{shape:<24} {:<8} {:>14}", tensor.r#type, tensor.bytes);
            lines.row(&printable(&tensor.name), row);
        }
    }
    lines.0
}

fn tensors_and_bytes(tensors: usize, bytes: u64) -> String {
    format!("{tensors:>5} {:<7} {:>12}", plural(tensors, "tensor"), Bytes(bytes).to_string())
}

fn describe_needs(needs: &Needs, lines: &mut Lines) {
    lines.heading("model");
    let block = if needs.next_token_block { " and a next-token block" } else { "" };
    let layers =
        format!("{} ({} attention, {} delta net){block}", needs.layers, needs.attention_layers, needs.delta_net_layers);
    lines.row("layers", layers);
    lines.row("context", counted(needs.context_length as usize, "token"));
    lines.row("experts", format!("{} a layer, {} used for a token", needs.experts, needs.experts_used));
    let (least, most) = (needs.expert_bytes.iter().min(), needs.expert_bytes.iter().max());
    let expert = match (least, most) {
        (Some(least), Some(most)) if least != most => {
            format!("{} to {}, by layer", Bytes(*least as u64), Bytes(*most as u64))
        }
        (Some(bytes), _) => Bytes(*bytes as u64).to_string(),
        _ => "none".to_owned(),
    };
    lines.row("one expert", expert);
    let kv = &needs.kv_bytes_per_token;
    let layers = needs.attention_layers;
    let kv = format!("{} a token (f16), {} (f32), in {layers} layers", Bytes(kv.f16), Bytes(kv.f32));
    lines.row("keys and values", kv);
    lines.row("recurrent state", format!("{} a sequence", Bytes(needs.state_bytes)));

    let plan = &needs.plan;
    lines.heading(&format!(
        "memory to run it (--ctx-size {} --batch {} --kv-type {})",
        plan.context, plan.batch, plan.kv_type
    ));
    lines.row("dense weights", Bytes(plan.dense_bytes));
    lines.row("experts", Bytes(plan.expert_bytes));
    lines.row("context", Bytes(plan.kv_bytes));
    lines.row("states", Bytes(plan.state_bytes));
    lines.row("scratch", Bytes(plan.scratch_bytes));
    lines.row("all", Bytes(plan.total_bytes));
    let available = match needs.available_bytes {
        Some(bytes) if bytes >= plan.total_bytes => format!("{}: enough", Bytes(bytes)),
        Some(bytes) => format!("{}: not enough", Bytes(bytes)),
        None => "this system does not say".to_owned(),
    };
    lines.row("available now", available);
}

fn describe_tokenizer(report: &Report, lines: &mut Lines) {
    lines.heading("tokenizer");
    if let Some(problem) = &report.tokenizer_problem {
        lines.row("usable", format!("no: {}", printable(problem)));
    }
    if let Some(tokenizer) = &report.tokenizer {
        describe_vocabulary(tokenizer, lines);
    }
    lines.row("chat template", if report.chat_template { "yes" } else { "no" });
}

fn describe_vocabulary(tokenizer: &TokenizerReport, lines: &mut Lines) {
    let kinds: Vec<String> = tokenizer.kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    lines.row("splitting rule", printable(&tokenizer.pre));
    lines.row("tokens", format!("{} ({})", tokenizer.tokens, kinds.join(", ")));
    lines.row("merges", tokenizer.merges);
    let id = |id: Option<u32>| id.map_or("none".to_owned(), |id| id.to_string());
    let begin = if tokenizer.add_begin { ", put before every prompt" } else { "" };
    lines.row("begin token", format!("{}{begin}", id(tokenizer.begin)));
    lines.row("end token", id(tokenizer.end));
    let ends = tokenizer.end_tokens.iter().map(|end| format!("{} {}", end.id, quoted(end.text.as_bytes())));
    lines.row("ends a text", ends.collect::<Vec<_>>().join(", "));
}

fn metadata_value(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => printable(text),
        serde_json::Value::Object(array) => {
            let text = |key: &str| array.get(key).map(|value| value.to_string().replace('"', "")).unwrap_or_default();
            let length = text("length");
            let elements = if length == "1" { "element" } else { "elements" };
            format!("{}, {length} {elements}", text("type"))
        }
        value => printable(&value.to_string()),
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(VALUE_SHOWN) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

/// A text of headings and rows.
#[derive(Default)]
struct Lines(String);

impl Lines {
    fn heading(&mut self, text: &str) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.0 += &format!("{text}\n");
    }

    fn row(&mut self, name: &str, value: impl Display) {
        self.0 += format!("  {name:<44} {value}").trim_end();
        self.0.push('\n');
    }
}
