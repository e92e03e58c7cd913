//! The servers that are crawled: nginx over a folder, and one of our own whose
//! pages are made up as they are asked for. Both on loopback, and both keep
//! count of what they were asked.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// How long nginx may take to start.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of a request that are read at once.
const REQUEST: usize = 8 * 1024;

/// A server with the paths that it was asked for.
pub(crate) enum Server {
    /// nginx, and its log.
    Nginx {
        process: Child,
        address: SocketAddr,
        log: PathBuf,
    },
    /// One of our own.
    Own {
        address: SocketAddr,
        asked: Arc<Mutex<Vec<String>>>,
    },
}

impl Server {
    /// nginx over a folder; `None` when it is not installed.
    pub(crate) fn nginx(home: &Path, root: &Path) -> Option<Server> {
        let address = free_address();
        let log = home.join("access.log");
        fs::create_dir_all(home).expect("a folder for nginx");
        let mut text = String::new();
        let (home_name, root_name) = (home.display(), root.display());
        write!(
            text,
            "daemon off;\nmaster_process off;\npid {home_name}/pid;\n\
             error_log {home_name}/error.log;\n\
             events {{ worker_connections 4096; }}\n\
             http {{\n\
             log_format path '$request_uri';\n\
             access_log {home_name}/access.log path;\n\
             types {{ text/html html; }}\n\
             keepalive_requests 1000000;\n\
             open_file_cache max=20000;\n\
             client_body_temp_path {home_name}/body;\n\
             proxy_temp_path {home_name}/proxy;\n\
             fastcgi_temp_path {home_name}/fastcgi;\n\
             uwsgi_temp_path {home_name}/uwsgi;\n\
             scgi_temp_path {home_name}/scgi;\n\
             server {{ listen {address} backlog=4096; root {root_name}; index index.html; }}\n\
             }}\n"
        )
        .expect("memory");
        let config = home.join("nginx.conf");
        fs::write(&config, text).expect("a configuration for nginx");
        let name = ["nginx", "/usr/sbin/nginx"];
        let process = name.into_iter().find_map(|name| {
            Command::new(name)
                .arg("-p")
                .arg(home)
                .arg("-c")
                .arg(&config)
                .arg("-e")
                .arg(home.join("error.log"))
                .stderr(Stdio::null())
                .spawn()
                .ok()
        })?;
        let server = Server::Nginx {
            process,
            address,
            log,
        };
        let until = Instant::now() + PATIENCE;
        while TcpStream::connect(address).is_err() {
            assert!(Instant::now() < until, "nginx does not answer at {address}");
            thread::sleep(Duration::from_millis(10));
        }
        Some(server)
    }

    /// A server of our own, which answers what `page` makes of each path; no
    /// page is a 404.
    pub(crate) fn own(page: impl Fn(&str) -> Option<Arc<str>> + Send + Sync + 'static) -> Server {
        Server::listen(page, true)
    }

    /// One that ends each connection with its first answer.
    pub(crate) fn own_closing(
        page: impl Fn(&str) -> Option<Arc<str>> + Send + Sync + 'static,
    ) -> Server {
        Server::listen(page, false)
    }

    fn listen(
        page: impl Fn(&str) -> Option<Arc<str>> + Send + Sync + 'static,
        keeps: bool,
    ) -> Server {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (page, log) = (Arc::new(page), Arc::clone(&asked));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (page, log) = (Arc::clone(&page), Arc::clone(&log));
                thread::spawn(move || talk(stream, &*page, &log, keeps));
            }
        });
        Server::Own { address, asked }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        match self {
            Server::Nginx { address, .. } | Server::Own { address, .. } => *address,
        }
    }

    /// The URL of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address())
    }

    /// The paths that were asked for since this was last called.
    pub(crate) fn take_asked(&self) -> Vec<String> {
        match self {
            Server::Own { asked, .. } => std::mem::take(&mut asked.lock().expect("no panic")),
            Server::Nginx { log, .. } => {
                let text = fs::read_to_string(log).expect("the log of nginx");
                // nginx appends, wherever the end is.
                fs::write(log, "").expect("the log of nginx");
                text.lines().map(str::to_owned).collect()
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Server::Nginx { process, .. } = self {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn free_address() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    listener.local_addr().expect("an address")
}

fn talk(
    mut stream: TcpStream,
    page: &dyn Fn(&str) -> Option<Arc<str>>,
    log: &Mutex<Vec<String>>,
    keeps: bool,
) {
    let _ = stream.set_nodelay(true);
    let mut buffer = [0; REQUEST];
    let mut answer = Vec::new();
    // A request comes in one piece on loopback.
    while let Ok(read @ 1..) = stream.read(&mut buffer) {
        let head = String::from_utf8_lossy(&buffer[..read]);
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let found = page(&path);
        log.lock().expect("no panic").push(path);
        let (status, body) = match &found {
            Some(body) => ("200 OK", &**body),
            None => ("404 Not Found", ""),
        };
        let connection = if keeps { "keep-alive" } else { "close" };
        answer.clear();
        let written = write!(
            answer,
            "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\
             Connection: {connection}\r\n\r\n{body}",
            body.len()
        );
        if written.and_then(|()| stream.write_all(&answer)).is_err() || !keeps {
            return;
        }
    }
}
