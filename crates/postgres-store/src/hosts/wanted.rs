//! Which hosts a connection may lead to.

use sqlx::postgres::PgConnection;
use sqlx::{Error, Row as _};

/// `target_session_attrs` of a URL, and what the writers of a store want.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Any,
    ReadWrite,
    ReadOnly,
    Primary,
    Standby,
    PreferStandby,
    /// A host that takes writes. Without one, a primary that takes none for now, because it still
    /// answers reads.
    PreferReadWrite,
}

/// How well a host suits.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Suits {
    Best,
    /// Only if no other host suits better.
    IfNoOther,
    /// The unwanted role of the host.
    Not(&'static str),
}

/// The role of a host, by its own account.
#[derive(Clone, Copy)]
pub(super) struct Role {
    is_standby: bool,
    is_read_only: bool,
}

impl Wanted {
    pub(super) fn named(name: &str) -> Result<Self, String> {
        Ok(match name {
            "any" => Self::Any,
            "read-write" => Self::ReadWrite,
            "read-only" => Self::ReadOnly,
            "primary" => Self::Primary,
            "standby" => Self::Standby,
            "prefer-standby" => Self::PreferStandby,
            _ => {
                return Err(
                    "target_session_attrs must be any, read-write, read-only, primary, \
                            standby or prefer-standby"
                        .to_owned(),
                );
            }
        })
    }

    pub(super) fn suits(self, role: Role) -> Suits {
        let Role {
            is_standby,
            is_read_only,
        } = role;
        match self {
            Self::ReadWrite | Self::Primary | Self::PreferReadWrite if is_standby => {
                Suits::Not("is a standby")
            }
            Self::ReadWrite if is_read_only => Suits::Not("takes no writes"),
            Self::PreferReadWrite if is_read_only => Suits::IfNoOther,
            Self::ReadOnly if !is_read_only => Suits::Not("takes writes"),
            Self::Standby if !is_standby => Suits::Not("is no standby"),
            Self::PreferStandby if !is_standby => Suits::IfNoOther,
            _ => Suits::Best,
        }
    }

    /// The kind of host, for messages.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::Any => "host that answers",
            Self::ReadWrite | Self::PreferReadWrite => "host that takes writes",
            Self::ReadOnly => "host that is read-only",
            Self::Primary => "primary",
            Self::Standby | Self::PreferStandby => "standby",
        }
    }
}

impl Role {
    pub(super) async fn of(connection: &mut PgConnection) -> Result<Self, Error> {
        // As one message, because a pooler may send two of them to different server processes.
        let ask = "SELECT pg_is_in_recovery(), current_setting('transaction_read_only') = 'on'";
        let row = sqlx::raw_sql(ask).fetch_one(connection).await?;
        Ok(Self {
            is_standby: row.try_get(0)?,
            is_read_only: row.try_get(1)?,
        })
    }
}
