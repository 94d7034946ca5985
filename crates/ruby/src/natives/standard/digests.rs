//! Digests, HMAC, random bytes, comparison in constant time, and passwords (argon2id, off the worker).
//! Cryptography is ring's and RustCrypto's; MD5 and SHA-1 are for protocols that ask for them.

use argon2::password_hash::{PasswordHash, PasswordHasher as _, PasswordVerifier as _, SaltString};
use argon2::{Algorithm, Argon2, Params, Version};
use md5::{Digest as _, Md5};
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::{digest, hmac};
use tsumugi_mruby::{Raise, Result, Scope, Value};

use crate::answer::{Operation, answer, raise};
use crate::limits::{PASSWORD_BYTES_MAX, RANDOM_BYTES_MAX};
use crate::natives::arguments::{bytes, text};
use crate::natives::definitions::Natives;

/// Memory of one hashing in KiB, and passes: OWASP's second choice for argon2id.
const PASSWORD_KIB: u32 = 19_456;
const PASSWORD_PASSES: u32 = 2;
const SALT_BYTES: usize = 16;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.plain("digest", |_, scope, call| {
        let name = text(scope, call.argument(0), "the algorithm")?;
        let data = bytes(scope, call.argument(1), "the data")?;
        if name == "MD5" {
            return scope.string(Md5::digest(&data));
        }
        let algorithm = match name.as_str() {
            "SHA1" => &digest::SHA1_FOR_LEGACY_USE_ONLY,
            "SHA256" => &digest::SHA256,
            "SHA384" => &digest::SHA384,
            "SHA512" => &digest::SHA512,
            _ => return Err(unknown(scope, &name)),
        };
        scope.string(digest::digest(algorithm, &data))
    })?;
    natives.plain("hmac", |_, scope, call| {
        let name = text(scope, call.argument(0), "the algorithm")?;
        let algorithm = match name.as_str() {
            "SHA1" => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
            "SHA256" => hmac::HMAC_SHA256,
            "SHA384" => hmac::HMAC_SHA384,
            "SHA512" => hmac::HMAC_SHA512,
            _ => return Err(unknown(scope, &name)),
        };
        let key = hmac::Key::new(algorithm, &bytes(scope, call.argument(1), "the data")?);
        scope.string(hmac::sign(
            &key,
            &bytes(scope, call.argument(2), "the data")?,
        ))
    })?;
    natives.plain("secure_compare", |_, scope, call| {
        let (a, b) = (
            bytes(scope, call.argument(0), "the data")?,
            bytes(scope, call.argument(1), "the data")?,
        );
        let differing = a.iter().zip(&b).fold(0, |all, (a, b)| all | (a ^ b));
        let equal = std::hint::black_box(differing) == 0 && a.len() == b.len();
        Ok(Value::boolean(equal))
    })?;
    natives.plain("random_bytes", |_, scope, call| {
        let count = call.argument(0).as_integer().unwrap_or(16);
        let count = usize::try_from(count)
            .ok()
            .filter(|count| *count <= RANDOM_BYTES_MAX);
        let Some(count) = count else {
            let message = format!(
                "SecureRandom makes 0 to random_bytes_max ({RANDOM_BYTES_MAX}) bytes at once"
            );
            return Err(scope.error("ArgumentError", message));
        };
        let mut random = vec![0; count];
        fill(&mut random).map_err(|message| scope.error("RuntimeError", message))?;
        scope.string(random)
    })?;
    passwords(natives)
}

fn fill(random: &mut [u8]) -> std::result::Result<(), &'static str> {
    let filled = SystemRandom::new().fill(random);
    filled.map_err(|_| "the system gives no random bytes")
}

fn unknown<'s>(scope: &'s Scope<'s>, name: &str) -> Raise<'s> {
    scope.error(
        "ArgumentError",
        format!(
            "no algorithm {name}: there are SHA1, SHA256, SHA384 and SHA512, and MD5 for digests"
        ),
    )
}

fn passwords<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("password_create", |host, scope, call| {
        let password = password(scope, call.argument(0))?;
        let worker = host.worker.clone();
        Ok(Box::pin(async move {
            match worker.offload(move || create(&password)).await {
                Ok(Ok(hash)) => answer(move |scope| scope.string(hash)),
                Ok(Err(message)) => raise("RuntimeError", message),
                Err(error) => raise("RuntimeError", error.to_string()),
            }
        }) as Operation)
    })?;
    natives.waiting("password_verify", |host, scope, call| {
        let password = password(scope, call.argument(0))?;
        let hash = text(scope, call.argument(1), "the hash")?;
        let worker = host.worker.clone();
        Ok(Box::pin(async move {
            match worker.offload(move || verify(&password, &hash)).await {
                Ok(Ok(right)) => answer(move |_| Ok(Value::boolean(right))),
                Ok(Err(message)) => raise("ArgumentError", message),
                Err(error) => raise("RuntimeError", error.to_string()),
            }
        }) as Operation)
    })
}

fn password<'s>(scope: &'s Scope<'s>, value: Value<'s>) -> Result<'s, Vec<u8>> {
    let password = bytes(scope, value, "the data")?;
    if password.len() > PASSWORD_BYTES_MAX {
        let message =
            format!("a password has at most password_bytes_max ({PASSWORD_BYTES_MAX}) bytes");
        return Err(scope.error("ArgumentError", message));
    }
    Ok(password)
}

fn hasher() -> std::result::Result<Argon2<'static>, String> {
    let parameters = Params::new(PASSWORD_KIB, PASSWORD_PASSES, 1, None);
    let parameters = parameters.map_err(|error| error.to_string())?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, parameters))
}

fn create(password: &[u8]) -> std::result::Result<String, String> {
    let mut salt = [0; SALT_BYTES];
    fill(&mut salt)?;
    let salt = SaltString::encode_b64(&salt).map_err(|error| error.to_string())?;
    let hash = hasher()?.hash_password(password, &salt);
    hash.map(|hash| hash.to_string())
        .map_err(|error| error.to_string())
}

fn verify(password: &[u8], hash: &str) -> std::result::Result<bool, String> {
    let hash = PasswordHash::new(hash)
        .map_err(|error| format!("this is no hash of Password.create: {error}"))?;
    Ok(Argon2::default().verify_password(password, &hash).is_ok())
}
