//! The clients that can be set up: where each keeps its MCP servers, and how it writes one down.

use super::format::Format;
use super::jsonc::{OF_CLAUDE, OF_CODEX};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// The name of our server in every configuration.
pub(super) const SERVER: &str = "askuser";

/// A program that can use `askuser mcp`, or another entry that is added to a file of another program and removed again.
pub(in crate::commands) struct Client {
    /// As it is typed: `askuser init NAME`.
    pub(in crate::commands) name: &'static str,
    /// As people call it, and as a sentence goes on: "Add … to the file?"
    pub(in crate::commands) title: &'static str,
    /// The released version that has asked a person with this file in `tests/clients/run`. The others follow their
    /// documentation.
    pub(in crate::commands) tried: Option<&'static str>,
    /// A second file that the same question changes, unless the server alone is wanted.
    pub(super) beside: Option<&'static Client>,
    /// Started from a desktop rather than from a shell, so that it may not have the shell's PATH.
    pub(super) is_desktop: bool,
    pub(super) format: Format,
    /// The table of the file that holds the servers.
    pub(super) servers: &'static str,
    /// The entry of the server that this command starts.
    pub(super) entry: fn(&str) -> Value,
    /// The entry of a server at this address, with these headers.
    http: fn(&str, Value) -> Value,
    user_file: fn(&Home<'_>) -> PathBuf,
    /// Its file in a project, if it reads one there.
    project_file: Option<&'static str>,
    /// Programs on the PATH that show it is installed, besides one of its name.
    pub(super) programs: &'static [&'static str],
    /// The command that has to be given the file, where its program does not look for it.
    pub(super) named_by: Option<&'static str>,
    /// The benefit of an entry that is no server.
    pub(super) offer: Option<&'static str>,
}

/// The folders of this user's files.
pub(in crate::commands) struct Home<'a> {
    pub(in crate::commands) folder: PathBuf,
    pub(in crate::commands) variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Home<'_> {
    /// A path as people write it.
    pub(in crate::commands) fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.folder) {
            Ok(rest) => Path::new("~").join(rest).display().to_string(),
            Err(_) => path.display().to_string(),
        }
    }

    fn join(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }

    /// A folder that a variable may move.
    fn moved(&self, variable: &str, usual: &str) -> PathBuf {
        self.absolute(variable).unwrap_or_else(|| self.join(usual))
    }

    fn absolute(&self, variable: &str) -> Option<PathBuf> {
        (self.variable)(variable).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    /// The folder of Claude Code's files other than `.claude.json`.
    fn claude(&self) -> PathBuf {
        self.moved("CLAUDE_CONFIG_DIR", ".claude")
    }

    fn config(&self) -> PathBuf {
        self.moved("XDG_CONFIG_HOME", ".config")
    }

    /// The settings folder of programs derived from VS Code.
    fn vscode(&self) -> PathBuf {
        let base = match () {
            () if cfg!(windows) => self.moved("APPDATA", "AppData/Roaming"),
            () if cfg!(target_os = "macos") => self.join("Library/Application Support"),
            () => self.config(),
        };
        base.join("Code/User")
    }
}

impl Client {
    pub(in crate::commands) fn named(name: &str) -> Option<&'static Client> {
        CLIENTS.iter().find(|client| client.name == name)
    }

    /// Whether it is a client with our server, and not an extra.
    pub(super) fn is_server(&self) -> bool {
        self.offer.is_none()
    }

    /// The entry of a server at this address, for a client that shows this token.
    pub(in crate::commands) fn http_entry(&self, url: &str, token: &str) -> Map<String, Value> {
        match (self.http)(url, json!({"Authorization": format!("Bearer {token}")})) {
            Value::Object(fields) => fields,
            _ => Map::new(),
        }
    }

    /// The file of a client without any other server.
    pub(in crate::commands) fn http_file(&self, url: &str, token: &str) -> Result<String, String> {
        self.format.add("", self.servers, &self.http_entry(url, token))
    }

    pub(in crate::commands) fn user_file(&self, home: &Home<'_>) -> PathBuf {
        or_with_comments((self.user_file)(home))
    }

    pub(super) fn project_file(&self, project: &Path) -> Option<PathBuf> {
        self.project_file.map(|file| or_with_comments(project.join(file)))
    }

    /// The manual step before its program reads this file, or an empty string.
    pub(super) fn by_hand(&self, file: &str) -> String {
        let command = self.named_by.filter(|_| self.is_server());
        command.map_or_else(String::new, |command| format!("; at the command line, name the file: {command} {file}"))
    }

    /// Whether it seems to be installed: its program is on the PATH, or it has made a folder or a file for its
    /// settings.
    pub(super) fn is_installed(&self, home: &Home<'_>, is_on_path: &dyn Fn(&str) -> bool) -> bool {
        let file = self.user_file(home);
        let folder = file.parent().filter(|folder| *folder != home.folder && *folder != home.config());
        [self.name].iter().chain(self.programs).any(|program| is_on_path(program))
            || file.exists()
            || folder.is_some_and(Path::is_dir)
    }
}

