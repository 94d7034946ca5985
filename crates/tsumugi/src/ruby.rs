//! Applications in Ruby as a part of one in Rust: below a prefix, or for everything that no native route answers.
//! Rule: what Ruby may do, and its limits, are the `ruby` crate's; the server, its settings and its worker are shared.

use std::path::PathBuf;
use std::rc::Rc;

use crate::{
    AdminView, Error, HttpResponse, Limits, LocalTask, Mount, MountedApp, Request, Result,
    Settings, Worker,
};
use tsumugi_ruby::{App, LoadedFiles, Program, SharedResources};
use tsumugi_server::{Application as _, Program as _};

pub use tsumugi_ruby::Limits as RubyLimits;

/// An application file, for [`Router::mount`](crate::Router::mount): `.mount("/", Ruby::new("app.rb"))`. Needs the feature `ruby`.
///
/// It has the settings of the application that it is mounted in, and in tests the same stubs and the same list of mails.
#[derive(Clone, Debug)]
pub struct Ruby {
    app: PathBuf,
    limits: Option<RubyLimits>,
}

impl Ruby {
    /// The application in this file. Limits that both languages have are those of the application that it is mounted in.
    pub fn new(app: impl Into<PathBuf>) -> Ruby {
        Ruby {
            app: app.into(),
            limits: None,
        }
    }

    /// With these limits, all of them.
    #[must_use]
    pub fn limits(mut self, limits: RubyLimits) -> Ruby {
        self.limits = Some(limits);
        self
    }

    /// The settings of the part in Ruby, from those of the application that it is mounted in. Every setting is named on both sides: one that is added is not forgotten here.
    fn settings(&self, outer: &Settings) -> tsumugi_ruby::Settings {
        let Settings {
            data_dir,
            // Files of an application in Ruby are beside its own.
            folder: _,
            mode,
            access,
            secret,
            environment,
            certificates,
            calls,
            in_test,
            limits,
            http,
        } = outer;
        let own = self.limits.clone();
        tsumugi_ruby::Settings {
            app: self.app.clone(),
            data_dir: data_dir.clone(),
            mode: *mode,
            access: *access,
            limits: own.unwrap_or_else(|| common_limits(limits)),
            http: http.clone(),
            secret: secret.clone(),
            certificates: certificates.clone(),
            calls: *calls,
            environment: environment.clone(),
            in_test: *in_test,
            // Nothing watches files here.
            loaded: LoadedFiles::default(),
        }
    }
}

/// Ruby's limits: those that both languages have from `outer`, the rest by default.
fn common_limits(outer: &Limits) -> RubyLimits {
    let Limits {
        requests_max,
        request_ms_max,
        client,
        #[cfg(feature = "mail")]
        mail,
    } = outer;
    RubyLimits {
        requests_max: *requests_max,
        request_ms_max: *request_ms_max,
        client: client.clone(),
        #[cfg(feature = "mail")]
        mail: mail.clone(),
        ..RubyLimits::default()
    }
}

/// What the applications on a worker have together.
fn shared_resources(worker: &Worker) -> SharedResources {
    SharedResources {
        databases: worker.shared(),
        cluster: worker.cluster(),
        stubs: Rc::clone(worker.stubs()),
        #[cfg(feature = "mail")]
        mails: worker.mails().clone(),
        #[cfg(not(feature = "mail"))]
        mails: Default::default(),
    }
}

impl Mount for Ruby {
    fn load(&self, worker: &Worker) -> LocalTask<Result<Rc<dyn MountedApp>>> {
        let program = Program::new(self.settings(worker.settings()));
        let program = program.sharing(shared_resources(worker));
        let worker = worker.clone();
        Box::pin(async move {
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
