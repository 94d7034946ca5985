//! Tables, migrations and seeds of applications in Rust, where the builder is at hand. What they do is done in `tsumugi_db::schema`.
//! Rule: a change of tables drops what was known of their primary keys.

use std::rc::Rc;

use tsumugi_db::schema::Migrator;
use tsumugi_db::{Error as DbError, PrimaryKeys, Transaction};
use tsumugi_server::commands;
use tsumugi_sql::Name;
use tsumugi_sql::schema::{Alteration, Table};

use super::{Db, Tx};
use crate::error::{Error, Result, story};

/// One step of a schema's history: `up` and `down`, with a name such as `20260131120000_create_users`, whose number decides the order.
#[derive(Clone, Debug)]
pub struct Migration(tsumugi_db::schema::Migration);

impl Migration {
    /// A migration whose text, its source by `include_str!` as a rule, shows whether it is still what was applied.
    /// [`migrations!`](crate::migrations) makes them of modules.
    pub fn new(name: &str, text: &str, up: impl AsyncFn(&Tx) -> Result<()> + 'static) -> Migration {
        let run = async move |tx| run_author_code(&up, tx).await;
        Migration(tsumugi_db::schema::Migration::new(name, text, run))
    }

    /// What undoes it.
    #[must_use]
    pub fn down(self, down: impl AsyncFn(&Tx) -> Result<()> + 'static) -> Migration {
        Migration(
            self.0
                .down(async move |tx| run_author_code(&down, tx).await),
        )
    }

    /// The migration of the database crate.
    pub fn into_inner(self) -> tsumugi_db::schema::Migration {
        self.0
    }
}

/// Runs an author's code. Its keys are its own: what it makes may be undone.
async fn run_author_code(
    run: &impl AsyncFn(&Tx) -> Result<()>,
    transaction: Rc<Transaction>,
) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let tx = Tx::new(transaction, &Rc::default());
    run(&tx).await.map_err(|error| match error {
        // The migrator looks at what the database says.
        Error::Db(error) => error.into(),
        other => story(&other).into(),
    })
}

/// Modules as migrations: `migrations![m20260131120000_create_users, m20260201090000_add_nick]` in the file above theirs declares them and
/// a function `migrations()` that gives them all. Each module has `pub async fn up(tx: &Tx) -> Result<()>` and a `down` like it; a migration
/// is called like its module without the `m` in front, and its text is the module's source.
///
/// This is for a file that has the modules beside it: `main.rs`, `lib.rs`, `mod.rs`. Any other has them in a folder of its own, which comes
/// first: `migrations!["migrations"; m20260131120000_create_users]` in `src/migrations.rs`, whose modules are in `src/migrations/`.
#[macro_export]
macro_rules! migrations {
    ($($name:ident),+ $(,)?) => {
        $crate::migrations!["."; $($name),+];
    };
    ($folder:literal; $($name:ident),+ $(,)?) => {
        $(mod $name;)+

        /// The history of the schema.
        pub fn migrations() -> ::std::vec::Vec<$crate::Migration> {
            ::std::vec![$({
                let name = ::core::stringify!($name);
                let name = name.strip_prefix('m').unwrap_or(name);
                let text = ::core::include_str!(::core::concat!($folder, "/", ::core::stringify!($name), ".rs"));
                $crate::Migration::new(name, text, $name::up).down($name::down)
            }),+]
        }
    };
}

impl Db {
    /// Makes a table and says whether it did. One of this name that is the same already is left alone; another one is an error. Within a
    /// transaction it is [`Tx::create`], and so for each change of tables: this one would wait for the transaction that it is called in, and is
    /// refused there.
    ///
    /// # Errors
    /// [`Error::Db`]: [`TableDiffers`](DbError::TableDiffers) where another table has the name, what the database says to the statements,
    /// and [`PoolTimeout`](DbError::PoolTimeout) where others change the schema for longer than `schema_wait`; nothing was changed.
    pub async fn create(&self, table: &Table) -> Result<bool> {
        let _changing = self.keys.changing();
        Ok(self.database.create(table).await?)
    }

    /// Changes a table, in all steps or in none.
    ///
    /// # Errors
    /// [`Error::Db`]: what the database says to the steps, and as [`Db::create`] where others change the schema; nothing was changed.
    pub async fn alter(&self, alteration: &Alteration) -> Result<()> {
        let _changing = self.keys.changing();
        Ok(self.database.alter(alteration).await?)
    }

    /// Drops a table with what is in it. One that others refer to stays.
    ///
    /// # Errors
    /// [`Error::Db`]: where the table is not there, or others refer to it.
    pub async fn drop_table(&self, name: impl Into<Name>) -> Result<()> {
        let _changing = self.keys.changing();
        Ok(self.database.drop_table(name).await?)
    }

