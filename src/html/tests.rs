//! What the pieces do together: which tags make links, and what a page says.

use encoding_rs::{UTF_8, WINDOWS_1252};
use url::Url;

use super::{Link, LinkKind, Page, PageOptions, page_links};

fn base() -> Url {
    Url::parse("http://a.test/x/y.html?z").expect("a URL")
}

fn page(html: &str) -> Page {
    let options = PageOptions::new().metas(true).text(true).agent("canter/1");
    Page::parse(html, &base(), UTF_8, &options)
}

/// The links without the part that is the base's in most tests.
fn hrefs(html: &str) -> Vec<String> {
    let short = |link: Link| {
        let url = String::from(link.url);
        url.strip_prefix("http://a.test").unwrap_or(&url).to_owned()
    };
    page_links(html, &base()).into_iter().map(short).collect()
}

#[track_caller]
fn links(html: &str, expected: &[&str]) {
    assert_eq!(hrefs(html), expected, "{html}");
}

#[test]
fn white_space_in_and_around_a_reference_is_dropped() {
    links(
        "<a href=' http://b.test/ '><a href='&#10;&#9;/feed.xml &#10;'><a href='/a&#10;b'><a href=/bare>",
        &["http://b.test/", "/feed.xml", "/ab", "/bare"],
    );
}

#[test]
fn the_first_base_with_an_address_counts_wherever_it_stands() {
    let two = "<a href=p><a href='?q=1'>";
    let bases = "<base target=_top><base href='/app/'><base href='/no/'>";
    links(&format!("{bases}{two}"), &["/app/p", "/app/?q=1"]);
    links(&format!("{two}{bases}"), &["/app/p", "/app/?q=1"]);
    for ignored in ["javascript:0", "data:,x", "http://[bad/"] {
        links(
            &format!("<base href='{ignored}'><base href=/no/>{two}"),
            &["/x/p", "/x/y.html?q=1"],
        );
    }
    links(
        &format!("<base href=myself.html>{two}"),
        &["/x/p", "/x/myself.html?q=1"],
    );
    links(&format!("<base href=''>{two}"), &["/x/p", "/x/y.html?q=1"]);
}

#[test]
fn a_base_that_is_no_html_element_of_the_page_does_not_count() {
    for hidden in [
        "<template><base href=/no/></template>",
        "<svg><base href=/no/></svg>",
        "<textarea><base href=/no/></textarea>",
        "<!--<base href=/no/>-->",
        "<noembed><base href=/no/></noembed>",
    ] {
        links(&format!("{hidden}<a href=p>"), &["/x/p"]);
    }
    links("<table><tr><base href=/b/></table><a href=p>", &["/b/p"]);
    links(
        "<svg><foreignObject><base href=/b/></svg><a href=p>",
        &["/b/p"],
    );
}

#[test]
fn a_base_of_another_scheme_leaves_only_absolute_links() {
    links(
        "<base href='mailto:x@b.test'><a href=p><a href=http://b.test/>",
        &["http://b.test/"],
    );
}

#[test]
fn character_references_are_decoded_as_in_attributes() {
    links(
        "<a href='/l?&amp;p=2'><a href='/l?x=1&#38;p=3'><a href='/l?a=1&copy=2'><a href='/l?a=1&lt;'>",
        &["/l?&p=2", "/l?x=1&p=3", "/l?a=1&copy=2", "/l?a=1%3C"],
    );
}

#[test]
fn what_is_no_web_link_is_left_out_and_what_is_no_url_counted() {
    let html = "<a href=mailto:x@b.test><a href=TEL:1><a href='JavaScript:x()'><a href='data:,x'>\
                <a href='1.&#9;https://b.test/'><a href='C:\\x'><a href='#'><a href><a href='http://'>\
                <a href='http://[::1'><a href='http:///x'><a href='http://[::1'>";
    links(html, &["/x/y.html?z#", "/x/y.html?z", "http://x/"]);
    assert_eq!(page(html).malformed_links(), 3);
}

#[test]
fn monstrous_references_are_read_without_a_panic() {
    let long = "a".repeat(100_000);
    assert_eq!(
        hrefs(&format!("<a href={long}><a href='/\0'>"))[1],
        "/%EF%BF%BD"
    );
    let name = format!("<{long} {long}={long}><a href=/b>");
    links(&name, &["/b"]);
}

