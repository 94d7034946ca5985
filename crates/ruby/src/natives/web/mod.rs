//! What handlers need of the web: cookies, sessions, bodies and uploads, server-sent events, calls to other servers.

mod bodies;
mod calls;
mod cookies;
mod events;
mod sessions;

use tsumugi_mruby::Result;

use crate::natives::definitions::Natives;

pub(super) use calls::header_pairs;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    cookies::install(natives)?;
    sessions::install(natives)?;
    bodies::install(natives)?;
    events::install(natives)?;
    calls::install(natives)
}
