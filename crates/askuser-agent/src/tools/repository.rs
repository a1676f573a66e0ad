//! The repository that a git command would work in, and whether its own settings leave the command what it seems to be.
//!
//! `.git/config` names programs that even `git status` and `git diff` run, and an archive or another program may have brought
//! it. So only settings that are known to run nothing are taken for harmless; so is a repository without submodules, which
//! have settings of their own, and without the one hook that commands run which only look. What cannot be read is not known.

use super::folder::{Folder, Opened};
use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The largest file of settings that is read.
const MAX_SETTINGS: u64 = 256 << 10;
/// The largest index that is read.
const MAX_INDEX: u64 = 64 << 20;
/// How the index marks a submodule.
const SUBMODULE: [u8; 4] = [0, 0, 0xe0, 0];
/// Run when `git status` brings the index up to date.
const HOOK: &str = "post-index-change";

/// Sections of which every setting runs nothing with the commands that rules let through.
const SECTIONS: &[&str] = &[
    "advice",
    "alias",
    "branch",
    "color",
    "commit",
    "fetch",
    "gc",
    "gui",
    "init",
    "maintenance",
    "pull",
    "push",
    "rebase",
    "rerere",
    "tag",
    "user",
];

/// Single settings of which the same is true; `*` stands for any name of a subsection.
#[rustfmt::skip]
const SETTINGS: &[&str] = &[
    "core.repositoryformatversion", "core.filemode", "core.bare", "core.logallrefupdates", "core.ignorecase",
    "core.precomposeunicode", "core.symlinks", "core.autocrlf", "core.safecrlf", "core.eol", "core.abbrev",
    "core.quotepath", "core.longpaths", "core.hidedotfiles", "core.trustctime", "core.checkstat", "core.untrackedcache",
    "core.editor", "core.commentchar", "core.commentstring", "core.excludesfile", "core.sparsecheckout",
    "core.sparsecheckoutcone", "blame.ignorerevsfile", "feature.manyfiles", "index.skiphash", "index.sparse",
    "submodule.recurse", "core.preloadindex", "core.commitgraph", "core.multipackindex", "core.whitespace", "core.sharedrepository",
    "extensions.objectformat", "extensions.refstorage", "extensions.relativeworktrees", "extensions.worktreeconfig",
    "remote.*.url", "remote.*.pushurl", "remote.*.fetch", "remote.*.tagopt", "remote.*.prune", "remote.*.gh-resolved",
    "remote.pushdefault", "checkout.defaultremote", "merge.conflictstyle", "merge.ff", "index.version", "index.threads",
    "diff.algorithm", "diff.colormoved", "diff.colormovedws", "diff.context", "diff.indentheuristic",
    "diff.interhunkcontext", "diff.mnemonicprefix", "diff.noprefix", "diff.renames", "diff.renamelimit",
    "log.abbrevcommit", "log.date", "log.decorate", "status.branch", "status.relativepaths", "status.short",
    "status.showstash", "status.showuntrackedfiles", "lfs.repositoryformatversion",
];

/// The repository that a folder is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Repository {
    /// It is in none.
    None,
    /// Nothing of it runs a program while commands only look at it.
    Plain {
        /// The folder that it is about.
        root: PathBuf,
    },
    /// Something of it might, or cannot be read.
    Unknown,
}

impl Repository {
    /// The one that git finds from this folder.
    pub(crate) fn of(folder: &Path) -> Repository {
        if ["GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE"].iter().any(|name| std::env::var_os(name).is_some()) {
            return Repository::Unknown;
        }
        let Ok(folder) = folder.canonicalize() else { return Repository::Unknown };
        for root in folder.ancestors() {
            let git = root.join(".git");
            let git_folder = match git.symlink_metadata() {
                Err(error) if error.kind() == io::ErrorKind::NotFound => match is_bare(root) {
                    true => return Repository::Unknown,
                    false => continue,
                },
                Ok(metadata) if metadata.is_dir() => Some(git),
                // That of a further working folder says where the rest is.
                Ok(metadata) if metadata.is_file() => named(root, ".git", "gitdir: "),
                _ => None,
            };
            let is_plain = git_folder.is_some_and(|git_folder| is_plain(&git_folder, root).unwrap_or(false));
            return if is_plain { Repository::Plain { root: root.to_owned() } } else { Repository::Unknown };
        }
        Repository::None
    }
}

/// Whether git would take a folder itself for a repository.
fn is_bare(folder: &Path) -> bool {
    ["HEAD", "objects", "refs"].iter().all(|name| folder.join(name).symlink_metadata().is_ok())
}

