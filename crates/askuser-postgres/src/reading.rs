//! Reads questions and events.

use crate::commands::without_nul;
use crate::database::{CallKind, Database};
use crate::error::DatabaseError;
use crate::pool::{Connection, Value};
use crate::row::{SELECT, StoredRow, number, optional, signed};
use crate::store::random_id;
use askuser::store::{
    Events, Filter, ListSection, NotifierFailure, Operation, Page, Principal, QuestionId, QuestionRef, Scope, State,
    StoreError, StoreEvent, StoredQuestion, UnsentWords,
};
use tokio_postgres::types::Type;

/// The maximum number of events that one transaction numbers, and of such transactions before a read. Both limits keep
/// waits short.
const NUMBERED_AT_ONCE: u32 = 10_000;
const NUMBERED_BY_ONE: u32 = 100;
/// The maximum number of questions listed for an ambiguous abbreviation.
const CANDIDATES: u32 = 6;

/// A filter as an SQL condition that also restricts the rows to those that a principal sees.
struct Conditions {
    sql: String,
    scope: Option<String>,
    since: i64,
    from: String,
    containing: Vec<String>,
    after: i64,
    after_rank: i64,
    limit: i64,
}

impl Conditions {
    fn new(by: &Principal, part: ListSection, filter: &Filter) -> Conditions {
        let (scope, seen) = match (by.scope(), part) {
            (Scope::Person(name), ListSection::Mine | ListSection::InBackground) => {
                (Some(name), "(q.audience IS NULL OR $1 = ANY (q.audience))")
            }
            (Scope::Person(name), ListSection::Others) => {
                (Some(name), "q.audience IS NOT NULL AND $1 <> ALL (q.audience)")
            }
            (Scope::Everything | Scope::Person(_), _) => (None, "true"),
            (Scope::Of(name), _) => (name, "q.agent IS NOT DISTINCT FROM $1 AND q.credential IS NULL"),
            (Scope::OfCredential(name), _) => (Some(name), "q.credential = $1"),
        };
        let mut sql = seen.to_owned();
        let mut add = |condition: &str| sql += &format!(" AND {condition}");
        match part {
            ListSection::Mine if !filter.is_history() => add("NOT q.background"),
            ListSection::InBackground => add("q.background"),
            _ => {}
        }
        match filter.pending {
            Some(true) => add("q.state = 'pending'"),
            Some(false) => add("q.state <> 'pending'"),
            None => {}
        }
        if filter.since_ms.is_some() {
            add("q.asked_ms >= $2");
        }
        if filter.from.is_some() {
            add("strpos(q.agent_words, $3) > 0");
        }
        if filter.containing.is_some() {
            add("NOT EXISTS (SELECT FROM unnest($4) AS word WHERE strpos(q.words, word) = 0)");
        }
        if filter.after.is_some() {
            add(match (filter.is_history(), filter.latest_first) {
                (false, false) => "q.n > $5",
                (false, true) => "q.n < $5",
                (true, false) => "(q.ended_ms, q.n) > ($7, $5)",
                (true, true) => "(q.ended_ms, q.n) < ($7, $5)",
            });
        }
        let text = |text: &Option<String>| without_nul(&text.as_deref().unwrap_or_default().to_lowercase());
        Conditions {
            sql,
            scope: scope.map(without_nul),
            since: filter.since_ms.map(signed).unwrap_or_default(),
            from: text(&filter.from),
            containing: filter.words().map(|word| without_nul(&word)).collect(),
            after: filter.after.map(|after| signed(after.n)).unwrap_or_default(),
            after_rank: filter.after.map(|after| signed(after.rank)).unwrap_or_default(),
            // One more row than requested shows whether there is another page.
            limit: filter.limit.map_or(i64::MAX, |limit| i64::from(limit) + 1),
        }
    }

    /// Returns the values of the parameters in the order of their fixed numbers. A statement may leave some unused.
    fn values(&self) -> [Value<'_>; 7] {
        [
            (&self.scope, Type::TEXT),
            (&self.since, Type::INT8),
            (&self.from, Type::TEXT),
            (&self.containing, Type::TEXT_ARRAY),
            (&self.after, Type::INT8),
            (&self.limit, Type::INT8),
            (&self.after_rank, Type::INT8),
        ]
    }
}

