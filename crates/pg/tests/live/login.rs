//! Every way to authenticate, with the right password, a wrong one and none; password files.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tsumugi_pg::{Config, Connector};
use tsumugi_testkit::postgres::{Options, PostgresTls, Server, User};

use crate::{connect, environment, random, text};

/// `user` with another password, or none.
fn url(server: &Server, user: User, password: Option<&'static str>) -> String {
    server.url(User { password, ..user })
}

#[tokio::test]
async fn wrong_or_missing_password_is_refused_and_right_one_accepted() {
    let server = Server::shared();
    for user in [User::ADMIN, User::TRUST] {
        connect(&server.url(user)).await.unwrap();
        connect(&url(server, user, Some("not asked for")))
            .await
            .unwrap();
    }
    for user in [User::CLEARTEXT, User::MD5, User::SCRAM] {
        connect(&server.url(user)).await.unwrap();
        connect(&server.socket_url(user)).await.unwrap();
        let error = text(connect(&url(server, user, Some("wrong secret"))).await);
        let refused = format!(
            "(authentication): password authentication failed for user \"{}\" (SQLSTATE 28P01",
            user.name
        );
        assert!(error.contains(&refused), "{error}");
        let error = text(connect(&url(server, user, None)).await);
        assert!(
            error.ends_with("(authentication): the server asks for a password and none was given; give it in the URL or in PGPASSWORD"),
            "{error}"
        );
    }
    let error = text(connect(&server.url(User::REFUSED)).await);
    assert!(error.contains("(SQLSTATE 28000"), "{error}");
}

#[tokio::test]
async fn scram_is_bound_to_the_certificate() {
    for tls in [PostgresTls::Localhost, PostgresTls::LocalhostSha384] {
        let server = Options::default().tls(tls).start();
        let url = server.url(User::SCRAM);
        for binding in ["disable", "prefer", "require"] {
            let text = format!("{url}?sslmode=require&channel_binding={binding}");
            assert!(connect(&text).await.unwrap().stream.is_encrypted());
        }
        let error = text(connect(&format!("{url}?sslmode=disable&channel_binding=require")).await);
        assert!(error.contains("require channel binding"), "{error}");
        for user in [User::ADMIN, User::CLEARTEXT, User::MD5] {
            let url = server.url(user);
            let error =
                text(connect(&format!("{url}?sslmode=require&channel_binding=require")).await);
            assert!(error.contains("require channel binding"), "{error}");
        }
    }
}

#[tokio::test]
async fn rounds_of_scram_are_limited() {
    let url = Server::shared().url(User::SCRAM);
    let error = text(connect(&format!("{url}?scram_iterations_max=4095")).await);
    let limit = "the server asks for 4096 rounds of SCRAM; scram_iterations_max is 4095";
    assert!(error.contains(limit), "{error}");
    connect(&format!("{url}?scram_iterations_max=4096"))
        .await
        .unwrap();
}

#[tokio::test]
async fn wrong_or_missing_client_certificate_is_refused_and_right_one_accepted() {
    let server = Options::default().tls(PostgresTls::Localhost).start();
    let files = server.certificates();
    let url = server.url(User::CERTIFICATE);
    let with = |certificate: &Path, key: &Path| {
        let (certificate, key) = (certificate.display(), key.display());
        format!("{url}?sslmode=require&sslcert={certificate}&sslkey={key}")
    };
    let right = with(&files.client, &files.client_key);
    assert!(connect(&right).await.unwrap().stream.is_encrypted());
    let wrong = text(connect(&with(&files.stranger_client, &files.stranger_client_key)).await);
    assert!(wrong.contains("(authentication): "), "{wrong}");
    let missing = text(connect(&format!("{url}?sslmode=require")).await);
    assert!(
        missing.contains("(authentication): connection requires a valid client certificate"),
        "{missing}"
    );
    let nowhere = text(connect(&with(Path::new("/no/such/file"), &files.client_key)).await);
    assert!(
        nowhere.starts_with("sslcert: cannot read /no/such/file: "),
        "{nowhere}"
    );
    let mixed = text(connect(&with(&files.client, &files.stranger_client_key)).await);
    assert!(mixed.starts_with("sslkey: "), "{mixed}");
    let no_key = text(connect(&with(&files.client, &files.client)).await);
    assert!(
        no_key.ends_with("no private key in PEM without a password"),
        "{no_key}"
    );
    let exposed = tempfile::NamedTempFile::new().unwrap();
    std::fs::copy(&files.client_key, exposed.path()).unwrap();
    std::fs::set_permissions(exposed.path(), std::fs::Permissions::from_mode(0o644)).unwrap();
    let error = text(connect(&with(&files.client, exposed.path())).await);
    assert!(
        error.ends_with("others may read it; chmod it to 0600"),
        "{error}"
    );
}

