//! Behaviour of this module, test by test.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::source::{CHUNK, MAX_PIECE};
use super::*;

fn locs(sitemap: &Sitemap) -> Vec<&str> {
    sitemap
        .entries
        .iter()
        .map(|entry| entry.loc.trim_start_matches("http://a.test/"))
        .collect()
}

/// Kind, locations below `http://a.test/`, and whether there was a fault.
fn read(body: impl AsRef<[u8]>) -> (Kind, Vec<String>, bool) {
    let sitemap = parse(body.as_ref());
    let locs = locs(&sitemap).into_iter().map(str::to_owned).collect();
    (sitemap.kind, locs, sitemap.error.is_some())
}

fn whole(kind: Kind, locs: &[&str]) -> (Kind, Vec<String>, bool) {
    (
        kind,
        locs.iter().map(|&loc| loc.to_owned()).collect(),
        false,
    )
}

fn faulty(kind: Kind, locs: &[&str]) -> (Kind, Vec<String>, bool) {
    (kind, locs.iter().map(|&loc| loc.to_owned()).collect(), true)
}

fn gzip(pieces: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    for piece in pieces {
        encoder.write_all(piece.as_ref()).expect("memory");
    }
    encoder.finish().expect("memory")
}

fn entries(numbers: std::ops::Range<usize>) -> String {
    let entries: Vec<String> = numbers
        .map(|n| format!("<url><loc>http://a.test/{n}</loc></url>\n"))
        .collect();
    entries.concat()
}

#[test]
fn elements_count_by_local_name_and_place_whatever_the_namespace() {
    for open in [
        "<sm:urlset xmlns:sm='http://www.sitemaps.org/schemas/sitemap/0.9'>",
        "<urlset>",
        "<urlset xmlns='https://www.sitemaps.org/schemas/sitemap/0.9'>",
        "<urlset xmlns='http://www.google.com/schemas/sitemap/0.84'>",
        "<URLSET>",
    ] {
        let prefix = if open.starts_with("<sm:") { "sm:" } else { "" };
        let upper = |name: &str| {
            if open == "<URLSET>" {
                name.to_uppercase()
            } else {
                name.to_owned()
            }
        };
        let [url, loc] = ["url", "loc"].map(upper);
        let text = format!(
            "{open}<{prefix}{url}><image:image><image:loc>http://a.test/i.jpg</image:loc></image:image>\
             <{prefix}{loc}>http://a.test/p</{prefix}{loc}>\
             <xhtml:link rel='alternate' href='http://a.test/de'/>\
             <image><loc>http://a.test/j.jpg</loc></image></{prefix}{url}></{prefix}{}>",
            upper("urlset")
        );
        assert_eq!(read(text), whole(Kind::Urlset, &["p"]), "{open}");
    }
}

#[test]
fn what_stands_before_the_declaration_does_no_harm() {
    let list = "<?xml version='1.0' encoding='UTF-8'?><urlset><url><loc>http://a.test/é</loc></url></urlset>";
    for before in [
        "\n\n",
        "\u{feff}",
        "\u{feff}\n",
        "<br />\n<b>Warning</b>:  foo() in <b>/x.php</b> on line <b>3</b><br />\n",
        "Warning: foo() in /x.php on line 3\n",
        "<!-- cache -->",
    ] {
        let (kind, locs, _) = read(format!("{before}{list}"));
        assert_eq!(
            (kind, locs),
            (Kind::Urlset, vec!["é".to_owned()]),
            "{before:?}"
        );
    }
}

