//! The description of an application's routes in OpenAPI 3.1, for applications of either kind: what a route asks for, the document of all, and the
//! options that print it. Loads nothing and reads no request; each face says what its handlers ask for.

mod document;
mod json_text;
mod operation;
mod options;

pub use document::{DocumentInfo, document};
pub use operation::{
    BodyShape, MediaType, OperationShape, Parameter, ParameterPlace, RouteOperation,
};
pub use options::RouteOptions;
