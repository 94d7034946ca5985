//! What an application may rely on in whichever language it is written: the same requests to handlers in Rust and in Ruby. Of databases on SQLite,
//! PostgreSQL and Firebird; what Ruby has of an application in Rust that it is mounted in is in `settings.rs`.
//! Rule: one table of requests and answers; a face or a database that answers otherwise fails it.

mod application;
mod conditions;
mod fetching;
mod inserts;
mod migrations;
mod mounted;
mod openapi;
mod pipelines;
mod reads;
mod refusals;
mod requests;
mod retries;
mod settings;
mod stored;
mod values;

use std::cell::RefCell;

use tsumugi::trial;

use application::{App, RUBY, routes};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Engine {
    Sqlite,
    Postgres,
    Firebird,
}

thread_local! {
    /// Where the application's plugin connects to: it is made on the thread of the test.
    static URL: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs a test with both faces of an application on an empty database of each kind; the prefixes of the faces' paths are `/rust` and `/ruby`.
fn on_each(schema: fn(Engine) -> String, test: impl AsyncFn(Engine, &trial::Client<App>)) {
    on_each_with("", schema, test);
}

/// The same with these options in the URL of the database.
fn on_each_with(
    options: &str,
    schema: fn(Engine) -> String,
    test: impl AsyncFn(Engine, &trial::Client<App>),
) {
    let directory = tempfile::tempdir().unwrap();
    for engine in [Engine::Sqlite, Engine::Postgres, Engine::Firebird] {
        let postgres = (engine == Engine::Postgres)
            .then(|| tsumugi_testkit::postgres::Server::shared().database());
        let firebird = (engine == Engine::Firebird)
            .then(|| tsumugi_testkit::firebird::Server::shared().database());
        let file = || format!("sqlite:{}", directory.path().join("test.db").display());
        let postgres = postgres.as_ref().map(|database| database.url());
        let url = postgres.or(firebird.as_ref().map(|database| database.url()));
        let url = url.unwrap_or_else(file);
        let separator = if url.contains('?') { '&' } else { '?' };
        let url = match options {
            "" => url,
            options => format!("{url}{separator}{options}"),
        };
        let ruby = directory.path().join("app.rb");
        std::fs::write(&ruby, RUBY.replace("URL", &url)).unwrap();
        URL.set(url);
        trial::run(
            || routes(&ruby),
            async |client| {
                let db = &client.state().db;
                db.execute_script(schema(engine)).await.unwrap();
                test(engine, client).await;
            },
        );
    }
}
