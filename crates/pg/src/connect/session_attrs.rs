//! Whether a server is of the kind that `target_session_attrs` wants. Servers since PostgreSQL 14 say so at start-up; others,
//! and poolers in between, are asked.
//! Rule: a server that cannot be asked does not suit.

use bytes::BytesMut;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tsumugi_pg_proto::backend::Message;
use tsumugi_pg_proto::{Error, Session, Violation, frontend};

use super::stream::Stream;
use crate::error::Cause;

/// What one round over the hosts looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoleFilter {
    Any,
    ReadWrite,
    ReadOnly,
    Primary,
    Standby,
}

impl RoleFilter {
    /// Fails with what the server is instead.
    pub async fn check(
        self,
        session: &Session,
        stream: &mut Stream,
        leftover: &mut BytesMut,
    ) -> Result<(), Cause> {
        let reported = |name| session.parameters.value(name).map(|value| value == "on");
        let (standby, read_only) = (
            reported("in_hot_standby"),
            reported("default_transaction_read_only"),
        );
        let found = match (self, standby, read_only) {
            (RoleFilter::Any, ..) => return Ok(()),
            (RoleFilter::Primary | RoleFilter::Standby, Some(standby), _) => standby,
            (RoleFilter::ReadWrite | RoleFilter::ReadOnly, Some(standby), Some(read_only)) => {
                standby || read_only
            }
            (RoleFilter::Primary | RoleFilter::Standby, ..) => {
                ask(stream, leftover, "SELECT pg_catalog.pg_is_in_recovery()").await?
            }
            (RoleFilter::ReadWrite | RoleFilter::ReadOnly, ..) => {
                ask(stream, leftover, "SHOW transaction_read_only").await?
            }
        };
        let what = match (self, found) {
            (RoleFilter::ReadWrite, true) => "its sessions may not write",
            (RoleFilter::ReadOnly, false) => "its sessions may write",
            (RoleFilter::Primary, true) => "it is a standby",
            (RoleFilter::Standby, false) => "it is no standby",
            _ => return Ok(()),
        };
        Err(Cause::Unsuitable(what))
    }
}

/// The answer to a question that has one row with one boolean.
async fn ask(stream: &mut Stream, input: &mut BytesMut, question: &str) -> Result<bool, Cause> {
    let mut output = BytesMut::new();
    frontend::query(&mut output, question)?;
    stream.write_all(&output).await?;
    stream.flush().await?;
    let mut answer = None;
    loop {
        let Some((message, length)) = Message::decode(input)? else {
            if stream.read_buf(input).await? == 0 {
                return Err(Cause::Closed);
            }
            continue;
        };
        match message {
            Message::DataRow(row) => {
                let field = row.column(0)?;
                answer = Some(matches!(field, Some(b"on" | b"t")));
            }
            Message::ErrorResponse(report) => {
                let error = Error::Server(Box::new(report.into()));
                return Err(Cause::Startup(error));
            }
            Message::ReadyForQuery(_) => {
                drop(input.split_to(length));
                return answer.ok_or_else(|| Violation::Truncated("answer to a question").into());
            }
            _ => {}
        }
        drop(input.split_to(length));
    }
}
