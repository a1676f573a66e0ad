//! What askuser itself keeps: questions and answers, permissions, settings. Whoever changes them decides in the person's
//! place, so whatever touches them is asked for each time, in every mode and whatever has been allowed.
//!
//! For files that is a wall. For commands it is one as far as their words tell: a command that makes up its words as it runs
//! gets past it where commands are not asked for at all.

use super::confined_path::resolve_links;
use globset::Glob;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Programs, and options of programs, that change whatever is below a folder they are given.
const CHANGE_FOLDERS: &[&str] = &[
    "cp", "mv", "rm", "rmdir", "ln", "dd", "install", "rsync", "scp", "tar", "bsdtar", "unzip", "cpio", "chmod",
    "chown", "chgrp", "mount", "shred", "-delete", "-exec", "-execdir",
];

/// Words after which a path does not begin in the working folder.
const GO_ELSEWHERE: &[&str] = &["cd", "pushd", "chdir", "-C", "--chdir", "--directory"];

/// Whether this file, without links, is among what is kept.
pub(crate) fn is_protected(file: &Path, protected: &[PathBuf]) -> bool {
    let names = lower_names(file);
    protected.iter().any(|kept| leads_to(&names, &lower_names(&real(kept))) == Some(Leads::Inside))
}

/// Whether a command, as far as its words tell, would answer or take back a question, or touch what is kept.
pub(crate) fn decides_for_the_person(command: &str, cwd: &Path, protected: &[PathBuf]) -> bool {
    let cwd = std::path::absolute(cwd).unwrap_or_else(|_| cwd.to_owned());
    let words = words_inside(command, SHELLS_DEEP);
    let text = format!("{command}\n{}", words.join(" ")).to_lowercase();
    let acts = ["answer", "withdraw", "inbox", "config", "allowed.json"].iter().any(|word| text.contains(word));
    if text.contains("askuser") && acts {
        return true;
    }
    let name = |word: &'_ String| word.rsplit('/').next().unwrap_or_default().to_lowercase();
    let changes_folders = words.iter().any(|word| CHANGE_FOLDERS.contains(&name(word).as_str()));
    let kept: Vec<Vec<String>> = protected.iter().map(|kept| lower_names(&real(kept))).collect();
    let paths: Vec<PathBuf> = words.iter().flat_map(|word| paths(word)).map(|path| expanded(path).into()).collect();
    let leads = |path: &Path| {
        let names = lower_names(&real_before_patterns(path));
        kept.iter().any(|kept| match leads_to(&names, kept) {
            Some(Leads::Inside) => true,
            Some(Leads::Above) => changes_folders,
            None => false,
        })
    };
    // Once it goes elsewhere, a path may begin in the home folder or in any folder that it names.
    let goes = words.iter().any(|word| GO_ELSEWHERE.contains(&word.as_str()));
    let elsewhere = || paths.iter().cloned().chain([expanded("~").into()]).map(|folder| cwd.join(folder));
    paths.iter().any(|path| leads(&cwd.join(path)) || (goes && elsewhere().any(|folder| leads(&folder.join(path)))))
}

/// How deep a command is looked for in the words of another, as in `sh -c 'cat "x"'`.
const SHELLS_DEEP: usize = 3;

/// The words of a command, and those of commands that its words may be.
fn words_inside(command: &str, depth: usize) -> Vec<String> {
    let mut found = words(command);
    if depth > 0 {
        let is_command = |word: &&String| word.contains([' ', '\t', '\n', '\'', '"', '\\']);
        let inside: Vec<String> =
            found.iter().filter(is_command).flat_map(|word| words_inside(word, depth - 1)).collect();
        found.extend(inside);
    }
    found
}

/// How a path leads to what is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leads {
    /// It is that, or is in it.
    Inside,
    /// It contains that.
    Above,
}

fn leads_to(path: &[String], kept: &[String]) -> Option<Leads> {
    let matches = |(pattern, name): (&String, &String)| match has_pattern(pattern) {
        true => Glob::new(pattern).map_or(true, |pattern| pattern.compile_matcher().is_match(name)),
        false => pattern == name,
    };
    let leads = if path.len() < kept.len() { Leads::Above } else { Leads::Inside };
    path.iter().zip(kept).all(matches).then_some(leads)
}

