//! The extractor of the application's own files, for handlers that answer with one. Serves no folder by itself: `Router::files` does.
//! Rule: no path leaves the folder that the handler names, whoever has made it.

use std::path::Path;

use tsumugi_http::{Files, OnWorker, Request};

use super::Extract;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::plugin::Worker;
use crate::response::Response;

/// Answers with files: `async fn report(files: AppFiles, Path(name): Path<String>) -> Result<Response> { files.send("reports", &name).await }`. Types by
/// their extensions, ranges and conditions are as with [`Router::files`](crate::Router::files).
#[derive(Debug)]
pub struct AppFiles {
    worker: Worker,
    /// The request without its body.
    head: Request,
}

impl AppFiles {
    /// The file of this path below a folder of the application. A client may have named it: one that leads out of the folder, and a hidden one, is not
    /// there.
    ///
    /// # Errors
    /// 404 when there is no such file.
    pub async fn send(&self, folder: impl AsRef<Path>, path: &str) -> Result<Response> {
        let settings = self.worker.settings();
        let on_worker = OnWorker(self.worker.inner().clone());
        let files = Files::new(on_worker, settings.http.clone());
        let folder = settings.folder.join(folder);
        let sent = files.send_within(folder, path, &self.head).await;
        sent.map(Response::from)
            .ok_or_else(|| Error::not_found("not found"))
    }
}

impl<S> Extract<S> for AppFiles {
    async fn extract(context: &mut Context<S>) -> Result<AppFiles> {
        Ok(AppFiles {
            worker: context.worker().clone(),
            head: context.head(),
        })
    }
}