#[tokio::test]
async fn usual_files_of_the_home_directory_are_used() {
    let server = Options::default().tls(PostgresTls::Localhost).start();
    let files = server.certificates();
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".postgresql");
    std::fs::create_dir(&folder).unwrap();
    let environment = environment().with_home(home.path());
    let connect = async |url: &str| {
        let config = Config::parse(url, &environment).unwrap();
        Connector::new(config).connect(&mut random).await
    };
    let url = format!("{}?sslmode=verify-full", server.url(User::CERTIFICATE));
    let error = text(connect(&url).await);
    assert!(
        error.starts_with("sslrootcert: not given, and there is no "),
        "{error}"
    );
    std::fs::copy(&files.stranger, folder.join("root.crt")).unwrap();
    let error = text(connect(&url.replace("verify-full", "require")).await);
    assert!(error.contains("UnknownIssuer"), "{error}");
    std::fs::copy(&files.authority, folder.join("root.crt")).unwrap();
    std::fs::copy(&files.client, folder.join("postgresql.crt")).unwrap();
    std::fs::copy(&files.client_key, folder.join("postgresql.key")).unwrap();
    assert!(connect(&url).await.unwrap().stream.is_encrypted());
}

#[tokio::test]
async fn password_file_is_used_unless_others_may_read_it() {
    let server = Server::shared();
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().display();
    let password = User::CLEARTEXT
        .password
        .unwrap()
        .replace('\\', "\\\\")
        .replace(':', "\\:");
    let url = format!("{}?passfile={path}", url(server, User::CLEARTEXT, None));
    let write = |text: &str| std::fs::write(file.path(), text).unwrap();
    write(&format!(
        "# ours\nelsewhere:*:*:*:x\n127.0.0.1:{}:*:cleartext:{password}\n",
        server.port()
    ));
    connect(&url).await.unwrap();
    std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o640)).unwrap();
    // Root's own files may be shared with a group; other users' may not.
    if !std::process::Command::new("id")
        .arg("-u")
        .output()
        .unwrap()
        .stdout
        .starts_with(b"0\n")
    {
        let error = text(connect(&url).await);
        assert!(
            error.ends_with(&format!(
                "; {path} is not used: others may read it; chmod it to 0600"
            )),
            "{error}"
        );
    }
    std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o644)).unwrap();
    let error = text(connect(&url).await);
    assert!(
        error.ends_with(&format!(
            "; {path} is not used: others may read it; chmod it to 0600"
        )),
        "{error}"
    );
    std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o600)).unwrap();
    write("elsewhere:*:*:*:x\n");
    let error = text(connect(&url).await);
    assert!(
        error.ends_with(&format!(", or add a line for this host to {path}")),
        "{error}"
    );
    write("*:*:*:*:wrong secret\n");
    let error = text(connect(&url).await);
    assert!(error.contains("(SQLSTATE 28P01"), "{error}");
    std::fs::remove_file(file.path()).unwrap();
    let error = text(connect(&url).await);
    assert!(
        error.ends_with(&format!("; {path} is not used: it does not exist")),
        "{error}"
    );
}
