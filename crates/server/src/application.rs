//! What an application is to its server: something that loads on each worker, answers requests and retires. Decides nothing.
//! Rule: all of it stays on one thread, so none of it is `Send`.

use std::cell::Ref;
use std::rc::Rc;
use std::sync::Arc;

use tsumugi_db::DatabaseWatch;
use tsumugi_http::{HttpResponse, Request};
use tsumugi_jobs::JobQueue;
use tsumugi_stores::Store;
use tsumugi_worker::{BoxError, WorkerHandle};

use crate::dashboard::{AdminParts, AdminQuestion, QuestionAnswer, answer};

/// Loads applications on one worker, at start and at each reload.
pub trait Program: 'static {
    /// What is loaded.
    type App: Application;

    /// Loads one; may wait.
    fn load(&self, worker: &WorkerHandle) -> impl Future<Output = Result<Rc<Self::App>, BoxError>>;
}

/// A loaded application.
pub trait Application: 'static {
    /// Answers one request.
    fn answer(self: &Rc<Self>, request: Box<Request>) -> impl Future<Output = HttpResponse>;

    /// Whether responses may be compressed.
    fn compresses(&self) -> bool {
        true
    }

    /// Resolves when the last request has ended and what the application holds is given back.
    fn retire(&self) -> impl Future<Output = ()>;

    /// What the admin pages show of it. Asked once a second.
    fn show(&self) -> AdminView<'_> {
        AdminView::default()
    }

    /// Answers what the dashboard asks; nothing when that is not for this application.
    fn ask(self: &Rc<Self>, question: AdminQuestion) -> impl Future<Output = QuestionAnswer> {
        let parts = self.show().into_parts();
        answer(parts, question)
    }
}

/// What an application has, for the admin pages.
#[derive(Default)]
pub struct AdminView<'a> {
    /// Its VM, if it has one.
    pub vm: Option<VmFigures>,
    /// The databases it connected to, in any number of lists.
    pub databases: Vec<Ref<'a, Vec<DatabaseWatch>>>,
    /// Where it keeps jobs.
    pub jobs: Vec<JobQueue>,
    /// The key-value stores that it opened.
    pub open_stores: Vec<Store>,
    /// The figures of those of this process, by place.
    pub stores: Vec<(Arc<str>, tsumugi_kv::KvSnapshot)>,
}

impl<'a> AdminView<'a> {
    /// Adds what an application shows that is a part of this one.
    pub fn add(&mut self, part: AdminView<'a>) {
        let sum = |a: VmFigures, b: VmFigures| VmFigures {
            bytes: a.bytes + b.bytes,
            objects: a.objects + b.objects,
            requests: a.requests + b.requests,
        };
        self.vm = match (self.vm, part.vm) {
            (Some(a), Some(b)) => Some(sum(a, b)),
            (a, b) => a.or(b),
        };
        self.databases.extend(part.databases);
        self.stores.extend(part.stores);
        self.jobs.extend(part.jobs);
        self.open_stores.extend(part.open_stores);
    }
}

impl AdminView<'_> {
    /// What of it can be asked.
    fn into_parts(self) -> AdminParts {
        let watched = self.databases.iter().flat_map(|databases| databases.iter());
        AdminParts {
            databases: watched.filter_map(DatabaseWatch::database).collect(),
            stores: self.open_stores,
            jobs: self.jobs,
        }
    }
}

/// Figures of a Ruby VM.
#[derive(Clone, Copy, Debug, Default)]
pub struct VmFigures {
    /// Bytes that it has allocated.
    pub bytes: usize,
    /// Live objects.
    pub objects: usize,
    /// Requests that wait in it.
    pub requests: usize,
}
