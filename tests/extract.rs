//! Items read of pages while they are crawled, and again from their kept
//! bodies: the same, byte for byte, whatever happened in between.

#![cfg(all(feature = "cli", feature = "select"))]

mod common;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use common::site::{Site, USUAL_PORT};
use common::{Req, Resp, Run, Server, TempDir, canter, jsonl};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");
/// How long a test waits for something that is sure to come.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder with a configuration in it.
struct Case {
    folder: TempDir,
    config: PathBuf,
}

impl Case {
    fn new(config: &str) -> Self {
        let folder = TempDir::new();
        let config = folder.write("c.toml", config);
        Case { folder, config }
    }

    fn canter(&self, command: &str, more: &[&str]) -> common::Program {
        let start = canter([command.as_ref(), self.config.as_os_str()]).dir(self.folder.path());
        more.iter().fold(start, common::Program::arg)
    }

    fn run(&self) -> Run {
        self.canter("run", &[]).run()
    }

    fn read(&self, name: &str) -> String {
        self.folder.read(name)
    }

    /// Extracts everything again, and compares it with what the crawl wrote.
    #[track_caller]
    fn again_is_the_same(&self, outputs: &[&str]) {
        for threads in ["1", "2"] {
            let into = format!("again-{threads}");
            self.canter("extract", &["--into", &into])
                .env("RAYON_NUM_THREADS", threads)
                .run()
                .expect_code(0);
            for output in outputs {
                let (first, again) = (self.read(output), self.read(&format!("{into}/{output}")));
                let lines = first.lines().zip(again.lines());
                for (at, (first, again)) in lines.enumerate() {
                    assert_eq!(again, first, "{output}, line {}", at + 1);
                }
                assert!(again == first && !first.is_empty(), "{output} on {threads}");
            }
        }
    }
}

fn with_usual_port(text: &str, port: u16) -> String {
    text.replace(&format!(":{port}/"), &format!(":{USUAL_PORT}/"))
}

/// The fixture configuration with another port and another place for its
/// outputs.
fn catalogue(port: u16) -> Case {
    let text = fs::read_to_string(Path::new(FIXTURES).join("catalogue.toml")).expect("a fixture");
    let usual = format!("127.0.0.1:{USUAL_PORT}");
    assert_eq!(text.matches(&usual).count(), 1, "one seed");
    let text = text.replace(&usual, &format!("127.0.0.1:{port}"));
    Case::new(&text.replace("\"../target/demo/", "\""))
}

fn fixture_site() -> Server {
    let site = Site::load(Path::new(FIXTURES).join("site")).expect("the site can be read");
    Server::builder().start(move |req| site.answer(req))
}

#[test]
fn the_catalogue_gives_what_stands_beside_it() {
    let server = fixture_site();
    let case = catalogue(server.port());
    let run = case.run().expect_code(0);
    assert!(
        run.stderr.contains("/catalogue/nuthatch.html: extract.product.price, item 1: no number in \"Price on request\""),
        "{}",
        run.stderr
    );
    let read = |name: &str| jsonl::parse(&with_usual_port(&case.read(name), server.port()));
    let (pages, products) = (read("catalogue-pages.jsonl"), read("products.jsonl"));
    let expected = jsonl::read(Path::new(FIXTURES).join("catalogue.expected.jsonl"));
    assert_eq!((pages.len(), products.len()), (27, expected.len()));
    let pages = jsonl::by(&pages, "url");
    for (product, expected) in products.iter().zip(&expected) {
        for field in ["url", "name", "sku", "kind", "price_text", "image"] {
            assert_eq!(product[field], expected[field], "{field}");
        }
        assert_eq!(product["extract"], "product");
        assert_eq!(
            product["price"].as_f64(),
            expected["price"].as_f64(),
            "{expected}"
        );
        let offers = &pages[jsonl::text(expected, "url")]["jsonld"][0]["offers"];
        assert_eq!(offers["priceCurrency"], expected["currency"]);
        let availability = jsonl::text(offers, "availability").rsplit('/').next();
        assert_eq!(availability, expected["availability"].as_str());
    }

    let csv = fs::read_to_string(Path::new(FIXTURES).join("catalogue.expected.csv"));
    let csv = csv.expect("a fixture");
    case.canter("extract", &["-o", "again/products.csv"])
        .run()
        .expect_code(0);
    let again = with_usual_port(&case.read("again/products.csv"), server.port());
    assert_eq!(again, csv);
    let asked = server.log().len();
    case.again_is_the_same(&["catalogue-pages.jsonl", "products.jsonl"]);
    assert_eq!(server.log().len(), asked, "nothing is fetched");

    case.canter("run", &["--set", "extract.product.output=products.csv"])
        .run()
        .expect_code(0);
    assert_eq!(
        with_usual_port(&case.read("products.csv"), server.port()),
        csv
    );
}

