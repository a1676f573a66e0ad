//! The sandbox of commands, which the kernel enforces:
//!
//! > **Inside the sandbox a command may read the system, change this folder and reach no network. To leave it, the
//! > agent asks.**
//!
//! The sandbox is bubblewrap (`bwrap`): separate namespaces for users, processes, network and mounts, and no
//! capabilities, also for root. [`Sandbox::mounts`] lists all files that a command can see. A later mount covers an
//! earlier one.
//!
//! Commands can write to the folder, so paths in it are not trusted. Every file is opened without following a link.
//! Bubblewrap gets the descriptor, so that the checked file is the mounted one.

mod git;
mod seccomp;
mod toolchains;
mod wall;

use crate::regular_file;
use askuser_sys::{folders, programs, random};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
pub(crate) use wall::Wall;

/// The access that a command gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The command runs in the sandbox without write access.
    Look,
    /// The command runs in the sandbox and can write to the allowed folders.
    Folder,
    /// The command runs in the sandbox with network access.
    Network,
    /// The command runs outside the sandbox with the user's access. It ends with the agent.
    Outside,
}

/// The sandbox of an agent's commands. [`Sandbox::new`] tests whether it works on this machine.
#[derive(Debug)]
pub struct Sandbox {
    bwrap: PathBuf,
    home: Option<PathBuf>,
    is_root: bool,
    settings: SandboxSettings,
    /// The working folder, then the other folders that commands can write, with links resolved.
    roots: Vec<PathBuf>,
    private: Option<Private>,
    warning: Option<String>,
    /// The name and the address of the committer. They come from the user's git settings, which the sandbox hides.
    identity: Vec<(String, String)>,
}

/// The state that the commands of a project share: their caches and `/tmp`.
#[derive(Debug)]
struct Private {
    folder: PathBuf,
    /// The shared lock that an agent holds while it uses the folder.
    _lock: fs::File,
}

/// The paths that the user adds to the sandbox or hides from it.
#[derive(Clone, Debug, Default)]
pub struct SandboxSettings {
    /// The paths in the home that commands can read.
    pub read: Vec<PathBuf>,
    /// The paths that commands can write.
    pub write: Vec<PathBuf>,
    /// askuser's own files: the store, tokens, permissions and settings. The sandbox hides them from commands.
    pub kept: Vec<PathBuf>,
    /// The folder for the caches of all projects. If it is `None`, commands have no cache.
    pub caches: Option<PathBuf>,
}

/// A path in the sandbox, with the content that commands see there.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Mount {
    /// A file or folder of the host, with links resolved.
    Bind { source: PathBuf, at: PathBuf, access: Access },
    /// An empty folder at this path.
    EmptyFolder(PathBuf),
    /// An empty file at this path.
    EmptyFile(PathBuf),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

impl Mount {
    fn read(path: impl Into<PathBuf>) -> Mount {
        Mount::at(path, Access::Read)
    }

    fn write(path: impl Into<PathBuf>) -> Mount {
        Mount::at(path, Access::Write)
    }

    /// Creates a mount of a file or folder at the same path as on the host.
    fn at(path: impl Into<PathBuf>, access: Access) -> Mount {
        let path = path.into();
        Mount::Bind { source: path.clone(), at: path, access }
    }

    /// Creates an empty mount that hides this path of the host.
    fn empty(path: &Path) -> Mount {
        if path.is_dir() { Mount::EmptyFolder(path.to_owned()) } else { Mount::EmptyFile(path.to_owned()) }
    }
}

/// Paths that only root can read and that no command needs.
const ROOTS_SECRETS: &[&str] =
    &["/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/ssh", "/etc/ssl/private"];
/// Folders of homes and sockets, which are empty in the sandbox. A private folder of the project replaces `/tmp`.
const EMPTY: &[&str] = &["/tmp", "/var/tmp", "/run", "/home", "/root"];

