//! One login: version, proof of the password, encryption, attachment with the names of process and host, in this order, on an open socket. Chooses no host.
//! Rule: nothing is sent between op_crypt and its answer, and nothing that came is left over when the layers change.

use std::cell::Cell;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tsumugi_firebird_proto::auth::{Plugin, Srp, legacy_hash, login_name};
use tsumugi_firebird_proto::connect::{Identity, connect};
use tsumugi_firebird_proto::crypt::{Encryption, ServerKeys};
use tsumugi_firebird_proto::handle::Database;
use tsumugi_firebird_proto::handshake::{self, Accept, Answer, Continue, Demand};
use tsumugi_firebird_proto::parameters::{DatabaseParameters, LoginProof};
use tsumugi_firebird_proto::{
    Compression, Error, Requests, Response, Version, Violation, WireCrypt,
};

use super::layers::Layers;
use super::{Creation, ForcedWrites, Opening};
use crate::cause::Cause;
use crate::config::Config;
use crate::limits::{LOGIN_TURNS_MAX, READ_BYTES_MIN};
use crate::phase::Phase;

/// The name of the only key there is.
const KEY: &str = "Symmetric";

/// Shown in the server's tables.
const CLIENT_VERSION: &str = concat!("Tsumugi ", env!("CARGO_PKG_VERSION"));

/// What a login ends with.
pub(crate) struct Session {
    pub(crate) database: Database,
    pub(crate) version: Version,
    pub(crate) layers: Layers,
    /// What came beyond the last answer; empty with every server known.
    pub(crate) input: BytesMut,
}

/// How a login went.
pub(super) enum Outcome {
    Session(Box<Session>),
    /// The server wants to begin with this plugin, on another socket.
    Again(Plugin),
}

pub(super) struct Login<'a> {
    config: &'a Config,
    stream: &'a mut TcpStream,
    phase: &'a Cell<Phase>,
    login: String,
    plugins: String,
    plugin: Plugin,
    srp: Srp,
    /// What the login gave to encrypt with.
    key: Option<[u8; 20]>,
    /// What the server has accepted.
    version: Option<Version>,
    layers: Layers,
    input: BytesMut,
    turns: usize,
}

