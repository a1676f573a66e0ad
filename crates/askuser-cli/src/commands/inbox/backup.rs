//! `askuser inbox backup`: writes an inbox in use to one file.

use crate::config::Layers;
use crate::failure::{Failure, OrFail};
use crate::result::finish;
use crate::store::{done, failed, location, only_a_person};
use askuser_inbox::{Location, SqliteStore};
use clap::ArgMatches;
use std::path::Path;

pub(super) fn run(args: &ArgMatches) -> Result<u8, Failure> {
    only_a_person("back up an inbox")?;
    let from = match location(&Layers::detect(args)?.settings()?)? {
        Location::File(path) if path.exists() => path,
        Location::File(path) => return Err(Failure::new(format!("there is no inbox at {}", path.display()))),
        Location::Postgres(_) => {
            return Err(Failure::new("PostgreSQL has its own backups: use pg_dump"));
        }
        location => {
            return Err(Failure::new(format!("{location} is a server, must be a file"))
                .hint("run it on the machine where `askuser serve` runs"));
        }
    };
    let to = Path::new(args.get_one::<String>("file").map_or("", String::as_str));
    let questions = done(SqliteStore::open(&from).map_err(failed)?.backup(to))?;
    let bytes = to.metadata().or_fail(format!("cannot read {}", to.display()))?.len();
    finish(&format!("wrote {}: {questions} questions, {bytes} bytes\n", to.display()))
}
