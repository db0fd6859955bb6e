"""Records what the Hugging Face `tokenizers` library makes of the texts below.

    pip install tokenizers gguf
    python ci/make_tokenizer_fixtures.py TOKENIZER_JSON

TOKENIZER_JSON is the tokenizer.json of the embedded model. Writes fixtures/tokenizer/*.json, which
tests/tokenizer compares Red Lite's encodings with:

    {"cases": [{"split": "qwen2", "text": ..., "plain": [ids], "special": [ids]}, ...]}

`plain` treats the whole text as text, `special` recognises control and user-defined tokens in it. The library is
used without the Unicode normalisation (NFC) that these tokenizers declare, since Red Lite, like llama.cpp, does none.
"""

import json
import lzma
import pathlib
import sys
import tempfile
import unicodedata

import gguf
from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
FIXTURES = REPOSITORY / "fixtures"

SPLITS = {
    "qwen2": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "qwen35": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}

CODE = """\
// Sums the even squares below a limit.
pub fn even_squares(limit: u64) -> u64 {
    let mut total = 0_u64;
    for n in (0..).take_while(|n| n * n < limit) {
        if n % 2 == 0 {
            total += n * n; // never overflows: 0xFFFF_FFFF
        }
    }
    total
}

#[test]
fn below_one_hundred() {
\tassert_eq!(even_squares(100), 120, "4 + 16 + 36 + 64");
}
"""

TEXTS = [
    "",
    " ",
    "\n",
    "\r",
    "\r\n",
    "\t",
    "  ",
    "\n\n\n",
    "Hello, world!",
    " leading and trailing ",
    "two  three   four    blanks",
    "a" + " " * 100 + "b",
    " " * 257,
    "\t\tint x;\n\t\t\treturn x;\n",
    "mixed \t \n \t\n  \r\n\r\n \t end",
    "line one\r\nline two\r\n\r\nline four\r",
    "trailing blanks   \n   and leading ones",
    "0123456789 3.14159 1,000,000 0xDEADBEEF 1e-5 v2.0.1",
    "half \u00bd, squared x\u00b2, roman \u2163, circled \u2460, Arabic digits \u0661\u0662\u0663",
    "I'm you're we've they'll he'd it's don't",
    "I'M YOU'RE WE'VE THEY'LL HE'D IT'S DON'T",
    "'sudden 'twas 'reality 'Visible ''ll '",
    "it\u2019s a typographic apostrophe, and '\u017fame with a long s",
    "fn main() { println!(\"{}\", a[0] += b::<T>()?); } // => ->\n",
    CODE,
    "!!!???...;;;---===***\n\n(((([[[[{{{{",
    "snake_case_name camelCaseName SCREAMING_NAME kebab-case-name",
    "https://example.org/a/b?c=d&e=f#g user@example.org C:\\dir\\file.txt",
    "\u00fcber na\u00efve caf\u00e9 \u00c5ngstr\u00f6m stra\u00dfe \u0141\u00f3d\u017a",
    "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440! \u0393\u03b5\u03b9\u03ac \u03c3\u03bf\u03c5 \u03ba\u03cc\u03c3\u03bc\u03b5",
    "\u4f60\u597d\uff0c\u4e16\u754c\uff01\u8fd9\u662f\u4e00\u4e2a\u6d4b\u8bd5\u30022024\u5e74",
    "\u3053\u3093\u306b\u3061\u306f\u4e16\u754c\u3002\u30ab\u30bf\u30ab\u30ca\uff76\uff85 \ud55c\uad6d\uc5b4 \ud14d\uc2a4\ud2b8",
    "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01 \u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22",
    "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645\u060c \u0627\u0644\u0644\u063a\u0629 \u0627\u0644\u0639\u0631\u0628\u064a\u0629",
    "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd \u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e",
    "\U0001f600\U0001f680 \U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 \U0001f44d\U0001f3fd \U0001f1e9\U0001f1ea \u2764\ufe0f",
    "e\u0301 cafe\u0301 n\u0303a a\u0308\u0323b \u0301alone",
    "\u1100\u1161\u11a8 \u0915\u093c \u212b \ufb01nal",
    "\u0e01\u0e33 \u0e19\u0e49\u0e33 Zalgo\u0335\u0321\u0489",
    "no-break\u00a0space ideographic\u3000space thin\u2009space \u2028 line separator",
    "\u00a0\u00a0x \u3000\u3000y  \u3000 z\u00a0",
    "\x00\x01\x07\x1b[31mred\x1b[0m\x7f",
    "\x85next line\x0bvertical\x0cform feed\u200bzero width\ufeffmark",
    "\U00010348\U0001d54f\U000e0001 \ufdd0\uffff",
    "private \ue000 and replacement \ufffd",
    "x" * 1000,
    "Donaudampfschifffahrtselektrizit\u00e4tenhauptbetriebswerkbauunterbeamtengesellschaft" * 5,
    "\u4e2d" * 200,
    "=" * 300 + "\n",
    "ab" * 300,
    "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n",
    "not <|im_start special |> nor <| im_end |> nor <|im_end|",
    "<<|im_end|>><|im_end|><|im_end|> <|im_end|>",
    "<think>\nhm\n</think>\n\n<tool_call>\n{\"name\": \"f\"}\n</tool_call>",
    "</s> <s> [EOS] [PAD] [PAD151646]x[PAD151935]",
]


