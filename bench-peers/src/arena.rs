//! What the programs of HttpArena's profiles share: arguments, listeners, the certificate, the items. No handler and no framework.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde::{Deserialize, Serialize};
use socket2::{Domain, Protocol, Socket, Type};

type Error = Box<dyn std::error::Error + Send + Sync>;

const BACKLOG: i32 = 4096;

/// The four addresses and the workers of the command line.
pub fn addresses() -> Result<([SocketAddr; 4], usize), Error> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [plain, tls_http1, tls, h2c, workers] = words.as_slice() else {
        return Err("usage: PLAIN TLS_HTTP1 TLS H2C WORKERS".into());
    };
    let addresses = [
        plain.parse()?,
        tls_http1.parse()?,
        tls.parse()?,
        h2c.parse()?,
    ];
    Ok((addresses, workers.parse()?))
}

/// A listener beside those of other threads.
pub fn listen(address: SocketAddr) -> Result<TcpListener, Error> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// TLS that agrees on this protocol.
pub fn certificate(protocol: &[u8]) -> Result<Arc<ServerConfig>, Error> {
    let chain = CertificateDer::pem_file_iter(std::env::var("ARENA_CERTIFICATE")?)?;
    let chain = chain.collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_file(std::env::var("ARENA_KEY")?)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![protocol.to_vec()];
    Ok(Arc::new(config))
}

/// A number of a query.
pub fn query(terms: &str, name: &str) -> Option<i64> {
    let mut pairs = terms.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name)?.1.parse().ok()
}

#[derive(Deserialize, Serialize)]
pub struct Rating {
    pub score: i32,
    pub count: i32,
}

#[derive(Deserialize, Serialize)]
pub struct Item {
    pub id: i32,
    pub name: String,
    pub category: String,
    pub price: i32,
    pub quantity: i32,
    pub active: bool,
    pub tags: Vec<String>,
    pub rating: Rating,
}

/// The dataset.
pub struct Items(Vec<Item>);

#[derive(Serialize)]
struct ItemWithTotal<'a> {
    id: i32,
    name: &'a str,
    category: &'a str,
    price: i32,
    quantity: i32,
    active: bool,
    tags: &'a [String],
    rating: &'a Rating,
    total: i64,
}

#[derive(Serialize)]
struct Listed<T> {
    items: Vec<T>,
    count: usize,
}

impl Items {
    /// Of the file `ARENA_DATASET`.
    pub fn load() -> Result<Items, Error> {
        let text = fs::read_to_string(std::env::var("ARENA_DATASET")?)?;
        Ok(Items(serde_json::from_str(&text)?))
    }

    /// The first of them with what they come to.
    pub fn json(&self, count: usize, factor: i64) -> Vec<u8> {
        let priced = self.0.iter().take(count).map(|item| ItemWithTotal {
            id: item.id,
            name: &item.name,
            category: &item.category,
            price: item.price,
            quantity: item.quantity,
            active: item.active,
            tags: &item.tags,
            rating: &item.rating,
            total: i64::from(item.price) * i64::from(item.quantity) * factor,
        });
        let items: Vec<ItemWithTotal<'_>> = priced.collect();
        list(items)
    }
}

/// Items and how many they are, as JSON.
pub fn list<T: Serialize>(items: Vec<T>) -> Vec<u8> {
    let count = items.len();
    serde_json::to_vec(&Listed { items, count }).unwrap_or_default()
}
