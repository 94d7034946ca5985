//! Messages that are kept in a database: publishing one, and reading those after a number. Sends nothing and follows nothing.
//! Rule: a channel's row is held from the moment a number is given until the message is committed, so whoever sees a number sees all before it.

use std::sync::Arc;

use tsumugi_db::{Database, Row, Rows, TransactionMode, TransactionOptions, ValueRef, values};

use crate::engine::{KeptChannelName, KeptMessage, KeptRange};
use crate::error::{Error, Result};
use crate::table::SharedTable;

/// One statement, so that nothing is held while nobody asks: the next number, the message, those that are too old, and the notification, which
/// PostgreSQL sends with the commit.
const PUBLISH_POSTGRES: &str = "with next as (\
    insert into tsumugi_channels as c (name, last) values (?, 1) \
    on conflict (name) do update set last = c.last + 1 returning name, last), \
    kept as (insert into tsumugi_messages (channel, id, message) select name, last, ?::text from next), \
    gone as (delete from tsumugi_messages m using next where m.channel = next.name and m.id <= next.last - ?) \
    select last, pg_notify(?, ?::text || last::text || chr(10) || ?::text) from next";

const NUMBER_SQLITE: &str = "insert into tsumugi_channels (name, last) values (?, 1) \
    on conflict (name) do update set last = last + 1 returning last";

const KEEP_SQLITE: &str = "insert into tsumugi_messages (channel, id, message) values (?, ?, ?)";

const LET_GO_SQLITE: &str = "delete from tsumugi_messages where channel = ? and id <= ?";

const RANGE: &str = "select last, (select min(id) from tsumugi_messages where channel = name) \
    from tsumugi_channels where name = ?";

const AFTER: &str =
    "select id, message from tsumugi_messages where channel = ? and id > ? order by id limit ?";

/// The messages that a database keeps.
#[derive(Debug)]
pub(crate) struct KeptMessages {
    table: SharedTable,
}

impl KeptMessages {
    pub fn of(database: Database) -> KeptMessages {
        KeptMessages {
            table: SharedTable::messages(database),
        }
    }

    /// Keeps one, and notifies PostgreSQL's listeners: of the channel they listen to, of the text `sent_on`, and of number and message.
    pub async fn publish_and_notify(
        &self,
        notifications: &str,
        channel: &KeptChannelName,
        message: &str,
        keep: i64,
    ) -> Result<i64> {
        let before = format!("{}\n", channel.sent_on);
        let values = values![
            &*channel.name,
            message,
            keep,
            notifications,
            &*before,
            message
        ];
        let database = self.table.database().await?;
        number(&database.query(PUBLISH_POSTGRES, values).await?)
    }

    /// Keeps one in a transaction that begins with the right to write.
    pub async fn publish_in_transaction(
        &self,
        channel: &KeptChannelName,
        message: &str,
        keep: i64,
    ) -> Result<i64> {
        let options = TransactionOptions::write(TransactionMode::Immediate);
        let transaction = self.table.database().await?.begin(options).await?;
        let name = &*channel.name;
        let id = number(&transaction.query(NUMBER_SQLITE, values![name]).await?)?;
        let kept = values![name, id, message];
        transaction.execute(KEEP_SQLITE, kept).await?;
        let gone = values![name, id.saturating_sub(keep)];
        transaction.execute(LET_GO_SQLITE, gone).await?;
        transaction.commit().await?;
        Ok(id)
    }

    pub async fn range(&self, channel: &KeptChannelName) -> Result<KeptRange> {
        let database = self.table.database().await?;
        let rows = database.query(RANGE, values![&*channel.name]).await?;
        let Some(row) = rows.first() else {
            return Ok(KeptRange::default());
        };
        let integer = |index| row.value(index).and_then(ValueRef::as_integer);
        Ok(KeptRange {
            last: integer(0).unwrap_or_default(),
            oldest: integer(1),
        })
    }

    pub async fn after(
        &self,
        channel: &KeptChannelName,
        after: i64,
        most: usize,
    ) -> Result<Vec<KeptMessage>> {
        let database = self.table.database().await?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let values = values![&*channel.name, after, most];
        let rows = database.query(AFTER, values).await?;
        let message = |row: Row<'_>| {
            Some(KeptMessage {
                id: row.value(0)?.as_integer()?,
                text: Arc::from(row.value(1)?.as_text()?),
            })
        };
        Ok(rows.iter().filter_map(message).collect())
    }
}

fn number(rows: &Rows) -> Result<i64> {
    let number = rows.first().and_then(|row| row.value(0)?.as_integer());
    number.ok_or_else(|| Error::Engine("the database gave a message no number".into()))
}