/// Adds the reader's unsent drafts to the questions of a page.
async fn with_unsent(connection: &Connection, by: &Principal, mut page: Page) -> Result<Page, DatabaseError> {
    let asked = page.questions.iter().filter(|question| by.is_asked(&question.request));
    let asked: Vec<i64> = asked.map(|question| signed(question.cursor.n)).collect();
    if asked.is_empty() {
        return Ok(page);
    }
    let sql =
        "SELECT question, array_agg(unsent) AS unsent FROM askuser.draft WHERE question = ANY ($1) AND person = $2
         GROUP BY question";
    let person = by.name().unwrap_or_default();
    for row in &connection.query(sql, &[(&asked, Type::INT8_ARRAY), (&person, Type::TEXT)]).await? {
        let n = number(row, "question")?;
        if let Some(question) = page.questions.iter_mut().find(|question| question.cursor.n == n) {
            question.unsent = UnsentWords::read(&row.try_get::<_, Vec<String>>("unsent")?);
        }
    }
    Ok(page)
}

impl Database {
    pub(crate) async fn get(&self, by: &Principal, which: &QuestionRef) -> Result<StoredQuestion, StoreError> {
        let get = async |connection: &Connection| {
            let row = self.known(connection, by, which).await?;
            by.check(Operation::See(&row.record.question.request))?;
            Ok(row.record.question)
        };
        self.run_by(by, CallKind::Read, get).await
    }

