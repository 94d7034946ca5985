//! Opening a connection: encryption, authentication, and what the server reports of itself. Not the TLS handshake.
//! The steps are those of the manual's chapter "Message Flow", section "Start-up".
//! Rule: what an attacker on the path could have added or left out is refused; no password leaves before that is known.

use std::fmt;

use bytes::{Buf, BytesMut};

use crate::auth::{Binding, NONCE_BYTES, Scram, md5_password};
use crate::backend::{Authentication, HEAD_BYTES, Header, Mechanisms, Message, ServerError, tag};
use crate::error::{Misuse, Refusal, Result, Violation};
use crate::frontend;
use crate::limits::{PREAUTH_BYTES_MAX, SCRAM_ITERATIONS_MAX, STARTUP_NOTICES_MAX};
use crate::session::{CancelKey, Session};

/// What the connection is encrypted with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encryption {
    /// Nothing; the server is not asked.
    Off,
    /// TLS if the server has it.
    Prefer,
    /// TLS or no connection.
    Require,
    /// TLS runs already (direct TLS). Begin with [`Startup::encrypted`].
    Direct,
}

/// Whether SCRAM is tied to the TLS session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelBinding {
    /// Never.
    Disable,
    /// If the server can.
    Prefer,
    /// Always; any other way of getting in is refused.
    Require,
}

/// How to open a connection.
#[derive(Clone)]
pub struct StartupSettings {
    /// The role.
    pub user: String,
    /// Its password, if it has one.
    pub password: Option<String>,
    /// What else to tell the server: `database`, `application_name`, … `client_encoding` is UTF8 in any case.
    pub parameters: Vec<(String, String)>,
    /// See there.
    pub encryption: Encryption,
    /// See there.
    pub channel_binding: ChannelBinding,
    /// Most rounds of SCRAM's key derivation: the thread stands still meanwhile.
    pub scram_iterations_max: u32,
}

impl StartupSettings {
    /// For this role: no password, TLS and channel binding where the server has them.
    pub fn new(user: impl Into<String>) -> Self {
        Self {
            user: user.into(),
            password: None,
            parameters: Vec::new(),
            encryption: Encryption::Prefer,
            channel_binding: ChannelBinding::Prefer,
            scram_iterations_max: SCRAM_ITERATIONS_MAX,
        }
    }
}

impl fmt::Debug for StartupSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StartupSettings")
            .field("user", &self.user)
            .field("parameters", &self.parameters)
            .field("encryption", &self.encryption)
            .field("channel_binding", &self.channel_binding)
            .finish_non_exhaustive()
    }
}

/// What has to happen next.
#[derive(Debug)]
pub enum Progress {
    /// Shake hands for TLS on the socket, then call [`Startup::encrypted`].
    Encrypt,
    /// The server waits for the first statement. What is left in the input belongs to the connection.
    Ready(Session),
}

/// One connection that is being opened.
#[derive(Debug)]
pub struct Startup {
    settings: StartupSettings,
    nonce: [u8; NONCE_BYTES],
    state: State,
    /// TLS runs.
    encrypted: bool,
    /// The hash of the server's certificate.
    end_point: Option<Vec<u8>>,
    session: Session,
}

#[derive(Debug)]
enum State {
    New,
    /// `S` or `N` will come.
    EncryptionAsked,
    /// The caller shakes hands.
    Encrypting,
    /// The server decides how to know us.
    Authenticating,
    /// The password is on its way; only Ok or an error may come.
    PasswordSent,
    Sasl(Box<Scram>),
    /// The server sends its settings.
    Authenticated,
    Done,
}

impl Startup {
    /// Prepares to open a connection. `nonce` is random and never used twice.
    pub fn new(settings: StartupSettings, nonce: [u8; NONCE_BYTES]) -> Self {
        Self {
            settings,
            nonce,
            state: State::New,
            encrypted: false,
            end_point: None,
            session: Session::default(),
        }
    }

    /// Writes the first bytes.
    ///
    /// # Errors
    /// [`Misuse`] for settings that cannot be sent, or a second call.
    pub fn begin(&mut self, out: &mut BytesMut) -> Result<(), Misuse> {
        if !matches!(self.state, State::New) {
            return Err(Misuse::OutOfTurn("begin"));
        }
        match self.settings.encryption {
            Encryption::Off => self.open(out),
            Encryption::Prefer | Encryption::Require => {
                frontend::ssl_request(out);
                self.state = State::EncryptionAsked;
                Ok(())
            }
            Encryption::Direct => Err(Misuse::OutOfTurn("begin before TLS")),
        }
    }

