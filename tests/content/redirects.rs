//! Redirects of every kind: raw bytes, chains, loops, walls. No redirect is
//! ever a record, and a record names the way that led to it.

use serde_json::json;

use crate::common::{Req, Resp, Script, Server, page};
use crate::crawl::Crawl;

#[test]
fn a_redirect_leads_to_its_page_or_says_why_not() {
    let to = |location: &[u8]| Resp::redirect(302, location);
    let targets = [
        "/m%C3%BCsli",
        "/m%FCsli",
        "/a%20b",
        "/trimmed",
        "/query?x=%FC&y",
        "/dir/dots",
        "/backslash",
        "/200-at-last",
        "/307",
        "/308",
    ];
    let mut script = Script::new()
        .on(
            "/robots.txt",
            [Resp::text("User-agent: *\nDisallow: /private/\n")],
        )
        .on("/utf-8", [to("/müsli".as_bytes())])
        .on("/latin-1", [to(b"/m\xFCsli")])
        .on("/space", [to(b"/a b")])
        .on("/tab", [to(b"\t/trimmed\t")])
        .on("/raw-query", [to(b"/query?x=\xFC&y")])
        .on("/dot-segments", [to(b"/dir/x/../%2e/dots")])
        .on("/backslashes", [to(b"\\backslash")])
        .on("/fragment", [to(b"/trimmed#part")])
        .on("/chain", [Resp::redirect(301, "/chain2")])
        .on("/chain2", [Resp::redirect(303, "chain3")])
        .on("/chain3", [Resp::redirect(307, "/200-at-last")])
        .on("/status-307", [Resp::redirect(307, "/307")])
        .on("/status-308", [Resp::redirect(308, "/308")])
        .on("/ping", [to(b"/pong")])
        .on("/pong", [to(b"/ping")])
        .on("/self", [to(b"/self")])
        .on("/self-fragment", [to(b"#part")])
        .on("/no-location", [Resp::new(302)])
        .on("/empty-location", [to(b"")])
        .on("/mail", [to(b"mailto:x@a.test")])
        .on("/script", [to(b"javascript:x()")])
        .on("/broken", [to(b"http://[::1")])
        .on("/no-host", [to(b"http://")])
        .on("/nul", [to(b"http://a.test/\x01")])
        .on("/300", [Resp::redirect(300, "/never")])
        .on("/305", [Resp::redirect(305, "/never")])
        .on("/out", [to(b"http://out.test/x")])
        .on("/into-private", [to(b"/private/1")])
        .on("/with-a-body", [to(b"/trimmed").body("<a href=/never>")])
        .on("/long", [to(format!("/{}", "x".repeat(3000)).as_bytes())]);
    for at in 0..12 {
        script = script.on(
            &format!("/hop{at}"),
            [to(format!("/hop{}", at + 1).as_bytes())],
        );
    }
    for target in targets {
        script = script.on(target, [Resp::html(format!("<title>{target}</title>"))]);
    }
    let starts = [
        "/utf-8",
        "/latin-1",
        "/space",
        "/tab",
        "/raw-query",
        "/dot-segments",
        "/backslashes",
        "/fragment",
        "/chain",
        "/status-307",
        "/status-308",
        "/ping",
        "/self",
        "/self-fragment",
        "/no-location",
        "/empty-location",
        "/mail",
        "/script",
        "/broken",
        "/no-host",
        "/nul",
        "/300",
        "/305",
        "/out",
        "/into-private",
        "/with-a-body",
        "/long",
        "/hop0",
    ];
    script = script.on("/", [Resp::html(page("all", &starts))]);
    let server = Server::scripted(script);
    let outcome = Crawl::from([server.url("/")]).run(&server, 0);
    for (start, target) in [
        ("/utf-8", "/m%C3%BCsli"),
        ("/latin-1", "/m%FCsli"),
        ("/space", "/a%20b"),
        ("/raw-query", "/query?x=%FC&y"),
        ("/dot-segments", "/dir/dots"),
        ("/backslashes", "/backslash"),
        ("/status-307", "/307"),
        ("/status-308", "/308"),
    ] {
        outcome.redirected(start, &server.url(target));
        outcome.titled(target, Some(target));
        let record = outcome.record(target);
        assert_eq!(record["requested"], server.url(start).as_str());
    }
    outcome.redirected("/tab", &server.url("/trimmed"));
    outcome.redirected("/fragment", &server.url("/trimmed"));
    outcome.redirected("/with-a-body", &server.url("/trimmed"));
    outcome.titled("/trimmed", Some("/trimmed"));
    assert_eq!(outcome.asked.count("/trimmed"), 1);

    let record = outcome.record("/200-at-last");
    assert_eq!(
        record["redirects"],
        json!([
            {"url": server.url("/chain"), "status": 301},
            {"url": server.url("/chain2"), "status": 303},
            {"url": server.url("/chain3"), "status": 307},
        ])
    );
    outcome.redirected("/ping", &server.url("/pong"));
    for (from, to) in [
        ("/pong", "/ping"),
        ("/self", "/self"),
        ("/self-fragment", "/self-fragment"),
    ] {
        let words = format!("redirect loop: it leads back to {}", server.url(to));
        outcome.failed(from, "rejected", 1, &words);
        assert!(outcome.stderr.contains(&words), "it is said at once");
    }
    for path in ["/ping", "/pong", "/self", "/self-fragment"] {
        assert_eq!(outcome.asked.count(path), 1, "{path}: walked once");
    }
    for (path, words) in [
        ("/no-location", "without a location"),
        ("/mail", "no web address"),
        ("/script", "no web address"),
        ("/broken", "no web address"),
        ("/no-host", "no web address"),
        ("/empty-location", "no web address"),
        ("/hop10", "too many redirects"),
    ] {
        outcome.failed(path, "rejected", 1, words);
    }
    // A field with a control character is none.
    outcome.failed("/nul", "rejected", 1, "redirect without a location");
    // Not among the statuses that lead elsewhere by themselves.
    for path in ["/300", "/305"] {
        outcome.titled(path, None);
    }
    outcome.redirected("/out", "http://out.test/x");
    let skipped = outcome.end("/x");
    assert_eq!(skipped["reason"], "scope", "{skipped}");
    outcome.redirected("/into-private", &server.url("/private/1"));
    outcome.skipped("/private/1", "robots");
    outcome.skipped(&format!("/{}", "x".repeat(3000)), "trap_length");
    for path in ["/never", "/private/1", "/hop11"] {
        assert_eq!(outcome.asked.count(path), 0, "{path} was asked for");
    }
}

