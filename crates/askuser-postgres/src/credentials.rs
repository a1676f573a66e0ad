//! The people, tokens and devices that use the store through a server.

use crate::PostgresStore;
use crate::database::{Database, Doing};
use crate::fault::{Fault, unreadable};
use crate::following::CHANNEL;
use crate::lanes::Lane;
use crate::pool::{Connection, Shared, Value};
use crate::row::{number, optional, signed};
use crate::schema::REGISTER;
use crate::store::random_id;
use askuser::register_commands;
use askuser::store::{
    Call, Credential, CredentialScope, Credentials, Digest, FailedCredentials, NewCredential, Pairing, PairingKind,
    Person, Register, RegisterCommand, RegisterReply, RegisterWrite, Watch, admit,
};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

impl PostgresStore {
    fn admit(&self, command: RegisterCommand) -> Call<RegisterReply> {
        self.call(Lane::Free, async move |database: Shared<Database>| {
            // Names the call in what it revokes, so that it knows its own after its reply was lost.
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
                    // Every process that has let one of them in hears of it.
                    connection.execute("SELECT pg_notify($1, '')", &[(&CHANNEL, Type::TEXT)]).await?;
                }
                Ok(reply)
            };
            if command.is_reading() {
                return database.run(Doing::Reading, work).await;
            }
            let in_turn = async |connection: &Connection| {
                // Of two calls that take a name at once, one comes first.
                connection.batch(&format!("SELECT pg_advisory_xact_lock({REGISTER})")).await?;
                work(connection).await
            };
            database
                .run(Doing::Writing, async |connection| {
                    connection.transaction(async || in_turn(connection).await).await
                })
                .await
        })
    }
}

impl Credentials for PostgresStore {
    register_commands!();

    fn watch_revocations(&self) -> Call<Watch> {
        self.call(Lane::Free, async move |database: Shared<Database>| database.watch_revocations().await)
    }
}

async fn load(connection: &Connection, command: &RegisterCommand, call: &str) -> Result<Register, Fault> {
    let sql = "SELECT id, name, scope, is_device, person, digest, made_ms, seen_ms, address FROM askuser.credential
         WHERE revoked_ms IS NULL AND ($1::text IS NULL OR id = $1) ORDER BY made_ms, n";
    let rows = connection.query(sql, &[(&command.credential(), Type::TEXT)]).await?;
    let credentials = rows.iter().map(read_credential).collect::<Result<_, _>>()?;
    if command.credential().is_some() {
        return Ok(Register { credentials, ..Register::default() });
    }
    let sql = "SELECT name, added_ms FROM askuser.person ORDER BY name COLLATE \"C\"";
    let people = connection.query(sql, &[]).await?;
    let person = |row: &Row| Ok::<_, Fault>(Person { name: row.try_get("name")?, added_ms: number(row, "added_ms")? });
    let sql =
        "SELECT id, is_link, digest, address, browser, expires_ms, tries, is_approved, person FROM askuser.pairing";
    let pairings = connection.query(sql, &[]).await?;
    let failed = connection.query("SELECT count, last_ms, address FROM askuser.failed_credential", &[]).await?;
    let read_failed = |row: &Row| {
        let count = number(row, "count")?;
        let last_ms = number(row, "last_ms")?;
        Ok::<_, Fault>(FailedCredentials { count, last_ms, address: row.try_get("address")? })
    };
    let sql = "SELECT (SELECT count(*) FROM askuser.credential WHERE revoked_by = $1) AS revoked,
         (SELECT count(*) FROM askuser.question WHERE state = 'pending' AND audience = ARRAY[$2]) AS waiting";
    let counts = connection.row(sql, &[(&call, Type::TEXT), (&command.removed(), Type::TEXT)]).await?;
    Ok(Register {
        people: people.iter().map(person).collect::<Result<_, _>>()?,
        credentials,
        pairings: pairings.iter().map(read_pairing).collect::<Result<_, _>>()?,
        failed: failed.first().map(read_failed).transpose()?,
        revoked_before: number(&counts, "revoked")?,
        waiting: number(&counts, "waiting")?,
    })
}

fn read_credential(row: &Row) -> Result<Credential, Fault> {
    let scope: &str = row.try_get("scope")?;
    let scope = CredentialScope::named(scope).ok_or_else(|| unreadable(format!("unknown scope {scope:?}")))?;
    let made = NewCredential {
        id: row.try_get("id")?,
        name: row.try_get("name")?,
        scope,
        is_device: row.try_get("is_device")?,
        person: Some(row.try_get("person")?).filter(|person: &String| !person.is_empty()),
        digest: read_digest(row)?,
        address: row.try_get("address")?,
    };
    Ok(Credential { made, made_ms: number(row, "made_ms")?, seen_ms: optional(row, "seen_ms")? })
}

