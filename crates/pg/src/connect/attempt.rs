//! One address: socket, encryption, start-up, and the second try that `prefer` and `allow` make the other way.
//! The protocol crate knows what to say; this carries the bytes.
//! Rule: in the clear goes again only what libpq sends again, and never because a password was wrong.

use std::cell::Cell;
use std::rc::Rc;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tsumugi_pg_proto::auth::NONCE_BYTES;
use tsumugi_pg_proto::startup::{self, Encryption, Progress, Startup, StartupSettings};
use tsumugi_pg_proto::{Refusal, Session, SqlState};
use tsumugi_wire::off_thread;

use super::address::Address;
use super::session_attrs::RoleFilter;
use super::stream::Stream;
use super::{Canceller, Randomness, StartedConnection, password, socket};
use crate::config::{ChannelBinding, Config, Host, Secret, SslMode, SslNegotiation};
use crate::error::Cause;
use crate::limits::READ_BYTES;
use crate::phase::Phase;
use crate::tls::{Tls, server_end_point};

/// What is needed to try one address.
pub struct Attempt<'a> {
    pub config: &'a Rc<Config>,
    pub host: &'a Host,
    pub address: &'a Address,
    /// Set as it goes, for a timeout from outside.
    pub phase: &'a Cell<Phase>,
}

/// A session, and what it runs on.
struct FreshSession {
    stream: Stream,
    input: BytesMut,
    session: Session,
}

/// Why one way of encrypting did not do.
struct Failure {
    cause: Cause,
    /// Whether TLS ran, or was being begun.
    encrypted: bool,
}

