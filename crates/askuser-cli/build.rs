//! Generates completion scripts and manual pages from the definition of the command line. The build generates them, so
//! that the generators are not part of the program. It also links the unwinder into the program.

#[path = "src/args.rs"]
#[allow(dead_code, reason = "the width of help is the command's business")]
mod args;
#[path = "src/settings.rs"]
#[allow(dead_code, reason = "defaults and layers are the command's business")]
mod settings;

use clap::builder::PossibleValuesParser;
use clap::{Arg, Command};
use clap_complete::Shell;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs, io, process};

#[allow(clippy::print_stdout, reason = "how a build script speaks to cargo")]
fn main() -> io::Result<()> {
    if let Some(folder) = unwinder() {
        println!("cargo::rustc-link-search=native={folder}");
        println!("cargo::rustc-link-lib=static:-bundle=gcc_eh");
    }
    for file in ["build.rs", "src/args.rs", "src/settings.rs", "src/help"] {
        println!("cargo::rerun-if-changed={file}");
    }
    let folder = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("OUT_DIR is not set"))?;
    let folder = Path::new(&folder);
    let mut command = args::command();
    command.build();
    let names = command.get_subcommands().map(|sub| kept(sub.get_name())).filter(|name| *name != "help");
    let completed = completed(&command, &names.collect::<Vec<_>>());
    let scripts = [Shell::Bash, Shell::Elvish, Shell::Fish, Shell::PowerShell, Shell::Zsh].map(|shell| {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut completed.clone(), "askuser", &mut script);
        (shell.to_string(), with_pending_ids(shell, &String::from_utf8_lossy(&script)).into_bytes())
    });
    let mut pages = vec![(String::new(), page(command.clone())?)];
    for sub in command.get_subcommands() {
        pages.push((sub.get_name().to_owned(), page(sub.clone())?));
    }
    fs::write(folder.join("completions.rs"), table("COMPLETIONS", "A completion script for each shell.", &scripts))?;
    fs::write(
        folder.join("pages.rs"),
        table("PAGES", "A manual page for each command; the first is of the whole.", &pages),
    )
}

/// The placeholder for the ids of pending questions, which the script replaces at run time.
const PENDING_IDS: &str = "PENDING_IDS";

/// Returns the command as completions offer it: without hidden arguments, and with the values of every option that has
/// few of them.
fn completed(command: &Command, names: &[&'static str]) -> Command {
    let values = |arg: &Arg| -> Vec<&'static str> {
        match (command.get_name(), arg.get_id().as_str(), arg.get_value_names().and_then(|names| names.first())) {
            (_, "via", _) => vec!["policy", "terminal", "inbox", "terminal,inbox"],
            ("man", "command", _) => names.to_vec(),
            ("wait" | "answer" | "withdraw", "id", _) => vec![PENDING_IDS],
            (_, _, Some(name)) if name.contains('|') => name.split('|').map(kept).collect(),
            _ => Vec::new(),
        }
    };
    let offered = |arg: &Arg| match values(arg) {
        values if values.is_empty() => arg.clone(),
        values => arg.clone().value_parser(PossibleValuesParser::new(values)),
    };
    let subcommands = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    Command::new(kept(command.get_name()))
        .about(command.get_about().cloned().unwrap_or_default())
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_flag(true)
        .disable_version_flag(true)
        .disable_help_subcommand(true)
        .args(command.get_arguments().filter(|arg| !arg.is_hide_set()).map(offered))
        .subcommands(subcommands.map(|sub| completed(sub, names)))
}

/// Returns a text that lives for the rest of the build, as clap needs it.
fn kept(name: &str) -> &'static str {
    name.to_owned().leak()
}

/// Returns the script with a query to `askuser inbox` for the pending questions. The scripts for Elvish and PowerShell
/// complete no values.
fn with_pending_ids(shell: Shell, script: &str) -> String {
    match shell {
        Shell::Bash => script.replace(PENDING_IDS, "$(askuser inbox 2>/dev/null | head -n 100 | cut -d ' ' -f 1)"),
        Shell::Zsh => {
            let list = "_askuser_pending() {\n    local -a pending\n    \
                        pending=(${(f)\"$(askuser inbox 2>/dev/null | head -n 100 | sed 's/:/\\\\:/g; s/  /:/')\"})\n    \
                        _describe 'question' pending\n}\n\n";
            let call = script.replace(&format!("({PENDING_IDS})"), "_askuser_pending");
            call.replacen("if [ \"$funcstack[1]\"", &format!("{list}if [ \"$funcstack[1]\""), 1)
        }
        Shell::Fish => {
            let of = "complete -c askuser -n \"__fish_seen_subcommand_from wait answer withdraw\" -f -a";
            format!("{script}{of} \"(askuser inbox 2>/dev/null | head -n 100 | string replace '  ' \\t)\"\n")
        }
        _ => script.to_owned(),
    }
}

/// Returns the folder of the C compiler's static unwinder; `None` if there is none. The shared unwinder, libgcc_s,
/// would be loaded at every start. That takes longer than the whole work of `askuser hook`.
fn unwinder() -> Option<String> {
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|set| set == value);
    let is_known = is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
        && is("HOST", &env::var("TARGET").ok()?);
    let found = process::Command::new("cc").arg("-print-file-name=libgcc_eh.a").output().ok().filter(|_| is_known)?;
    // Without the library, the compiler prints only its name.
    let folder = Path::new(std::str::from_utf8(&found.stdout).ok()?.trim()).parent()?.to_str()?;
    (!folder.is_empty()).then(|| folder.to_owned())
}

fn page(command: Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command).source(concat!("askuser ", env!("CARGO_PKG_VERSION"))).render(&mut page)?;
    Ok(page)
}

fn table(name: &str, says: &str, texts: &[(String, Vec<u8>)]) -> String {
    let mut source = format!("/// {says}\nconst {name}: &[(&str, &str)] = &[\n");
    for (key, text) in texts {
        let _ = writeln!(source, "    ({key:?}, {:?}),", String::from_utf8_lossy(text));
    }
    source.push_str("];\n");
    source
}
