//! The wall around commands, which the kernel keeps:
//!
//! > **Inside the sandbox a command may read the system, change this folder and reach no network. To leave it, the agent asks.**
//!
//! It is bubblewrap (`bwrap`): namespaces of its own for users, processes, network, mounts, and no capability, for root too.
//! [`Sandbox::mounts`] is all that a command finds, in one list. What comes later lies over what came before.
//!
//! The folder is an attacker's: nothing is mounted through a link in it, since that would be followed outside of the wall.

use crate::regular_file;
use crate::tools::INSTRUCT_GIT;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

/// How far a command reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Inside, and it changes nothing.
    Look,
    /// Inside.
    Folder,
    /// Inside, with the network.
    Network,
    /// No wall, but it ends with the agent, and what askuser keeps is not there.
    Outside,
}

/// What commands run in. It finds out when it is made whether it works here.
#[derive(Debug)]
pub struct Sandbox {
    bwrap: PathBuf,
    home: Option<PathBuf>,
    is_root: bool,
    settings: SandboxSettings,
    private: Option<Private>,
    /// Who commits, as the home's settings say, which are not there.
    identity: Vec<(String, String)>,
}

/// What a project's commands keep from one to the next: caches, and the files in `/tmp`.
#[derive(Debug)]
struct Private {
    folder: PathBuf,
    /// Held as long as an agent uses it.
    _lock: fs::File,
}

/// What a user's settings add to the sandbox.
#[derive(Clone, Debug, Default)]
pub struct SandboxSettings {
    /// What else may be read, in the home.
    pub read: Vec<PathBuf>,
    /// What else may be written.
    pub write: Vec<PathBuf>,
    /// What decides about permissions: commands do not find it.
    pub hidden: Vec<PathBuf>,
    /// Where caches of all projects are kept; without it a command has none.
    pub caches: Option<PathBuf>,
}

/// Something that is there, or is not.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Mount {
    /// As it is, to read.
    Read(PathBuf),
    /// As it is, to read and write.
    Write(PathBuf),
    /// This folder of the system's is that private one.
    Instead(PathBuf, PathBuf),
    /// An empty folder, or an empty file.
    Empty(PathBuf),
}

/// Folders of the home that programs are in, or what they need.
#[rustfmt::skip]
const TOOLCHAINS: &[&str] = &[
    ".cargo", ".rustup", ".npm", ".nvm", ".volta", ".bun", ".deno", ".pyenv", ".rbenv", ".asdf", ".sdkman", ".m2", ".gradle", ".ghcup",
    ".opam", ".nix-profile", ".local/bin", ".local/lib", ".local/share/mise", ".local/share/uv", ".local/share/pnpm", "go",
    "/home/linuxbrew/.linuxbrew",
];
/// The same, where these variables lead.
const TOOLCHAIN_VARIABLES: &[&str] = &["CARGO_HOME", "RUSTUP_HOME", "GOPATH", "PYENV_ROOT", "NVM_DIR", "VIRTUAL_ENV"];
/// What is in them and is nobody else's business.
#[rustfmt::skip]
const CREDENTIALS: &[&str] = &[
    ".cargo/credentials.toml", ".cargo/credentials", ".m2/settings.xml", ".m2/settings-security.xml",
    ".gradle/gradle.properties", ".gem/credentials",
];
/// What only root can read, and no command has to.
const ROOTS_SECRETS: &[&str] =
    &["/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/ssh", "/etc/ssl/private"];
/// Where homes and sockets are. Where a command writes, it gets something else instead.
const EMPTY: &[&str] = &["/tmp", "/var/tmp", "/run", "/home", "/root"];

impl Sandbox {
    /// The sandbox for commands in this folder, and in those that were added.
    ///
    /// # Errors
    /// Why there is none here.
    pub fn new(settings: SandboxSettings, folder: &Path, added: &[PathBuf]) -> Result<Sandbox, String> {
        if !cfg!(target_os = "linux") {
            return Err("bubblewrap is for Linux only".into());
        }
        let folder =
            &folder.canonicalize().map_err(|error| format!("{} cannot be opened: {error}", folder.display()))?;
        let home =
            env::var_os("HOME").and_then(|home| fs::canonicalize(home).ok()).filter(|home| home.parent().is_some());
        let folders = roots(folder, added, &settings.write);
        check_folders(&folders, home.as_deref(), &settings.hidden)?;
        let bwrap = find_bwrap(&folders).ok_or("bwrap is not installed (the package is called bubblewrap)")?;
        let private = settings.caches.as_deref().and_then(|caches| Private::of(caches, folder));
        #[cfg(unix)]
        let is_root = rustix::process::geteuid().is_root();
        #[cfg(not(unix))]
        let is_root = false;
        let sandbox = Sandbox { bwrap, home, is_root, settings, private, identity: identity() };
        sandbox.try_out(folder, added)?;
        Ok(sandbox)
    }