/// OpenCode reads `opencode.jsonc` too, and Kilo `kilo.jsonc`; where only that is there, it is the one that is meant.
fn or_with_comments(path: PathBuf) -> PathBuf {
    let with_comments = path.with_extension("jsonc");
    let has_both = ["opencode.json", "kilo.json"].iter().any(|name| path.ends_with(name));
    let is_meant = has_both && !path.exists() && with_comments.exists();
    if is_meant { with_comments } else { path }
}

fn stdio(command: &str) -> Value {
    json!({"type": "stdio", "command": command, "args": ["mcp"]})
}

/// The common defaults.
const USUAL: Client = Client {
    name: "",
    title: "",
    tried: None,
    beside: None,
    is_desktop: false,
    format: Format::Json,
    servers: "mcpServers",
    entry: |command| json!({"command": command, "args": ["mcp"]}),
    http: |url, headers| json!({"url": url, "headers": headers}),
    user_file: |home| home.folder.clone(),
    project_file: None,
    programs: &[],
    named_by: None,
    offer: None,
};

pub(super) const CLIENTS: &[Client] = &[
    Client {
        name: "claude",
        title: "Claude Code",
        tried: Some("2.1.328"),
        beside: Some(&CLAUDE_SETTINGS),
        entry: stdio,
        http: |url, headers| json!({"type": "http", "url": url, "headers": headers}),
        user_file: |home| {
            home.absolute("CLAUDE_CONFIG_DIR").unwrap_or_else(|| home.folder.clone()).join(".claude.json")
        },
        project_file: Some(".mcp.json"),
        ..USUAL
    },
    Client {
        name: "codex",
        title: "Codex",
        tried: Some("0.169.0"),
        beside: Some(&CODEX_HOOKS),
        format: Format::Toml,
        servers: "mcp_servers",
        http: |url, headers| json!({"url": url, "http_headers": headers}),
        user_file: |home| home.moved("CODEX_HOME", ".codex").join("config.toml"),
        project_file: Some(".codex/config.toml"),
        ..USUAL
    },
    Client {
        name: "gemini",
        title: "Gemini CLI",
        tried: Some("0.61.0"),
        // Trusted: asking whether we may ask is of no use.
        entry: |command| json!({"command": command, "args": ["mcp"], "trust": true}),
        http: |url, headers| json!({"httpUrl": url, "headers": headers, "trust": true}),
        user_file: |home| home.join(".gemini/settings.json"),
        project_file: Some(".gemini/settings.json"),
        ..USUAL
    },
    Client {
        name: "copilot",
        title: "Copilot CLI",
        tried: Some("1.0.102"),
        entry: |command| json!({"type": "local", "command": command, "args": ["mcp"], "tools": ["*"]}),
        http: |url, headers| json!({"type": "http", "url": url, "headers": headers, "tools": ["*"]}),
        user_file: |home| home.moved("COPILOT_HOME", ".copilot").join("mcp-config.json"),
        project_file: Some(".github/mcp.json"),
        ..USUAL
    },
    Client {
        name: "qwen",
        title: "Qwen Code",
        tried: Some("0.24.4"),
        // Always loaded: it is hidden behind a search otherwise.
        entry: |command| json!({"command": command, "args": ["mcp"], "trust": true, "alwaysLoadTools": true}),
        http: |url, headers| json!({"httpUrl": url, "headers": headers, "trust": true, "alwaysLoadTools": true}),
        user_file: |home| home.join(".qwen/settings.json"),
        project_file: Some(".qwen/settings.json"),
        ..USUAL
    },
    Client {
        name: "opencode",
        title: "OpenCode",
        tried: Some("1.18.33"),
        servers: "mcp",
        entry: |command| json!({"type": "local", "command": [command, "mcp"]}),
        http: |url, headers| json!({"type": "remote", "url": url, "headers": headers}),
        user_file: |home| home.config().join("opencode/opencode.json"),
        project_file: Some("opencode.json"),
        ..USUAL
    },
    Client {
        name: "kilo",
        title: "Kilo CLI",
        tried: Some("7.7.7"),
        servers: "mcp",
        entry: |command| json!({"type": "local", "command": [command, "mcp"]}),
        http: |url, headers| json!({"type": "remote", "url": url, "headers": headers}),
        user_file: |home| home.config().join("kilo/kilo.json"),
        project_file: Some("kilo.json"),
        ..USUAL
    },
    Client {
        name: "cursor",
        title: "Cursor",
        is_desktop: true,
        user_file: |home| home.join(".cursor/mcp.json"),
        project_file: Some(".cursor/mcp.json"),
        programs: &["cursor-agent"],
        ..USUAL
    },
    Client {
        name: "vscode",
        title: "VS Code",
        is_desktop: true,
        servers: "servers",
        entry: stdio,
        http: |url, headers| json!({"type": "http", "url": url, "headers": headers}),
        user_file: |home| home.vscode().join("mcp.json"),
        project_file: Some(".vscode/mcp.json"),
        programs: &["code"],
        ..USUAL
    },
    Client {
        name: "zed",
        title: "Zed",
        is_desktop: true,
        servers: "context_servers",
        user_file: |home| match home.absolute("APPDATA").filter(|_| cfg!(windows)) {
            Some(folder) => folder.join("Zed/settings.json"),
            None => home.config().join("zed/settings.json"),
        },
        project_file: Some(".zed/settings.json"),
        programs: &["zeditor"],
        ..USUAL
    },
    Client {
        name: "cline",
        title: "Cline",
        tried: Some("3.0.65"),
        http: |url, headers| json!({"type": "streamableHttp", "url": url, "headers": headers}),
        user_file: |home| {
            let usual = || home.join(".cline/data/settings/cline_mcp_settings.json");
            home.absolute("CLINE_MCP_SETTINGS_PATH").unwrap_or_else(usual)
        },
        ..USUAL
    },
    Client {
        name: "continue",
        title: "Continue",
        tried: Some("1.5.47"),
        is_desktop: true,
        format: Format::YamlFileOfItsOwn,
        http: |url, headers| json!({"type": "streamable-http", "url": url, "requestOptions": {"headers": headers}}),
        user_file: |home| home.moved("CONTINUE_GLOBAL_DIR", ".continue").join("mcpServers/askuser.yaml"),
        project_file: Some(".continue/mcpServers/askuser.yaml"),
        programs: &["cn"],
        named_by: Some("cn --mcp"),
        ..USUAL
    },
];

