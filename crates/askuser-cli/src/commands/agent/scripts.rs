//! `--script`: a built-in example by its name, or a file.

use crate::failure::{Failure, OrFail, reason};
use crate::source;
use askuser_agent::Script;
use std::fs::File;

/// The built-in examples, which are also in `examples/agent` of the repository.
const BUILT_IN: &[(&str, &str)] = &[
    ("demo", include_str!("../../../demo/agent/database.json")),
    ("plan", include_str!("../../../demo/agent/plan.json")),
];

/// Reads the script with this name or path. A file with the name of an example is given as `./NAME`.
pub(crate) fn read(name: &str) -> Result<Script, Failure> {
    let text = match BUILT_IN.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => (*text).to_owned(),
        None => {
            let file = File::open(name).map_err(|error| {
                let names: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
                Failure::new(format!("--script: cannot open {name}: {}", reason(&error)))
                    .hint(format!("a file, or one of the examples that are built in: {}", names.join(", ")))
            })?;
            source::read(name, file)?
        }
    };
    Script::parse(&text).or_fail(format!("--script: {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_built_in_scripts_are_the_examples_of_the_repository() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/agent");
        for (name, file) in [("demo", "database.json"), ("plan", "plan.json")] {
            let example = std::fs::read_to_string(folder.join(file)).unwrap();
            assert_eq!(BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text), Some(&*example));
            assert!(read(name).unwrap().prompt.is_some());
        }
    }
}