    /// Runs something, to see that it can.
    fn try_out(&self, folder: &Path, added: &[PathBuf]) -> Result<(), String> {
        let words = self.words(Reach::Folder, folder, added);
        let tried = std::process::Command::new(&words[0]).args(&words[1..]).arg("true").current_dir("/").output();
        let tried = tried.map_err(|error| format!("bwrap cannot be started: {error}"))?;
        if tried.status.success() {
            return Ok(());
        }
        let is = |setting: &str, value: &str| fs::read_to_string(setting).is_ok_and(|text| text.trim() == value);
        let said = String::from_utf8_lossy(&tried.stderr);
        let said = said.lines().next().unwrap_or("bwrap failed").to_owned();
        Err(if is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
            let page = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/permissions.md");
            format!("AppArmor keeps bwrap from user namespaces; {page} has its profile ({said})")
        } else if is("/proc/sys/kernel/unprivileged_userns_clone", "0") || is("/proc/sys/user/max_user_namespaces", "0")
        {
            format!("user namespaces are switched off ({said})")
        } else {
            said
        })
    }

    /// What stands before the words of a command.
    pub(crate) fn words(&self, reach: Reach, folder: &Path, added: &[PathBuf]) -> Vec<OsString> {
        // A link on the way would lead to what is not there.
        let folder = &folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let mut words = vec![self.bwrap.clone().into_os_string()];
        let mut add = |parts: &[&dyn AsRef<OsStr>]| words.extend(parts.iter().map(|part| part.as_ref().to_owned()));
        add(&[&"--unshare-pid", &"--die-with-parent"]);
        if reach == Reach::Outside {
            add(&[&"--dev-bind", &"/", &"/", &"--proc", &"/proc"]);
            if self.is_root {
                // What is not there could be uncovered.
                add(&[&"--cap-drop", &"CAP_SYS_ADMIN"]);
            }
        } else {
            add(&[&"--unshare-user", &"--unshare-ipc", &"--unshare-uts", &"--unshare-cgroup-try"]);
            add(&[&"--cap-drop", &"ALL"]);
            if reach != Reach::Network {
                add(&[&"--unshare-net"]);
            }
            add(&[&"--ro-bind", &"/", &"/", &"--dev", &"/dev", &"--proc", &"/proc"]);
            if self.is_root {
                // Its owner can write the kernel's settings, without any capability.
                add(&[&"--remount-ro", &"/proc"]);
            }
            for (name, value) in self.variables() {
                match value {
                    Some(value) => add(&[&"--setenv", &name, &value]),
                    None => add(&[&"--unsetenv", &name]),
                }
            }
        }
        let private = self.private.as_ref();
        let empty_file = private.map_or_else(|| "/dev/null".into(), |private| private.folder.join("empty"));
        for mount in self.mounts(reach, folder, added) {
            match &mount {
                Mount::Read(path) => add(&[&"--ro-bind", path, path]),
                Mount::Write(path) => add(&[&"--bind", path, path]),
                Mount::Instead(path, private) => add(&[&"--bind", private, path]),
                Mount::Empty(path) if path.is_dir() => add(&[&"--tmpfs", path]),
                Mount::Empty(path) => add(&[&"--ro-bind", &empty_file, path]),
            }
        }
        add(&[&"--chdir", folder, &"--"]);
        words
    }

    /// What a command finds beside the system, which it can read.
    fn mounts(&self, reach: Reach, folder: &Path, added: &[PathBuf]) -> Vec<Mount> {
        let mut mounts = Vec::new();
        if reach != Reach::Outside {
            let private = |name: &str| self.private.as_ref().map(|private| private.folder.join(name));
            let instead = |path: PathBuf, name: &str| private(name).map(|private| Mount::Instead(path, private));
            let empty = EMPTY.iter().map(PathBuf::from).chain(self.home.clone());
            let empty = empty.filter(|path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()));
            mounts.extend(empty.map(|path| match path == Path::new("/tmp") {
                true => instead(path.clone(), "tmp").unwrap_or(Mount::Empty(path)),
                false => Mount::Empty(path),
            }));
            mounts.extend(self.home.as_ref().and_then(|home| instead(home.join(".cache"), "cache")));
            mounts.extend(self.toolchains().into_iter().map(Mount::Read));
            let credentials = CREDENTIALS.iter().filter_map(|name| Some(self.home.as_ref()?.join(name)));
            let secrets = ROOTS_SECRETS.iter().filter(|_| self.is_root).map(PathBuf::from);
            let sockets =
                sockets().map(|(_, path)| path).filter(|path| !EMPTY.iter().any(|empty| path.starts_with(empty)));
            mounts.extend(credentials.chain(secrets).chain(sockets).filter(|path| path.exists()).map(Mount::Empty));
            if reach == Reach::Network {
                // It may be a link into what is empty.
                mounts.extend(fs::canonicalize("/etc/resolv.conf").into_iter().map(Mount::Read));
            }
            let roots = roots(folder, added, &self.settings.write);
            mounts.extend(repository(folder, self.home.as_deref(), &roots).map(Mount::Read));
            for root in roots {
                match reach {
                    Reach::Look => mounts.push(Mount::Read(root.to_owned())),
                    _ => mounts.extend(writable(root)),
                }
            }
        }
        mounts.extend(self.settings.hidden.iter().filter(|path| path.exists()).cloned().map(Mount::Empty));
        mounts
    }

    /// What of the home a command can read.
    fn toolchains(&self) -> Vec<PathBuf> {
        let Some(home) = &self.home else { return self.settings.read.clone() };
        let named = TOOLCHAIN_VARIABLES.iter().filter_map(env::var_os).map(PathBuf::from);
        let path = env::var_os("PATH").unwrap_or_default();
        let programs: Vec<PathBuf> = env::split_paths(&path).collect();
        // Only what would not be there otherwise.
        let is_hidden = |path: &Path| path.starts_with(home) || EMPTY.iter().any(|empty| path.starts_with(empty));
        let is_below = |path: &PathBuf| is_hidden(path) && !home.starts_with(path) && path.is_dir();
        let mut found: Vec<PathBuf> =
            TOOLCHAINS.iter().map(|name| home.join(name)).chain(named).chain(programs).collect();
        found.retain(is_below);
        found.extend(self.settings.read.iter().filter(|path| path.exists()).cloned());
        found.sort();
        // A folder brings what is in it.
        found.dedup_by(|later, earlier| later.starts_with(earlier));
        found
    }

    /// What is in the environment instead of what is there outside.
    fn variables(&self) -> Vec<(String, Option<OsString>)> {
        let folders = ["TMPDIR", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "XAUTHORITY"].map(str::to_owned);
        let sockets = sockets().filter_map(|(name, _)| name.into_string().ok());
        let mut variables: Vec<_> = folders.into_iter().chain(sockets).map(|name| (name, None)).collect();
        let set = |name: &str, value: &dyn AsRef<OsStr>| (name.to_owned(), Some(value.as_ref().to_owned()));
        if let Some(home) = &self.home {
            variables.push(set("npm_config_cache", &home.join(".cache/npm")));
        }
        variables.push(set("GIT_CONFIG_COUNT", &self.identity.len().to_string()));
        for (i, (name, value)) in self.identity.iter().enumerate() {
            variables.push(set(&format!("GIT_CONFIG_KEY_{i}"), name));
            variables.push(set(&format!("GIT_CONFIG_VALUE_{i}"), value));
        }
        variables
    }
}

