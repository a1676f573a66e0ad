//! The clients that can be set up, with the location and the format of their MCP servers.

use super::format::Format;
use super::jsonc::{OF_CLAUDE, OF_CODEX};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// The name of the askuser server in every configuration.
pub(super) const SERVER: &str = "askuser";

/// A program that can use `askuser mcp`, or an extra. An extra is another entry in a file of another program, which can
/// also be removed.
pub(in crate::commands) struct Client {
    /// The name on the command line, as in `askuser init NAME`.
    pub(in crate::commands) name: &'static str,
    /// The display name. It fits into sentences such as "Add … to the file?".
    pub(in crate::commands) title: &'static str,
    /// The released version that was tested with this file by `tests/clients/run`. `None` for a client that only
    /// follows its documentation.
    pub(in crate::commands) tried: Option<&'static str>,
    /// A second file that is changed together with this one, unless only the server is wanted. `None` if there is none.
    pub(super) beside: Option<&'static Client>,
    /// Whether the program is usually started from a desktop. It may then lack the shell's PATH.
    pub(super) is_desktop: bool,
    pub(super) format: Format,
    /// The name of the table in the file that holds the servers.
    pub(super) servers: &'static str,
    /// Returns the entry of a server that the client starts with this command.
    pub(super) entry: fn(&str) -> Value,
    /// Returns the entry of a server at this address, with these headers.
    http: fn(&str, Value) -> Value,
    user_file: fn(&Home<'_>) -> PathBuf,
    /// The client's file in a project; `None` if it reads no such file.
    project_file: Option<&'static str>,
    /// Further programs on the PATH that show that the client is installed.
    pub(super) programs: &'static [&'static str],
    /// The command that has to be given the file, if the program does not search for it.
    pub(super) named_by: Option<&'static str>,
    /// The benefit of an extra, as offered to the person. `None` for a client.
    pub(super) offer: Option<&'static str>,
}

/// The user's folders.
pub(in crate::commands) struct Home<'a> {
    pub(in crate::commands) folder: PathBuf,
    pub(in crate::commands) variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Home<'_> {
    /// Formats a path with `~` for the home folder.
    pub(in crate::commands) fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.folder) {
            Ok(rest) => Path::new("~").join(rest).display().to_string(),
            Err(_) => path.display().to_string(),
        }
    }

    fn join(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }

    /// Returns a folder that an environment variable may replace.
    fn moved(&self, variable: &str, usual: &str) -> PathBuf {
        self.absolute(variable).unwrap_or_else(|| self.join(usual))
    }

    fn absolute(&self, variable: &str) -> Option<PathBuf> {
        (self.variable)(variable).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    /// Returns the folder of Claude Code's files, which does not contain `.claude.json`.
    fn claude(&self) -> PathBuf {
        self.moved("CLAUDE_CONFIG_DIR", ".claude")
    }

    fn config(&self) -> PathBuf {
        self.moved("XDG_CONFIG_HOME", ".config")
    }

    /// Returns the settings folder of VS Code.
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

    /// Returns whether this is a client with the askuser server, and not an extra.
    pub(super) fn is_server(&self) -> bool {
        self.offer.is_none()
    }

    /// Returns the entry of a server at this address, with this token in its headers.
    pub(in crate::commands) fn http_entry(&self, url: &str, token: &str) -> Map<String, Value> {
        match (self.http)(url, json!({"Authorization": format!("Bearer {token}")})) {
            Value::Object(fields) => fields,
            _ => Map::new(),
        }
    }

    /// Returns the file of a client with only this server in it.
    pub(in crate::commands) fn http_file(&self, url: &str, token: &str) -> Result<String, String> {
        self.format.add("", self.servers, &self.http_entry(url, token))
    }

    pub(in crate::commands) fn user_file(&self, home: &Home<'_>) -> PathBuf {
        or_with_comments((self.user_file)(home))
    }

    pub(super) fn project_file(&self, project: &Path) -> Option<PathBuf> {
        self.project_file.map(|file| or_with_comments(project.join(file)))
    }

    /// Returns the manual step before the program reads this file, or an empty string.
    pub(super) fn by_hand(&self, file: &str) -> String {
        let command = self.named_by.filter(|_| self.is_server());
        command.map_or_else(String::new, |command| format!("; at the command line, name the file: {command} {file}"))
    }

    /// Returns whether the client seems to be installed: its program is on the PATH, or its settings have a folder or a
    /// file.
    pub(super) fn is_installed(&self, home: &Home<'_>, is_on_path: &dyn Fn(&str) -> bool) -> bool {
        let file = self.user_file(home);
        let folder = file.parent().filter(|folder| *folder != home.folder && *folder != home.config());
        [self.name].iter().chain(self.programs).any(|program| is_on_path(program))
            || file.exists()
            || folder.is_some_and(Path::is_dir)
    }
}

/// Returns the path of the client's file. For OpenCode and Kilo, this is the file that ends with `.jsonc` if only that
/// file exists. These programs read both.
fn or_with_comments(path: PathBuf) -> PathBuf {
    let with_comments = path.with_extension("jsonc");
    let has_both = ["opencode.json", "kilo.json"].iter().any(|name| path.ends_with(name));
    let is_meant = has_both && !path.exists() && with_comments.exists();
    if is_meant { with_comments } else { path }
}

fn stdio(command: &str) -> Value {
    json!({"type": "stdio", "command": command, "args": ["mcp"]})
}

/// The values that most clients share.
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
        // The server is trusted, so that its calls need no permission. They only ask.
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
        // The tools are always loaded. Otherwise the model has to search for them.
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

/// The extras: lines of instructions and a tmux key. An extra has the name of the program that reads the file.
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
