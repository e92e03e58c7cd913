//! The site of the whole crawls: pages of 12 KB with 32 links each, made anew
//! from their numbers, the same on every machine.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Pages of the site, the first one included.
pub(crate) const PAGES: usize = 10_001;
/// Links on each page.
pub(crate) const LINKS: usize = 32;
/// Bytes of a page.
const BYTES: usize = 12_000;
/// Pages in a folder.
const FOLDER: usize = 500;
/// Every page names so many pages that are named nowhere nearer to the first
/// one: all are within six links of it.
const CHILDREN: usize = 8;
/// The pages that every page links to, as a menu does.
const MENU: [usize; 6] = [0, 1, 2_001, 4_001, 6_001, 8_001];

const WORDS: [&str; 24] = [
    "lamp", "harbour", "and", "of", "the", "evening", "copper", "a", "slow", "window", "under",
    "which", "rain", "had", "fallen", "keeper", "stairs", "with", "light", "north", "to", "from",
    "glass", "tide",
];

/// The path of a page.
pub(crate) fn path(page: usize) -> String {
    if page == 0 {
        return "/".to_owned();
    }
    format!("/s{:02}/page-{page:05}.html", page / FOLDER)
}

/// Writes every page to where a server of files finds it.
pub(crate) fn write(folder: &Path) {
    for number in (0..PAGES).step_by(FOLDER) {
        let name = format!("s{:02}", number / FOLDER);
        fs::create_dir_all(folder.join(name)).expect("a folder for the site");
    }
    for number in 0..PAGES {
        let name = match path(number).trim_start_matches('/') {
            "" => "index.html".to_owned(),
            name => name.to_owned(),
        };
        fs::write(folder.join(name), page(number)).expect("a page of the site");
    }
}

/// A page, as people write them: head, menu, text with links in it, a list, a
/// script.
pub(crate) fn page(number: usize) -> String {
    let mut rng = fastrand::Rng::with_seed(number as u64);
    let mut page = String::with_capacity(BYTES + 1_024);
    write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <title>Page {number} of the lamps &amp; harbours</title>\n\
         <meta name=\"description\" content=\"What page {number} has to say.\">\n\
         <link rel=\"stylesheet\" href=\"/style.css\">\n\
         <style>body {{ margin: 0 auto; max-width: 60em }} nav a {{ padding: 1em }}</style>\n\
         </head>\n<body class=\"article\">\n<nav id=\"menu\">\n"
    )
    .expect("memory");
    for target in MENU {
        let path = path(target);
        writeln!(page, "<a class=\"entry\" href=\"{path}\">Part {target}</a>").expect("memory");
    }
    page.push_str("</nav>\n<main>\n");
    let mut links = MENU.len();
    page.push_str("<ul class=\"more\">\n");
    for child in 1..=CHILDREN {
        let href = relative(number, (number * CHILDREN + child) % PAGES);
        writeln!(page, "<li><a href=\"{href}\" title=\"more\">More</a></li>").expect("memory");
        links += 1;
    }
    page.push_str("</ul>\n");
    while links < LINKS {
        page.push_str("<p>");
        words(&mut page, &mut rng, 30);
        let href = relative(number, rng.usize(..PAGES));
        write!(page, "<a href=\"{href}\">").expect("memory");
        words(&mut page, &mut rng, 2);
        page.push_str("</a> ");
        words(&mut page, &mut rng, 10);
        page.push_str("<em>");
        words(&mut page, &mut rng, 2);
        page.push_str("</em></p>\n");
        links += 1;
    }
    page.push_str("<!-- what follows has no links -->\n<script>\nvar a = 1 < 2;\n</script>\n");
    let end = "</main>\n</body>\n</html>\n";
    while page.len() + end.len() < BYTES {
        page.push_str("<p class=\"text\">");
        words(&mut page, &mut rng, 60);
        page.push_str("&mdash; <b>");
        words(&mut page, &mut rng, 2);
        page.push_str("</b></p>\n");
    }
    page.push_str(end);
    page
}

fn words(page: &mut String, rng: &mut fastrand::Rng, count: usize) {
    for _ in 0..count {
        page.push_str(WORDS[rng.usize(..WORDS.len())]);
        page.push(' ');
    }
}

/// A link as one writes it within a folder, or to another.
fn relative(from: usize, to: usize) -> String {
    let path = path(to);
    if from == 0 || to == 0 {
        return path;
    }
    if from / FOLDER == to / FOLDER {
        return path.rsplit('/').next().unwrap_or_default().to_owned();
    }
    format!("..{path}")
}