/// The names of a path; some file systems ignore case.
fn lower_names(path: &Path) -> Vec<String> {
    path.components().map(|name| name.as_os_str().to_string_lossy().to_lowercase()).collect()
}

fn has_pattern(name: &str) -> bool {
    name.contains(['*', '?', '[', '{'])
}

/// Without links and dots, where it can be followed.
fn real(path: &Path) -> PathBuf {
    resolve_links(path).unwrap_or_else(|_| {
        let mut plain = PathBuf::new();
        path.components().for_each(|part| match part {
            std::path::Component::ParentDir => _ = plain.pop(),
            std::path::Component::CurDir => {}
            part => plain.push(part),
        });
        plain
    })
}

/// The same up to the first name with a pattern, which is the shell's to follow.
fn real_before_patterns(path: &Path) -> PathBuf {
    let plain: PathBuf =
        path.components().take_while(|name| !has_pattern(&name.as_os_str().to_string_lossy())).collect();
    let rest = path.components().skip(plain.components().count());
    rest.fold(real(&plain), |path, name| path.join(name))
}

/// The parts of a word that may be paths: all of it, what follows `-t` or `--option=`, and what is inside of a script.
fn paths(word: &str) -> impl Iterator<Item = &str> {
    let attached = word.strip_prefix('-').and_then(|option| option.get(1..));
    let parts = word.split(['=', ':', ',', '@', ' ', '\t', '\n', '\'', '"', ';', '|', '&', '<', '>', '(', ')']);
    [word].into_iter().chain(attached).chain(parts).filter(|path| !path.is_empty())
}

/// With the home folder and the values of variables, as a shell puts them in.
fn expanded(path: &str) -> OsString {
    let mut out = OsString::new();
    let mut rest = path;
    if let Some(below) = path.strip_prefix('~').filter(|below| below.is_empty() || below.starts_with('/')) {
        out.push(std::env::var_os("HOME").unwrap_or_default());
        rest = below;
    }
    while let Some((before, after)) = rest.split_once('$') {
        out.push(before);
        let after = after.strip_prefix('{').unwrap_or(after);
        let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
        // Not an empty name: that is no variable for a shell either.
        out.push(if end == 0 { "$".into() } else { std::env::var_os(&after[..end]).unwrap_or_default() });
        rest = after[end..].strip_prefix('}').unwrap_or(&after[end..]);
    }
    out.push(rest);
    out
}

