//! Answers with files: those of a folder by the path of a request, or one that the application names. Knows no route.
//! The rule: no path leaves its folder, no hidden file is shown, and no file is touched on the worker, which gets bytes a chunk at a time.

mod cache_policy;
mod condition;
mod folder_entry;
mod memory;
mod within;

use std::{
    fs::{self, File},
    io,
    os::unix::fs::FileExt,
    path::{Component, Path, PathBuf},
    rc::Rc,
    sync::Arc,
    time::SystemTime,
};

use bytes::Bytes;
use http::{
    HeaderValue, Method, StatusCode,
    header::{
        ACCEPT_RANGES, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE,
        CONTENT_TYPE, ETAG, LAST_MODIFIED, LOCATION,
    },
};
use tsumugi_trace::{Activity, ShownActivity, cancelled};

pub use self::cache_policy::CachePolicy;
pub use self::condition::entity_tag_known;
pub use self::within::{AppFileError, read_app_file};
use self::{
    condition::{Conditions, FileDecision, FileVersion, whole_seconds},
    folder_entry::FolderEntry,
    memory::Memory,
};
use crate::{
    encoding::{AcceptedCodings, Coding, vary},
    handler::Spawn,
    limits::{FILE_CACHED_BYTES_MAX, FILE_CHUNK_BYTES, FILE_PATH_BYTES_MAX, HttpLimits},
    media_type::{media_type, shrinks},
    percent::{Plus, decode},
    request::Request,
    response::{HttpBody, HttpResponse},
    stream::Sender,
    upload::Offload,
};

/// Sends files on one worker.
#[derive(Clone, Debug)]
pub struct Files<W> {
    worker: W,
    limits: Rc<HttpLimits>,
}

/// A folder of public files.
#[derive(Debug)]
pub struct Folder<W> {
    files: Files<W>,
    /// Without symbolic links.
    root: Arc<Path>,
    cache_control: HeaderValue,
    memory: Memory,
}

/// A file that was found, with its first bytes.
#[derive(Clone, Debug)]
pub(crate) struct OpenFile {
    /// For what comes after the first bytes.
    file: Option<Arc<File>>,
    media_type: &'static str,
    coding: Option<Coding>,
    version: FileVersion,
    /// What was decided for this request, with the first chunk of it. Of a file in memory: the whole.
    decision: FileDecision,
    first: Bytes,
}

/// What is at a path.
enum PathLookup {
    Nothing,
    /// A folder with an index, asked for without the slash at its end.
    Folder,
    File(OpenFile),
}

/// What to look for.
#[derive(Clone, Debug)]
struct FileRequest {
    conditions: Conditions,
    accepted: AcceptedCodings,
    /// Whether the bytes are wanted, or only the head.
    with_body: bool,
}

impl FileRequest {
    fn of(request: &Request) -> FileRequest {
        let mut conditions = Conditions::of(&request.headers);
        // RFC 9110 section 14.2: a range is defined for GET only.
        if request.method != Method::GET {
            conditions.ignore_range();
        }
        // Parts are parts of the file itself, never of its encoded sibling.
        let accepted = match conditions.has_range() {
            true => AcceptedCodings::default(),
            false => AcceptedCodings::of(&request.headers),
        };
        FileRequest {
            conditions,
            accepted,
            with_body: request.method != Method::HEAD,
        }
    }

    /// For a file that an application names. Beside it may be files of others, whose names are no promise that they hold the same bytes encoded.
    fn of_named(request: &Request) -> FileRequest {
        FileRequest {
            accepted: AcceptedCodings::default(),
            ..FileRequest::of(request)
        }
    }
}

impl<W: Offload + Spawn> Files<W> {
    /// Reads off the worker, sends on it.
    pub fn new(worker: W, limits: HttpLimits) -> Files<W> {
        Files {
            worker,
            limits: Rc::new(limits),
        }
    }

    /// A folder, which must exist.
    pub async fn folder(&self, root: PathBuf, cache: &CachePolicy) -> io::Result<Folder<W>> {
        let cache_control = cache.header();
        let root = self.worker.offload(move || {
            let root = fs::canonicalize(root)?;
            fs::read_dir(&root).map(|_| root)
        });
        Ok(Folder {
            files: self.clone(),
            root: root.await?.into(),
            cache_control,
            memory: Memory::default(),
        })
    }

