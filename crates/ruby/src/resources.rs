//! What the application of one VM has opened or read, for the admin pages, for error pages and for sharing it.
//! Rule: it keeps nothing alive that the application has let go of.

use std::cell::{Cell, Ref, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::{Rc, Weak};

use tsumugi_cluster::Cluster;
use tsumugi_db::DatabaseWatch;
use tsumugi_jobs::{CronSchedule, JobKind};

use crate::compiled_names::CompiledNames;
use crate::job_setup::JobSetup;
use crate::loaded_files::LoadedFiles;
use crate::natives::kv::KvStore;
use crate::settings::SharedDatabases;

/// The resources of one VM.
#[derive(Default)]
pub(crate) struct Resources {
    stores: RefCell<Vec<Weak<KvStore>>>,
    databases: RefCell<Vec<DatabaseWatch>>,
    /// What `DB.shared` finds.
    pub shared: SharedDatabases,
    /// The processes that locks, timers and channels are about, unless Ruby names its own by `cluster`.
    pub cluster: RefCell<Cluster>,
    /// Whether Ruby has named it.
    pub has_own_cluster: Cell<bool>,
    /// Where `jobs` keeps jobs, once it was said.
    pub jobs: RefCell<Option<JobSetup>>,
    /// What `job` has declared.
    pub job_kinds: RefCell<Vec<JobKind>>,
    /// Those of them that `every` has declared with a line of cron.
    pub job_schedules: RefCell<Vec<(JobKind, CronSchedule)>>,
    /// Texts of the files that were loaded, for error pages.
    sources: RefCell<HashMap<String, Rc<str>>>,
    loaded: LoadedFiles,
    /// Places whose results were remarked on.
    remarked: RefCell<HashSet<Box<str>>>,
    /// What the files that were loaded name.
    pub compiled_names: CompiledNames,
    /// Names that JSON made Symbols of.
    pub json_symbols: RefCell<HashSet<String>>,
}

impl Resources {
    /// What a new VM has: what it shares with the application that it is mounted in.
    pub fn new(shared: SharedDatabases, cluster: Cluster, loaded: LoadedFiles) -> Resources {
        Resources {
            shared,
            cluster: RefCell::new(cluster),
            loaded,
            ..Resources::default()
        }
    }

    /// The application has connected to one more database.
    pub fn watch(&self, database: DatabaseWatch) {
        let mut databases = self.databases.borrow_mut();
        databases.retain(|known| known.snapshot().is_some() && !known.is(&database));
        databases.push(database);
    }

    /// The databases that the application connected to and may still have.
    pub fn databases(&self) -> Ref<'_, Vec<DatabaseWatch>> {
        self.databases.borrow()
    }

    /// The application has opened one more key-value store.
    pub fn keep_store(&self, store: &Rc<KvStore>) {
        let mut stores = self.stores.borrow_mut();
        stores.retain(|store| store.strong_count() > 0);
        stores.push(Rc::downgrade(store));
    }

    /// The stores that the application still has.
    pub fn stores(&self) -> Vec<Rc<KvStore>> {
        self.stores
            .borrow()
            .iter()
            .filter_map(Weak::upgrade)
            .collect()
    }

    /// Keeps the text of a loaded file.
    pub fn remember(&self, file: &str, text: &str) {
        self.loaded.add(file);
        self.sources
            .borrow_mut()
            .insert(file.to_owned(), Rc::from(text));
    }

    /// Whether the results of the handler at this place are to be remarked on, which is done once.
    pub fn may_remark(&self, place: &str) -> bool {
        self.remarked.borrow_mut().insert(place.into())
    }

    /// The text of a loaded file.
    pub fn source(&self, file: &str) -> Option<Rc<str>> {
        self.sources.borrow().get(file).cloned()
    }
}
