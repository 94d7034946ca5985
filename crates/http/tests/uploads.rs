//! Forms with files, over real sockets: what stays in memory, what goes to disk, and what is refused.

mod rig;

use std::{cell::Cell, fs, io, os::unix::fs::PermissionsExt as _, path::Path, rc::Rc, thread};

use http::{StatusCode, header::CONTENT_TYPE};
use rig::{Rig, rig_with};
use tokio::sync::{Notify, oneshot};
use tsumugi_http::{
    HttpLimits, HttpResponse, Request,
    upload::{Offload, PartContent, read_form},
};

/// Runs each work on a thread of its own.
#[derive(Clone, Debug)]
struct Threads;

impl Offload for Threads {
    async fn offload<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let (sender, receiver) = oneshot::channel();
        thread::spawn(move || sender.send(work()).is_ok());
        receiver.await.map_err(io::Error::other)?
    }

    fn later(&self, work: impl FnOnce() + Send + 'static) {
        thread::spawn(work);
    }
}

fn limits() -> HttpLimits {
    HttpLimits {
        upload_memory_max: 1000,
        field_bytes_max: 500,
        upload_bytes_max: 300_000,
        ..HttpLimits::default()
    }
}

/// Answers with one line for each part: its name, its file name, where it is, and its length; saves files on disk beside it.
async fn describe(directory: Rc<Path>, mut request: Request) -> HttpResponse {
    let content_type = request
        .headers
        .get(CONTENT_TYPE)
        .map_or("", |value| value.to_str().unwrap())
        .to_owned();
    let parts = match read_form(
        &mut request.body,
        &content_type,
        &limits(),
        &directory,
        &Threads,
    )
    .await
    {
        Ok(parts) => parts,
        Err(error) => return HttpResponse::from_error(&error),
    };
    let mut text = String::new();
    for part in parts {
        let name = part.head.filename.as_deref().unwrap_or("-");
        let place = match &part.content {
            PartContent::Memory(_) => "memory",
            PartContent::Disk(file) => {
                let whole = file.read(0, usize::MAX).await.unwrap();
                assert_eq!(whole.len() as u64, file.length());
                assert_eq!(
                    file.read(file.length() - 3, 10).await.unwrap(),
                    whole[whole.len() - 3..]
                );
                part.save(directory.join(name)).await.unwrap();
                let again = part.save(directory.join(name)).await;
                assert!(again.is_err(), "an existing file was overwritten");
                "disk"
            }
        };
        text += &format!(
            "{} {name} {place} {}\n",
            part.head.name,
            part.content.length()
        );
    }
    HttpResponse::text(StatusCode::OK, text)
}

fn part(disposition: &str, content: &str) -> String {
    format!("--xyz\r\nContent-Disposition: form-data; {disposition}\r\n\r\n{content}\r\n")
}

fn check(parts: &[String], expected: &str) {
    let directory = tempfile::tempdir().unwrap();
    let path: Rc<Path> = directory.path().into();
    let handler = async move |request: Request| describe(Rc::clone(&path), request).await;
    rig_with(limits(), handler).run(async |rig: &Rig| {
        let body = format!("{}--xyz--\r\n", parts.concat());
        let head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=xyz";
        let mut client = rig.connect().await;
        client
            .send(&format!(
                "{head}\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            ))
            .await;
        let answer = client.read_answer().await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(
            head[9..12] == expected[..3] && body.starts_with(&expected[4..]),
            "{answer}"
        );
    });
    for part in parts.iter().filter(|_| expected.contains("disk")) {
        if let Some(name) = part
            .split("filename=")
            .nth(1)
            .and_then(|rest| rest.split('\r').next())
        {
            let content = part.split_once("\r\n\r\n").unwrap().1.trim_end();
            assert_eq!(
                fs::read_to_string(directory.path().join(name)).unwrap_or(content.to_owned()),
                content
            );
        }
    }
    let left: Vec<_> = fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), expected.matches("disk").count(), "{left:?}");
}

