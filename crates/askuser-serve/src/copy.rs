//! One store copied into another: everything that people and agents may still ask for, with the numbers and names it has.
//!
//! A copy that was broken off is begun again: what is there already is compared first, and only what is missing is written. A store
//! that holds anything else is left alone. At the end both sides are read, and must be the same.

use askuser::store::{Archive, StoreError, Table};
use serde_json::Value;
use std::collections::BTreeMap;

/// How many rows are read, and written in one transaction.
const PAGE: u32 = 200;

/// How much was copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Questions.
    pub questions: u64,
    /// What happened to them.
    pub events: u64,
    /// Tokens and devices, also those that were revoked.
    pub credentials: u64,
    /// People.
    pub people: u64,
    /// Rows of these that were not there before.
    pub written: u64,
}

/// Copies one store into another. It may be stopped at any moment, and begun again.
///
/// # Errors
/// [`StoreError::Forbidden`] where the second has other content, which stays as it is; where a store fails, or changes meanwhile.
pub async fn copy(from: &dyn Archive, to: &dyn Archive) -> Result<Copied, StoreError> {
    let mut copied = Copied::default();
    for of in Table::ALL {
        let refused = |what: String| StoreError::Forbidden(format!("the other store has content of its own: {what}"));
        each(from, to, of, async |rows| {
            rows.iter().find(|pair| !pair.goes_on(of)).map_or(Ok(()), |pair| Err(refused(pair.named(of))))
        })
        .await?;
    }
    for of in Table::ALL {
        // Only what is whole may pass its deadline.
        if of == Table::Deadlines {
            verify(from, to).await?;
        }
        let count = match of {
            Table::People => Some(&mut copied.people),
            Table::Credentials => Some(&mut copied.credentials),
            Table::Questions => Some(&mut copied.questions),
            Table::Events => Some(&mut copied.events),
            Table::Numbers | Table::Deadlines => None,
        };
        let (mut read, mut written) = (0, 0);
        each(from, to, of, async |pairs| {
            read += pairs.iter().filter(|pair| pair.from.is_some()).count() as u64;
            let missing: Vec<Value> =
                pairs.iter().filter(|pair| !pair.is_same(of)).filter_map(|pair| pair.from.clone()).collect();
            written += missing.len() as u64;
            if missing.is_empty() { Ok(()) } else { to.keep(of, &missing).await }
        })
        .await?;
        if let Some(count) = count {
            *count = read;
            copied.written += written;
        }
    }
    Ok(copied)
}

/// Both sides hold the same.
async fn verify(from: &dyn Archive, to: &dyn Archive) -> Result<(), StoreError> {
    for of in Table::ALL.into_iter().filter(|of| *of != Table::Deadlines) {
        let changed = |what: String| StoreError::unavailable("it was changed while it was copied: run it again", what);
        each(from, to, of, async |pairs| {
            pairs.iter().find(|pair| !pair.is_same(of)).map_or(Ok(()), |pair| Err(changed(pair.named(of))))
        })
        .await?;
    }
    Ok(())
}

/// A row in both stores.
#[derive(Default)]
struct Pair {
    from: Option<Value>,
    to: Option<Value>,
}

impl Pair {
    /// Whether it is in both, and the same. How many are before it is no part of it.
    fn is_same(&self, of: Table) -> bool {
        match (of, &self.from, &self.to) {
            (Table::People | Table::Credentials, Some(from), Some(to)) => {
                let fields = from.as_object().into_iter().flatten().filter(|(name, _)| *name != "n");
                fields.into_iter().all(|(name, value)| to[name] == *value)
            }
            (_, from, to) => from == to,
        }
    }

    /// Whether the second store has nothing here that the first has not, or had.
    fn goes_on(&self, of: Table) -> bool {
        let (Some(from), Some(to)) = (&self.from, &self.to) else { return self.to.is_none() };
        let same = |fields: &[&str]| fields.iter().all(|field| from[*field] == to[*field]);
        match of {
            Table::People => true,
            Table::Credentials => same(&["id", "name", "scope", "digest"]),
            Table::Questions => {
                let is_earlier = to["state"] == "pending" && to["drafts"] == serde_json::json!([]);
                let ended = ["state", "resolution", "ended_by", "ended_ms", "answer_key", "drafts"];
                same(&["id", "request", "asked_ms"]) && (is_earlier || same(&ended))
            }
            Table::Events => self.is_same(of),
            Table::Numbers => to["last"].as_u64() <= from["last"].as_u64(),
            // A question that has ended since has none any more.
            Table::Deadlines => true,
        }
    }

    fn named(&self, of: Table) -> String {
        let row = self.to.as_ref().or(self.from.as_ref()).unwrap_or(&Value::Null);
        let name = |field: &str| row[field].as_str().map_or_else(|| row[field].to_string(), str::to_owned);
        match of {
            Table::People => format!("the person {}", name("name")),
            Table::Credentials => format!("the token or device {}", name("name")),
            Table::Questions => format!("the question {}", name("id")),
            Table::Events => format!("the event {}", name("n")),
            Table::Numbers => format!("{} events", name("last")),
            Table::Deadlines => format!("the deadline of question {}", name("n")),
        }
    }
}

/// Reads both stores side by side, some rows at a time.
async fn each(
    from: &dyn Archive,
    to: &dyn Archive,
    of: Table,
    mut look: impl AsyncFnMut(Vec<Pair>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    // Those are few, and their places differ where one is missing.
    let is_small = matches!(of, Table::People | Table::Credentials);
    let limit = if is_small { u32::MAX } else { PAGE };
    let key = |row: &Value| match of {
        Table::People => row["name"].to_string(),
        Table::Credentials => row["id"].to_string(),
        _ => format!("{:020}", row["n"].as_u64().unwrap_or_default()),
    };
    let mut after = 0;
    loop {
        let here = from.rows(of, after, limit).await?;
        let is_last = here.len() < limit as usize;
        let until = here.last().filter(|_| !is_last).and_then(|row| row["n"].as_u64()).unwrap_or(u64::MAX);
        // One more than there can be: what the first does not have is seen.
        let there = to.rows(of, after, limit.saturating_add(1)).await?;
        let mut pairs: BTreeMap<String, Pair> = BTreeMap::new();
        for row in there.into_iter().filter(|row| row["n"].as_u64().is_some_and(|n| n <= until)) {
            let key = key(&row);
            pairs.entry(key).or_default().to = Some(row);
        }
        // In their order: places are given by it.
        let mut order: Vec<String> = here.iter().map(&key).collect();
        for row in here {
            let key = key(&row);
            pairs.entry(key).or_default().from = Some(row);
        }
        let mut all: Vec<Pair> = order.drain(..).filter_map(|key| pairs.remove(&key)).collect();
        all.extend(pairs.into_values());
        look(all).await?;
        if is_last {
            return Ok(());
        }
        after = until;
    }
}