#[test]
fn other_encodings_are_decoded_by_mark_declaration_or_bytes() {
    let list = |encoding: &str| {
        format!(
            "<?xml version='1.0' encoding='{encoding}'?>\n<urlset><url><loc>http://a.test/жé</loc></url></urlset>"
        )
    };
    for mark in ["\u{feff}", ""] {
        let text = format!("{mark}{}", list("utf-16"));
        let le: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let be: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for body in [&le, &be, &gzip([&le]), &gzip([&be])] {
            assert_eq!(read(body), whole(Kind::Urlset, &["жé"]));
        }
    }
    let text = list("windows-1251").replace('é', "я");
    let (bytes, ..) = encoding_rs::WINDOWS_1251.encode(&text);
    assert_eq!(read(&bytes), whole(Kind::Urlset, &["жя"]));
    assert_eq!(read(gzip([&bytes])), whole(Kind::Urlset, &["жя"]));
    let blank = [b"\n\n", &*bytes].concat();
    assert_eq!(read(blank), whole(Kind::Urlset, &["жя"]));
    let undeclared = b"<urlset><url><loc>http://a.test/caf\xE9</loc></url></urlset>";
    assert_eq!(read(undeclared), whole(Kind::Urlset, &["café"]));
    assert_eq!(read(gzip([undeclared])), whole(Kind::Urlset, &["café"]));
}

#[test]
fn a_character_across_two_chunks_is_not_torn() {
    let before = "<urlset><!----><url><loc>http://a.test/".len();
    // Units of one byte, and of two after a byte order mark.
    for edge in [CHUNK, CHUNK / 2 - 1] {
        for padding in edge - before - 8..edge - before + 2 {
            let text = format!(
                "\u{feff}<urlset><!--{}--><url><loc>http://a.test/ю€</loc></url></urlset>",
                "x".repeat(padding)
            );
            let expected = whole(Kind::Urlset, &["ю€"]);
            let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            for body in [
                gzip([&text]),
                gzip([text.trim_start_matches('\u{feff}')]),
                wide,
            ] {
                assert_eq!(read(body), expected, "{padding}");
            }
        }
    }
    let blank = " ".repeat(3 * CHUNK);
    assert_eq!(read(format!("{blank}<urlset/>")), whole(Kind::Urlset, &[]));
}

#[test]
fn references_of_html_and_bare_ampersands_are_tolerated() {
    let text = "<rss><channel><item><title>caf&eacute; A & B &c</title><link>http://a.test/1?a=1&b=2&amp;c=3</link></item>\
                <item><title>&nope; &#0; &#xD800; &</title><link>http://a.test/caf&eacute;&#x26;&copy=1</link></item></channel></rss>";
    assert_eq!(
        read(text),
        whole(Kind::Rss, &["1?a=1&b=2&c=3", "café&&copy=1"])
    );
}

#[test]
fn a_file_cut_short_gives_the_entries_that_were_complete() {
    let text = format!("<urlset>{}</urlset>", entries(0..50));
    let whole_locs: Vec<String> = (0..50).map(|n| n.to_string()).collect();
    for cut in 0..text.len() {
        let (kind, locs, fault) = read(&text[..cut]);
        assert!(fault, "{cut}");
        assert_eq!(locs, whole_locs[..locs.len()], "{cut}");
        if cut > "<urlset>".len() {
            assert_eq!(kind, Kind::Urlset);
            assert_eq!(locs.len(), text[..cut].matches("</url>").count());
        }
    }
    let zipped = gzip([format!("<urlset>{}</urlset>", entries(0..5_000))]);
    let (kind, locs, fault) = read(&zipped[..zipped.len() / 2]);
    assert!(
        kind == Kind::Urlset && fault && locs.len() > 1_000,
        "{}",
        locs.len()
    );
    assert!(read(&zipped[..12]).2);
}

