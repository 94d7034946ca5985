//! Where traces are sent, from the variables that OpenTelemetry names for it. Opens nothing.
//! Rule: a variable that is not understood is an error at start; the text of a header is never part of one.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use http::uri::{Authority, Scheme};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use tsumugi_http::percent::{self, Plus};

use super::endpoint::{Lookup, TRACES_ENDPOINT, endpoint, value};
use crate::limits::{COLLECTOR_MS_MAX, RESOURCE_ATTRIBUTES_MAX};

/// A collector of traces.
#[derive(Clone)]
pub(crate) struct CollectorSettings {
    pub protocol: CollectorProtocol,
    pub is_secure: bool,
    pub authority: Authority,
    /// Where traces are posted over HTTP.
    pub path: String,
    pub headers: HeaderMap,
    pub certificates: Option<PathBuf>,
    pub timeout: Duration,
    /// What is known of this process: `service.name` and others.
    pub resource: Vec<(String, String)>,
}

/// How a collector is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CollectorProtocol {
    /// Protobuf over HTTP/1.1.
    Http,
    /// gRPC.
    Grpc,
}

impl fmt::Display for CollectorProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CollectorProtocol::Http => "OTLP over HTTP",
            CollectorProtocol::Grpc => "OTLP over gRPC",
        })
    }
}

impl CollectorSettings {
    /// The collector that the environment names, if it does.
    pub fn from_environment() -> Result<Option<CollectorSettings>> {
        CollectorSettings::read(&|name| std::env::var(name).ok())
    }

    pub(super) fn read(lookup: Lookup<'_>) -> Result<Option<CollectorSettings>> {
        let value = |name: &str| value(lookup, name);
        let Some((name, endpoint)) = endpoint(lookup) else {
            return Ok(None);
        };
        let wrong = || anyhow!("{name} is a URL such as http://127.0.0.1:4318");
        let uri: Uri = endpoint.trim().parse().map_err(|_| wrong())?;
        let parts = uri.into_parts();
        let (Some(scheme), Some(authority)) = (parts.scheme, parts.authority) else {
            return Err(wrong());
        };
        if scheme != Scheme::HTTP && scheme != Scheme::HTTPS
            || authority.as_str().contains('@')
            || authority.host().is_empty()
        {
            return Err(wrong());
        }
        let path = parts
            .path_and_query
            .map_or(String::new(), |path| path.to_string());
        let path = match name == TRACES_ENDPOINT {
            true => path,
            false => format!("{}/v1/traces", path.trim_end_matches('/')),
        };
        let of = |what: &str| {
            value(&format!("OTEL_EXPORTER_OTLP_TRACES_{what}"))
                .or_else(|| value(&format!("OTEL_EXPORTER_OTLP_{what}")))
        };
        let timeout = match of("TIMEOUT") {
            Some(text) => text.trim().parse().ok().filter(|ms| *ms > 0).context(
                "OTEL_EXPORTER_OTLP_TIMEOUT is a whole number of milliseconds, more than 0",
            )?,
            None => COLLECTOR_MS_MAX,
        };
        Ok(Some(CollectorSettings {
            protocol: protocol(of("PROTOCOL").as_deref(), &authority)?,
            is_secure: scheme == Scheme::HTTPS,
            authority,
            path,
            headers: headers(of("HEADERS").as_deref().unwrap_or_default())?,
            certificates: of("CERTIFICATE")
                .or_else(|| value("SSL_CERT_FILE"))
                .map(Into::into),
            timeout: Duration::from_millis(timeout.min(COLLECTOR_MS_MAX)),
            resource: resource(&value)?,
        }))
    }

    /// The collector, for people.
    pub fn shown(&self) -> String {
        let scheme = if self.is_secure { "https" } else { "http" };
        format!("{scheme}://{}", self.authority)
    }
}

fn protocol(given: Option<&str>, authority: &Authority) -> Result<CollectorProtocol> {
    match given.map(str::trim) {
        Some("grpc") => Ok(CollectorProtocol::Grpc),
        Some("http/protobuf") => Ok(CollectorProtocol::Http),
        // The port that collectors have for gRPC.
        None if authority.port_u16() == Some(4317) => Ok(CollectorProtocol::Grpc),
        None => Ok(CollectorProtocol::Http),
        Some(other) => {
            bail!("OTEL_EXPORTER_OTLP_PROTOCOL is grpc or http/protobuf, not {other:?}")
        }
    }
}

/// `name=value,name=value`, percent-encoded. The texts are secrets.
fn pairs<'t>(text: &'t str, variable: &str) -> Result<Vec<(&'t str, String)>> {
    let given = text
        .split(',')
        .map(str::trim)
        .filter(|pair| !pair.is_empty());
    let read = given.zip(1..).map(|(pair, place)| {
        let wrong = || anyhow!("pair {place} of {variable} is not NAME=VALUE");
        let (name, value) = pair.split_once('=').ok_or_else(wrong)?;
        let value = percent::decode(value.trim(), Plus::Plus).map_err(|_| wrong())?;
        Ok((name.trim(), value.into_owned()))
    });
    read.collect()
}

