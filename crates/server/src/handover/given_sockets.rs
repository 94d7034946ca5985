//! Listening sockets that this process was given, before its servers have taken theirs. Binds nothing.

use std::collections::HashSet;

use anyhow::Result;
use tsumugi_worker::{FileOwner, ListenAddress, ListeningSocket, SocketFile};

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

    /// Takes those of a server that listens on these addresses. One that both the process before and a supervisor have passed is taken once:
    /// else there were one descriptor more of it with each process.
    pub fn take(&mut self, role: SocketRole, addresses: &[ListenAddress]) -> Vec<ListeningSocket> {
        let taken = self.0.extract_if(.., |(of, socket)| {
            of.is_none_or(|of| of == role) && addresses.contains(socket.address())
        });
        let mut numbers = HashSet::new();
        // One whose number is not known may be there twice, which does no harm.
        let is_new = |(_, socket): &(_, ListeningSocket)| {
            socket
                .number()
                .map_or(true, |number| numbers.insert(number))
        };
        taken.filter(is_new).map(|(_, socket)| socket).collect()
    }

    /// Closes those that nobody has taken, and says so.
    pub fn close(self) -> AbandonedFiles {
        let mut files = Vec::new();
        for (_, socket) in self.0 {
            let address = socket.address();
            tracing::warn!(
                "nothing listens on {address} any more, which was passed to this process: add it to --listen, or remove it where it is passed"
            );
            if let (ListenAddress::Unix(path), FileOwner::Server) = (address, socket.owner())
                && let Ok(mut file) = SocketFile::new(path)
            {
                // Another process may listen there, as long as this one does not serve.
                file.leave();
                files.push(file);
            }
        }
        AbandonedFiles(files)
    }
}

/// Files of UNIX sockets that the process before listens on, and this one does not. They stay where they are when this is dropped.
#[derive(Debug)]
pub struct AbandonedFiles(Vec<SocketFile>);

impl AbandonedFiles {
    /// Removes them: nobody listens there any more.
    pub(crate) fn remove(mut self) {
        self.0.iter_mut().for_each(SocketFile::take_over);
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

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

    #[test]
    fn file_of_a_socket_that_nobody_takes_goes_once_this_process_serves() {
        let folder = tempfile::tempdir().unwrap();
        for (owner, is_kept) in [(FileOwner::Server, false), (FileOwner::Supervisor, true)] {
            let path = folder.path().join(format!("{owner:?}"));
            let adopt = |listener: &UnixListener| {
                let mut given = GivenSockets::default();
                let descriptor = listener.try_clone().unwrap().into();
                given.add(None, ListeningSocket::adopt(descriptor, owner).unwrap());
                given.close()
            };
            let listener = UnixListener::bind(&path).unwrap();
            drop(adopt(&listener));
            assert!(path.exists(), "the other process goes on");
            adopt(&listener).remove();
            assert_eq!(path.exists(), is_kept, "{owner:?}");
        }
    }

    #[test]
    fn socket_that_comes_from_two_is_taken_once() {
        let mut given = GivenSockets::default();
        let mut addresses = Vec::new();
        for _ in 0..2 {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let socket = ListeningSocket::adopt(listener.into(), FileOwner::Supervisor).unwrap();
            addresses.push(socket.address().clone());
            given.add(None, socket.try_clone().unwrap());
            given.add(Some(SocketRole::Application), socket);
        }
        let taken = given.take(SocketRole::Application, &addresses);
        let numbers: HashSet<u64> = taken.iter().map(|one| one.number().unwrap()).collect();
        assert_eq!((taken.len(), numbers.len()), (2, 2));
        assert!(given.0.is_empty());
    }
}