/// Pages of a shop that is made up.
const PAGES: usize = 1000;

/// One page of it: listings, products in several languages, what is no page.
fn shop(req: &Req) -> Resp {
    let Some(n) = req
        .path
        .strip_prefix("/p/")
        .and_then(|n| n.parse::<usize>().ok())
    else {
        return Resp::new(404);
    };
    let mut html =
        format!("<title>Page {n}\u{2028}&amp;</title><meta name=description content='d {n}'>");
    // Pages without links hold up none of the others.
    for child in (4 * n + 1..=4 * n + 4).chain([n + 1]) {
        if child < PAGES {
            let _ = write!(html, "<a href=/p/{child}>{child}</a> ");
        }
    }
    let _ = write!(
        html,
        "<script type=application/ld+json>{{\"@type\": \"Page\", \"n\": {n}.50}}</script>\
         <base href=/b{}/><img src=i{n}.png>",
        n % 3
    );
    for item in 0..n % 5 {
        let price = [
            format!("£{n},{:03}.50", item * 7),
            format!("{n}.{:03},50 €", item * 7),
            format!("{n}\u{a0}kr"),
            "on request".to_owned(),
        ];
        let _ = write!(
            html,
            "<li><b>{}</b><i>{}</i><u>a,\"{n}\"\n b</u><u>é</u><q>x<br>y</q></li>",
            if (n + item) % 7 == 0 { "" } else { "Name;" },
            price[(n + item) % 4],
        );
    }
    match n % 50 {
        13 => Resp::text(html),
        17 => Resp::new(302).header("Location", format!("/p/{}", n % 10)),
        23 => {
            let (bytes, _, _) = encoding_rs::WINDOWS_1252.encode(&html);
            Resp::new(200)
                .header("Content-Type", "text/html; charset=windows-1252")
                .body(bytes.into_owned())
        }
        29 => Resp::html(""),
        _ => Resp::html(html).header("X-Odd", "caf\u{e9}"),
    }
}

/// A crawl of the shop with every kind of output.
fn shop_config(port: u16) -> String {
    format!(
        r#"
        [crawl]
        seeds = ["http://127.0.0.1:{port}/p/0"]
        [policy]
        max_requests_per_minute = "none"
        concurrency = 8
        host_concurrency = 8
        [robots]
        obey = false
        [output]
        path = "pages.jsonl"
        bodies = "bodies/"
        log = "log.jsonl"
        fields = ["url", "requested", "redirects", "status", "content_type", "title", "description",
            "canonical", "lang", "bytes", "depth", "referrer", "links", "fetched_at", "elapsed_ms",
            "seen_type", "text", "links_list", "headers", "hash", "changed", "jsonld"]
        [extract.item]
        select = "li"
        output = "items.csv"
        [extract.item.fields]
        name = {{ select = "b", required = true }}
        price = {{ select = "i", type = "number" }}
        notes = {{ select = "u", type = "list" }}
        html = {{ select = "q", type = "html" }}
        [extract.page]
        paths = ["/p/*"]
        fields = {{ title = "title", image = {{ select = "img", type = "url" }}, nothing = {{ select = "s", default = "-" }} }}
        [extract.other]
        select = "li"
        output = "items.csv"
        fields = {{ quote = "q" }}
        "#
    )
}