#[test]
fn a_host_of_its_own_is_met_on_its_own_terms_and_links_are_relative_to_where_one_landed() {
    let script = Script::new()
        .on("/robots.txt", [Resp::new(404)])
        .on_host(
            "127.0.0.2",
            "/robots.txt",
            [Resp::text("User-agent: *\nDisallow: /no\n")],
        )
        .on_host(
            "127.0.0.2",
            "/dir/page",
            [Resp::html(
                "<title>there</title><a href=next><a href=/root>",
            )],
        )
        .on_host(
            "127.0.0.2",
            "/dir/next",
            [Resp::html("<title>next</title>")],
        )
        .on_host("127.0.0.2", "/root", [Resp::html("<title>root</title>")]);
    let server = Server::builder()
        .addresses(&["127.0.0.1", "127.0.0.2"])
        .start(move |req| match req.path.as_str() {
            "/relative" => Resp::redirect(301, format!("//127.0.0.2:{}/dir/page", req.port)),
            "/forbidden" => Resp::redirect(301, format!("http://127.0.0.2:{}/no", req.port)),
            "/" if req.host.to_string() == "127.0.0.1" => {
                Resp::html(page("home", &["/relative", "/forbidden"]))
            }
            _ => script.answer(req),
        });
    let outcome = Crawl::from([server.url("/")])
        .set("scope", "hosts = [\"127.0.0.1\", \"127.0.0.2\"]")
        .run(&server, 0);
    outcome.titled("/dir/page", Some("there"));
    outcome.titled("/dir/next", Some("next"));
    outcome.titled("/root", Some("root"));
    outcome.skipped("/no", "robots");
    assert_eq!(
        outcome.paths_on("127.0.0.2"),
        ["/dir/next", "/dir/page", "/root"]
    );
    let asked = outcome.asked.on("127.0.0.2");
    assert_eq!(asked[0].path, "/robots.txt", "robots.txt comes first");
}

#[test]
fn a_parameter_that_is_dropped_does_not_make_a_page_its_own_redirect() {
    let server = Server::start(|req: &Req| match req.path.as_str() {
        "/" => Resp::html(page("home", &["/page", "/fickle"])),
        "/page" => Resp::redirect(302, "/page?PHPSESSID=1"),
        "/page?PHPSESSID=1" => Resp::html("<title>page</title>"),
        "/fickle" => Resp::redirect(302, "/fickle?sid=0"),
        path if path.starts_with("/fickle?sid=") => {
            let n: u32 = path["/fickle?sid=".len()..].parse().expect("a number");
            Resp::redirect(302, format!("/fickle?sid={}", n + 1))
        }
        _ => Resp::new(404),
    });
    let outcome = Crawl::from([server.url("/")]).run(&server, 0);
    outcome.titled("/page?PHPSESSID=1", Some("page"));
    assert_eq!(
        outcome.record("/page?PHPSESSID=1")["requested"],
        server.url("/page").as_str()
    );
    outcome.failed("/fickle?sid=9", "rejected", 1, "too many redirects");
}