#[test]
fn text_elements_hide_what_looks_like_tags() {
    for element in [
        "title", "textarea", "script", "style", "xmp", "iframe", "noembed", "noframes",
    ] {
        let html =
            format!("<{element}><a href=/no></{element}x><a href=/no></{element} ><a href=/b>");
        links(&html, &["/b"]);
        // To the end of the page if it never ends.
        links(&format!("<a href=/a><{element}><a href=/no>"), &["/a"]);
    }
    links("<a href=/a><plaintext></plaintext><a href=/no>", &["/a"]);
    links(
        "<script><!--<script></script><a href=/no>--></script><a href=/b>",
        &["/b"],
    );
    links("<textarea/><a href=/no></textarea><a href=/b>", &["/b"]);
}

#[test]
fn what_stands_in_noscript_counts() {
    links(
        "<head><noscript><a href=/a></noscript></head><a href=/b>",
        &["/a", "/b"],
    );
    links("<p><noscript><iframe src=/f></iframe></noscript>", &["/f"]);
}

#[test]
fn what_stands_in_a_template_is_no_part_of_the_page() {
    links(
        "<template><a href=/no><template></template><a href=/no></template><a href=/b>",
        &["/b"],
    );
    links(
        "</template><a href=/a><template><svg></template><a href=/b>",
        &["/a", "/b"],
    );
    links(
        "<head><template><div><a href=/no></template><base href=/c/></head><a href=d>",
        &["/c/d"],
    );
    links(
        "<template><textarea></template></textarea><a href=/no></template><a href=/b>",
        &["/b"],
    );
    links(
        "<template><meta http-equiv=refresh content='0;/no'><meta name=robots content=none></template>",
        &[],
    );
}

#[test]
fn comments_hide_everything() {
    links(
        "<!-- <a href=/no> --!><a href=/a><!--><a href=/b><!---><a href=/c>",
        &["/a", "/b", "/c"],
    );
    links(
        "<!-- <!-- <a href=/no> --><a href=/a><!-- <!--><a href=/b>",
        &["/a", "/b"],
    );
    links(
        "<! <a href=/no><a href=/a></ x><a href=/b><?php <a href=/no?><a href=/c>",
        &["/a", "/b", "/c"],
    );
    links("<a href=/a><!-- <a href=/no> -- >", &["/a"]);
}

#[test]
fn a_cdata_section_is_text_in_foreign_content_and_a_comment_elsewhere() {
    links(
        "<svg><![CDATA[<a href=/no>]]><a href=/a></svg><![CDATA[<a href=/b>]]>",
        &["/a"],
    );
    links("<svg><![CDATA[ > <a href=/no>]]></svg><a href=/b>", &["/b"]);
    links("<![CDATA[ > <a href=/a>]]>", &["/a"]);
}

#[test]
fn names_that_mean_something_in_html_mean_nothing_in_svg() {
    for element in [
        "title",
        "style",
        "script",
        "textarea",
        "iframe",
        "xmp",
        "noembed",
        "plaintext",
    ] {
        links(
            &format!("<svg><{element}><a href=/a></{element}></svg><a href=/b>"),
            &["/a", "/b"],
        );
    }
    links(
        "<svg><iframe src=/no /><area href=/no /><frame src=/no /><a href=/a /></svg>",
        &["/a"],
    );
    links("<svg><template><a href=/a></template></svg>", &["/a"]);
    links("<svg/><style><a href=/no></style><a href=/a>", &["/a"]);
    links("<math><a href=/a></math>", &["/a"]);
}

#[test]
fn html_goes_on_inside_of_integration_points() {
    links(
        "<svg><title><style><a href=/no></style><a href=/a></a></title><style><a href=/b></svg>",
        &["/a", "/b"],
    );
    links("<svg><desc><iframe src=/f></iframe></desc></svg>", &["/f"]);
    links(
        "<math><mi><style><a href=/no></style></mi><style><a href=/a></style></math>",
        &["/a"],
    );
    links(
        "<math><annotation-xml encoding='TEXT/html'><iframe src=/f></iframe></annotation-xml></math>",
        &["/f"],
    );
    links(
        "<math><annotation-xml><iframe src=/no></iframe><svg><a href=/a></svg></annotation-xml></math>",
        &["/a"],
    );
    links(
        "<svg><foreignObject><p><div></p><textarea></svg></textarea></foreignObject><style><a href=/a>",
        &[],
    );
}

#[test]
fn html_elements_and_end_tags_of_what_surrounds_it_end_foreign_content() {
    links("<svg><p><iframe src=/f></iframe>", &["/f"]);
    links(
        "<svg><font><iframe src=/no><font color=red><iframe src=/f></iframe>",
        &["/f"],
    );
    links("<div><svg></div><iframe src=/f></iframe>", &["/f"]);
    links("<svg></div><iframe src=/no></iframe>", &[]);
    links("<svg></p><iframe src=/f></iframe>", &["/f"]);
    links("<svg><g></svg><iframe src=/f></iframe>", &["/f"]);
}

