//! Loads one application on one worker, without a server: for commands that look at it, test it or talk to it.
//! It does not decide what is done with the application, and its data lives in a temporary folder by default. Rule: nothing that a running
//! server has is opened beside it or changed.

use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use anyhow::Result;
use tsumugi_ruby::{App, CallMode, Mode, Settings};
use tsumugi_server::{DataAccess, DataFolder};
use tsumugi_worker::{WorkerHandle, WorkerLimits};

use crate::limits::RETIRE_MS_MAX;

/// Fails early, and with advice, when there is no application file.
pub fn find(file: &Path) -> Result<()> {
    anyhow::ensure!(
        !file.is_dir(),
        "{} is a folder; name the application file, as in {}",
        file.display(),
        file.join("app.rb").display()
    );
    // Whatever else is wrong with it is said when it is read.
    anyhow::ensure!(
        file.try_exists().unwrap_or(true),
        "there is no {} here; name the application file, or make an application with `tsumugi new NAME`",
        file.display()
    );
    Ok(())
}

/// Loads the application on this worker, in development mode: nothing here answers strangers.
pub async fn load(
    worker: &WorkerHandle,
    file: &Path,
    data: &DataFolder,
    access: DataAccess,
) -> Result<Rc<App>> {
    load_with(worker, settings(file, data.path(), access)).await
}

/// The same for a test: calls to other servers are answered by its stubs. `environment` has the variables that are the test's.
pub async fn load_for_test(
    worker: &WorkerHandle,
    file: &Path,
    data: &Path,
    environment: HashMap<String, String>,
) -> Result<Rc<App>> {
    let settings = Settings {
        calls: CallMode::Stubbed,
        environment,
        in_test: true,
        ..settings(file, data, DataAccess::Own)
    };
    load_with(worker, settings).await
}

fn settings(file: &Path, data: &Path, access: DataAccess) -> Settings {
    Settings {
        app: file.to_owned(),
        data_dir: data.to_owned(),
        mode: Mode::Development,
        access,
        ..Settings::default()
    }
}

async fn load_with(worker: &WorkerHandle, settings: Settings) -> Result<Rc<App>> {
    let (access, data) = (settings.access, settings.data_dir.clone());
    let loading = App::load(worker, Rc::new(settings));
    Ok(access.within(&data, loading).await?)
}

/// Stops timers and plugins; what does not end in time is left to the end of the process.
pub async fn retire(app: &App) {
    let limit = Duration::from_millis(RETIRE_MS_MAX);
    if tokio::time::timeout(limit, app.retire()).await.is_err() {
        tracing::warn!("the application has not stopped within {RETIRE_MS_MAX} ms");
    }
}

/// Loads the application, hands it to `look` and retires it.
pub fn inspect<T>(
    file: &Path,
    data: Option<&Path>,
    look: impl AsyncFnOnce(&Rc<App>) -> Result<T>,
) -> Result<T> {
    find(file)?;
    // What a user names is others', too.
    let access = match data {
        Some(_) => DataAccess::Shared,
        None => DataAccess::Own,
    };
    let data = DataFolder::of(data)?;
    tsumugi_worker::alone(WorkerLimits::default(), async |worker| {
        let app = load(&worker, file, &data, access).await?;
        let result = look(&app).await;
        retire(&app).await;
        result
    })?
}