fn read_digest(row: &Row) -> Result<Digest, Fault> {
    let bytes: &[u8] = row.try_get("digest")?;
    bytes.try_into().map_err(|_| unreadable(format!("a digest of {} bytes", bytes.len())))
}

fn read_pairing(row: &Row) -> Result<Pairing, Fault> {
    Ok(Pairing {
        id: row.try_get("id")?,
        kind: if row.try_get("is_link")? { PairingKind::Link } else { PairingKind::Code },
        digest: read_digest(row)?,
        address: row.try_get("address")?,
        browser: row.try_get("browser")?,
        expires_ms: number(row, "expires_ms")?,
        tries: row.try_get::<_, i32>("tries")?.unsigned_abs(),
        is_approved: row.try_get("is_approved")?,
        person: row.try_get("person")?,
    })
}

async fn write(connection: &Connection, change: &RegisterWrite, call: &str) -> Result<(), Fault> {
    const PERSON: &str = "INSERT INTO askuser.person (name, added_ms) VALUES ($1, $2)";
    const CREDENTIAL: &str =
        "INSERT INTO askuser.credential (id, name, scope, is_device, person, digest, made_ms, address)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    const SEEN: &str = "UPDATE askuser.credential SET seen_ms = $1, address = $2 WHERE id = $3";
    const REVOKE: &str = "UPDATE askuser.credential SET revoked_ms = askuser.now_ms(), revoked_by = $2 WHERE id = $1 AND revoked_ms IS NULL";
    const PAIRING: &str =
        "INSERT INTO askuser.pairing (id, is_link, digest, address, browser, expires_ms, tries, is_approved,
             person) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         ON CONFLICT (id) DO UPDATE SET expires_ms = EXCLUDED.expires_ms, tries = EXCLUDED.tries,
             is_approved = EXCLUDED.is_approved, person = EXCLUDED.person";
    const FAILED: &str = "INSERT INTO askuser.failed_credential (count, last_ms, address) VALUES ($1, $2, $3)
         ON CONFLICT (one) DO UPDATE SET count = EXCLUDED.count, last_ms = EXCLUDED.last_ms, address = EXCLUDED.address";
    let text = Type::TEXT;
    match change {
        RegisterWrite::InsertPerson(Person { name, added_ms }) => {
            connection.execute(PERSON, &[(name, text), (&signed(*added_ms), Type::INT8)]).await
        }
        RegisterWrite::DeletePerson(name) => {
            connection.execute("DELETE FROM askuser.person WHERE name = $1", &[(name, text)]).await
        }
        RegisterWrite::InsertCredential(Credential { made, made_ms, .. }) => {
            let values: [Value<'_>; 8] = [
                (&made.id, Type::TEXT),
                (&made.name, Type::TEXT),
                (&made.scope.name(), Type::TEXT),
                (&made.is_device, Type::BOOL),
                (&made.person.as_deref().unwrap_or_default(), Type::TEXT),
                (&&made.digest[..], Type::BYTEA),
                (&signed(*made_ms), Type::INT8),
                (&made.address, Type::TEXT),
            ];
            connection.execute(CREDENTIAL, &values).await
        }
        RegisterWrite::SetSeen(Credential { made, seen_ms, .. }) => {
            let values: [Value<'_>; 3] =
                [(&seen_ms.map(signed), Type::INT8), (&made.address, Type::TEXT), (&made.id, Type::TEXT)];
            connection.execute(SEEN, &values).await
        }
        RegisterWrite::Revoke(id) => connection.execute(REVOKE, &[(id, text), (&call, Type::TEXT)]).await,
        RegisterWrite::SetPairing(pairing) => {
            let values: [Value<'_>; 9] = [
                (&pairing.id, Type::TEXT),
                (&(pairing.kind == PairingKind::Link), Type::BOOL),
                (&&pairing.digest[..], Type::BYTEA),
                (&pairing.address, Type::TEXT),
                (&pairing.browser, Type::TEXT),
                (&signed(pairing.expires_ms), Type::INT8),
                (&i32::try_from(pairing.tries).unwrap_or(i32::MAX), Type::INT4),
                (&pairing.is_approved, Type::BOOL),
                (&pairing.person, Type::TEXT),
            ];
            connection.execute(PAIRING, &values).await
        }
        RegisterWrite::DeletePairing(id) => {
            connection.execute("DELETE FROM askuser.pairing WHERE id = $1", &[(id, text)]).await
        }
        RegisterWrite::SetFailed(FailedCredentials { count, last_ms, address }) => {
            let values: [Value<'_>; 3] =
                [(&signed(*count), Type::INT8), (&signed(*last_ms), Type::INT8), (address, Type::TEXT)];
            connection.execute(FAILED, &values).await
        }
    }
    .map(drop)
}
