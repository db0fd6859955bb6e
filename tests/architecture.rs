//! What holds for the source as a whole: layer order, `unsafe`, sizes, and what may lie where.
//!
//! The code map in `src/lib.rs` is the table of layers. It is read here, so that what newcomers read is what is checked.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Lines of the longest source file.
const MAX_LINES: usize = 800;

/// Bytes of all fixtures together.
const MAX_FIXTURE_BYTES: u64 = 45 << 20;

/// The files that may contain `unsafe`.
const UNSAFE_FILES: [&str; 4] = [
    "src/backend/gpu/launcher.rs",
    "src/backend/gpu/native/metal.rs",
    "src/backend/gpu/native/vulkan.rs",
    "src/quant/simd.rs",
];

/// What may lie at the top, besides names that begin with a dot or with `LICENSE`.
const TOP_LEVEL: [&str; 10] =
    ["Cargo.toml", "Cargo.lock", "src", "wgsl", "msl", "tests", "fixtures", "ci", "docs", "README.md"];

/// A file of the repository that holds text.
struct Source {
    /// Relative to the repository, with `/`.
    path: String,
    text: String,
}

impl Source {
    /// All lines with their numbers.
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }

    /// The text before the unit tests, which stand last.
    fn production(&self) -> &str {
        self.text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default()
    }

    /// The module of the library that the file belongs to; none for `lib.rs` and the commands.
    fn module(&self) -> Option<&str> {
        let inner = self.path.strip_prefix("src/")?;
        let top = inner.split('/').next()?;
        let module = top.strip_suffix(".rs").unwrap_or(top);
        (!["lib", "main", "bin"].contains(&module)).then_some(module)
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// All files below a folder of the repository, relative to the repository.
fn files_below(folder: &str) -> Vec<String> {
    let mut folders = vec![root().join(folder)];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(relative(&path)) }
        }
    }
    files.sort_unstable();
    files
}

fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/")
}

/// The Rust files below a folder.
fn rust_files(folder: &str) -> Vec<Source> {
    let paths = files_below(folder).into_iter().filter(|path| path.ends_with(".rs"));
    let files: Vec<Source> = paths.map(|path| Source { text: read(&path), path }).collect();
    assert!(!files.is_empty(), "no Rust files below {folder}");
    files
}

/// The files that the repository consists of: those that git tracks or, without git, all but hidden ones and `target`.
fn repository_files() -> Vec<String> {
    let git = Command::new("git").args(["-c", "safe.directory=*", "ls-files", "-z"]).current_dir(root()).output();
    let tracked: Vec<String> = match git {
        Ok(output) if output.status.success() => {
            String::from_utf8(output.stdout).unwrap().split_terminator('\0').map(str::to_owned).collect()
        }
        _ => Vec::new(),
    };
    if !tracked.is_empty() {
        return tracked.into_iter().filter(|path| root().join(path).is_file()).collect();
    }
    let entries = fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().path());
    let entries: Vec<PathBuf> =
        entries.filter(|path| !relative(path).starts_with('.') && relative(path) != "target").collect();
    let of = |path: &PathBuf| if path.is_dir() { files_below(&relative(path)) } else { vec![relative(path)] };
    entries.iter().flat_map(of).collect()
}

/// The modules of the library from the bottom up, as the code map in `src/lib.rs` lists them.
fn code_map() -> Vec<String> {
    let text = read("src/lib.rs");
    let rows = text.lines().filter_map(|line| line.strip_prefix("//! | ")?.split('`').nth(1));
    rows.map(str::to_owned).collect()
}

fn last_line(text: &str) -> &str {
    text.rsplit('\n').next().unwrap_or_default()
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

fn is_name_character(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn contains_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + word.len()..].chars().next();
        !before.is_some_and(is_name_character) && !after.is_some_and(is_name_character)
    })
}

/// The modules that a file names by `crate::`, each with the line it stands in.
fn modules_used(source: &Source) -> Vec<(usize, String)> {
    let code: String =
        source.lines().map(|(_, line)| if is_comment(line) { "\n".into() } else { format!("{line}\n") }).collect();
    let mut found = Vec::new();
    for (start, prefix) in code.match_indices("crate::") {
        let line = code[..start].matches('\n').count() + 1;
        let rest = &code[start + prefix.len()..];
        match rest.strip_prefix('{') {
            Some(list) => found.extend(first_level_names(list).into_iter().map(|name| (line, name))),
            None => found.push((line, name_at_start(rest).to_owned())),
        }
    }
    found
}

