//! What a person does: ends a question, stops its clock, keeps a draft.

use crate::database::{Database, Doing, end_row};
use crate::fault::unwritable;
use crate::pool::{Connection, Value};
use crate::row::signed;
use askuser::Request;
use askuser::store::{Act, Attempt, Draft, End, Ending, MAX_DRAFT, Principal, Purged, StoreError, Which};
use tokio_postgres::types::Type;

impl Database {
    pub(crate) async fn end(
        &self,
        by: &Principal,
        which: &Which,
        end: &End,
        attempt: &Attempt,
    ) -> Result<Ending, StoreError> {
        let check = |request: &Request| {
            by.check(Act::End(request, end))?;
            match end {
                End::Resolve { outcome, .. } => outcome.check(request.set()).map_err(StoreError::Misfit),
                End::Withdraw => Ok(()),
            }
        };
        let answer = async |connection: &Connection| {
            let mut known = match which {
                Which::Id(id) => self.requests.borrow().known(id).map(|request| (id.clone(), request.clone())),
                Which::Key(_) => None,
            };
            loop {
                if let Some((id, request)) = known {
                    check(&request)?;
                    if let Some(ending) = end_row(connection, &id, by, end, attempt).await? {
                        return Ok(ending);
                    }
                    // Another one was quicker, or its time has run out: what it left says so.
                }
                let (_, row) = self.known(connection, by, which).await?;
                check(&row.question.request)?;
                match row.question.ending {
                    // The reply to an earlier try was lost, or the caller asks again.
                    Some(ending) if ending.is_of(attempt, row.attempt.as_deref(), by, end) => return Ok(ending),
                    Some(ending) => return Err(StoreError::ended(ending).into()),
                    None => known = Some((row.question.id, row.question.request)),
                }
            }
        };
        self.run_by(by, Doing::Telling, answer).await
    }

    pub(crate) async fn hold(&self, by: &Principal, which: &Which) -> Result<(), StoreError> {
        let hold = async |connection: &Connection| {
            let (now, row) = self.known(connection, by, which).await?;
            by.check(Act::Consider(&row.question.request))?;
            let sql =
                "UPDATE askuser.question SET expires_ms = NULL WHERE n = $1 AND state = 'pending' AND expires_ms > $2";
            let values = [(&row.n as _, Type::INT8), (&signed(now) as _, Type::INT8)];
            connection.execute(sql, &values).await.map(drop)
        };
        self.run_by(by, Doing::Writing, hold).await
    }

    pub(crate) async fn save_draft(&self, by: &Principal, which: &Which, draft: &Draft) -> Result<(), StoreError> {
        let text = serde_json::to_string(draft).map_err(unwritable)?;
        if text.len() > MAX_DRAFT {
            let why = format!("it has {} bytes, at most {MAX_DRAFT} are kept", text.len());
            return Err(StoreError::Forbidden(format!("cannot keep the draft: {why}")));
        }
        let person = by.name().unwrap_or_default();
        let save = async |connection: &Connection| {
            let (_, row) = self.known(connection, by, which).await?;
            by.check(Act::Consider(&row.question.request))?;
            let question: Value<'_> = (&row.n, Type::INT8);
            // One of no particular person, from a copied file of an early version, becomes this person's.
            let sql = "WITH kept AS (
                     INSERT INTO askuser.draft (question, person, answers) SELECT $1, $2, $3 WHERE NOT $4
                     ON CONFLICT (question, person) DO UPDATE SET answers = EXCLUDED.answers
                 )
                 DELETE FROM askuser.draft WHERE question = $1 AND (person = '' OR $4 AND person = $2)";
            let is_empty = draft.is_empty();
            let values = [question, (&person as _, Type::TEXT), (&text as _, Type::TEXT), (&is_empty as _, Type::BOOL)];
            connection.execute(sql, &values).await.map(drop)
        };
        self.run_by(by, Doing::Writing, save).await
    }

    /// So many at a time: others are not kept waiting for all of it, and neither is the reply.
    pub(crate) async fn purge(&self, by: &Principal, before_ms: &u64) -> Result<Purged, StoreError> {
        const AT_ONCE: u64 = 5_000;
        by.check(Act::Purge)?;
        let sql = format!(
            "DELETE FROM askuser.question WHERE n IN (
                 SELECT n FROM askuser.question WHERE state <> 'pending' AND coalesce(ended_ms, asked_ms) < $1
                 ORDER BY n LIMIT {AT_ONCE} FOR UPDATE SKIP LOCKED)"
        );
        let (before, mut purged) = (signed(*before_ms), 0);
        loop {
            let some = async |connection: &Connection| connection.execute(&sql, &[(&before, Type::INT8)]).await;
            let gone = self.run_by(by, Doing::Writing, some).await?;
            purged += gone;
            if gone < AT_ONCE {
                return Ok(Purged { count: purged, remains: None });
            }
        }
    }

    pub(crate) async fn draft(&self, by: &Principal, which: &Which) -> Result<Draft, StoreError> {
        let person = by.name().unwrap_or_default();
        let read = async |connection: &Connection| {
            let (_, row) = self.known(connection, by, which).await?;
            by.check(Act::Consider(&row.question.request))?;
            let sql =
                "SELECT answers FROM askuser.draft WHERE question = $1 AND person IN ($2, '') ORDER BY person = ''";
            let rows = connection.query(sql, &[(&row.n, Type::INT8), (&person, Type::TEXT)]).await?;
            // One that cannot be read is none.
            let text: Option<&str> = rows.first().map(|row| row.try_get(0)).transpose()?;
            Ok(text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default())
        };
        self.run_by(by, Doing::Reading, read).await
    }
}
