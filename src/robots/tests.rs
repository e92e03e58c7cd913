//! Behaviour of this module, test by test.

use super::*;

fn robots(text: &str) -> Robots {
    Robots::parse(text.as_bytes())
}

fn url(path: &str) -> Url {
    Url::parse(&format!("https://a.test{path}")).expect(path)
}

/// Which of the paths the agent may not fetch.
fn blocked<'a>(robots: &Robots, agent: &str, paths: &[&'a str]) -> Vec<&'a str> {
    let rules = robots.rules_for(agent);
    paths
        .iter()
        .copied()
        .filter(|path| {
            let allowed = robots.allows(agent, &url(path));
            assert_eq!(rules.allows(path), allowed, "{path}");
            assert_eq!(robots.decide(agent, &url(path)).allowed, allowed, "{path}");
            !allowed
        })
        .collect()
}

#[test]
fn our_own_groups_are_merged_and_the_star_group_is_for_others() {
    let paths = ["/a", "/b", "/c", "/else"];
    for (text, expected) in [
        (
            "User-agent: examplebot\nDisallow: /a\n\nUser-agent: *\nDisallow: /",
            vec!["/a"],
        ),
        (
            "User-agent: *\nDisallow: /\n\nUser-agent: examplebot\nDisallow: /a",
            vec!["/a"],
        ),
        (
            "User-agent: examplebot\nDisallow: /a\nUser-agent: *\nDisallow: /c\nUser-agent: examplebot\nDisallow: /b",
            vec!["/a", "/b"],
        ),
        (
            "User-agent: otherbot\n\nUser-agent: EXAMPLEBOT\n\nDisallow: /c",
            vec!["/c"],
        ),
        ("User-agent: examplebot-news\nDisallow: /", vec![]),
    ] {
        assert_eq!(
            blocked(&robots(text), "ExampleBot", &paths),
            expected,
            "{text}"
        );
    }
}

#[test]
fn rules_do_not_leak_out_of_a_group_that_names_nobody() {
    let paths = ["/in", "/out"];
    for agent_line in [
        "User-agent: 5bot",
        "User-agent:",
        "User-agent: ботик",
        "User-agent: *bot",
    ] {
        let text = format!("User-agent: *\nDisallow: /in\n{agent_line}\nDisallow: /\n");
        assert_eq!(blocked(&robots(&text), "us", &paths), ["/in"], "{text}");
    }
    let early = robots("Disallow: /\nCrawl-delay: 9\nUser-agent: *\nDisallow: /in");
    assert_eq!(blocked(&early, "us", &paths), ["/in"]);
    assert_eq!(early.crawl_delay("us"), None);
}

#[test]
fn other_lines_between_two_agent_lines_do_not_part_them() {
    for between in ["", "\n", "# b\n\n", "Sitemap: http://a.test/s\n"] {
        let text = format!("User-agent: a\nCrawl-delay: 5\n{between}User-agent: b\nDisallow: /\n");
        let robots = robots(&text);
        for agent in ["a", "b"] {
            assert_eq!(blocked(&robots, agent, &["/x"]), ["/x"], "{agent}");
            let delay = Some(Duration::from_secs(5));
            assert_eq!(robots.crawl_delay(agent), delay, "{agent} in {text:?}");
        }
        assert!(blocked(&robots, "c", &["/x"]).is_empty());
    }
}

#[test]
fn line_ends_and_byte_order_marks_do_not_hide_a_group() {
    for text in [
        &b"\xEF\xBB\xBFUser-agent: *\r\nDisallow: /\r\n"[..],
        b"\xEF\xBB\xBFUser-agent: *\rDisallow: /\r",
        b"\xEF\xBB\xBFUser-agent: *\nDisallow: /",
        b"# joined files\n\xEF\xBB\xBFUser-agent: *\nDisallow: /",
    ] {
        let robots = Robots::parse(text);
        assert_eq!(
            blocked(&robots, "us", &["/", "/x", "/robots.txt"]),
            ["/", "/x"]
        );
    }
}

#[test]
fn utf_16_is_read_with_or_without_a_byte_order_mark() {
    for mark in ["\u{feff}", ""] {
        let text = format!("{mark}User-agent: *\r\nDisallow: /ö\r\n");
        for unit in [u16::to_le_bytes, u16::to_be_bytes] {
            let body: Vec<u8> = text.encode_utf16().flat_map(unit).collect();
            assert_eq!(blocked(&Robots::parse(&body), "us", &["/ö", "/o"]), ["/ö"]);
        }
    }
}

