//! The public folders of an application, and paths below prefixes. Knows no route.
//! Rule: a folder is asked only for a GET or HEAD that no route answers; of several folders the longest prefix is asked first.

use http::Method;
use tsumugi_http::{Folder, HttpResponse, OnWorker, Request};

/// Folders by the prefix of their paths.
#[derive(Default)]
pub struct PublicFolders(Vec<(String, Folder<OnWorker>)>);

impl PublicFolders {
    /// Prefixes have no slash at their ends; that of the root is empty.
    pub fn new(mut folders: Vec<(String, Folder<OnWorker>)>) -> PublicFolders {
        folders.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
        PublicFolders(folders)
    }

    /// Whether it is worth asking for a file.
    pub(super) fn may_have(&self, request: &Request) -> bool {
        !self.0.is_empty() && matches!(request.method, Method::GET | Method::HEAD)
    }

    /// The file for a request that no route answers.
    pub(super) async fn answer(&self, request: &Request) -> Option<HttpResponse> {
        let path = request.uri.path();
        for (prefix, folder) in &self.0 {
            let Some(below) = below(path, prefix) else {
                continue;
            };
            // The folder itself without the slash at its end: that of this prefix, or that of the prefix where the application is mounted.
            let lacks_slash = below == "/" && !request.sent_path().ends_with('/');
            let response = match lacks_slash {
                true => folder.redirect(request).await,
                false => folder.answer(request, below).await,
            };
            if response.is_some() {
                return response;
            }
        }
        None
    }
}

/// What is left of a path below a prefix, which has no slash at its end. It begins with a slash.
pub fn below<'p>(path: &'p str, prefix: &str) -> Option<&'p str> {
    match path.strip_prefix(prefix)? {
        "" => Some("/"),
        rest if rest.starts_with('/') => Some(rest),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_at_a_slash() {
        assert_eq!(below("/a/b", "/a"), Some("/b"));
        assert_eq!(below("/a", "/a"), Some("/"));
        assert_eq!(below("/ab", "/a"), None);
        assert_eq!(below("/b", ""), Some("/b"));
    }
}
