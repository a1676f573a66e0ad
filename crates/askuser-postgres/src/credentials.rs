//! The people, tokens and devices that use the store through a server.

use crate::PostgresStore;
use crate::database::{CallKind, Database};
use crate::error::DatabaseError;
use crate::event_feed::CHANNEL;
use crate::per_question_queue::Lane;
use crate::pool::{Connection, Shared, Value};
use crate::row::number;
use crate::schema::REGISTER;
use crate::store::random_id;
use askuser::store::{Call, Credentials, Register, RegisterCommand, RegisterReply, RegisterWrite, Watch, admit};
use tokio_postgres::types::Type;

impl Credentials for PostgresStore {
    fn admit(&self, command: RegisterCommand) -> Call<RegisterReply> {
        self.call(Lane::Free, async move |database: Shared<Database>| {
            // The id of the call marks the rows that the call revokes, so that a retry recognises them.
            let call = match &command {
                RegisterCommand::AddCredential { new } => new.id.clone(),
                _ => random_id()?,
            };
            let work = async |connection: &Connection| {
                let now = number(&connection.row("SELECT askuser.now_ms() AS now", &[]).await?, "now")?;
                let register = load(connection, &command, &call).await?;
                let (writes, reply) = admit(&register, now, &command)?;
                for change in &writes {
                    write(connection, change, &call).await?;
                }
                if writes.iter().any(|change| matches!(change, RegisterWrite::Revoke(_))) {
                    // The notification wakes every process that has admitted one of these credentials.
                    connection.execute("SELECT pg_notify($1, '')", &[(&CHANNEL, Type::TEXT)]).await?;
                }
                Ok(reply)
            };
            if command.is_reading() {
                return database.run(CallKind::Read, work).await;
            }
            let in_turn = async |connection: &Connection| {
                // The lock orders concurrent calls that claim the same name.
                connection.batch(&format!("SELECT pg_advisory_xact_lock({REGISTER})")).await?;
                work(connection).await
            };
            database
                .run(CallKind::Write, async |connection| {
                    connection.transaction(async || in_turn(connection).await).await
                })
                .await
        })
    }

    fn watch_revocations(&self) -> Call<Watch> {
        self.call(Lane::Free, async move |database: Shared<Database>| database.watch_revocations().await)
    }
}

async fn load(connection: &Connection, command: &RegisterCommand, call: &str) -> Result<Register, DatabaseError> {
    let (kind, id) = command.entry().unzip();
    let sql = "SELECT entry FROM askuser.register
         WHERE revoked_by IS NULL AND ($1::text IS NULL OR (kind = $1 AND id = $2)) ORDER BY n";
    let rows = connection.query(sql, &[(&kind, Type::TEXT), (&id, Type::TEXT)]).await?;
    let entries: Vec<String> = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    let register = Register::read(&entries)?;
    if command.entry().is_some() {
        return Ok(register);
    }
    let sql = "SELECT (SELECT count(*) FROM askuser.register WHERE revoked_by = $1) AS revoked,
         (SELECT count(*) FROM askuser.question WHERE state = 'pending' AND audience = ARRAY[$2]) AS waiting";
    let counts = connection.row(sql, &[(&call, Type::TEXT), (&command.removed(), Type::TEXT)]).await?;
    let revoked_before = number(&counts, "revoked")?;
    Ok(Register { revoked_before, waiting: number(&counts, "waiting")?, ..register })
}

async fn write(connection: &Connection, change: &RegisterWrite, call: &str) -> Result<(), DatabaseError> {
    const SET: &str = "INSERT INTO askuser.register (kind, id, entry) VALUES ($1, $2, $3)
         ON CONFLICT (kind, id) DO UPDATE SET entry = EXCLUDED.entry";
    const DELETE: &str = "DELETE FROM askuser.register WHERE kind = $1 AND id = $2";
    const REVOKE: &str = "UPDATE askuser.register SET revoked_by = $2
         WHERE kind = 'credential' AND id = $1 AND revoked_by IS NULL";
    let (sql, values) = match change {
        RegisterWrite::Set(entry) => (SET, vec![entry.key().0.to_owned(), entry.key().1.to_owned(), entry.to_json()?]),
        RegisterWrite::Delete(entry) => (DELETE, vec![entry.key().0.to_owned(), entry.key().1.to_owned()]),
        RegisterWrite::Revoke(id) => (REVOKE, vec![id.clone(), call.to_owned()]),
    };
    let values: Vec<Value<'_>> = values.iter().map(|value| (value as _, Type::TEXT)).collect();
    connection.execute(sql, &values).await.map(drop)
}