#[test]
fn bad_bytes_cost_at_most_their_line() {
    let text = b"User-agent: *\n# caf\xE9\nDisallow: /x\n\0\0\xFF\xFE: \x80\ndisallow : /y # c\nDissallow: /z\nDisallow: /\xFF/q\n";
    let robots = Robots::parse(text);
    let paths = ["/x", "/y", "/z", "/c", "/%FF/q", "/ok"];
    assert_eq!(blocked(&robots, "us", &paths), ["/x", "/y", "/z", "/%FF/q"]);
    assert!(!robots.looks_like_html());
}

#[test]
fn percent_encoding_is_compared_as_the_rfc_says() {
    let robots = robots(
        "User-agent: *\nDisallow: /m*%2F*\nDisallow: /q-%2A.htm\nDisallow: /p-%24\nDisallow: /k/ツ\nDisallow: /a%3cb\n",
    );
    let paths = [
        "/ma/b",
        "/ma%2Fb",
        "/ma%2fb",
        "/q-*.htm",
        "/q-x.htm",
        "/p-$",
        "/p-",
        "/k/%E3%83%84",
        "/k/ツ",
        "/a<b",
    ];
    assert_eq!(
        blocked(&robots, "us", &paths),
        [
            "/ma%2Fb",
            "/ma%2fb",
            "/q-*.htm",
            "/p-$",
            "/k/%E3%83%84",
            "/k/ツ",
            "/a<b"
        ]
    );
}

#[test]
fn the_agent_may_be_a_whole_user_agent_value() {
    let agent = "ExampleBot/2.1 (+http://op.test/bot)";
    let sign_in =
        robots("User-agent: examplebot\nDisallow: /jobs/sign-in\nUser-agent: *\nDisallow:");
    let paths = ["/jobs/sign-in?r=/x", "/jobs/sign-inn", "/jobs"];
    assert_eq!(blocked(&sign_in, agent, &paths), paths[..2]);
    let all = robots("User-agent: *\nDisallow: /");
    assert_eq!(
        blocked(&all, agent, &["/robots.txt", "/robots.txt.html"]),
        ["/robots.txt.html"]
    );
}

#[test]
fn the_product_token_has_no_version_and_sees_through_a_pose() {
    for (user_agent, token) in [
        ("canter/0.1 (+https://example.com/bot)", "canter"),
        ("  W3C_Validator-2", "W3C_Validator-2"),
        (
            "Mozilla/5.0 (compatible; MJ12bot/v1.4.8; http://mj12bot.test/)",
            "MJ12bot",
        ),
        (
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; xbot/1.0) Chrome/1",
            "xbot",
        ),
        ("Mozilla/5.0 (X11; Linux)", "Mozilla"),
        ("Mozilla/4.0 (compatible;)", "Mozilla"),
        ("*", ""),
        ("", ""),
        ("ботик", ""),
    ] {
        assert_eq!(product_token(user_agent), token, "{user_agent}");
    }
}

#[test]
fn crawl_delays_of_any_size_are_kept_and_garbage_is_ignored() {
    let delay = |value: &str| {
        robots(&format!("User-agent: *\nCrawl-delay: {value}\n"))
            .crawl_delay("us")
            .map(|delay| delay.as_secs_f64())
    };
    for (value, expected) in [
        ("0.2", 0.2),
        ("10", 10.0),
        ("2.5", 2.5),
        ("301", 301.0),
        ("1e9", 1e9),
        ("10 # note", 10.0),
        ("0", 0.0),
    ] {
        assert_eq!(delay(value), Some(expected), "{value}");
    }
    for value in ["-1", "abc", "", "inf", "NaN", "1e999", "10 20", "5s"] {
        assert_eq!(delay(value), None, "{value}");
    }
    let huge = robots("User-agent: *\nCrawl-delay: 1e300\n");
    assert_eq!(huge.crawl_delay("us"), Some(Duration::MAX));
}

#[test]
fn the_delay_is_that_of_the_agents_own_groups_and_the_longest_of_them() {
    let robots = robots(
        "User-agent: us\nDisallow: /a\nCrawl-delay: 1\nCrawl-delay: 4\nCrawl-delay: x\n\
         User-agent: *\nDisallow: /b\nCrawl-delay: 30\nUser-agent: us\nAllow: /\nCrawl-delay: 2\n\
         User-agent: quiet\nDisallow: /\n",
    );
    assert_eq!(robots.crawl_delay("us"), Some(Duration::from_secs(4)));
    assert_eq!(robots.crawl_delay("them"), Some(Duration::from_secs(30)));
    assert_eq!(robots.crawl_delay("quiet"), None);
}

