//! The question asked with the least a program can do: raw mode, one write for the list, one write per arrow key that
//! moves nothing but the marker. The floor that the others are seen against; not a prompt anybody should use.

use rustix::io::{read, write};
use rustix::stdio::{stderr, stdin};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

const OPTIONS: [&str; 4] = ["PostgreSQL", "MongoDB", "SQLite", "Other"];
const LIST: &[u8] = b"Which database should we use for this project?\r\n\
    > PostgreSQL\r\n  MongoDB\r\n  SQLite\r\n  Other\x1b[3A\r";

fn main() -> std::io::Result<()> {
    let before = tcgetattr(stdin())?;
    let mut raw = before.clone();
    raw.make_raw();
    tcsetattr(stdin(), OptionalActions::Now, &raw)?;
    let chosen = choose();
    tcsetattr(stdin(), OptionalActions::Now, &before)?;
    if let Some(option) = chosen? {
        println!("{option}");
    }
    Ok(())
}

/// The option that Enter was pressed on, or nothing after any key but Enter and the arrows.
fn choose() -> rustix::io::Result<Option<&'static str>> {
    let mut focused = 0;
    let mut key = [0; 16];
    write(stderr(), LIST)?;
    loop {
        let length = read(stdin(), &mut key)?;
        match &key[..length] {
            b"\x1b[A" if focused > 0 => {
                focused -= 1;
                write(stderr(), b" \x1b[A\r>\r")?;
            }
            b"\x1b[B" if focused + 1 < OPTIONS.len() => {
                focused += 1;
                write(stderr(), b" \x1b[B\r>\r")?;
            }
            b"\x1b[A" | b"\x1b[B" => {}
            other => {
                for _ in focused..OPTIONS.len() {
                    write(stderr(), b"\r\n")?;
                }
                return Ok((other == b"\r").then_some(OPTIONS[focused]));
            }
        }
    }
}
