//! Values that are copied out of the VM for one statement or pipeline, past `binds_bytes_max`. They are refused before they are copied.

use crate::{Engine, check_on};

/// One String of 16 MiB, which the VM holds once however often it is bound.
const SETUP: &str = "LONG = 'x' * (16 << 20)
  db.execute_script 'create table t(n text, m text)'
  def limit(&block) = exception(&block).then { |e| \"#{e.class} #{e.message[/binds_bytes_max/]}\" }";

#[test]
fn values_past_binds_bytes_max_are_refused_by_its_name() {
    let refused = "DB::UsageError binds_bytes_max";
    check_on(
        Engine::Sqlite,
        SETUP,
        &[
            ("limit { db.query 'select 1', *[LONG] * 16, 'x' }", refused),
            (
                "limit { db.execute 'delete from t', [[LONG] * 17] }",
                refused,
            ),
            (
                "limit { db.execute 'delete from t', {a: [LONG] * 17} }",
                refused,
            ),
            (
                "limit { db.insert 'insert into t values (?)', *[LONG] * 17 }",
                refused,
            ),
            ("limit { db[:t].where(n: [LONG] * 17).all }", refused),
            (
                "limit { db[:t].insert_all([{n: LONG, m: LONG}] * 9) }",
                refused,
            ),
            (
                "limit { db.pipeline { |p| 17.times { p.query 'select length(?)', LONG } } }",
                refused,
            ),
            (
                "db.query('select length(?) as n', LONG).first[:n]",
                "16777216",
            ),
        ],
    );
}
