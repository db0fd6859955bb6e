//! Which tokens end a generation.

use super::vocabulary::Vocabulary;

/// Texts by which a token that ends a turn, a message or a text is known in the model families.
const END_TEXTS: [&str; 25] = [
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "</s>",
    "<|eom_id|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "<|end_of_text|>",
    "<end_of_utterance>",
    "<eos>",
    "<turn|>",
    "<|tool_response>",
    "<｜end▁of▁sentence｜>",
    "[e~[",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
];

/// The tokens the file names as ends and the special tokens known by their text, in ascending order.
///
/// An ordinary token with such a text is none of them: vocabularies of code hold `</s>` as the end of an HTML
/// element.
pub(super) fn end_tokens(vocabulary: &Vocabulary) -> Vec<u32> {
    let entries = (0u32..).zip(vocabulary.tokens.iter().zip(&vocabulary.kinds));
    let known = entries.filter(|(_, (text, kind))| kind.is_special() && END_TEXTS.contains(&text.as_str()));
    let named = vocabulary.end.iter().chain(&vocabulary.further_ends).copied();
    let mut ids: Vec<u32> = known.map(|(id, _)| id).chain(named).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}
