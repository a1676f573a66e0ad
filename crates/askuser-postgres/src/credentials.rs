//! Who may use the store through a server.

use crate::PostgresStore;
use crate::database::{Database, Doing};
use crate::fault::{Fault, unreadable};
use crate::following::CHANNEL;
use crate::lanes::Lane;
use crate::pool::{Connection, Shared, Value};
use crate::row::{number, optional, signed};
use crate::store::random_id;
use askuser::store::{
    Call, Credential, CredentialScope, Credentials, Digest, FailedCredentials, NewCredential, Pairing, PairingKind,
    Person, Removed, StoreError, Watch,
};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

/// How often it is noted at most that a credential was used.
const SEEN_MS: i64 = 60_000;

const SELECT: &str =
    "SELECT id, name, scope, is_device, person, digest, made_ms, seen_ms, address, revoked_ms FROM askuser.credential";

fn read(row: &Row) -> Result<Credential, Fault> {
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

/// The live one with this id.
async fn live(connection: &Connection, id: &str) -> Result<Option<Credential>, Fault> {
    let sql = format!("{SELECT} WHERE id = $1 AND revoked_ms IS NULL");
    let rows = connection.query(&sql, &[(&id, Type::TEXT)]).await?;
    rows.first().map(read).transpose()
}

/// Keeps one, within a transaction. Where the reply to an earlier try was lost, it is there already.
async fn insert(connection: &Connection, new: &NewCredential) -> Result<Credential, Fault> {
    if let Some(known) = live(connection, &new.id).await?.filter(|known| known.made.digest == new.digest) {
        return Ok(known);
    }
    lock_names(connection, [&new.name, new.acts_as()]).await?;
    let sql = "SELECT scope FROM askuser.credential WHERE name = $1 AND scope <> $2 AND revoked_ms IS NULL LIMIT 1";
    let others = connection.query(sql, &[(&new.name, Type::TEXT), (&new.scope.name(), Type::TEXT)]).await?;
    let other = others.first().map(|row| row.try_get(0)).transpose()?;
    new.check(other, is_person(connection, new.acts_as()).await?)?;
    let sql = "INSERT INTO askuser.credential (id, name, scope, is_device, person, digest, made_ms, address)
         VALUES ($1, $2, $3, $4, $5, $6, askuser.now_ms(), $7) RETURNING made_ms";
    let values = [
        (&new.id as _, Type::TEXT),
        (&new.name as _, Type::TEXT),
        (&new.scope.name() as _, Type::TEXT),
        (&new.is_device as _, Type::BOOL),
        (&new.person.as_deref().unwrap_or_default() as _, Type::TEXT),
        (&&new.digest[..] as _, Type::BYTEA),
        (&new.address as _, Type::TEXT),
    ];
    let row = connection.row(sql, &values).await?;
    Ok(Credential { made: new.clone(), made_ms: number(&row, "made_ms")?, seen_ms: None })
}

/// Of two that take a name at once, for different scopes or for a person and a token, one comes first.
async fn lock_names(connection: &Connection, mut names: [&str; 2]) -> Result<(), Fault> {
    // In the same order by everybody, or two would wait for each other.
    names.sort_unstable();
    for name in names {
        let sql = "SELECT pg_advisory_xact_lock(hashtextextended('askuser credential ' || $1, 0))";
        connection.execute(sql, &[(&name, Type::TEXT)]).await?;
    }
    Ok(())
}

async fn is_person(connection: &Connection, name: &str) -> Result<bool, Fault> {
    let sql = "SELECT EXISTS (SELECT 1 FROM askuser.person WHERE name = $1)";
    Ok(connection.row(sql, &[(&name, Type::TEXT)]).await?.try_get(0)?)
}

/// Whether they were not there. A repeated call, after its reply was lost, says that they were: nothing else depends on it.
async fn add_person(connection: &Connection, name: &str) -> Result<bool, Fault> {
    lock_names(connection, [name, name]).await?;
    let sql = "SELECT EXISTS (SELECT 1 FROM askuser.credential WHERE name = $1 AND person = '' AND revoked_ms IS NULL)";
    if connection.row(sql, &[(&name, Type::TEXT)]).await?.try_get(0)? {
        return Err(StoreError::Forbidden(format!("{name} is the name of a token: revoke it first")).into());
    }
    // Serialized, so that of two lookalikes added at once the second is refused.
    connection.batch("LOCK TABLE askuser.person IN SHARE ROW EXCLUSIVE MODE").await?;
    let sql = "SELECT name FROM askuser.person UNION
         SELECT name FROM askuser.credential WHERE person = '' AND scope = 'answer' AND revoked_ms IS NULL";
    let rows = connection.query(sql, &[]).await?;
    let others: Vec<String> = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    Person::check_name(name, &others)?;
    let sql = "INSERT INTO askuser.person (name, added_ms) VALUES ($1, askuser.now_ms()) ON CONFLICT DO NOTHING";
    Ok(connection.execute(sql, &[(&name, Type::TEXT)]).await? == 1)
}

/// Removes a person, and revokes what is theirs.
async fn remove_person(connection: &Connection, name: &str, call: &str) -> Result<Option<Removed>, Fault> {
    lock_names(connection, [name, name]).await?;
    let removed = connection.execute("DELETE FROM askuser.person WHERE name = $1", &[(&name, Type::TEXT)]).await?;
    connection.execute("DELETE FROM askuser.pairing WHERE person = $1", &[(&name, Type::TEXT)]).await?;
    let condition = "person = $1 AND revoked_ms IS NULL";
    let revoked = revoke_all(connection, condition, &[(&name, Type::TEXT)], call).await?;
    let sql = "SELECT count(*) AS count FROM askuser.question WHERE state = 'pending' AND audience = ARRAY[$1]";
    let waiting = number(&connection.row(sql, &[(&name, Type::TEXT)]).await?, "count")?;
    // The reply to an earlier try may have been lost.
    Ok((removed == 1 || revoked > 0).then_some(Removed { revoked, waiting }))
}

/// Keeps a token that takes the place of those of its name.
async fn replace(connection: &Connection, new: &NewCredential) -> Result<(Credential, u64), Fault> {
    let made = insert(connection, new).await?;
    if new.is_device {
        return Ok((made, 0));
    }
    let condition = "name = $1 AND id <> $2 AND NOT is_device AND revoked_ms IS NULL";
    let values = [(&new.name as _, Type::TEXT), (&new.id as _, Type::TEXT)];
    Ok((made, revoke_all(connection, condition, &values, &new.id).await?))
}

/// Revokes by one call, and says how many that call has revoked, whichever try it was.
async fn revoke_all(connection: &Connection, which: &str, values: &[Value<'_>], call: &str) -> Result<u64, Fault> {
    let sql = format!(
        "UPDATE askuser.credential SET revoked_ms = askuser.now_ms(), revoked_by = ${} WHERE {which}",
        values.len() + 1
    );
    let mut all = values.to_vec();
    all.push((&call as _, Type::TEXT));
    connection.execute(&sql, &all).await?;
    // Every process that has let one of them in hears of it.
    connection.execute("SELECT pg_notify($1, '')", &[(&CHANNEL, Type::TEXT)]).await?;
    let sql = "SELECT count(*) AS count FROM askuser.credential WHERE revoked_by = $1";
    number(&connection.row(sql, &[(&call, Type::TEXT)]).await?, "count")
}

/// The pairing of this id, unless it is over; locked where it is about to be used.
async fn pairing(connection: &Connection, id: &str, lock: &str) -> Result<Option<Pairing>, Fault> {
    let sql = format!(
        "SELECT id, is_link, digest, address, browser, expires_ms, tries, is_approved, person FROM askuser.pairing
         WHERE id = $1 AND expires_ms > askuser.now_ms() AND tries < $2 {lock}"
    );
    let most = i32::try_from(Pairing::MOST_TRIES).unwrap_or(i32::MAX);
    let rows = connection.query(&sql, &[(&id, Type::TEXT), (&most, Type::INT4)]).await?;
    let read = |row: &Row| {
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
    };
    rows.first().map(read).transpose()
}

async fn offer(connection: &Connection, pairing: &Pairing) -> Result<Pairing, Fault> {
    connection.execute("DELETE FROM askuser.pairing WHERE expires_ms <= askuser.now_ms()", &[]).await?;
    let is_link = pairing.kind == PairingKind::Link;
    if !is_link {
        // Anybody can ask for a code: they are counted one after the other.
        connection.batch("LOCK TABLE askuser.pairing IN SHARE ROW EXCLUSIVE MODE").await?;
        let sql = "SELECT count(*) FILTER (WHERE address = $2) AS of_address, count(*) AS all FROM askuser.pairing
             WHERE NOT is_link AND id <> $1";
        let row = connection.row(sql, &[(&pairing.id, Type::TEXT), (&pairing.address, Type::TEXT)]).await?;
        Pairing::check_codes(number(&row, "of_address")?, number(&row, "all")?)?;
    }
    // A repeated offer, after its reply was lost, is the same one.
    let sql = "INSERT INTO askuser.pairing (id, is_link, digest, address, browser, expires_ms, person)
         VALUES ($1, $2, $3, $4, $5, askuser.now_ms() + $6, $7)
         ON CONFLICT (id) DO UPDATE SET expires_ms = EXCLUDED.expires_ms
         WHERE pairing.digest = EXCLUDED.digest RETURNING expires_ms";
    let values = [
        (&pairing.id as _, Type::TEXT),
        (&is_link as _, Type::BOOL),
        (&&pairing.digest[..] as _, Type::BYTEA),
        (&pairing.address as _, Type::TEXT),
        (&pairing.browser as _, Type::TEXT),
        (&signed(Pairing::LASTS_MS) as _, Type::INT8),
        (&pairing.person as _, Type::TEXT),
    ];
    let rows = connection.query(sql, &values).await?;
    let row = rows.first().ok_or_else(|| StoreError::Forbidden("another device shows this code: try again".into()))?;
    Ok(Pairing { expires_ms: number(row, "expires_ms")?, ..pairing.clone() })
}

async fn redeem(connection: &Connection, id: &str, new: &NewCredential) -> Result<Option<Credential>, Fault> {
    // The reply to an earlier try was lost.
    if let Some(known) = live(connection, &new.id).await?.filter(|known| known.made.digest == new.digest) {
        return Ok(Some(known));
    }
    let is_ready = |pairing: &Pairing| pairing.kind == PairingKind::Link || pairing.is_approved;
    if !pairing(connection, id, "FOR UPDATE").await?.as_ref().is_some_and(is_ready) {
        return Ok(None);
    }
    connection.execute("DELETE FROM askuser.pairing WHERE id = $1", &[(&id, Type::TEXT)]).await?;
    insert(connection, new).await.map(Some)
}

impl PostgresStore {
    /// Does something in one transaction, which may be repeated.
    fn transact<T: Send + 'static>(
        &self,
        work: impl AsyncFn(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Call<T> {
        self.call(Lane::Free, async move |database: Shared<Database>| {
            database
                .run(Doing::Writing, async |connection| connection.transaction(async || work(connection).await).await)
                .await
        })
    }
}

impl Credentials for PostgresStore {
    fn add_person(&self, name: &str) -> Call<bool> {
        let name = name.to_owned();
        self.transact(async move |connection| add_person(connection, &name).await)
    }

    fn people(&self) -> Call<Vec<Person>> {
        self.call(Lane::Free, async move |database: Shared<Database>| {
            let list = async |connection: &Connection| {
                let sql = "SELECT name, added_ms FROM askuser.person ORDER BY name COLLATE \"C\"";
                let read = |row: &Row| Ok(Person { name: row.try_get("name")?, added_ms: number(row, "added_ms")? });
                connection.query(sql, &[]).await?.iter().map(read).collect()
            };
            database.run(Doing::Reading, list).await
        })
    }

    fn remove_person(&self, name: &str) -> Call<Option<Removed>> {
        let (name, call) = (name.to_owned(), random_id());
        self.transact(async move |connection| match &call {
            Ok(call) => remove_person(connection, &name, call).await,
            Err(error) => Err(StoreError::unavailable("cannot name a call", error.chain()).into()),
        })
    }

    fn add_credential(&self, new: &NewCredential) -> Call<(Credential, u64)> {
        let new = new.clone();
        self.transact(async move |connection| replace(connection, &new).await)
    }

    fn credential(&self, id: &str) -> Call<Option<Credential>> {
        let id = id.to_owned();
        self.call(Lane::Free, async move |database: Shared<Database>| {
            database.run(Doing::Reading, async |connection| live(connection, &id).await).await
        })
    }

    fn credentials(&self) -> Call<Vec<Credential>> {
        self.call(Lane::Free, async move |database: Shared<Database>| {
            let list = async |connection: &Connection| {
                let sql = format!("{SELECT} WHERE revoked_ms IS NULL ORDER BY made_ms, n");
                connection.query(&sql, &[]).await?.iter().map(read).collect()
            };
            database.run(Doing::Reading, list).await
        })
    }

    fn credential_seen(&self, id: &str, address: &str) -> Call<()> {
        let (id, address) = (id.to_owned(), address.to_owned());
        self.call(Lane::Free, async move |database: Shared<Database>| {
            let sql = "UPDATE askuser.credential SET seen_ms = askuser.now_ms(), address = $2
                 WHERE id = $1 AND (address IS DISTINCT FROM $2 OR coalesce(seen_ms, 0) <= askuser.now_ms() - $3)";
            let values = [(&id as _, Type::TEXT), (&address as _, Type::TEXT), (&SEEN_MS as _, Type::INT8)];
            database.run(Doing::Writing, async |connection| connection.execute(sql, &values).await.map(drop)).await
        })
    }

    fn revoke_credential(&self, id: &str) -> Call<bool> {
        let id = id.to_owned();
        self.call(Lane::Free, async move |database: Shared<Database>| {
            let call = random_id()?;
            let revoke = async |connection: &Connection| {
                let which = "id = $1 AND revoked_ms IS NULL";
                Ok(revoke_all(connection, which, &[(&id, Type::TEXT)], &call).await? == 1)
            };
            database.run(Doing::Writing, revoke).await
        })
    }

    fn watch_revocations(&self) -> Call<Watch> {
        self.call(Lane::Free, async move |database: Shared<Database>| database.watch_revocations().await)
    }

    fn offer_pairing(&self, pairing: &Pairing) -> Call<Pairing> {
        let pairing = pairing.clone();
        self.transact(async move |connection| offer(connection, &pairing).await)
    }

    fn pairing(&self, id: &str) -> Call<Option<Pairing>> {
        let id = id.to_owned();
        self.call(Lane::Free, async move |database: Shared<Database>| {
            database.run(Doing::Reading, async |connection| pairing(connection, &id, "").await).await
        })
    }

    fn pairing_failed(&self, id: &str) -> Call<()> {
        let id = id.to_owned();
        self.call(Lane::Free, async move |database: Shared<Database>| {
            let sql = "UPDATE askuser.pairing SET tries = tries + 1 WHERE id = $1";
            let values = [(&id as _, Type::TEXT)];
            database.run(Doing::Writing, async |connection| connection.execute(sql, &values).await.map(drop)).await
        })
    }

    fn approve_pairing(&self, id: &str, person: &str) -> Call<bool> {
        let (id, person) = (id.to_owned(), person.to_owned());
        self.transact(async move |connection| {
            if !is_person(connection, &person).await? {
                return Err(StoreError::Forbidden(Person::unknown(&person)).into());
            }
            let known = pairing(connection, &id, "FOR UPDATE").await?;
            if known.is_none_or(|pairing| pairing.kind != PairingKind::Code) {
                return Ok(false);
            }
            // A repeated call, after its reply was lost, finds it let in as this person's.
            let sql = "UPDATE askuser.pairing SET is_approved = true, person = $2
                 WHERE id = $1 AND (NOT is_approved OR person = $2)";
            Ok(connection.execute(sql, &[(&id, Type::TEXT), (&person, Type::TEXT)]).await? == 1)
        })
    }

    fn redeem_pairing(&self, id: &str, new: &NewCredential) -> Call<Option<Credential>> {
        let (id, new) = (id.to_owned(), new.clone());
        self.transact(async move |connection| redeem(connection, &id, &new).await)
    }

    fn credential_failed(&self, address: &str) -> Call<()> {
        let address = address.to_owned();
        self.call(Lane::Free, async move |database: Shared<Database>| {
            let sql = "INSERT INTO askuser.failed_credential AS failed (count, last_ms, address)
                 VALUES (1, askuser.now_ms(), $1)
                 ON CONFLICT (one) DO UPDATE SET count = failed.count + 1, last_ms = EXCLUDED.last_ms, address = $1";
            let values = [(&address as _, Type::TEXT)];
            database.run(Doing::Writing, async |connection| connection.execute(sql, &values).await.map(drop)).await
        })
    }

    fn failed_credentials(&self) -> Call<Option<FailedCredentials>> {
        self.call(Lane::Free, async move |database: Shared<Database>| {
            let list = async |connection: &Connection| {
                let rows =
                    connection.query("SELECT count, last_ms, address FROM askuser.failed_credential", &[]).await?;
                let read = |row: &Row| {
                    let (count, last_ms) = (number(row, "count")?, number(row, "last_ms")?);
                    Ok(FailedCredentials { count, last_ms, address: row.try_get("address")? })
                };
                rows.first().map(read).transpose()
            };
            database.run(Doing::Reading, list).await
        })
    }
}