#[test]
fn broken_markup_costs_at_most_the_entry_that_it_stands_in() {
    let around = |broken: &str| {
        format!(
            "<urlset>{}{broken}{}</urlset>",
            entries(0..1),
            entries(2..3)
        )
    };
    for (broken, kept) in [
        ("<url><loc>http://a.test/1</log></url>", true),
        ("<url><loc>http://a.test/1</loc></ur></url>", true),
        ("<url><loc>http://a.test/1</loc></ur>", true),
        ("<url><loc>http://a.test/1</loc>", true),
        ("<url><loc>http://a.test/1<loc></url>", true),
        ("<url><loc>http://a.test/1</url>", true),
        ("</url></loc></p>", false),
        ("<!foo><url><loc>http://a.test/1</loc></url>", true),
        ("<![CDATX[ ]]><url><loc>http://a.test/1</loc></url>", true),
        ("<>", false),
        ("</>", false),
        ("<??>", false),
        ("<url><lastmod>2020</lastmod></url>", false),
        ("<url><loc>/relative</loc></url>", false),
        ("<url><loc>ftp://a.test/</loc></url>", false),
        ("<url><loc>http://</loc></url>", false),
        ("<url/>", false),
        ("a < b", false),
        ("<3 <", false),
        (
            "<url><title>1 < 2</title><loc>http://a.test/1</loc></url>",
            true,
        ),
        (
            "<url><title>1 <2 <br/></title><loc>http://a.test/1</loc></url>",
            true,
        ),
    ] {
        let (kind, locs, _) = read(around(broken));
        let expected: &[&str] = if kept { &["0", "1", "2"] } else { &["0", "2"] };
        assert_eq!(kind, Kind::Urlset);
        assert_eq!(locs, expected, "{broken}");
    }
    let sitemap = parse(around("<url><loc>http://a.test/1</log></url>").as_bytes());
    let message = sitemap.error.expect("a fault").to_string();
    assert_eq!(message, "mismatched end tag log at byte 71");
}

#[test]
fn what_follows_the_list_is_no_fault_and_a_second_list_counts() {
    let list = format!("<urlset>{}</urlset>", entries(1..2));
    for after in [
        "",
        "\n<!-- 0.3 s -->",
        "</body></html>",
        "<script>1 < 2</script>",
        "\0\0",
    ] {
        assert_eq!(
            read(format!("{list}{after}")),
            whole(Kind::Urlset, &["1"]),
            "{after:?}"
        );
    }
    assert_eq!(
        read(format!("{list}{list}")),
        whole(Kind::Urlset, &["1", "1"])
    );
    let members = [gzip([&list[..20]]), gzip([&list[20..]])].concat();
    assert_eq!(read(&members), whole(Kind::Urlset, &["1"]));
    let trailed = [&gzip([&list])[..], b"junk"].concat();
    assert_eq!(read(trailed), whole(Kind::Urlset, &["1"]));
}

#[test]
fn feeds_give_the_link_of_each_item_and_when_it_changed() {
    let atom = parse(
        b"<a:feed><a:link href='http://a.test/'/><a:entry><a:source><a:link href='http://a.test/no'/></a:source>\
          <a:link rel='edit' href='http://a.test/edit'/><a:published>2020</a:published>\
          <a:link rel=alternate href=' http://a.test/1?a&amp;b '/><a:link href='http://a.test/second'/>\
          <a:updated> 2021 </a:updated></a:entry>\
          <a:entry><a:link href='http://a.test/2'></a:link><a:published>2022</a:published></a:entry></a:feed>",
    );
    assert_eq!((atom.kind, locs(&atom)), (Kind::Atom, vec!["1?a&b", "2"]));
    assert_eq!(atom.entries[0].lastmod.as_deref(), Some("2021"));
    assert_eq!(atom.entries[1].lastmod.as_deref(), Some("2022"));
    assert!(atom.error.is_none());

    let rss = parse(
        b"<rss><channel><link>http://a.test/</link><item><atom:link href='http://a.test/self'/>\
          <link><![CDATA[http://a.test/1]]></link><pubDate>Mon</pubDate></item></channel></rss>",
    );
    assert_eq!((rss.kind, locs(&rss)), (Kind::Rss, vec!["1"]));
    assert_eq!(rss.entries[0].lastmod.as_deref(), Some("Mon"));

    let rdf = parse(
        b"<rdf:RDF><channel><link>http://a.test/</link></channel>\
          <item><link>http://a.test/1</link><dc:date>2004</dc:date></item></rdf:RDF>",
    );
    assert_eq!((rdf.kind, locs(&rdf)), (Kind::Rss, vec!["1"]));
    assert_eq!(rdf.entries[0].lastmod.as_deref(), Some("2004"));
}

