//! What a pool of connections does, behind pointers that are made with it. Decides nothing.
//! Rule: callers in other crates come in through here, because what is generic would be compiled in each of them anew.

#![expect(
    clippy::type_complexity,
    reason = "a pointer has the type of the function that it points to"
)]

use std::rc::Rc;

use futures_util::future::{FutureExt as _, LocalBoxFuture};

use super::member::Member;
use super::waiting::Kind;
use super::{AcquireError, Inner, Link, lease};

type Served<L> = Result<Rc<Member<<L as Link>::Connection>>, AcquireError>;

/// The calls that leases, and who wants one, need.
pub(super) struct Code<L: Link> {
    /// One to share that is there.
    pub(super) share: fn(&Inner<L>) -> Option<Rc<Member<L::Connection>>>,
    pub(super) wait: for<'p> fn(&'p Rc<Inner<L>>, Kind) -> LocalBoxFuture<'p, Served<L>>,
    pub(super) leave_shared: fn(&Rc<Inner<L>>, &Rc<Member<L::Connection>>),
    pub(super) leave_exclusive: fn(&Rc<Inner<L>>, &Rc<Member<L::Connection>>),
}

impl<L: Link> Code<L> {
    /// That of the crate which calls this.
    pub(super) fn here() -> Code<L> {
        Code {
            share: Inner::share,
            wait: |pool, kind| pool.wait(kind).boxed_local(),
            leave_shared: lease::leave_shared,
            leave_exclusive: lease::leave_exclusive,
        }
    }
}
