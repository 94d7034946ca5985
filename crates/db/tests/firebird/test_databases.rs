//! Databases of tests on Firebird: which of those that are noted in the table of the named one are dropped. What `tsumugi test` does with them is tested
//! there. Rule: each test has a database of its own to name.

use tsumugi_db::TestDatabases;
use tsumugi_testkit::firebird::Server;

use crate::run;

#[test]
fn database_that_a_row_names_and_no_run_has_made_stays() {
    let server = Server::shared();
    let (named, shop) = (server.database(), server.database());
    let file = shop.path().file_name().unwrap().to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let url = named.url();
        // Makes the table.
        let databases = TestDatabases::open(Some(&url), folder.path()).await;
        databases.unwrap().end().await.unwrap();
        let rows = [
            (file.to_owned(), "deadbeef"),
            (format!("../data/{file}"), "deadbeef"),
            ("tsumugi_test_0000002a_1.fdb".to_owned(), "deadbeef"),
            // Of a run that was killed before it had made the file.
            ("tsumugi_test_0000002b_1.fdb".to_owned(), "0000002b"),
        ];
        for (name, run) in &rows {
            named.isql(&format!(
                "insert into tsumugi_test_databases (name, run) values ('{name}', '{run}'); commit;"
            ));
        }
        let databases = TestDatabases::open(Some(&url), folder.path()).await;
        let mut databases = databases.unwrap();
        let made = databases.create(folder.path()).await.unwrap();
        databases.remove(made).await.unwrap();
        databases.end().await.unwrap();
        let count = "set heading off; select count(*) from tsumugi_test_databases;";
        assert_eq!(named.isql(count).trim(), "3");
        assert!(shop.path().exists());
        shop.isql("select count(*) from rdb$database;");
    });
}