/// The settings of Claude Code, with its hooks and permissions.
const CLAUDE_SETTINGS: Client = Client {
    title: "Claude Code",
    format: Format::Hooks(&OF_CLAUDE),
    user_file: |home| home.claude().join("settings.json"),
    ..USUAL
};

/// The hooks of Codex.
const CODEX_HOOKS: Client = Client {
    title: "Codex",
    format: Format::Hooks(&OF_CODEX),
    user_file: |home| home.moved("CODEX_HOME", ".codex").join("hooks.json"),
    ..USUAL
};

/// Offers beside the server: a line of instructions, a tmux key. The name is that of the agent that reads the file.
pub(super) const EXTRAS: &[Client] = &[
    Client {
        name: "claude",
        title: "a line for Claude Code",
        offer: Some("A line in CLAUDE.md that tells Claude Code to ask instead of guessing"),
        format: Format::Line(
            "When a decision is mine to make, ask me with the tool AskUserQuestion instead of guessing.",
        ),
        user_file: |home| home.claude().join("CLAUDE.md"),
        programs: &["claude"],
        ..USUAL
    },
    Client {
        title: "a tmux key",
        named_by: Some("tmux source"),
        offer: Some("A tmux key (prefix a) that answers the next question in a popup"),
        format: Format::Line("bind-key a display-popup -E -w 90% -h 90% 'askuser inbox --next'"),
        user_file: |home| {
            let [old, new] = [home.folder.join(".tmux.conf"), home.config().join("tmux/tmux.conf")];
            if new.exists() && !old.exists() { new } else { old }
        },
        programs: &["tmux"],
        ..USUAL
    },
];
