//! From a configuration to an attached database: address, socket, login. What is said on the wire belongs to the protocol crate,
//! statements to the connection that gets the stream. Rule: a failure names the host and the phase, and leaves nothing open.

mod layers;
mod login;

use std::cell::Cell;
use std::io;
use std::rc::Rc;

use tokio::net::TcpStream;
use tokio::time::timeout;
use tsumugi_firebird_proto::auth::Plugin;

use self::login::{Login, Outcome};
use crate::config::Config;
use crate::error::Error;

pub use crate::cause::Cause;
pub use crate::phase::Phase;

pub(crate) use self::layers::Layers;
pub(crate) use self::login::Session;

/// Opens connections as one configuration wants them.
#[derive(Clone)]
pub struct Connector {
    config: Rc<Config>,
}

/// How a database that does not exist yet is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Creation {
    /// Bytes of a page, 4,096 to 32,768; the server's own without.
    pub page_size: Option<u32>,
    /// The character set of texts that name none.
    pub character_set: String,
    /// When what was committed is on the disk.
    pub forced_writes: ForcedWrites,
}

/// When what was committed to a database is on the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ForcedWrites {
    /// Before the commit is answered.
    #[default]
    On,
    /// When the operating system writes it: for what may be lost with its machine.
    Off,
}

impl Default for Creation {
    fn default() -> Creation {
        Creation {
            page_size: None,
            character_set: "UTF8".to_owned(),
            forced_writes: ForcedWrites::On,
        }
    }
}

/// What is done with the database at the end of a login.
pub(crate) enum Opening<'a> {
    Attach,
    Create(&'a Creation),
}

impl Connector {
    /// A connector; nothing is opened yet.
    pub fn new(config: Config) -> Connector {
        Connector {
            config: Rc::new(config),
        }
    }

    /// What it was made with.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Logs in and opens the database. `secret` is 256 random bits, for this login only. Dropped midway, it leaves nothing open.
    pub(crate) async fn connect(
        &self,
        opening: Opening<'_>,
        secret: [u8; 32],
    ) -> Result<(TcpStream, Session), Error> {
        let phase = Cell::new(Phase::Resolve);
        self.limited(&phase, async {
            let config = &*self.config;
            let mut plugin = config.plugins.first().copied().unwrap_or(Plugin::Srp256);
            for _ in 0..=config.plugins.len() {
                let mut stream = self.socket(config.port, &phase, Phase::Socket).await?;
                let login = Login::new(config, &mut stream, &phase, plugin, secret);
                match login.run(&opening).await? {
                    Outcome::Session(session) => return Ok((stream, *session)),
                    Outcome::Again(wanted) => plugin = wanted,
                }
            }
            Err(Cause::Turns(config.plugins.len()))
        })
        .await
    }

    /// A socket to the first of the host's addresses that answers, in `during`.
    async fn socket(
        &self,
        port: u16,
        phase: &Cell<Phase>,
        during: Phase,
    ) -> Result<TcpStream, Cause> {
        let addresses = tsumugi_wire::look_up(&self.config.host, port).await?;
        phase.set(during);
        let mut failure = io::Error::from(io::ErrorKind::NotFound);
        for address in addresses {
            match TcpStream::connect(address).await {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok(stream);
                }
                Err(error) => failure = error,
            }
        }
        Err(Cause::Io(failure))
    }

    /// The socket on which the server sends events.
    pub(crate) async fn event_socket(&self, port: u16) -> Result<TcpStream, Error> {
        let phase = Cell::new(Phase::Resolve);
        self.limited(&phase, self.socket(port, &phase, Phase::Events))
            .await
    }

    /// Runs the steps within `connect_timeout`, and says which one failed.
    async fn limited<T>(
        &self,
        phase: &Cell<Phase>,
        steps: impl Future<Output = Result<T, Cause>>,
    ) -> Result<T, Error> {
        let done = match self.config.connect_timeout {
            Some(limit) => {
                let done = timeout(limit, steps).await;
                done.unwrap_or(Err(Cause::Timeout(limit)))
            }
            None => steps.await,
        };
        done.map_err(|cause| Error::Connect {
            host: self.config.place(),
            phase: phase.get(),
            cause,
        })
    }
}