impl<'a> Login<'a> {
    pub(super) fn new(
        config: &'a Config,
        stream: &'a mut TcpStream,
        phase: &'a Cell<Phase>,
        plugin: Plugin,
        secret: [u8; 32],
    ) -> Login<'a> {
        let names: Vec<&str> = config.plugins.iter().map(|plugin| plugin.name()).collect();
        Login {
            config,
            stream,
            phase,
            login: login_name(&config.user).into_owned(),
            plugins: names.join(","),
            plugin,
            srp: Srp::new(secret),
            key: None,
            version: None,
            layers: Layers::default(),
            input: BytesMut::new(),
            turns: 0,
        }
    }

    /// Logs in, or says which plugin to begin with instead.
    pub(super) async fn run(mut self, opening: &Opening<'_>) -> Result<Outcome, Cause> {
        self.phase.set(Phase::Authentication);
        let accept = self.introduce().await?;
        self.version = Some(accept.version);
        if accept.compression == Compression::Zlib {
            self.nothing_is_left()?;
            self.layers.compress();
        }
        let (mut proof, mut keys) = (None, accept.turn.keys.clone());
        match accept.demand {
            Demand::Attachment => {}
            // The attachment has room for a proof, not for the first message of another plugin.
            Demand::Proof if accept.turn.data.is_empty() => {
                self.turn(&accept.turn)?;
                return Ok(Outcome::Again(self.plugin));
            }
            Demand::Proof => proof = Some(self.turn(&accept.turn)?),
            Demand::Rounds => {
                let data = self.turn(&accept.turn)?;
                self.send_turn(&data).await?;
                let response = self.rounds().await?;
                if !response.data.is_empty() {
                    keys = response.data;
                }
                self.phase.set(Phase::Encryption);
                self.encrypt(&keys).await?;
            }
        }
        if accept.demand != Demand::Rounds && self.config.wire_crypt == WireCrypt::Required {
            return Err(Cause::Unencrypted);
        }
        self.phase.set(Phase::Attachment);
        let attached = self.attach(opening, accept.version, proof.as_deref()).await;
        attached.map(|session| Outcome::Session(Box::new(session)))
    }

    /// Sends the user's name and reads which version the server will use.
    async fn introduce(&mut self) -> Result<Accept, Cause> {
        let data = self.first_message();
        let identity = Identity {
            login: &self.login,
            plugin: self.plugin.name(),
            plugins: &self.plugins,
            data: &data,
            wire_crypt: self.config.wire_crypt,
            os_user: "",
            host: "",
        };
        let mut out = BytesMut::new();
        let (file, compression) = (&self.config.database, self.config.compression);
        connect(&mut out, file, &identity, &Version::ALL, compression)?;
        self.send(out).await?;
        match self.answer().await? {
            Answer::Accept(accept) => Ok(accept),
            Answer::Response(outcome) => Err(refused(outcome)),
            _ => Err(unexpected("acceptance")),
        }
    }

    /// What a plugin begins with.
    fn first_message(&self) -> Vec<u8> {
        match self.plugin {
            Plugin::Srp256 | Plugin::Srp => self.srp.public_text().into(),
            Plugin::Legacy => legacy_hash(self.config.password.reveal()).into(),
        }
    }

    /// What is to be said to the server's turn.
    fn turn(&mut self, turn: &Continue) -> Result<Vec<u8>, Cause> {
        if !turn.plugin.is_empty() {
            let wanted = Plugin::from_name(&turn.plugin)
                .filter(|plugin| self.config.plugins.contains(plugin));
            self.plugin = wanted
                .ok_or_else(|| Cause::Plugin(String::from_utf8_lossy(&turn.plugin).into_owned()))?;
        }
        if turn.data.is_empty() || self.plugin == Plugin::Legacy {
            return Ok(self.first_message());
        }
        let password = self.config.password.reveal();
        let proof = self
            .srp
            .prove(self.plugin, &self.login, password, &turn.data)?;
        self.key = Some(proof.key);
        Ok(proof.text.into())
    }

    async fn send_turn(&mut self, data: &[u8]) -> Result<(), Cause> {
        let mut out = BytesMut::new();
        handshake::cont_auth(&mut out, data, self.plugin.name(), &self.plugins)?;
        self.send(out).await
    }

    /// Takes turns until the server has made up its mind.
    async fn rounds(&mut self) -> Result<Response, Cause> {
        loop {
            match self.answer().await? {
                Answer::Continue(turn) => {
                    let data = self.turn(&turn)?;
                    self.send_turn(&data).await?;
                }
                Answer::KeyCallback(_) => {
                    let mut out = BytesMut::new();
                    handshake::crypt_key_callback(&mut out, &[], self.version)?;
                    self.send(out).await?;
                }
                Answer::Response(outcome) => {
                    return outcome.map_err(|error| Cause::Handshake(Error::Server(error)));
                }
                _ => return Err(unexpected("a turn of the login")),
            }
        }
    }

    async fn encrypt(&mut self, keys: &[u8]) -> Result<(), Cause> {
        let chosen = match (self.config.wire_crypt, self.key) {
            (WireCrypt::Disabled, _) => return Ok(()),
            (_, Some(key)) => ServerKeys::new(keys)
                .choose()
                .map(|(cipher, start)| (cipher, key, start)),
            (_, None) => None,
        };
        let Some((cipher, key, start)) = chosen else {
            return match self.config.wire_crypt {
                WireCrypt::Required => Err(Cause::Unencrypted),
                _ => Ok(()),
            };
        };
        let encryption = Encryption::new(cipher, &key, start)?;
        let mut out = BytesMut::new();
        handshake::crypt(&mut out, cipher.name(), KEY)?;
        self.send(out).await?;
        self.nothing_is_left()?;
        self.layers.encrypt(encryption);
        self.rounds().await?;
        Ok(())
    }

    async fn attach(
        mut self,
        opening: &Opening<'_>,
        version: Version,
        proof: Option<&[u8]>,
    ) -> Result<Session, Cause> {
        let mut block = DatabaseParameters::new("UTF8")?;
        block
            .user(&self.login)?
            .process(env!("CARGO_PKG_NAME"), std::process::id())?
            .client_version(CLIENT_VERSION)?;
        if let Some(role) = &self.config.role {
            block.role(role)?;
        }
        if let Some(data) = proof {
            let (plugin, plugins) = (self.plugin.name(), &self.plugins);
            block.proof(&LoginProof {
                data,
                plugin,
                plugins,
            })?;
        }
        let mut out = BytesMut::new();
        let file = &self.config.database;
        let mut requests = Requests::new(&mut out, version);
        match opening {
            Opening::Attach => requests.attach(file, &block.finish())?,
            Opening::Create(Creation {
                page_size,
                character_set,
                forced_writes,
            }) => {
                block.default_character_set(character_set)?;
                if let Some(bytes) = page_size {
                    block.page_size(*bytes);
                }
                if *forced_writes == ForcedWrites::Off {
                    block.unforced_writes();
                }
                requests.create(file, &block.finish())?;
            }
        }
        self.send(out).await?;
        let response = self.rounds().await?;
        Ok(Session {
            database: Database(response.object),
            version,
            layers: self.layers,
            input: self.input,
        })
    }

    async fn send(&mut self, mut out: BytesMut) -> Result<(), Cause> {
        self.layers.seal(&mut out, 0)?;
        Ok(self.stream.write_all(&out).await?)
    }

    async fn answer(&mut self) -> Result<Answer, Cause> {
        self.turns += 1;
        if self.turns > LOGIN_TURNS_MAX {
            return Err(Cause::Turns(LOGIN_TURNS_MAX));
        }
        loop {
            if let Some(answer) = handshake::answer(&mut self.input, self.version)? {
                return Ok(answer);
            }
            self.input.reserve(READ_BYTES_MIN);
            let from = self.input.len();
            if self.stream.read_buf(&mut self.input).await? == 0 {
                return Err(Cause::Closed);
            }
            self.layers.open(&mut self.input, from)?;
        }
    }

    fn nothing_is_left(&self) -> Result<(), Cause> {
        if self.input.is_empty() {
            Ok(())
        } else {
            Err(unexpected("nothing before the other side's next packet"))
        }
    }
}

fn refused(outcome: tsumugi_firebird_proto::Outcome) -> Cause {
    match outcome {
        Err(error) => Cause::Handshake(Error::Server(error)),
        Ok(_) => unexpected("acceptance"),
    }
}

fn unexpected(expected: &'static str) -> Cause {
    Violation::Unexpected {
        op: tsumugi_firebird_proto::op::RESPONSE,
        expected,
    }
    .into()
}
