//! The admin pages of a server: whether it is ready, its figures, its dashboard. Counts nothing itself.
//! Rule: it asks no worker, which may be stuck, but reads what workers have left.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tsumugi_http::access_log::AccessLog;
use tsumugi_http::admin::{self, AdminAnswer, AdminRequest};
use tsumugi_http::exposition::Exposition;
use tsumugi_http::{HttpMetrics, ServerTls};
use tsumugi_worker::{ERRORS, Handle, OUTPUT};

use crate::acme::CertificateSupply;
use crate::dashboard::DashboardPages;
use crate::front::{Column, Front, MetricsRegistry};
use crate::traces::{self, TraceExporter};
use crate::{databases, jobs, stores};

/// The admin pages of a running server.
#[derive(Debug)]
pub struct AdminPages {
    handle: Handle,
    registry: MetricsRegistry,
    access_log: Option<AccessLog>,
    tls: Option<ServerTls>,
    acme: Option<CertificateSupply>,
    dashboard: DashboardPages,
}

impl AdminPages {
    /// The pages of the server behind `handle`, whose services were given `front`.
    pub fn new(handle: Handle, front: &Front) -> AdminPages {
        let registry = front.registry.clone().unwrap_or_default();
        AdminPages {
            dashboard: DashboardPages::new(handle.clone(), registry.clone(), front),
            handle,
            registry,
            access_log: front.access_log.clone(),
            tls: front.tls.clone(),
            acme: front.acme.clone(),
        }
    }
}

impl AdminPages {
    /// When the certificate ends, and how its orders went.
    fn write_certificate(&self, text: &mut Exposition) {
        if let Some(end) = self.tls.as_ref().and_then(ServerTls::expires_at) {
            text.single(
                "tsumugi_tls_certificate_end_seconds",
                "When the certificate of TLS ends, in seconds since 1970.",
                end,
            );
        }
        if let Some(acme) = &self.acme {
            acme.write_figures(text);
        }
    }
}

impl admin::AdminSource for AdminPages {
    fn ready(&self) -> Result<(), String> {
        self.registry.ready(&self.handle)
    }

    fn answer(&self, request: AdminRequest) -> Option<AdminAnswer<'_>> {
        self.dashboard.answer(request)
    }

    fn metrics(&self) -> Exposition {
        let mut text = Exposition::default();
        let name = "tsumugi_build_info";
        text.family(name, "The version that runs.");
        text.sample(name, &[("version", env!("CARGO_PKG_VERSION"))], 1);
        let columns = self.registry.columns().clone();
        let figures: Vec<&HttpMetrics> = columns.iter().map(|column| &column.figures).collect();
        HttpMetrics::write(&figures, &mut text);
        let all: Vec<&Arc<Column>> = columns.iter().collect();
        let with_vm = all.iter().copied().filter(|column| column.vm.load(Relaxed));
        write_figures(&VM_FIGURES, &with_vm.collect::<Vec<_>>(), &mut text);
        write_figures(&BODY_FIGURES, &all, &mut text);
        let databases = columns
            .iter()
            .map(|column| (column.worker, &column.databases));
        databases::write(databases, &mut text);
        stores::write(columns.iter().map(|column| &column.stores), &mut text);
        jobs::write(columns.iter().map(|column| &column.jobs), &mut text);
        text.workers(&self.handle.snapshot());
        let state = self.dashboard.state();
        if let Some(tracer) = &state.tracer {
            let exporter = state.exporter.as_ref();
            let figures = exporter.map(TraceExporter::figures);
            traces::write_figures(tracer, figures, &mut text);
        }
        self.write_certificate(&mut text);
        let name = "tsumugi_output_dropped_total";
        text.family(
            name,
            "Lines of a standard stream that were not written, because nobody reads it.",
        );
        for (stream, outlet) in [("stdout", &OUTPUT), ("stderr", &ERRORS)] {
            text.sample(name, &[("stream", stream)], outlet.dropped());
        }
        if let Some(log) = &self.access_log {
            text.single(
                "tsumugi_access_log_dropped_total",
                "Lines of the access log that were not written.",
                log.dropped(),
            );
        }
        text
    }
}

type ColumnFigure = (&'static str, &'static str, fn(&Column) -> &AtomicU64);

const VM_FIGURES: [ColumnFigure; 3] = [
    (
        "tsumugi_vm_bytes",
        "Bytes that Ruby has allocated.",
        |column| &column.vm_bytes,
    ),
    ("tsumugi_vm_objects", "Live Ruby objects.", |column| {
        &column.vm_objects
    }),
    (
        "tsumugi_ruby_requests",
        "Requests that wait in Ruby.",
        |column| &column.requests,
    ),
];

const BODY_FIGURES: [ColumnFigure; 2] = [
    (
        "tsumugi_request_bodies_bytes",
        "Bytes of the bodies of requests under way that are in memory.",
        |column| &column.bodies_bytes,
    ),
    (
        "tsumugi_request_bodies_refused_total",
        "Requests refused because bodies_bytes_max was in memory.",
        |column| &column.bodies_refused,
    ),
];

/// Figures of these columns, if there are any. They are as old as their workers' last look: up to a second.
fn write_figures(figures: &[ColumnFigure], columns: &[&Arc<Column>], text: &mut Exposition) {
    for (name, help, of) in figures.iter().filter(|_| !columns.is_empty()) {
        let values = columns.iter();
        let values = values.map(|column| (column.worker, of(column).load(Relaxed)));
        text.per_worker(name, help, values);
    }
}
