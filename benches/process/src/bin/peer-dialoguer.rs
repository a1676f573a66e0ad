//! The question asked with `dialoguer`, in the theme its documentation shows.

fn main() -> dialoguer::Result<()> {
    let options = ["PostgreSQL", "MongoDB", "SQLite", "Other"];
    let chosen = dialoguer::Select::with_theme(&dialoguer::theme::ColorfulTheme::default())
        .with_prompt("Which database should we use for this project?")
        .items(options)
        .default(0)
        .interact()?;
    println!("{}", options[chosen]);
    Ok(())
}
