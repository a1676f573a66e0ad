//! The user's own programs that commands can run.
//!
//! Only the executable parts of a toolchain's folder are visible. The other parts may contain credentials in files of
//! any name.

use super::{Access, Mount, Sandbox};
use std::collections::BTreeMap;
use std::env;
use std::path::Path;

/// The toolchains: the environment variable with the folder, the default folder in the home, and the executable parts.
#[rustfmt::skip]
const TOOLCHAINS: &[(&str, &str, &[&str])] = &[
    ("ASDF_DATA_DIR", ".asdf", &["asdf.sh", "bin", "installs", "lib", "libexec", "plugins", "shims"]),
    ("BUN_INSTALL", ".bun", &["bin", "install"]),
    ("CARGO_HOME", ".cargo", &["bin", "git", "registry"]),
    ("DENO_INSTALL_ROOT", ".deno", &["bin"]),
    ("GHCUP_INSTALL_BASE_PREFIX", ".ghcup", &["bin", "ghc"]),
    ("GOPATH", "go", &["bin", "pkg"]),
    ("GRADLE_USER_HOME", ".gradle", &["caches", "jdks", "wrapper"]),
    ("HOMEBREW_PREFIX", "/home/linuxbrew/.linuxbrew", &["Cellar", "bin", "include", "lib", "opt", "sbin", "share"]),
    ("MAVEN_USER_HOME", ".m2", &["repository", "wrapper"]),
    ("MISE_DATA_DIR", ".local/share/mise", &["installs", "plugins", "shims"]),
    ("NVM_DIR", ".nvm", &["alias", "nvm.sh", "versions"]),
    ("OPAM_SWITCH_PREFIX", ".opam/default", &["bin", "lib", "share"]),
    ("PNPM_HOME", ".local/share/pnpm", &["bin", "global", "nodejs", "store"]),
    ("PYENV_ROOT", ".pyenv", &["bin", "libexec", "plugins", "pyenv.d", "shims", "version", "versions"]),
    ("RBENV_ROOT", ".rbenv", &["bin", "libexec", "plugins", "rbenv.d", "shims", "version", "versions"]),
    ("RUSTUP_HOME", ".rustup", &["settings.toml", "toolchains"]),
    ("SDKMAN_DIR", ".sdkman", &["bin", "candidates", "libexec"]),
    ("UV_DATA_DIR", ".local/share/uv", &["python", "tools"]),
    ("VIRTUAL_ENV", ".local", &["bin", "include", "lib", "lib64", "pyvenv.cfg"]),
    ("VOLTA_HOME", ".volta", &["bin", "tools"]),
    ("", ".nix-profile", &["bin", "include", "lib", "libexec", "share"]),
];

/// Returns mounts of paths that the sandbox would otherwise hide: the parts of toolchains, the folders of `PATH` and
/// the user's additions.
pub(super) fn mounts(sandbox: &Sandbox) -> Vec<Mount> {
    let mut emptied = Vec::new();
    let mut found = BTreeMap::new();
    for (variable, usual, parts) in TOOLCHAINS {
        let named = env::var_os(variable).unwrap_or_default();
        let usual = sandbox.home.as_ref().map(|home| home.join(usual));
        for folder in env::split_paths(&named).filter(|folder| folder.is_absolute()).chain(usual) {
            let Ok(real) = folder.canonicalize() else { continue };
            // A folder behind a link is mounted at both of its paths.
            for place in [&folder, &real] {
                if !sandbox.hides(place) && place == &real && is_toolchains_own(place) {
                    emptied.push(Mount::EmptyFolder(place.clone()));
                } else if !sandbox.hides(place) {
                    continue;
                }
                found.extend(parts.iter().map(|part| (place.join(part), real.join(part))));
            }
        }
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let programs = env::split_paths(&path).filter(|folder| sandbox.hides(folder) && folder.is_dir());
    let programs = programs.filter(|folder| !sandbox.home.as_ref().is_some_and(|home| home.starts_with(folder)));
    found.extend(programs.chain(sandbox.settings.read.iter().cloned()).map(|folder| (folder.clone(), folder)));
    // The roots are mounted as a whole later.
    found.retain(|at, _| !sandbox.roots.iter().any(|root| at.starts_with(root)));
    let binds = found.into_iter().filter_map(|(at, part)| {
        let source = part.canonicalize().ok()?;
        Some(Mount::Bind { source, at, access: Access::Read })
    });
    emptied.sort_by(|a: &Mount, b| format!("{a:?}").cmp(&format!("{b:?}")));
    emptied.dedup();
    emptied.into_iter().chain(binds).collect()
}

/// Whether a folder from a variable belongs to one toolchain and not to the system.
fn is_toolchains_own(folder: &Path) -> bool {
    folder.parent().is_some_and(|parent| parent.parent().is_some()) && folder != Path::new("/usr/local")
}