/// The path that a file in `folder` names.
fn named(folder: &Path, file: &str, before: &str) -> Option<PathBuf> {
    let text = read(folder, file, MAX_SETTINGS).ok().flatten()?;
    let path = std::str::from_utf8(&text).ok()?.strip_prefix(before)?.trim_end_matches(['\n', '\r']).to_owned();
    (!path.is_empty()).then(|| folder.join(path))
}

fn is_plain(git: &Path, root: &Path) -> io::Result<bool> {
    let common = match git.join("commondir").symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => git.to_owned(),
        Err(error) => return Err(error),
        Ok(_) => match named(git, "commondir", "") {
            Some(common) => common,
            None => return Ok(false),
        },
    };
    // One that git does not take for a repository makes it look further up.
    let head = read(git, "HEAD", MAX_SETTINGS)?.unwrap_or_default();
    let is_valid = head.starts_with(b"ref: refs/") || head.len() >= 40 && head[..40].iter().all(u8::is_ascii_hexdigit);
    if !is_valid || !common.join("objects").is_dir() || !common.join("refs").is_dir() {
        return Ok(false);
    }
    let mut hooks = vec![common.join("hooks")];
    for (folder, file) in [(common.as_path(), "config"), (&common, "config.worktree"), (git, "config.worktree")] {
        let Some(text) = read(folder, file, MAX_SETTINGS)? else { continue };
        let Some(further) = std::str::from_utf8(&text).ok().and_then(hook_folders) else { return Ok(false) };
        hooks.extend(further.into_iter().map(|folder| root.join(folder)));
    }
    let has_no_hook = |folder: &PathBuf| {
        let missing = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
        folder.join(HOOK).symlink_metadata().is_err_and(|error| missing.contains(&error.kind()))
    };
    Ok(hooks.iter().all(has_no_hook) && !has_submodules(git)?)
}

/// The folders of hooks that settings name; `None` where one of the settings is not known to be harmless.
fn hook_folders(text: &str) -> Option<Vec<String>> {
    let (mut section, mut folders) = (None, Vec::new());
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';'])) {
        // It may go on in the next line.
        if line.contains('\\') {
            return None;
        }
        if let Some(header) = line.strip_prefix('[') {
            section = Some(section_of(header.strip_suffix(']')?)?);
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, "true"));
        let (section, key) = (section.as_deref()?, lower_word(key.trim())?);
        let setting = format!("{section}.{key}");
        match setting.as_str() {
            "core.hookspath" => folders.push(plain_path(value.trim())?),
            _ if SECTIONS.contains(&section.trim_end_matches(".*")) || SETTINGS.contains(&setting.as_str()) => {}
            _ => return None,
        }
    }
    Some(folders)
}

/// `core` of `core`, `remote.*` of `remote "origin"`.
fn section_of(header: &str) -> Option<String> {
    match header.split_once([' ', '\t']) {
        None => lower_word(header),
        Some((section, name)) => {
            let name = name.trim().strip_prefix('"')?.strip_suffix('"')?;
            (!name.contains('"')).then(|| lower_word(section).map(|section| format!("{section}.*"))).flatten()
        }
    }
}

fn lower_word(word: &str) -> Option<String> {
    let is_word = !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    is_word.then(|| word.to_ascii_lowercase())
}

fn plain_path(value: &str) -> Option<String> {
    (!value.is_empty() && !value.starts_with('~') && !value.contains(['"', '#', ';', '%'])).then(|| value.to_owned())
}

/// Whether submodules are in the index, as far as its bytes tell: some other number may look like their mark.
fn has_submodules(git: &Path) -> io::Result<bool> {
    for entry in std::fs::read_dir(git)? {
        // A part of the index is elsewhere.
        if entry?.file_name().to_string_lossy().starts_with("sharedindex.") {
            return Ok(true);
        }
    }
    let index = read(git, "index", MAX_INDEX)?.unwrap_or_default();
    Ok(index.windows(SUBMODULE.len()).any(|bytes| bytes == SUBMODULE))
}

/// The content of a file; `None` where there is none.
fn read(folder: &Path, name: &str, max: u64) -> io::Result<Option<Vec<u8>>> {
    let (file, length) = match Folder::open_root(folder)?.open(OsStr::new(name))? {
        Opened::Missing => return Ok(None),
        Opened::File(file, metadata) => (file, metadata.len()),
        Opened::Folder(_) | Opened::Other => return Err(io::Error::other("it is no file")),
    };
    let mut bytes = Vec::with_capacity(length.min(max) as usize);
    file.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max { Err(io::Error::other("it is too long")) } else { Ok(Some(bytes)) }
}