    /// Gives a table another name.
    ///
    /// # Errors
    /// [`Error::Db`]: where the table is not there, or the name is taken.
    pub async fn rename_table(&self, name: impl Into<Name>, to: impl Into<Name>) -> Result<()> {
        let _changing = self.keys.changing();
        Ok(self.database.rename_table(name, to).await?)
    }

    /// Applies the migrations that this database does not have yet, each in a transaction of its own, and gives how many. Many workers and
    /// processes may do so at once. Within a transaction of this database it is refused. [`Db::migrator`] can do more.
    ///
    /// # Errors
    /// [`Error::Db`]: [`MigrationFailed`](DbError::MigrationFailed) with the migration's name; those before it stay applied.
    pub async fn migrate(&self, migrations: impl IntoIterator<Item = Migration>) -> Result<usize> {
        Ok(self.migrator(migrations)?.up(None).await?)
    }

    /// Migrations with this database, to be applied, undone, listed.
    ///
    /// # Errors
    /// [`Error::Db`] where two migrations have one number, or a name has none.
    pub fn migrator(&self, migrations: impl IntoIterator<Item = Migration>) -> Result<Migrator> {
        let migrations = migrations.into_iter().map(Migration::into_inner);
        Ok(Migrator::new(&self.database, migrations)?.forgetting(&self.keys))
    }

    /// Runs this in a transaction if the table is empty, and says whether it did. Of many processes that come at once one does. Within a
    /// transaction of this database it is refused.
    ///
    /// # Errors
    /// What `run` gives, and nothing is kept of it; [`Error::Db`] where the transaction cannot be begun or committed.
    pub async fn seed<E: From<Error>>(
        &self,
        table: impl Into<Name>,
        run: impl AsyncFn(&Tx) -> Result<(), E>,
    ) -> Result<bool, E> {
        let keys = Rc::new(PrimaryKeys::within(&self.keys));
        let _ending = keys.ending();
        let seed = async |transaction| {
            let tx = Tx::new(transaction, &keys);
            run(&tx).await.map_err(SeedError::Application)
        };
        let table = table.into();
        let seeded = self.database.seed(table.clone(), seed).await;
        if let Ok(is_run) = &seeded {
            keys.commit();
            if !is_run {
                report_left_out(table.as_str());
            }
        }
        seeded.map_err(|error| match error {
            SeedError::Application(error) => error,
            SeedError::Database(error) => Error::from(error).into(),
        })
    }
}

tokio::task_local! {
    /// Whom the command `seed` tells which seeds were left out.
    static LEFT_OUT: Rc<dyn Fn(&str)>;
}

/// Runs seeds whose tables that have rows already are reported to `left_out`, by what their seeds are called.
pub(crate) async fn reporting_left_out<T>(
    left_out: impl Fn(&str) + 'static,
    seeds: impl Future<Output = T>,
) -> T {
    LEFT_OUT.scope(Rc::new(left_out), seeds).await
}

/// Outside of the command, as at the start of a server, it is a line of the log.
fn report_left_out(table: &str) {
    let name = commands::seeds_of(table);
    if LEFT_OUT.try_with(|left_out| left_out(&name)).is_err() {
        tracing::info!("{name}: left out, the table has rows");
    }
}

/// Why a seed failed.
enum SeedError<E> {
    Application(E),
    Database(DbError),
}

impl<E> From<DbError> for SeedError<E> {
    fn from(error: DbError) -> SeedError<E> {
        SeedError::Database(error)
    }
}

impl Tx {
    /// Like [`Db::create`].
    ///
    /// # Errors
    /// As there.
    pub async fn create(&self, table: &Table) -> Result<bool> {
        let _changing = self.keys.changing();
        Ok(self.transaction.create(table).await?)
    }

    /// Like [`Db::alter`]. SQLite may want a transaction that began with `TransactionMode::Rebuild`, as migrations do themselves.
    ///
    /// # Errors
    /// As there; [`Error::Db`] with [`NeedsRebuild`](DbError::NeedsRebuild) where that is missing.
    pub async fn alter(&self, alteration: &Alteration) -> Result<()> {
        let _changing = self.keys.changing();
        Ok(self.transaction.alter(alteration).await?)
    }

    /// Like [`Db::drop_table`].
    ///
    /// # Errors
    /// As there.
    pub async fn drop_table(&self, name: impl Into<Name>) -> Result<()> {
        let _changing = self.keys.changing();
        Ok(self.transaction.drop_table(name).await?)
    }

    /// Like [`Db::rename_table`].
    ///
    /// # Errors
    /// As there.
    pub async fn rename_table(&self, name: impl Into<Name>, to: impl Into<Name>) -> Result<()> {
        let _changing = self.keys.changing();
        Ok(self.transaction.rename_table(name, to).await?)
    }
}
