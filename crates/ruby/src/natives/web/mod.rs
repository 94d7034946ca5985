//! What handlers need of the web: cookies, sessions, bodies and uploads, trailers, server-sent events, WebSockets, calls to other servers.

mod bodies;
mod calls;
mod cookies;
mod events;
mod mail;
mod sessions;
mod shapes;
mod stubs;
mod trailers;
mod websocket;

use tsumugi_mruby::Result;

use crate::natives::definitions::Natives;

pub(super) use calls::header_pairs;
pub(crate) use shapes::input_shape;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    cookies::install(natives)?;
    sessions::install(natives)?;
    shapes::install(natives)?;
    stubs::install(natives)?;
    bodies::install(natives)?;
    trailers::install(natives)?;
    events::install(natives)?;
    mail::install(natives)?;
    websocket::install(natives)?;
    calls::install(natives)
}