/// What the shop's crawl writes.
const SHOP_OUTPUTS: [&str; 2] = ["pages.jsonl", "items.csv"];

#[test]
fn a_thousand_pages_give_the_same_online_and_offline() {
    let server = Server::builder().start(shop);
    let case = Case::new(&shop_config(server.port()));
    case.run().expect_code(0);
    let records = jsonl::parse(&case.read("pages.jsonl"));
    let (items, pages): (Vec<_>, Vec<_>) = records.iter().partition(|r| r.get("extract").is_some());
    let redirected = PAGES / 50;
    assert!(pages.len() >= PAGES - 2 * redirected, "{}", pages.len());
    assert!(items.len() > PAGES * 9 / 10 && items.iter().all(|item| item["nothing"] == "-"));
    assert!(
        case.read("items.csv")
            .starts_with("url,extract,name,price,notes,html,quote\r\n")
    );
    case.again_is_the_same(&SHOP_OUTPUTS);

    // Other rules over the same bodies, all on standard output.
    let again = case.canter("extract", &["--set", "extract.page.fields={n='title'}"]);
    let again = again.run().expect_code(0);
    let rules = |name: &str| {
        again
            .records()
            .iter()
            .filter(|item| item["extract"] == name)
            .count()
    };
    assert_eq!(rules("page"), items.len());
    let rows = case.read("items.csv").matches(",item,").count();
    assert_eq!(rules("item"), rows);
    assert!(
        again
            .records()
            .iter()
            .all(|item| item.get("image").is_none())
    );
}

#[test]
fn a_run_that_is_killed_again_and_again_has_each_item_once_and_the_same_offline() {
    let server = Server::builder().start(shop);
    let config = format!("{}\n[state]\ndir = \"state\"\n", shop_config(server.port()));
    let case = Case::new(&config);
    let mut asked = 0;
    for _ in 0..4 {
        let mut run = case.canter("run", &[]).start();
        asked += 150;
        server.wait_for_requests(asked, PATIENCE);
        // Not only right at a request: also while something is written.
        std::thread::sleep(Duration::from_millis(30));
        run.signal("KILL");
        assert_eq!(run.wait().signal(), Some(9));
        asked = server.log().len();
    }
    case.run().expect_code(0);
    let csv = case.read("items.csv");
    assert_eq!(csv.matches("url,extract,").count(), 1, "one header");
    let log = jsonl::parse(&case.read("log.jsonl"));
    let done = log.iter().filter(|line| line["end"] == "done").count();
    let records = jsonl::parse(&case.read("pages.jsonl"));
    let pages: Vec<Value> = records
        .into_iter()
        .filter(|r| r.get("extract").is_none())
        .collect();
    assert_eq!(jsonl::by(&pages, "url").len(), done);
    case.again_is_the_same(&SHOP_OUTPUTS);

    // Another pass over the site: what is there is known.
    case.run().expect_code(0);
    let records = jsonl::parse(&case.read("pages.jsonl"));
    let changed = |value: Value| {
        records
            .iter()
            .filter(|record| record["changed"] == value)
            .count()
    };
    assert_eq!(changed(Value::Bool(false)), done, "no page has changed");
    assert_eq!(
        case.read("items.csv").matches("url,extract,").count(),
        1,
        "one header"
    );
    case.again_is_the_same(&SHOP_OUTPUTS);
}

/// A site of one page.
fn one_page(html: &'static str) -> Server {
    Server::builder().start(move |req| match req.path.as_str() {
        "/" => Resp::html(html),
        _ => Resp::new(404),
    })
}

fn one_page_config(port: u16, more: &str) -> String {
    format!(
        "[crawl]\nseeds = [\"http://127.0.0.1:{port}/\"]\n[output]\npath = \"out.csv\"\n\
         fields = [\"url\", \"title\"]\nbodies = \"kept\"\n{more}"
    )
}