/// Of `a, b::{c, d}}`: `a` and `b`.
fn first_level_names(list: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut depth = 1;
    for part in list.split_inclusive([',', '{', '}']) {
        let name = name_at_start(part.trim_start());
        if depth == 1 && !name.is_empty() {
            names.push(name.to_owned());
        }
        depth += i32::from(part.ends_with('{')) - i32::from(part.ends_with('}'));
        if depth == 0 {
            break;
        }
    }
    names
}

fn name_at_start(text: &str) -> &str {
    &text[..text.find(|c: char| !is_name_character(c)).unwrap_or(text.len())]
}

/// Fails with all that was found, a line each.
fn assert_none(rule: &str, found: &[String]) {
    assert!(found.is_empty(), "{rule}:\n  {}", found.join("\n  "));
}

#[test]
fn the_code_map_lists_every_module_of_the_library() {
    let map = code_map();
    let listed: BTreeSet<&str> = map.iter().map(String::as_str).collect();
    assert_eq!(listed.len(), map.len(), "a module has two rows: {map:?}");
    let text = read("src/lib.rs");
    let declared = text.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    let declared: BTreeSet<&str> = declared.collect();
    assert_eq!(listed, declared, "rows of the code map in src/lib.rs, and its modules");
    let sources = rust_files("src");
    let present: BTreeSet<&str> = sources.iter().filter_map(Source::module).collect();
    assert_eq!(present, declared, "files in src, and the modules of src/lib.rs");
}

#[test]
fn modules_know_only_those_above_them_in_the_code_map() {
    let map = code_map();
    let layer = |module: &str| map.iter().position(|name| name == module);
    let mut wrong = Vec::new();
    let mut checked = 0;
    for source in rust_files("src") {
        let Some(module) = source.module() else { continue };
        let own = layer(module);
        assert!(own.is_some(), "{}: `{module}` has no row in the code map", source.path);
        for (line, used) in modules_used(&source) {
            checked += 1;
            match layer(&used) {
                None => wrong.push(format!("{}:{line}: `{used}` has no row in the code map", source.path)),
                used_layer if used_layer > own => {
                    wrong.push(format!("{}:{line}: `{module}` is below `{used}`", source.path));
                }
                _ => {}
            }
        }
    }
    assert!(checked > 50, "only {checked} uses were found; is the search broken?");
    assert_none("a module uses only those above it in the code map of src/lib.rs", &wrong);
}

#[test]
fn other_modules_are_named_from_the_crate_root() {
    let mut wrong = Vec::new();
    for source in rust_files("src").iter().filter(|source| source.module().is_some()) {
        let parts = source.path.split('/').filter(|part| *part != "mod.rs").count() - 1;
        let out_of_the_module = "super::".repeat(parts);
        if source.production().contains(&out_of_the_module) {
            wrong.push(format!("{}: `{out_of_the_module}` leaves the module", source.path));
        }
    }
    assert_none(
        "a path that leaves a top module begins with `crate::`, so that the layer order can be checked",
        &wrong,
    );
}

#[test]
fn the_readme_names_every_module() {
    let readme = read("README.md");
    let missing: Vec<String> =
        code_map().into_iter().filter(|module| !readme.contains(&format!("`{module}`"))).collect();
    assert_none("modules that the code map of README.md does not name", &missing);
}

#[test]
fn unsafe_stands_in_few_files_and_says_above_why_it_is_sound() {
    let mut wrong = Vec::new();
    let mut found = BTreeSet::new();
    for source in rust_files("src") {
        let lines: Vec<&str> = source.text.lines().collect();
        for (number, _) in source.lines().filter(|(_, line)| !is_comment(line) && contains_word(line, "unsafe")) {
            found.insert(source.path.clone());
            let above = lines[..number - 1].iter().rev().map(|line| line.trim_start());
            let mut above = above.skip_while(|line| line.starts_with("#[")).take_while(|line| line.starts_with("//"));
            if !above.any(|line| line.starts_with("// SAFETY: ")) {
                wrong.push(format!("{}:{number}", source.path));
            }
        }
    }
    assert_eq!(found, UNSAFE_FILES.map(String::from).into(), "files with `unsafe`, and those that may have it");
    assert_none("`unsafe` without a `// SAFETY:` comment directly above it", &wrong);
}

