//! What the model is told before anything else: its task, where it is, and what the project says about itself.

use std::fs::File;
use std::io::Read;
use std::path::Path;

const SYSTEM: &str = include_str!("../../../prompts/agent/system.txt");

/// Files in which projects tell agents about themselves; the first one found counts.
const NOTES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// More than this is not read: every request pays for it.
const MOST_BYTES: u64 = 20_000;

pub(crate) fn prompt(cwd: &Path) -> String {
    let mut prompt = SYSTEM.trim_ascii_end().to_owned();
    prompt.push_str(&format!("\n\nFolder: {}\nSystem: {}\n", cwd.display(), std::env::consts::OS));
    if let Some((name, notes)) = NOTES.iter().find_map(|name| Some((name, notes(&cwd.join(name))?))) {
        prompt.push_str(&format!("\nThe project's {name}:\n\n{notes}\n"));
    }
    prompt
}

fn notes(path: &Path) -> Option<String> {
    let file = File::open(path).ok().filter(|file| file.metadata().is_ok_and(|metadata| metadata.is_file()))?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).trim().to_owned()).filter(|notes| !notes.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_projects_notes_are_part_of_it_and_bounded() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!prompt(folder.path()).contains("AGENTS.md"));
        std::fs::write(folder.path().join("AGENTS.md"), format!("Use tabs. {}", "x".repeat(50_000))).unwrap();
        let prompt = prompt(folder.path());
        assert!(prompt.contains("The project's AGENTS.md:\n\nUse tabs.") && prompt.len() < 22_000, "{}", prompt.len());
    }
}
