//! The account at the authority: the one of the cache, or a new one. Orders nothing.
//! Rule: the key of an account is written to the cache before the account is used, and is in no text.

use instant_acme::{Account, AccountCredentials, NewAccount};

use crate::cache::AcmeCache;
use crate::error::Error;
use crate::settings::AcmeSettings;
use crate::transport::AcmeTransport;

/// The account of the cache; where there is none that can be used, a new one.
pub(crate) async fn open(
    settings: &AcmeSettings,
    cache: &AcmeCache,
    transport: &AcmeTransport,
) -> Result<Account, Error> {
    let failed = |error| Error::of_library(error, &settings.directory.to_string());
    if let Some(credentials) = stored(cache)? {
        let builder = Account::builder_with_http(Box::new(transport.clone()));
        return builder.from_credentials(credentials).await.map_err(failed);
    }
    create(settings, cache, transport).await
}

/// A new account, which replaces the one of the cache.
pub(crate) async fn create(
    settings: &AcmeSettings,
    cache: &AcmeCache,
    transport: &AcmeTransport,
) -> Result<Account, Error> {
    let failed = |error| Error::of_library(error, &settings.directory.to_string());
    let contact = settings
        .email
        .as_ref()
        .map(|email| format!("mailto:{email}"));
    let contact: Vec<&str> = contact.iter().map(String::as_str).collect();
    let account = NewAccount {
        contact: &contact,
        terms_of_service_agreed: true,
        only_return_existing: false,
    };
    let builder = Account::builder_with_http(Box::new(transport.clone()));
    let created = builder.create(&account, settings.directory.to_string(), None);
    let (account, credentials) = created.await.map_err(failed)?;
    let json = serde_json::to_vec(&credentials).map_err(|error| Error::Key(error.to_string()))?;
    cache.write_account(&json)?;
    tracing::info!("a new account at {}", settings.directory);
    Ok(account)
}

/// What the cache has. A file that cannot be read as an account is put aside.
fn stored(cache: &AcmeCache) -> Result<Option<AccountCredentials>, Error> {
    let Some(bytes) = cache.read_account()? else {
        return Ok(None);
    };
    // What the parser says may quote the file, so it stays unsaid.
    if let Ok(credentials) = serde_json::from_slice(&bytes) {
        return Ok(Some(credentials));
    }
    let path = cache.account_path();
    tracing::warn!(
        "{} holds no account; it is put aside as account.json.unusable, and a new account is made",
        path.display()
    );
    cache.set_account_aside()?;
    Ok(None)
}
