//! Certificates of a test server, made anew for each: an authority, the server's, a client's, and strangers. Not for any other use.
//! Rule: keys are readable by their user alone, as PostgreSQL and libpq demand.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, SignatureAlgorithm,
    date_time_ymd,
};

use crate::postgres::process_user::ProcessUser;
use crate::postgres::user::User;

/// When a certificate is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dates {
    /// Now.
    Now,
    /// Until long ago.
    Past,
    /// From a year to come on.
    Future,
}

/// Whether the server speaks TLS, and what its certificate says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PostgresTls {
    /// It answers `N`.
    #[default]
    Off,
    /// A certificate for `localhost`, `127.0.0.1` and `::1`.
    Localhost,
    /// The same, signed with SHA-384.
    LocalhostSha384,
    /// A certificate for another host.
    Elsewhere,
    /// One for `localhost` that has signed itself, as `openssl req -x509` makes them.
    SelfSigned(Dates),
    /// One for `localhost` whose authority has these dates; its own are right.
    AuthorityOf(Dates),
}

/// Files in PEM.
#[derive(Clone, Debug)]
pub struct Certificates {
    /// The authority that signed the server's and the client's certificate.
    pub authority: PathBuf,
    /// An authority that signed neither.
    pub stranger: PathBuf,
    /// What the server shows.
    pub server: PathBuf,
    /// The private key of the server's certificate.
    pub server_key: PathBuf,
    /// A client's, for the role [`User::CERTIFICATE`].
    pub client: PathBuf,
    /// The private key of the client's certificate.
    pub client_key: PathBuf,
    /// A client's for the same name, signed by the stranger.
    pub stranger_client: PathBuf,
    /// The private key of the stranger's certificate.
    pub stranger_client_key: PathBuf,
}

impl Certificates {
    /// Makes them all in `directory`; the server's key belongs to `account`.
    pub(crate) fn make(directory: &Path, tls: PostgresTls, account: ProcessUser) -> Certificates {
        let signature = match tls {
            PostgresTls::LocalhostSha384 => &PKCS_ECDSA_P384_SHA384,
            _ => &PKCS_ECDSA_P256_SHA256,
        };
        let names: &[&str] = match tls {
            PostgresTls::Elsewhere => &["elsewhere.example"],
            _ => &["localhost", "127.0.0.1", "::1"],
        };
        let write = |name: &str, text: &str| {
            let path = directory.join(name);
            std::fs::write(&path, text)
                .and_then(|()| std::fs::set_permissions(&path, Permissions::from_mode(0o600)))
                .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
            path
        };
        let dates = match tls {
            PostgresTls::AuthorityOf(dates) => dates,
            _ => Dates::Now,
        };
        let (authority, authority_pem) = authority("authority", signature, dates);
        let (stranger, stranger_pem) = self::authority("stranger", signature, Dates::Now);
        let (server, server_key) = match tls {
            PostgresTls::SelfSigned(dates) => self_signed(names, dates),
            _ => signed(
                names,
                "server",
                ExtendedKeyUsagePurpose::ServerAuth,
                &authority,
            ),
        };
        let client = |by: &Authority| {
            signed(
                &[],
                User::CERTIFICATE.name,
                ExtendedKeyUsagePurpose::ClientAuth,
                by,
            )
        };
        let (client_pem, client_key) = client(&authority);
        let (other_pem, other_key) = client(&stranger);
        let made = Certificates {
            authority: write("authority.crt", &authority_pem),
            stranger: write("stranger.crt", &stranger_pem),
            server: write("server.crt", &server),
            server_key: write("server.key", &server_key),
            client: write("client.crt", &client_pem),
            client_key: write("client.key", &client_key),
            stranger_client: write("stranger-client.crt", &other_pem),
            stranger_client_key: write("stranger-client.key", &other_key),
        };
        for path in [&made.authority, &made.server, &made.server_key] {
            account.own(path);
        }
        made
    }
}

pub(crate) type Authority = Issuer<'static, KeyPair>;

/// A certificate that is its own authority, and its key.
fn self_signed(names: &[&str], dates: Dates) -> (String, String) {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut parameters = CertificateParams::new(names).expect("the names fit");
    parameters
        .distinguished_name
        .push(DnType::CommonName, "localhost");
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    set_dates(&mut parameters, dates);
    let key = KeyPair::generate().expect("ring makes such keys");
    let certificate = parameters.self_signed(&key).expect("the parameters fit");
    (certificate.pem(), key.serialize_pem())
}

fn set_dates(parameters: &mut CertificateParams, dates: Dates) {
    let (from, to) = match dates {
        Dates::Now => return,
        Dates::Past => (2001, 2011),
        Dates::Future => (2090, 2099),
    };
    parameters.not_before = date_time_ymd(from, 1, 1);
    parameters.not_after = date_time_ymd(to, 1, 1);
}

pub(crate) fn authority(
    name: &str,
    signature: &'static SignatureAlgorithm,
    dates: Dates,
) -> (Authority, String) {
    let mut parameters = CertificateParams::default();
    set_dates(&mut parameters, dates);
    parameters.distinguished_name.push(DnType::CommonName, name);
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let key = KeyPair::generate_for(signature).expect("ring makes such keys");
    let certificate = parameters.self_signed(&key).expect("the parameters fit");
    (Issuer::new(parameters, key), certificate.pem())
}

/// A certificate and its key.
pub(crate) fn signed(
    names: &[&str],
    subject: &str,
    purpose: ExtendedKeyUsagePurpose,
    by: &Authority,
) -> (String, String) {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut parameters = CertificateParams::new(names).expect("the names fit");
    parameters
        .distinguished_name
        .push(DnType::CommonName, subject);
    parameters.extended_key_usages = vec![purpose];
    let key = KeyPair::generate().expect("ring makes such keys");
    let certificate = parameters.signed_by(&key, by).expect("the parameters fit");
    (certificate.pem(), key.serialize_pem())
}