#[test]
fn form_lists_may_hold_anything() {
    links(
        "<select><option><a href=/a></option></select><a href=/b>",
        &["/a", "/b"],
    );
}

#[test]
fn frames_count_in_framesets_and_nothing_else_does() {
    links(
        "<head><title>t</title></head><frameset><frame src=/a><a href=/no><script><frame src=/b></script>\
         <frameset><frame src=/c></frameset><noframes><a href=/no></noframes><frame src=/d></frameset>\
         <frame src=/no><a href=/no>",
        &["/a", "/b", "/c", "/d"],
    );
    links("<body><frame src=/no><a href=/a>", &["/a"]);
}

#[test]
fn a_frameset_takes_the_place_of_a_body_without_content() {
    links(
        "<base href=/b/><a href=/no><base href=/no/>\n<div><frameset><frame src=a>",
        &["/b/a"],
    );
    links(
        "<a href=/no><base href=/no/><frameset><frame src=a>",
        &["/x/a"],
    );
    for content in [
        "text", "<br>", "<img>", "<input>", "<li>", "<table>", "</br>", "<body>", "&nbsp;",
    ] {
        links(
            &format!("{content}<a href=/a><frameset><frame src=/no>"),
            &["/a"],
        );
    }
    for nothing in [
        " \n",
        "<p>",
        "<input type=HIDDEN>",
        "<!-- x -->",
        "<script>x</script>",
        "\0",
        "</body>",
    ] {
        links(
            &format!("<html>{nothing}<a href=/no><frameset><frame src=/f>"),
            &["/f"],
        );
    }
}

#[test]
fn a_frame_without_an_address_is_no_link() {
    links(
        "<iframe src=''></iframe><iframe></iframe><iframe src=' '></iframe>",
        &["/x/y.html?z"],
    );
}

#[test]
fn every_refresh_with_a_target_is_a_link() {
    links(
        "<meta http-equiv=Refresh content='5; URL=/a'><body><p><meta http-equiv=refresh content=\"0;url='/b'\">\
         <meta http-equiv=refresh content=5><meta name=refresh content='0;url=/no'>",
        &["/a", "/b"],
    );
}

#[test]
fn a_link_has_the_kind_of_its_first_place() {
    use LinkKind::{Anchor, Area, Frame, Refresh};
    let html = "<iframe src=/a></iframe><a href=/a><area href=/b><a href=/c><meta http-equiv=refresh content='1;/d'>";
    let kinds: Vec<LinkKind> = page_links(html, &base())
        .iter()
        .map(|link| link.kind)
        .collect();
    assert_eq!(kinds, [Frame, Area, Anchor, Refresh]);
}

fn nofollow(html: &str) -> Vec<bool> {
    page(html)
        .links()
        .iter()
        .map(|link| link.nofollow)
        .collect()
}

#[test]
fn nofollow_is_a_token_of_rel_on_every_link_to_the_url() {
    assert_eq!(
        nofollow(
            "<a href=/a rel='external NoFollow'><a href=/b rel=nofollowing><area href=/c rel=nofollow>"
        ),
        [true, false, true]
    );
    assert_eq!(nofollow("<a href=/a rel=nofollow><a href=/a>"), [false]);
    assert_eq!(
        nofollow("<a href=/a><a href='http://a.test/a' rel=nofollow>"),
        [false]
    );
    assert_eq!(
        nofollow("<a href=/a rel=nofollow><a href=../a rel=nofollow>"),
        [true]
    );
}

#[test]
fn a_page_can_ask_for_all_of_its_links_wherever_it_says_so() {
    for meta in [
        "<meta name=robots content='noindex,nofollow'>",
        "<META NAME=' Robots ' CONTENT=None>",
        "<meta name=CANTER content=nofollow>",
    ] {
        assert_eq!(
            nofollow(&format!("<a href=/a>{meta}<a href=/b>")),
            [true, true],
            "{meta}"
        );
    }
    let others = "<meta name=robots content=noindex><meta name=otherbot content=none>\
                  <meta name=description content=nofollow>";
    assert_eq!(nofollow(&format!("{others}<a href=/a>")), [false]);
    assert!(page(others).robots().noindex && !page(others).robots().nofollow);
}

