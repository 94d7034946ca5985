//! Throwaway PostgreSQL servers for tests: own data directory, free port, gone with the process. Not a driver, and used by tests only.
//! A test that finds no PostgreSQL fails and says what installs it; nothing is skipped in silence.

#![forbid(unsafe_code)]
