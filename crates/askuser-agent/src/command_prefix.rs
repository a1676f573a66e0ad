//! Rules for commands by how they begin: `cargo test *` lets through `cargo test` with any plain words after it.
//!
//! Only a plain command matches: words of harmless characters, and quotes around anything that a shell takes as it stands. A
//! command that is composed of others, redirects, expands or assigns anything is not taken apart. It is asked for, whatever
//! it begins with.
//!
//! A program that runs what it is given has no prefix: `python *` would be everything. Of programs whose further words may name
//! a program to run, a file to write or a file elsewhere, those words are known and asked for.

/// What a plain command can be let through by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefixes {
    /// Its beginnings, each of which lets it through where it is allowed.
    pub matching: Vec<String>,
    /// The one that is offered to the person, where one makes sense.
    pub offered: Option<String>,
}

/// Why a rule cannot be a prefix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PrefixError {
    /// It has more than plain words.
    #[error("a rule that ends in * has plain words before it, without quotes, variables, or signs that a shell reads")]
    NotPlain,
    /// Its program runs what it is given.
    #[error("{0} runs whatever it is given, so {0} * would allow everything; allow single commands instead")]
    RunsAnything(String),
    /// It names something that is asked for each time.
    #[error("{0} may name a program to run, a file to write or a file elsewhere, so it is asked for each time")]
    AskedFor(String),
    /// Its program does different things by its second word.
    #[error("{0} does many things: say which, as in {0} {1} *")]
    NoSubcommand(String, &'static str),
}

/// A program that is known well enough to offer rules for it.
struct Program {
    name: &'static str,
    /// What rules are offered for: the words after the program, `_` for any one word. Empty: the program alone.
    commands: &'static [&'static str],
    /// Options, without dashes, that name a program to run or a file to write or read elsewhere.
    options: &'static [&'static str],
}

const PROGRAMS: [Program; 10] = [
    Program {
        name: "cargo",
        commands: &["test", "build", "check", "clippy", "fmt", "doc", "bench", "tree", "metadata", "nextest run"],
        options: &[
            "config",
            "config-file",
            "tool-config-file",
            "manifest-path",
            "target-dir",
            "artifact-dir",
            "out-dir",
            "lockfile-path",
            "cargo-metadata",
            "binaries-metadata",
            "fix",
            "open",
            "C",
            "Z",
        ],
    },
    Program {
        name: "git",
        commands: &["status", "diff", "log", "show", "blame", "ls-files", "rev-parse", "add", "commit"],
        options: &[
            "output",
            "ext-diff",
            "textconv",
            "no-index",
            "contents",
            "exec",
            "upload-pack",
            "receive-pack",
            "open-files-in-pager",
            "pathspec-from-file",
            "file",
            "template",
            "F",
        ],
    },
    Program {
        name: "go",
        commands: &["test", "build", "vet", "fmt", "list"],
        options: &[
            "exec",
            "toolexec",
            "vettool",
            "modfile",
            "overlay",
            "ldflags",
            "gcflags",
            "asmflags",
            "gccgoflags",
            "compiler",
            "pkgdir",
            "o",
            "outputdir",
            "coverprofile",
            "cpuprofile",
            "memprofile",
            "blockprofile",
            "mutexprofile",
            "trace",
            "C",
        ],
    },
    Program { name: "npm", commands: &["test", "run _"], options: PACKAGE_MANAGER },
    Program { name: "pnpm", commands: &["test", "run _"], options: PACKAGE_MANAGER },
    Program { name: "yarn", commands: &["test", "run _"], options: PACKAGE_MANAGER },
    Program {
        name: "gh",
        commands: &["pr view", "pr list", "pr status", "pr checks", "pr diff", "issue view", "issue list", "run list"],
        options: &["web", "w"],
    },
    Program { name: "ls", commands: &[""], options: &[] },
    Program { name: "wc", commands: &[""], options: &["files0-from"] },
    Program { name: "du", commands: &[""], options: &["files0-from", "exclude-from", "X"] },
];

