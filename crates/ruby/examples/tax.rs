//! The cases beside which `make bench-tax` shows what a fibre costs: a handler in Rust, a Ruby handler that is called directly, as a method,
//! without a fibre, and one that sleeps for 3 s on its worker's thread. They exist only here: the shipped server has none of them.
//! Same workers, HTTP, router and limits as the server; `tax native|direct|blocking ADDR WORKERS`.
#![forbid(unsafe_code)]

use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, StatusCode};
use tsumugi_http::{
    ConnectionInfo, HttpHandler, HttpLimits, HttpResponse, HttpServer, Match, Request, RouteTable,
    Spawn,
};
use tsumugi_mruby::{Options, Root, Symbol, Vm};
use tsumugi_worker::{
    BoxError, Config, Connection, Current, Peer, Signals, WorkerHandle, WorkerService,
};

#[global_allocator]
static ALLOCATOR: tsumugi_allocator::Allocator = tsumugi_allocator::Allocator;

/// A context class whose handler is a method made of a block, as the server makes it.
const HANDLER: &str = r#"
class Context; end
Handler = Class.new(Context)
Handler.define_method(:__run) { "hello\n" }
"#;

/// What answers.
#[derive(Clone, Copy)]
enum Case {
    Native,
    Direct,
    Blocking,
}

/// How long the blocking handler blocks its worker.
const BLOCKED: Duration = Duration::from_secs(3);

/// One worker's application.
struct App {
    router: RouteTable<()>,
    case: Case,
    ruby: Option<Ruby>,
}

/// The handler and what is needed to call it.
struct Ruby {
    vm: Vm,
    class: Root,
    run: Symbol,
}

impl Ruby {
    fn open() -> Result<Ruby, BoxError> {
        let vm = Vm::open(Options::default())?;
        let opened = vm.enter(|scope| {
            let program = scope.compile(HANDLER.as_bytes(), "handler.rb", 1).ok()?;
            scope.run(program).ok()?;
            let class = scope.constant("Handler").ok()?;
            scope.carries_data(class);
            Some((scope.root(class).ok()?, scope.intern("__run")))
        });
        let (class, run) = opened.ok_or("the handler does not load")?;
        Ok(Ruby { vm, class, run })
    }

    fn answer(&self, request: Box<Request>) -> HttpResponse {
        let request = Rc::new(request);
        let body = self.vm.enter(|scope| {
            let context = scope
                .wrap(scope.rooted(&self.class), Rc::downgrade(&request))
                .ok()?;
            let result = scope.call_symbol(context, self.run, &[]).ok()?;
            scope.bytes(result)
        });
        match body {
            Some(body) => HttpResponse::text(StatusCode::OK, Bytes::from(body)),
            None => HttpResponse::internal_error(),
        }
    }
}

impl App {
    fn answer(&self, request: Box<Request>) -> HttpResponse {
        let pattern = match self.router.find(&request.method, request.uri.path()) {
            Match::Found(found) => found.pattern.clone(),
            _ => return HttpResponse::not_found(),
        };
        let received_at = request.received_at;
        let mut response = match (&self.ruby, self.case) {
            (Some(ruby), _) => ruby.answer(request),
            (None, Case::Blocking) if request.uri.path() == "/sleep" => block(),
            (None, _) => HttpResponse::text(StatusCode::OK, "hello\n"),
        };
        response.summary.pattern = Some(pattern);
        response.summary.ran = received_at.elapsed();
        response
    }
}

/// Answers after it has blocked its worker: no other request of the worker is answered meanwhile.
#[expect(
    clippy::disallowed_methods,
    reason = "what becomes of the others is what is measured"
)]
fn block() -> HttpResponse {
    thread::sleep(BLOCKED);
    HttpResponse::text(StatusCode::OK, "body")
}

struct Door(Current<App>);

impl HttpHandler for Door {
    type Note = ();

    fn begin(&self, _: &Request) {}

    async fn handle(&self, request: Box<Request>) -> HttpResponse {
        self.0.current().answer(request)
    }
}

#[derive(Clone, Debug)]
struct OnWorker(WorkerHandle);

impl Spawn for OnWorker {
    fn spawn(&self, future: impl Future<Output = ()> + 'static) {
        drop(self.0.spawn(future));
    }
}

struct Tax {
    case: Case,
    worker: WorkerHandle,
    server: HttpServer<OnWorker>,
}

impl WorkerService for Tax {
    type App = App;

    async fn load(&self) -> Result<Rc<App>, BoxError> {
        let mut router = RouteTable::new();
        router.insert(Method::GET, "/hello", &[], ())?;
        router.insert(Method::GET, "/sleep", &[], ())?;
        let ruby = match self.case {
            Case::Native | Case::Blocking => None,
            Case::Direct => Some(Ruby::open()?),
        };
        Ok(Rc::new(App {
            router,
            case: self.case,
            ruby,
        }))
    }

    async fn serve(&self, connection: Connection, app: Current<App>) {
        let peer = match connection.peer {
            Peer::Tcp(address) => Some(address),
            _ => None,
        };
        let origin = ConnectionInfo {
            peer,
            ..ConnectionInfo::default()
        };
        let shutdown = self.worker.drain_started();
        let Connection { stream, slot, .. } = connection;
        self.server
            .serve(stream, origin, Rc::new(Door(app)), shutdown)
            .await;
        drop(slot);
    }

    async fn retire(&self, _app: Rc<App>) {}
}

fn main() -> ExitCode {
    match serve() {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("tax: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve() -> Result<u8, BoxError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [case, address, workers] = &arguments[..] else {
        return Err("usage: tax native|direct|blocking ADDR WORKERS".into());
    };
    let case = match case.as_str() {
        "native" => Case::Native,
        "direct" => Case::Direct,
        "blocking" => Case::Blocking,
        other => return Err(format!("there is no case {other}").into()),
    };
    let config = Config {
        listen: vec![address.parse()?],
        workers: workers.parse::<NonZeroUsize>()?,
        signals: Signals::Handle,
        ..Config::default()
    };
    let server = tsumugi_worker::BoundServer::bind(config)?;
    let exit = server.run(move |worker| Tax {
        case,
        worker: worker.clone(),
        server: HttpServer::new(HttpLimits::default(), OnWorker(worker.clone())),
    })?;
    Ok(exit.code())
}
