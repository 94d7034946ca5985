//! The circles of files that are there, each with its reason. What a circle is: `circles`, above this.
//! Rule: the list only becomes shorter. `cargo xtask circles` prints it as it would be now, with the names that tie each circle.

/// A circle that may stay.
pub struct Circle {
    /// The folder of the crate.
    pub name: &'static str,
    /// The files of the circle, below the crate's `src/`.
    pub files: &'static [&'static str],
    /// Why they are not apart.
    pub reason: &'static str,
}

pub const KNOWN: &[Circle] = &[
    Circle {
        name: "crates/bench",
        files: &[
            "load/counter.rs",
            "load/generator.rs",
            "load/lanes.rs",
            "load/link.rs",
            "load/mod.rs",
        ],
        reason: "the load's entry runs generators and lanes, and they read its plan and fill its tally",
    },
    Circle {
        name: "crates/bench",
        files: &["lib.rs", "soak/mod.rs", "suites.rs"],
        reason: "the command line names the suites, and a suite ends with the command's verdict",
    },
    Circle {
        name: "crates/client",
        files: &["connect.rs", "lib.rs", "pool.rs"],
        reason: "the sender of a connection stands in the root beside the client that uses both",
    },
    Circle {
        name: "crates/db",
        files: &[
            "error.rs",
            "firebird/rows.rs",
            "options.rs",
            "postgres/rows.rs",
            "rows/mod.rs",
            "rows/packed.rs",
            "rows/typed.rs",
            "value.rs",
        ],
        reason: "an error keeps the bound values, a value names the field of the driver that decodes it, rows give values, and all of them fail with that error",
    },
    Circle {
        name: "crates/db",
        files: &[
            "server/connections/lease.rs",
            "server/connections/mod.rs",
            "server/connections/opening.rs",
            "server/connections/waiting.rs",
        ],
        reason: "a lease, a waiting caller and an opening connection all change the one state of the pool",
    },
    Circle {
        name: "crates/db",
        files: &[
            "sqlite/connection.rs",
            "sqlite/engine.rs",
            "sqlite/failure.rs",
            "sqlite/job.rs",
            "sqlite/policy.rs",
            "sqlite/pool.rs",
            "sqlite/queue.rs",
            "sqlite/serve.rs",
            "sqlite/session.rs",
            "sqlite/stream.rs",
            "sqlite/watch.rs",
        ],
        reason: "a pool and its sessions give jobs to the engine, a job names the session that it ends, and policy, watch and failure ask each other about the statement that runs",
    },
    Circle {
        name: "crates/firebird",
        files: &["connect/login.rs", "connect/mod.rs"],
        reason: "the login reads how the connection is opened",
    },
    Circle {
        name: "crates/firebird-proto",
        files: &[
            "clumplet.rs",
            "describe/column.rs",
            "error.rs",
            "parameters/transaction.rs",
            "request/mod.rs",
            "request/statement.rs",
            "row/blr.rs",
            "status/explain.rs",
            "status/mod.rs",
            "status/server_error.rs",
            "values/encode.rs",
            "version.rs",
            "wire.rs",
        ],
        reason: "an error quotes the server's status and values that cannot be sent; status, requests, columns and values are read or written by code that fails with that error",
    },
    Circle {
        name: "crates/http",
        files: &["files/memory.rs", "files/mod.rs"],
        reason: "the memory of files keeps opened files",
    },
    Circle {
        name: "crates/kv",
        files: &["disk/mod.rs", "disk/writer.rs"],
        reason: "the engine starts the writing thread, which works on the state that the engine reads",
    },
    Circle {
        name: "crates/kv",
        files: &["memory/locked.rs", "memory/mod.rs"],
        reason: "the engine lends its locks as a view of itself",
    },
    Circle {
        name: "crates/mruby",
        files: &["native.rs", "scope.rs", "vm.rs"],
        reason: "a VM calls natives, a native gets a scope, and a scope is a VM while it runs",
    },
    Circle {
        name: "crates/pg",
        files: &["blocking/copy.rs", "blocking/mod.rs"],
        reason: "blocking copies run on the client's link",
    },
    Circle {
        name: "crates/pg",
        files: &[
            "connect/address.rs",
            "connect/attempt.rs",
            "connect/cancel.rs",
            "connect/mod.rs",
            "connect/socket.rs",
        ],
        reason: "connecting and cancelling open the same socket, and try addresses in a random order",
    },
    Circle {
        name: "crates/pg-proto",
        files: &["backend/message.rs", "backend/row.rs"],
        reason: "a row is a message, and both cut fields in one way",
    },
    Circle {
        name: "crates/pg-proto",
        files: &["backend/report.rs", "error.rs", "wire.rs"],
        reason: "an error carries the server's report, which is read by the reader that reports errors",
    },
    Circle {
        name: "crates/pg-proto",
        files: &[
            "connection/mod.rs",
            "connection/request.rs",
            "connection/scan.rs",
        ],
        reason: "requests and their scan are the two halves of a connection's state",
    },
    Circle {
        name: "crates/pg-proto",
        files: &[
            "types/array.rs",
            "types/literal.rs",
            "types/print.rs",
            "types/range.rs",
        ],
        reason: "arrays, ranges and their texts nest in each other",
    },
    Circle {
        name: "crates/rpc",
        files: &["client/duplex.rs", "client/mod.rs"],
        reason: "a stream runs on the connection of its client",
    },
    Circle {
        name: "crates/sql",
        files: &[
            "condition.rs",
            "expr.rs",
            "parts.rs",
            "query.rs",
            "record.rs",
        ],
        reason: "a query holds conditions and sources, each of which may be a query",
    },
    Circle {
        name: "crates/sql",
        files: &["schema/column.rs", "schema/mod.rs"],
        reason: "a column declares its own index and key of the table",
    },
    Circle {
        name: "crates/sql",
        files: &["schema/describe.rs", "schema/restore.rs"],
        reason: "a catalogue that cannot be read as columns is described by its own words",
    },
    Circle {
        name: "crates/sql",
        files: &["statement.rs", "write/mod.rs"],
        reason: "the writer gives a statement, and a statement offers the writer",
    },
    Circle {
        name: "crates/worker",
        files: &["address.rs", "error.rs"],
        reason: "an address that cannot be read is an error, and errors name addresses",
    },
    Circle {
        name: "crates/worker",
        files: &["turn.rs", "worker.rs"],
        reason: "a turn counts in its worker, and a worker runs its tasks in turns",
    },
];
