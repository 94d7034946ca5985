//! What `serve --dev` answers as long as the application has not loaded even once: why it has not. Decides no status of an application's own.
//! Rule: one for all workers, as a load may fail on any of them, and the last one counts.

use std::iter;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::{HeaderMap, StatusCode};
use tsumugi_http::HttpResponse;
use tsumugi_server::{ErrorPage, PagePart};

use crate::error::Error;
use crate::natives;
use crate::resources::Resources;

/// Why the application has not loaded even once, by the last load that failed. Cheap to clone; usable on any thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct FirstLoadFailure(Arc<Mutex<Option<FailedLoad>>>);

#[derive(Debug)]
struct FailedLoad {
    text: String,
    page: ErrorPage,
}

/// Whether a failure is the one that was noted before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Novelty {
    New,
    Known,
}

impl FirstLoadFailure {
    /// Keeps why a load has failed, and says whether another worker has said so already.
    pub fn note(&self, resources: &Resources, error: &Error) -> Novelty {
        let text = error.to_string();
        let page = page(resources, error, &text);
        let mut failed = self.failed();
        let is_known = failed.as_ref().is_some_and(|known| known.text == text);
        *failed = Some(FailedLoad { text, page });
        match is_known {
            true => Novelty::Known,
            false => Novelty::New,
        }
    }

    /// The answer to every request.
    pub fn response(&self, request: &HeaderMap) -> HttpResponse {
        match &*self.failed() {
            Some(failed) => failed.page.response(request),
            None => HttpResponse::internal_error(),
        }
    }

    fn failed(&self) -> MutexGuard<'_, Option<FailedLoad>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn page(resources: &Resources, error: &Error, text: &String) -> ErrorPage {
    let mut page = match error {
        Error::Raised { report } => natives::error_page(resources, report),
        // These begin with their places.
        _ => ErrorPage {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            title: "the application does not load".to_owned(),
            message: text.clone(),
            source: natives::source(resources, iter::once(text)),
            parts: Vec::new(),
        },
    };
    page.parts.push(PagePart {
        heading: "The application has not loaded",
        lines: vec!["it is loaded again when one of its files is saved, and at SIGHUP".to_owned()],
    });
    page
}
