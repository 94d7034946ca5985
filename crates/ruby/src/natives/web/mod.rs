//! What handlers need of the web: cookies, sessions, bodies and uploads, calls to other servers.

mod bodies;
mod calls;
mod cookies;
mod sessions;

use tsumugi_mruby::Result;

use crate::natives::definitions::Natives;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    cookies::install(natives)?;
    sessions::install(natives)?;
    bodies::install(natives)?;
    calls::install(natives)
}