    pub(crate) async fn resolve(&self, by: &Principal, abbreviation: &str) -> Result<Vec<QuestionId>, StoreError> {
        // Ids are hexadecimal. Other text matches no question and must not act as a pattern.
        if abbreviation.is_empty() || !abbreviation.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(Vec::new());
        }
        let (conditions, first) =
            (Conditions::new(by, ListSection::All, &Filter::default()), abbreviation.to_ascii_lowercase());
        let sql = format!(
            "SELECT q.id FROM askuser.question q WHERE {} AND q.id >= $8 AND q.id < $8 || 'g' ORDER BY q.id LIMIT {CANDIDATES}",
            conditions.sql
        );
        let resolve = async |connection: &Connection| {
            let mut values = conditions.values().to_vec();
            values.push((&first, Type::TEXT));
            let rows = connection.query(&sql, &values).await?;
            rows.iter().map(|row| Ok(QuestionId::parse(row.try_get(0)?))).filter_map(Result::transpose).collect()
        };
        self.run_by(by, CallKind::Read, resolve).await
    }

    pub(crate) async fn list(&self, by: &Principal, filter: &Filter) -> Result<Page, StoreError> {
        let order = match (filter.is_history(), filter.latest_first) {
            (false, false) => "q.n",
            (false, true) => "q.n DESC",
            (true, false) => "q.ended_ms, q.n",
            (true, true) => "q.ended_ms DESC, q.n DESC",
        };
        let limit = filter.limit.map_or(usize::MAX, |limit| limit as usize);
        let list = async |connection: &Connection| {
            let mut page = Page::default();
            let mut read = 0;
            let mut last = None;
            for (part, filter) in filter.parts(by) {
                let conditions = Conditions::new(by, part, &filter);
                let sql = format!("{SELECT} WHERE {} ORDER BY {order} LIMIT $6", conditions.sql);
                let values = conditions.values();
                let (moment, rows) =
                    self.read(connection, None, async || connection.query(&sql, &values).await).await?;
                for row in &rows {
                    if read == limit {
                        page.next = last;
                        return with_unsent(connection, by, page).await;
                    }
                    read += 1;
                    let n = number(row, "n")?;
                    let place = filter.place(part, n, optional(row, "ended_ms")?);
                    last = Some(place);
                    // A question that cannot be read, for example one of a later version, must not hide the others.
                    if let Ok(mut row) = StoredRow::read(row, &mut self.requests.borrow_mut(), moment.now) {
                        row.record.question.cursor = place;
                        page.questions.push(row.record.question);
                    } else {
                        page.unreadable.extend(QuestionId::parse(row.try_get("id")?));
                    }
                }
            }
            with_unsent(connection, by, page).await
        };
        self.run_by(by, CallKind::Read, list).await
    }

    pub(crate) async fn count(&self, by: &Principal, filter: &Filter) -> Result<u64, StoreError> {
        let count = async |connection: &Connection| {
            let mut count = 0;
            for (part, filter) in filter.parts(by) {
                let conditions = Conditions::new(by, part, &filter);
                let sql = format!("SELECT count(*) AS count FROM askuser.question q WHERE {}", conditions.sql);
                let values = conditions.values();
                let (_, row) = self.read(connection, None, async || connection.row(&sql, &values).await).await?;
                count += number(&row, "count")?;
            }
            Ok(count)
        };
        self.run_by(by, CallKind::Read, count).await
    }

    pub(crate) async fn events_for(&self, by: &Principal, after: u64, limit: u32) -> Result<Events, StoreError> {
        by.check(Operation::Follow)?;
        self.run_by(by, CallKind::Read, async |connection| self.events(connection, after, limit).await).await
    }

    /// Reads events. Numbers new events first, so that a reader without watchers sees all events.
    pub(crate) async fn events(
        &self,
        connection: &Connection,
        after: u64,
        limit: u32,
    ) -> Result<Events, DatabaseError> {
        let bounds = async || {
            let sql = "SELECT last, EXISTS (SELECT 1 FROM askuser.event WHERE seq IS NULL) AS is_behind
                 FROM askuser.numbering";
            connection.row(sql, &[]).await
        };
        let (_, mut bound) = self.read(connection, None, bounds).await?;
        for _ in 0..NUMBERED_BY_ONE {
            if !bound.try_get::<_, bool>("is_behind")? {
                break;
            }
            self.number(connection).await?;
            bound = bounds().await?;
        }
        let mut last = number(&bound, "last")?;
        let sql =
            "SELECT e.seq, q.id, e.state, e.at_ms FROM askuser.event e JOIN askuser.question q ON q.n = e.question
             WHERE e.seq > $1 ORDER BY e.seq LIMIT $2";
        let rows = connection.query(sql, &[(&signed(after), Type::INT8), (&i64::from(limit), Type::INT8)]).await?;
        let mut events = Vec::with_capacity(rows.len());
        let mut at = after;
        let mut gap = limit > 0 && after != last;
        for row in &rows {
            let seq = number(row, "seq")?;
            // Numbers have no gaps, so a missing number was purged. The events after it belong to the next call.
            let is_next = seq == at.saturating_add(1);
            if at == after {
                gap = !is_next;
            } else if !is_next {
                break;
            }
            (at, last) = (seq, last.max(seq));
            // An event that cannot be read must not hide later events.
            let id = QuestionId::parse(row.try_get("id")?);
            let state = State::named(row.try_get("state")?);
            if let (Some(id), Some(state)) = (id, state) {
                events.push(StoreEvent { seq, id, state, at_ms: number(row, "at_ms")? });
            }
        }
        Ok(Events { events, gap, last })
    }

    pub(crate) async fn show_list(&self, by: &Principal) -> Result<String, StoreError> {
        by.check(Operation::Follow)?;
        let list = random_id()?;
        let show = async |connection: &Connection| {
            self.lease(connection).await?;
            let sql = "INSERT INTO askuser.shown_list (id, process) VALUES ($1, $2) ON CONFLICT DO NOTHING";
            connection.execute(sql, &[(&list, Type::TEXT), (&self.leases.process, Type::TEXT)]).await.map(drop)
        };
        self.run_by(by, CallKind::Write, show).await?;
        self.leases.shows(&list);
        self.event_feed.lease_taken();
        Ok(list)
    }

    pub(crate) async fn is_list_shown(&self, by: &Principal) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM askuser.shown_list l JOIN askuser.process p ON p.id = l.process
             WHERE p.expires > clock_timestamp())";
        self.run_by(by, CallKind::Read, async |connection| Ok(connection.row(sql, &[]).await?.try_get(0)?)).await
    }

    pub(crate) async fn note_failure(
        &self,
        by: &Principal,
        failure: Option<&NotifierFailure>,
    ) -> Result<(), StoreError> {
        let note = async |connection: &Connection| {
            let Some(failure) = failure else {
                return connection.execute("DELETE FROM askuser.notifier_failure", &[]).await.map(drop);
            };
            let sql = "INSERT INTO askuser.notifier_failure (at_ms, what, why) VALUES (askuser.now_ms(), $1, $2)
                 ON CONFLICT (one) DO UPDATE SET at_ms = EXCLUDED.at_ms, what = EXCLUDED.what, why = EXCLUDED.why";
            let what = without_nul(&failure.what);
            let why = without_nul(&failure.why);
            connection.execute(sql, &[(&what, Type::TEXT), (&why, Type::TEXT)]).await.map(drop)
        };
        self.run_by(by, CallKind::Write, note).await
    }

    pub(crate) async fn last_failure(&self, by: &Principal) -> Result<Option<NotifierFailure>, StoreError> {
        let read = async |connection: &Connection| {
            let rows = connection.query("SELECT at_ms, what, why FROM askuser.notifier_failure", &[]).await?;
            let read = |row: &tokio_postgres::Row| {
                Ok(NotifierFailure {
                    at_ms: number(row, "at_ms")?,
                    what: row.try_get("what")?,
                    why: row.try_get("why")?,
                })
            };
            rows.first().map(read).transpose()
        };
        self.run_by(by, CallKind::Read, read).await
    }

    /// Returns the time in milliseconds until the next deadline by the server's clock; `None` without a deadline.
    pub(crate) async fn next_due(&self, connection: &Connection) -> Result<Option<u64>, DatabaseError> {
        let sql = "SELECT min(expires_ms) AS due, askuser.now_ms() AS now FROM askuser.question
             WHERE state = 'pending' AND expires_ms IS NOT NULL";
        let row = connection.row(sql, &[]).await?;
        let now = number(&row, "now")?;
        Ok(optional(&row, "due")?.map(|due| due.saturating_sub(now)))
    }

    /// Returns the number of revoked credentials. It grows with each revocation.
    pub(crate) async fn revocations(&self, connection: &Connection) -> Result<u64, DatabaseError> {
        let sql = "SELECT count(*) AS count FROM askuser.register WHERE revoked_by IS NOT NULL";
        number(&connection.row(sql, &[]).await?, "count")
    }

    /// Numbers events in the order in which they were written, and notifies every listening process. A lock allows one
    /// numbering transaction at a time, so that a reader of a number sees all smaller ones.
    pub(crate) async fn number(&self, connection: &Connection) -> Result<(), DatabaseError> {
        let sql = format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED;
             SELECT pg_advisory_xact_lock({});
             WITH found AS (
                 SELECT n, row_number() OVER (ORDER BY n) AS place FROM (
                     SELECT n FROM askuser.event WHERE seq IS NULL ORDER BY n LIMIT {NUMBERED_AT_ONCE}
                 ) AS earliest
             ), base AS (
                 UPDATE askuser.numbering SET last = last + (SELECT count(*) FROM found)
                 WHERE EXISTS (SELECT 1 FROM found) RETURNING last - (SELECT count(*) FROM found) AS before
             ), numbered AS (
                 UPDATE askuser.event e SET seq = base.before + found.place FROM found, base WHERE e.n = found.n
                 RETURNING e.n
             )
             SELECT pg_notify('{}', '') FROM (SELECT 1 FROM numbered LIMIT 1) AS first;
             COMMIT",
            crate::schema::NUMBERING,
            crate::event_feed::CHANNEL,
        );
        let numbered = connection.batch(&sql).await;
        if let Err(DatabaseError::Postgres(_)) = &numbered {
            // The error happened inside the transaction, so the transaction is still open.
            let _ = connection.batch("ROLLBACK").await;
        }
        numbered
    }
}
