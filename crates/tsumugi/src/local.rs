//! The future that everything on a worker is made of. Waits for nothing itself.
//! Rule: it stays on its thread, so it needs no `Send`.

use std::pin::Pin;

/// A future that stays on its worker.
pub type Local<T> = Pin<Box<dyn Future<Output = T>>>;
