//! What surrounds an application, as its clients and operators meet it: TLS, proxies in front, files, compression, access log, admin pages, sockets,
//! standard streams. Black box: the real binary, real sockets. Not what handlers do.

mod acme;
mod collector;
mod compression;
mod dashboard;
mod embedded;
mod files;
mod log_schema;
mod operating;
mod output;
mod ports;
mod proxies;
mod rig;
mod tls;
mod traces;