impl Attempt<'_> {
    /// A session on a server of the wanted kind.
    pub async fn run(
        &self,
        wanted: RoleFilter,
        random: Randomness<'_>,
    ) -> Result<StartedConnection, Cause> {
        let ways = self.ways();
        let tls = if ways.iter().all(|way| *way == Encryption::Off) {
            None
        } else {
            let config = self.config.tls.clone();
            Some(off_thread(move || Tls::load(&config)).await??)
        };
        let given = password::find(self.config, self.host).await?;
        let mut opened = self.any(ways, tls.as_ref(), &given, random).await?;
        self.phase.set(Phase::Role);
        wanted
            .check(&opened.session, &mut opened.stream, &mut opened.input)
            .await?;
        let tls = tls.filter(|_| opened.stream.is_encrypted());
        Ok(StartedConnection {
            cancel: opened.session.key.clone().map(|key| Canceller {
                config: Rc::clone(self.config),
                host: self.host.clone(),
                address: self.address.clone(),
                tls,
                key,
            }),
            stream: opened.stream,
            leftover: opened.input,
            session: opened.session,
            host: self.host.clone(),
        })
    }

    /// The ways to try, in order. UNIX sockets need no encryption.
    fn ways(&self) -> &'static [Encryption] {
        let direct = self.config.tls.negotiation == SslNegotiation::Direct;
        match (self.host, self.config.tls.mode) {
            (Host::Unix { .. }, _) | (_, SslMode::Disable) => &[Encryption::Off],
            (_, SslMode::Allow) => &[Encryption::Off, Encryption::Require],
            (_, SslMode::Prefer) => &[Encryption::Prefer, Encryption::Off],
            (_, _) if direct => &[Encryption::Direct],
            (_, _) => &[Encryption::Require],
        }
    }

    async fn any(
        &self,
        ways: &[Encryption],
        tls: Option<&Tls>,
        given: &password::PasswordSource,
        random: Randomness<'_>,
    ) -> Result<FreshSession, Cause> {
        let mut ways = ways.iter().peekable();
        loop {
            let Some(way) = ways.next() else {
                return Err(Cause::Closed);
            };
            match self.open(*way, tls, given, random).await {
                Ok(opened) => return Ok(opened),
                Err(failure) if ways.peek().is_some() && failure.other_way_may_do(*way) => {}
                Err(failure) => return Err(given.explain(failure.cause)),
            }
        }
    }

    async fn open(
        &self,
        way: Encryption,
        tls: Option<&Tls>,
        given: &password::PasswordSource,
        random: Randomness<'_>,
    ) -> Result<FreshSession, Failure> {
        let mut nonce = [0; NONCE_BYTES];
        random(&mut nonce);
        let mut startup = Startup::new(self.settings(way, given.password.as_ref()), nonce);
        self.phase.set(Phase::Socket);
        let opened = socket::open(self.config, self.address).await;
        let stream = opened.map_err(|error| Failure {
            cause: Cause::Io(error),
            encrypted: false,
        })?;
        let mut encrypted = false;
        let result = self.run_start_up(&mut startup, way, tls, stream, &mut encrypted);
        result.await.map_err(|cause| Failure { cause, encrypted })
    }

    /// Carries bytes until the server is ready.
    async fn run_start_up(
        &self,
        startup: &mut Startup,
        way: Encryption,
        tls: Option<&Tls>,
        mut stream: Stream,
        encrypted: &mut bool,
    ) -> Result<FreshSession, Cause> {
        let (mut input, mut output) = (BytesMut::new(), BytesMut::new());
        let mut encrypt = way == Encryption::Direct;
        if !encrypt {
            startup.begin(&mut output)?;
        }
        self.phase.set(match way {
            Encryption::Off => Phase::Authentication,
            _ => Phase::Tls,
        });
        loop {
            if encrypt {
                self.phase.set(Phase::Tls);
                *encrypted = true;
                stream = shake_hands(stream, self.host, tls).await?;
                startup.encrypted(end_point(&stream), &mut output)?;
                self.phase.set(Phase::Authentication);
                encrypt = false;
            }
            stream.write_all(&output).await?;
            stream.flush().await?;
            output.clear();
            match startup.poll(&mut input, &mut output)? {
                Some(Progress::Ready(session)) => {
                    return Ok(FreshSession {
                        stream,
                        input,
                        session,
                    });
                }
                Some(Progress::Encrypt) => encrypt = true,
                None if !output.is_empty() => self.phase.set(Phase::Authentication),
                None => {
                    input.reserve(READ_BYTES);
                    if stream.read_buf(&mut input).await? == 0 {
                        return Err(Cause::Closed);
                    }
                }
            }
        }
    }

    fn settings(&self, way: Encryption, password: Option<&Secret>) -> StartupSettings {
        let config = self.config;
        let mut settings = StartupSettings::new(config.user.clone());
        settings.password = password.map(|password| password.reveal().to_owned());
        settings.encryption = way;
        settings.scram_iterations_max = config.scram_iterations_max;
        settings.channel_binding = match config.channel_binding {
            ChannelBinding::Disable => startup::ChannelBinding::Disable,
            ChannelBinding::Prefer => startup::ChannelBinding::Prefer,
            ChannelBinding::Require => startup::ChannelBinding::Require,
        };
        let named = [
            ("database", Some(&config.database)),
            ("application_name", config.application_name.as_ref()),
            ("options", config.options.as_ref()),
        ];
        let named = named
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.clone())));
        settings.parameters = named.chain(config.parameters.iter().cloned()).collect();
        settings
    }
}

impl Failure {
    /// Whether the server may let us in with TLS when it does not without, or the other way round. A wrong password is wrong
    /// either way, and is not sent a second time in the clear.
    fn other_way_may_do(&self, way: Encryption) -> bool {
        let not_this_way = matches!(
            &self.cause,
            Cause::Startup(tsumugi_pg_proto::Error::Server(error))
                if error.code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION
        );
        match way {
            Encryption::Off => not_this_way,
            Encryption::Prefer => {
                self.encrypted && (not_this_way || matches!(self.cause, Cause::Tls(_)))
            }
            Encryption::Require | Encryption::Direct => false,
        }
    }
}

/// Makes an open socket an encrypted one.
pub async fn shake_hands(stream: Stream, host: &Host, tls: Option<&Tls>) -> Result<Stream, Cause> {
    match (stream, host, tls) {
        (Stream::Tcp(plain), Host::Tcp { name, .. }, Some(tls)) => {
            let made = tls.shake_hands(name, plain).await.map_err(Cause::Tls)?;
            Ok(Stream::Tls(Box::new(made)))
        }
        _ => Err(Cause::Startup(Refusal::EncryptionUnavailable.into())),
    }
}

fn end_point(stream: &Stream) -> Option<Vec<u8>> {
    let Stream::Tls(stream) = stream else {
        return None;
    };
    let certificates = stream.get_ref().1.peer_certificates()?;
    server_end_point(certificates.first()?)
}
