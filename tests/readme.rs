//! What README.md shows is what happens.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn readme() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap()
}

/// Runs a line of a shell in which `redlite` and `redlite-engine` are known.
fn shell(line: &str) -> Output {
    let programs = Path::new(env!("CARGO_BIN_EXE_redlite")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    Command::new("sh").args(["-c", line]).env("PATH", path).output().unwrap()
}

/// The sessions that are shown: a line that begins with `$ `, and what is shown below it.
fn sessions(readme: &str) -> Vec<(String, String)> {
    let mut sessions: Vec<(String, String)> = Vec::new();
    // Every second part stands in a block.
    for block in readme.split("\n```").skip(1).step_by(2) {
        let mut inside = false;
        for line in block.lines() {
            match (line.strip_prefix("$ "), sessions.last_mut()) {
                (Some(command), _) => {
                    sessions.push((command.to_owned(), String::new()));
                    inside = true;
                }
                (None, Some((_, shown))) if inside => *shown += &format!("{line}\n"),
                _ => {}
            }
        }
    }
    sessions
}

#[test]
fn the_sessions_shown_are_what_the_commands_print() {
    let sessions = sessions(&readme());
    assert!(sessions.len() >= 3, "{sessions:?}");
    for (command, shown) in sessions {
        let output = shell(&command);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}: {error}");
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), shown.trim(), "{command}");
    }
}

#[test]
fn the_logits_of_the_example_are_those_of_llama_cpp() {
    let directory = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures"),
        directory.path().join("fixtures"),
    )
    .unwrap();
    let readme = readme();
    let lines: Vec<&str> = readme
        .lines()
        .filter(|line| ["logits", "parity"].iter().any(|name| line.starts_with(&format!("redlite-engine {name} "))))
        .collect();
    let line = format!("cd '{}' && {}", directory.path().display(), lines.join(" && "));
    let output = shell(&line);
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8(output.stdout).unwrap().contains("PARITY: YES"), "{line}");
}

#[test]
fn the_options_of_generate_are_all_named() {
    let help = shell("redlite generate --help");
    let help = String::from_utf8(help.stdout).unwrap();
    let options: Vec<&str> = help
        .lines()
        .map(str::trim_start)
        // A line that begins with `- ` is a value of an option.
        .filter(|line| line.starts_with('-') && !line.starts_with("- "))
        .map(|line| line.split_whitespace().next().unwrap().trim_end_matches([',', '.']))
        .filter(|option| !["-h", "-V"].contains(option))
        .collect();
    assert!(options.len() >= 20, "{options:?}");
    let readme = readme();
    let named = |option: &str| [format!("`{option}`"), format!("`{option} ")].iter().any(|text| readme.contains(text));
    let missing: Vec<&str> = options.into_iter().filter(|option| !named(option)).collect();
    assert!(missing.is_empty(), "README.md does not name {missing:?}");
}

#[test]
fn every_command_has_a_row() {
    let readme = readme();
    for program in ["redlite", "redlite-engine"] {
        let help = String::from_utf8(shell(&format!("{program} --help")).stdout).unwrap();
        let rows = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
        let commands: Vec<&str> = rows.filter_map(|row| row.strip_prefix("  ")?.split(' ').next()).collect();
        let commands: Vec<&str> = commands.into_iter().filter(|name| !name.is_empty() && *name != "help").collect();
        assert!(commands.len() >= 3, "{program}: {commands:?}");
        for command in commands {
            assert!(
                readme.contains(&format!("\n| `{program} {command}")),
                "README.md has no row for {program} {command}"
            );
        }
    }
}
