//! A plugin, a handler and a closure that hold what is not Send. Must compile.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use tsumugi::{On, Plugin, Result, Router, State, Worker, get};

struct App {
    shared: Rc<RefCell<Vec<String>>>,
    served: Cell<u64>,
}

impl Plugin for App {
    async fn start(_: &Worker) -> Result<App> {
        let shared = Rc::new(RefCell::new(Vec::new()));
        std::future::ready(()).await;
        Ok(App { shared, served: Cell::new(0) })
    }
}

async fn handler(app: State<App>) -> String {
    let shared = Rc::clone(&app.shared);
    std::future::ready(()).await;
    app.served.set(app.served.get() + 1);
    shared.borrow().join(",")
}

fn routes() -> Router<App> {
    let held = Rc::new("held");
    Router::new()
        .route("/", get(handler))
        .route("/held", get(async move || held.to_string()))
        .every(std::time::Duration::from_secs(1), On::AllWorkers, async |app: &App| {
            app.served.set(0);
        })
}

fn main() {
    drop(routes());
}
