//! What supplies a certificate by ACME, as a server uses it: for TLS, for challenges on ports without, for figures. Knows no order.
//! Rule: nothing is ordered before [`CertificateSupply::start`], since an authority is to find this server.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::StatusCode;
use tsumugi_acme::{CertificateKeeper, ChallengeFolder, ChallengeKind};
use tsumugi_http::exposition::Exposition;
use tsumugi_http::{HttpResponse, Request, ServerTls};
use tsumugi_worker::WorkerHandle;

/// What supplies a certificate and renews it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct CertificateSupply(Arc<SupplyParts>);

#[derive(Debug)]
struct SupplyParts {
    keeper: CertificateKeeper,
    folder: ChallengeFolder,
    /// Which are tried, in turn.
    challenges: Vec<ChallengeKind>,
}

impl CertificateSupply {
    pub(super) fn new(
        keeper: CertificateKeeper,
        challenges: Vec<ChallengeKind>,
    ) -> CertificateSupply {
        CertificateSupply(Arc::new(SupplyParts {
            folder: keeper.challenges(),
            keeper,
            challenges,
        }))
    }

    /// What TLS shows.
    pub(crate) fn tls(&self) -> tsumugi_http::Result<ServerTls> {
        ServerTls::from_source(self.0.keeper.source())
    }

    /// The answer to a request without TLS, if it asks for a challenge that there is.
    pub(crate) async fn answer(
        &self,
        request: &Request,
        worker: &WorkerHandle,
    ) -> Option<HttpResponse> {
        let token = ChallengeFolder::token(request.uri.path())?;
        let (folder, token) = (self.0.folder.clone(), token.to_owned());
        match worker.offload(move || folder.answer(&token)).await {
            Ok(Ok(Some(answer))) => Some(HttpResponse::text(StatusCode::OK, answer)),
            Ok(Ok(None)) => None,
            Ok(Err(error)) => {
                report(&error);
                Some(HttpResponse::internal_error())
            }
            Err(_) => Some(HttpResponse::unavailable()),
        }
    }

    /// How its orders went.
    pub(crate) fn write_figures(&self, text: &mut Exposition) {
        let name = "tsumugi_acme_orders_total";
        text.family(name, "Orders of certificates by ACME.");
        let figures = self.0.keeper.figures();
        text.sample(name, &[("outcome", "issued")], figures.issued);
        text.sample(name, &[("outcome", "failed")], figures.failed);
    }

    /// Orders it when it is due, from now on.
    pub(crate) fn start(&self) {
        if let Err(error) = self.0.keeper.start(self.0.challenges.clone()) {
            tracing::error!(%error, "certificates cannot be ordered");
        }
    }

    /// Orders nothing any more.
    pub(crate) fn close(&self) {
        self.0.keeper.close();
    }
}

/// How long an error of the folder of challenges is not logged again: any client can ask for one.
const REPORT_REST: Duration = Duration::from_secs(60);

fn report(error: &io::Error) {
    static REPORTED_AT: Mutex<Option<Instant>> = Mutex::new(None);
    let mut reported_at = REPORTED_AT.lock().unwrap_or_else(PoisonError::into_inner);
    if reported_at.is_none_or(|at| at.elapsed() >= REPORT_REST) {
        *reported_at = Some(Instant::now());
        tracing::error!(%error, "a challenge of ACME cannot be answered");
    }
}