#[test]
fn an_item_without_a_link_is_where_its_permanent_name_says() {
    let rss = parse(
        b"<rss><channel><item><guid>http://a.test/1</guid></item>\
          <item><guid isPermaLink='false'>http://a.test/no</guid></item>\
          <item><guid isPermaLink='true'>http://a.test/no</guid><link>http://a.test/2</link></item>\
          <item><link/><guid isPermaLink=true>\n http://a.test/3 </guid></item>\
          <item><guid>tag:a.test,2020:4</guid></item></channel></rss>",
    );
    assert_eq!((rss.kind, locs(&rss)), (Kind::Rss, vec!["1", "2", "3"]));
}

#[test]
fn a_file_that_is_packed_twice_is_unpacked_twice() {
    let list = format!("<urlset>{}</urlset>", entries(1..3));
    assert_eq!(
        read(gzip([gzip([&list])])),
        whole(Kind::Urlset, &["1", "2"])
    );
    let bomb = gzip([gzip([vec![b' '; 60 << 20]])]);
    assert!(parse(&bomb).error.is_some());
    let cut = gzip([&gzip([&list])[..40]]);
    assert!(parse(&cut).error.is_some());
    assert!(parse(&gzip([&[0x1f, 0x8b][..]])).error.is_some());
}

#[test]
fn a_text_list_gives_each_line_that_is_a_url() {
    let text = "\u{feff}http://a.test/1\r\n  http://a.test/2\t\rHTTP://a.test/3\n\n# no\nsee http://a.test/no\nhttp://a.test/a b\n";
    let (kind, locs, fault) = read(text);
    assert_eq!((kind, fault), (Kind::Text, false));
    assert_eq!(locs, ["1", "2", "HTTP://a.test/3"]);
    assert_eq!(read(gzip([text])).1.len(), 3);
    assert_eq!(parse(text.as_bytes()).left_out, 3);
}

#[test]
fn what_is_no_sitemap_says_so_and_why() {
    for (body, why) in [
        (&b""[..], "the file is empty"),
        (b" \n\t", "the file is empty"),
        (b"<!DOCTYPE html><p>404", "an HTML page, not a sitemap"),
        (
            b"<html><body><urlset><url><loc>http://a.test/</loc></url></urlset>",
            "an HTML page, not a sitemap",
        ),
        (b"%PDF-1.7 <<", "not a sitemap but pdf data"),
        (
            b"User-agent: *\nSitemap: /robots.txt\n",
            "not a sitemap: no urlset, sitemapindex, rss or feed, and no line that is a URL",
        ),
        (
            b"<opml><outline/></opml>",
            "not a sitemap: no urlset, sitemapindex, rss or feed, and no line that is a URL",
        ),
        (b"\x1F\x8B\x08", "unexpected end of file"),
    ] {
        let sitemap = parse(body);
        assert_eq!(sitemap.kind, Kind::Unknown);
        assert!(sitemap.entries.is_empty() && sitemap.left_out == 0);
        let error = sitemap.error.expect(why);
        assert_eq!(error.kind(), ErrorKind::Extract);
        assert_eq!(error.message(), why);
    }
}

