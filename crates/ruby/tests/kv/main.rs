//! What handlers have of key-value stores, over sockets: in memory, on disk and over the service of another server.
//! Rule: what an application may rely on everywhere is checked on all of them; a difference has a test that says so.

#[path = "../rig/mod.rs"]
mod rig;

mod cluster;
mod errors;
mod fetching;
mod named_queues;
mod one_of_many;
mod opening;
mod queues;
mod records;
mod redis;
mod room;
mod scanning;
mod service;
mod watching;

use rig::Rig;
use tsumugi_testkit::etcd::EtcdCluster;

/// What an application opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    Memory,
    Disk,
    Remote,
    Etcd,
}

pub(crate) const ALL: [Store; 3] = [Store::Memory, Store::Disk, Store::Remote];
/// Those of this process.
pub(crate) const EMBEDDED: [Store; 2] = [Store::Memory, Store::Disk];

/// What every application here begins with. Stores in memory are the process', so that each test names its own; those on disk are in
/// the test's folder unless the name is a path, and those of another server on one of their own.
pub(crate) fn opening(store: Store, name: &str, settings: &str) -> String {
    let settings = match settings {
        "" => String::new(),
        settings => format!(", {settings}"),
    };
    let place = match store {
        Store::Memory => format!("memory:{name}"),
        Store::Disk if name.starts_with('/') => name.to_owned(),
        Store::Disk => format!("#{{Tsumugi.data_dir}}/{name}"),
        Store::Remote => format!("tkrzw://{}/1", service::start()),
        Store::Etcd => EtcdCluster::shared().place(&format!("ruby-{name}")),
    };
    format!("plugin(:kv) {{ KV.open \"{place}\"{settings} }}\n")
}

/// What lines say about exceptions.
pub(crate) const HELPERS: &str = "
  def exception
    yield
    raise 'nothing was raised'
  rescue StandardError => e
    e
  end
  def error_text(&block) = exception(&block).then { |e| \"#{e.class}: #{e.message}\" }
  def failed(&block) = exception(&block).class.to_s
";

/// Serves each line of Ruby below a path of its own, after `setup`, and checks what they answer, in order, on one store.
#[track_caller]
pub(crate) fn check_on(store: Store, name: &str, setup: &str, lines: &[(&str, &str)]) {
    let routes: String = lines
        .iter()
        .enumerate()
        .map(|(i, (line, _))| format!("get('/{i}') {{ {line} }}\n"))
        .collect();
    let opening = opening(store, name, "");
    let rig = Rig::serve(&format!("{opening}{HELPERS}{setup}\n{routes}"));
    for (i, (line, expected)) in lines.iter().enumerate() {
        let text = rig.get(&format!("/{i}")).text();
        let text = text.split("<body>").last().unwrap_or_default();
        assert_eq!(text, *expected, "{store:?}: {line}");
    }
}

/// The same on all of this process.
#[track_caller]
pub(crate) fn check_embedded(name: &str, setup: &str, lines: &[(&str, &str)]) {
    for store in EMBEDDED {
        check_on(store, name, setup, lines);
    }
}

/// The same on all.
#[track_caller]
pub(crate) fn check(name: &str, setup: &str, lines: &[(&str, &str)]) {
    for store in ALL {
        check_on(store, name, setup, lines);
    }
}