#[test]
fn rows_come_after_the_rows_there_are_and_a_torn_one_is_cut_off() {
    let server = one_page("<title>a, \"b\"</title>");
    let case = Case::new(&one_page_config(server.port(), ""));
    let url = server.url("/");
    let row = format!("{url},\"a, \"\"b\"\"\"\r\n");
    case.run().expect_code(0);
    assert_eq!(case.read("out.csv"), format!("url,title\r\n{row}"));
    case.folder
        .write("out.csv", format!("url,title\r\n{row}x,\"half\n a"));
    let run = case.run().expect_code(0);
    assert!(run.stderr.contains("cut off 10 bytes"), "{}", run.stderr);
    assert_eq!(case.read("out.csv"), format!("url,title\r\n{row}{row}"));
    case.folder.write("out.csv", "url,ti");
    case.run().expect_code(0);
    assert_eq!(case.read("out.csv"), format!("url,title\r\n{row}"));
}

#[test]
fn a_file_with_other_columns_is_not_appended_to() {
    let server = one_page("<title>a</title>");
    let case = Case::new(&one_page_config(server.port(), ""));
    for text in ["url,status\r\nx,200\r\n", "title,url\r\n", "{}\n"] {
        case.folder.write("out.csv", text);
        let run = case.run().expect_code(2);
        assert!(
            run.stderr.contains("has other columns than url,title"),
            "{}",
            run.stderr
        );
        assert_eq!(case.read("out.csv"), text);
    }
    assert!(server.log().is_empty(), "found before any request");
    case.canter("run", &["--set", "output.existing=replace"])
        .run()
        .expect_code(0);
    assert!(case.read("out.csv").starts_with("url,title\r\nhttp"));
}

#[test]
fn columns_that_change_within_a_crawl_with_a_state_are_refused() {
    let server = one_page("<title>a</title>");
    let case = Case::new(&one_page_config(
        server.port(),
        "[state]\ndir = \"state\"\n",
    ));
    case.run().expect_code(0);
    let before = case.read("out.csv");
    let run = case
        .canter("run", &["--set", "output.fields=[\"title\"]"])
        .run()
        .expect_code(2);
    assert!(run.stderr.contains("other columns"), "{}", run.stderr);
    assert_eq!(case.read("out.csv"), before);
    case.run().expect_code(0);
}

#[test]
fn a_crawl_without_items_still_says_what_would_be_in_them() {
    let server = one_page("<title>a</title>");
    let rules = "pages = false\n[extract.x]\nselect = \"li\"\nfields = { \"a b\" = \"b\" }\n";
    let case = Case::new(&one_page_config(server.port(), rules));
    case.run().expect_code(0);
    assert_eq!(case.read("out.csv"), "url,extract,a b\r\n");
    case.again_is_the_same(&["out.csv"]);
}

#[test]
fn a_last_line_that_is_torn_is_passed_over_and_a_lost_body_is_told() {
    let server = Server::builder().start(shop);
    let case = Case::new(&shop_config(server.port()));
    case.canter("run", &["--max-requests", "20"])
        .run()
        .expect_code(3);
    let index = case.read("bodies/index.jsonl");
    case.folder
        .write("bodies/index.jsonl", format!("{index}{{\"url\":\"http"));
    case.again_is_the_same(&SHOP_OUTPUTS);

    case.folder
        .write("bodies/index.jsonl", format!("{{\"no\":1}}\n{index}"));
    let line: Value = serde_json::from_str(index.lines().next().expect("a line")).expect("JSON");
    let hash = jsonl::text(&line, "hash");
    fs::remove_file(case.folder.join(format!("bodies/{}/{hash}.gz", &hash[..2]))).expect("a body");
    let run = case.canter("extract", &[]).run().expect_code(1);
    for part in [
        "bodies/index.jsonl: line 1: ",
        &format!("{}: cannot read the body in ", jsonl::text(&line, "url")),
        "; 2 pages could not be read",
    ] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
    assert!(!run.records().is_empty(), "the others are read");
}

