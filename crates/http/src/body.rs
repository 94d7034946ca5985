//! The body of a response on its way into a connection, with the summary of the request it answers.
//! However a request ends, it is reported exactly once: when this body, or the handler in its place, is dropped.

use std::{
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::{
    HeaderName, HeaderValue, Method, StatusCode, Version,
    header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING},
};
use http_body::{Frame, SizeHint};
use tsumugi_trace::{Activity, Ending, EndingKind, OwnedActivity};

use crate::{
    byte_sum::ByteShare,
    connection_state::UnreadBody,
    handler::HttpHandler,
    limits::ANSWER_UNCOUNTED_BYTES_MAX,
    request::Request,
    response::{HttpBody, HttpResponse, ResponseParts},
    shared::ConnectionShared,
    spare,
    stream::StreamAborted,
    summary::{FinishedRequest, RequestOutcome, RequestSummary},
};

/// A request that is being answered.
pub(crate) struct Completion<H: HttpHandler> {
    pub(crate) connection: Rc<ConnectionShared<H>>,
    version: Version,
    finished: FinishedRequest,
    note: H::Note,
    /// The request's body in memory.
    load: Option<Rc<ByteShare>>,
    pub(crate) activity: OwnedActivity,
}

impl<H: HttpHandler> Completion<H> {
    pub(crate) fn begin(
        connection: Rc<ConnectionShared<H>>,
        request: &Request,
        load: Option<Rc<ByteShare>>,
        activity: OwnedActivity,
    ) -> Self {
        connection.state.request_began();
        let note = connection.handler.begin(request);
        let finished = FinishedRequest {
            method: request.method.clone(),
            status: StatusCode::OK,
            summary: RequestSummary::default(),
            received_at: request.received_at,
            body_bytes: 0,
            outcome: RequestOutcome::Unanswered,
        };
        Completion {
            connection,
            version: request.version,
            finished,
            note,
            load,
            activity,
        }
    }

    /// The response in the form that hyper sends.
    pub(crate) fn respond(mut self, mut response: HttpResponse) -> http::Response<ResponseBody<H>> {
        let mut switches = false;
        if let HttpBody::Switch(_) = &response.body {
            switches = self.may_switch(&response);
            if let (true, HttpBody::Switch(switch)) = (switches, std::mem::take(&mut response.body))
            {
                self.connection.state.set_switch(switch);
            }
        }
        if response.status.is_informational() && !switches {
            tracing::error!(
                status = response.status.as_u16(),
                "a handler returned an informational status; answered with 500"
            );
            let summary = std::mem::take(&mut response.summary);
            response = HttpResponse::internal_error();
            response.summary = summary;
        }
        let is_head = self.finished.method == Method::HEAD;
        if !is_head {
            self.count_waiting(&mut response);
        }
        // Looked for first: a name among few is found sooner than a hash is made of it.
        let framing =
            |name: &HeaderName| *name == TRANSFER_ENCODING || !is_head && *name == CONTENT_LENGTH;
        if response.headers.keys().any(framing) {
            response.headers.remove(TRANSFER_ENCODING);
            if !is_head {
                response.headers.remove(CONTENT_LENGTH);
            }
        }
        if response.status == StatusCode::NO_CONTENT || response.status == StatusCode::NOT_MODIFIED
        {
            response.headers.remove(CONTENT_LENGTH);
            response.body = HttpBody::Empty;
        }
        if self.version < Version::HTTP_2 && self.connection.state.unread() == UnreadBody::Much {
            response
                .headers
                .insert(CONNECTION, HeaderValue::from_static("close"));
        }
        match &response.body {
            HttpBody::Stream(_) => {}
            // No handler is left that could hold the request's body.
            _ => self.load = None,
        }
        let ResponseParts {
            status,
            headers,
            body,
            summary,
        } = *response.0;
        self.finished.status = status;
        self.finished.summary = summary;
        self.finished.outcome = match body {
            HttpBody::Empty | HttpBody::Switch(_) => RequestOutcome::Complete,
            _ if is_head => RequestOutcome::Complete,
            _ => RequestOutcome::BrokenOff,
        };
        let mut sent = http::Response::new(ResponseBody {
            body,
            awaits_window: false,
            completion: self,
        });
        *sent.status_mut() = status;
        spare::put(sent.headers_mut(), headers);
        sent
    }
}

