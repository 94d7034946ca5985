//! Opening a store of another server: `tkrzw://host:port/index`, `tkrzw+tls://…`, `tkrzw+unix:/path`, or a folder that another process has and
//! serves. Asks it once whether it is there.
//! Rule: one VM has one client for a server, however many stores it opens there.

use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use tsumugi_kv::Spec;
use tsumugi_mruby::{NativeCall, Result, Scope, Value};
use tsumugi_rpc::client::{Options, Tls};
use tsumugi_rpc::{Client, ClientLimits, RpcTarget, ServiceNote};

use super::arguments::{integer, wait};
use super::failure::{Fault, Outcome};
use super::object::wrap;
use super::store::{Backend, KvStore, ServiceOptions};
use crate::answer::{Operation, attempt};
use crate::host::Host;
use crate::natives::arguments::text;

const KNOWN: [&str; 4] = ["index", "token", "timeout", "ca"];

pub(super) fn open<'c>(
    host: &Rc<Host>,
    scope: &'c Scope<'c>,
    place: &str,
    call: &NativeCall<'c>,
) -> Result<'c, Operation> {
    if !call.argument(1).is_nil() {
        return Err(scope.error("KV::Unsupported", super::remote::NO_TTL));
    }
    let settings = call.argument(2);
    for (name, _) in scope.entries(settings)? {
        let name = scope.text(name).unwrap_or_default();
        if !KNOWN.contains(&name.as_str()) {
            let known = KNOWN.join(":, ");
            let message =
                format!("KV.open knows no {name}: of a store behind a service; it knows {known}:");
            return Err(scope.error("ArgumentError", message));
        }
    }
    let (address, index) = split(place);
    let target: RpcTarget = address
        .parse()
        .map_err(|error: tsumugi_rpc::Error| scope.error("KV::UsageError", error.to_string()))?;
    let index = integer(scope, scope.keyword(settings, "index")?, "index:", index)?;
    let Some(index) = i32::try_from(index).ok().filter(|index| *index >= 0) else {
        return Err(scope.error(
            "ArgumentError",
            "index: is the number of a database, from 0",
        ));
    };
    let option = |name: &str| -> Result<'c, Option<String>> {
        let value = scope.keyword(settings, name)?;
        (!value.is_nil())
            .then(|| text(scope, value, name))
            .transpose()
    };
    let service = ServiceOptions {
        target,
        token: option("token")?,
        timeout_ms: timeout(scope, scope.keyword(settings, "timeout")?)?,
        authority: option("ca")?
            .map(PathBuf::from)
            .or_else(|| host.settings.certificates.clone()),
    };
    let host = Rc::clone(host);
    let watcher = Rc::downgrade(&host);
    let store = async move {
        let client = connect(&host, &service).await?.at(index);
        // Whether there is such a database, and whether it may be used.
        client.count().await?;
        Ok::<_, Fault>(KvStore::remote(client, service))
    };
    Ok(attempt(store, move |scope, store| {
        wrap(scope, &watcher, store)
    }))
}

/// The store of a folder that another process has, through the service that it has noted there; none when it serves none.
pub(super) async fn of_folder(
    host: &Rc<Host>,
    spec: &Spec,
    ttl: Option<Duration>,
) -> Option<KvStore> {
    let folder = spec.path.clone();
    let path = folder.display().to_string();
    let reached = async {
        let note = host.worker.offload(move || ServiceNote::read(&folder));
        let Some(ServiceNote { target, index }) = note.await? else {
            return Ok(None);
        };
        let service = ServiceOptions {
            target,
            token: None,
            timeout_ms: None,
            authority: None,
        };
        let client = connect(host, &service).await?.at(index);
        // Whether what is noted is still so.
        client.count().await?;
        // A time to live that the service does not take is refused by each call, as elsewhere, and not dropped.
        let store = KvStore {
            ttl,
            ..KvStore::remote(client, service)
        };
        Ok::<_, Fault>(Some(store))
    };
    match reached.await {
        Ok(Some(store)) => {
            tracing::warn!("{path} is open in another process, and used through its service");
            Some(store)
        }
        Ok(None) => {
            tracing::warn!(
                "{path} is open in another process, which serves it to nobody: its calls raise KV::Locked. Start the server with --kv-listen unix:PATH --kv-database {path} to use it from here"
            );
            None
        }
        Err(error) => {
            tracing::warn!(
                "{path} is open in another process, whose service is not reached: its calls raise KV::Locked ({error})"
            );
            None
        }
    }
}

/// The address, and the index after the last slash, which is 0 without one.
fn split(place: &str) -> (&str, i64) {
    if place.starts_with("tkrzw+unix:") {
        return (place, 0);
    }
    match place.rsplit_once('/') {
        Some((address, index)) if !address.ends_with('/') => match index.parse() {
            Ok(index) => (address, index),
            Err(_) => (place, 0),
        },
        _ => (place, 0),
    }
}

fn timeout<'c>(scope: &'c Scope<'c>, given: Value<'c>) -> Result<'c, Option<u64>> {
    let Some(timeout) = wait(scope, given)? else {
        return Ok(None);
    };
    match u64::try_from(timeout.as_millis()) {
        Ok(ms @ 1..) => Ok(Some(ms)),
        _ => Err(scope.error("ArgumentError", "timeout: is a positive number of seconds")),
    }
}

/// The client that this VM has of the server, or a new one.
async fn connect(host: &Host, service: &ServiceOptions) -> Outcome<Client> {
    let same = |store: Rc<KvStore>| match &store.backend {
        Backend::Remote {
            client,
            options: other,
        } if other == service => Some(client.clone()),
        _ => None,
    };
    if let Some(client) = host.resources.stores().into_iter().find_map(same) {
        return Ok(client);
    }
    let tls = match (&service.target, service.authority.clone()) {
        (RpcTarget::Tls { .. }, Some(authority)) => {
            let read = move || Tls::read(&authority, None);
            Some(host.worker.offload(read).await??)
        }
        _ => None,
    };
    let mut limits = ClientLimits::default();
    if let Some(ms) = service.timeout_ms {
        limits.call_ms_max = ms;
        limits.connect_ms_max = limits.connect_ms_max.min(ms);
    }
    let options = Options {
        tls,
        token: service.token.clone(),
        limits,
    };
    Ok(Client::new(service.target.clone(), options)?)
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn index_follows_the_last_slash() {
        for (place, expected) in [
            ("tkrzw://h:1", ("tkrzw://h:1", 0)),
            ("tkrzw://h:1/", ("tkrzw://h:1/", 0)),
            ("tkrzw://h:1/3", ("tkrzw://h:1", 3)),
            ("tkrzw://h:1/x", ("tkrzw://h:1/x", 0)),
            ("tkrzw+tls://[::1]:5/2", ("tkrzw+tls://[::1]:5", 2)),
            ("tkrzw+unix:/run/kv/3", ("tkrzw+unix:/run/kv/3", 0)),
        ] {
            assert_eq!(split(place), expected);
        }
    }
}
