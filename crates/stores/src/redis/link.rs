//! One connection to one server of Redis: opened, greeted, asked, seen to end. Knows no other server.
//! Rule: what was handed to the connection before it ended may have taken place, and no error of it holds what was sent.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use redis::aio::{AsyncPushSender, MultiplexedConnection};
use redis::{
    AsyncConnectionConfig, Cmd, Pipeline, ProtocolVersion, RedisConnectionInfo, RedisError,
    ServerError, Value, cmd,
};
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use tsumugi_http::{connect_first, version_hint};
use tsumugi_wire::look_up;

use super::address::Login;
use super::reply_guard::{ReplyGuard, TOO_LONG};
use super::slots::Address;
use super::table::CAPABILITIES;
use crate::limits::{
    REDIS_CONNECT_MS_MAX, REDIS_ERROR_TEXT_BYTES_MAX, REDIS_PIPELINE_CALLS, REDIS_VERSION_MIN,
};

/// How servers are spoken to.
pub(super) struct Dialer {
    pub(super) login: Login,
    pub(super) database: u16,
    /// With it, connections are TLS's.
    pub(super) tls: Option<Arc<ClientConfig>>,
}

/// What a server says of itself at the beginning of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Greeting {
    pub(super) version: String,
    pub(super) mode: ServerMode,
    pub(super) role: ServerRole,
}

/// What a server is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServerMode {
    Standalone,
    Sentinel,
    Cluster,
}

/// Whether a server takes writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServerRole {
    Master,
    Replica,
}

/// Why there is no connection. Nothing was asked.
#[derive(Clone, Debug)]
pub(super) enum Refusal {
    /// Nobody is there, or not yet what is looked for. Later there may be.
    Unreachable(String),
    /// User, password or permission.
    Denied(String),
    /// Something else is there than the address says.
    Unfit(String),
}

/// Why a call has no answer.
#[derive(Clone, Debug)]
pub(super) enum LinkFailure {
    /// The connection ended. The call may have taken place.
    Lost(String),
    /// The answer was longer than any answer may be, and the connection with it. The call took place.
    TooLong,
    /// The server answered with an error.
    Server(ServerError),
}

/// An open connection. It is closed when it is dropped.
pub(super) struct Link {
    pub(super) address: Address,
    pub(super) greeting: Greeting,
    connection: MultiplexedConnection,
    task: JoinHandle<()>,
    has_ended: Rc<Cell<bool>>,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Bytes in both directions, in the clear or over TLS; `Send`, since the library asks for it.
trait ByteStream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> ByteStream for T {}

impl Dialer {
    /// A connection; what the server sends without being asked goes to `pushes`.
    pub(super) async fn dial(
        &self,
        address: &Address,
        pushes: Option<Arc<dyn AsyncPushSender>>,
    ) -> Result<Link, Refusal> {
        let deadline = Instant::now() + Duration::from_millis(REDIS_CONNECT_MS_MAX);
        let opened = timeout_at(deadline, self.open(address, pushes)).await;
        opened.unwrap_or_else(|_| {
            Err(unreachable(
                address,
                format!("no connection within {REDIS_CONNECT_MS_MAX} ms (REDIS_CONNECT_MS_MAX)"),
            ))
        })
    }

    async fn open(
        &self,
        address: &Address,
        pushes: Option<Arc<dyn AsyncPushSender>>,
    ) -> Result<Link, Refusal> {
        let stream = self.stream(address).await?;
        let stream = ReplyGuard::new(stream, CAPABILITIES.value_bytes.max);
        let mut information = RedisConnectionInfo::default()
            .set_db(i64::from(self.database))
            .set_protocol(ProtocolVersion::RESP3)
            .set_skip_set_lib_name();
        if let Some(user) = &self.login.user {
            information = information.set_username(user);
        }
        if let Some(password) = &self.login.password {
            information = information.set_password(password.reveal());
        }
        // The calls' own time is counted where they are made.
        let mut config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None)
            .set_pipeline_buffer_size(REDIS_PIPELINE_CALLS);
        if let Some(pushes) = pushes {
            config = config.set_push_sender(pushes);
        }
        let made = MultiplexedConnection::new_with_config(&information, stream, config).await;
        let (connection, driver) = made.map_err(|error| refusal(address, error))?;
        let has_ended = Rc::new(Cell::new(false));
        let ended = Rc::clone(&has_ended);
        let task = tokio::task::spawn_local(async move {
            driver.await;
            ended.set(true);
        });
        let mut link = Link {
            address: address.clone(),
            greeting: Greeting {
                version: String::new(),
                mode: ServerMode::Standalone,
                role: ServerRole::Master,
            },
            connection,
            task,
            has_ended,
        };
        link.greeting = greeting(&link, address).await?;
        Ok(link)
    }

