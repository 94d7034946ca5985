//! Values of one statement or pipeline at `binds_bytes_max`, and with one byte more. Which database it is decides nothing here.

use tsumugi_db::limits::BINDS_BYTES_MAX;
use tsumugi_db::{
    Database, Error, Executor, Options, PipelineAtomicity, SqlText, TransactionOptions, Value,
};

/// Bytes of one value.
const PIECE: usize = 16 << 20;

/// So many bytes in values of 16 MiB and one that is shorter.
fn values(bytes: usize) -> Vec<Value> {
    let mut values = vec![Value::Blob(vec![7; PIECE]); bytes / PIECE];
    values.push(Value::List(vec![Value::Text("x".repeat(bytes % PIECE))]));
    values
}

#[track_caller]
fn assert_refused<T>(outcome: Result<T, Error>) {
    let Err(error) = outcome else {
        panic!("it was taken");
    };
    let (kind, text) = (error.kind(), error.to_string());
    assert_eq!(kind, "UsageError", "{text}");
    assert!(text.contains("binds_bytes_max"), "{text}");
    assert!(text.contains(&BINDS_BYTES_MAX.to_string()), "{text}");
}

/// Runs a test with an empty database.
fn with(test: impl AsyncFn(Database)) {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("test.db").display());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        test(Database::connect(&url, Options::default()).await.unwrap()).await;
    });
}

#[test]
fn values_past_binds_bytes_max_are_refused_wherever_a_statement_runs() {
    with(async |db| {
        let sql = "select 1";
        let transaction = db.begin(TransactionOptions::default()).await.unwrap();
        assert_refused(db.query(sql, values(BINDS_BYTES_MAX + 1)).await);
        assert_refused(db.execute(sql, values(BINDS_BYTES_MAX + 1)).await);
        assert_refused(db.stream(sql, values(BINDS_BYTES_MAX + 1)).await);
        assert_refused(transaction.query(sql, values(BINDS_BYTES_MAX + 1)).await);
        assert_refused(transaction.execute(sql, values(BINDS_BYTES_MAX + 1)).await);
        assert_refused(transaction.stream(sql, values(BINDS_BYTES_MAX + 1)).await);
        // It goes on as if nothing had been asked.
        transaction.query(sql, []).await.unwrap();
        transaction.commit().await.unwrap();
    });
}

#[test]
fn values_of_binds_bytes_max_are_bound() {
    with(async |db| {
        let blobs = BINDS_BYTES_MAX / PIECE;
        let sum = vec!["length(?)"; blobs].join(" + ");
        let blobs = vec![Value::Blob(vec![7; PIECE]); blobs];
        let rows = db.query(format!("select {sum}"), blobs).await.unwrap();
        let found = rows
            .first()
            .and_then(|row| row.value(0))
            .map(|value| format!("{value:?}"));
        assert_eq!(found.as_deref(), Some("Integer(268435456)"));
    });
}

#[test]
fn values_of_a_pipeline_past_binds_bytes_max_are_refused_together() {
    with(async |db| {
        let half = BINDS_BYTES_MAX / 2;
        let statements = || -> Vec<(SqlText, Vec<Value>)> {
            vec![
                ("select 1".into(), values(half)),
                ("select 1".into(), values(half + 1)),
            ]
        };
        let transaction = db.begin(TransactionOptions::default()).await.unwrap();
        assert_refused(transaction.pipeline(statements()).await);
        transaction.commit().await.unwrap();
        let executor = Executor::Database(db);
        for atomicity in [PipelineAtomicity::Each, PipelineAtomicity::All] {
            assert_refused(executor.pipeline(statements(), atomicity).await);
        }
    });
}
