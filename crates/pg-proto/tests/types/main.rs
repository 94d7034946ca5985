//! The codecs against values recorded from a server, and against bytes no server sends.
//! Not a test of a server: nothing listens here. Rule: a recorded value prints, reads and writes exactly as the server did.

mod hostile;
mod libraries;
mod recordings;
mod rust;
mod table;
