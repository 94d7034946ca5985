//! Bodies that are sent while Ruby makes them, or straight from a query. The response's head leaves at once; the block
//! runs as a job of its own, parks when the client is slow, and is cancelled when the client has gone.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use bytes::Bytes;
use tsumugi_db::{Format, RowEncoder, RowStream, Rows};
use tsumugi_http::{HttpBody, HttpResponse, Sender};
use tsumugi_mruby::{Raise, Root, Scope};

use crate::answer::answer;
use crate::driver::{self, Bounds, Signal};
use crate::exchange::Exchange;
use crate::host::{Ended, Host};

/// What will be sent.
pub(crate) enum StreamPlan {
    /// The block of `stream`, a `Tsumugi::Task` whose argument is the output.
    Block(Root),
    /// The rows of a query.
    Rows { rows: RowSource, format: Format },
}

/// Where the rows come from.
pub(crate) enum RowSource {
    /// They are fetched while they are sent.
    Stream(Box<RowStream>),
    /// They are all there.
    Whole(Rows),
}

/// The sender of a stream, shared by the output object and the driver. Taken while a piece is being sent.
pub(crate) type SharedSender = Rc<RefCell<Option<Sender>>>;

/// Gives the response a body that is fed by a task.
pub(crate) fn start(
    host: &Rc<Host>,
    exchange: &Rc<Exchange>,
    response: &mut HttpResponse,
    plan: StreamPlan,
) {
    let request = &exchange.request;
    let what = format!("{} {}", request.method, request.uri.path());
    let (sender, body) = HttpBody::channel(&host.settings.http);
    response.body = body;
    let host = Rc::clone(host);
    let worker = host.worker.clone();
    match plan {
        StreamPlan::Block(task) => {
            let subject = Rc::clone(exchange);
            drop(worker.spawn(async move { block(&host, subject, task, sender, &what).await }))
        }
        StreamPlan::Rows { rows, format } => {
            drop(worker.spawn(async move {
                let job = host.begin_job(None);
                match rows {
                    RowSource::Stream(rows) => send_rows(*rows, format, sender, &what).await,
                    RowSource::Whole(rows) => send_whole(&rows, format, sender, &what).await,
                }
                drop(job);
            }));
        }
    }
}

async fn block(host: &Rc<Host>, subject: Rc<Exchange>, task: Root, sender: Sender, what: &str) {
    let sender: SharedSender = Rc::new(RefCell::new(Some(sender)));
    let gone = Rc::new(Signal::default());
    let output = Rc::clone(&sender);
    let job = answer(move |scope| {
        let class = scope.constant("Tsumugi::Output")?;
        let holder = scope.constant("Tsumugi::Native::Sender")?;
        let holder = scope.wrap(holder, output)?;
        let output = scope.call(class, "new", &[holder])?;
        let task = scope.rooted(&task);
        let arguments = scope.array(1)?;
        scope.push(arguments, output)?;
        scope.set_ivar(task, scope.intern("@arguments"), arguments)?;
        Ok(task)
    });
    let finish = |scope: &Scope<'_>, ended: Ended<'_>| match ended {
        Ended::Value(_) => None,
        Ended::Raised(exception) => Some(scope.report(Raise(exception))),
    };
    let bounds = Bounds {
        signal: Some(Rc::clone(&gone)),
        subject: Some(subject),
        ..Bounds::default()
    };
    let run = driver::run(host, job, &bounds, finish);
    let result = until_gone(run, &sender, &gone).await;
    let Some(sender) = sender.borrow_mut().take() else {
        return;
    };
    match result {
        None => sender.finish(),
        Some(report) => {
            if report.class != "Tsumugi::Cancelled" && !sender.is_closed() {
                host.log_exception(&format!("{what}: while its body was sent"), &report);
            }
            sender.abort();
        }
    }
}

/// Runs `job`, and gives the signal when the client goes.
async fn until_gone<T>(job: impl Future<Output = T>, sender: &SharedSender, gone: &Signal) -> T {
    let mut job = pin!(job);
    let mut told = false;
    poll_fn(|cx| {
        // The sender is absent while a piece is being sent; `send` then notices by itself.
        let mut slot = sender.borrow_mut();
        if let (false, Some(sender)) = (told, slot.as_mut()) {
            let closed = pin!(sender.closed());
            if closed.poll(cx).is_ready() {
                told = true;
                gone.give();
            }
        }
        drop(slot);
        match job.as_mut().poll(cx) {
            Poll::Ready(result) => Poll::Ready(result),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

async fn send_rows(mut rows: RowStream, format: Format, mut sender: Sender, what: &str) {
    let mut scribe = RowEncoder::new(format);
    loop {
        let batch = match rows.next().await {
            Ok(batch) => batch,
            Err(error) => {
                tracing::error!(
                    "{what}: while its rows were sent: {}: {error}",
                    error.kind()
                );
                return sender.abort();
            }
        };
        let mut out = Vec::new();
        let last = batch.is_none();
        if let Err(error) = scribe.write(rows.columns(), batch.as_ref(), &mut out) {
            tracing::error!(
                "{what}: while its rows were sent: {}: {error}",
                error.kind()
            );
            return sender.abort();
        }
        if sender.send(Bytes::from(out)).await.is_err() {
            return;
        }
        if last {
            return sender.finish();
        }
    }
}

/// Rows that are there are written as one batch: the limit of a result bounds them.
async fn send_whole(rows: &Rows, format: Format, mut sender: Sender, what: &str) {
    let mut out = Vec::new();
    let batch = Some(rows).filter(|rows| !rows.is_empty());
    let mut scribe = RowEncoder::new(format);
    let written = scribe.write(rows.columns(), batch, &mut out);
    let written = written.and_then(|()| match batch {
        Some(_) => scribe.write(rows.columns(), None, &mut out),
        None => Ok(()),
    });
    if let Err(error) = written {
        tracing::error!(
            "{what}: while its rows were sent: {}: {error}",
            error.kind()
        );
        return sender.abort();
    }
    if out.is_empty() || sender.send(Bytes::from(out)).await.is_ok() {
        sender.finish();
    }
}
