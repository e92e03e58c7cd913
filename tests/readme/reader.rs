//! [`Reader`]: somebody who does what the README says.

use std::fs;

use super::common::{Program, Req, Resp, Run, Server, TempDir, page};
use super::parse::configurations;

/// Whom the README crawls.
pub(crate) const SITE: &str = "https://example.com";
/// The secret that one of its configurations wants from the environment.
pub(crate) const TOKEN: (&str, &str) = ("SHOP_TOKEN", "hunter2");

/// The folder of somebody who follows the README, and the site they crawl.
pub(crate) struct Reader {
    pub(crate) folder: TempDir,
    server: Server,
}

impl Reader {
    pub(crate) fn new() -> Self {
        let reader = Reader {
            folder: TempDir::new(),
            server: Server::start(site),
        };
        for (name, text) in configurations() {
            reader.folder.write(name, reader.here(&text));
        }
        let list = format!("# two pages\n{SITE}/a\n\n{SITE}/docs/\n");
        reader.folder.write("urls.txt", reader.here(&list));
        reader.folder.write(
            "bin/canter",
            format!(
                "#!/bin/sh\ncase \"$1\" in\nrun|crawl) exec {real} \"$@\" \
                 --set policy.max_requests_per_minute=none --set policy.host_delay=0 ;;\n\
                 *) exec {real} \"$@\" ;;\nesac\n",
                real = env!("CARGO_BIN_EXE_canter")
            ),
        );
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let path = reader.folder.join("bin/canter");
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("ours");
        }
        reader
    }

    /// The text with this site for the README's.
    pub(crate) fn here(&self, text: &str) -> String {
        text.replace(SITE, self.server.url("").as_str())
            .replace("\"example.com\"", "\"127.0.0.1\"")
    }

    /// Runs a line of the README in a shell.
    pub(crate) fn sh(&self, line: &str) -> Run {
        let mut path = self.folder.join("bin").into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        Program::new("sh", ["-c", &self.here(line)])
            .dir(self.folder.path())
            .env("PATH", path)
            .env(TOKEN.0, TOKEN.1)
            .run()
    }
}

/// Six pages, one of them forbidden, one known to the sitemap alone; a dead
/// link and a redirect. Apart from them a list of lamps, one without a price.
fn site(req: &Req) -> Resp {
    let robots = format!(
        "User-agent: *\nDisallow: /private/\nSitemap: http://127.0.0.1:{}/sitemap.xml\n",
        req.port
    );
    let sitemap = format!(
        "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\
         <url><loc>http://127.0.0.1:{0}/docs/known</loc></url>\
         <url><loc>http://127.0.0.1:{0}/a</loc></url></urlset>",
        req.port
    );
    if req.header("if-none-match") == Some("\"1\"") {
        return Resp::new(304);
    }
    let html = |title, links: &[&str]| Resp::html(page(title, links)).header("ETag", "\"1\"");
    let lamp = |name: &str, price: &str| {
        let image = name.to_lowercase();
        Resp::html(format!(
            "<main><h1>{name}</h1><img src=/{image}.png><p class=price>{price}</main>"
        ))
    };
    match req.path_only() {
        "/robots.txt" => Resp::text(robots),
        "/sitemap.xml" => Resp::ok("application/xml", sitemap),
        "/" => html("Home", &["/a", "/docs/", "/old", "/private/x", "/gone"]),
        "/a" => html("A", &["/", "/gone"]),
        "/docs/" => html("Docs", &["/docs/guide", "/"]),
        "/docs/guide" => html("Guide", &["/docs/"]),
        "/docs/known" => html("Known to the sitemap", &[]),
        "/lamps/" => html("Lamps", &["/lamps/heron", "/lamps/wren"]),
        "/lamps/heron" => lamp("Heron", "1.299,00 €"),
        "/lamps/wren" => lamp("Wren", "on request"),
        "/old" => Resp::redirect(301, "/a"),
        _ => Resp::new(404),
    }
}
