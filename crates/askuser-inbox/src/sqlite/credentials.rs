//! The people, tokens and devices that use the store through a server.

use super::SqliteStore;
use super::database::Database;
use super::error::Fault;
use super::thread::Message;
use askuser::store::{
    Call, Credentials, Register, RegisterCommand, RegisterReply, RegisterWrite, Requests, StoreError, Watch, admit,
};
use rusqlite::{Transaction, params};

impl Database {
    /// Returns the number of revoked credentials. It grows with each revocation.
    pub(super) fn revocations(&mut self) -> Result<u64, StoreError> {
        self.read(|tx, _| {
            let sql = "SELECT count(*) FROM register WHERE is_revoked";
            Ok(tx.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
        })
    }

    fn admit(&mut self, command: &RegisterCommand) -> Result<RegisterReply, StoreError> {
        let now = self.now();
        let work = |tx: &Transaction<'_>, _: &mut Requests| {
            let (writes, reply) = admit(&load(tx, command)?, now, command)?;
            writes.iter().try_for_each(|change| write(tx, change))?;
            Ok(reply)
        };
        match (command.is_reading(), command.must_be_synced()) {
            (true, _) => self.read(work),
            (false, true) => self.transact_synced(work),
            (false, false) => self.write_unsynced(work),
        }
    }
}

impl Credentials for SqliteStore {
    fn admit(&self, command: RegisterCommand) -> Call<RegisterReply> {
        self.call(move |database| database.admit(&command))
    }

    fn watch_revocations(&self) -> Call<Watch> {
        self.send(|reply| Message::WatchRevocations { reply })
    }
}

fn load(tx: &Transaction<'_>, command: &RegisterCommand) -> Result<Register, Fault> {
    let (kind, id) = command.entry().unzip();
    let sql = "SELECT entry FROM register WHERE NOT is_revoked AND (?1 IS NULL OR (kind = ?1 AND id = ?2)) ORDER BY n";
    let mut statement = tx.prepare_cached(sql)?;
    let entries = statement.query_map(params![kind, id], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
    let waiting = "SELECT count(*) FROM question WHERE state = 'pending' AND audience = json_array(?1)";
    let waiting = match command.removed() {
        Some(name) => tx.query_row(waiting, [name], |row| row.get(0))?,
        None => 0,
    };
    Ok(Register { waiting, ..Register::read(&entries)? })
}

fn write(tx: &Transaction<'_>, change: &RegisterWrite) -> Result<(), Fault> {
    match change {
        RegisterWrite::Set(entry) => {
            let (kind, id) = entry.key();
            let sql = "INSERT INTO register (kind, id, entry) VALUES (?1, ?2, ?3)
                       ON CONFLICT (kind, id) DO UPDATE SET entry = excluded.entry";
            tx.execute(sql, params![kind, id, entry.to_json()?])?
        }
        RegisterWrite::Delete(entry) => {
            let (kind, id) = entry.key();
            tx.execute("DELETE FROM register WHERE kind = ?1 AND id = ?2", params![kind, id])?
        }
        RegisterWrite::Revoke(id) => {
            tx.execute("UPDATE register SET is_revoked = true WHERE kind = 'credential' AND id = ?1", [id])?
        }
    };
    Ok(())
}
