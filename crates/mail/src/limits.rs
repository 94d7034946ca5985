//! The limits of mail, each with its default and its unit. Knows numbers, not behaviour.
//! A limit that fails a mail is named in the error's text.

/// What one worker's mail may use.
#[derive(Clone, Debug)]
pub struct MailLimits {
    /// From the call to the server's word that it has the mail, in milliseconds: waiting for a place and connecting included.
    pub send_ms_max: u64,
    /// Connections in use at once. Further mails wait.
    pub connections_max: usize,
    /// Connections that are kept open for later.
    pub idle_max: usize,
    /// How long one is kept, in milliseconds. Servers close those that wait for minutes.
    pub idle_ms_max: u64,
    /// Bytes of a mail as it is sent, its attachments encoded.
    pub message_bytes_max: usize,
    /// Recipients of one mail, those of copies included.
    pub recipients_max: usize,
}

impl Default for MailLimits {
    fn default() -> MailLimits {
        MailLimits {
            send_ms_max: 30_000,
            connections_max: 4,
            idle_max: 2,
            idle_ms_max: 30_000,
            message_bytes_max: 25 * 1024 * 1024,
            recipients_max: 100,
        }
    }
}

/// Bytes that a server may send without being asked anew: an answer, or its part of a handshake.
pub(crate) const REPLY_BYTES_MAX: usize = 64 * 1024;

/// The part of `send_ms_max` in which one of a server's addresses has to answer, so that there is time left for the mail.
pub(crate) const CONNECT_PART: u64 = 2;

/// Bytes of the text of one header field: a subject, a name.
pub(crate) const FIELD_BYTES_MAX: usize = 1_024;

/// Header fields of its own that a mail may have.
pub(crate) const FIELDS_MAX: usize = 32;

/// Mails that are collected for a test; one more is an error, since something sends without an end.
pub(crate) const COLLECTED_MAX: usize = 1_000;
