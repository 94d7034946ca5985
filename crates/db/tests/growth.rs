//! Values bound to statements of SQLite, at sizes apart: time grows with the bytes, not with their square. SQLite has threads of its own,
//! so the CPU time of the process is compared: one test, beside which nothing runs.

use tsumugi_db::{Database, Options, values};
use tsumugi_testkit::growth::{CpuClock, excess_of_made};

#[test]
fn time_to_bind_and_read_values_grows_with_their_bytes() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let found = tokio::task::LocalSet::new().block_on(&runtime, async {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("test.db").display());
        let db = Database::connect(&url, Options::default()).await.unwrap();
        db.execute("create table t(n)", []).await.unwrap();
        let mut found = Vec::new();
        for sql in [
            "select ? as n",
            "insert into t(n) values (?) returning length(n)",
            "delete from t where n = ? or 1",
            "select count(*) from t where n like ?",
        ] {
            let bind = async |bytes: &[u8]| {
                let text = std::str::from_utf8(bytes).unwrap().to_owned();
                // A refusal, of a pattern that is too long, is an answer.
                let _ = db.query(sql, values![text]).await;
            };
            let make = |size: usize| b"a%_'\"".repeat(size / 5);
            found.extend(excess_of_made(CpuClock::Process, sql, make, bind).await);
        }
        let read = async |bytes: &[u8]| {
            let text = std::str::from_utf8(bytes).unwrap().to_owned();
            let sql = "select value from json_each(?)";
            let rows = db.query(sql, values![text]).await.unwrap();
            rows.write_json(&mut Vec::new()).unwrap();
        };
        let make = |size: usize| [b"[", &b"1234567,".repeat(size / 8 - 1)[..], b"1]"].concat();
        found.extend(excess_of_made(CpuClock::Process, "rows", make, read).await);
        found
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
}
