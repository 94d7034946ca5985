//! What handlers have of the web, over sockets: cookies, sessions, the check of forms, bodies and uploads, calls to other servers.

#[path = "../rig/mod.rs"]
mod rig;

mod bodies;
mod calls;
mod cookies;
mod sessions;