const PACKAGE_MANAGER: &[&str] = &[
    "script-shell",
    "shell",
    "node-options",
    "node-version",
    "use-node-version",
    "prefix",
    "userconfig",
    "globalconfig",
    "use-yarnrc",
    "config",
    "dir",
    "cwd",
    "require",
    "C",
];

#[rustfmt::skip]
/// Programs that run what they are given, in lower case, without digits and dots at the end of their names (`python3.12`).
const RUN_ANYTHING: &[&str] = &[
    // Shells, and what of them evaluates its words.
    "sh", "bash", "dash", "ash", "zsh", "ksh", "fish", "csh", "tcsh", "nu", "pwsh", "powershell", "cmd", "busybox",
    "eval", "exec", "source", ".", "command", "builtin", "trap", "coproc", "let", "declare", "typeset", "export",
    "readonly", "unset", "read", "mapfile", "printf", "test", "[", "complete", "compgen", "bind", "enable", "hash",
    // Other users and machines.
    "sudo", "su", "doas", "pkexec", "runuser", "ssh", "mosh", "scp", "sftp", "rsync", "chroot", "unshare", "nsenter",
    "docker", "podman", "systemd-run", "at", "batch", "crontab",
    // Programs that start another.
    "env", "xargs", "parallel", "find", "fd", "nohup", "nice", "ionice", "timeout", "time", "watch", "setsid", "stdbuf",
    "script", "strace", "ltrace", "gdb", "lldb", "perf", "valgrind", "flock", "entr", "expect", "npx", "bunx", "uvx",
    "pipx", "uv", "direnv", "mise", "just", "make", "ninja",
    // Interpreters, editors, pagers, and filters that can run a command.
    "python", "pypy", "ipython", "node", "nodejs", "deno", "bun", "tsx", "ts-node", "ruby", "irb", "perl", "php", "lua",
    "luajit", "tclsh", "wish", "java", "jshell", "groovy", "scala", "r", "rscript", "julia", "ghc", "runghc", "guile",
    "osascript", "awk", "gawk", "mawk", "nawk", "sed", "ed", "ex", "vi", "vim", "nvim", "emacs", "nano", "less", "more",
    "man", "tar", "zip", "rg", "sqlite", "psql", "mysql", "pytest", "askuser",
];

/// What a command can be let through by; nothing, if it is not a plain one.
pub(crate) fn prefixes(command: &str) -> Prefixes {
    let Some(words) = plain_words(command) else { return Prefixes::default() };
    if program(&words).is_some_and(|program| program.asked_for(&words[1..]).is_some()) {
        return Prefixes::default();
    }
    let lets_through = |count: &usize| check(&words[..*count]).is_ok();
    let joined = |count: usize| words[..count].join(" ");
    let offered = offered(&words).filter(lets_through);
    Prefixes { matching: (1..=words.len()).filter(lets_through).map(joined).collect(), offered: offered.map(joined) }
}

/// The prefix of a rule that a person wrote as `cargo test *`; `None` if it is not a prefix.
///
/// # Errors
/// Why it cannot be one.
pub(crate) fn parse_rule(rule: &str) -> Option<Result<String, PrefixError>> {
    let prefix = rule.trim().strip_suffix('*').filter(|prefix| prefix.ends_with([' ', '\t']))?;
    let words = plain_words(prefix).filter(|words| words.iter().all(|word| word.chars().all(is_plain)));
    let words = words.ok_or(PrefixError::NotPlain);
    Some(words.and_then(|words| check(&words).map(|()| words.join(" "))))
}

