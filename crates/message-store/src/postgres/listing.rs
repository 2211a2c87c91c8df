//! Lists streams and categories.

use super::PostgresStore;
use super::read::number;
use super::row;
use crate::{CategoryInfo, Error, ListStreams, Position, StoreInfo, StreamInfo};

impl PostgresStore {
    pub(super) async fn streams(&self, list: &ListStreams) -> Result<Vec<StreamInfo>, Error> {
        self.readers()?; // fails if the store is closed
        // PostgreSQL accepts no NUL in a text, and no name contains one.
        if list.prefix.contains('\0') {
            return Ok(Vec::new());
        }
        let first = first_name(list);
        let statement = || {
            sqlx::query(self.shared.statements.streams.clone())
                .bind(&list.prefix)
                .bind(&first)
                .bind(number(list.limit))
        };
        let rows = self.rows(statement).await?;
        let streams = rows.iter().map(|row| {
            Ok(StreamInfo {
                stream_name: row::string(row, 0)?,
                version: Position::new(row::number(row, 1)?),
                last_activity: row::time(row, 2)?,
            })
        });
        streams.collect()
    }

    pub(super) async fn categories(&self) -> Result<Vec<CategoryInfo>, Error> {
        let statement = || sqlx::query(self.shared.statements.categories.clone());
        let rows = self.rows(statement).await?;
        let categories = rows.iter().map(|row| {
            Ok(CategoryInfo {
                category: row::string(row, 0)?,
                stream_count: row::number(row, 1)?,
                message_count: row::number(row, 2)?,
            })
        });
        categories.collect()
    }

    pub(super) async fn store_info(&self) -> Result<StoreInfo, Error> {
        let statement = || sqlx::query(self.shared.statements.info.clone());
        let rows = self.rows(statement).await?;
        let Some(row) = rows.first() else {
            return Ok(StoreInfo::default());
        };
        Ok(StoreInfo {
            stream_count: row::number(row, 0)?,
            message_count: row::number(row, 1)?,
            last_activity: match row::is_null(row, 2)? {
                true => None,
                false => Some(row::time(row, 2)?),
            },
        })
    }
}

/// The least name that can be in the page.
fn first_name(list: &ListStreams) -> String {
    let Some(after) = &list.after else {
        return list.prefix.clone();
    };
    // The names after `a\0…` are those after `a`, because no name contains a NUL. For the same
    // reason `a\u{1}` is the least name after `a`.
    let after = after
        .split_once('\0')
        .map_or(&**after, |(before, _)| before);
    format!("{after}\u{1}").max(list.prefix.clone())
}
