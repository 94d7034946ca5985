//! Certificates by ACME around a server: the options that ask for one, what they stand for, and what supplies it. Speaks no ACME.
//! Rule: what only the feature `acme` needs is in here; `without_acme.rs` has its place where that is not built in.

mod options;
mod plan;
mod supply;

pub use options::AcmeOptions;
pub(crate) use plan::AcmePlan;
pub use supply::CertificateSupply;

/// The option, among others from which a certificate comes.
pub(crate) const OR_ACME: &str = ", or --acme";

/// What is said in place of wrong usage, if that is an option of a program with ACME: nothing, the options are known.
#[must_use]
pub fn absent_option(_: &clap::Error) -> Option<&'static str> {
    None
}
