//! What a test of an application has of its own: a folder for data and a database. Loads no application and runs no migration: plugins do.
//! Rule: both are gone when the test is over, also where it panicked; what its author has named is left as it is.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::task::Poll;
use std::thread;

use tsumugi_db::TestDatabases;
use tsumugi_server::TestFolder;
use tsumugi_server::commands::{DATABASE_URL, database_url};

use crate::settings::Settings;

/// Runs a test with settings that name what is its own.
pub(crate) async fn within<T>(mut settings: Settings, test: impl AsyncFnOnce(Settings) -> T) -> T {
    settings.in_test = true;
    let folder = folder(&mut settings).unwrap_or_else(|error| panic!("{error:#}"));
    let named = match settings.environment.contains_key(DATABASE_URL) {
        true => None,
        false => database_url(),
    };
    let Some(url) = named else {
        return test(settings).await;
    };
    let open = TestDatabases::open(Some(&url), folder.path()).await;
    let mut databases = open.unwrap_or_else(|error| panic!("{error}"));
    let running = async {
        let data = folder.data().unwrap_or_else(|error| panic!("{error:#}"));
        let database = databases.create(&data).await;
        let database = database.unwrap_or_else(|error| panic!("{error}"));
        let url = database.url().to_owned();
        settings.environment.insert(DATABASE_URL.to_owned(), url);
        test(settings).await
    };
    let outcome = caught(running).await;
    let ended = databases.end().await;
    match outcome {
        Ok(value) => {
            ended.unwrap_or_else(|error| panic!("the next test removes the database: {error}"));
            value
        }
        Err(panic) => resume_unwind(panic),
    }
}

/// A folder of the test, which has its data too unless another one is named.
fn folder(settings: &mut Settings) -> anyhow::Result<TestFolder> {
    let folder = TestFolder::make()?;
    if settings.data_dir.as_os_str().is_empty() {
        settings.data_dir = folder.data()?;
    }
    Ok(folder)
}

/// Runs a future until it is done or has panicked. What it held has been dropped then.
async fn caught<T>(running: impl Future<Output = T>) -> thread::Result<T> {
    let mut running = pin!(running);
    let polled = poll_fn(|context| {
        let poll = || running.as_mut().poll(context);
        match catch_unwind(AssertUnwindSafe(poll)) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    });
    polled.await
}
