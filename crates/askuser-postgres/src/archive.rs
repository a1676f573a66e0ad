//! The tables as they are copied: PostgreSQL makes the JSON of a row, and takes it apart again.

use crate::PostgresStore;
use crate::asking::{series_digest, without_nul};
use crate::database::{Database, Doing, digest};
use crate::fault::{Fault, unreadable};
use crate::lanes::Lane;
use crate::pool::{Connection, Shared};
use crate::row::signed;
use askuser::Request;
use askuser::store::{Archive, Call, Table, words};
use serde_json::{Value, json};
use tokio_postgres::types::Type;

fn selected(of: Table) -> &'static str {
    match of {
        Table::People => {
            "SELECT json_build_object('n', row_number() OVER (ORDER BY name COLLATE \"C\"), 'name', name, 'added_ms', added_ms)::text
             FROM askuser.person ORDER BY name COLLATE \"C\" LIMIT $2 OFFSET $1"
        }
        Table::Credentials => {
            "SELECT json_build_object('n', row_number() OVER (ORDER BY n), 'id', id, 'name', name, 'scope', scope,
                 'is_device', is_device::int, 'person', person, 'digest', encode(digest, 'hex'), 'made_ms', made_ms,
                 'seen_ms', seen_ms, 'address', address, 'revoked_ms', revoked_ms)::text
             FROM askuser.credential ORDER BY n LIMIT $2 OFFSET $1"
        }
        Table::Questions => {
            "SELECT json_build_object('n', q.n, 'id', id, 'request', request, 'state', state, 'asked_ms', asked_ms,
                 'resolution', resolution, 'ended_by', ended_by, 'ended_ms', ended_ms, 'answer_key', answer_key,
                 'delivered_ms', delivered_ms, 'series', series_name, 'conversation', conversation, 'claim', claim,
                 'left_ms', left_ms, 'asker_died', asker_died::int, 'drafts', coalesce((
                     SELECT json_agg(json_build_object('person', person, 'writer', writer, 'edit', edit, 'place', place,
                         'saved_ms', saved_ms, 'answers', answers) ORDER BY person COLLATE \"C\", writer COLLATE \"C\")
                     FROM askuser.draft WHERE question = q.n), '[]'))::text
             FROM askuser.question q WHERE n > $1 ORDER BY n LIMIT $2"
        }
        Table::Events => {
            "SELECT json_build_object('n', seq, 'question', question, 'state', state, 'at_ms', at_ms)::text
             FROM askuser.event WHERE seq > $1 ORDER BY seq LIMIT $2"
        }
        Table::Numbers => {
            "SELECT json_build_object('n', 1, 'last', last)::text FROM askuser.numbering WHERE $1 < 1 LIMIT $2"
        }
        Table::Deadlines => {
            "SELECT json_build_object('n', n, 'expires_ms', expires_ms)::text FROM askuser.question
             WHERE n > $1 AND state = 'pending' AND expires_ms IS NOT NULL ORDER BY n LIMIT $2"
        }
    }
}

