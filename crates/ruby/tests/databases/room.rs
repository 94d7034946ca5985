//! Values that are copied out of the VM for one statement or pipeline, past `binds_bytes_max`. They are refused before they are copied.

use tsumugi_worker::WorkerLimits;

use crate::HELPERS;
use crate::rig::Rig;

/// One String of 16 MiB, which the VM holds once however often it is bound.
const SETUP: &str = "plugin(:db) { DB.connect \"sqlite:#{Tsumugi.data_dir}/test.db\" }
  LONG = 'x' * (16 << 20)
  db.execute_script 'create table t(n text, m text)'
  def limit(&block) = exception(&block).then { |e| \"#{e.class} #{e.message[/binds_bytes_max/]}\" }";

#[test]
fn values_past_binds_bytes_max_are_refused_by_its_name() {
    let refused = "DB::UsageError binds_bytes_max";
    let lines = [
        ("limit { db.query 'select 1', *[LONG] * 16, 'x' }", refused),
        (
            "limit { db.execute 'delete from t', [[LONG] * 17] }",
            refused,
        ),
        (
            "limit { db.insert 'insert into t values (?)', *[LONG] * 17 }",
            refused,
        ),
        ("limit { db[:t].where(n: [LONG] * 17).all }", refused),
        ("limit { db[:t].insert([{n: LONG, m: LONG}] * 9) }", refused),
        (
            "limit { db.pipeline { |p| 17.times { p.query 'select length(?)', LONG } } }",
            refused,
        ),
        (
            "db.query('select length(?) as n', LONG).first[:n]",
            "16777216",
        ),
    ];
    let routes = lines.iter().enumerate();
    let routes: String = routes
        .map(|(i, (line, _))| format!("get('/{i}') {{ {line} }}\n"))
        .collect();
    // Memory that is touched for the first time costs time, on a machine under load more than a turn may have.
    let limits = WorkerLimits {
        turn_cpu_ms_max: 600_000,
        ..WorkerLimits::default()
    };
    let rig = Rig::limited(&format!("{HELPERS}{SETUP}\n{routes}"), limits);
    for (i, (line, expected)) in lines.iter().enumerate() {
        let text = rig.get(&format!("/{i}")).text();
        let text = text.split("<body>").last().unwrap_or_default();
        assert_eq!(text, *expected, "{line}");
    }
}
