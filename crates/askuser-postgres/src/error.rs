//! Errors of a database, classified by the remedy.

use askuser::store::StoreError;
use std::error::Error;
use std::time::Duration;
use tokio_postgres::error::SqlState;

/// An error of this crate or of the database.
pub(crate) enum DatabaseError {
    Ours(StoreError),
    /// No connection could be opened. The request was not sent.
    Unreachable(Box<dyn Error + Send + Sync>),
    /// The database refused the request, or the connection was lost.
    Postgres(tokio_postgres::Error),
    /// The database did not reply within this time.
    Silent(Duration),
}

impl From<StoreError> for DatabaseError {
    fn from(error: StoreError) -> DatabaseError {
        DatabaseError::Ours(error)
    }
}

impl From<tokio_postgres::Error> for DatabaseError {
    fn from(error: tokio_postgres::Error) -> DatabaseError {
        DatabaseError::Postgres(error)
    }
}

impl DatabaseError {
    /// Whether a retry may succeed, for example after a restart, a failover or a conflict of two transactions.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            DatabaseError::Ours(_) => false,
            DatabaseError::Silent(_) => true,
            DatabaseError::Unreachable(error) => error
                .downcast_ref::<tokio_postgres::Error>()
                .is_none_or(|error| error.code().is_none_or(is_passing) && !is_distrusted(error)),
            DatabaseError::Postgres(error) => is_lost(error) || error.code().is_some_and(is_passing),
        }
    }

    /// Whether the connection must be closed. A former primary that became a replica must not be used again, for
    /// example.
    pub(crate) fn breaks(&self) -> bool {
        match self {
            DatabaseError::Ours(_) | DatabaseError::Unreachable(_) => false,
            DatabaseError::Silent(_) => true,
            DatabaseError::Postgres(error) => {
                is_lost(error) || error.code() == Some(&SqlState::READ_ONLY_SQL_TRANSACTION) || is_ending(error.code())
            }
        }
    }

    /// Whether the request may have taken effect although its reply is missing.
    pub(crate) fn may_be_done(&self) -> bool {
        match self {
            DatabaseError::Ours(_) | DatabaseError::Unreachable(_) => false,
            DatabaseError::Silent(_) => true,
            DatabaseError::Postgres(error) => is_lost(error) || is_ending(error.code()),
        }
    }

    /// Converts the error for the caller. The message has the operation, the address and the cause.
    pub(crate) fn into_store_error(self, address: &str, may_be_done: bool) -> StoreError {
        let what = format!("cannot use {address}");
        let source: Box<dyn Error + Send + Sync> = match self {
            DatabaseError::Ours(error) => return error,
            DatabaseError::Unreachable(error) => explained(error),
            DatabaseError::Silent(after) => format!("no reply within {} s", after.as_secs_f32()).into(),
            DatabaseError::Postgres(error) => match error.code() {
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
        if may_be_done { StoreError::unknown(what, source) } else { StoreError::unavailable(what, source) }
    }
}

/// Joins the messages of an error and its causes. Each message appears once.
fn explained(error: Box<dyn Error + Send + Sync>) -> Box<dyn Error + Send + Sync> {
    askuser::error_chain(&*error).into()
}

/// Whether the connection was lost. A refused request does not lose the connection.
fn is_lost(error: &tokio_postgres::Error) -> bool {
    error.is_closed() || (error.as_db_error().is_none() && has_io_source(error))
}

fn has_io_source(error: &dyn Error) -> bool {
    std::iter::successors(error.source(), |error| (*error).source()).any(|source| source.is::<std::io::Error>())
}

/// Whether TLS rejected the server's certificate. A retry would fail again.
fn is_distrusted(error: &tokio_postgres::Error) -> bool {
    std::iter::successors(error.source(), |error| (*error).source())
        .filter_map(|source| source.downcast_ref::<std::io::Error>()?.get_ref())
        .any(|inner| inner.is::<rustls::Error>())
}

/// Whether the server has reported that it is shutting down or closing the connection.
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

pub(crate) fn unreadable(error: impl std::fmt::Display) -> DatabaseError {
    DatabaseError::Ours(StoreError::damaged("cannot read a stored question", error.to_string()))
}

pub(crate) fn unwritable(error: serde_json::Error) -> StoreError {
    StoreError::unavailable("cannot write a question", error)
}
