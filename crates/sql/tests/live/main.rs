//! SQLite and a PostgreSQL server on what the writer makes: every statement of the goldens is one that they take, and a table that
//! was made or altered is the one that is wanted. Not whether rows are the right ones.

mod database;
mod goldens;
mod tables;