/// Whether these words can be a prefix.
fn check(words: &[String]) -> Result<(), PrefixError> {
    let Some(first) = words.first() else { return Err(PrefixError::NotPlain) };
    if !words.iter().all(|word| word.chars().all(is_plain)) {
        return Err(PrefixError::NotPlain);
    }
    // Some file systems ignore case.
    let name = first.rsplit('/').next().unwrap_or_default().to_lowercase();
    let versionless = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if [name.as_str(), versionless].iter().any(|name| RUN_ANYTHING.contains(name)) {
        return Err(PrefixError::RunsAnything(first.clone()));
    }
    let Some(program) = program(words) else { return Ok(()) };
    let example = program.commands.first().filter(|example| !example.is_empty());
    match (example, program.asked_for(&words[1..])) {
        (Some(example), _) if words.get(1).is_none_or(|word| word.starts_with(['-', '+'])) => {
            Err(PrefixError::NoSubcommand(first.clone(), example))
        }
        (_, Some(word)) => Err(PrefixError::AskedFor(word.clone())),
        _ => Ok(()),
    }
}

fn program(words: &[String]) -> Option<&'static Program> {
    let name = words.first()?.rsplit('/').next()?;
    PROGRAMS.iter().find(|program| program.name == name)
}

/// How many words of a command a rule is offered for.
fn offered(words: &[String]) -> Option<usize> {
    // A program by its path may be any program.
    let program = program(words).filter(|program| words.first().is_some_and(|first| first == program.name))?;
    let matches = |pattern: &&&str| {
        let mut given = words[1..].iter();
        pattern.split_whitespace().all(|wanted| match (wanted, given.next()) {
            ("_", Some(word)) => !word.starts_with('-'),
            (wanted, word) => word.is_some_and(|word| word == wanted),
        })
    };
    program.commands.iter().find(matches).map(|pattern| 1 + pattern.split_whitespace().count())
}

impl Program {
    /// The first of the words after the program that does more than say what to work on, inside the folder.
    fn asked_for<'a>(&self, words: &'a [String]) -> Option<&'a String> {
        words.iter().find(|word| self.is_asked_for(word) || leads_out(word))
    }

    fn is_asked_for(&self, word: &str) -> bool {
        let given = word.split('=').next().unwrap_or(word);
        if let Some(name) = given.strip_prefix("--") {
            // Many programs know an option by its beginning.
            return !name.is_empty() && self.options.iter().any(|option| option.starts_with(name));
        }
        let Some(name) = given.strip_prefix('-') else { return false };
        self.options.iter().any(|option| match option.chars().next() {
            // A letter may stand among others, or before its value.
            Some(letter) if option.len() == 1 && letter.is_ascii_uppercase() => name.contains(letter),
            Some(letter) if option.len() == 1 => name.starts_with(letter),
            _ => name == *option,
        })
    }
}

/// Whether a word may name something outside of the folder.
fn leads_out(word: &str) -> bool {
    let mut parts = word.split(['=', ':', ',', '@']);
    let short_option = word.starts_with('-') && !word.starts_with("--");
    (short_option && word.contains('/'))
        || parts.any(|part| part.starts_with(['/', '~']) || part.split('/').any(|name| name == ".."))
}

/// Characters that no shell reads as anything but themselves.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || "_-./:=,@%+".contains(c)
}

/// The words of a plain command; `None` for any other.
fn plain_words(command: &str) -> Option<Vec<String>> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut chars = command.trim_matches([' ', '\t']).chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' | '"' => {
                let text = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        end if end == c => break,
                        // Between double quotes these are read by the shell.
                        '$' | '`' | '\\' | '!' if c == '"' => return None,
                        '\n' | '\r' => return None,
                        inner => text.push(inner),
                    }
                }
            }
            c if is_plain(c) => word.get_or_insert_default().push(c),
            _ => return None,
        }
    }
    words.extend(word);
    let first: &String = words.first()?;
    // It could assign a variable.
    (!first.is_empty() && !first.contains('=')).then_some(words)
}

#[cfg(test)]
#[path = "command_prefix_tests.rs"]
mod tests;