    /// One file by its path, which the caller vouches for. None when it is no file that can be read.
    pub async fn send(&self, path: PathBuf, request: &Request) -> Option<HttpResponse> {
        let wish = FileRequest::of_named(request);
        let looked = self.worker.offload(move || {
            let path = fs::canonicalize(path)?;
            open(Path::new("/"), &path, &wish).map(PathLookup::File)
        });
        match looked.await {
            Ok(PathLookup::File(opened)) => Some(self.respond(opened, request, None)),
            _ => None,
        }
    }

    fn respond(
        &self,
        opened: OpenFile,
        request: &Request,
        cache_control: Option<&HeaderValue>,
    ) -> HttpResponse {
        let (_, first, end) = status_and_range(&opened);
        let body = match &opened.file {
            // Nothing is sent of a file that is unchanged or has no such part, though memory may hold all of it.
            _ if request.method == Method::HEAD || first == end => HttpBody::Empty,
            Some(file) => self.stream(file, opened.first.clone(), first, end),
            None => HttpBody::from(opened.first.clone()),
        };
        respond_with(body, &opened, request, cache_control)
    }

    /// A body that is read as the client takes it.
    fn stream(&self, file: &Arc<File>, chunk: Bytes, first: u64, end: u64) -> HttpBody {
        let (sender, mut body) = HttpBody::channel(&self.limits);
        if let HttpBody::Stream(receiver) = &mut body {
            receiver.promise(end - first);
        }
        let (worker, file) = (self.worker.clone(), Arc::clone(file));
        let activity = tsumugi_trace::current();
        self.worker.spawn(Activity::scope(activity, async move {
            let _shown = ShownActivity::of_stream();
            tokio::select! {
                fed = feed(worker, file, chunk, first, end, sender) => {
                    if let Err(error) = fed {
                        tracing::warn!(%error, "a file could not be read to its end; its response is broken off");
                    }
                }
                // The sender is dropped, which breaks the response off.
                () = cancelled() => {}
            }
        }));
        body
    }
}

/// The status of an answer, and the part of the file that it holds.
fn status_and_range(opened: &OpenFile) -> (StatusCode, u64, u64) {
    match opened.decision {
        FileDecision::Whole => (StatusCode::OK, 0, opened.version.length),
        FileDecision::Part(first, end) => (StatusCode::PARTIAL_CONTENT, first, end),
        FileDecision::Unchanged => (StatusCode::NOT_MODIFIED, 0, 0),
        FileDecision::Unsatisfiable => (StatusCode::RANGE_NOT_SATISFIABLE, 0, 0),
    }
}

/// The response to a request for a file that is there.
fn respond_with(
    body: HttpBody,
    opened: &OpenFile,
    request: &Request,
    cache_control: Option<&HeaderValue>,
) -> HttpResponse {
    let version = &opened.version;
    let (status, first, end) = status_and_range(opened);
    let mut response = HttpResponse::new(status, body);
    let headers = &mut response.headers;
    let text = |text: String| HeaderValue::try_from(text).ok();
    let date = httpdate::fmt_http_date(whole_seconds(version.modified));
    let range = match opened.decision {
        FileDecision::Part(..) => text(format!("bytes {first}-{}/{}", end - 1, version.length)),
        FileDecision::Unsatisfiable => text(format!("bytes */{}", version.length)),
        _ => None,
    };
    let fields = [
        (ETAG, text(version.tag.clone())),
        (LAST_MODIFIED, text(date)),
        (CONTENT_RANGE, range),
        (CACHE_CONTROL, cache_control.cloned()),
        (
            CONTENT_ENCODING,
            opened
                .coding
                .map(|coding| HeaderValue::from_static(coding.name())),
        ),
        (
            ACCEPT_RANGES,
            opened
                .coding
                .is_none()
                .then(|| HeaderValue::from_static("bytes")),
        ),
    ];
    for (name, value) in fields {
        if let Some(value) = value {
            headers.insert(name, value);
        }
    }
    if status == StatusCode::OK || status == StatusCode::PARTIAL_CONTENT {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(opened.media_type));
        if request.method == Method::HEAD {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(end - first));
        }
    }
    if shrinks(opened.media_type) {
        vary(headers);
    }
    response
}

