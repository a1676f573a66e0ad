//! The question asked with `inquire`, in its default theme.

fn main() -> inquire::error::InquireResult<()> {
    let options = vec!["PostgreSQL", "MongoDB", "SQLite", "Other"];
    let chosen = inquire::Select::new("Which database should we use for this project?", options).prompt()?;
    println!("{chosen}");
    Ok(())
}