/// A form with one file of this length.
fn upload(length: usize) -> String {
    let body = part("name=f; filename=f", &"x".repeat(length)) + "--xyz--\r\n";
    format!(
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=xyz\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn files_of_all_requests_on_disk_past_their_limit_are_503_until_there_is_room() {
    let limits = HttpLimits {
        uploads_bytes_max: 100_000,
        ..limits()
    };
    let directory = tempfile::tempdir().unwrap();
    let path: Rc<Path> = directory.path().into();
    let (ready, held) = (Rc::new(Notify::new()), Rc::new(Cell::new(false)));
    let (notice, holds) = (Rc::clone(&ready), Rc::clone(&held));
    // The first request keeps its file until it is told.
    let handler = async move |mut request: Request| {
        let kind = "multipart/form-data; boundary=xyz";
        let read = read_form(&mut request.body, kind, &self::limits(), &path, &Threads).await;
        match read {
            Ok(parts) if !holds.replace(true) => {
                notice.notified().await;
                HttpResponse::text(StatusCode::OK, format!("{} kept", parts.len()))
            }
            Ok(_) => HttpResponse::text(StatusCode::OK, "read"),
            Err(error) => HttpResponse::from_error(&error),
        }
    };
    rig_with(limits, handler).run(async |rig: &Rig| {
        let mut first = rig.connect().await;
        first.send(&upload(60_000)).await;
        rig.until(|| held.get()).await;
        let answer = rig.ask(&upload(40_000)).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        let answer = rig.ask(&upload(40_001)).await;
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
        assert!(answer.contains("retry-after: 1\r\n"), "{answer}");
        assert!(
            answer.contains(
                "the uploaded files of the requests under way fill uploads_bytes_max (100000 bytes)"
            ),
            "{answer}"
        );
        // What stays in memory takes none of it.
        let answer = rig.ask(&upload(1_000)).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        ready.notify_one();
        assert!(first.read_answer().await.ends_with("1 kept"));
        let answer = rig.ask(&upload(100_000)).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        let answer = rig.ask(&upload(100_001)).await;
        assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
        assert!(answer.contains("uploads_bytes_max"), "{answer}");
    });
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn files_past_the_memory_limit_go_to_disk() {
    let (small, large, huge) = (
        "s".repeat(1000),
        "l".repeat(1001),
        "0123456789".repeat(20_000),
    );
    check(
        &[
            part("name=title", "Hello"),
            part("name=f; filename=small", &small),
            part("name=g; filename=large", &large),
            part("name=h; filename=huge", &huge),
            part("name=i; filename=empty", ""),
        ],
        "200 title - memory 5\nf small memory 1000\ng large disk 1001\nh huge disk 200000\ni empty memory 0\n",
    );
}

#[test]
fn one_byte_more_than_the_limit_in_a_field_is_413() {
    check(&[part("name=a", &"x".repeat(500))], "200 a - memory 500");
    check(
        &[part("name=a", &"x".repeat(501))],
        "413 request is larger than field_bytes_max",
    );
}

#[test]
fn one_byte_more_than_the_limit_in_the_whole_is_413() {
    let overhead = part("name=a; filename=b", "").len() + "--xyz--\r\n".len();
    check(
        &[part("name=a; filename=b", &"x".repeat(300_000 - overhead))],
        "200 a b disk",
    );
    check(
        &[part("name=a; filename=b", &"x".repeat(300_001 - overhead))],
        "413 request is larger than upload_bytes_max",
    );
}

#[test]
fn a_form_without_a_usable_part_is_400() {
    check(
        &["--xyz\r\nContent-Disposition: attachment\r\n\r\nx\r\n".to_owned()],
        "400 malformed part head",
    );
    check(&["no boundary".to_owned()], "400 malformed multipart body");
}

#[test]
fn upload_takes_the_place_of_a_file_at_once_or_not_at_all() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kept");
    fs::write(&path, "old").unwrap();
    let old = fs::File::open(&path).unwrap();
    let target = path.clone();
    let handler = async move |mut request: Request| {
        let content_type = request.headers[CONTENT_TYPE].to_str().unwrap().to_owned();
        let (temporary, limits) = (std::env::temp_dir(), limits());
        let form = read_form(
            &mut request.body,
            &content_type,
            &limits,
            &temporary,
            &Threads,
        );
        let parts = form.await.unwrap();
        parts[0].replace(target.clone()).await.unwrap();
        // A folder is no file, and none of it is left over.
        let folder = target.parent().unwrap().to_owned();
        assert!(parts[0].replace(folder.join("none/kept")).await.is_err());
        assert!(parts[0].replace(folder).await.is_err());
        HttpResponse::new(StatusCode::OK, "")
    };
    rig_with(limits(), handler).run(async |rig: &Rig| {
        for length in [10, 100_000, 20] {
            let answer = rig.ask(&upload(length)).await;
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            assert_eq!(fs::read(&path).unwrap(), vec![b'x'; length]);
        }
    });
    assert_eq!(io::read_to_string(old).unwrap(), "old");
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    fs::write(directory.path().join("other"), "").unwrap();
    let usual = fs::metadata(directory.path().join("other")).unwrap();
    assert_eq!(mode, usual.permissions().mode());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
}