impl Private {
    /// The one of a project; `None` where it cannot be made.
    fn of(caches: &Path, project: &Path) -> Option<Private> {
        use sha2::{Digest, Sha256};
        let digest = Sha256::digest(project.as_os_str().as_encoded_bytes());
        let name: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let folder = caches.join(name);
        for name in ["cache", "tmp"] {
            regular_file::make_private_folder(&folder.join(name)).ok()?;
        }
        fs::File::create(folder.join("empty")).ok()?;
        let lock = fs::File::create(folder.join("lock")).ok()?;
        // Nobody else uses it: what earlier sessions left in `/tmp` goes.
        if lock.try_lock().is_ok() {
            fs::remove_dir_all(folder.join("tmp")).ok()?;
            regular_file::make_private_folder(&folder.join("tmp")).ok()?;
        }
        lock.lock_shared().ok()?;
        Some(Private { folder: folder.canonicalize().ok()?, _lock: lock })
    }
}

/// The folders that a command may write.
fn roots<'a>(folder: &'a Path, added: &'a [PathBuf], write: &'a [PathBuf]) -> Vec<&'a Path> {
    [folder].into_iter().chain(added.iter().chain(write).map(PathBuf::as_path)).collect()
}

/// Refuses folders that would open the wall.
fn check_folders(folders: &[&Path], home: Option<&Path>, hidden: &[PathBuf]) -> Result<(), String> {
    for folder in folders {
        let shown = folder.display();
        if home.is_some_and(|home| home.starts_with(folder)) || folder.parent().is_none() {
            return Err(format!("{shown} is or contains your home; begin in a folder of the project"));
        }
        if hidden.iter().any(|kept| kept.starts_with(folder) || folder.starts_with(kept)) {
            return Err(format!("what askuser keeps is in {shown}"));
        }
    }
    Ok(())
}