/// The words of any command, without quotes and escapes, as far as that can be told without being a shell.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None | Some('"'), '\\') => word.extend(chars.next().filter(|c| *c != '\n')),
            (None, c) if c.is_whitespace() || ";|&<>()`".contains(c) => words.push(std::mem::take(&mut word)),
            (_, c) => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_would_answer_for_the_person_is_told_from_one_that_only_mentions_it() {
        for command in [
            "askuser answer 3f2a",
            "AskUser withdraw 3f2a",
            "askuser inbox",
            "askuser config set",
            "sh -c 'askuser answer'",
        ] {
            assert!(decides_for_the_person(command, Path::new("/folder"), &[]), "{command}");
        }
        for command in ["cargo test -p askuser", "git log --grep=answer", "ls inbox", "ls"] {
            assert!(!decides_for_the_person(command, Path::new("/folder"), &[]), "{command}");
        }
    }

    #[test]
    fn quotes_inside_of_a_command_for_another_shell_do_not_hide_what_is_kept() {
        let protected = [PathBuf::from("/home/me/state/askuser")];
        for command in [
            r#"bash -c 'cp a ../state/ask"user"/allowed.json'"#,
            r#"sh -c 'cp a /home/me/state/ask""user/x'"#,
            r#"sh -c "sh -c 'cat /home/me/state/ask\\user/x'""#,
            "bash -c 'cd ../state; cd ask?ser; cat x'",
        ] {
            assert!(decides_for_the_person(command, Path::new("/home/me/project"), &protected), "{command}");
        }
        for command in ["bash -c 'cat src/x'", "git commit -m 'say \"askuser\"'", "sh -c 'cd ../other; ls'"] {
            assert!(!decides_for_the_person(command, Path::new("/home/me/project"), &protected), "{command}");
        }
    }

    #[test]
    fn a_protected_folder_is_known_however_the_home_folder_is_written() {
        let home = PathBuf::from(std::env::var_os("HOME").expect("a home folder"));
        let protected = [home.join(".state/kept"), "/protected".into()];
        let full = format!("cat {}/.state/kept/x", home.display());
        for command in
            [&full, "cat ~/.state/kept/x", "cat $HOME/.state/kept/x", "cd; cat .state/kept/x", "cat /protected"]
        {
            assert!(decides_for_the_person(command, Path::new("/folder"), &protected), "{command}");
        }
        assert!(!decides_for_the_person("cat ~/.state/other", Path::new("/folder"), &protected));
        assert!(
            !decides_for_the_person("ls", Path::new("/folder"), &[home]),
            "not every command is in the home folder"
        );
    }
    use std::fs;

    /// A working folder beside the state folder, which has a link to it.
    fn folders() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().canonicalize().unwrap();
        let (cwd, state) = (root.join("a/work"), root.join("home/state"));
        fs::create_dir_all(&cwd).unwrap();
        fs::create_dir_all(state.join("askuser")).unwrap();
        std::os::unix::fs::symlink(&state, cwd.join("notes")).unwrap();
        (outer, cwd, state.join("askuser"))
    }

    #[test]
    fn quotes_inside_of_a_word_do_not_hide_what_is_kept() {
        let (_outer, cwd, kept) = folders();
        let state = kept.parent().unwrap().display();
        for command in [
            "cp a ../../home/state/ask\"user\"/allowed.json",
            "cp a ../../home/state/\"askuser\"/allowed.json",
            "cp a ../../home/state/a'sk'user/x",
            "cp a ../../home/state/ask\\user/x",
            "cat ../../home/state/ask\"user\"/x",
            "rm -r ../../home/state/ask\"user\"/sessions/x",
            "ask\"user\" answer 3f2a",
            "a's'kuser with\"draw\" 3f2a",
            "bash -c 'cat ../../home/state/askuser/x'",
            "x=../../home/state/askuser/x; cat $x",
            "dd if=a of=../../home/state/askuser/x",
            "tool --into=../../home/state/askuser",
            "cp -t../../home/state/askuser a",
            "cat <../../home/state/ASKUSER/x",
            "cat ../../home/state/ask*/x",
            "cat ../../home/*/{askuser,b}/x",
        ] {
            assert!(decides_for_the_person(command, &cwd, std::slice::from_ref(&kept)), "{command}");
        }
        let absolute = format!("cat {state}/ask''user/x");
        assert!(decides_for_the_person(&absolute, &cwd, &[kept]), "{absolute}");
    }

    #[test]
    fn what_is_kept_is_not_replaced_with_a_folder_above_it_or_through_a_link() {
        let (_outer, cwd, kept) = folders();
        for command in [
            "cp -r fake/. ../../home/state",
            "cp -rT fake ../../home/state",
            "cp -r fake/. ../../ho'me'",
            "rm -rf ../../home",
            "mv fake/askuser notes/",
            "cat notes/askuser/x",
            "ls notes/../state/askuser",
            "tar -xf x.tar -C ../../home",
            "find ../.. -delete",
            "rm -rf ../../home/*",
        ] {
            assert!(decides_for_the_person(command, &cwd, std::slice::from_ref(&kept)), "{command}");
        }
    }

    #[test]
    fn what_only_looks_around_or_works_elsewhere_is_not_taken_for_it() {
        let (_outer, cwd, kept) = folders();
        for command in [
            "ls ../..",
            "find ../.. -name x",
            "cut -d / -f 1",
            "cp a ../../home/statement",
            "rm -rf build",
            "cp -r a ../b",
            "echo 'rm' > notes.txt",
            "grep -rn askuser src",
        ] {
            assert!(!decides_for_the_person(command, &cwd, std::slice::from_ref(&kept)), "{command}");
        }
    }

    #[test]
    fn the_home_folder_and_variables_are_read_as_a_shell_reads_them() {
        let home = std::env::var_os("HOME").unwrap_or_default();
        let below = |rest: &str| {
            let mut path = home.clone();
            path.push(rest);
            path
        };
        assert_eq!(expanded("~"), home);
        assert_eq!(expanded("~/x"), below("/x"));
        assert_eq!(expanded("$HOME/x"), below("/x"));
        assert_eq!(expanded("${HOME}/x"), below("/x"));
        assert_eq!(expanded("a~b$"), "a~b$");
        assert_eq!(expanded("$askuser_is_not_set/x"), "/x");
    }
}
