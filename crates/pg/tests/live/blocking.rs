//! The blocking interface: the example of its documentation, and what the example leaves out.

use std::io::{BufRead as _, Read as _, Write as _};

use tsumugi_pg::blocking::{Client, Error, IsolationLevel, NoTls, SimpleQueryMessage, Tls, ToSql};
use tsumugi_pg_proto::types::Type;
use tsumugi_testkit::postgres::{Server, User};

fn connect() -> Client {
    Client::connect(&Server::shared().url(User::TRUST), NoTls).unwrap()
}

#[test]
fn example_of_the_documentation_runs() -> Result<(), Error> {
    let mut client = connect();
    client.batch_execute(
        "CREATE TEMP TABLE person (id serial PRIMARY KEY, name text NOT NULL, data bytea)",
    )?;
    let name = "Ferris";
    let data = None::<&[u8]>;
    client.execute(
        "INSERT INTO person (name, data) VALUES ($1, $2)",
        &[&name, &data],
    )?;
    let mut found = Vec::new();
    for row in client.query("SELECT id, name, data FROM person", &[])? {
        let id: i32 = row.get(0);
        let name: &str = row.get("name");
        let data: Option<&[u8]> = row.get(2);
        found.push(format!("found person: {id} {name} {data:?}"));
    }
    assert_eq!(found, ["found person: 1 Ferris None"]);
    let mut transaction = client.transaction()?;
    transaction.execute("UPDATE person SET name = $1", &[&"Corro"])?;
    transaction.commit()?;
    let row = client.query_one("SELECT name FROM person", &[])?;
    assert_eq!(row.get::<_, String>(0), "Corro");
    client.close()
}

#[test]
fn query_one_with_another_number_of_rows_is_an_error() {
    let mut client = connect();
    let rows = "select n from generate_series(1, $1::int4) n";
    assert!(client.query_opt(rows, &[&0]).unwrap().is_none());
    assert!(client.query_opt(rows, &[&1]).unwrap().is_some());
    let error = client.query_one(rows, &[&3]).unwrap_err();
    assert_eq!(error.to_string(), "3 rows came where one was expected");
    assert!(client.query_one(rows, &[&0]).is_err());
    assert!(client.query(rows, &[]).is_err());
    let row = client.query_one(rows, &[&1]).unwrap();
    assert!(row.try_get::<_, i32>("no").is_err() && row.try_get::<_, i32>(1).is_err());
    let values: Vec<&(dyn ToSql + Sync)> = vec![&2];
    assert_eq!(client.execute(rows, &values).unwrap(), 2);
}

#[test]
fn statements_are_prepared_and_described() {
    let mut client = connect();
    let statement = client.prepare("select $1::int8 as n").unwrap();
    assert_eq!(statement.params()[0].name(), "int8");
    assert_eq!(&*statement.columns().column(0).unwrap().name, "n");
    let row = client.query_one(&statement, &[&5_i64]).unwrap();
    assert_eq!(row.get::<_, i64>("n"), 5);
    let statement = client
        .prepare_typed("select $1", std::slice::from_ref(Type::INT2))
        .unwrap();
    assert_eq!(statement.params()[0].name(), "int2");
}

#[test]
fn transactions_nest_and_are_rolled_back_when_dropped() {
    let mut client = connect();
    client.batch_execute("create temp table t(n int)").unwrap();
    let mut outer = client
        .build_transaction()
        .isolation_level(IsolationLevel::Serializable)
        .start()
        .unwrap();
    outer.execute("insert into t values (1)", &[]).unwrap();
    let mut inner = outer.transaction().unwrap();
    inner.execute("insert into t values (2)", &[]).unwrap();
    let mut innermost = inner.savepoint("a \"b\"").unwrap();
    innermost.execute("insert into t values (4)", &[]).unwrap();
    innermost.rollback().unwrap();
    inner.commit().unwrap();
    let mut dropped = outer.transaction().unwrap();
    dropped.execute("insert into t values (8)", &[]).unwrap();
    drop(dropped);
    outer.commit().unwrap();
    drop(client.transaction().unwrap());
    let mut dropped = client.transaction().unwrap();
    dropped.execute("insert into t values (16)", &[]).unwrap();
    drop(dropped);
    let sum = client.query_one("select sum(n)::int4 from t", &[]).unwrap();
    assert_eq!(sum.get::<_, i32>(0), 3);
    let failed = client.query("select 1 / 0", &[]).unwrap_err();
    assert_eq!(failed.server().unwrap().code.as_str(), "22012");
}

#[test]
fn copies_are_written_and_read() {
    let mut client = connect();
    client
        .batch_execute("create temp table t(n int, word text)")
        .unwrap();
    let mut writer = client.copy_in("copy t from stdin").unwrap();
    for n in 0..50_000 {
        writeln!(writer, "{n}\tword").unwrap();
    }
    assert_eq!(writer.finish().unwrap(), 50_000);
    let mut writer = client.copy_in("copy t from stdin").unwrap();
    writer.write_all(b"1\tlost\n").unwrap();
    drop(writer);
    let reader = client.copy_out("copy t to stdout").unwrap();
    assert_eq!(reader.lines().filter(|line| line.is_ok()).count(), 50_000);
    let mut reader = client.copy_out("copy t to stdout").unwrap();
    let mut beginning = [0; 7];
    reader.read_exact(&mut beginning).unwrap();
    assert_eq!(&beginning, b"0\tword\n");
    drop(reader);
    client.is_valid().unwrap();
}

#[test]
fn simple_protocol_gives_text() {
    let mut client = connect();
    let messages = client
        .simple_query("select 1 as n, null as x; create temp table t(n int); insert into t values (1), (2); select 'a'")
        .unwrap();
    let shown: Vec<_> = messages
        .iter()
        .map(|message| match message {
            SimpleQueryMessage::Row(row) => format!("{:?}", row.get(0)),
            SimpleQueryMessage::CommandComplete(rows) => rows.to_string(),
            _ => String::new(),
        })
        .collect();
    assert_eq!(shown, ["Some(\"1\")", "1", "0", "2", "Some(\"a\")", "1"]);
    let SimpleQueryMessage::Row(row) = &messages[0] else {
        panic!("a row comes first");
    };
    assert_eq!((row.get("n"), row.get("x")), (Some("1"), None));
}

#[test]
fn client_reports_that_it_is_closed() {
    let mut client = connect();
    assert!(!client.is_closed());
    let pid: i32 = client
        .query_one("select pg_backend_pid()", &[])
        .unwrap()
        .get(0);
    Server::shared().kill_backend(pid);
    while client.is_valid().is_ok() {}
    assert!(client.is_closed());
    let error = Client::connect("host=/nowhere sslmode=require", NoTls).err();
    assert!(error.unwrap().to_string().contains("pass Tls"));
    let url = Server::shared().url(User::TRUST);
    Client::connect(&url, Tls).unwrap().is_valid().unwrap();
}
