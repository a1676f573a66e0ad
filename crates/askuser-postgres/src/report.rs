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