#[test]
fn a_panic_outside_tests_names_the_invariant_that_was_broken() {
    let mut wrong = Vec::new();
    for source in rust_files("src") {
        let text = source.production();
        let calls = |call| text.match_indices(call).filter(|(start, _)| !is_comment(last_line(&text[..*start])));
        for (start, _) in calls(".unwrap()") {
            wrong.push(format!("{}:{}: unwrap", source.path, text[..start].lines().count()));
        }
        for (start, call) in calls(".expect(") {
            if !text[start + call.len()..].trim_start().starts_with('"') {
                wrong.push(format!("{}:{}: expect", source.path, text[..start].lines().count()));
            }
        }
    }
    assert_none("`unwrap`, or `expect` without words of its own, outside tests", &wrong);
}

#[test]
fn unit_tests_stand_at_the_end_of_their_file() {
    let mut wrong = Vec::new();
    for source in rust_files("src") {
        let tests = &source.text[source.production().len()..];
        let ends = tests.lines().filter(|line| *line == "}").count();
        let stray = source.production().contains("mod tests {");
        if stray || (!tests.is_empty() && (ends != 1 || !tests.ends_with("\n}\n"))) {
            wrong.push(source.path);
        }
    }
    assert_none("unit tests are one `#[cfg(test)] mod tests` at the end of the file", &wrong);
}

#[test]
fn source_files_are_short_and_say_at_the_top_what_they_are() {
    let (mut long, mut silent) = (Vec::new(), Vec::new());
    for source in rust_files("src").into_iter().chain(rust_files("tests")) {
        let lines = source.text.lines().count();
        if lines > MAX_LINES {
            long.push(format!("{}: {lines} lines", source.path));
        }
        if !source.text.starts_with("//! ") {
            silent.push(source.path);
        }
    }
    assert_none(&format!("files of more than {MAX_LINES} lines"), &long);
    assert_none("files that do not begin with a `//!` comment", &silent);
}

#[test]
fn nothing_unfinished_is_left_in_the_source() {
    // Put together here, so that this file does not contain them.
    let marks = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("db", "g!("),
        concat!("to", "do!("),
        concat!("unimple", "mented!("),
    ];
    let mut found = Vec::new();
    for source in rust_files("src").into_iter().chain(rust_files("tests")) {
        for (number, line) in source.lines() {
            if let Some(mark) = marks.iter().find(|mark| line.contains(**mark)) {
                found.push(format!("{}:{number}: {mark}", source.path));
            }
        }
    }
    assert_none("left over", &found);
}

#[test]
fn nothing_lies_at_the_top_but_what_belongs_there() {
    let files = repository_files();
    let entries: BTreeSet<&str> = files.iter().filter_map(|path| path.split('/').next()).collect();
    let allowed = |entry: &&&str| TOP_LEVEL.contains(*entry) || entry.starts_with('.') || entry.starts_with("LICENSE");
    let others: Vec<String> = entries.iter().filter(|entry| !allowed(entry)).map(ToString::to_string).collect();
    assert_none("entries at the top of the repository", &others);
    let missing = TOP_LEVEL.iter().filter(|entry| !root().join(entry).exists());
    assert_none("missing at the top", &missing.map(ToString::to_string).collect::<Vec<_>>());
}

#[test]
fn the_repository_names_no_folder_of_a_developers_machine() {
    let folders = ["home", "root", "work", "Users"].map(|name| format!("/{name}/"));
    let mut found = Vec::new();
    for path in repository_files() {
        // What is not UTF-8 is a model or an array.
        let Ok(text) = String::from_utf8(fs::read(root().join(&path)).unwrap()) else { continue };
        for (number, line) in (1..).zip(text.lines()) {
            // A folder's name is a path's beginning: no other name stands before it.
            let absolute = |folder: &String| {
                line.match_indices(folder).any(|(start, _)| {
                    !line[..start].chars().next_back().is_some_and(|c| is_name_character(c) || ".-~/".contains(c))
                })
            };
            if folders.iter().any(absolute) {
                found.push(format!("{path}:{number}: {}", line.chars().take(100).collect::<String>()));
            }
        }
    }
    assert_none("paths of one machine", &found);
}

#[test]
fn the_fixtures_stay_small() {
    let bytes: u64 = files_below("fixtures").iter().map(|path| fs::metadata(root().join(path)).unwrap().len()).sum();
    assert!(bytes > 0 && bytes <= MAX_FIXTURE_BYTES, "fixtures take {bytes} bytes of {MAX_FIXTURE_BYTES}");
}
