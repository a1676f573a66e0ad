//! Times whole processes: the same single-select question, in a real terminal, asked by `askuser`, by two prompt
//! libraries, by a program that does the least possible and, once `peers/install` has run, by whiptail, Bubble Tea and Inquirer.
//!
//! ```text
//! cargo build --release
//! cargo run --release --manifest-path benches/process/Cargo.toml
//! ```
//!
//! The programs take turns round by round, so that whatever else the machine does hits all alike; compare the ratios
//! (to dialoguer, in the same run), not the absolute times of two runs. The peers show bare labels, askuser a header,
//! descriptions and a footer too: it does more for its bytes and its microseconds. Key-to-repaint is mostly the kernel
//! waking two processes: its ratio has moved by half between runs, so take several; the bytes do not move at all.
//!
//! - `options`: what the command line asks for
//! - `program`: the programs compared, and building the peers
//! - `pty`: a program in a terminal of its own, and what it wrote there, when
//! - `screen`: the emulated screen, and which option it shows as focused
//! - `measure`: one round and one idle wait
//! - `count`: instructions and system calls
//! - `table`: medians and ratios, as text and as JSON
//!
//! No terminal query is answered while a program is timed: one that waits for a reply fails its first frame.

mod count;
mod measure;
mod options;
mod program;
mod pty;
mod screen;
mod table;

use std::process::ExitCode;

use measure::Measured;
use options::{Format, Invocation, Measures, Options};

/// A sentence for the person who ran the benchmark; nothing here is recovered from.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let done = options::parse(std::env::args().skip(1)).and_then(|invocation| match invocation {
        Invocation::Help => {
            print!("{}", options::HELP);
            Ok(())
        }
        Invocation::Run(options) => run(&options),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<()> {
    let programs = program::all(options)?;
    let mut measured = programs.into_iter().map(Measured::new).collect::<Result<Vec<_>>>()?;

    if options.measures == Measures::Counts {
        let counts = count::run(&measured, options)?;
        match options.format {
            Format::Text => print!("{}", table::counted_text(&counts, options)?),
            Format::Json => println!("{:#}", table::counted_json(&counts)),
        }
        return Ok(());
    }
    // The first round brings every binary into the page cache and is thrown away.
    for program in &measured {
        measure::round(&program.program, options.colours)?;
    }
    for _ in 0..options.rounds {
        for program in &mut measured {
            program.rounds.push(measure::round(&program.program, options.colours)?);
        }
    }
    if let Some(wait) = options.idle {
        eprintln!("waiting {} s to count wake-ups", wait.as_secs());
        measure::idle(&mut measured, options.colours, wait)?;
    }
    match options.format {
        Format::Text => print!("{}", table::text(&measured, options)?),
        Format::Json => println!("{:#}", table::json(&measured, options)?),
    }
    Ok(())
}