#[test]
fn no_more_entries_are_read_than_asked_for() {
    let text = format!("<urlset>{}</urlset>", entries(0..10));
    let mut seen = Vec::new();
    let summary = parse_with(text.as_bytes(), 4, |kind, entry| {
        assert_eq!(kind, Kind::Urlset);
        seen.push(entry.loc);
        ControlFlow::Continue(())
    });
    assert_eq!((summary.entries, seen.len()), (4, 4));
    assert!(
        summary
            .error
            .expect("a fault")
            .message()
            .contains("more than 4 entries")
    );
    let summary = parse_with(text.as_bytes(), 10, |_, _| ControlFlow::Continue(()));
    assert_eq!(summary.entries, 10);
    assert!(summary.error.is_none());
    let summary = parse_with(text.as_bytes(), 10, |_, _| ControlFlow::Break(()));
    assert_eq!(summary.entries, 1);
    assert!(summary.error.is_none());

    let sitemap = parse(format!("<urlset>{}</urlset>", entries(0..MAX_ENTRIES + 1)).as_bytes());
    assert_eq!(sitemap.entries.len(), MAX_ENTRIES);
    assert!(sitemap.error.is_some());
}

/// 60 MiB in 60 KiB: what is read of it is handed over, and no more is inflated
/// than the limit.
#[test]
fn a_compressed_bomb_is_read_up_to_the_limit() {
    let filler = vec![b' '; 1 << 20];
    let tail = entries(1..2);
    let pieces = std::iter::once(format!("<urlset>{}", entries(0..1)).into_bytes())
        .chain((0..60).map(|_| [b"<!---->", &filler[..]].concat()))
        .chain([tail.into_bytes()]);
    let sitemap = parse(&gzip(pieces));
    assert_eq!(locs(&sitemap), ["0"]);
    let message = sitemap.error.expect("a fault").to_string();
    assert!(message.contains("longer than 52428800 bytes"), "{message}");
}

#[test]
fn one_endless_piece_is_not_kept_in_memory() {
    let filler = vec![b'x'; MAX_PIECE + 1];
    for open in [
        "<!--",
        "<url><loc>http://a.test/",
        "<url title='",
        "<![CDATA[",
        "&",
        "<!DOCTYPE ",
    ] {
        let text = [
            b"<urlset>",
            entries(0..1).as_bytes(),
            open.as_bytes(),
            &filler,
        ]
        .concat();
        let sitemap = parse(&text);
        assert_eq!(locs(&sitemap), ["0"], "{open}");
        let message = sitemap.error.expect(open).to_string();
        assert!(
            message.contains("longer than 4194304 bytes"),
            "{open}: {message}"
        );
    }
    let line = [b"http://a.test/1\nhttp://a.test/", &filler[..]].concat();
    assert_eq!(read(&line), faulty(Kind::Text, &["1"]));
    let long = "x".repeat(70_000);
    let text = format!(
        "<urlset><url><loc>http://a.test/{long}</loc></url>{}</urlset>",
        entries(0..1)
    );
    assert_eq!(read(text), faulty(Kind::Urlset, &["0"]));
}

/// These end soon where reading is linear, and not within a day where it looks
/// again at what it has seen.
#[test]
fn hostile_markup_takes_no_more_than_linear_time() {
    let count = 100_000;
    for unit in [
        "<!--",
        "<!",
        "<![CDATA[",
        "<a",
        "<a>",
        "</a>",
        "&",
        "&a;",
        "<url>",
        "<url><loc>",
        "<?",
        "<!DOCTYPE [",
        "<a b='",
        "<>",
        "<p></q>",
    ] {
        let text = format!("<urlset>{}", unit.repeat(count));
        let sitemap = parse(text.as_bytes());
        assert!(
            sitemap.entries.is_empty() && sitemap.error.is_some(),
            "{unit}"
        );
    }
    let deep = format!("<urlset>{}", "<a>".repeat(1_000));
    assert!(
        parse(deep.as_bytes())
            .error
            .expect("a fault")
            .message()
            .contains("deep")
    );
    let href = "&".repeat(60_000);
    let feed = format!("<feed><entry><link href='http://a.test/{href};'/></entry></feed>");
    assert_eq!(parse(feed.as_bytes()).entries.len(), 1);
    // Entries without end tags, far more than the reader may remember.
    let open = entries(0..30_000).replace("</url>", "");
    assert_eq!(
        parse(format!("<urlset>{open}</urlset>").as_bytes())
            .entries
            .len(),
        30_000
    );
}
