//! The users every throwaway server has, and how each logs in. Their passwords are public: the servers live for seconds.
//! Rule: a user exists for one way to authenticate, so that a test that connects has tested that way.

/// A user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    /// The name as one writes it in SQL: in double quotes when capitals matter.
    pub name: &'static str,
    /// The password.
    pub password: &'static str,
    plugin: &'static str,
}

impl User {
    /// The superuser.
    pub const ADMIN: User = User::srp("SYSDBA", "masterkey");
    /// SHA-1 of this name begins with a zero byte, which SRP's proof leaves out.
    pub const LEADING_ZERO: User = User::srp("U206", "leading zero");
    /// A name with capitals, small letters and a space.
    pub const QUOTED: User = User::srp("\"Mixed Case\"", "mixed");
    /// A password beyond ASCII.
    pub const JAPANESE: User = User::srp("JAPANESE", "秘密の言葉");
    /// Known to Legacy_Auth only, which looks at eight characters of a password.
    pub const LEGACY: User = User {
        name: "LEGACY",
        password: "eight ch",
        plugin: "Legacy_UserManager",
    };

    const ALL: [User; 5] = [
        User::ADMIN,
        User::LEADING_ZERO,
        User::QUOTED,
        User::JAPANESE,
        User::LEGACY,
    ];

    const fn srp(name: &'static str, password: &'static str) -> User {
        User {
            name,
            password,
            plugin: "Srp",
        }
    }

    /// `name:password` as a URL has it.
    pub(crate) fn in_url(&self) -> String {
        format!("{}:{}", escaped(self.name), escaped(self.password))
    }
}

/// The statements that make them all.
pub(crate) fn statements() -> String {
    let mut sql = String::new();
    for User {
        name,
        password,
        plugin,
    } in User::ALL
    {
        sql += &format!("create user {name} password '{password}' using plugin {plugin};\n");
    }
    sql
}

/// Percent-encodes everything but letters and digits.
fn escaped(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect()
}