/// A site that lets nobody in without a cookie.
#[cfg(feature = "cookies")]
fn walled(req: &Req) -> Resp {
    let has = |cookie: &str| {
        req.header("cookie")
            .is_some_and(|held| held.contains(cookie))
    };
    let set = |location: &str, cookie: &str| {
        Resp::redirect(302, location).header("Set-Cookie", format!("{cookie}; Path=/"))
    };
    match req.path_only() {
        "/robots.txt" => Resp::new(404),
        "/" => Resp::html(page(
            "home",
            &[
                "/self",
                "/there",
                "/check",
                "/odd",
                "/stubborn",
                "/bare",
                "/shut",
                "/refused",
            ],
        )),
        "/odd" if has("odd[a]={\"a\": 1, \\}") => Resp::html("<title>odd</title>"),
        "/odd" => set("/odd", "odd[a]={\"a\": 1, \\}"),
        "/refused" => set("/refused", "__Host-r=1; Secure; Domain=example.com"),
        "/self" if has("self=1") => Resp::html("<title>self</title>"),
        "/self" => set("/self", "self=1"),
        "/there" if has("there=1") => Resp::html("<title>there</title>"),
        "/there" => Resp::redirect(302, "/login?to=/there"),
        "/login" => set("/there", "there=1"),
        "/check" if has("checked=1") => Resp::html("<title>check</title>"),
        "/check" => set("/check-cookie?to=/check", "checked=1"),
        "/check-cookie" => Resp::redirect(302, "/check"),
        "/stubborn" => set("/stubborn", "x=1"),
        "/bare" => Resp::redirect(302, "/bare"),
        "/shut" => Resp::redirect(302, "/gate"),
        "/gate" => set("/shut", "y=1"),
        _ => Resp::new(404),
    }
}

#[cfg(feature = "cookies")]
#[test]
fn a_wall_that_sets_a_cookie_and_sends_back_ends_in_the_page() {
    let server = Server::start(walled);
    let outcome = Crawl::from([server.url("/")]).run(&server, 0);
    for name in ["self", "there", "check", "odd"] {
        let path = format!("/{name}");
        assert_eq!(outcome.record(&path)["title"], name);
        assert_eq!(outcome.asked.count(&path), 2, "{path}");
        let ends: Vec<_> = outcome
            .ends(&path)
            .iter()
            .map(|line| line["end"].clone())
            .collect();
        assert_eq!(ends, ["redirected", "done"], "{path}");
    }
    assert_eq!(
        outcome.asked.count("/stubborn"),
        2,
        "it is tried again once"
    );
    for path in ["/bare", "/refused"] {
        let asked = outcome.asked.count(path);
        assert_eq!(asked, 1, "nothing has changed for it: {path}");
        outcome.failed(path, "rejected", 1, "redirect loop");
    }
    let stubborn = outcome.ends("/stubborn");
    assert_eq!(stubborn[0]["end"], "redirected");
    assert_eq!(stubborn[1]["end"], "failed");
    for path in ["/shut", "/gate"] {
        assert_eq!(outcome.asked.count(path), 2, "{path}");
    }
    let gate = outcome.ends("/gate");
    assert_eq!(gate[0]["end"], "redirected");
    assert_eq!(gate[1]["end"], "failed");
    let message = gate[1]["message"].as_str().expect("a message");
    assert!(message.contains("redirect loop"), "{message}");
    for path in ["/stubborn", "/bare", "/shut", "/gate"] {
        assert!(!outcome.has_record(path), "{path}");
    }
    assert_eq!(outcome.summary["pending"], 0);
}

#[cfg(feature = "cookies")]
#[test]
fn a_wall_is_passed_on_every_pass_over_the_site() {
    use crate::common::{TempDir, canter, jsonl};
    let server = Server::start(walled);
    for name in ["self", "there"] {
        let folder = TempDir::new();
        let config = format!(
            "[crawl]\nseeds = [{:?}]\nfollow = false\n[policy]\nmax_requests_per_minute = \"none\"\n\
             [fetch]\nallow_private = true\n[output]\npath = \"pages.jsonl\"\n[state]\ndir = \"state\"\n",
            server.url(&format!("/{name}"))
        );
        std::fs::write(folder.path().join("c.toml"), config).expect("a configuration");
        for _ in 0..12 {
            canter(["run", "c.toml", "-q"])
                .dir(folder.path())
                .run()
                .expect_code(0);
        }
        let records = jsonl::read(folder.path().join("pages.jsonl"));
        assert_eq!(records.len(), 12, "one in each pass: {name}");
        for record in &records {
            assert_eq!(record["title"], name);
            let way = record["redirects"].as_array().expect("the way");
            assert!(way.len() <= 2, "it does not grow: {way:?}");
        }
    }
}

#[cfg(feature = "cookies")]
#[test]
fn the_log_says_which_cookie_was_refused_and_why_but_not_its_value() {
    use crate::common::canter;
    let server = Server::start(|req| match req.path_only() {
        "/" => Resp::html("<title>home</title>").header("Set-Cookie", "id=s3cret; Domain=b.test"),
        _ => Resp::new(404),
    });
    let url = server.url("/");
    let run = canter(["crawl", &url, "-vv"]).run();
    let run = run.expect_code(0);
    let why = format!("{url}: cookie refused: its Domain is not the host's");
    assert!(run.stderr.contains(&why), "{}", run.stderr);
    assert!(!run.stderr.contains("s3cret"), "{}", run.stderr);
}