    /// TLS runs: goes on with it. `end_point` is the hash of the server's certificate for `tls-server-end-point`
    /// (RFC 5929), if its signature algorithm has one.
    ///
    /// # Errors
    /// [`Misuse`] for settings that cannot be sent, or a call out of turn.
    pub fn encrypted(
        &mut self,
        end_point: Option<Vec<u8>>,
        out: &mut BytesMut,
    ) -> Result<(), Misuse> {
        let direct = self.settings.encryption == Encryption::Direct;
        match self.state {
            State::Encrypting => {}
            State::New if direct => {}
            _ => return Err(Misuse::OutOfTurn("encrypted")),
        }
        self.encrypted = true;
        self.end_point = end_point;
        self.open(out)
    }

    fn open(&mut self, out: &mut BytesMut) -> Result<(), Misuse> {
        let user = [("user", self.settings.user.as_str())];
        let encoding = [("client_encoding", "UTF8")];
        let others = self.settings.parameters.iter();
        let others = others
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .filter(|(name, _)| !matches!(*name, "user" | "client_encoding"));
        frontend::startup(out, user.into_iter().chain(others).chain(encoding))?;
        self.state = State::Authenticating;
        Ok(())
    }

    /// Reads what the socket delivered and writes what is to be sent. `None` when more input is needed; write `out` to
    /// the socket in any case.
    ///
    /// # Errors
    /// Whatever says that this connection will not be: close it.
    pub fn poll(&mut self, input: &mut BytesMut, out: &mut BytesMut) -> Result<Option<Progress>> {
        loop {
            match self.state {
                State::New => return Err(Misuse::OutOfTurn("poll before begin").into()),
                State::Encrypting | State::Done => return Ok(None),
                State::EncryptionAsked => {
                    let Some(answer) = input.first().copied() else {
                        return Ok(None);
                    };
                    if let Some(progress) = self.encryption_answered(answer, input, out)? {
                        return Ok(Some(progress));
                    }
                }
                _ => {
                    let Some(header) = self.head(input)? else {
                        return Ok(None);
                    };
                    if input.len() < header.length {
                        return Ok(None);
                    }
                    let message = input.split_to(header.length);
                    let body = message.get(HEAD_BYTES..).unwrap_or_default();
                    self.take(Message::decode_body(header.tag, body)?, header.tag, out)?;
                    if matches!(self.state, State::Done) {
                        let session = std::mem::take(&mut self.session);
                        return Ok(Some(Progress::Ready(session)));
                    }
                }
            }
        }
    }

    /// A server that has not proven itself may not make us keep much.
    fn head(&self, input: &BytesMut) -> Result<Option<Header>, Violation> {
        let Some(header) = Header::scan(input)? else {
            return Ok(None);
        };
        if header.length > PREAUTH_BYTES_MAX && !matches!(self.state, State::Authenticated) {
            return Err(Violation::Length {
                tag: header.tag,
                length: u32::try_from(header.length - 1).unwrap_or(u32::MAX),
            });
        }
        Ok(Some(header))
    }

    fn encryption_answered(
        &mut self,
        answer: u8,
        input: &mut BytesMut,
        out: &mut BytesMut,
    ) -> Result<Option<Progress>> {
        if answer == b'E' {
            return Err(Refusal::EncryptionError.into());
        }
        // The server says nothing more before we do.
        if input.len() > 1 {
            return Err(Violation::EncryptionInjected.into());
        }
        input.advance(1);
        match answer {
            b'S' => {
                self.state = State::Encrypting;
                Ok(Some(Progress::Encrypt))
            }
            b'N' if self.settings.encryption == Encryption::Prefer => {
                self.open(out)?;
                Ok(None)
            }
            b'N' => Err(Refusal::EncryptionUnavailable.into()),
            other => Err(Violation::UnknownTag(other).into()),
        }
    }

    fn take(&mut self, message: Message<'_>, tag: u8, out: &mut BytesMut) -> Result<()> {
        match message {
            Message::ErrorResponse(report) => {
                Err(crate::Error::Server(Box::new(ServerError::from(report))))
            }
            Message::NoticeResponse(report) => {
                if self.session.notices.len() < STARTUP_NOTICES_MAX {
                    self.session.notices.push(ServerError::from(report));
                }
                Ok(())
            }
            Message::Authentication(step) => self.authenticate(step, out),
            Message::NegotiateProtocolVersion(version) => Err(Refusal::ProtocolVersion {
                minor: version.minor,
            }
            .into()),
            message if matches!(self.state, State::Authenticated) => self.learn(message, tag),
            _ => Err(Violation::Unsolicited(tag).into()),
        }
    }

