//! Work after which a file of a database is there only if something was kept in it. Connects to nothing itself.
//! Rule: what another process may use stays.

use crate::options::AbsentFile;
use crate::schema::NOTES;
use crate::sqlite;

impl AbsentFile {
    /// Runs this so that what it connects to is created as this says.
    pub async fn within<T>(self, run: impl Future<Output = T>) -> T {
        let (value, begun) = self.scope(run).await;
        for path in begun {
            let removed = sqlite::remove_unused(path.clone(), NOTES).await;
            if let Err(error) = removed {
                tracing::debug!(target: "tsumugi_db", path = %path.display(), "the file of a new database stays: {error}");
            }
        }
        value
    }
}
