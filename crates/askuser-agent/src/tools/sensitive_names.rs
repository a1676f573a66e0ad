//! Names of files that run by themselves, configure a tool or steer an agent: by kind as far as possible, since a list of
//! tools is never complete. All in lower case.

/// How the names of settings, build files and programs end.
#[rustfmt::skip]
const EXTENSIONS: &[&str] = &[
    // Settings, whatever the tool.
    "toml", "ini", "cfg", "conf", "cnf", "config", "yml", "yaml", "jsonc", "json5", "properties", "env", "nix", "pkl",
    "plist", "reg", "code-workspace", "xcconfig", "editorconfig",
    // What a system starts by itself.
    "service", "timer", "socket", "desktop", "pth",
    // What editors give to their agents as rules.
    "mdc",
    // What a build runs, and what it takes from where.
    "mk", "mak", "cmake", "gradle", "sbt", "bazel", "bzl", "csproj", "fsproj", "vbproj", "vcxproj", "props", "targets",
    "sln", "pbxproj", "cabal", "gemspec", "podspec", "lock",
    // Programs by their name alone.
    "exe", "com", "bat", "cmd", "ps1", "psm1",
];

/// Files whose names say nothing by their kind.
#[rustfmt::skip]
const FILES: &[&str] = &[
    // Read by agents, this one included.
    "agent.md", "agents.md", "agents.override.md", "claude.md", "claude.local.md", "codex.md", "gemini.md", "qwen.md",
    "crush.md", "warp.md", "replit.md", "jules.md", "iflow.md", "cursor.md", "copilot.md", "copilot-instructions.md",
    "skill.md", "conventions.md", "memory.md", "soul.md", "identity.md", "heartbeat.md",
    // Which name the servers, tools and hooks that an agent starts.
    "mcp.json", "mcp-config.json", "mcp_config.json", "cline_mcp_settings.json", "opencode.json", "crush.json",
    "gemini-extension.json", "qwen-extension.json", "plugin.json", "hooks.json", "settings.json", "settings.local.json",
    // Run by git, under these names or by what installs them.
    "applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg",
    "commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive", "update",
    "proc-receive", "post-receive", "post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc",
    "post-rewrite", "sendemail-validate", "fsmonitor-watchman", "post-index-change",
    "lefthook.json", "lefthook-local.json", "simple-git-hooks.json", "captainhook.json",
    // Of a bare repository, which any folder becomes file by file: its config names commands that git runs.
    "head", "config", "config.worktree", "commondir", "gitdir", "packed-refs",
    // Run by continuous integration, by a deployment, or by an editor.
    "renovate.json", "vercel.json", "now.json", "firebase.json", "wrangler.json", "devcontainer.json", "devbox.json",
    "tasks.json", "launch.json", "extensions.json",
    // Which compiler, packages, scripts or code a tool loads; editors start these tools as well.
    "rust-toolchain", "build.rs", "build.zig", "package.json", "package-lock.json", "npm-shrinkwrap.json",
    "composer.json", "bower.json", "deno.json", "jsconfig.json", "angular.json", "nx.json", "turbo.json", "lerna.json",
    "biome.json", "cypress.json", "webpack.mix.js", "setup.hs", "configure.ac", "project.json", "global.json", "dotnet-tools.json", "components.json", "babel.json", "vetur.json",
    "package.swift", "mix.exs", "project.clj", "deps.edn", "pom.xml", "build.xml", "ivy.xml", "settings.xml",
    "phpunit.xml", "go.mod", "go.work", "go.sum", "cmakelists.txt", "meson.build", "meson_options.txt", "build",
    "workspace", "sconstruct", "sconscript", "wscript", "configure", "dune", "dune-project",
    "build.gradle.kts", "settings.gradle.kts", "init.gradle.kts", "gradlew", "mvnw",
    "setup.py", "conftest.py", "noxfile.py", "tasks.py", "fabfile.py", "manage.py", "requirements.txt",
    "constraints.txt", "manifest.in", "gulpfile.js", "gruntfile.js", "jakefile.js", "karma.conf.js",
    // Run by every Python, shell or editor that starts.
    "sitecustomize.py", "usercustomize.py", "config.fish", "_vimrc", "_netrc", "crontab", "authorized_keys",
];

/// Files whose names begin like this, whatever follows: `tsconfig.build.json`, `Makefile.am`.
const BEGINNINGS: [&str; 5] = ["tsconfig.", "makefile.", "dockerfile.", "containerfile.", "docker-compose."];

/// Whether a file of this name, in lower case, runs by itself, configures a tool or steers an agent.
pub(crate) fn is_sensitive_name(name: &str) -> bool {
    let plain = match name.rsplit_once('.') {
        Some((_, extension)) if EXTENSIONS.contains(&extension) => return true,
        Some(_) => false,
        // `Makefile`, `Dockerfile`, `Jenkinsfile`, `justfile`; `vimrc`.
        None => name.len() > 4 && (name.ends_with("file") || name.ends_with("rc")),
    };
    plain
        || name.contains(".config.")
        || [".prompt.md", ".instructions.md", ".chatmode.md"].iter().any(|end| name.ends_with(end))
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || FILES.contains(&name)
}
