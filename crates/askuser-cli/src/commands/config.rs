//! `askuser config`: prints every setting with its value and origin. `config set` changes the user's file.

use super::init::file::{File, Owner};
use crate::config::{Layers, Origin, misspelt_variables, user_folder};
use crate::environment;
use crate::failure::{Failure, exit, notice};
use crate::result::write;
use crate::settings::Setting;
use crate::store::only_a_person;
use crate::wrapped::for_stdout;
use askuser::sanitize;
use askuser_inbox::Location;
use askuser_terminal::text::{Line, Span};
use askuser_terminal::{Options, Role};
use clap::ArgMatches;
use toml_edit::{DocumentMut, Item, TomlError, Value};

pub(super) fn run(args: &ArgMatches) -> Result<u8, Failure> {
    if let Some(("set", args)) = args.subcommand() {
        let [key, value] = ["key", "value"].map(|name| args.get_one::<String>(name).map_or("", String::as_str));
        return set(key, value, args);
    }
    let layers = Layers::inspect(args);
    let theme = Options::detect().theme;
    let line = |(setting, value, origin): (&Setting, &str, &Origin)| {
        let value_role = if *origin == Origin::Default { Role::Secondary } else { Role::Success };
        let parts = [
            (format!("{:<16}", setting.name), theme.strong(Role::Text)),
            (format!("{:<15} ", shown(value)), theme.style(value_role)),
            (origin.to_string(), theme.style(Role::Muted)),
        ];
        Line::from_iter(parts.map(|(text, style)| Span::styled(sanitize::line(&text).into_owned(), style)))
    };
    write(&for_stdout(&layers.rows().map(line).collect::<Vec<_>>(), &theme))?;
    for (variable, meant) in misspelt_variables(environment::names()) {
        notice(&format!("{variable}: unknown variable, sets nothing; did you mean {meant}?"));
    }
    // An invalid file or value is an error here too, after the origins of the settings were printed.
    layers.sound()?.settings().map(|_| exit::ANSWERED)
}

/// Returns a value without the password in it.
fn shown(value: &str) -> String {
    match Location::parse(value.as_ref()) {
        location @ Location::Postgres(_) => location.to_string(),
        _ => value.to_owned(),
    }
}

/// Sets a setting in the user's file. All other content of the file stays unchanged.
fn set(key: &str, value: &str, args: &ArgMatches) -> Result<u8, Failure> {
    // Settings determine who answers and which programs run.
    only_a_person("change settings")?;
    let setting = Layers::check(key, value)?;
    let folder = user_folder(crate::environment::variable)
        .ok_or_else(|| Failure::new("no folder for settings: neither XDG_CONFIG_HOME nor HOME is set"))?;
    let file = File::read(&folder.join("askuser.toml"), Owner::User)?;
    let shown = file.path.display().to_string();
    let mut document: DocumentMut = file
        .text
        .parse()
        .map_err(|error: TomlError| Failure::new(format!("{shown}: {}", error.to_string().trim_end())))?;
    // A path in the arguments is relative to the current folder. In a file it would be relative to the file's folder.
    let is_path = ["answers", "store"].contains(&setting.name) && value != setting.default && !value.contains("://");
    let value = match is_path.then(|| std::path::absolute(value)) {
        Some(Ok(path)) => path.display().to_string(),
        _ => value.to_owned(),
    };
    let item = match (value.parse::<bool>(), value.parse::<i64>()) {
        (Ok(switch), _) => Value::from(switch),
        (_, Ok(number)) => Value::from(number),
        _ => Value::from(value.as_str()),
    };
    let slot = &mut document[setting.name];
    let decor = slot.as_value().map(|old| old.decor().clone());
    *slot = Item::Value(item);
    if let (Some(new), Some(decor)) = (slot.as_value_mut(), decor) {
        *new.decor_mut() = decor;
    }
    file.write(&document.to_string())?;
    write(&format!("{}\n", sanitize::line(&format!("{} = {} ({shown})", setting.name, self::shown(&value)))))?;
    let layers = Layers::inspect(args);
    let row = layers.rows().find(|(row, ..)| row.name == setting.name);
    if let Some((_, now, origin)) = row.filter(|(_, now, _)| *now != value) {
        notice(&format!("it is {} here all the same ({origin})", self::shown(now)));
    }
    layers.sound()?.settings().map(|_| exit::ANSWERED)
}
