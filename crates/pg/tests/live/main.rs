//! Connections to real servers: every way to reach, encrypt, log in and choose. And statements on them.
//! Rule: an error is checked by its text, because the text is what a person gets; and no text ever has a password.

mod hosts;
mod login;
mod reach;
mod secure;
mod statements;

use ring::rand::{SecureRandom as _, SystemRandom};
use tsumugi_pg::{Config, Connected, Connector, Environment, Error};
use tsumugi_pg_rig::User;

fn environment() -> Environment {
    Environment::empty().with_user("postgres")
}

async fn connect(text: &str) -> Result<Connected, Error> {
    let config = Config::parse(text, &environment())?;
    Connector::new(config).connect(&mut random).await
}

fn random(bytes: &mut [u8]) {
    SystemRandom::new().fill(bytes).unwrap();
}

/// The server's process for this connection.
fn process(connected: &Connected) -> u32 {
    connected.session.key.as_ref().unwrap().process_id
}

/// The error's text, and that of all its causes, without any password.
#[track_caller]
fn text(result: Result<Connected, Error>) -> String {
    let error = result.err().expect("it must not connect");
    let mut shown = format!("{error:?} {error:#?}");
    let mut cause: Option<&dyn std::error::Error> = Some(&error);
    while let Some(error) = cause {
        shown.push_str(&error.to_string());
        cause = error.source();
    }
    for user in [User::CLEARTEXT, User::MD5, User::SCRAM] {
        assert!(!shown.contains(user.password.unwrap()), "{shown}");
    }
    assert!(!shown.contains("wrong secret"), "{shown}");
    error.to_string()
}
