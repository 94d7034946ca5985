//! ngx_mruby itself, beside the suite that is made after its tables: a module that a user has built for Debian's nginx. Builds nothing.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::bench::Bench;
use crate::process::Process;
use crate::programs::find;
use crate::servers::start_ngx_mruby;

/// What it is called in tables: its published figures are another machine's.
pub const NAME: &str = "ngx_mruby, built here";
/// The module, in the user's folder.
const MODULE: &str = "ngx_http_mruby_module.so";
/// What the module needs, and where Debian has it.
const NEEDED: &str = "/usr/lib/nginx/modules/ndk_http_module.so";

/// The module, when there is one; what is missing is reported.
pub fn module(bench: &mut Bench) -> Option<PathBuf> {
    let Some(folder) = bench.programs.ngx_mruby.clone() else {
        let remedy = "build it as a dynamic module of Debian's nginx, as https://github.com/matsumotory/ngx_mruby describes; \
                      `--ngx-mruby FOLDER`, where ngx_http_mruby_module.so is, measures it then";
        bench.miss("ngx_mruby", remedy);
        return None;
    };
    let module = folder.join(MODULE).canonicalize().ok();
    let remedy = if find("nginx").is_none() || !Path::new(NEEDED).exists() {
        "install the Debian packages nginx libnginx-mod-http-ndk".to_owned()
    } else if module.is_none() {
        format!("there is no {MODULE} in {}", folder.display())
    } else {
        return module;
    };
    bench.miss("ngx_mruby", &remedy);
    None
}

/// Starts nginx with it, with so many workers and its files in `folder`.
pub fn start(module: &Path, folder: &Path, workers: usize) -> Result<Process> {
    start_ngx_mruby(module, NEEDED, folder, workers)
}