impl Sandbox {
    /// Creates the sandbox for commands in `folder` and in the `added` folders.
    ///
    /// # Errors
    /// Returns the reason why this machine has no sandbox.
    pub fn new(settings: SandboxSettings, folder: &Path, added: &[PathBuf]) -> Result<Sandbox, String> {
        if !cfg!(target_os = "linux") {
            return Err("bubblewrap is for Linux only".into());
        }
        let given = [folder].into_iter().chain(added.iter().chain(&settings.write).map(PathBuf::as_path));
        let real = |folder: &Path| {
            folder.canonicalize().map_err(|error| format!("{} cannot be opened: {error}", folder.display()))
        };
        let roots: Vec<PathBuf> = given.map(real).collect::<Result<_, _>>()?;
        let home =
            env::var_os("HOME").and_then(|home| fs::canonicalize(home).ok()).filter(|home| home.parent().is_some());
        check_folders(&roots, home.as_deref(), &settings.kept)?;
        settings.read.iter().try_for_each(|folder| check_kept(folder, &settings.kept))?;
        programs::distrust(roots.iter().map(PathBuf::as_path));
        let bwrap = programs::find("bwrap").ok_or("bwrap is not installed (the package is called bubblewrap)")?;
        let (private, warning) = match &settings.caches {
            Some(caches) if !programs::is_trusted(caches) => {
                let shown = caches.display();
                (None, Some(format!("commands can write {shown}: each gets an empty /tmp and no caches")))
            }
            caches => (caches.as_deref().and_then(|caches| Private::of(caches, &roots[0])), None),
        };
        #[cfg(unix)]
        let is_root = rustix::process::geteuid().is_root();
        #[cfg(not(unix))]
        let is_root = false;
        let sandbox = Sandbox { bwrap, home, is_root, settings, roots, private, warning, identity: git::identity() };
        sandbox.try_out()?;
        Ok(sandbox)
    }

    /// Returns a sentence for the user if a part of the sandbox does not work here as usual.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// Runs a program in the sandbox to test whether the sandbox works.
    ///
    /// # Errors
    /// Returns the reason why the sandbox does not work.
    fn try_out(&self) -> Result<(), String> {
        let tried = self.build(Reach::Folder)?.spawn(|words| {
            std::process::Command::new(&words[0]).args(&words[1..]).arg("true").current_dir("/").output()
        });
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
        } else if said.contains("bind-fd") {
            format!("bwrap is too old, 0.10 or a distribution's fix of CVE-2024-42472 is needed ({said})")
        } else {
            said
        })
    }

    /// Prepares the sandbox for one command. Records the folders that commands can write, so that this user's askuser
    /// processes start no programs from them.
    ///
    /// # Errors
    /// Returns the reason why the command cannot run.
    pub(crate) fn wall(&self, reach: Reach) -> Result<Wall, String> {
        programs::record().map_err(|error| format!("the folders that commands can write cannot be noted: {error}"))?;
        self.build(reach)
    }

    fn build(&self, reach: Reach) -> Result<Wall, String> {
        let mut wall = Wall::new(&self.bwrap);
        wall.add(&[&"--unshare-pid", &"--die-with-parent"]);
        if reach == Reach::Outside {
            wall.add(&[&"--dev-bind", &"/", &"/", &"--proc", &"/proc"]);
        } else {
            wall.add(&[&"--unshare-user", &"--unshare-ipc", &"--unshare-uts", &"--unshare-cgroup-try"]);
            wall.add(&[&"--cap-drop", &"ALL"]);
            if reach != Reach::Network {
                wall.add(&[&"--unshare-net"]);
            }
            wall.add_data("--seccomp", &seccomp::program(), None)?;
            wall.add(&[&"--ro-bind", &"/", &"/", &"--dev", &"/dev", &"--proc", &"/proc"]);
            if self.is_root {
                // Root owns `/proc` and could write kernel settings there even without a capability.
                wall.add(&[&"--remount-ro", &"/proc"]);
            }
            for (name, value) in self.variables() {
                match value {
                    Some(value) => wall.add(&[&"--setenv", &name, &value]),
                    None => wall.add(&[&"--unsetenv", &name]),
                }
            }
            for mount in self.mounts(reach)? {
                wall.add_mount(&mount)?;
            }
        }
        wall.add(&[&"--chdir", &self.roots[0], &"--"]);
        Ok(wall)
    }

    /// Returns the mounts in addition to the readable system.
    fn mounts(&self, reach: Reach) -> Result<Vec<Mount>, String> {
        let mut mounts = Vec::new();
        let instead = |at: PathBuf, name: &str| {
            let source = self.private.as_ref()?.folder.join(name);
            Some(Mount::Bind { source, at, access: Access::Write })
        };
        let hidden = EMPTY.iter().map(PathBuf::from).chain(self.home.clone());
        for path in hidden.filter(|path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir())) {
            let private = if path == Path::new("/tmp") { instead(path.clone(), "tmp") } else { None };
            mounts.push(private.unwrap_or(Mount::EmptyFolder(path)));
        }
        mounts.extend(self.home.as_ref().and_then(|home| instead(home.join(".cache"), "cache")));
        mounts.extend(toolchains::mounts(self));
        if reach == Reach::Network {
            // The path may be a link into a folder that is empty in the sandbox.
            mounts.extend(fs::canonicalize("/etc/resolv.conf").into_iter().map(Mount::read));
        }
        mounts.extend(git::around(&self.roots, self.home.as_deref()).map(Mount::read));
        let mut roots = self.roots.clone();
        roots.sort();
        let access = if reach == Reach::Look { Access::Read } else { Access::Write };
        mounts.extend(roots.into_iter().map(|root| Mount::at(root, access)));
        if access == Access::Write {
            mounts.extend(git::read_only(&self.roots, self.home.as_deref())?);
        }
        // The mounts of hidden paths come last, so that no later mount covers them.
        let secrets = ROOTS_SECRETS.iter().filter(|_| self.is_root).map(PathBuf::from);
        let absent = secrets.chain(sockets().map(|(_, path)| path)).chain(self.settings.kept.iter().cloned());
        let absent = absent.filter_map(|path| path.canonicalize().ok()).filter(|path| !self.hides(path));
        mounts.extend(absent.map(|path| Mount::empty(&path)));
        Ok(mounts)
    }

    /// Whether an empty folder in the sandbox hides a path.
    fn hides(&self, path: &Path) -> bool {
        EMPTY.iter().map(Path::new).chain(self.home.as_deref()).any(|empty| path.starts_with(empty))
    }

    /// Returns the environment variables that differ in the sandbox. The value `None` removes a variable.
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
    /// Creates the shared state of a project; `None` if that fails.
    fn of(caches: &Path, project: &Path) -> Option<Private> {
        use sha2::{Digest, Sha256};
        let digest = Sha256::digest(project.as_os_str().as_encoded_bytes());
        let folder = caches.join(random::hex(&digest[..8]));
        for name in ["cache", "tmp"] {
            regular_file::make_private_folder(&folder.join(name)).ok()?;
        }
        let lock = fs::File::create(folder.join("lock")).ok()?;
        // The lock shows that no other session uses the folder, so files of earlier sessions in `/tmp` are deleted.
        if lock.try_lock().is_ok() {
            fs::remove_dir_all(folder.join("tmp")).ok()?;
            regular_file::make_private_folder(&folder.join("tmp")).ok()?;
        }
        lock.lock_shared().ok()?;
        Some(Private { folder: folder.canonicalize().ok()?, _lock: lock })
    }
}