/// The program, from a folder of the system's: not one that commands can write.
fn find_bwrap(folders: &[&Path]) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let found = env::split_paths(&path).filter(|folder| folder.is_absolute()).map(|folder| folder.join("bwrap"));
    let mut real = found.filter(|file| file.is_file()).filter_map(|file| file.canonicalize().ok());
    real.find(|file| !folders.iter().any(|folder| file.starts_with(folder)))
}

/// A folder that can be written, with what of it cannot.
fn writable(root: &Path) -> Vec<Mount> {
    let git = root.join(".git");
    let mut mounts = vec![Mount::Write(root.to_owned())];
    match git.symlink_metadata() {
        // A mount of its own cannot be renamed away.
        Ok(metadata) if metadata.is_dir() => {
            mounts.push(Mount::Write(git.clone()));
            let own = INSTRUCT_GIT.iter().map(|name| git.join(name));
            mounts.extend(
                own.filter(|path| path.symlink_metadata().is_ok_and(|file| !file.is_symlink())).map(Mount::Read),
            );
        }
        Ok(metadata) if metadata.is_file() => mounts.push(Mount::Read(git)),
        _ => {}
    }
    mounts
}

/// What git reads outside of the folder: the repository that it is in, or the one that it is a further working tree of. That has
/// to say so itself, at a place that no command could have written: the folder could name anything.
fn repository(folder: &Path, home: Option<&Path>, writable: &[&Path]) -> Option<PathBuf> {
    let root = folder.ancestors().find(|root| root.join(".git").symlink_metadata().is_ok())?;
    if root != folder {
        return (!home.is_some_and(|home| home.starts_with(root))).then(|| root.to_owned());
    }
    let read = |file: &Path| {
        let bytes = regular_file::read(file, regular_file::Links::Refuse, 10_000).ok()?;
        String::from_utf8(bytes).ok().map(|text| text.trim_end().to_owned())
    };
    let file = folder.join(".git");
    let git = folder.join(read(&file)?.strip_prefix("gitdir: ")?).canonicalize().ok()?;
    if writable.iter().any(|folder| git.starts_with(folder)) || Path::new(&read(&git.join("gitdir"))?) != file {
        return None;
    }
    git.parent().filter(|folder| folder.ends_with("worktrees"))?.parent().map(Path::to_owned)
}

/// Sockets that variables of the environment name: of agents that hold keys, displays, buses, multiplexers.
fn sockets() -> impl Iterator<Item = (OsString, PathBuf)> {
    env::vars_os().filter_map(|(name, value)| Some((name, socket(&value)?)))
}

/// The socket that a value names: `/run/x`, `unix:path=/run/x,guid=1`, `unix:///run/x`, `/tmp/tmux-0/default,1,0`.
fn socket(value: &OsStr) -> Option<PathBuf> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let value = value.to_str()?;
        let path = value.get(value.find('/')?..)?.split(',').next()?.replace("///", "/");
        let kind = fs::metadata(&path).ok()?.file_type();
        kind.is_socket().then(|| path.into())
    }
    #[cfg(not(unix))]
    return value.is_empty().then(PathBuf::new);
}

/// What git knows of the user from the home.
fn identity() -> Vec<(String, String)> {
    let wanted = "^(user\\.(name|email)|init\\.defaultbranch)$";
    let said = std::process::Command::new("git")
        .args(["config", "--global", "--get-regexp", wanted])
        .current_dir("/")
        .output();
    let said = said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned()).unwrap_or_default();
    said.lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

// Only Linux has bubblewrap.
#[cfg(all(test, target_os = "linux"))]
#[path = "sandbox_tests.rs"]
mod tests;
