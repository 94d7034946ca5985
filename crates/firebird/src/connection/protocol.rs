//! Firebird's protocol as the connection's task needs it. Keeps nothing; what the driver keeps for a connection is in `driver`.
//! Rule: what a reply says was done for a caller who has left is undone.

use bytes::BytesMut;
use tsumugi_firebird_proto::connection::Event;
use tsumugi_firebird_proto::request::Cancel;
use tsumugi_firebird_proto::{Requests, Violation};
use tsumugi_wire::{
    CancelOutcome, LossReason, Pipeline, PipelineRef, Protocol, ReasonOf, Ticket, Transform,
};

use super::answer::{Answer, EffectAnswer, Token};
use super::cancel;
use super::driver::FirebirdDriver;
use crate::connect::Layers;

/// Why a connection of this protocol ends.
type Reason = ReasonOf<FirebirdDriver>;

impl Protocol for FirebirdDriver {
    type Item = EffectAnswer;
    type Event = Event<Token>;
    type Violation = Violation;
    type Farewell = std::convert::Infallible;
    type Layers = Layers;

    const CANCEL_FAILED: &'static str =
        "an abandoned statement did not stop, and was ended with its connection";

    fn cut(&self, input: &mut BytesMut) -> Result<Option<Self::Event>, Violation> {
        self.queue.borrow_mut().poll(input)
    }

    fn dispatch(wire: &Pipeline<FirebirdDriver>, event: Self::Event) -> Result<(), Reason> {
        let (Token { ticket, effect }, answer) = match event {
            Event::Response { token, outcome } => (token, Answer::Response(outcome)),
            Event::Sql {
                token,
                row,
                outcome,
            } => (token, Answer::Sql(row, outcome)),
            Event::Rows { token, rows, end } => (token, Answer::Rows(rows, end)),
        };
        let is_last = !matches!(answer, Answer::Rows(_, None));
        wire.deliver(ticket, EffectAnswer { effect, answer });
        if is_last {
            wire.finish(ticket);
        }
        Ok(())
    }

    fn discard(wire: &Pipeline<FirebirdDriver>, item: EffectAnswer) {
        if let Some(orphan) = item.effect.orphan(&item.answer) {
            FirebirdDriver::undo(wire, orphan);
        }
    }

    fn awaited(&self) -> usize {
        self.queue.borrow().awaited()
    }

    fn will_answer(&self) -> bool {
        self.queue.borrow().will_answer()
    }

    fn oldest(&self) -> Option<Ticket> {
        let queue = self.queue.borrow();
        let oldest = queue.next().filter(|_| queue.will_answer())?;
        Some(oldest.ticket)
    }

    fn missing(&self) -> usize {
        self.queue.borrow().missing()
    }

    fn abandon(&self) {
        self.queue.borrow_mut().abandon().for_each(drop);
    }

    fn on_end(wire: &Pipeline<FirebirdDriver>) {
        wire.driver.spares.lose();
    }

    fn goodbye(&self, out: &mut BytesMut) {
        let mut requests = Requests::new(out, self.version);
        requests.detach(self.database);
        requests.disconnect();
    }

    fn write_cancel(&self, out: &mut BytesMut) {
        Requests::new(out, self.version).cancel(Cancel::Raise);
    }

    async fn cancel(wire: &PipelineRef<Self>) -> CancelOutcome {
        cancel::stop(wire).await
    }
}

impl Transform<Reason> for Layers {
    fn seal(&mut self, out: &mut BytesMut) -> Result<usize, Reason> {
        Layers::seal(self, out, 0).map_err(reason)?;
        Ok(out.len())
    }

    fn open(&mut self, input: &mut BytesMut, from: usize) -> Result<(), Reason> {
        Layers::open(self, input, from).map_err(reason)
    }

    fn open_more(&mut self, input: &mut BytesMut) -> Result<(), Reason> {
        if self.holds_back() {
            self.inflate(input).map_err(reason)?;
        }
        Ok(())
    }
}

fn reason(error: tsumugi_firebird_proto::Error) -> Reason {
    match error {
        tsumugi_firebird_proto::Error::Protocol(violation) => LossReason::Protocol(violation),
        other => LossReason::Io(std::io::Error::other(other)),
    }
}