#[test]
fn tags_that_are_cut_off_or_malformed_are_read_as_browsers_do() {
    links("<a href=/a><a href=/no", &["/a"]);
    links("<a href=/a><a href='/no>", &["/a"]);
    links(
        "<a href=/a title=x/><a href=/b/><a/href=/c><a href=\"/d\"title=x>",
        &["/a", "/b/", "/c", "/d"],
    );
    links(
        "<a href=/a href=/no><a hRef='/b' HREF=/no><a href HREF=/no>",
        &["/a", "/b", "/x/y.html?z"],
    );
    links(
        "<a xhref=/no data-href=/no><a =href=/no><a href==/a>",
        &["/x/=/a"],
    );
    links(
        "< a href=/no><a\thref=/a><a\nhref\n=\n/b><a\u{c}href='/c'>",
        &["/a", "/b", "/c"],
    );
}

#[test]
fn queries_are_in_the_encoding_of_the_page() {
    let html = "<base href='/b?é'><a href='?é'><link rel=canonical href='/é?é'>";
    let page = Page::parse(html, &base(), WINDOWS_1252, &PageOptions::new());
    assert_eq!(page.links()[0].url.as_str(), "http://a.test/b?%E9");
    assert_eq!(
        page.canonical().expect("a URL").as_str(),
        "http://a.test/%C3%A9?%E9"
    );
}

#[test]
fn a_page_says_what_it_is() {
    let page = page(
        "<!doctype html><html LANG=' de-AT '><head><title>\n Tee &amp;\t Kuchen <b> </title><title>no</title>\
         <meta name=Description content=''><meta name=description content=' Um\n vier. '>\
         <link rel='next' href=/no><link rel='x CANONICAL' href='/tee'><link rel=canonical href=/no>\
         <meta property=og:title content='Tee'><meta name=author property=og:author content=Ida>",
    );
    assert_eq!(page.title(), Some("Tee & Kuchen <b>"));
    assert_eq!(page.description(), Some("Um vier."));
    assert_eq!(page.lang(), Some("de-AT"));
    assert_eq!(page.canonical().map(Url::as_str), Some("http://a.test/tee"));
    assert_eq!(page.meta("OG:Title"), Some("Tee"));
    assert_eq!(page.meta("og:author"), page.meta("author"));
    assert_eq!(page.meta("none"), None);
    assert_eq!(page.metas().count(), 5);
    assert_eq!(page.base(), &base());
}

#[test]
fn a_page_that_says_nothing_has_nothing() {
    let page = page("<title> </title><html lang=''><link rel=canonical href=' '>text");
    assert_eq!(
        (page.title(), page.description(), page.lang()),
        (None, None, None)
    );
    assert_eq!(
        (page.canonical(), page.meta("x"), page.links().len()),
        (None, None, 0)
    );
    assert_eq!(page.text(), Some("text"));
}

#[test]
fn the_title_of_a_drawing_is_not_that_of_the_page() {
    let page = page(
        "<svg><title>no</title></svg><template><title>no</title></template><title>yes</title>",
    );
    assert_eq!(page.title(), Some("yes"));
    assert_eq!(page.text(), Some(""));
}

#[test]
fn a_byte_order_mark_is_no_content() {
    links("\u{FEFF}<frameset><frame src=/a>", &["/a"]);
}

#[test]
fn json_ld_is_gathered_in_the_order_of_the_page() {
    let json_ld = |html: &str| -> Vec<String> {
        let options = PageOptions::new().json_ld(true).text(true);
        let page = Page::parse(html, &base(), UTF_8, &options);
        page.json_ld().expect("it was asked for").to_vec()
    };
    let script = |json: &str| format!("<script type='application/ld+json'>{json}</script>");
    let page = format!(
        "<title>T</title>{}<script>{{\"no\":1}}</script><body>{}{}<svg>{}</svg>{}",
        script(" {\"a\": \"</b> <!-- &amp; --> \"} "),
        script("{broken}"),
        "<SCRIPT async TYPE=\"Application/LD+JSON; charset=utf-8\">[{\"b\":1},{}]</SCRIPT>",
        script("{\"foreign\":1}"),
        script("{\"c\":2}"),
    );
    assert_eq!(
        json_ld(&page),
        [
            "{\"a\":\"</b> <!-- &amp; --> \"}",
            "{\"b\":1}",
            "{}",
            "{\"c\":2}"
        ]
    );
    assert!(json_ld(&format!("<template>{}</template>", script("{}"))).is_empty());
    assert!(json_ld("<script type=application/ld+json>{\"cut\":").is_empty());
    assert_eq!(
        super::Page::parse("", &base(), UTF_8, &PageOptions::new()).json_ld(),
        None
    );
    let options = PageOptions::new().json_ld(true).text(true);
    let text = Page::parse(&page, &base(), UTF_8, &options);
    assert_eq!(text.text(), Some(""), "it is no text for readers");
    assert_eq!(text.title(), Some("T"));
}