    /// What the server sends after the login.
    fn learn(&mut self, message: Message<'_>, tag: u8) -> Result<()> {
        match message {
            Message::ParameterStatus { name, value } => {
                self.session.parameters.set(name, &value)?
            }
            Message::BackendKeyData(key) => {
                self.session.key = Some(CancelKey {
                    process_id: key.process_id,
                    secret: key.secret.into(),
                });
            }
            Message::ReadyForQuery(status) => {
                self.session.status = status;
                self.state = State::Done;
            }
            _ => return Err(Violation::Unsolicited(tag).into()),
        }
        Ok(())
    }

    fn authenticate(&mut self, step: Authentication<'_>, out: &mut BytesMut) -> Result<()> {
        match (&mut self.state, step) {
            (_, Authentication::Ok) => self.accepted(),
            (State::Authenticating, Authentication::CleartextPassword) => {
                let password = self.password()?.to_owned();
                self.send_password(&password, out)
            }
            (State::Authenticating, Authentication::Md5Password(salt)) => {
                let hash = md5_password(&self.settings.user, self.password()?, salt);
                self.send_password(&hash, out)
            }
            (State::Authenticating, Authentication::Sasl(mechanisms)) => {
                let scram = self.scram(mechanisms)?;
                frontend::sasl_initial(out, scram.mechanism(), scram.first().as_bytes())?;
                self.state = State::Sasl(Box::new(scram));
                Ok(())
            }
            (State::Sasl(scram), Authentication::SaslContinue(first)) => {
                let proof = scram.answer(first, self.settings.scram_iterations_max)?;
                Ok(frontend::sasl_response(out, proof.as_bytes())?)
            }
            (State::Sasl(scram), Authentication::SaslFinal(last)) => Ok(scram.finish(last)?),
            (State::Authenticating, Authentication::Other(method)) => {
                Err(Refusal::MethodUnsupported(method_name(method)).into())
            }
            _ => Err(Violation::Unsolicited(tag::AUTHENTICATION).into()),
        }
    }

    /// The server lets us in. It must have done its part.
    fn accepted(&mut self) -> Result<()> {
        let bound = match &self.state {
            State::Sasl(scram) if !scram.proven() => return Err(Refusal::ServerUnproven.into()),
            State::Sasl(scram) => scram.is_bound(),
            State::Authenticating | State::PasswordSent => false,
            _ => return Err(Violation::Unsolicited(tag::AUTHENTICATION).into()),
        };
        if self.settings.channel_binding == ChannelBinding::Require && !bound {
            return Err(Refusal::ChannelBindingUnused.into());
        }
        self.state = State::Authenticated;
        Ok(())
    }

    /// The password, if one may be sent without channel binding.
    fn password(&self) -> Result<&str, Refusal> {
        if self.settings.channel_binding == ChannelBinding::Require {
            return Err(Refusal::ChannelBindingUnused);
        }
        let password = self.settings.password.as_deref();
        password.ok_or(Refusal::PasswordMissing)
    }

    fn send_password(&mut self, password: &str, out: &mut BytesMut) -> Result<()> {
        frontend::password(out, password)?;
        self.state = State::PasswordSent;
        Ok(())
    }

    /// Chooses the mechanism (RFC 5802, section 6).
    fn scram(&self, mechanisms: Mechanisms<'_>) -> Result<Scram, Refusal> {
        let plus = mechanisms.iter().any(|name| name == "SCRAM-SHA-256-PLUS");
        let plain = mechanisms.iter().any(|name| name == "SCRAM-SHA-256");
        if !plus && !plain {
            return Err(Refusal::MechanismUnsupported);
        }
        let wanted = self.settings.channel_binding != ChannelBinding::Disable;
        let binding = match &self.end_point {
            Some(hash) if wanted && plus => Binding::EndPoint(hash.clone()),
            Some(_) if wanted => Binding::NotOffered,
            _ => Binding::Unsupported,
        };
        let bound = matches!(binding, Binding::EndPoint(_));
        if !bound && self.settings.channel_binding == ChannelBinding::Require {
            return Err(Refusal::ChannelBindingUnused);
        }
        if !bound && !plain {
            return Err(Refusal::MechanismUnsupported);
        }
        let password = self.settings.password.as_deref();
        let password = password.ok_or(Refusal::PasswordMissing)?;
        Ok(Scram::new(password, &self.nonce, binding))
    }

    /// Whether TLS protects what is sent.
    pub fn is_encrypted(&self) -> bool {
        self.encrypted
    }
}

fn method_name(method: u32) -> &'static str {
    match method {
        2 => "Kerberos",
        6 => "SCM credentials",
        7 | 8 => "GSSAPI",
        9 => "SSPI",
        _ => "an unknown way of authentication",
    }
}

#[cfg(test)]
mod tests;