impl<H: HttpHandler> Completion<H> {
    /// Has a large response count until its client has taken it; a refusal takes its place when there is no room.
    fn count_waiting(&self, response: &mut HttpResponse) {
        let HttpBody::Full(bytes) = &mut response.body else {
            return;
        };
        if bytes.len() <= ANSWER_UNCOUNTED_BYTES_MAX {
            return;
        }
        let answers = &self.connection.worker.sums.answers;
        match answers.count(std::mem::take(bytes)) {
            Ok(counted) => *bytes = counted,
            Err(error) => {
                let summary = std::mem::take(&mut response.summary);
                *response = HttpResponse::from_error(&error);
                response.summary = summary;
            }
        }
    }

    fn may_switch(&self, response: &HttpResponse) -> bool {
        response.status == StatusCode::SWITCHING_PROTOCOLS && self.version == Version::HTTP_11
    }
}

impl<H: HttpHandler> Drop for Completion<H> {
    fn drop(&mut self) {
        self.connection.state.request_ended();
        let finished = &mut self.finished;
        let mut ending = Ending {
            status: Some(finished.status.as_u16()),
            ..Ending::default()
        };
        match finished.outcome {
            RequestOutcome::Complete => {}
            RequestOutcome::BrokenOff => ending.kind = EndingKind::ClientLeft,
            RequestOutcome::Unanswered => {
                (ending.kind, ending.status) = (EndingKind::ClientLeft, None);
                finished.summary.pattern = self.activity.route().cloned();
                self.activity.enter(|| log_left(&self.activity));
            }
        }
        self.activity.end(ending);
        self.connection.handler.finish(&self.finished, &self.note);
    }
}

/// Says that a client left whose request has begun.
#[cold]
fn log_left(activity: &Activity) {
    let (request, route) = (activity.subject(), activity.route());
    tracing::info!(
        route = route.map(tracing::field::display),
        ms = activity.started_at().elapsed().as_millis(),
        "{request}: the client left before it was answered",
    );
}

/// A body as hyper takes it.
pub(crate) struct ResponseBody<H: HttpHandler> {
    body: HttpBody,
    /// A piece has been given away, and none was asked for since: on HTTP/2 it may wait for the client's window.
    awaits_window: bool,
    completion: Completion<H>,
}

impl<H: HttpHandler> ResponseBody<H> {
    fn end(&mut self) {
        self.completion.finished.outcome = RequestOutcome::Complete;
    }

    /// A piece of an HTTP/2 response goes on its way, or has gone.
    fn set_awaits_window(&mut self, awaits_window: bool) {
        if self.completion.version == Version::HTTP_2
            && std::mem::replace(&mut self.awaits_window, awaits_window) != awaits_window
        {
            let state = &self.completion.connection.state;
            match awaits_window {
                true => state.piece_waits(),
                false => state.piece_went(),
            }
        }
    }

    fn count(&mut self, piece: Bytes) -> Poll<Option<Result<Frame<Bytes>, StreamAborted>>> {
        self.set_awaits_window(true);
        self.completion.finished.body_bytes += piece.len() as u64;
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }
}

impl<H: HttpHandler> Drop for ResponseBody<H> {
    fn drop(&mut self) {
        self.set_awaits_window(false);
    }
}

impl<H: HttpHandler> http_body::Body for ResponseBody<H> {
    type Data = Bytes;
    type Error = StreamAborted;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StreamAborted>>> {
        let this = self.get_mut();
        this.set_awaits_window(false);
        match &mut this.body {
            HttpBody::Empty | HttpBody::Switch(_) => Poll::Ready(None),
            HttpBody::Full(bytes) => {
                let bytes = std::mem::take(bytes);
                this.body = HttpBody::Empty;
                this.end();
                this.count(bytes)
            }
            HttpBody::Stream(receiver) => match ready!(receiver.poll_piece(cx)) {
                Some(Ok(piece)) => {
                    if receiver.is_at_end() {
                        this.end();
                    }
                    this.count(piece)
                }
                Some(Err(aborted)) => Poll::Ready(Some(Err(aborted))),
                None => {
                    let trailers = receiver.take_trailers();
                    this.end();
                    Poll::Ready(trailers.map(|trailers| Ok(Frame::trailers(trailers))))
                }
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.body {
            HttpBody::Empty | HttpBody::Switch(_) => true,
            HttpBody::Full(_) => false,
            HttpBody::Stream(receiver) => receiver.is_at_end(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.body {
            HttpBody::Empty | HttpBody::Switch(_) => SizeHint::with_exact(0),
            HttpBody::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            HttpBody::Stream(receiver) => receiver
                .remaining()
                .map_or_else(SizeHint::default, SizeHint::with_exact),
        }
    }
}
