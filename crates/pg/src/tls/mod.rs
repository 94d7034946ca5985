//! TLS as the configuration wants it: trusted roots, the client's certificate, one handshake. It does not decide whether to encrypt.
//! Reading certificates blocks, so it happens on another thread, once for each new connection: renewed files count at once.
//! Rule: modes check what libpq's check; a file of roots that is there is always used.

mod binding;
mod der;
mod verify;

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::ServerCertVerifier;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use self::verify::{Check, Verifier};
use crate::config::{Roots, SslMode, SslNegotiation, TlsConfig};
use crate::error::Error;
use crate::files::read_bounded;
use crate::platform;

pub(crate) use self::binding::server_end_point;

/// The name under which PostgreSQL speaks TLS, as registered with IANA.
const ALPN: &[u8] = b"postgresql";

/// What every handshake of one connection, and of its cancel requests, needs.
#[derive(Clone)]
pub(crate) struct Tls {
    config: Arc<ClientConfig>,
    negotiation: SslNegotiation,
}

impl Tls {
    /// Reads the files. Blocks.
    pub fn load(config: &TlsConfig) -> Result<Tls, Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let check = check(config)?;
        let verifier: Arc<dyn ServerCertVerifier> = Arc::new(Verifier::new(check, &provider));
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::config("sslmode", error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let mut made = match client(config)? {
            Some((chain, key)) => builder
                .with_client_auth_cert(chain, key)
                .map_err(|error| Error::config("sslkey", error.to_string()))?,
            None => builder.with_no_client_auth(),
        };
        made.alpn_protocols = vec![ALPN.to_vec()];
        made.enable_sni = config.sni;
        Ok(Tls {
            config: Arc::new(made),
            negotiation: config.negotiation,
        })
    }

    pub fn negotiation(&self) -> SslNegotiation {
        self.negotiation
    }

    /// Shakes hands. `name` is what the certificate is checked against.
    pub async fn shake_hands(
        &self,
        name: &str,
        stream: TcpStream,
    ) -> io::Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from(name.to_owned()).map_err(|_| {
            io::Error::new(
                io::ErrorKind::InvalidInput,
                "no certificate can be for this host name",
            )
        })?;
        let stream = TlsConnector::from(Arc::clone(&self.config))
            .connect(name, stream)
            .await?;
        // A server that was not asked first must say that it is one for PostgreSQL, or it may be any other that was reached by a trick.
        let agreed = stream.get_ref().1.alpn_protocol() == Some(ALPN);
        if self.negotiation == SslNegotiation::Direct && !agreed {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the server did not agree to the protocol `postgresql`; sslnegotiation=direct needs PostgreSQL 17",
            ));
        }
        Ok(stream)
    }
}

fn check(config: &TlsConfig) -> Result<Check, Error> {
    let roots = match &config.roots {
        Roots::System => Some(of_system()?),
        Roots::File(path) => Some(of_file(path)?),
        Roots::Usual(path) if path.exists() => Some(of_file(path)?),
        Roots::Usual(path) if config.mode >= SslMode::VerifyCa => {
            let reason = format!(
                "not given, and there is no {}; name the file with the signer's certificate, or say `system`",
                path.display()
            );
            return Err(Error::config("sslrootcert", reason));
        }
        Roots::Nowhere if config.mode >= SslMode::VerifyCa => {
            let reason = "not given; name the file with the signer's certificate, or say `system`";
            return Err(Error::config("sslrootcert", reason));
        }
        Roots::Usual(_) | Roots::Nowhere => None,
    };
    Ok(match (roots, config.mode) {
        (Some(roots), SslMode::VerifyFull) => Check::SignerAndName(roots),
        (Some(roots), _) => Check::Signer(roots),
        (None, _) => Check::Nothing,
    })
}

fn of_system() -> Result<Vec<CertificateDer<'static>>, Error> {
    let found = rustls_native_certs::load_native_certs().certs;
    if found.is_empty() {
        let reason = "the system trusts no certificate; install the package ca-certificates";
        return Err(Error::config("sslrootcert", reason));
    }
    Ok(found)
}

fn of_file(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let found = certificates("sslrootcert", path)?;
    let mut store = RootCertStore::empty();
    if store.add_parsable_certificates(found.iter().cloned()).0 == 0 {
        return Err(Error::config(
            "sslrootcert",
            format!("no certificate of {} can be read", path.display()),
        ));
    }
    Ok(found)
}

fn certificates(key: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let text = read_bounded(path)
        .map_err(|error| Error::config(key, format!("cannot read {}: {error}", path.display())))?;
    let found = CertificateDer::pem_slice_iter(text.as_bytes()).collect::<Result<Vec<_>, _>>();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(Error::config(
            key,
            format!("{} has no certificate in PEM", path.display()),
        )),
        Err(error) => Err(Error::config(key, format!("{}: {error}", path.display()))),
    }
}

type ClientIdentity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// What is shown to the server. The usual files need not be there; named ones must.
fn client(config: &TlsConfig) -> Result<Option<ClientIdentity>, Error> {
    let Some(client) = &config.client else {
        return Ok(None);
    };
    if !client.named && !client.certificate.exists() {
        return Ok(None);
    }
    let chain = certificates("sslcert", &client.certificate)?;
    let wrong =
        |reason: String| Error::config("sslkey", format!("{}: {reason}", client.key.display()));
    if let Some(reason) =
        platform::exposed(&client.key).map_err(|error| wrong(error.to_string()))?
    {
        return Err(wrong(reason.to_owned()));
    }
    let text = read_bounded(&client.key).map_err(|error| wrong(error.to_string()))?;
    let key = PrivateKeyDer::from_pem_slice(text.as_bytes())
        .map_err(|_| wrong("no private key in PEM without a password".to_owned()))?;
    Ok(Some((chain, key)))
}
