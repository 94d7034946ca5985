//! What certificates are to be had, from where, and where they are kept. Reads nothing, asks nobody.
//! Rule: a setting that no authority could take is refused here, before anything is ordered.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use http::Uri;
use http::uri::{Authority, Scheme};

use crate::error::Error;
use crate::limits::{ACME_NAMES_MAX, LABEL_BYTES_MAX, NAME_BYTES_MAX};

/// The directory of Let's Encrypt.
pub const LETS_ENCRYPT: &str = "https://acme-v02.api.letsencrypt.org/directory";

/// A name that a certificate is for, in lower case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DomainName(String);

/// Where an authority is asked: an URL of https.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryUrl(Uri);

/// What certificates are to be had.
#[derive(Clone, Debug)]
pub struct AcmeSettings {
    names: Vec<DomainName>,
    /// Where the account and certificates are kept; made when it is not there.
    pub cache: PathBuf,
    /// Who issues.
    pub directory: DirectoryUrl,
    /// Where the authority writes to, if anywhere.
    pub email: Option<String>,
    /// The authorities that the directory's own certificate is checked by, in PEM; those of the system unless it is given.
    pub authority: Option<PathBuf>,
}

impl AcmeSettings {
    /// One certificate for these names from Let's Encrypt, kept in this folder.
    ///
    /// # Errors
    /// [`Error::Names`] when there are none or too many.
    pub fn new(names: &[DomainName], cache: PathBuf) -> Result<AcmeSettings, Error> {
        let mut all: Vec<DomainName> = Vec::with_capacity(names.len());
        for name in names {
            if !all.contains(name) {
                all.push(name.clone());
            }
        }
        if all.is_empty() || all.len() > ACME_NAMES_MAX {
            return Err(Error::Names { count: all.len() });
        }
        Ok(AcmeSettings {
            names: all,
            cache,
            directory: DirectoryUrl(Uri::from_static(LETS_ENCRYPT)),
            email: None,
            authority: None,
        })
    }

    /// The names, each once, in the order in which they were given.
    pub fn names(&self) -> &[DomainName] {
        &self.names
    }

    /// The names, separated by `, `.
    pub fn names_text(&self) -> String {
        let names: Vec<&str> = self.names.iter().map(DomainName::as_str).collect();
        names.join(", ")
    }
}

impl DomainName {
    /// In small letters, without a dot at its end.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DomainName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl FromStr for DomainName {
    type Err = Error;

    fn from_str(text: &str) -> Result<DomainName, Error> {
        let refused = |reason| Error::Name {
            name: text.to_owned(),
            reason,
        };
        let name = text.trim_end_matches('.').to_ascii_lowercase();
        if name.starts_with("*.") {
            return Err(refused(
                "names for all of a domain need a challenge in DNS, which is not here: list each name, or give --tls-cert",
            ));
        }
        if name.parse::<std::net::IpAddr>().is_ok() || name.contains(':') {
            return Err(refused(
                "give a name that leads here by DNS, without a port; for an address give --tls-cert",
            ));
        }
        if !name.is_ascii() {
            return Err(refused(
                "write it as DNS has it, in the form that begins with xn--",
            ));
        }
        let is_character = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        let is_label = |label: &str| {
            (1..=LABEL_BYTES_MAX).contains(&label.len())
                && label.bytes().all(is_character)
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        if name.len() > NAME_BYTES_MAX || !name.split('.').all(is_label) {
            return Err(refused("it is no name of a host, as example.org is one"));
        }
        Ok(DomainName(name))
    }
}

impl DirectoryUrl {
    /// A name for a folder that no other directory has.
    pub(crate) fn folder_name(&self) -> String {
        let host = self.0.authority().map_or("", Authority::as_str);
        let text = format!("{host}{}", self.0.path());
        let is_kept = |character: char| character.is_ascii_alphanumeric() || character == '.';
        let kept = text.chars();
        let kept: String = kept
            .map(|character| if is_kept(character) { character } else { '-' })
            .collect();
        kept.trim_matches(['-', '.']).to_owned()
    }
}

impl fmt::Display for DirectoryUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl FromStr for DirectoryUrl {
    type Err = Error;

    fn from_str(text: &str) -> Result<DirectoryUrl, Error> {
        let refused = |reason| Error::Directory {
            url: text.to_owned(),
            reason,
        };
        let url: Uri = text
            .parse()
            .map_err(|_| refused("it is no URL, as https://acme.example.org/directory is one"))?;
        if url.scheme() != Some(&Scheme::HTTPS) {
            return Err(refused(
                "ACME is spoken over https only: begin it with https://",
            ));
        }
        match url.authority() {
            Some(authority) if !authority.as_str().contains('@') => Ok(DirectoryUrl(url)),
            _ => Err(refused("give a host, and no user")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let read: Result<DomainName, Error> = text.parse();
        match read {
            Ok(name) => assert_eq!(name.as_str(), expected, "{text}"),
            Err(error) => {
                let error = error.to_string();
                assert!(error.contains(expected), "{text}: {error}");
            }
        }
    }

    #[test]
    fn name_is_taken_in_lower_case_or_refused_with_what_to_write() {
        check("Example.ORG.", "example.org");
        check("xn--bcher-kva.example", "xn--bcher-kva.example");
        check("localhost", "localhost");
        check("*.example.org", "list each name");
        check("127.0.0.1", "for an address give --tls-cert");
        check("::1", "for an address give --tls-cert");
        check("example.org:443", "without a port");
        check("bücher.example", "begins with xn--");
        for text in ["", ".", "a..b", "-a.example", "a-.example", "a_b.example"] {
            check(text, "no name of a host");
        }
        check(
            &format!("{}.example", "a".repeat(63)),
            &format!("{}.example", "a".repeat(63)),
        );
        check(&format!("{}.example", "a".repeat(64)), "no name of a host");
        let long = [
            "a".repeat(49),
            "b".repeat(49),
            "c".repeat(49),
            "d".repeat(49),
            "e".repeat(53),
        ]
        .join(".");
        check(&long, &long);
        check(&format!("{long}e"), "no name of a host");
    }

    #[test]
    fn certificate_has_as_many_names_as_the_limit_says() {
        let names: Vec<DomainName> = (0..=ACME_NAMES_MAX)
            .map(|number| format!("n{number}.example").parse().unwrap())
            .collect();
        let of = |names: &[DomainName]| AcmeSettings::new(names, PathBuf::from("cache"));
        assert_eq!(of(&names[1..]).unwrap().names().len(), ACME_NAMES_MAX);
        assert!(of(&names).unwrap_err().to_string().contains("101"));
        assert!(of(&[]).is_err());
        let twice = [names[0].clone(), names[1].clone(), names[0].clone()];
        assert_eq!(of(&twice).unwrap().names_text(), "n0.example, n1.example");
    }

    #[test]
    fn directory_is_a_url_of_https_with_a_folder_of_its_own() {
        let read = |text: &str| text.parse::<DirectoryUrl>();
        let folder = |text: &str| read(text).unwrap().folder_name();
        assert_eq!(
            folder(LETS_ENCRYPT),
            "acme-v02.api.letsencrypt.org-directory"
        );
        assert_eq!(
            folder("https://localhost:14000/dir/"),
            "localhost-14000-dir"
        );
        assert_eq!(folder("https://a.example/../.."), "a.example");
        for (text, expected) in [
            ("http://a.example/dir", "begin it with https://"),
            ("a.example/dir", "it is no URL"),
            ("https://user@a.example/dir", "no user"),
            ("https://", "no URL"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