/// Refuses folders that would make the sandbox useless: a home, its parents, and askuser's own folders.
fn check_folders(folders: &[PathBuf], home: Option<&Path>, kept: &[PathBuf]) -> Result<(), String> {
    for folder in folders {
        if home.is_some_and(|home| folders::contains(folder, home)) || folder.parent().is_none() {
            let shown = folder.display();
            return Err(format!("{shown} is or contains your home; begin in a folder of the project"));
        }
        check_kept(folder, kept)?;
    }
    Ok(())
}

/// Refuses a folder that contains askuser's own files or lies inside them.
///
/// # Errors
/// Returns a message that names the folder and askuser's own files.
pub fn check_kept(folder: &Path, kept: &[PathBuf]) -> Result<(), String> {
    match kept.iter().find(|kept| folders::contains(folder, kept) || folders::contains(kept, folder)) {
        Some(kept) => {
            Err(format!("{} has {} of askuser in it, which commands must not reach", folder.display(), kept.display()))
        }
        None => Ok(()),
    }
}

/// Returns the environment variables that name a socket, with the socket's path. Such sockets belong to key agents,
/// displays, buses and multiplexers.
fn sockets() -> impl Iterator<Item = (OsString, PathBuf)> {
    env::vars_os().filter_map(|(name, value)| Some((name, socket(&value)?)))
}

/// Returns the path of the socket in a variable's value; `None` if there is none. The formats are `/run/x`,
/// `unix:path=/run/x,guid=1`, `unix:///run/x` and `/tmp/tmux-0/default,1,0`.
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

// Bubblewrap exists only on Linux.
#[cfg(all(test, target_os = "linux"))]
#[path = "sandbox_tests.rs"]
mod tests;