/// Sends a file from `at` to `end`. Dropping the sender before the end breaks the response off.
async fn feed<W: Offload>(
    worker: W,
    file: Arc<File>,
    mut chunk: Bytes,
    mut at: u64,
    end: u64,
    mut sender: Sender,
) -> io::Result<()> {
    loop {
        at += chunk.len() as u64;
        if sender.send(chunk).await.is_err() {
            // The client has gone, or takes nothing.
            return Ok(());
        }
        if at >= end {
            sender.finish();
            return Ok(());
        }
        let file = Arc::clone(&file);
        chunk = worker.offload(move || read(&file, at, end)).await?;
        if chunk.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

impl<W: Offload + Spawn> Folder<W> {
    /// The answer to a GET or HEAD of the folder itself without the slash at its end: to the path with it, when the folder has an index.
    pub async fn redirect(&self, request: &Request) -> Option<HttpResponse> {
        self.answer(request, "/").await.map(|_| moved(request))
    }

    /// The answer to a GET or HEAD of `path`, which is still encoded and begins with a slash. None when there is no such file.
    pub async fn answer(&self, request: &Request, path: &str) -> Option<HttpResponse> {
        let relative = relative(path)?;
        let wish = FileRequest::of(request);
        let cache_control = Some(&self.cache_control);
        if let Some(mut opened) = self.memory.fresh(&relative, wish.accepted) {
            opened.decision = wish.conditions.decide(&opened.version);
            if let FileDecision::Part(first, end) = opened.decision {
                opened.first = opened.first.slice(first as usize..end as usize);
            }
            return Some(self.files.respond(opened, request, cache_control));
        }
        let (root, name, looked_for) = (Arc::clone(&self.root), relative.clone(), wish.clone());
        let looked = self
            .files
            .worker
            .offload(move || look(&root, &name, &looked_for));
        match looked.await {
            Ok(PathLookup::File(opened)) => {
                let is_whole = opened.decision == FileDecision::Whole && opened.file.is_none();
                if is_whole && opened.first.len() <= FILE_CACHED_BYTES_MAX && wish.with_body {
                    self.memory.keep(relative, wish.accepted, opened.clone());
                }
                Some(self.files.respond(opened, request, cache_control))
            }
            Ok(PathLookup::Folder) => Some(moved(request)),
            Ok(PathLookup::Nothing) => None,
            Err(error) => {
                tracing::warn!(%error, path, "a file could not be read");
                None
            }
        }
    }
}

/// To the same path with a slash at its end, so that links in the index work.
fn moved(request: &Request) -> HttpResponse {
    let query = request.uri.query().map(|query| format!("?{query}"));
    let location = format!("{}/{}", request.sent_path(), query.unwrap_or_default());
    match HeaderValue::try_from(location) {
        Ok(location) => HttpResponse::new(StatusCode::PERMANENT_REDIRECT, HttpBody::Empty)
            .with(LOCATION, location),
        Err(_) => HttpResponse::not_found(),
    }
}

/// The path below the folder, decoded; a slash at its end stays. None for what can name no file that is shown.
fn relative(path: &str) -> Option<String> {
    let path = path.strip_prefix('/')?;
    let mut relative = String::new();
    let mut segments = path.split('/').peekable();
    while let Some(segment) = segments.next() {
        let decoded = decode(segment, Plus::Plus).ok()?;
        let is_last = segments.peek().is_none();
        let is_shown = !decoded.starts_with('.') || *decoded == *WELL_KNOWN;
        if decoded.contains(['/', '\0', '\\']) || !is_shown || (decoded.is_empty() && !is_last) {
            return None;
        }
        relative.push_str(&decoded);
        if !is_last {
            relative.push('/');
        }
    }
    (relative.len() <= FILE_PATH_BYTES_MAX).then_some(relative)
}

/// The one name with a dot in front that is public (RFC 8615).
const WELL_KNOWN: &str = ".well-known";

fn look(root: &Path, relative: &str, wish: &FileRequest) -> io::Result<PathLookup> {
    let looked = || {
        let path = inside(root, &root.join(relative))?;
        if !fs::metadata(&path)?.is_dir() {
            // A file is no folder, so it has no name with a slash at its end.
            if relative.ends_with('/') {
                return Ok(PathLookup::Nothing);
            }
            return open(root, &path, wish).map(PathLookup::File);
        }
        let index = inside(root, &path.join("index.html"))?;
        if relative.is_empty() || relative.ends_with('/') {
            return open(root, &index, wish).map(PathLookup::File);
        }
        Ok(PathLookup::Folder)
    };
    match looked() {
        Err(error) if is_nothing(&error) => Ok(PathLookup::Nothing),
        looked => looked,
    }
}

/// Where a path leads once links are followed; an error when that is outside of the folder or hidden.
fn inside(root: &Path, path: &Path) -> io::Result<PathBuf> {
    let path = fs::canonicalize(path)?;
    let is_hidden = |component: Component<'_>| match component {
        Component::Normal(name) => name.as_encoded_bytes().starts_with(b".") && name != WELL_KNOWN,
        _ => true,
    };
    match path.strip_prefix(root) {
        Ok(below) if !below.components().any(is_hidden) => Ok(path),
        _ => Err(io::ErrorKind::NotFound.into()),
    }
}

fn is_nothing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::InvalidFilename
    )
}