/// What keeps rows, which are an array, `$1`.
fn kept(of: Table) -> &'static [&'static str] {
    match of {
        Table::People => &["INSERT INTO askuser.person (name, added_ms)
             SELECT r->>'name', (r->>'added_ms')::bigint FROM json_array_elements($1::json) r
             ON CONFLICT (name) DO UPDATE SET added_ms = EXCLUDED.added_ms"],
        Table::Credentials => &["INSERT INTO askuser.credential (id, name, scope, is_device, person, digest, made_ms, seen_ms, address, revoked_ms)
             SELECT r->>'id', r->>'name', r->>'scope', (r->>'is_device')::int = 1, r->>'person', decode(r->>'digest', 'hex'),
                 (r->>'made_ms')::bigint, (r->>'seen_ms')::bigint, r->>'address', (r->>'revoked_ms')::bigint
             FROM json_array_elements($1::json) WITH ORDINALITY AS all_rows (r, place) ORDER BY place
             ON CONFLICT (id) DO UPDATE SET seen_ms = EXCLUDED.seen_ms, address = EXCLUDED.address, revoked_ms = EXCLUDED.revoked_ms"],
        Table::Questions => &[
            "INSERT INTO askuser.question (n, id, request, state, asked_ms, resolution, ended_by, ended_ms, answer_key, delivered_ms,
                 series_name, conversation, claim, left_ms, asker_died, put_by, key, bare_key, series, agent, agent_words, words,
                 credential, audience)
             OVERRIDING SYSTEM VALUE
             SELECT (r->>'n')::bigint, r->>'id', r->>'request', r->>'state', (r->>'asked_ms')::bigint, r->>'resolution', r->>'ended_by',
                 (r->>'ended_ms')::bigint, r->>'answer_key', (r->>'delivered_ms')::bigint, r->>'series', r->>'conversation',
                 r->>'claim', (r->>'left_ms')::bigint, (r->>'asker_died')::int = 1, '', decode(r->>'key', 'hex'),
                 decode(r->>'bare_key', 'hex'), decode(r->>'series_digest', 'hex'), r->>'agent', r->>'agent_words', r->>'words',
                 r->>'credential', CASE json_typeof(r->'audience') WHEN 'array' THEN ARRAY(SELECT json_array_elements_text(r->'audience')) END
             FROM json_array_elements($1::json) r
             ON CONFLICT (n) DO UPDATE SET state = EXCLUDED.state, resolution = EXCLUDED.resolution, ended_by = EXCLUDED.ended_by,
                 ended_ms = EXCLUDED.ended_ms, answer_key = EXCLUDED.answer_key, delivered_ms = EXCLUDED.delivered_ms,
                 conversation = EXCLUDED.conversation, claim = EXCLUDED.claim, left_ms = EXCLUDED.left_ms,
                 asker_died = EXCLUDED.asker_died, expires_ms = NULL",
            "DELETE FROM askuser.draft WHERE question IN (SELECT (r->>'n')::bigint FROM json_array_elements($1::json) r)",
            "INSERT INTO askuser.draft (question, person, writer, edit, place, saved_ms, answers)
             SELECT (r->>'n')::bigint, d->>'person', d->>'writer', (d->>'edit')::bigint, d->>'place', (d->>'saved_ms')::bigint,
                 d->>'answers'
             FROM json_array_elements($1::json) r, json_array_elements(r->'drafts') d",
        ],
        Table::Events => &["INSERT INTO askuser.event (n, seq, question, state, at_ms) OVERRIDING SYSTEM VALUE
             SELECT (r->>'n')::bigint, (r->>'n')::bigint, (r->>'question')::bigint, r->>'state', (r->>'at_ms')::bigint
             FROM json_array_elements($1::json) r ON CONFLICT DO NOTHING"],
        // What is given next is behind everything that was given.
        Table::Numbers => &[
            "UPDATE askuser.numbering SET last = (SELECT (r->>'last')::bigint FROM json_array_elements($1::json) r)",
            "SELECT setval(pg_get_serial_sequence('askuser.event', 'n'), greatest(1, last, (SELECT max(n) FROM askuser.event))),
                 setval(pg_get_serial_sequence('askuser.question', 'n'), greatest(1, last, (SELECT max(n) FROM askuser.question)))
             FROM askuser.numbering WHERE $1 IS NOT NULL",
        ],
        Table::Deadlines => &["UPDATE askuser.question q SET expires_ms = (r->>'expires_ms')::bigint
             FROM json_array_elements($1::json) r WHERE q.n = (r->>'n')::bigint AND q.state = 'pending'"],
    }
}

/// A row with what is searched by.
fn with_derived(row: &Value) -> Result<Value, Fault> {
    let request = row["request"].as_str().unwrap_or_default();
    let request: Request = serde_json::from_str(request).map_err(unreadable)?;
    let (origin, hex) =
        (request.origin(), |bytes: Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    let mut row = row.clone();
    row["key"] = hex(digest(request.key(), origin.credential.as_deref())).into();
    row["bare_key"] = hex(digest(request.key(), None)).into();
    row["series_digest"] = row["series"].as_str().map(|name| hex(series_digest(name))).into();
    row["agent"] = origin.agent.as_deref().map(without_nul).into();
    row["agent_words"] = origin.agent.as_deref().map(|agent| without_nul(&agent.to_lowercase())).into();
    row["words"] = without_nul(&words(&request)).into();
    row["credential"] = origin.credential.clone().into();
    row["audience"] = Some(json!(request.audience())).filter(|_| !request.audience().is_empty()).into();
    Ok(row)
}

impl Archive for PostgresStore {
    fn rows(&self, of: Table, after: u64, limit: u32) -> Call<Vec<Value>> {
        self.call(Lane::Free, async move |database: Shared<Database>| {
            let read = async |connection: &Connection| {
                if matches!(of, Table::Events | Table::Numbers) {
                    // What has no number yet gets one.
                    database.events(connection, u64::MAX, 0).await?;
                }
                let values = [(&signed(after) as _, Type::INT8), (&i64::from(limit) as _, Type::INT8)];
                let rows = connection.query(selected(of), &values).await?;
                rows.iter().map(|row| serde_json::from_str(row.try_get(0)?).map_err(unreadable)).collect()
            };
            database.run(Doing::Reading, read).await
        })
    }

    fn keep(&self, of: Table, rows: &[Value]) -> Call<()> {
        let rows = rows.to_vec();
        self.call(Lane::Free, async move |database: Shared<Database>| {
            let keep = async |connection: &Connection| {
                let rows: Vec<Value> = match of {
                    Table::Questions => rows.iter().map(with_derived).collect::<Result<_, _>>()?,
                    _ => rows.clone(),
                };
                let text = Value::from(rows).to_string();
                connection
                    .transaction(async || {
                        for sql in kept(of) {
                            connection.execute(sql, &[(&text, Type::TEXT)]).await?;
                        }
                        Ok(())
                    })
                    .await
            };
            database.run(Doing::Writing, keep).await
        })
    }
}