    async fn stream(&self, address: &Address) -> Result<Box<dyn ByteStream>, Refusal> {
        let (host, port) = address;
        let failed = |reason: String| unreachable(address, reason);
        let found = look_up(host, *port).await;
        let found = found.map_err(|error| failed(error.to_string()))?;
        let limit = Duration::from_millis(REDIS_CONNECT_MS_MAX);
        let connected = connect_first(&found, limit).await;
        let stream = connected.map_err(|error| failed(error.to_string()))?;
        // Slower without it, but it works.
        let _ = stream.set_nodelay(true);
        let Some(tls) = &self.tls else {
            return Ok(Box::new(stream));
        };
        let name = ServerName::try_from(host.clone())
            .map_err(|_| failed("no certificate can be for this host name".to_owned()))?;
        let shaken = TlsConnector::from(Arc::clone(tls))
            .connect(name, stream)
            .await;
        match shaken {
            Ok(stream) => Ok(Box::new(stream)),
            Err(error) => Err(failed(match version_hint(&error) {
                Some(hint) => format!("TLS: {hint}"),
                None => format!("TLS: {error}"),
            })),
        }
    }
}

impl Link {
    /// Whether it can still be asked.
    pub(super) fn is_open(&self) -> bool {
        !self.has_ended.get()
    }

    /// Closes it for all who use it: their calls are lost.
    pub(super) fn close(&self) {
        self.has_ended.set(true);
        self.task.abort();
    }

    /// Sends a command and waits for its answer. Dropping the future does not take the command back.
    pub(super) async fn call(&self, command: &Cmd) -> Result<Value, LinkFailure> {
        let answer = self.connection.clone().send_packed_command(command).await;
        settled(answer.map_err(failure)?)
    }

    /// The same of a node that has a slot which is on its way to it.
    pub(super) async fn call_asking(&self, command: Cmd) -> Result<Value, LinkFailure> {
        let mut both = Pipeline::new();
        both.add_command(cmd("ASKING")).add_command(command);
        let mut connection = self.connection.clone();
        let answers = connection.send_packed_commands(&both, 0, 2).await;
        match answers.map_err(failure)?.pop() {
            Some(answer) => settled(answer),
            None => Err(LinkFailure::Lost("there was no answer".to_owned())),
        }
    }
}

fn settled(answer: Value) -> Result<Value, LinkFailure> {
    match answer {
        Value::ServerError(error) => Err(LinkFailure::Server(error)),
        answer => Ok(answer),
    }
}

fn failure(error: RedisError) -> LinkFailure {
    match ServerError::try_from(error) {
        Ok(error) => LinkFailure::Server(error),
        Err(error) if error.to_string() == TOO_LONG => LinkFailure::TooLong,
        Err(error) => LinkFailure::Lost(error.to_string()),
    }
}

/// What a server said, for people: without what it may quote of a command, which may be a value or a password.
pub(super) fn server_text(code: &str, details: Option<&str>) -> String {
    let details = details.unwrap_or_default();
    let quoted = details.find("with args").unwrap_or(details.len());
    let shown = details.get(..quoted).unwrap_or_default();
    let mut end = shown.len().min(REDIS_ERROR_TEXT_BYTES_MAX);
    while !shown.is_char_boundary(end) {
        end -= 1;
    }
    let shown = shown.get(..end).unwrap_or_default();
    let shown = shown.trim_end_matches([' ', ',']);
    match shown {
        "" => code.to_owned(),
        shown => format!("{code} {shown}"),
    }
}

/// Whether an error says that the caller is not let in, or not let do this.
pub(super) fn is_denial(code: &str) -> bool {
    matches!(code, "NOAUTH" | "WRONGPASS" | "NOPERM" | "DENIED")
}

fn unreachable(address: &Address, reason: String) -> Refusal {
    let (host, port) = address;
    Refusal::Unreachable(format!("{host}:{port}: {reason}"))
}

