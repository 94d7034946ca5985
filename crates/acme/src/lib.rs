//! Certificates from an authority that speaks ACME (RFC 8555), as Let's Encrypt: ordered, kept in a folder, renewed while a server runs.
//! Listens on nothing: the server shows what proves that it has a name, and asks [`CertificateKeeper::source`] at each handshake.
//! Rule: what is in the folder is used before anything is ordered, and a certificate in use stays until another one is there.

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic
    )
)]

mod account;
mod back_off;
mod cache;
mod certificate;
mod challenge;
mod challenge_kind;
mod error;
mod keeper;
mod limits;
mod order;
mod settings;
mod source;
mod transport;

pub use self::challenge::ChallengeFolder;
pub use self::challenge_kind::ChallengeKind;
pub use self::error::Error;
pub use self::keeper::CertificateKeeper;
pub use self::limits::ACME_NAMES_MAX;
pub use self::settings::{AcmeSettings, DirectoryUrl, DomainName, LETS_ENCRYPT};
pub use self::source::OrderFigures;
