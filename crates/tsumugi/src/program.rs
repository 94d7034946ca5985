//! A function that makes routes, as a server loads it: on each worker, at start and at each reload. Serves nothing itself.
//! Rule: the function is the only thing of an application that crosses threads.

use std::marker::PhantomData;
use std::rc::Rc;

use tsumugi_http::{HttpResponse, Request};
use tsumugi_server::{AdminView, Application};
use tsumugi_worker::BoxError;

use crate::app_instance::AppInstance;
use crate::error::story;
use crate::plugin::Plugin;
use crate::router::Router;
use crate::settings::Settings;

/// Routes to be loaded on one worker.
pub struct Program<S, F> {
    settings: Rc<Settings>,
    routes: F,
    plugin: PhantomData<fn() -> S>,
}

impl<S: Plugin, F: Fn() -> Router<S> + 'static> Program<S, F> {
    /// The routes that this function makes.
    pub fn new(settings: Settings, routes: F) -> Program<S, F> {
        Program {
            settings: Rc::new(settings),
            routes,
            plugin: PhantomData,
        }
    }
}

impl<S: Plugin, F: Fn() -> Router<S> + 'static> tsumugi_server::Program for Program<S, F> {
    type App = AppInstance<S>;

    async fn load(
        &self,
        worker: &tsumugi_worker::WorkerHandle,
    ) -> Result<Rc<AppInstance<S>>, BoxError> {
        let loaded = AppInstance::load(worker, Rc::clone(&self.settings), &self.routes).await;
        // The error may hold what stays on this thread.
        loaded.map_err(|error| story(&error).into())
    }
}

impl<S: Plugin> Application for AppInstance<S> {
    fn answer(self: &Rc<Self>, request: Box<Request>) -> impl Future<Output = HttpResponse> {
        AppInstance::answer(self, request)
    }

    async fn retire(&self) {
        AppInstance::retire(self).await;
    }

    fn show(&self) -> AdminView<'_> {
        AppInstance::show(self)
    }
}
