//! Bodies that are sent while Ruby makes them, or straight from a query. The response's head leaves at once; the block
//! runs as a job of its own, parks when the client is slow, and is cancelled when the client has gone, and one that sends events also when the
//! server drains. It goes on with the streams of rows that the handler has opened.

use std::cell::RefCell;
use std::pin::pin;
use std::rc::Rc;

use bytes::Bytes;
use tsumugi_db::RowFeed;
use tsumugi_http::{HttpBody, HttpLimits, HttpResponse, Sender};
use tsumugi_mruby::{Root, Scope};
use tsumugi_server::dispatch::{
    HasJobs, JobGuard, RequestLine, SharedSender, StopSignal, StreamKind, cancelled, client_gone,
    feed, send_back,
};
use tsumugi_server::{ErrorReport, report_error, story};

use crate::answer::answer;
use crate::conversation;
use crate::driver::{self, Bounds};
use crate::exchange::{Exchange, StreamPlan};
use crate::host::{Host, JobResult};

/// Gives the response a body that is fed by a task.
pub(crate) fn start<A: HasJobs>(
    host: &Rc<Host>,
    exchange: &Rc<Exchange>,
    response: &mut HttpResponse,
    plan: StreamPlan,
    job: JobGuard<A>,
    http_limits: fn(&A) -> &HttpLimits,
) {
    let line = exchange.line();
    let (worker, limits) = (&host.worker, &host.settings.http);
    let kind = StreamKind::of(&response.headers);
    let head = &response.headers;
    response.body = match plan {
        StreamPlan::Block(task) => {
            let (host, subject) = (Rc::clone(host), Rc::clone(exchange));
            feed(job, worker, limits, head, |sender| async move {
                block(&host, subject, task, (sender, kind), &line).await;
            })
        }
        StreamPlan::Rows(rows) => {
            exchange.streams.close();
            feed(job, worker, limits, head, |sender| async move {
                tokio::select! {
                    () = send_rows(*rows, sender, &line) => {}
                    // What is sent breaks off.
                    () = cancelled() => {}
                }
            })
        }
        StreamPlan::WebSocket(plan) => HttpBody::Switch(conversation::switch(
            host,
            exchange,
            *plan,
            job,
            http_limits,
        )),
    };
}

async fn block(
    host: &Rc<Host>,
    subject: Rc<Exchange>,
    task: Root,
    (sender, kind): (Sender, StreamKind),
    line: &RequestLine,
) {
    let sender: SharedSender = Rc::new(RefCell::new(Some(sender)));
    let gone = Rc::new(StopSignal::default());
    let output = Rc::clone(&sender);
    let job = answer(move |scope| {
        let holder = scope.wrap_as("Tsumugi::Native::Sender", output)?;
        let output = scope.call(scope.constant("Tsumugi::Output")?, "new", &[holder])?;
        let task = scope.rooted(&task);
        let arguments = scope.array_of(&[output])?;
        scope.set_ivar(task, scope.intern("@arguments"), arguments)?;
        Ok(task)
    });
    let finish = |scope: &Scope<'_>, ended: JobResult<'_>| match ended {
        Ok(_) => None,
        Err(raised) => Some(scope.report(raised)),
    };
    let bounds = Bounds {
        signal: Some(Rc::clone(&gone)),
        subject: Some(subject),
        ..Bounds::default()
    };
    let mut run = pin!(driver::run(host, job, &bounds, finish));
    let result = tokio::select! {
        biased;
        () = client_gone(&sender) => {
            gone.give();
            run.await
        }
        result = &mut run => result,
        () = kind.over(&host.worker, &sender) => {
            gone.give();
            // Cancelled or just done: what its client has seen is complete.
            run.await;
            return send_back(&sender).await;
        }
    };
    let Some(sender) = sender.borrow_mut().take() else {
        return;
    };
    match result {
        None => sender.finish(),
        Some(report) => {
            if !driver::is_cancellation(&report) && !sender.is_closed() {
                host.log_exception(&format!("{line}: while its body was sent"), &report);
            }
            sender.abort();
        }
    }
}

async fn send_rows(mut rows: RowFeed, mut sender: Sender, line: &RequestLine) {
    loop {
        match rows.next().await {
            Ok(Some(piece)) => {
                if sender.send(Bytes::from(piece)).await.is_err() {
                    return;
                }
            }
            Ok(None) => return sender.finish(),
            Err(error) => {
                let story = story(&error);
                tracing::error!("{line}: while its body was sent: {story}");
                report_error(|| ErrorReport {
                    class: "DB::Error".to_owned(),
                    message: story,
                    subject: line.to_string(),
                    ..ErrorReport::default()
                });
                return sender.abort();
            }
        }
    }
}
