//! A conversation over a WebSocket whose block is Ruby: the block runs as a job of its own, and so does what it lets run beside it.
//! Knows no frame and no handshake. Rule: nothing of a conversation goes on once its block has ended; what runs beside it is cancelled then, and an
//! error in it cancels the block.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::pin::pin;
use std::rc::{Rc, Weak};

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::sync::Notify;
use tsumugi_http::websocket::WebSocket;
use tsumugi_http::{HttpLimits, Switch};
use tsumugi_mruby::{ExceptionReport, Root, Scope};
use tsumugi_server::dispatch::{
    ConversationError, HasJobs, JobGuard, RequestLine, StopSignal, conversation,
};

use crate::answer::{Answer, answer};
use crate::driver::{self, Bounds};
use crate::exchange::{Exchange, WebSocketPlan};
use crate::host::{Host, JobResult};
use crate::limits::WEBSOCKET_FIBRES_MAX;

/// A conversation as its natives see it. Ruby has a weak pointer to it: it ends with the block.
pub(crate) struct Conversation {
    pub socket: Rc<WebSocket>,
    /// A fibre waits for a message.
    pub is_read: Cell<bool>,
    /// What is to run beside the block and was not begun.
    waiting: RefCell<VecDeque<Root>>,
    added: Notify,
    /// Fibres beside the block, those that wait to begin too.
    fibres: Cell<usize>,
}

/// What Ruby holds of a conversation.
pub(crate) type ConversationHandle = Weak<Conversation>;

impl Conversation {
    fn over(socket: &Rc<WebSocket>) -> Rc<Conversation> {
        Rc::new(Conversation {
            socket: Rc::clone(socket),
            is_read: Cell::new(false),
            waiting: RefCell::default(),
            added: Notify::new(),
            fibres: Cell::new(0),
        })
    }

    /// Whether one more fibre may run beside the block.
    pub fn has_room(&self) -> bool {
        self.fibres.get() < WEBSOCKET_FIBRES_MAX
    }

    /// Lets a task run beside the block until that ends.
    pub fn add(&self, task: Root) {
        self.fibres.set(self.fibres.get() + 1);
        self.waiting.borrow_mut().push_back(task);
        self.added.notify_one();
    }

    async fn next_waiting(&self) -> Root {
        loop {
            if let Some(task) = self.waiting.borrow_mut().pop_front() {
                return task;
            }
            self.added.notified().await;
        }
    }
}

/// The conversation that follows the response of a handler.
pub(crate) fn switch<A: HasJobs>(
    host: &Rc<Host>,
    exchange: &Rc<Exchange>,
    plan: WebSocketPlan,
    job: JobGuard<A>,
    limits: fn(&A) -> &HttpLimits,
) -> Switch {
    let WebSocketPlan { task, protocol, .. } = plan;
    let (line, subject) = (exchange.line(), Rc::clone(exchange));
    let talking = Rc::clone(host);
    let talk = async move |socket: &Rc<WebSocket>| talk(&talking, subject, task, socket).await;
    conversation(job, &host.worker, limits, (line, protocol), talk)
}

/// Runs the block and what it lets run beside it, until it has ended.
async fn talk(
    host: &Rc<Host>,
    subject: Rc<Exchange>,
    task: Root,
    socket: &Rc<WebSocket>,
) -> Result<(), ConversationError> {
    let line = subject.line();
    let conversation = Conversation::over(socket);
    let stop = Rc::new(StopSignal::default());
    let bounds = Bounds {
        signal: Some(Rc::clone(&stop)),
        subject: Some(subject),
        ..Bounds::default()
    };
    let block = block(task, Rc::downgrade(&conversation));
    let mut block = pin!(driver::run(host, block, &bounds, failure_of));
    let mut beside = FuturesUnordered::new();
    let mut failure = None;
    let ended = loop {
        tokio::select! {
            biased;
            ended = &mut block => break ended,
            task = conversation.next_waiting() => {
                beside.push(run_beside(host, &conversation, task, &bounds));
            }
            Some(ended) = beside.next(), if !beside.is_empty() => {
                if let Some(report) = ended {
                    failure.get_or_insert(report);
                    stop.give();
                }
            }
        }
    };
    stop.give();
    // What had no turn yet has opened something that its `ensure` closes.
    for task in conversation.waiting.take() {
        beside.push(run_beside(host, &conversation, task, &bounds));
    }
    while let Some(ended) = beside.next().await {
        failure = failure.or(ended);
    }
    match failure.or(ended) {
        Some(report) => Err(error(host, &line, &report)),
        None => Ok(()),
    }
}

/// The job of the block, which gets the socket.
fn block(task: Root, handle: ConversationHandle) -> Answer {
    answer(move |scope| {
        let holder = scope.wrap_as("Tsumugi::Native::Conversation", handle)?;
        let socket = scope.call(scope.constant("Tsumugi::WebSocket")?, "new", &[holder])?;
        let task = scope.rooted(&task);
        let arguments = scope.array_of(&[socket])?;
        scope.set_ivar(task, scope.intern("@arguments"), arguments)?;
        Ok(task)
    })
}

/// Runs what goes on beside the block. That the client has gone is the block's to notice.
async fn run_beside(
    host: &Rc<Host>,
    conversation: &Conversation,
    task: Root,
    bounds: &Bounds,
) -> Option<ExceptionReport> {
    let failure = driver::run(host, driver::job_of(task), bounds, failure_of).await;
    conversation.fibres.set(conversation.fibres.get() - 1);
    failure.filter(|report| report.class != CLOSED)
}

fn failure_of(scope: &Scope<'_>, ended: JobResult<'_>) -> Option<ExceptionReport> {
    driver::failure_of(scope, &ended)
}

/// What a send raises when the conversation is over.
pub(crate) const CLOSED: &str = "Tsumugi::WebSocket::Closed";

/// What a message raises that broke a rule or found no room.
pub(crate) const BROKEN: &str = "Tsumugi::WebSocket::Broken";

/// Logs an error that is the application's.
fn error(host: &Host, line: &RequestLine, report: &ExceptionReport) -> ConversationError {
    if [CLOSED, BROKEN].contains(&report.class.as_str()) {
        return ConversationError::Client(report.to_string());
    }
    host.log_exception(&format!("{line}: in its WebSocket"), report);
    ConversationError::Fault
}