fn headers(text: &str) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    for ((name, value), place) in pairs(text, "OTEL_EXPORTER_OTLP_HEADERS")?
        .into_iter()
        .zip(1..)
    {
        let wrong = || anyhow!("pair {place} of OTEL_EXPORTER_OTLP_HEADERS is no header field");
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        let mut value = HeaderValue::from_str(&value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        headers.append(name, value);
    }
    Ok(headers)
}

fn resource(value: &dyn Fn(&str) -> Option<String>) -> Result<Vec<(String, String)>> {
    let text = value("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
    let mut resource: Vec<(String, String)> = pairs(&text, "OTEL_RESOURCE_ATTRIBUTES")?
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    if resource.len() > RESOURCE_ATTRIBUTES_MAX {
        bail!("OTEL_RESOURCE_ATTRIBUTES has more than {RESOURCE_ATTRIBUTES_MAX} pairs");
    }
    if let Some(name) = value("OTEL_SERVICE_NAME") {
        resource.retain(|(known, _)| known != "service.name");
        resource.push(("service.name".to_owned(), name));
    } else if !resource.iter().any(|(known, _)| known == "service.name") {
        resource.push(("service.name".to_owned(), "tsumugi".to_owned()));
    }
    Ok(resource)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Option<CollectorSettings>> {
        CollectorSettings::read(&|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn endpoint_names_collector_path_and_protocol() {
        let check = |variables: &[(&str, &str)], expected: &str| {
            let settings = read(variables).unwrap();
            let shown = settings.map(|settings| {
                format!(
                    "{:?} {}{}",
                    settings.protocol,
                    settings.shown(),
                    settings.path
                )
            });
            assert_eq!(shown.unwrap_or_default(), expected);
        };
        let endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT";
        check(&[], "");
        check(&[(endpoint, " ")], "");
        check(
            &[(endpoint, "http://a:4318")],
            "Http http://a:4318/v1/traces",
        );
        check(&[(endpoint, "https://a/b/")], "Http https://a/b/v1/traces");
        let own = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
        check(
            &[(endpoint, "http://a"), (own, "http://c/d")],
            "Http http://c/d",
        );
        check(
            &[(endpoint, "http://a:4317")],
            "Grpc http://a:4317/v1/traces",
        );
        let protocol = "OTEL_EXPORTER_OTLP_PROTOCOL";
        check(
            &[(endpoint, "http://a:1"), (protocol, "grpc")],
            "Grpc http://a:1/v1/traces",
        );
        check(&[(endpoint, "http://a"), ("OTEL_SDK_DISABLED", "true")], "");
        check(
            &[(endpoint, "http://a"), ("OTEL_TRACES_EXPORTER", "none")],
            "",
        );
    }

    #[test]
    fn variable_that_is_not_understood_is_an_error_without_secrets() {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a");
        for wrong in [
            [("OTEL_EXPORTER_OTLP_ENDPOINT", "a"), endpoint],
            [("OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://a"), endpoint],
            [
                ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://u:geheim@a"),
                endpoint,
            ],
            [endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "carrier pigeon")],
            [endpoint, ("OTEL_EXPORTER_OTLP_HEADERS", "geheim")],
            [endpoint, ("OTEL_EXPORTER_OTLP_HEADERS", "a b=geheim")],
            [endpoint, ("OTEL_EXPORTER_OTLP_TIMEOUT", "0")],
        ] {
            let error = read(&wrong).err().expect("an error").to_string();
            assert!(!error.contains("geheim"), "{error}");
        }
    }

    #[test]
    fn service_name_counts_before_the_attribute_and_headers_are_decoded() {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a");
        let attributes = (
            "OTEL_RESOURCE_ATTRIBUTES",
            "service.name=x,deployment=a%20b",
        );
        let headers = ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%3Db , x-other=2");
        let settings = read(&[endpoint, attributes, headers, ("OTEL_SERVICE_NAME", "shop")]);
        let settings = settings.unwrap().unwrap();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let expected = [pair("deployment", "a b"), pair("service.name", "shop")];
        assert_eq!(settings.resource, expected);
        assert_eq!(settings.headers["x-key"], "a=b");
        assert_eq!(settings.headers["x-other"], "2");
        assert!(settings.headers["x-key"].is_sensitive());
        let default = read(&[endpoint]).unwrap().unwrap().resource;
        assert_eq!(default, [pair("service.name", "tsumugi")]);
    }

    #[test]
    fn resource_with_one_attribute_more_than_the_limit_is_refused() {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a");
        let of = |count: usize| vec!["a=b"; count].join(",");
        let fits = of(RESOURCE_ATTRIBUTES_MAX);
        assert!(read(&[endpoint, ("OTEL_RESOURCE_ATTRIBUTES", &fits)]).is_ok());
        let more = of(RESOURCE_ATTRIBUTES_MAX + 1);
        assert!(read(&[endpoint, ("OTEL_RESOURCE_ATTRIBUTES", &more)]).is_err());
    }
}
