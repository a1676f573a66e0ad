//! What a person does: ends a question, stops its clock, keeps a draft.

use crate::database::{Database, Doing, end_row};
use crate::fault::{Fault, unwritable};
use crate::pool::{Connection, Value};
use crate::row::{number, signed};
use askuser::Request;
use askuser::store::{
    Act, Attempt, DraftSave, DraftVersion, End, Ending, Principal, Purged, SavedDraft, StoreError, Which,
};
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

    /// Two saves at the same moment may each return without the other's draft. Both drafts are kept.
    pub(crate) async fn save_draft(
        &self,
        by: &Principal,
        which: &Which,
        save: &DraftSave,
    ) -> Result<Vec<SavedDraft>, StoreError> {
        let person = by.name().unwrap_or_default();
        let version = &save.version;
        let text = serde_json::to_string(&save.draft).map_err(unwritable)?;
        let write = async |connection: &Connection| {
            let (now, row) = self.known(connection, by, which).await?;
            by.check(Act::Consider(&row.question.request))?;
            let step = save.step(drafts_of(connection, row.n, person).await?, by, now)?;
            let writers: Vec<&str> = step.removed.iter().map(|removed| removed.writer.as_str()).collect();
            let edits: Vec<i64> = step.removed.iter().map(|removed| removed.edit.into()).collect();
            let (is_written, place, saved_ms) = match &step.written {
                Some(written) => (true, written.place.as_str(), written.saved_ms),
                None => (false, "", now),
            };
            let sql = "WITH written AS (
                     INSERT INTO askuser.draft AS d (question, person, writer, edit, place, saved_ms, answers)
                     SELECT $1, $2, $3, $4, $5, $6, $7 WHERE $8
                     ON CONFLICT (question, person, writer) DO UPDATE SET edit = EXCLUDED.edit, place = EXCLUDED.place,
                         saved_ms = EXCLUDED.saved_ms, answers = EXCLUDED.answers WHERE d.edit <= EXCLUDED.edit
                 )
                 DELETE FROM askuser.draft WHERE question = $1 AND person IN ($2, '')
                     AND (writer, edit) IN (SELECT * FROM unnest($9::text[], $10::bigint[]))";
            let values: [Value<'_>; 10] = [
                (&row.n, Type::INT8),
                (&person, Type::TEXT),
                (&version.writer, Type::TEXT),
                (&i64::from(version.edit), Type::INT8),
                (&place, Type::TEXT),
                (&signed(saved_ms), Type::INT8),
                (&text, Type::TEXT),
                (&is_written, Type::BOOL),
                (&writers, Type::TEXT_ARRAY),
                (&edits, Type::INT8_ARRAY),
            ];
            connection.execute(sql, &values).await?;
            Ok(step.beside)
        };
        self.run_by(by, Doing::Writing, write).await
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

    pub(crate) async fn drafts(&self, by: &Principal, which: &Which) -> Result<Vec<SavedDraft>, StoreError> {
        let read = async |connection: &Connection| {
            let (_, row) = self.known(connection, by, which).await?;
            by.check(Act::Consider(&row.question.request))?;
            drafts_of(connection, row.n, by.name().unwrap_or_default()).await
        };
        self.run_by(by, Doing::Reading, read).await
    }
}

async fn drafts_of(connection: &Connection, question: i64, person: &str) -> Result<Vec<SavedDraft>, Fault> {
    let sql = "SELECT answers, writer, edit, place, saved_ms FROM askuser.draft WHERE question = $1
         AND (person = $2 OR person = '' AND NOT EXISTS (SELECT 1 FROM askuser.person))";
    let rows = connection.query(sql, &[(&question, Type::INT8), (&person, Type::TEXT)]).await?;
    let mut drafts = Vec::new();
    for row in &rows {
        let edit = u32::try_from(row.try_get::<_, i64>("edit")?).unwrap_or(u32::MAX);
        let version = DraftVersion { writer: row.try_get("writer")?, edit };
        // A draft that this program cannot read stays where it is.
        if let Ok(draft) = serde_json::from_str(row.try_get("answers")?) {
            drafts.push(SavedDraft {
                draft,
                version,
                place: row.try_get("place")?,
                saved_ms: number(row, "saved_ms")?,
            });
        }
    }
    Ok(SavedDraft::newest_first(drafts))
}