def with_special_texts(texts, specials):
    """The texts, and each special text alone and glued to others."""
    glued = [form.format(s) for s in specials for form in ("{}", "a{}b", " {} ", "{0}{0}", "1{}\n", "{}'s")]
    return texts + glued


def bare(vocabulary, merges, split):
    """The library's tokenizer of these ordinary tokens, without normalisation."""
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLITS[split]), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    return tokenizer


def record(name, vocabulary, merges, specials, cases_of, reference=None):
    """Writes one file. `specials` maps ids to texts, `cases_of` splits to texts."""
    cases = []
    for split, texts in cases_of.items():
        plain = bare(vocabulary, merges, split)
        special = bare(vocabulary, merges, split)
        for index, text in sorted(specials.items()):
            special.add_tokens([AddedToken(text, normalized=False)])
            assert special.token_to_id(text) == index, (text, index)
        for text in texts:
            case = {
                "split": split,
                "text": text,
                "plain": plain.encode(text, add_special_tokens=False).ids,
                "special": special.encode(text, add_special_tokens=False).ids,
            }
            if reference is not None and split == "qwen2" and unicodedata.is_normalized("NFC", text):
                assert reference.encode(text, add_special_tokens=False).ids == case["special"], text
            cases.append(case)
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    FIXTURES.joinpath("tokenizer").mkdir(parents=True, exist_ok=True)
    FIXTURES.joinpath("tokenizer", f"{name}.json").write_text(f'{{"cases":[\n{lines}\n]}}\n')


def embedded_model(path):
    """The vocabulary of 8,192 entries, from its tokenizer.json; the tokenizer as published must agree."""
    published = json.loads(pathlib.Path(path).read_text())
    specials = {token["id"]: token["content"] for token in published["added_tokens"]}
    merges = [tuple(merge) for merge in published["model"]["merges"]]
    texts = with_special_texts(TEXTS, list(specials.values()))
    reference = Tokenizer.from_file(path)
    record("mini", published["model"]["vocab"], merges, specials, {"qwen2": texts, "qwen35": TEXTS}, reference)


def qwen2():
    """The vocabulary of 151,936 entries, from its GGUF file."""
    with tempfile.NamedTemporaryFile(suffix=".gguf") as unpacked:
        unpacked.write(lzma.open(FIXTURES / "ggml-vocab-qwen2.gguf.xz").read())
        unpacked.flush()
        fields = gguf.GGUFReader(unpacked.name).fields
        tokens, kinds, merges = (
            fields[f"tokenizer.ggml.{key}"].contents() for key in ("tokens", "token_type", "merges")
        )
    ordinary = {text: index for index, (text, kind) in enumerate(zip(tokens, kinds)) if kind == 1}
    specials = {index: text for index, (text, kind) in enumerate(zip(tokens, kinds)) if kind in (2, 3, 4)}
    merges = [tuple(merge.split(" ", 1)) for merge in merges]
    texts = with_special_texts(TEXTS, [specials[index] for index in sorted(specials)[:4]])
    record("qwen2", ordinary, merges, specials, {"qwen2": texts, "qwen35": TEXTS})


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    embedded_model(sys.argv[1])
    qwen2()
