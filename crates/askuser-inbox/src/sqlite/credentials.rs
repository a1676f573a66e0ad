//! Who may use the store through a server.

use super::SqliteStore;
use super::database::Database;
use super::fault::{Fault, unreadable};
use super::thread::Message;
use askuser::store::{
    Call, Credential, CredentialScope, Credentials, Digest, FailedCredentials, NewCredential, Pairing, PairingKind,
    Person, Removed, StoreError, Watch,
};
use rusqlite::{OptionalExtension, Row, Transaction, params};

/// How often it is noted at most that a credential was used.
const SEEN_MS: u64 = 60_000;

const SELECT: &str = "SELECT id, name, scope, is_device, person, digest, made_ms, seen_ms, address FROM credential \
     WHERE revoked_ms IS NULL";

fn read(row: &Row<'_>) -> Result<Credential, Fault> {
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

fn insert(tx: &Transaction<'_>, new: &NewCredential, now: u64) -> Result<Credential, Fault> {
    let other = "SELECT scope FROM credential WHERE name = ?1 AND scope <> ?2 AND revoked_ms IS NULL";
    let other: Option<String> =
        tx.query_row(other, params![new.name, new.scope.name()], |row| row.get(0)).optional()?;
    new.check(other.as_deref(), is_person(tx, new.acts_as())?)?;
    tx.execute(
        "INSERT INTO credential (id, name, scope, is_device, person, digest, made_ms, address)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            new.id,
            new.name,
            new.scope.name(),
            new.is_device,
            new.person.as_deref().unwrap_or_default(),
            new.digest,
            now,
            new.address
        ],
    )?;
    Ok(Credential { made: new.clone(), made_ms: now, seen_ms: None })
}

fn is_person(tx: &Transaction<'_>, name: &str) -> Result<bool, Fault> {
    Ok(tx.query_row("SELECT EXISTS (SELECT 1 FROM person WHERE name = ?1)", [name], |row| row.get(0))?)
}

fn pairing(tx: &Transaction<'_>, id: &str, now: u64) -> Result<Option<Pairing>, Fault> {
    let found = tx.query_row(
        "SELECT id, is_link, digest, address, browser, expires_ms, tries, is_approved, person FROM pairing
         WHERE id = ?1 AND expires_ms > ?2 AND tries < ?3",
        params![id, now, Pairing::MOST_TRIES],
        |row| {
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
        },
    );
    Ok(found.optional()?)
}

impl Database {
    /// How many credentials were revoked: grows whenever one is.
    pub(super) fn revocations(&mut self) -> Result<u64, StoreError> {
        self.read(|tx, _| {
            let sql = "SELECT count(*) FROM credential WHERE revoked_ms IS NOT NULL";
            Ok(tx.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
        })
    }
}

/// Calls that are one transaction each; given the time.
macro_rules! transactions {
    ($($name:ident),+) => {
        impl SqliteStore {$(
            fn $name<T: Send + 'static>(&self, work: impl Work<T>) -> Call<T> {
                self.call(move |database| {
                    let now = database.now();
                    database.$name(|tx, _| work(tx, now))
                })
            }
        )+}
    };
}
transactions!(read, write, write_unsynced);