#[test]
fn sitemap_lines_stand_outside_of_groups_and_are_kept_as_written() {
    let robots = robots(
        "Sitemap: /map.xml\nUser-agent: us\nsitemap:http://a.test/m2.xml\nSitemap:\nUser-agent: them\nSITEMAP : http://cdn.test/m3.xml # c\nDisallow: /x\n",
    );
    assert_eq!(
        robots.sitemaps(),
        ["/map.xml", "http://a.test/m2.xml", "http://cdn.test/m3.xml"]
    );
    assert_eq!(blocked(&robots, "us", &["/x"]), ["/x"]);
}

#[test]
fn the_decision_names_the_line_and_the_group() {
    let robots = robots(
        "# rules\r\nUser-agent: them\r\nUser-Agent: ExampleBot\r\n  Disallow: /a*  # all of a\r\nAllow: /a/b\r\nAllow: /a/b\r\n\r\nUser-agent: *\r\nDisallow: /\r\n",
    );
    let decide = |agent: &str, path: &str| {
        let decision = robots.decide(agent, &url(path));
        (decision.allowed, decision.line, decision.group)
    };
    let group = |name: &str| Some(name.to_owned());
    assert_eq!(
        decide("examplebot/1.0", "/ax"),
        (
            false,
            Some((4, "  Disallow: /a*  # all of a".to_owned())),
            group("ExampleBot")
        )
    );
    assert_eq!(
        decide("examplebot", "/a/b/c"),
        (
            true,
            Some((5, "Allow: /a/b".to_owned())),
            group("ExampleBot")
        )
    );
    assert_eq!(
        decide("examplebot", "/c"),
        (true, None, group("ExampleBot"))
    );
    assert_eq!(
        decide("us", "/c"),
        (false, Some((9, "Disallow: /".to_owned())), group("*"))
    );
    assert_eq!(decide("us", "/robots.txt"), (true, None, group("*")));
    let none = Robots::default().decide("us", &url("/c"));
    assert_eq!((none.allowed, none.line, none.group), (true, None, None));
}

#[test]
fn a_page_of_markup_is_no_robots_txt_and_allows_everything() {
    for page in [
        "<!DOCTYPE html><html><body>Not found\nDisallow: /\n</body></html>",
        "\u{feff}\n<html>",
        "<?xml version='1.0'?><error/>",
    ] {
        let robots = robots(page);
        assert!(robots.looks_like_html(), "{page}");
        assert!(blocked(&robots, "us", &["/"]).is_empty());
    }
    let odd = robots("<p>hello</p>\nUser-agent: *\nDisallow: /a\n");
    assert!(!odd.looks_like_html());
    assert_eq!(blocked(&odd, "us", &["/a"]), ["/a"]);
    for text in [
        "",
        "# nothing",
        "Not found",
        "Sitemap: https://a.test/m.xml",
    ] {
        assert!(!robots(text).looks_like_html(), "{text}");
    }
}

#[test]
fn at_least_500_kib_are_read_and_the_line_that_the_cut_falls_in_is_left_out() {
    const { assert!(MAX_BODY >= 500 * 1024) };
    let comment = "#\n".repeat(150 * 1024);
    let long = robots(&format!("User-agent: *\n{comment}Disallow: /secret/\n"));
    assert_eq!(blocked(&long, "us", &["/secret/x"]), ["/secret/x"]);
    assert!(!long.truncated());

    // The last line ends `steps` bytes beyond the cut.
    let cut = |steps: usize, tail: &str| {
        let rules = "User-agent: *\nDisallow: /a\n";
        let last = "Disallow: /b";
        let padding = MAX_BODY + steps - rules.len() - last.len();
        robots(&format!("{rules}{}\n{last}{tail}", "#".repeat(padding - 1)))
    };
    let paths = ["/a", "/b", "/"];
    assert_eq!(
        blocked(&cut(0, "\nDisallow: /"), "us", &paths),
        ["/a", "/b"]
    );
    assert_eq!(blocked(&cut(0, "/only/this"), "us", &paths), ["/a"]);
    assert_eq!(blocked(&cut(1, "\n"), "us", &paths), ["/a"]);
    assert!(cut(0, "\n").truncated() && cut(1, "\n").truncated());
    assert_eq!(blocked(&cut(0, ""), "us", &paths), ["/a", "/b"]);
    assert!(!cut(0, "").truncated());

    let endless = format!("User-agent: *\nDisallow: /{}", "a".repeat(2 * MAX_BODY));
    assert!(blocked(&robots(&endless), "us", &["/", "/a"]).is_empty());
}

