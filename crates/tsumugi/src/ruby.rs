//! Applications in Ruby as a part of one in Rust: below a prefix, or for everything that no native route answers.
//! Rule: what Ruby may do, and its limits, are the `ruby` crate's; the server, its settings and its worker are shared.

use std::path::PathBuf;
use std::rc::Rc;

use crate::{
    AdminView, Error, HttpResponse, LocalTask, Mount, MountedApp, Request, Result, Worker,
};
use tsumugi_ruby::{App, Program, Settings};
use tsumugi_server::{Application as _, Program as _};

/// An application file, for [`Router::mount`](crate::Router::mount): `.mount("/", Ruby::new("app.rb"))`.
#[derive(Clone, Debug)]
pub struct Ruby {
    settings: Settings,
}

impl Ruby {
    /// The application in this file.
    pub fn new(app: impl Into<PathBuf>) -> Ruby {
        Ruby {
            settings: Settings {
                app: app.into(),
                ..Settings::default()
            },
        }
    }

    /// With these limits.
    #[must_use]
    pub fn limits(mut self, limits: tsumugi_ruby::Limits) -> Ruby {
        self.settings.limits = limits;
        self
    }
}

impl Mount for Ruby {
    fn load(&self, worker: &Worker) -> LocalTask<Result<Rc<dyn MountedApp>>> {
        let worker = worker.clone();
        let settings = Settings {
            data_dir: worker.data_dir().to_owned(),
            mode: worker.mode(),
            http: worker.http_limits().clone(),
            secret: worker.secret().cloned(),
            access: worker.settings().access,
            calls: worker.settings().calls,
            environment: worker.settings().environment.clone(),
            in_test: worker.is_test(),
            ..self.settings.clone()
        };
        Box::pin(async move {
            let program = Program::new(settings).sharing(worker.shared());
            let loaded = program.load(worker.inner()).await;
            let app = loaded.map_err(|error| Error::Other(error))?;
            Ok(Rc::new(MountedRuby(app)) as Rc<dyn MountedApp>)
        })
    }
}

struct MountedRuby(Rc<App>);

impl MountedApp for MountedRuby {
    fn answer(&self, request: Box<Request>) -> LocalTask<HttpResponse> {
        let app = Rc::clone(&self.0);
        Box::pin(async move { app.answer(request).await })
    }

    fn compresses(&self) -> bool {
        self.0.compresses()
    }

    fn show(&self) -> AdminView<'_> {
        self.0.show()
    }

    fn retire(&self) -> LocalTask<()> {
        let app = Rc::clone(&self.0);
        Box::pin(async move { app.retire().await })
    }
}
