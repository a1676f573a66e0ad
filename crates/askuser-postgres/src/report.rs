//! What there is to know about a database, for those who look after it.

use crate::database::{Database, Doing};
use crate::pool::{Connection, Shared};
use crate::row::{number, optional};
use askuser::store::StoreError;
use std::time::Duration;

/// How a database is set up, and how it is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Where it is, without the password.
    pub address: String,
    /// Its version, as it says.
    pub version: String,
    /// What a commit waits for: the setting of that name.
    pub synchronous_commit: String,
    /// Which standbys a commit waits for; empty where there are none, and a failover may lose what was acknowledged.
    pub synchronous_standby_names: String,
    /// Whether a server that crashes keeps what it has committed.
    pub is_synced: bool,
    /// How many events have no number yet, and for how long the earliest of them.
    pub unnumbered: u64,
    /// See [`Report::unnumbered`].
    pub lag: Duration,
    /// Whether a notice arrives; where it does not, a process looks every second.
    pub notices_arrive: bool,
}

impl Report {
    /// In words, one fact each.
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
        let notices = match self.notices_arrive {
            true => "NOTIFY arrives",
            false => "NOTIFY does not arrive, a pooler may swallow it: watchers look every second",
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
            let (earliest, now) = (optional(&row, "earliest")?, number(&row, "now")?);
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
        self.run(Doing::Reading, read).await
    }
}
