//! Listening sockets that this process was given, before its servers have taken theirs. Binds nothing.

use anyhow::Result;
use tsumugi_worker::{ListenAddress, ListeningSocket};

use super::SocketRole;
use crate::supervisor;

/// Sockets from the process that was taken over from, and from a supervisor.
#[derive(Debug, Default)]
pub struct GivenSockets(Vec<(Option<SocketRole>, ListeningSocket)>);

impl GivenSockets {
    /// Adds one: for what the process before had it, or for whichever server listens there.
    pub(crate) fn add(&mut self, role: Option<SocketRole>, socket: ListeningSocket) {
        self.0.push((role, socket));
    }

    /// Adds those that a supervisor has passed to this process.
    ///
    /// # Errors
    /// When what was passed cannot be used.
    pub fn add_passed(&mut self) -> Result<()> {
        for socket in supervisor::take_passed()? {
            self.add(None, socket);
        }
        Ok(())
    }

    /// Takes those of a server that listens on these addresses.
    pub fn take(&mut self, role: SocketRole, addresses: &[ListenAddress]) -> Vec<ListeningSocket> {
        let taken = self.0.extract_if(.., |(of, socket)| {
            of.is_none_or(|of| of == role) && addresses.contains(socket.address())
        });
        taken.map(|(_, socket)| socket).collect()
    }

    /// Closes those that nobody has taken, and says so.
    pub fn close(self) {
        for (_, socket) in self.0 {
            tracing::warn!(
                "nothing listens on {} any more, which was passed to this process: add it to --listen, or remove it where it is passed",
                socket.address()
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use tsumugi_worker::FileOwner;

    use super::*;

    #[test]
    fn socket_is_given_to_the_server_that_had_it_or_else_to_the_one_that_listens_there() {
        let mut given = GivenSockets::default();
        let mut add = |role| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let socket = ListeningSocket::adopt(listener.into(), FileOwner::Server).unwrap();
            let address = socket.address().clone();
            given.add(role, socket);
            address
        };
        let admin = add(Some(SocketRole::Admin));
        let passed = add(None);
        let application = add(Some(SocketRole::Application));
        let all = [admin.clone(), passed.clone(), application.clone()];
        let mut take = |role, addresses: &[ListenAddress]| {
            let taken = given.take(role, addresses);
            let addresses = taken.iter().map(|socket| socket.address().clone());
            addresses.collect::<Vec<_>>()
        };
        assert!(take(SocketRole::KeyValue, std::slice::from_ref(&admin)).is_empty());
        assert!(take(SocketRole::Application, &[]).is_empty());
        assert_eq!(take(SocketRole::Application, &all), [passed, application]);
        assert_eq!(take(SocketRole::Admin, &all), [admin]);
    }
}
