//! The report on a database for operators.

use crate::database::{CallKind, Database};
use crate::pool::{Connection, Shared};
use crate::row::{number, optional};
use askuser::store::StoreError;
use std::time::Duration;

/// The configuration and condition of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The address of the database without the password.
    pub address: String,
    /// The version of PostgreSQL as the server reports it.
    pub version: String,
    /// The server's setting `synchronous_commit`.
    pub synchronous_commit: String,
    /// The server's setting `synchronous_standby_names`. If it is empty, a failover may lose acknowledged writes.
    pub synchronous_standby_names: String,
    /// Whether the database survives a crash of the machine: `fsync` and `full_page_writes` are on.
    pub is_synced: bool,
    /// The number of events that have no number yet.
    pub unnumbered: u64,
    /// The age of the earliest event that has no number yet. It is zero if all events have a number.
    pub lag: Duration,
    /// Whether notifications arrive. If they do not, each process polls every second.
    pub notices_arrive: bool,
}

impl Report {
    /// Describes the report in sentences, one fact per entry.
    pub fn facts(&self) -> Vec<String> {
        let numbering = match self.unnumbered {
            0 => "every event has its number".to_owned(),
            some => format!("{some} events have no number yet, the earliest for {:.1} s", self.lag.as_secs_f32()),
        };
        let standbys = match &*self.synchronous_standby_names {
            "" => "no synchronous standby: a failover may lose what was acknowledged".to_owned(),
            names => format!("commits wait for the standby {names}"),
        };
        let commit = match &*self.synchronous_commit {
            "off" => "synchronous_commit is off: a crash of the server loses what was acknowledged".to_owned(),
            setting => format!("synchronous_commit is {setting}"),
        };
        let notices = if self.notices_arrive {
            "NOTIFY arrives"
        } else {
            "NOTIFY does not arrive, a pooler may swallow it: watchers look every second"
        };
        let mut facts = vec![format!("PostgreSQL {}", self.version), numbering, commit, standbys, notices.to_owned()];
        if !self.is_synced {
            facts.push("fsync or full_page_writes is off: a crash of the machine may damage the database".into());
        }
        facts
    }
}

impl Database {
    pub(crate) async fn report(self: &Shared<Self>) -> Result<Report, StoreError> {
        let notices_arrive = self.try_notices().await;
        let read = async |connection: &Connection| {
            let sql = "SELECT current_setting('server_version') AS version,
                 current_setting('synchronous_commit') AS synchronous_commit,
                 current_setting('synchronous_standby_names') AS standbys,
                 current_setting('fsync') = 'on' AND current_setting('full_page_writes') = 'on' AS is_synced,
                 (SELECT count(*) FROM askuser.event WHERE seq IS NULL) AS unnumbered,
                 (SELECT min(at_ms) FROM askuser.event WHERE seq IS NULL) AS earliest, askuser.now_ms() AS now";
            let row = connection.row(sql, &[]).await?;
            let earliest = optional(&row, "earliest")?;
            let now = number(&row, "now")?;
            Ok(Report {
                address: self.pool.shown().to_owned(),
                version: row.try_get("version")?,
                synchronous_commit: row.try_get("synchronous_commit")?,
                synchronous_standby_names: row.try_get("standbys")?,
                is_synced: row.try_get("is_synced")?,
                unnumbered: number(&row, "unnumbered")?,
                lag: Duration::from_millis(earliest.map_or(0, |earliest| now.saturating_sub(earliest))),
                notices_arrive,
            })
        };
        self.run(CallKind::Read, read).await
    }
}