/// Why a connection that was made could not be used.
fn refusal(address: &Address, error: RedisError) -> Refusal {
    let (host, port) = address;
    let error = match ServerError::try_from(error) {
        Ok(error) => error,
        Err(error) => {
            let shown = server_text(error.category(), error.detail());
            return match error.is_io_error() {
                true => unreachable(address, error.to_string()),
                false => Refusal::Unfit(format!("{host}:{port}: {shown}")),
            };
        }
    };
    let text = server_text(error.code(), error.details());
    let shown = format!("{host}:{port}: {text}");
    match error.code() {
        code if is_denial(code) => Refusal::Denied(shown),
        // Too many clients, or not ready yet.
        "LOADING" | "MASTERDOWN" | "BUSY" => Refusal::Unreachable(shown),
        _ if text.contains("max number of clients") => Refusal::Unreachable(shown),
        _ => Refusal::Unfit(shown),
    }
}

/// Asks which server it is, and whether it is new enough.
async fn greeting(link: &Link, address: &Address) -> Result<Greeting, Refusal> {
    let (host, port) = address;
    let answer = match link.call(&cmd("HELLO")).await {
        Ok(answer) => answer,
        Err(LinkFailure::Server(error)) => return Err(refusal(address, error.into())),
        Err(LinkFailure::Lost(reason)) => return Err(unreachable(address, reason)),
        Err(LinkFailure::TooLong) => return Err(unreachable(address, TOO_LONG.to_owned())),
    };
    let text = |name: &str| text_of(entry(&answer, name)?);
    let version = text("version").unwrap_or_default();
    let major = version
        .split('.')
        .next()
        .and_then(|major| major.parse().ok());
    let is_new = major.is_some_and(|major: u32| major >= REDIS_VERSION_MIN);
    if !is_new {
        let shown: String = version.chars().take(32).collect();
        return Err(Refusal::Unfit(format!(
            "{host}:{port}: it is Redis `{shown}`, and at least {REDIS_VERSION_MIN} is needed"
        )));
    }
    Ok(Greeting {
        mode: match text("mode").as_deref() {
            Some("sentinel") => ServerMode::Sentinel,
            Some("cluster") => ServerMode::Cluster,
            _ => ServerMode::Standalone,
        },
        role: match text("role").as_deref() {
            Some("replica" | "slave") => ServerRole::Replica,
            _ => ServerRole::Master,
        },
        version,
    })
}

/// The value with a name in a map of texts, whichever way the server sends one.
pub(super) fn entry<'a>(map: &'a Value, name: &str) -> Option<&'a Value> {
    let is_named = |key: &Value| text_of(key).is_some_and(|key| key == name);
    match map {
        Value::Map(entries) => {
            let found = entries.iter().find(|(key, _)| is_named(key));
            found.map(|(_, value)| value)
        }
        Value::Array(parts) => {
            let found = parts
                .chunks_exact(2)
                .find(|pair| pair.first().is_some_and(is_named));
            found.and_then(|pair| pair.get(1))
        }
        _ => None,
    }
}

/// A value that is a text.
pub(super) fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::BulkString(bytes) => str::from_utf8(bytes).ok().map(str::to_owned),
        Value::SimpleString(text) => Some(text.clone()),
        Value::VerbatimString { text, .. } => Some(text.clone()),
        Value::Okay => Some("OK".to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_an_error_holds_nothing_that_was_sent() {
        let details = "unknown command 'HELLO', with args beginning with: '3' 'AUTH' 's3cret' ";
        assert_eq!(
            server_text("ERR", Some(details)),
            "ERR unknown command 'HELLO'"
        );
        assert_eq!(server_text("NOAUTH", None), "NOAUTH");
        let long = "花".repeat(REDIS_ERROR_TEXT_BYTES_MAX);
        let shown = server_text("ERR", Some(&long));
        assert!(shown.len() <= "ERR ".len() + REDIS_ERROR_TEXT_BYTES_MAX);
    }

    #[test]
    fn entry_is_found_in_a_map_and_in_a_list_of_pairs() {
        let text = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let map = Value::Map(vec![(text("a"), text("b"))]);
        let list = Value::Array(vec![text("a"), text("b"), text("c")]);
        for value in [map, list] {
            assert_eq!(entry(&value, "a").and_then(text_of).unwrap(), "b");
            assert_eq!(entry(&value, "b"), None);
            assert_eq!(entry(&value, "c"), None);
        }
    }
}
