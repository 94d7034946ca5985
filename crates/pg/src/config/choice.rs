//! Keys whose value is one of a few words. Not numbers, names or files.
//! Rule: a word that is none of them is an error that lists them all.

use crate::error::Error;

/// Makes an enum of words, with what parses them.
macro_rules! choice {
    ($(#[$doc:meta])* $name:ident, $key:literal, $($(#[$said:meta])* $variant:ident = $word:literal,)+) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $($(#[$said])* $variant,)+ }

        impl $name {
            /// The value as libpq writes it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            pub(super) fn parse(word: &str) -> Result<Self, Error> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(unknown($key, word, &[$($word),+])),
                }
            }
        }
    };
}

choice! {
    /// `sslmode`: whether to encrypt, and what to check. Each is stricter than the one before. UNIX sockets never encrypt.
    SslMode, "sslmode",
    /// Never encrypt.
    Disable = "disable",
    /// Encrypt only when the server refuses otherwise.
    Allow = "allow",
    /// Encrypt when the server can; anybody may be the server.
    #[default]
    Prefer = "prefer",
    /// Encrypt or fail; checks the certificate's signer only when there is a file of roots.
    Require = "require",
    /// The certificate must be signed by a root.
    VerifyCa = "verify-ca",
    /// And it must be for this host.
    VerifyFull = "verify-full",
}

choice! {
    /// `sslnegotiation`: how TLS begins.
    SslNegotiation, "sslnegotiation",
    /// By asking first, as every server understands.
    #[default]
    Postgres = "postgres",
    /// At once, with ALPN; PostgreSQL 17 and later. Saves a round trip.
    Direct = "direct",
}

choice! {
    /// `channel_binding`: whether SCRAM proves that no one sits between.
    ChannelBinding, "channel_binding",
    /// Do not.
    Disable = "disable",
    /// When both can.
    #[default]
    Prefer = "prefer",
    /// Or fail.
    Require = "require",
}

choice! {
    /// `target_session_attrs`: which kind of server will do.
    TargetSessionAttrs, "target_session_attrs",
    /// The first that answers.
    #[default]
    Any = "any",
    /// One whose sessions may write.
    ReadWrite = "read-write",
    /// One whose sessions may not write.
    ReadOnly = "read-only",
    /// Not a standby.
    Primary = "primary",
    /// A standby.
    Standby = "standby",
    /// A standby, else any.
    PreferStandby = "prefer-standby",
}

choice! {
    /// `load_balance_hosts`: the order in which hosts, and the addresses of each, are tried.
    LoadBalanceHosts, "load_balance_hosts",
    /// As they are given.
    #[default]
    Disable = "disable",
    /// A new random order for each connection.
    Random = "random",
}

choice! {
    /// `pooler`, a key of ours: what stands between us and the server.
    Pooler, "pooler",
    /// Nothing, or a pooler that keeps a session per client.
    #[default]
    None = "none",
    /// A pooler that may change the session between transactions: nothing is kept prepared.
    Transaction = "transaction",
}

pub(super) fn unknown(key: &str, word: &str, known: &[&str]) -> Error {
    Error::config(key, format!("`{word}` is not one of {}", known.join(", ")))
}