/// Opens a file below a folder, or a sibling that holds the same bytes encoded, and reads what is sent first. Neither path has a link in it.
fn open(root: &Path, path: &Path, wish: &FileRequest) -> io::Result<OpenFile> {
    let media_type = media_type(&path.to_string_lossy());
    let entry = FolderEntry::find(root, path)?;
    let sibling = [(Coding::Brotli, "br"), (Coding::Gzip, "gz")]
        .into_iter()
        .filter(|(coding, _)| wish.accepted.takes(*coding))
        .find_map(|(coding, extension)| {
            let opened = entry.open_sibling(extension).ok()?;
            Some((opened, Some(coding)))
        });
    // The file itself must be there, or the sibling would be a file of another name.
    let plain = entry.open()?;
    let ((file, metadata), coding) = sibling.unwrap_or((plain, None));
    let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    let since = modified.duration_since(SystemTime::UNIX_EPOCH);
    let length = metadata.len();
    let mark = coding.map_or("", |coding| coding.name());
    let tag = format!(
        "\"{:x}-{length:x}{mark}\"",
        since.unwrap_or_default().as_nanos()
    );
    let version = FileVersion {
        length,
        modified,
        tag,
    };
    let decision = wish.conditions.decide(&version);
    let (begin, end) = match decision {
        FileDecision::Whole if wish.with_body => (0, length),
        FileDecision::Part(first, end) if wish.with_body => (first, end),
        _ => (0, 0),
    };
    let first = read(&file, begin, end)?;
    // Files in memory must not keep descriptors.
    let file = ((first.len() as u64) < end - begin).then(|| Arc::new(file));
    Ok(OpenFile {
        file,
        media_type,
        coding,
        version,
        decision,
        first,
    })
}

/// Up to a chunk from `at`, never past `end`; shorter only at the end of the file.
fn read(file: &File, at: u64, end: u64) -> io::Result<Bytes> {
    let wanted = end.saturating_sub(at).min(FILE_CHUNK_BYTES as u64) as usize;
    let mut bytes = vec![0; wanted];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, at + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The path below the folder; None when the request can name no file.
    fn check(path: &str, expected: Option<&str>) {
        assert_eq!(relative(path).as_deref(), expected, "{path}");
    }

    #[test]
    fn paths_are_split_before_they_are_decoded() {
        check("/", Some(""));
        check("/a/b.txt", Some("a/b.txt"));
        check("/a%20b/", Some("a b/"));
        check("/caf%C3%A9", Some("caf\u{e9}"));
        check("/.well-known/x", Some(".well-known/x"));
    }

    #[test]
    fn nothing_leaves_the_folder_or_shows_what_is_hidden() {
        for path in [
            "/..",
            "/../a",
            "/a/../b",
            "/%2e%2e/a",
            "/.%2E/a",
            "/a%2F..%2Fb",
            "/.",
            "/.env",
            "/a/.git/config",
            "/%00",
            "/a%00.txt",
            "//etc/passwd",
            "/a//b",
            "/a%5Cb",
            "/%ff",
            "a",
        ] {
            check(path, None);
        }
        check(&format!("/{}", "a".repeat(FILE_PATH_BYTES_MAX + 1)), None);
    }
}
