//! What natives read of a statement: where it runs, its SQL and its values. Runs nothing.
//! Rule: a value that cannot be bound is refused before anything waits.

use tsumugi_db::{BindRoom, Executor, Value as Bind};
use tsumugi_mruby::{NativeCall, Result, Scope, Value};

use super::binds::binds;
use super::vm_database::executor;
use crate::host::Host;
use crate::natives::arguments::text;

/// The arguments of `query(sql, *values)`.
pub(super) fn sql_and_values<'c, 'a>(call: &'a NativeCall<'c>) -> (Value<'c>, &'a [Value<'c>]) {
    (
        call.argument(0),
        call.arguments().get(1..).unwrap_or_default(),
    )
}

/// The arguments of a native that runs one: the database, the SQL, an Array of values.
pub(super) fn statement<'c>(
    host: &Host,
    scope: &'c Scope<'c>,
    call: &NativeCall<'c>,
) -> Result<'c, (Executor, String, Vec<Bind>)> {
    let executor = executor(host, scope, call.argument(0))?;
    let sql = text(scope, call.argument(1), "the SQL")?;
    let depth_max = host.settings.limits.json_depth_max;
    let values = scope.elements(call.argument(2));
    let binds = binds(scope, values, depth_max, BindRoom::default())?;
    Ok((executor, sql, binds))
}
