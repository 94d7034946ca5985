//! The options of `routes`, for programs of either kind: a list of routes, or their description. Loads nothing.

use super::document::{DocumentInfo, document};
use super::operation::RouteOperation;
use crate::commands::{self, RouteLine};

/// Options of `routes`.
#[derive(clap::Args, Clone, Debug)]
pub struct RouteOptions {
    /// Print a description of the routes as OpenAPI 3.1, in JSON, instead of a list
    #[arg(long)]
    openapi: bool,
    /// The title of the description; the application's name by default
    #[arg(long, value_name = "TEXT", requires = "openapi")]
    title: Option<String>,
    /// The version that the description names
    #[arg(
        long,
        value_name = "VERSION",
        requires = "openapi",
        default_value = "0"
    )]
    api_version: String,
}

impl RouteOptions {
    /// What is printed of these routes. `operations` is asked only for what a description needs, `name` only where no title is given.
    ///
    /// # Errors
    /// Those of `operations`.
    pub fn text<E>(
        &self,
        lines: &[RouteLine],
        name: impl FnOnce() -> String,
        operations: impl FnOnce() -> Result<Vec<RouteOperation>, E>,
    ) -> Result<String, E> {
        if !self.openapi {
            return Ok(commands::routes(lines));
        }
        let info = DocumentInfo {
            title: self.title.clone().unwrap_or_else(name),
            version: self.api_version.clone(),
        };
        Ok(document(&info, &operations()?))
    }
}
