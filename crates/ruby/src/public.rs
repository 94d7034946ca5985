//! Files as an application in Ruby declares them: its public folders, and the single files that handlers send. Knows no route.
//! Rule: what a handler set itself stays when its response becomes a file.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use http::{HeaderValue, StatusCode};
use tsumugi_http::{CachePolicy, Files, HttpResponse, OnWorker, Request};
use tsumugi_mruby::{Scope, Value};
use tsumugi_server::dispatch::PublicFolders;

use crate::error::Error;
use crate::exchange::SentFile;
use crate::host::Host;

pub(crate) struct Public {
    files: Files<OnWorker>,
    /// The application's own.
    folder: PathBuf,
    /// Whether responses may be compressed.
    pub compresses: bool,
}

/// `public` as it was written.
struct PublicDeclaration {
    path: PathBuf,
    /// Without a slash at its end; empty at the root.
    at: String,
    cache: CachePolicy,
    location: String,
}

impl Public {
    /// Reads what the application file declared. Folders are beside it, and must exist.
    pub async fn read(host: &Rc<Host>) -> Result<(Public, PublicFolders), Error> {
        let files = Files::new(OnWorker(host.worker.clone()), host.settings.http.clone());
        let (declared, compresses) = host.vm.enter(declared)?;
        let beside = host.settings.app.parent().unwrap_or(Path::new(""));
        let mut folders = Vec::with_capacity(declared.len());
        for declared in declared {
            let path = beside.join(declared.path);
            let folder = files.folder(path.clone(), &declared.cache).await;
            let folder = folder.map_err(|source| Error::Folder {
                location: declared.location,
                path,
                source,
            })?;
            folders.push((declared.at, folder));
        }
        let public = Public {
            files,
            folder: beside.to_owned(),
            compresses,
        };
        Ok((public, PublicFolders::new(folders)))
    }

    /// Of an application that has declared nothing.
    pub fn none(host: &Host) -> Public {
        Public {
            files: Files::new(OnWorker(host.worker.clone()), host.settings.http.clone()),
            folder: PathBuf::new(),
            compresses: true,
        }
    }

    /// Turns the answer of a handler into one with a file: what the handler set itself stays.
    pub async fn send(
        &self,
        file: SentFile,
        request: &Request,
        mut response: HttpResponse,
    ) -> HttpResponse {
        let SentFile { path, within } = file;
        let sent = match within {
            // A client may have named it: one that is not there is no fault of the application.
            Some(folder) => {
                let folder = self.folder.join(folder);
                self.files.send_within(folder, &path, request).await
            }
            None => {
                let sent = self.files.send(path.clone().into(), request).await;
                if sent.is_none() {
                    tracing::warn!("send_file: there is no file {path}");
                }
                sent
            }
        };
        let Some(mut sent) = sent else {
            return HttpResponse::not_found();
        };
        for name in response.headers.keys() {
            sent.headers.remove(name);
        }
        for (name, value) in &response.headers {
            sent.headers.append(name, value.clone());
        }
        std::mem::swap(&mut sent.headers, &mut response.headers);
        response.body = std::mem::take(&mut sent.body);
        if response.status == StatusCode::OK {
            response.status = sent.status;
        }
        response
    }
}

fn declared(scope: &Scope<'_>) -> Result<(Vec<PublicDeclaration>, bool), Error> {
    let raised = |raised| Error::raised(scope, raised);
    let text = |value: Value<'_>, i| scope.text(scope.array_at(value, i)).unwrap_or_default();
    let folders = scope.constant("Tsumugi::FOLDERS").map_err(raised)?;
    let folders = scope.elements(folders).map(|folder| PublicDeclaration {
        path: text(folder, 0).into(),
        at: text(folder, 1).trim_end_matches('/').to_owned(),
        cache: cache_policy(scope, scope.array_at(folder, 2)),
        location: text(folder, 3),
    });
    let folders = folders.collect();
    let tsumugi = scope.constant("Tsumugi").map_err(raised)?;
    let compresses = scope.call(tsumugi, "compresses?", &[]).map_err(raised)?;
    Ok((folders, compresses.truthy()))
}

/// `cache:` of `public`: nothing, a number of seconds or the words of the header; `public` takes nothing else.
fn cache_policy(scope: &Scope<'_>, cache: Value<'_>) -> CachePolicy {
    if let Some(seconds) = cache.as_integer() {
        return CachePolicy::Seconds(u64::try_from(seconds).unwrap_or(0));
    }
    let words = scope
        .text(cache)
        .and_then(|text| HeaderValue::try_from(text).ok());
    words.map_or(CachePolicy::Revalidate, CachePolicy::Header)
}