#[test]
fn the_start_of_a_longer_file_loses_its_torn_line() {
    let text = b"User-agent: *\nDisallow: /ab\nDisallow: /";
    let robots = Robots::parse_truncated(text);
    assert!(robots.truncated());
    assert_eq!(blocked(&robots, "us", &["/ab", "/c"]), ["/ab"]);
    let nothing = Robots::parse_truncated(b"User-agent: *");
    assert!(nothing.truncated() && blocked(&nothing, "us", &["/"]).is_empty());
    let whole = Robots::parse_truncated(b"User-agent: *\nDisallow: /\r");
    assert_eq!(blocked(&whole, "us", &["/"]), ["/"]);
}

#[test]
fn the_index_answers_as_a_scan_over_all_rules_does() {
    let mut rng = fastrand::Rng::with_seed(222);
    let mut word = |letters: &[u8], longest: usize| -> String {
        let length = rng.usize(..longest);
        (0..length)
            .map(|_| char::from(letters[rng.usize(..letters.len())]))
            .collect()
    };
    let mut forbidden = 0;
    for _ in 0..400 {
        let mut lines = vec!["User-agent: *\n".to_owned()];
        for _ in 0..word(b"x", 30).len() {
            let kind = if word(b"x", 3).is_empty() {
                "Allow"
            } else {
                "Disallow"
            };
            let anchor = if word(b"x", 5).is_empty() { "$" } else { "" };
            lines.push(format!("{kind}: /{}{anchor}\n", word(b"aaabbb/*", 7)));
        }
        let robots = robots(&lines.concat());
        for _ in 0..25 {
            let path = format!("/{}", word(b"ab/", 9));
            forbidden += blocked(&robots, "us", &[&path]).len();
        }
    }
    assert!((1_000..9_000).contains(&forbidden), "{forbidden}");
}

#[test]
fn thousands_of_rules_are_all_honoured() {
    let rules: Vec<String> = (0..5_000)
        .map(|n| format!("Disallow: /section/{n}/private\nAllow: /section/{n}/private/open\n"))
        .collect();
    let robots = robots(&format!("User-agent: *\n{}", rules.concat()));
    let rules = robots.rules_for("us");
    for number in 0..5_000 {
        assert!(!rules.allows(&format!("/section/{number}/private/x")));
        assert!(rules.allows(&format!("/section/{number}/private/open/x")));
        assert!(rules.allows(&format!("/section/{number}/public")));
    }
}

/// These end at once where the matcher is linear, and not within a day where it
/// backtracks or searches again from the start.
#[test]
fn hostile_patterns_take_no_more_than_linear_time() {
    let path = format!("/{}", "a".repeat(1 << 20));
    let half = MAX_BODY / 2;
    for rule in [
        format!("/{}b", "a*".repeat(half - 100)),
        format!("/*{}b", "a".repeat(half)),
        format!("/*{}b*{}b$", "a".repeat(half / 2), "a".repeat(half / 2)),
        format!("/{}$", "*".repeat(half)),
        format!("/*{}*{}", "ab".repeat(half / 4), "aab".repeat(half / 6)),
    ] {
        let robots = robots(&format!("User-agent: *\nDisallow: {rule}\n"));
        let expected = rule.starts_with("/**");
        let rules = robots.rules_for("us");
        assert_eq!(rules.allows(&path), !expected, "{}", &rule[..20]);
    }
    // Each rule is a prefix of the next: the longest chain that fits.
    let chain: Vec<String> = (1..900)
        .map(|n| format!("Disallow: /{}\n", "a".repeat(n)))
        .collect();
    let rules = robots(&format!("User-agent: *\n{}", chain.concat())).rules_for("us");
    for length in 1..1_000 {
        assert!(!rules.allows(&format!("/{}b", "a".repeat(length))));
    }
    assert!(rules.allows("/b"));
}

#[test]
fn many_agents_and_groups_take_no_more_than_linear_time() {
    let agents = "User-agent: b\n".repeat(30_000);
    let stacked = robots(&format!("{agents}User-agent: us\nDisallow: /a\n"));
    assert_eq!(blocked(&stacked, "us", &["/a", "/b"]), ["/a"]);
    let groups = "User-agent: us\nDisallow: /a\n".repeat(15_000);
    assert_eq!(blocked(&robots(&groups), "us", &["/a", "/b"]), ["/a"]);
    assert_eq!(robots(&"\r".repeat(MAX_BODY)).sitemaps().len(), 0);
}
