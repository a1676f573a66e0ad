//! Makes completion scripts and manual pages from the command line's definition: here rather than when they are asked for, so
//! that the code that makes them is no part of the program. And links the unwinder into the program.

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
use std::{env, fs, io, process};

#[allow(clippy::print_stdout, reason = "how a build script speaks to cargo")]
fn main() -> io::Result<()> {
    if let Some(folder) = unwinder() {
        println!("cargo::rustc-link-search=native={folder}");
        println!("cargo::rustc-link-lib=static:-bundle=gcc_eh");
    }
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

/// The folder of the C compiler's static unwinder, where it has one. The shared one, libgcc_s, would be loaded at every start,
/// which takes longer than `askuser hook` takes for everything it does itself.
fn unwinder() -> Option<String> {
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|set| set == value);
    let is_known = is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
        && is("HOST", &env::var("TARGET").ok()?);
    let found = process::Command::new("cc").arg("-print-file-name=libgcc_eh.a").output().ok().filter(|_| is_known)?;
    // Without one the compiler says the bare name.
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
