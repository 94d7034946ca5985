//! Both ways on a Firebird server that is thrown away: the bytes that everybody else answers, and errors that are told.

use tsumugi::Settings;
use tsumugi::prelude::*;
use tsumugi::trial::{self, Client};
use tsumugi_testkit::firebird::{Server, User};

use crate::{ALL, App, PLAIN, TEN, routes};

fn run(url: String, test: impl AsyncFnOnce(&Client<App>)) {
    let settings = Settings {
        environment: [("DATABASE_URL".to_owned(), url)].into(),
        ..Settings::default()
    };
    trial::run_with(settings, routes, test);
}

#[test]
fn both_ways_answer_the_whole_catalogue_or_a_part_of_it() {
    let database = Server::shared().database();
    let url = database.url();
    run(url.clone(), async |client| {
        let db = Db::connect(&url, Options::default()).await.unwrap();
        for (query, sql) in [("", ALL), ("?only=ten", TEN), ("?only=plain", PLAIN)] {
            let mut expected = Vec::new();
            let rows = db.query(sql, []).await.unwrap();
            rows.write_json(&mut expected).unwrap();
            for way in ["/connect", "/single", "/connect"] {
                let answer = client.get(&format!("{way}{query}")).await;
                assert_eq!(answer.status, 200);
                assert_eq!(answer.text().as_bytes(), expected, "{way}{query}");
            }
        }
        assert!(client.get("/").await.text().contains("</html>"));
    });
}

#[test]
fn a_server_that_is_not_there_is_an_error_of_the_request() {
    let url = Server::shared().url_of(User::ADMIN, "/nowhere/nothing.fdb");
    run(url, async |client| {
        assert_eq!(client.get("/single").await.status, 500);
        assert_eq!(client.get("/connect").await.status, 500);
        assert_eq!(client.get("/").await.status, 200);
    });
}
