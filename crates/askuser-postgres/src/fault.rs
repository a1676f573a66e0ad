//! What goes wrong with a database, by what can be done about it.

use askuser::store::StoreError;
use std::error::Error;
use std::time::Duration;
use tokio_postgres::error::SqlState;

/// What went wrong inside: ours, or the database's.
pub(crate) enum Fault {
    Ours(StoreError),
    /// There is no connection, and nothing was sent.
    Unreachable(Box<dyn Error + Send + Sync>),
    /// The database refused it, or the connection was lost.
    Postgres(tokio_postgres::Error),
    /// It has not replied for so long.
    Silent(Duration),
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Fault {
        Fault::Ours(error)
    }
}

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Fault {
        Fault::Postgres(error)
    }
}

impl Fault {
    /// Whether a later try may succeed: the server restarts, another one takes over, two were in each other's way.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Fault::Ours(_) => false,
            Fault::Silent(_) => true,
            Fault::Unreachable(error) => error
                .downcast_ref::<tokio_postgres::Error>()
                .is_none_or(|error| error.code().is_none_or(is_passing) && !is_distrusted(error)),
            Fault::Postgres(error) => is_lost(error) || error.code().is_some_and(is_passing),
        }
    }

    /// Whether the connection is of no use any more. An old primary that has become a replica is not to be asked again.
    pub(crate) fn breaks(&self) -> bool {
        match self {
            Fault::Ours(_) | Fault::Unreachable(_) => false,
            Fault::Silent(_) => true,
            Fault::Postgres(error) => {
                is_lost(error) || error.code() == Some(&SqlState::READ_ONLY_SQL_TRANSACTION) || is_ending(error.code())
            }
        }
    }

    /// Whether what was sent may have been done although there is no reply.
    pub(crate) fn may_be_done(&self) -> bool {
        match self {
            Fault::Ours(_) | Fault::Unreachable(_) => false,
            Fault::Silent(_) => true,
            Fault::Postgres(error) => is_lost(error) || is_ending(error.code()),
        }
    }

    /// What a caller is told, who wanted this of the database at this address.
    pub(crate) fn of(self, address: &str, may_be_done: bool) -> StoreError {
        let what = format!("cannot use {address}");
        let source: Box<dyn Error + Send + Sync> = match self {
            Fault::Ours(error) => return error,
            Fault::Unreachable(error) => explained(error),
            Fault::Silent(after) => format!("no reply within {} s", after.as_secs_f32()).into(),
            Fault::Postgres(error) => match error.code() {
                Some(&SqlState::CHARACTER_NOT_IN_REPERTOIRE | &SqlState::UNTRANSLATABLE_CHARACTER) => {
                    let why = "a text of it has a NUL character, which PostgreSQL does not keep";
                    return StoreError::Forbidden(why.into());
                }
                Some(&SqlState::PROGRAM_LIMIT_EXCEEDED) => {
                    return StoreError::Forbidden(format!(
                        "a name of it is too long: {}",
                        askuser::error_chain(&error)
                    ));
                }
                Some(&(SqlState::DATA_CORRUPTED | SqlState::INDEX_CORRUPTED)) => {
                    return StoreError::damaged(what, askuser::error_chain(&error));
                }
                _ => explained(error.into()),
            },
        };
        match may_be_done {
            true => StoreError::unknown(what, source),
            false => StoreError::unavailable(what, source),
        }
    }
}

/// In its own words, each once.
fn explained(error: Box<dyn Error + Send + Sync>) -> Box<dyn Error + Send + Sync> {
    askuser::error_chain(&*error).into()
}

/// Whether the connection is gone, rather than that the server has refused something.
fn is_lost(error: &tokio_postgres::Error) -> bool {
    error.is_closed() || (error.as_db_error().is_none() && has_io_source(error))
}

fn has_io_source(error: &dyn Error) -> bool {
    std::iter::successors(error.source(), |error| (*error).source()).any(|source| source.is::<std::io::Error>())
}

/// Whether TLS has refused the server: the next time it would, too.
fn is_distrusted(error: &tokio_postgres::Error) -> bool {
    std::iter::successors(error.source(), |error| (*error).source())
        .filter_map(|source| source.downcast_ref::<std::io::Error>()?.get_ref())
        .any(|inner| inner.is::<rustls::Error>())
}

/// The server says that it goes, in the place of a reply.
fn is_ending(code: Option<&SqlState>) -> bool {
    matches!(
        code,
        Some(
            &(SqlState::ADMIN_SHUTDOWN
                | SqlState::CRASH_SHUTDOWN
                | SqlState::CANNOT_CONNECT_NOW
                | SqlState::IDLE_SESSION_TIMEOUT)
        )
    ) || code.is_some_and(|code| code.code().starts_with("08"))
}

fn is_passing(code: &SqlState) -> bool {
    is_ending(Some(code))
        || matches!(
            *code,
            SqlState::T_R_SERIALIZATION_FAILURE
                | SqlState::T_R_DEADLOCK_DETECTED
                | SqlState::READ_ONLY_SQL_TRANSACTION
                | SqlState::TOO_MANY_CONNECTIONS
                | SqlState::LOCK_NOT_AVAILABLE
        )
}

pub(crate) fn unreadable(error: impl std::fmt::Display) -> Fault {
    Fault::Ours(StoreError::damaged("cannot read a stored question", error.to_string()))
}

pub(crate) fn unwritable(error: serde_json::Error) -> StoreError {
    StoreError::unavailable("cannot write a question", error)
}
