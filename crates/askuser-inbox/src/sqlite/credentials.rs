//! The people, tokens and devices that use the store through a server.

use super::SqliteStore;
use super::database::Database;
use super::fault::{Fault, unreadable};
use super::filter::signed;
use super::row::Requests;
use super::thread::Message;
use askuser::register_commands;
use askuser::store::{
    Call, Credential, CredentialScope, Credentials, Digest, FailedCredentials, NewCredential, Pairing, PairingKind,
    Person, Register, RegisterCommand, RegisterReply, RegisterWrite, StoreError, Watch, admit,
};
use rusqlite::{OptionalExtension, Row, Transaction, params};

impl Database {
    /// How many credentials were revoked: grows whenever one is.
    pub(super) fn revocations(&mut self) -> Result<u64, StoreError> {
        self.read(|tx, _| {
            let sql = "SELECT count(*) FROM credential WHERE revoked_ms IS NOT NULL";
            Ok(tx.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
        })
    }

    fn admit(&mut self, command: &RegisterCommand) -> Result<RegisterReply, StoreError> {
        let now = self.now();
        let work = |tx: &Transaction<'_>, _: &mut Requests| {
            let (writes, reply) = admit(&load(tx, command)?, now, command)?;
            writes.iter().try_for_each(|change| write(tx, change, now))?;
            Ok(reply)
        };
        match (command.is_reading(), command.must_be_synced()) {
            (true, _) => self.read(work),
            (false, true) => self.write(work),
            (false, false) => self.write_unsynced(work),
        }
    }
}

impl SqliteStore {
    fn admit(&self, command: RegisterCommand) -> Call<RegisterReply> {
        self.call(move |database| database.admit(&command))
    }
}

impl Credentials for SqliteStore {
    register_commands!();

    fn watch_revocations(&self) -> Call<Watch> {
        self.send(|reply| Message::WatchRevocations { reply })
    }
}

fn load(tx: &Transaction<'_>, command: &RegisterCommand) -> Result<Register, Fault> {
    let credentials = all(
        tx,
        "SELECT id, name, scope, is_device, person, digest, made_ms, seen_ms, address FROM credential
         WHERE revoked_ms IS NULL AND (?1 IS NULL OR id = ?1) ORDER BY made_ms, rowid",
        params![command.credential()],
        read_credential,
    )?;
    if command.credential().is_some() {
        return Ok(Register { credentials, ..Register::default() });
    }
    let person = |row: &Row<'_>| Ok(Person { name: row.get(0)?, added_ms: row.get(1)? });
    let failed =
        |row: &Row<'_>| Ok(FailedCredentials { count: row.get(0)?, last_ms: row.get(1)?, address: row.get(2)? });
    let waiting = "SELECT count(*) FROM question WHERE state = 'pending' AND audience = json_array(?1)";
    Ok(Register {
        people: all(tx, "SELECT name, added_ms FROM person ORDER BY name", params![], person)?,
        credentials,
        pairings: all(
            tx,
            "SELECT id, is_link, digest, address, browser, expires_ms, tries, is_approved, person FROM pairing",
            params![],
            read_pairing,
        )?,
        failed: tx.query_row("SELECT count, last_ms, address FROM failed_credential", [], failed).optional()?,
        revoked_before: 0,
        waiting: match command.removed() {
            Some(name) => tx.query_row(waiting, [name], |row| row.get(0))?,
            None => 0,
        },
    })
}

fn all<T>(
    tx: &Transaction<'_>,
    sql: &str,
    values: &[&dyn rusqlite::ToSql],
    read: impl Fn(&Row<'_>) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let mut statement = tx.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

fn read_credential(row: &Row<'_>) -> Result<Credential, Fault> {
    let scope = row.get_ref(2)?.as_str().unwrap_or_default();
    let scope = CredentialScope::named(scope).ok_or_else(|| unreadable(format!("unknown scope {scope:?}")))?;
    let made = NewCredential {
        id: row.get(0)?,
        name: row.get(1)?,
        scope,
        is_device: row.get(3)?,
        person: Some(row.get(4)?).filter(|person: &String| !person.is_empty()),
        digest: row.get::<_, Digest>(5)?,
        address: row.get(8)?,
    };
    Ok(Credential { made, made_ms: row.get(6)?, seen_ms: row.get(7)? })
}

fn read_pairing(row: &Row<'_>) -> Result<Pairing, Fault> {
    Ok(Pairing {
        id: row.get(0)?,
        kind: if row.get(1)? { PairingKind::Link } else { PairingKind::Code },
        digest: row.get(2)?,
        address: row.get(3)?,
        browser: row.get(4)?,
        expires_ms: row.get(5)?,
        tries: row.get(6)?,
        is_approved: row.get(7)?,
        person: row.get(8)?,
    })
}

fn write(tx: &Transaction<'_>, change: &RegisterWrite, now: u64) -> Result<(), Fault> {
    match change {
        RegisterWrite::InsertPerson(Person { name, added_ms }) => {
            tx.execute("INSERT INTO person VALUES (?1, ?2)", params![name, signed(*added_ms)])
        }
        RegisterWrite::DeletePerson(name) => tx.execute("DELETE FROM person WHERE name = ?1", [name]),
        RegisterWrite::InsertCredential(Credential { made, made_ms, .. }) => tx.execute(
            "INSERT INTO credential (id, name, scope, is_device, person, digest, made_ms, address)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                made.id,
                made.name,
                made.scope.name(),
                made.is_device,
                made.person.as_deref().unwrap_or_default(),
                made.digest,
                signed(*made_ms),
                made.address
            ],
        ),
        RegisterWrite::SetSeen(Credential { made, seen_ms, .. }) => tx.execute(
            "UPDATE credential SET seen_ms = ?1, address = ?2 WHERE id = ?3",
            params![seen_ms.map(signed), made.address, made.id],
        ),
        RegisterWrite::Revoke(id) => {
            tx.execute("UPDATE credential SET revoked_ms = ?1 WHERE id = ?2", params![signed(now), id])
        }
        RegisterWrite::SetPairing(pairing) => tx.execute(
            "INSERT OR REPLACE INTO pairing VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                pairing.id,
                pairing.kind == PairingKind::Link,
                pairing.digest,
                pairing.address,
                pairing.browser,
                signed(pairing.expires_ms),
                pairing.tries,
                pairing.is_approved,
                pairing.person
            ],
        ),
        RegisterWrite::DeletePairing(id) => tx.execute("DELETE FROM pairing WHERE id = ?1", [id]),
        RegisterWrite::SetFailed(FailedCredentials { count, last_ms, address }) => tx.execute(
            "INSERT OR REPLACE INTO failed_credential VALUES (1, ?1, ?2, ?3)",
            params![signed(*count), signed(*last_ms), address],
        ),
    }?;
    Ok(())
}
