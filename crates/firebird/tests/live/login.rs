//! Ways to prove a password, to encrypt and to compress, and what is said when one fails.
//! Rule: each server is started for what it is to accept or refuse, so that a login that works has worked that way.

use tsumugi_firebird_proto::GdsCode;
use tsumugi_testkit::firebird::{Options, Server, User};

use crate::{code, connect, run, text};

/// The user that the server thinks we are.
async fn user(url: &str) -> String {
    let db = connect(url).await.unwrap();
    let rows = db
        .query("select current_user from rdb$database", &[])
        .await
        .unwrap();
    text(&rows).trim_end().to_owned()
}

#[test]
fn srp_is_found_whichever_plugin_is_named_first() {
    run(async {
        let database = Server::shared().database();
        for plugins in ["Srp", "Srp256,Srp", "Legacy_Auth,Srp256,Srp"] {
            let url = format!("{}?auth={plugins}", database.url());
            assert_eq!(user(&url).await, "SYSDBA", "{plugins}");
        }
        let only = format!("{}?auth=Srp256", database.url());
        assert_eq!(code(connect(&only).await), GdsCode(335_545_106));
    });
}

#[test]
fn srp256_is_used_where_the_server_has_it() {
    run(async {
        let server = Options::default()
            .setting("AuthServer", "Srp256, Srp")
            .start();
        let database = server.database();
        for plugins in ["Srp256", "Srp256,Srp", "Srp"] {
            let url = format!("{}?auth={plugins}", database.url());
            assert_eq!(user(&url).await, "SYSDBA", "{plugins}");
        }
    });
}

#[test]
fn names_and_passwords_of_any_characters_log_in() {
    run(async {
        let database = Server::shared().database();
        for (login, expected) in [
            (User::LEADING_ZERO, "U206"),
            (User::QUOTED, "Mixed Case"),
            (User::JAPANESE, "JAPANESE"),
        ] {
            assert_eq!(user(&database.url_as(login)).await, expected);
        }
    });
}

#[test]
fn two_hundred_logins_in_a_row_succeed() {
    run(async {
        let database = Server::shared().database();
        for _ in 0..200 {
            connect(&database.url()).await.unwrap();
        }
    });
}

#[test]
fn wrong_password_is_reported_and_shown_nowhere() {
    run(async {
        let database = Server::shared().database();
        let url = database.url().replace("masterkey", "wrong-secret");
        let error = connect(&url).await.err().unwrap();
        let server = error.server().unwrap();
        assert_eq!(server.code, GdsCode::LOGIN);
        assert_eq!(server.sqlstate.as_str(), "28000");
        let shown = format!("{error} {error:?}");
        assert!(shown.contains("authentication"), "{shown}");
        assert!(!shown.contains("wrong-secret"), "{shown}");
    });
}

#[test]
fn encryption_is_agreed_on_or_refused() {
    run(async {
        let database = Server::shared().database();
        let url = |wire_crypt| format!("{}?wire_crypt={wire_crypt}", database.url());
        assert_eq!(user(&url("required")).await, "SYSDBA");
        let refused = connect(&url("disabled")).await;
        assert_eq!(code(refused), GdsCode(335_545_064));

        let server = Options::default().setting("WireCrypt", "Enabled").start();
        let database = server.database();
        for wire_crypt in ["disabled", "enabled", "required"] {
            let url = format!("{}?wire_crypt={wire_crypt}", database.url());
            assert_eq!(user(&url).await, "SYSDBA", "{wire_crypt}");
        }
        let server = Options::default().setting("WireCrypt", "Disabled").start();
        let database = server.database();
        assert_eq!(user(&database.url()).await, "SYSDBA");
        let url = format!("{}?wire_crypt=required", database.url());
        let error = connect(&url).await.err().unwrap();
        println!("{error}");
    });
}

#[test]
fn legacy_user_logs_in_without_encryption() {
    run(async {
        let server = Options::default()
            .setting("WireCrypt", "Enabled")
            .setting("AuthServer", "Srp256, Srp, Legacy_Auth")
            .setting("UserManager", "Srp, Legacy_UserManager")
            .start();
        let database = server.database();
        let url = database.url_as(User::LEGACY);
        for plugins in ["Legacy_Auth", "Srp256,Srp,Legacy_Auth"] {
            let url = format!("{url}?auth={plugins}");
            assert_eq!(user(&url).await, "LEGACY", "{plugins}");
        }
        let error = connect(&url).await.err().unwrap().to_string();
        assert!(error.contains("authentication"), "{error}");
        let required = format!("{url}?auth=Legacy_Auth&wire_crypt=required");
        let error = connect(&required).await.err().unwrap().to_string();
        assert!(error.contains("wire_crypt=required"), "{error}");
    });
}

#[test]
fn compressed_connection_logs_in_with_and_without_required_encryption() {
    run(async {
        let server = Options::default()
            .setting("WireCompression", "true")
            .start();
        let database = server.database();
        for wire_crypt in ["enabled", "required"] {
            let url = format!(
                "{}?wire_compression=1&wire_crypt={wire_crypt}",
                database.url()
            );
            assert_eq!(user(&url).await, "SYSDBA");
        }
    });
}

#[test]
fn host_or_database_that_is_missing_is_an_error_with_its_host() {
    run(async {
        let server = Server::shared();
        let error = connect(&server.url_of(User::ADMIN, "nowhere")).await;
        let error = error.err().unwrap();
        assert_eq!(error.server().unwrap().code, GdsCode::IO);
        let start = format!(
            "cannot connect to 127.0.0.1:{} (attachment): ",
            server.port()
        );
        assert!(error.to_string().starts_with(&start), "{error}");
        let error = connect("firebird://u:p@127.0.0.1:1/x").await.err().unwrap();
        let expected = "cannot connect to 127.0.0.1:1 (connecting): ";
        assert!(error.to_string().starts_with(expected), "{error}");
    });
}

#[test]
fn silent_server_times_out() {
    run(async {
        let server = Server::start();
        let database = server.database();
        server.freeze();
        let url = format!("{}?connect_timeout=1", database.url());
        let error = connect(&url).await.err().unwrap().to_string();
        assert!(
            error.ends_with("no answer within connect_timeout (1 s)"),
            "{error}"
        );
        server.thaw();
    });
}