#[test]
fn an_item_without_what_it_must_have_is_left_out_and_told() {
    let server = one_page("<ul><li><b>one</b><i>£1</i><li><i>£2</i></ul>");
    let rules = "pages = false\n[extract.x]\nselect = \"li\"\n\
        fields = { name = { select = \"b\", required = true }, price = { select = \"i\", type = \"number\" } }\n";
    let case = Case::new(&one_page_config(server.port(), rules));
    let run = case.run().expect_code(0);
    let url = server.url("/");
    let said =
        format!("{url}: extract.x.name, item 2: no element matches \"b\"; the item is left out");
    assert!(run.stderr.contains(&said), "{}", run.stderr);
    assert_eq!(
        case.read("out.csv"),
        format!("url,extract,name,price\r\n{url},x,one,1\r\n")
    );
}

#[test]
fn extract_says_what_keeps_it_from_extracting() {
    let server = one_page("<title>a</title>");
    let rules = "[extract.x]\nfields = { a = \"title\" }\n";
    let case = Case::new(&one_page_config(server.port(), rules));
    let check = |more: &[&str], code: i32, part: &str| {
        let run = case.canter("extract", more).run().expect_code(code);
        assert!(run.stderr.contains(part), "{more:?}: {}", run.stderr);
        assert!(run.stdout.is_empty());
    };
    check(&[], 1, "no crawl has kept a body yet");
    case.run().expect_code(0);
    check(&["-o", "a.jsonl", "--into", "b"], 2, "exclude each other");
    check(
        &["-o", "out.csv"],
        2,
        "out.csv is a file of the crawl itself",
    );
    check(&["--into", "."], 2, "is a file of the crawl itself");
    for (file, owner) in [
        ("kept/x.jsonl", "inside output.bodies"),
        ("./none/../out.csv", "the file of output.path"),
        ("c.toml", "the configuration file"),
    ] {
        let said =
            format!("--output: {file} is a file of the crawl itself ({owner}); name another");
        check(&["-o", file], 2, &said);
    }
    check(
        &["--set", "output.bodies=other"],
        1,
        "no crawl has kept a body yet",
    );
    let bare = Case::new(&one_page_config(server.port(), ""));
    bare.run().expect_code(0);
    let run = bare.canter("extract", &[]).run().expect_code(2);
    assert!(
        run.stderr.contains("has no [extract.NAME]"),
        "{}",
        run.stderr
    );
    bare.again_is_the_same(&["out.csv"]);
    let none = Case::new(&one_page_config(server.port(), "").replace("bodies = \"kept\"\n", ""));
    let run = none.canter("extract", &[]).run().expect_code(2);
    assert!(
        run.stderr.contains("has no output.bodies"),
        "{}",
        run.stderr
    );
    let names: Vec<_> = fs::read_dir(case.folder.path())
        .expect("a folder")
        .collect();
    assert_eq!(
        names.len(),
        3,
        "nothing is left of what was refused: {names:?}"
    );
}

#[test]
fn passes_that_are_read_as_one_are_told() {
    let server = one_page("<title>a</title>");
    let rules = "[extract.x]\nfields = { a = \"title\" }\noutput = \"x-{pass}.csv\"\n";
    let case = Case::new(&one_page_config(server.port(), rules));
    case.run().expect_code(0);
    let run = case.canter("extract", &["--into", "b"]).run();
    let run = run.expect_code(0);
    let said = "canter: {pass} in extract.x.output stands for 1: the kept pages of all passes";
    assert_eq!(run.stderr.matches(said).count(), 1, "{}", run.stderr);
    assert_eq!(case.read("b/x-1.csv"), case.read("x-1.csv"));
    for more in [&["-o", "b.jsonl"][..], &[]] {
        let run = case.canter("extract", more).run().expect_code(0);
        assert!(!run.stderr.contains("{pass}"), "{}", run.stderr);
    }
}

#[test]
fn a_reader_that_goes_away_ends_the_extraction_like_other_programs() {
    let server = Server::builder().start(shop);
    let case = Case::new(&shop_config(server.port()));
    case.run().expect_code(0);
    let shell = format!(
        "{} extract c.toml -q 2>/dev/null | head -n 1 >/dev/null; echo ${{PIPESTATUS[0]}}",
        env!("CARGO_BIN_EXE_canter")
    );
    let run = common::Program::new("bash", ["-c", &shell])
        .dir(case.folder.path())
        .run();
    assert_eq!(run.out().trim(), "141");
}
