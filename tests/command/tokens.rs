//! `redlite tokenize` and `redlite detokenize`.

use crate::command::{run, run_with_input};
use crate::models::vocabulary_only;

#[test]
fn tokens_are_shown_one_a_line_with_every_byte_to_be_told() {
    let text = "    697  \"fn\"\n   1358  \" main\"\n    292  \"()\"\n    297  \" {\\n\"\n";
    assert_eq!(run(&["tokenize", "fn main() {\n"]).text(), text);
    let emoji = run(&["tokenize", "😀"]);
    assert!(emoji.text().contains("\"\\xf0\\x9f\""), "{}", emoji.text());
}

#[test]
fn bare_ids_stand_on_one_line() {
    assert_eq!(run(&["tokenize", "--ids", "The Rust compiler"]).text(), "807 504 1444\n");
    assert_eq!(run(&["tokenize", "--ids", ""]).text(), "\n");
}

#[test]
fn control_tokens_stay_text_unless_asked_for() {
    assert_eq!(run(&["tokenize", "--ids", "--special", "<|im_end|>"]).text(), "8187\n");
    assert!(run(&["tokenize", "--ids", "<|im_end|>"]).text().contains(' '));
}

#[test]
fn detokenize_gives_back_every_byte_that_tokenize_read() {
    let text = "fn main() {\r\n\tlet é = \"e\u{301} 👩\u{200d}🚀 中文\";   \n}\n\n<|im_end|>\0";
    for special in [&[][..], &["--special"]] {
        let ids = run_with_input(&[&["tokenize", "--ids", "-"], special].concat(), text.as_bytes());
        let back = run_with_input(&["detokenize", "-"], ids.text().as_bytes());
        assert_eq!(back.text(), text);
    }
    assert_eq!(run(&["detokenize", "807,504", "1444"]).text(), "The Rust compiler");
    assert_eq!(run_with_input(&["detokenize", "-"], b"\n").text(), "");
}

#[test]
fn half_a_character_comes_out_as_its_bytes() {
    assert_eq!(run(&["detokenize", "5584"]).out, b"\xf0\x9f");
}

#[test]
fn a_vocabulary_without_a_model_is_enough() {
    let directory = tempfile::tempdir().unwrap();
    let path = vocabulary_only(directory.path());
    let path = path.to_str().unwrap();
    let ids = run(&["tokenize", "--ids", "--special", "-m", path, "Hello<|im_end|>"]);
    assert_eq!(ids.text(), "9707 151645\n");
    assert_eq!(run(&["detokenize", "-m", path, "9707 151645"]).text(), "Hello<|im_end|>");
}
