//! SQLite and a PostgreSQL server on what the writer makes: every statement of the goldens is one that they take, a table that was
//! made or altered is the one that is wanted, and chains of methods find the rows that they name.

mod database;
mod evaluator;
mod goldens;
mod rows;
mod tables;
