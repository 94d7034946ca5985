//! Which server and which database a word of `tsumugi kv` is for, and what the client shows it. Makes no call.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use tsumugi_rpc::client::{ClientIdentity, Options, Tls};
use tsumugi_rpc::{Client, ClientLimits, RpcTarget, TOKEN_FILE_BYTES_MAX};
use tsumugi_server::with_options;

use crate::limits::VALUE_BYTES_MAX;

/// Options of every word.
#[derive(clap::Args, Clone)]
pub struct Remote {
    /// The server: HOST:PORT, unix:/path, tkrzw://HOST:PORT, tkrzw+tls://HOST:PORT or tkrzw+unix:/path
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:1978")]
    address: String,
    #[command(flatten)]
    access: RemoteAccess,
}

/// Which database of a server, and how it is reached.
#[derive(clap::Args, Clone)]
pub struct RemoteAccess {
    /// The database: its place in the server's list, from 0, which is the default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(0..))]
    index: Option<i32>,
    /// Speak TLS, with servers that these authorities vouch for, in PEM
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// The client's own certificate and its chain, in PEM, for servers that ask for one
    #[arg(long, value_name = "FILE", requires_all = ["tls_ca", "tls_key"])]
    tls_cert: Option<PathBuf>,
    /// The private key of --tls-cert, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Show the first token of this file
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

impl RemoteAccess {
    /// An error of a certificate or key, with the option that names its file.
    fn with_tls_options(&self, error: tsumugi_rpc::Error) -> anyhow::Error {
        let tsumugi_rpc::Error::Certificate { path, .. } = &error else {
            return error.into();
        };
        let path = path.clone();
        let files = [
            ("--tls-ca", &self.tls_ca),
            ("--tls-cert", &self.tls_cert),
            ("--tls-key", &self.tls_key),
        ];
        let given = files.iter();
        let given = given.filter_map(|(option, file)| Some((*option, file.as_deref()?)));
        let given: Vec<_> = given.collect();
        with_options(error.into(), &path, &given)
    }
}

#[cfg(feature = "bench")]
impl RemoteAccess {
    /// With the server's address, all that a client needs.
    pub fn at(&self, address: &str) -> Remote {
        Remote {
            address: address.to_owned(),
            access: self.clone(),
        }
    }

    /// Whether any of it was written.
    pub fn is_given(&self) -> bool {
        let files = [
            &self.tls_ca,
            &self.tls_cert,
            &self.tls_key,
            &self.token_file,
        ];
        self.index.is_some() || files.iter().any(|file| file.is_some())
    }
}

impl Remote {
    /// A client of the database. Nothing is sent yet.
    pub fn client(&self) -> Result<Client> {
        self.client_with(ClientLimits::default())
    }

    /// A client that waits this long for an answer.
    pub fn patient_client(&self, call_ms_max: u64) -> Result<Client> {
        self.client_with(ClientLimits {
            call_ms_max,
            ..ClientLimits::default()
        })
    }

    fn client_with(&self, limits: ClientLimits) -> Result<Client> {
        let target = self.target()?;
        let access = &self.access;
        let tls = match (&access.tls_ca, &target) {
            (Some(authority), RpcTarget::Tls { .. }) => {
                let identity = access.tls_cert.as_deref().zip(access.tls_key.as_deref());
                let identity =
                    identity.map(|(certificate, key)| ClientIdentity { certificate, key });
                let tls = Tls::read(authority, identity);
                Some(tls.map_err(|error| access.with_tls_options(error))?)
            }
            (Some(_), _) => bail!(
                "--tls-ca is for TLS, and {target} is spoken to without; write HOST:PORT or tkrzw+tls://HOST:PORT"
            ),
            (None, RpcTarget::Tls { .. }) => {
                bail!("{target} needs --tls-ca: the authorities that vouch for the server, in PEM")
            }
            (None, _) => None,
        };
        let token = access.token_file.as_deref().map(first_token).transpose()?;
        let options = Options {
            tls,
            token,
            limits: ClientLimits {
                message_bytes_max: limits.message_bytes_max.max(VALUE_BYTES_MAX),
                ..limits
            },
        };
        Ok(Client::new(target, options)?.at(self.index()))
    }

    /// The server as clients write it.
    pub fn target(&self) -> Result<RpcTarget> {
        let text = &self.address;
        let url = if text.starts_with("tkrzw") {
            text.clone()
        } else if let Some(path) = text.strip_prefix("unix:") {
            format!("tkrzw+unix:{path}")
        } else if self.access.tls_ca.is_some() {
            format!("tkrzw+tls://{text}")
        } else {
            format!("tkrzw://{text}")
        };
        Ok(url.parse()?)
    }

    /// The place in the server's list.
    pub fn index(&self) -> i32 {
        self.access.index.unwrap_or_default()
    }
}

/// The file is that of the server, or holds the one token of this client.
fn first_token(path: &Path) -> Result<String> {
    use std::io::Read as _;
    let mut text = String::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(TOKEN_FILE_BYTES_MAX).read_to_string(&mut text))
        .with_context(|| format!("cannot read the token file {}", path.display()))?;
    let mut lines = text.lines().map(str::trim);
    let token = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    token
        .map(str::to_owned)
        .with_context(|| format!("the token file {} holds no token", path.display()))
}
