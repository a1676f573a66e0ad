//! The file as it is copied: SQLite makes the JSON of a row, and takes it apart again.

use super::SqliteStore;
use super::database::key_of;
use super::fault::unreadable;
use super::filter::signed;
use askuser::Request;
use askuser::store::{Archive, Call, Table, words};
use rusqlite::params;
use serde_json::Value;

/// What reads or keeps the rows of a table.
fn statements(doing: &str, of: Table) -> impl Iterator<Item = &'static str> {
    let all = include_str!("archive.sql").split_once(&format!("-- {doing} {}\n", of.name()));
    let these = all.and_then(|(_, these)| these.split("\n-- ").next());
    these.unwrap_or_default().split(";\n")
}

impl Archive for SqliteStore {
    fn rows(&self, of: Table, after: u64, limit: u32) -> Call<Vec<Value>> {
        self.call(move |database| {
            database.read(|tx, _| {
                let mut statement = tx.prepare_cached(statements("read", of).next().unwrap_or_default())?;
                let (mut rows, mut found) = (statement.query(params![signed(after), limit])?, Vec::new());
                while let Some(row) = rows.next()? {
                    found
                        .push(serde_json::from_str(row.get_ref(0)?.as_str().map_err(unreadable)?).map_err(unreadable)?);
                }
                Ok(found)
            })
        })
    }

    fn keep(&self, of: Table, rows: &[Value]) -> Call<()> {
        let rows = rows.to_vec();
        self.call(move |database| {
            database.write(|tx, _| {
                for row in &rows {
                    let (text, mut derived) = (row.to_string(), Vec::new());
                    if of == Table::Questions {
                        let request = row["request"].as_str().unwrap_or_default();
                        let request: Request = serde_json::from_str(request).map_err(unreadable)?;
                        let (origin, audience) = (request.origin(), request.audience());
                        derived = vec![
                            Some(key_of(request.key(), origin.credential.as_deref())),
                            origin.agent.clone(),
                            Some(words(&request)),
                            (!audience.is_empty()).then(|| serde_json::json!(audience).to_string()),
                            origin.credential.clone(),
                        ];
                    }
                    for sql in statements("keep", of) {
                        let mut statement = tx.prepare_cached(sql)?;
                        let values = std::iter::once(Some(&text)).chain(derived.iter().map(Option::as_ref));
                        for (i, value) in (1..=statement.parameter_count()).zip(values) {
                            statement.raw_bind_parameter(i, value)?;
                        }
                        statement.raw_execute()?;
                    }
                }
                Ok(())
            })
        })
    }
}
