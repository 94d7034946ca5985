//! The database parameter block: what an attachment is opened, or a database created, with.
//! Names are UTF-8: the block says so itself. Rule: a password is never in it, only a proof.

use bytes::Bytes;

use crate::Misuse;
use crate::clumplet::Clumplets;

const VERSION: u8 = 1;
const NAMES_ARE_UTF8: &[u8] = &[];

/// Tags, by their names in the server's interface.
mod tag {
    pub const PAGE_SIZE: u8 = 4;
    pub const FORCE_WRITE: u8 = 24;
    pub const USER_NAME: u8 = 28;
    pub const LC_CTYPE: u8 = 48;
    pub const OVERWRITE: u8 = 54;
    pub const SQL_ROLE_NAME: u8 = 60;
    pub const SQL_DIALECT: u8 = 63;
    pub const SET_DB_CHARSET: u8 = 68;
    pub const PROCESS_ID: u8 = 71;
    pub const PROCESS_NAME: u8 = 74;
    pub const UTF8_FILENAME: u8 = 77;
    pub const CLIENT_VERSION: u8 = 80;
    pub const SPECIFIC_AUTH_DATA: u8 = 84;
    pub const AUTH_PLUGIN_LIST: u8 = 85;
    pub const AUTH_PLUGIN_NAME: u8 = 86;
}

/// The proof of a password for a server that wants it with the attachment.
#[derive(Debug, Clone, Copy)]
pub struct LoginProof<'a> {
    /// What the plugin says.
    pub data: &'a [u8],
    /// The plugin's name.
    pub plugin: &'a str,
    /// All plugins known here, as in the first packet.
    pub plugins: &'a str,
}

/// A block being written. Tags that a server does not know are passed over by it.
#[derive(Debug, Clone)]
pub struct DatabaseParameters(Clumplets);

impl DatabaseParameters {
    /// SQL dialect 3 and the connection's character set, such as `UTF8`: everything but columns of `NONE` and `OCTETS` comes and goes in it.
    ///
    /// # Errors
    /// [`Misuse::ClumpletLength`], as of every function here.
    pub fn new(character_set: &str) -> Result<Self, Misuse> {
        let mut block = Clumplets::versioned(VERSION);
        block.text(tag::LC_CTYPE, character_set, "character set")?;
        block.byte(tag::SQL_DIALECT, 3);
        block.bytes(tag::UTF8_FILENAME, NAMES_ARE_UTF8, "flag")?;
        Ok(Self(block))
    }

    /// The user, as the first packet named it.
    ///
    /// # Errors
    /// [`Misuse::ClumpletLength`].
    pub fn user(&mut self, login: &str) -> Result<&mut Self, Misuse> {
        self.text(tag::USER_NAME, login, "user name")
    }

    /// The role to take.
    ///
    /// # Errors
    /// [`Misuse::ClumpletLength`].
    pub fn role(&mut self, role: &str) -> Result<&mut Self, Misuse> {
        self.text(tag::SQL_ROLE_NAME, role, "role")
    }

    /// What the server shows of this program: its name and its process, in `mon$attachments`.
    ///
    /// # Errors
    /// [`Misuse::ClumpletLength`].
    pub fn process(&mut self, name: &str, id: u32) -> Result<&mut Self, Misuse> {
        self.0.number(tag::PROCESS_ID, id);
        self.text(tag::PROCESS_NAME, name, "program's name")
    }

    /// The name and version of the driver, which the server shows, too.
    ///
    /// # Errors
    /// [`Misuse::ClumpletLength`].
    pub fn client_version(&mut self, version: &str) -> Result<&mut Self, Misuse> {
        self.text(tag::CLIENT_VERSION, version, "driver's version")
    }

    /// The proof of the password, if it was asked for here.
    ///
    /// # Errors
    /// [`Misuse::ClumpletLength`].
    pub fn proof(&mut self, proof: &LoginProof<'_>) -> Result<&mut Self, Misuse> {
        self.text(tag::AUTH_PLUGIN_NAME, proof.plugin, "plugin's name")?;
        self.text(tag::AUTH_PLUGIN_LIST, proof.plugins, "list of plugins")?;
        let data = proof.data;
        self.0
            .bytes(tag::SPECIFIC_AUTH_DATA, data, "proof of the password")?;
        Ok(self)
    }

    /// Of a database to create: the character set of texts that name none.
    ///
    /// # Errors
    /// [`Misuse::ClumpletLength`].
    pub fn default_character_set(&mut self, name: &str) -> Result<&mut Self, Misuse> {
        self.text(tag::SET_DB_CHARSET, name, "character set")
    }

    /// Of a database to create: bytes of a page, 4,096 to 32,768.
    pub fn page_size(&mut self, bytes: u32) -> &mut Self {
        self.0.number(tag::PAGE_SIZE, bytes);
        self
    }

    /// Of a database to create: leaves it to the operating system when what was committed reaches the disk.
    pub fn unforced_writes(&mut self) -> &mut Self {
        self.0.number(tag::FORCE_WRITE, 0);
        self
    }

    /// Of a database to create: takes the place of one that exists.
    pub fn overwrite(&mut self) -> &mut Self {
        self.0.number(tag::OVERWRITE, 1);
        self
    }

    /// The block.
    pub fn finish(self) -> Bytes {
        self.0.finish()
    }

    fn text(&mut self, tag: u8, value: &str, what: &'static str) -> Result<&mut Self, Misuse> {
        self.0.text(tag, value, what)?;
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_says_dialect_character_set_and_user() {
        let mut block = DatabaseParameters::new("UTF8").unwrap();
        block.user("U").unwrap();
        assert_eq!(
            block.finish().escape_ascii().to_string(),
            r"\x010\x04UTF8?\x01\x03M\x00\x1c\x01U"
        );
    }

    #[test]
    fn block_for_a_new_database_says_how_it_is_made() {
        let mut block = DatabaseParameters::new("UTF8").unwrap();
        block.default_character_set("UTF8").unwrap();
        block.page_size(8192).overwrite().unforced_writes();
        let bytes = block.finish();
        assert!(bytes.ends_with(b"D\x04UTF8\x04\x04\0\x20\0\0\x36\x04\x01\0\0\0\x18\x04\0\0\0\0"));
    }

    #[test]
    fn proof_names_its_plugin() {
        let mut block = DatabaseParameters::new("UTF8").unwrap();
        let proof = LoginProof {
            data: b"AB",
            plugin: "Srp",
            plugins: "Srp256,Srp",
        };
        block.proof(&proof).unwrap();
        assert!(block.finish().ends_with(b"V\x03SrpU\x0aSrp256,SrpT\x02AB"));
    }

    #[test]
    fn text_longer_than_255_bytes_is_refused() {
        let mut block = DatabaseParameters::new("UTF8").unwrap();
        let misuse = block.role(&"r".repeat(256)).map(|_| ());
        assert!(matches!(
            misuse,
            Err(Misuse::ClumpletLength { length: 256, .. })
        ));
    }
}
