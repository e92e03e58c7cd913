//! The trees that pages make, against those of the tree builder's own tokenizer.

use std::fs;

use html5ever::driver::{self, ParseOpts};
use html5ever::tendril::TendrilSink as _;

use super::*;

/// Pages that chance makes.
const ROUNDS: usize = 2_000;

/// The tree that the tree builder and its own tokenizer make.
fn reference(source: &str) -> Html {
    let options = ParseOpts {
        tree_builder: TreeBuilderOpts {
            scripting_enabled: false,
            ..TreeBuilderOpts::default()
        },
        ..ParseOpts::default()
    };
    let sink = HtmlTreeSink::new(Html::new_document());
    driver::parse_document(sink, options).one(source)
}

fn agree(source: &str) {
    let html = parse(source).unwrap_or_else(|error| panic!("{source:?}: {error}"));
    assert_eq!(html, reference(source), "{source:?}");
}

#[test]
fn a_page_makes_the_tree_that_the_builders_own_tokenizer_makes() {
    for source in [
        "",
        "\u{feff}\u{feff}x",
        "a&amp;b&notit;&not;&#x80;&#0;&#1114112;&copy&ampx&unknown; <a href='?a=1&copy=2&lt;'>",
        "<pre>\n\nx</pre><textarea>\r\n\r\ny</textarea><listing>\0\nz",
        "a\rb\r\nc\0d<title>\0&lt;b>x</b></title><script>\0<!--<script></script>--></script>",
        "<!DOCTYPE html><p><table>",
        "<p><table>",
        "<!doctype><p><table>x<tr>y",
        "<!DOCTYPE html PUBLIC '-//W3C//DTD HTML 4.01//EN' \"http://www.w3.org/TR/html4/strict.dtd\">x",
        "<!DOCTYPE é SYSTEM 'é' x><!DOCTYPE html>",
        "<!-- é --!><!--><!---><!-x-><?php ?></ x></><!-- a -- b <!-- c",
        "<DIV ID=a id=b É=Ü x='é' y z/ =w \"q>é</DIV ID=c><br/></br></p><é>x</é>",
        "<b><p>x</b>y<i>z</p>w<a href=1>u<a href=2>v<nobr>a<nobr>b",
        "<svg><![CDATA[x<y\0]]><title><b>z</title><a xlink:href=q/><foreignObject><p>t</svg><![CDATA[u]]>",
        "<math><mi><b>x</mi><annotation-xml encoding=text/html><p>y</math>",
        "<noscript><img src=a></noscript><iframe><b></iframe><xmp><b></xmp><noembed><b></noembed>",
        "<select><option>a<option>b<optgroup><input>c",
        "<frameset><frame></frameset>x",
        "<template><tr><td>x</template><html lang=de><body class=x>",
        "<style><!-- </style> --></style>x<plaintext></plaintext>é",
        "<script><!--é<script>é</script>é-->é</script>é<script>é-é--é",
        "<title>é",
        "<p é",
        "<p x=é",
        "<!--é",
        "<!doctype é",
    ] {
        agree(source);
    }
}

#[test]
fn a_page_cut_anywhere_makes_the_same_tree_too() {
    let text = "é€🦀&amp;<b q=é>x</b>\r\n<!-- é --><script>é<!-- é";
    for (end, _) in text.char_indices() {
        agree(&text[..end]);
    }
}

#[test]
fn pages_of_random_pieces_make_the_same_trees() {
    const PIECES: [&str; 64] = [
        "<",
        ">",
        "</",
        "/>",
        "<!--",
        "-->",
        "--!>",
        "<!",
        "<?",
        "=",
        "'",
        "\"",
        " ",
        "\n",
        "\r",
        "\0",
        "&",
        "&am",
        "&amp;",
        "&notin;",
        "&#",
        "x41;",
        "65",
        ";",
        "é",
        "a",
        "A",
        "-",
        "]]>",
        "<![CDATA[",
        "<!doctype",
        "html",
        " PUBLIC",
        " system",
        "script",
        "style",
        "title",
        "textarea",
        "plaintext",
        "svg",
        "math",
        "mi",
        "<p>",
        "<b>",
        "</b>",
        "<a href=",
        "<table>",
        "<td>",
        "<select>",
        "</p>",
        "<svg>",
        "<math>",
        "<desc>",
        "</svg>",
        "<script>",
        "</script>",
        "<template>",
        "<pre>",
        "<li>",
        "<form>",
        "<h1>",
        "<br",
        "xmp",
        "noscript",
    ];
    let mut rng = fastrand::Rng::with_seed(7);
    for _ in 0..ROUNDS {
        let pieces = (0..rng.usize(..24)).map(|_| PIECES[rng.usize(..PIECES.len())]);
        agree(&pieces.collect::<String>());
    }
}

#[test]
fn the_pages_that_were_kept_for_fuzzing_make_the_same_trees() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/corpus/html");
    let mut seen = 0;
    for entry in fs::read_dir(folder).expect("the corpus") {
        let page = fs::read(entry.expect("a page").path()).expect("a page");
        agree(&String::from_utf8_lossy(&page));
        seen += 1;
    }
    assert!(seen > 0);
}

/// The builder's own tokenizer compares each attribute with all before it: with
/// so many it is at work for minutes.
#[test]
fn a_tag_of_very_many_attributes_is_read_like_any_other() {
    let attributes: String = (0..500_000).map(|n| format!(" a{n}=1")).collect();
    let html = parse(&format!("<p{attributes}>x</p>")).expect("a tree");
    let selector = scraper::Selector::parse("p[a499999]").expect("a selector");
    assert_eq!(html.select(&selector).count(), 1);
}

#[test]
fn a_page_that_heaps_attributes_on_its_root_or_body_is_refused() {
    let once: String = (0..=MAX_SHARED).map(|n| format!(" a{n}=1")).collect();
    let tag_by_tag = |name: &str| -> String {
        let tag = |n| format!("<{name} a{n}=1>");
        (0..=MAX_SHARED).map(tag).collect()
    };
    for page in [
        format!("<body{once}>"),
        format!("<html{once}>"),
        tag_by_tag("html"),
        tag_by_tag("body"),
    ] {
        let error = parse(&page).expect_err("too many");
        assert!(error.message().contains("attributes"), "{error}");
    }
    let fewer = |name: &str| format!("<{name}{}>", once.replace(" a0=1", ""));
    parse(&fewer("body")).expect("as many as there may be");
}
