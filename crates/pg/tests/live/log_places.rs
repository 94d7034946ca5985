//! Places in the log: what a connection learns behind what it writes, and what a standby says of a read. As a role without rights.

use tsumugi_pg::connection::Behaviour;
use tsumugi_pg::{
    Atomicity, Config, Connection, Connector, Error, LogPosition, ReplayQuestion, Statement,
    TransactionOptions,
};
use tsumugi_testkit::postgres::{Server, User};

use crate::{environment, int, open_at, run};

async fn follow(server: &Server) -> Connection {
    let config = Config::parse(&server.url(User::TRUST), &environment()).unwrap();
    let behaviour = Behaviour {
        follows_log: true,
        ..Behaviour::of(&config)
    };
    let connector = Connector::new(config);
    Connection::open_with(&connector, behaviour).await.unwrap()
}

/// The place behind what was written, which is a later one.
fn moved(db: &Connection, before: &mut Option<LogPosition>) {
    let position = db.log_position();
    assert!(position > *before, "{position:?} after {before:?}");
    *before = position;
}

#[test]
fn place_is_learnt_behind_what_is_committed_and_nothing_else() {
    let server = Server::start();
    server.psql("create table t (n int); grant all on t to trusting");
    run(async {
        let db = follow(&server).await;
        let mut place = None;
        db.query("select n from t", &()).await.unwrap();
        assert_eq!(db.log_position(), None);
        db.execute("insert into t values (1)", &()).await.unwrap();
        moved(&db, &mut place);
        assert_eq!(db.log_position().map(|place| place.timeline), Some(1));
        // By the name of a function it may.
        db.query("select abs(n) from t", &()).await.unwrap();
        assert!(db.log_position() >= place);
        place = db.log_position();

        let transaction = db.begin(TransactionOptions::default()).await.unwrap();
        db.execute("insert into t values (2)", &()).await.unwrap();
        assert_eq!(db.log_position(), place);
        transaction.commit().await.unwrap();
        moved(&db, &mut place);
        let transaction = db.begin(TransactionOptions::default()).await.unwrap();
        db.query("select n from t", &()).await.unwrap();
        transaction.commit().await.unwrap();
        assert_eq!(db.log_position(), place);

        // A statement that fails is not followed by another error.
        let failed = db.execute("insert into t values (1 / 0)", &()).await;
        assert!(matches!(failed, Err(Error::Server(_))));
        let statement = Statement {
            sql: "insert into t values (3)",
            values: &(),
        };
        db.pipeline(&[statement], Atomicity::All).await.unwrap();
        db.learn_log_position().await.unwrap();
        moved(&db, &mut place);

        let plain = open_at(&server.url(User::TRUST)).await;
        plain
            .execute("insert into t values (4)", &())
            .await
            .unwrap();
        assert_eq!(plain.log_position(), None);
        let identity = plain.primary_identity().await.unwrap().unwrap();
        let said = server.psql("select system_identifier from pg_control_system()");
        assert_eq!(identity.system.to_string(), said);
        let state = plain.standby_state().await.unwrap().unwrap();
        assert_eq!((state.system, state.replayed), (identity.system, None));
        assert_eq!(state.database, identity.database);
    });
}

#[test]
fn read_on_a_standby_stands_between_two_places() {
    let server = Server::start();
    server.psql("create table t (n int); grant all on t to trusting");
    let standby = server.standby();
    run(async {
        let primary = follow(&server).await;
        primary
            .execute("insert into t values (7)", &())
            .await
            .unwrap();
        standby.catch_up(&server);
        let written = primary.log_position().unwrap();
        let db = open_at(&standby.url(User::TRUST)).await;
        let state = db.standby_state().await.unwrap().unwrap();
        let replayed = state.replayed.unwrap();
        assert!(replayed >= written, "{replayed:?} {written:?}");
        for asks in [ReplayQuestion::Around, ReplayQuestion::Behind] {
            let read = db
                .read_on_standby("select n from t", &(), asks)
                .await
                .unwrap();
            assert_eq!(read.before.is_some(), asks == ReplayQuestion::Around);
            assert!(read.after >= Some(replayed.lsn) && read.after >= read.before);
            assert_eq!(int(&read.rows.unwrap()), 7);
        }
        let sql = "select pg_notify('a', 'b')";
        let read = db
            .read_on_standby(sql, &(), ReplayQuestion::Around)
            .await
            .unwrap();
        let code = |error: Error| error.server().unwrap().code.to_string();
        assert_eq!(code(read.rows.unwrap_err()), "25006");
        assert!(read.before.is_some() && read.after.is_none());

        let sql = "select n from t for update";
        for db in [&primary, &open_at(&server.url(User::TRUST)).await] {
            assert_eq!(code(db.read_only(sql, &()).await.unwrap_err()), "25006");
            let rows = db.read_only("select n from t", &()).await.unwrap();
            assert_eq!(int(&rows), 7);
            // What follows may write again.
            db.execute("delete from t where n = 0", &()).await.unwrap();
        }
        standby.psql("select pg_promote()");
        let read = db
            .read_on_standby("select n from t", &(), ReplayQuestion::Around)
            .await;
        let read = read.unwrap();
        assert_eq!((read.before, read.after), (None, None));
        assert_eq!(db.replayed().await.unwrap(), None);
    });
}
