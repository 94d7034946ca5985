//! Statements whose parameters and columns are in their Rust types, as values that combine. Knows no socket and no cache.
//! `parse`, `bind` and `execute` only build; [`sync`] writes everything at once and [`read()`] takes the answer apart.
//! Rule: a wrong number of values does not compile; what the server describes otherwise is an error before rows are read.
//!
//! ```
//! use bytes::BytesMut;
//! use tsumugi_pg_proto::typed::{parse, sync};
//! use tsumugi_pg_proto::{Connection, Session};
//!
//! let mut connection = Connection::new(&Session::default(), 1 << 20);
//! let mut out = BytesMut::new();
//! let world = parse::<(i32,), (i32, String)>("SELECT id, name FROM world WHERE id = $1");
//! let both = (world.clone().bind((1,)).execute(0), world.bind((2,)).execute(0));
//! sync(&both, &mut connection, &mut out, 7)?;
//! // Write `out` to the socket; when the reply for 7 has come: `read(&both, &reply, &builtin)`.
//! # Ok::<(), tsumugi_pg_proto::Error>(())
//! ```
//!
//! One value for two parameters is refused by the compiler:
//!
//! ```compile_fail
//! # use tsumugi_pg_proto::typed::parse;
//! let add = parse::<(i32, i32), (i32,)>("SELECT $1 + $2");
//! add.bind((1,));
//! ```

/// Calls a macro with the letters of each tuple: those given, and so on without the first one down to none.
macro_rules! tuples {
    ($each:ident) => {
        $each!();
    };
    ($each:ident $first:ident $($rest:ident)*) => {
        $each!($first $($rest)*);
        tuples!($each $($rest)*);
    };
}

mod row;
mod statement;
mod values;

use bytes::BytesMut;

pub use row::{Column, Row, Rows};
pub use statement::{Bind, Execute, Parse, TypedStatement, parse};
pub use values::Values;

use crate::backend::{Message, ServerError};
use crate::connection::{Connection, Messages, Reply, Request, Shape};
use crate::error::{Error, Result, Violation};
use crate::types::{Oid, Type, TypeRef};

/// A part of a request, and how to read its answer.
pub trait Step {
    /// What the server says to it.
    type Answer<'a>
    where
        Self: 'a;

    /// Appends the step's messages.
    ///
    /// # Errors
    /// [`Error::Parameter`], [`Error::Usage`].
    fn write<T: Copy>(&self, request: &mut Request<'_, T>) -> Result<()>;

    /// Reads the answers to the step's messages.
    ///
    /// # Errors
    /// [`Error::Mismatch`], [`Error::Protocol`].
    fn read<'a>(&'a self, answers: &mut Answers<'a>) -> Result<Self::Answer<'a>>;
}

/// Writes `step` and a Sync to `out`, and awaits the answer under `token`. Together they run as one transaction.
///
/// # Errors
/// [`Error::Parameter`] and [`Error::Usage`]; nothing is written then.
pub fn sync<T: Copy, S: Step>(
    step: &S,
    connection: &mut Connection<T>,
    out: &mut BytesMut,
    token: T,
) -> Result<()> {
    let mut request = connection.request(out);
    step.write(&mut request)?;
    Ok(request.sync(token, Shape::Whole)?)
}

/// Reads the answer to `step`. `resolve` knows the types of the catalogue; [`builtin`] knows those that are always there.
///
/// # Errors
/// [`Error::Server`] if any part of the request failed: none of it has happened. [`Error::Mismatch`] if a statement is
/// not what its types say; one that was not prepared before has run all the same.
pub fn read<'a, T, S: Step>(
    step: &'a S,
    reply: &'a Reply<T>,
    resolve: &'a dyn Fn(Oid) -> TypeRef,
) -> Result<S::Answer<'a>> {
    if let Some(error) = reply.error.and_then(|at| reply.bytes.get(at..)) {
        return Err(server_error(error));
    }
    let mut answers = Answers {
        messages: reply.messages(),
        resolve,
    };
    let answer = step.read(&mut answers)?;
    match answers.next()? {
        Message::ReadyForQuery(_) => Ok(answer),
        _ => Err(answers.unexpected()),
    }
}

/// The built-in types; of others it knows that they come as text.
pub fn builtin(oid: Oid) -> TypeRef {
    Type::from_oid(oid).map_or_else(|| Type::unknown(oid).into(), TypeRef::from)
}

fn server_error(bytes: &[u8]) -> Error {
    match Message::decode(bytes) {
        Ok(Some((Message::ErrorResponse(report), _))) => {
            Error::Server(Box::new(ServerError::from(report)))
        }
        Ok(_) => Violation::Truncated("error").into(),
        Err(violation) => violation.into(),
    }
}

/// The messages of an answer, as steps read them.
pub struct Answers<'a> {
    messages: Messages<'a>,
    resolve: &'a dyn Fn(Oid) -> TypeRef,
}

impl<'a> Answers<'a> {
    /// The next message.
    ///
    /// # Errors
    /// [`Error::Protocol`], also when there is none.
    #[expect(
        clippy::should_implement_trait,
        reason = "the end of an answer is an error"
    )]
    pub fn next(&mut self) -> Result<Message<'a>> {
        let next = self.messages.next();
        Ok(next.ok_or(Violation::Truncated("answer"))??)
    }

    /// The walk as it is now, for a caller that comes back to the rows.
    pub fn messages(&self) -> Messages<'a> {
        self.messages.clone()
    }

    /// The type with this number.
    pub fn resolve(&self, oid: Oid) -> TypeRef {
        (self.resolve)(oid)
    }

    /// The error for a message that is no answer to what was asked.
    pub fn unexpected(&self) -> Error {
        Violation::Unsolicited(self.messages.last_tag()).into()
    }
}

/// Steps one after the other.
macro_rules! together {
    ($($step:ident)*) => {
        #[allow(non_snake_case, reason = "the letters are types and values")]
        impl<$($step: Step),*> Step for ($($step,)*) {
            type Answer<'a> = ($($step::Answer<'a>,)*) where Self: 'a;

            fn write<T: Copy>(&self, request: &mut Request<'_, T>) -> Result<()> {
                let ($($step,)*) = self;
                $($step.write(request)?;)*
                Ok(())
            }

            fn read<'a>(&'a self, answers: &mut Answers<'a>) -> Result<Self::Answer<'a>> {
                let ($($step,)*) = self;
                Ok(($($step.read(answers)?,)*))
            }
        }
    };
}

together!(A B);
together!(A B C);
together!(A B C D);

impl<S: Step> Step for Vec<S> {
    type Answer<'a>
        = Vec<S::Answer<'a>>
    where
        Self: 'a;

    fn write<T: Copy>(&self, request: &mut Request<'_, T>) -> Result<()> {
        self.iter().try_for_each(|step| step.write(request))
    }

    fn read<'a>(&'a self, answers: &mut Answers<'a>) -> Result<Self::Answer<'a>> {
        self.iter().map(|step| step.read(answers)).collect()
    }
}

#[cfg(test)]
mod tests;
