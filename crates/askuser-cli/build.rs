//! Makes completion scripts and manual pages from the command line's definition. Made here rather than when asked for,
//! because the code that makes them would be a twentieth of a binary that has to start in a millisecond.

#[path = "src/args.rs"]
#[allow(dead_code, reason = "the width of help is the command's business")]
mod args;
#[path = "src/settings.rs"]
#[allow(dead_code, reason = "defaults and layers are the command's business")]
mod settings;

use clap::Command;
use clap_complete::Shell;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs, io};

#[allow(clippy::print_stdout, reason = "how a build script speaks to cargo")]
fn main() -> io::Result<()> {
    for file in ["build.rs", "src/args.rs", "src/settings.rs"] {
        println!("cargo::rerun-if-changed={file}");
    }
    let folder = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("OUT_DIR is not set"))?;
    let folder = Path::new(&folder);
    let scripts = [Shell::Bash, Shell::Elvish, Shell::Fish, Shell::PowerShell, Shell::Zsh].map(|shell| {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut args::command(), "askuser", &mut script);
        (shell.to_string(), script)
    });
    let mut command = args::command();
    command.build();
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