trait Work<T>: FnOnce(&Transaction<'_>, u64) -> Result<T, Fault> + Send + 'static {}
impl<T, F: FnOnce(&Transaction<'_>, u64) -> Result<T, Fault> + Send + 'static> Work<T> for F {}

impl Credentials for SqliteStore {
    fn add_person(&self, name: &str) -> Call<bool> {
        let name = name.to_owned();
        self.write(move |tx, now| {
            let taken =
                "SELECT EXISTS (SELECT 1 FROM credential WHERE name = ?1 AND person = '' AND revoked_ms IS NULL)";
            if tx.query_row(taken, [&name], |row| row.get(0))? {
                return Err(StoreError::Forbidden(format!("{name} is the name of a token: revoke it first")).into());
            }
            let names = "SELECT name FROM person
                         UNION SELECT name FROM credential WHERE person = '' AND scope = 'answer' AND revoked_ms IS NULL";
            let others = tx.prepare(names)?.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
            Person::check_name(&name, &others)?;
            let insert = "INSERT INTO person (name, added_ms) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
            Ok(tx.execute(insert, params![name, now])? == 1)
        })
    }

    fn people(&self) -> Call<Vec<Person>> {
        self.read(|tx, _| {
            let mut statement = tx.prepare_cached("SELECT name, added_ms FROM person ORDER BY name")?;
            let people = statement.query_map([], |row| Ok(Person { name: row.get(0)?, added_ms: row.get(1)? }))?;
            Ok(people.collect::<Result<_, _>>()?)
        })
    }

    fn remove_person(&self, name: &str) -> Call<Option<Removed>> {
        let name = name.to_owned();
        self.write(move |tx, now| {
            let removed = tx.execute("DELETE FROM person WHERE name = ?1", [&name])?;
            tx.execute("DELETE FROM pairing WHERE person = ?1", [&name])?;
            let sql = "UPDATE credential SET revoked_ms = ?1 WHERE person = ?2 AND revoked_ms IS NULL";
            let revoked = tx.execute(sql, params![now, name])? as u64;
            let sql = "SELECT count(*) FROM question WHERE state = 'pending' AND audience = json_array(?1)";
            let waiting = tx.query_row(sql, [&name], |row| row.get(0))?;
            Ok((removed == 1).then_some(Removed { revoked, waiting }))
        })
    }

    fn add_credential(&self, new: &NewCredential) -> Call<(Credential, u64)> {
        let new = new.clone();
        self.write(move |tx, now| {
            let made = insert(tx, &new, now)?;
            let sql = "UPDATE credential SET revoked_ms = ?1
                       WHERE name = ?2 AND id <> ?3 AND NOT is_device AND NOT ?4 AND revoked_ms IS NULL";
            let replaced = tx.execute(sql, params![now, new.name, new.id, new.is_device])?;
            Ok((made, replaced as u64))
        })
    }

    fn credential(&self, id: &str) -> Call<Option<Credential>> {
        let id = id.to_owned();
        self.read(move |tx, _| {
            let mut statement = tx.prepare_cached(&format!("{SELECT} AND id = ?1"))?;
            statement.query_row([id], |row| Ok(read(row))).optional()?.transpose()
        })
    }

    fn credentials(&self) -> Call<Vec<Credential>> {
        self.read(|tx, _| {
            let mut statement = tx.prepare_cached(&format!("{SELECT} ORDER BY made_ms, rowid"))?;
            let (mut rows, mut found) = (statement.query([])?, Vec::new());
            while let Some(row) = rows.next()? {
                found.push(read(row)?);
            }
            Ok(found)
        })
    }

    fn credential_seen(&self, id: &str, address: &str) -> Call<()> {
        let (id, address) = (id.to_owned(), address.to_owned());
        self.write_unsynced(move |tx, now| {
            tx.execute(
                "UPDATE credential SET seen_ms = ?1, address = ?2
                 WHERE id = ?3 AND (address IS NOT ?2 OR coalesce(seen_ms, 0) <= ?1 - ?4)",
                params![now, address, id, SEEN_MS],
            )?;
            Ok(())
        })
    }

    fn revoke_credential(&self, id: &str) -> Call<bool> {
        let id = id.to_owned();
        self.write(move |tx, now| {
            let sql = "UPDATE credential SET revoked_ms = ?1 WHERE id = ?2 AND revoked_ms IS NULL";
            Ok(tx.execute(sql, params![now, id])? == 1)
        })
    }

    fn watch_revocations(&self) -> Call<Watch> {
        self.send(|reply| Message::WatchRevocations { reply })
    }

    fn offer_pairing(&self, pairing: &Pairing) -> Call<Pairing> {
        let pairing = pairing.clone();
        self.write_unsynced(move |tx, now| {
            let pairing = Pairing { expires_ms: now + Pairing::LASTS_MS, ..pairing };
            tx.execute("DELETE FROM pairing WHERE expires_ms <= ?1", [now])?;
            if pairing.kind == PairingKind::Code {
                let sql = "SELECT count(*) FILTER (WHERE address = ?1), count(*) FROM pairing WHERE NOT is_link";
                let (of_address, all) = tx.query_row(sql, [&pairing.address], |row| Ok((row.get(0)?, row.get(1)?)))?;
                Pairing::check_codes(of_address, all)?;
            }
            let is_link = pairing.kind == PairingKind::Link;
            tx.execute(
                "INSERT INTO pairing (id, is_link, digest, address, browser, expires_ms, person)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![
                    pairing.id,
                    is_link,
                    pairing.digest,
                    pairing.address,
                    pairing.browser,
                    pairing.expires_ms,
                    pairing.person
                ],
            )?;
            Ok(pairing)
        })
    }

    fn pairing(&self, id: &str) -> Call<Option<Pairing>> {
        let id = id.to_owned();
        self.read(move |tx, now| pairing(tx, &id, now))
    }

    fn pairing_failed(&self, id: &str) -> Call<()> {
        let id = id.to_owned();
        self.write_unsynced(move |tx, _| {
            tx.execute("UPDATE pairing SET tries = tries + 1 WHERE id = ?1", [id])?;
            Ok(())
        })
    }

    fn approve_pairing(&self, id: &str, person: &str) -> Call<bool> {
        let (id, person) = (id.to_owned(), person.to_owned());
        self.write(move |tx, now| {
            if !is_person(tx, &person)? {
                return Err(StoreError::Forbidden(Person::unknown(&person)).into());
            }
            let known = pairing(tx, &id, now)?.is_some_and(|pairing| pairing.kind == PairingKind::Code);
            let sql = "UPDATE pairing SET is_approved = 1, person = ?2
                       WHERE id = ?1 AND (NOT is_approved OR person = ?2)";
            Ok(known && tx.execute(sql, [id, person])? == 1)
        })
    }

    fn redeem_pairing(&self, id: &str, new: &NewCredential) -> Call<Option<Credential>> {
        let (id, new) = (id.to_owned(), new.clone());
        self.write(move |tx, now| {
            let is_ready = |pairing: &Pairing| pairing.kind == PairingKind::Link || pairing.is_approved;
            if !pairing(tx, &id, now)?.as_ref().is_some_and(is_ready) {
                return Ok(None);
            }
            tx.execute("DELETE FROM pairing WHERE id = ?1", [id])?;
            insert(tx, &new, now).map(Some)
        })
    }

    fn credential_failed(&self, address: &str) -> Call<()> {
        let address = address.to_owned();
        self.write_unsynced(move |tx, now| {
            tx.execute(
                "INSERT INTO failed_credential (one, count, last_ms, address) VALUES (1, 1, ?1, ?2)
                 ON CONFLICT (one) DO UPDATE SET count = count + 1, last_ms = ?1, address = ?2",
                params![now, address],
            )?;
            Ok(())
        })
    }

    fn failed_credentials(&self) -> Call<Option<FailedCredentials>> {
        self.read(|tx, _| {
            let failed = tx.query_row("SELECT count, last_ms, address FROM failed_credential", [], |row| {
                Ok(FailedCredentials { count: row.get(0)?, last_ms: row.get(1)?, address: row.get(2)? })
            });
            Ok(failed.optional()?)
        })
    }
}
