//! The roles every throwaway server has, and how each logs in. Their passwords are public: the servers live for seconds.
//! Rule: a role allows exactly one way to authenticate, so that a test that connects has tested that way.

/// A role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    /// The role's name.
    pub name: &'static str,
    /// What it must say, if anything.
    pub password: Option<&'static str>,
}

impl User {
    /// The superuser; trusted.
    pub const ADMIN: User = User::trusted("postgres");
    /// Trusted, no special rights.
    pub const TRUST: User = User::trusted("trusting");
    /// Sends its password in the clear. It holds what a URL and a password file must escape.
    pub const CLEARTEXT: User = User::with("cleartext", r"p@ss:w/rd\ %?&=#'");
    /// The old digest.
    pub const MD5: User = User::with("digest", "md5 secret");
    /// SCRAM-SHA-256, and -PLUS over TLS. The password changes under SASLprep.
    pub const SCRAM: User = User::with("scram", "pass\u{a0}word \u{2168}");
    /// Needs a client certificate for its name, over TLS.
    pub const CERTIFICATE: User = User::trusted("certified");
    /// Is never let in.
    pub const REFUSED: User = User::trusted("refused");

    const fn trusted(name: &'static str) -> User {
        User {
            name,
            password: None,
        }
    }

    const fn with(name: &'static str, password: &'static str) -> User {
        User {
            name,
            password: Some(password),
        }
    }

    /// `name:password` as a URL has it.
    pub(crate) fn in_url(&self) -> String {
        match self.password {
            Some(password) => format!("{}:{}", self.name, escaped(password)),
            None => self.name.to_owned(),
        }
    }
}

/// Percent-encodes everything but letters and digits.
pub(crate) fn escaped(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

/// One SQL command a line, as a single-user server reads them.
pub(crate) fn roles() -> String {
    let quoted = |user: User| user.password.unwrap_or_default().replace('\'', "''");
    [
        "set password_encryption = 'scram-sha-256'".to_owned(),
        "create role trusting login createdb".to_owned(),
        "create role certified login".to_owned(),
        "create role refused login".to_owned(),
        format!(
            "create role cleartext login password '{}'",
            quoted(User::CLEARTEXT)
        ),
        format!("create role scram login password '{}'", quoted(User::SCRAM)),
        "set password_encryption = 'md5'".to_owned(),
        format!("create role digest login password '{}'", quoted(User::MD5)),
        // As before PostgreSQL 15, so that every role may make tables in every new database.
        "grant all on schema public to public".to_owned(),
        String::new(),
    ]
    .join("\n")
}

/// pg_hba.conf: the first line that fits counts.
pub(crate) const ACCESS: &str = "\
# type     database     user       address  method
local      all          postgres            trust
host       all          postgres   all      trust
local      replication  postgres            trust
host       replication  postgres   all      trust
local      all          trusting            trust
host       all          trusting   all      trust
local      all          cleartext           password
host       all          cleartext  all      password
local      all          digest              md5
host       all          digest     all      md5
local      all          scram               scram-sha-256
host       all          scram      all      scram-sha-256
hostssl    all          certified  all      cert
local      all          all                 reject
host       all          all        all      reject
";
