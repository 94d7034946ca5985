//! What handlers have of the web, over sockets: cookies, sessions, the check of forms, bodies and uploads, contexts, calls to other servers, mails.

#[path = "../rig/mod.rs"]
mod rig;

mod bodies;
mod calls;
mod channels;
mod contexts;
mod cookies;
mod ending;
mod fibres;
mod hostile;
mod later;
mod mail;
mod memory;
mod openapi;
mod parameters;
mod pool;
mod room;
mod sessions;
mod shapes;
mod stored_sessions;
mod targets;
mod upstream;
mod websockets;
