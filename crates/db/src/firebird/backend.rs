//! Firebird as a backend: how its statements are run outside of a transaction, each committed by itself.
//! Rule: a result is whole, with the blobs that its rows name, before its statement is committed.

use std::rc::Rc;

use tsumugi_firebird::{Connector, Error as Driver, StatementFate};
use tsumugi_firebird_proto::Value as Sent;
use tsumugi_sql::FIREBIRD;
use tsumugi_sql::scan::Lexicon;

use super::bind;
use super::blobs::Source;
use super::link::{Link, OpenSessions, Session};
use super::plan::{self, StatementEffect};
use super::rows::{Rows, Shapes};
use super::settings;
use crate::error::Result;
use crate::options::Options;
use crate::server::{Answer, Limits, PoolInner, Scope, ServerBackend, Target};
use crate::sql_text::SqlText;
use crate::value::Value;

/// One Firebird database.
pub struct Firebird {
    /// The server, its port and what the database is called there.
    address: (String, u16, String),
    opened: Rc<OpenSessions>,
    pub(super) shapes: Shapes,
}

/// A pool of connections to a Firebird database.
pub(super) type Inner = PoolInner<Firebird>;

const TRANSACTION: &str =
    "COMMIT, ROLLBACK, SAVEPOINT and SET TRANSACTION are for a transaction's own methods";
const SESSION: &str = "this statement would leave something behind in a connection's session, which others use next; say what it is about in the URL (role=…)";

impl ServerBackend for Firebird {
    type Link = Link;
    type Plan = StatementEffect;
    type Binds<'v> = Vec<Sent<'v>>;
    type Reply = Rows;
    type Error = tsumugi_firebird::Error;
    type Script<'s> = Vec<(&'s str, StatementEffect)>;

    async fn target(url: &str, options: Options) -> Result<Target<Firebird>> {
        let (config, options) = settings::read(url, options)?;
        let name = config.database.as_str();
        let name = name.rsplit(['/', '\\']).next().unwrap_or(name).into();
        let place = (config.host.clone(), config.port, config.database.clone());
        let address = Some(config.to_string().into());
        let opened = Rc::new(OpenSessions::default());
        let link = Link {
            connector: Connector::new(config),
            opened: Rc::clone(&opened),
        };
        let backend = Firebird {
            address: place,
            opened,
            shapes: Shapes::new(options.names),
        };
        Ok(Target {
            backend,
            link,
            name,
            address,
            options,
        })
    }

    fn is_same_as(&self, other: &Firebird) -> bool {
        self.address == other.address
    }

    fn limits(&self) -> Limits {
        Limits::Client
    }

    fn lexicon() -> Lexicon {
        FIREBIRD.lexicon
    }

    fn plan(&self, sql: &SqlText, _: Scope) -> Result<StatementEffect, &'static str> {
        permitted(sql)
    }

    fn needs_exclusive(effect: &StatementEffect) -> bool {
        *effect == StatementEffect::Schema
    }

    fn binds(values: &[Value]) -> Vec<Sent<'_>> {
        bind::values(values)
    }

    async fn query(
        pool: &Inner,
        connection: &Rc<Session>,
        effect: &StatementEffect,
        sql: &str,
        binds: &Self::Binds<'_>,
    ) -> tsumugi_firebird::Result<Rows> {
        release_tables(pool, *effect).await;
        let _in_use = connection.used();
        let reply = connection.reply_to(*effect, sql, binds).await?;
        // What is too large to be an answer has not happened either.
        let source = Source::Reply(&reply);
        let whole = with_blobs(pool, reply.rows(), *effect, &source).await?;
        reply.finish().await?;
        Ok(whole)
    }

    fn answer(rows: Rows) -> tsumugi_firebird::Result<Answer> {
        Ok(Answer {
            affected: rows.affected(),
            rows: rows.into(),
        })
    }

    fn script<'s>(&self, sql: &'s str) -> Result<Vec<(&'s str, StatementEffect)>, &'static str> {
        let statements = plan::statements(sql).into_iter();
        let planned = statements.map(|one| Ok((one, permitted(one)?)));
        planned.collect()
    }

    async fn run_script(
        pool: &Inner,
        connection: &Rc<Session>,
        script: Self::Script<'_>,
    ) -> tsumugi_firebird::Result<()> {
        for (index, (statement, effect)) in script.into_iter().enumerate() {
            release_tables(pool, effect).await;
            let run = async {
                let reply = connection.reply_to(effect, statement, &[]).await?;
                reply.finish().await
            };
            match run.await {
                // Those before it have been committed.
                Err(Driver::Lost { reason, .. }) if index > 0 => {
                    let ran = StatementFate::Perhaps;
                    return Err(Driver::Lost { reason, ran });
                }
                run => drop(run?),
            }
        }
        Ok(())
    }
}

/// What a statement does, unless it is for a transaction's methods or would outlast its caller.
fn permitted(sql: &str) -> Result<StatementEffect, &'static str> {
    match plan::effect(sql) {
        StatementEffect::Transaction => Err(TRANSACTION),
        StatementEffect::Session => Err(SESSION),
        effect => Ok(effect),
    }
}

/// Frees what would keep the server from changing a table.
pub(super) async fn release_tables(pool: &Inner, effect: StatementEffect) {
    if effect == StatementEffect::Schema {
        pool.backend.opened.release().await;
    }
}

/// The rows of an answer with the blobs they name.
pub(super) async fn with_blobs(
    pool: &Inner,
    rows: &tsumugi_firebird::Rows,
    effect: StatementEffect,
    source: &Source<'_>,
) -> tsumugi_firebird::Result<Rows> {
    let is_nothing = effect == StatementEffect::Change && rows.affected() == 0;
    let mut rows = Rows::new(rows, pool.backend.shapes.columns(rows.format()));
    if is_nothing {
        rows.truncate(0);
    }
    let bytes_max = pool.options.rows_max_bytes;
    if rows.bytes() > bytes_max {
        return Err(tsumugi_firebird::Error::TooLarge {
            reply_bytes_max: bytes_max,
        });
    }
    if !rows.name_blobs() {
        return Ok(rows);
    }
    let blobs = source.read(rows.raw(), bytes_max - rows.bytes()).await?;
    Ok(rows.with(blobs))
}
