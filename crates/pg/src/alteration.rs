//! Tables and row types that were altered after they had been looked up, as by `ALTER TABLE … ADD COLUMN`. Decodes nothing for a caller.
//! Rule: an answer is never lost for this: what cannot be looked up again stays as it was. And never is one read as what it is not.

use std::rc::Rc;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tsumugi_pg_proto::types::{Format, Oid, print};

use crate::connection::Connection;
use crate::error::{Error, Result};
use crate::rows::Rows;
use crate::statement::{Column, Description, holds_rows};

impl Connection {
    /// The rows, with columns that describe them as they are. Boxed, so that the future of all others stays small.
    pub(crate) fn up_to_date<'a>(
        &'a self,
        sql: &'a str,
        hints: &'a [Oid],
        rows: Rows,
        description: Rc<Description>,
    ) -> LocalBoxFuture<'a, (Rows, Rc<Description>)> {
        async move {
            if agrees(&rows) {
                return (rows, description);
            }
            self.0.driver.catalogue.forget();
            self.0.driver.cache.borrow_mut().forget(sql, hints);
            match self.prepare(sql, hints).await {
                Ok(renewed) if renewed.columns.len() == description.columns.len() => {
                    (rows.described_by(&renewed.columns), renewed)
                }
                _ => (rows, description),
            }
        }
        .boxed_local()
    }
}

impl Connection {
    /// The rows of a statement that was executed without a name, as the server described them when it executed it: the one that was
    /// described before may have been about another table of the same name.
    pub(crate) fn as_executed<'a>(
        &'a self,
        sql: &'a str,
        hints: &'a [Oid],
        rows: Rows,
        description: &'a Rc<Description>,
    ) -> LocalBoxFuture<'a, Result<(Rows, Rc<Description>)>> {
        async move {
            let columns = match rows.description()? {
                Some(described) if !described.is(&description.columns) => described.columns(),
                _ => return Ok((rows, Rc::clone(description))),
            };
            self.0.driver.cache.borrow_mut().forget(sql, hints);
            let columns = columns.into_iter();
            let columns = columns.map(|(name, oid, format)| (name, oid, Some(format)));
            // The statement has run: what is lost here is not to be run again.
            let columns = self.columns_of(columns).await;
            let columns = columns.map_err(Error::after_execution)?;
            let renewed = Rc::new(description.with_columns(columns));
            Ok((rows.described_by(&renewed.columns), renewed))
        }
        .boxed_local()
    }
}

/// Whether the first row in each column is what its type says. One alteration changes all of them.
fn agrees(rows: &Rows) -> bool {
    let holds_rows = |column: &Column| column.format == Format::Binary && holds_rows(&column.ty);
    let columns = rows.columns().iter().enumerate();
    let mut unseen: Vec<(usize, &Column)> =
        columns.filter(|(_, column)| holds_rows(column)).collect();
    let mut scratch = Vec::new();
    for row in rows.iter() {
        let Ok(row) = row else { return true };
        let mut agree = true;
        unseen.retain(|(index, column)| match row.raw().column(*index) {
            Ok(Some(bytes)) => {
                scratch.clear();
                agree &= print::print(&column.ty, bytes, &mut scratch).is_ok();
                false
            }
            _ => true,
        });
        if unseen.is_empty() || !agree {
            return agree;
        }
    }
    true
}
