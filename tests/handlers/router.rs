//! Which handler the router chooses.

use canter::extract::{Emit, Html, State, StateMap};
use canter::handler::Handler;
use canter::{ErrorKind, Router, Tag};

use crate::{Site, failure, get, records, run_with, services};

fn named(name: &'static str) -> impl Fn(Emit<str>) {
    move |emit: Emit<str>| emit.push(name).unwrap()
}

fn router() -> Router {
    Router::new()
        .route_path("/blog/*/draft", named("draft"))
        .route_path("/blog/**", named("blog"))
        .route("product", named("product"))
        .route("blog", named("tagged blog"))
}

#[track_caller]
fn assert_routed(router: Router, url: &str, tag: &str, to: &str) {
    let site = Site::html("");
    let report = run_with(services(&site), get(url).with_tag(tag), router);
    assert_eq!(records(&report), [format!("{to:?}")], "{report:?}");
    assert_eq!(site.asked(), 0);
}

#[test]
fn a_tag_wins_over_every_path() {
    assert_routed(router(), "http://a.test/blog/1", "product", "product");
    assert_routed(router(), "http://a.test/blog/1", "blog", "tagged blog");
}

#[test]
fn the_first_path_that_matches_wins_over_later_ones() {
    assert_routed(router(), "http://a.test/blog/1/draft", "", "draft");
    assert_routed(router(), "http://a.test/blog/1", "", "blog");
}

#[test]
fn a_tag_without_a_route_leaves_the_choice_to_the_path() {
    assert_routed(router(), "http://a.test/blog/1", "other", "blog");
}

#[test]
fn the_fallback_takes_what_no_route_takes() {
    let router = || router().fallback(named("fallback"));
    assert_routed(router(), "http://a.test/", "", "fallback");
    assert_routed(router(), "http://a.test/", "other", "fallback");
    assert_routed(router(), "http://a.test/", "product", "product");
}

#[test]
fn untagged_is_a_tag_that_can_be_routed() {
    let router = || router().route(Tag::UNTAGGED, named("untagged"));
    assert_routed(router(), "http://a.test/blog/1", "", "untagged");
    assert_routed(router(), "http://a.test/blog/1", "other", "blog");
}

#[test]
fn a_router_may_stand_behind_a_route() {
    let products = Router::new()
        .route_path("/p/*", named("one"))
        .fallback(named("many"));
    let router = Router::new().route("product", products);
    assert_routed(router, "http://a.test/p/1", "product", "one");
}

#[test]
fn a_request_that_no_route_takes_fails_naming_url_and_tag() {
    let site = Site::html("");
    let request = get("http://me:secret@a.test/x?y").with_tag("other");
    let report = run_with(services(&site), request, router());
    let error = failure(&report);
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(
        error.message(),
        "no route takes http://a.test/x?y with tag \"other\""
    );
    let report = run_with(services(&site), get("http://a.test/x"), router());
    assert_eq!(
        failure(&report).message(),
        "no route takes http://a.test/x with no tag"
    );
    assert_eq!(site.asked(), 0);
}

#[test]
fn a_mistake_in_the_routes_is_found_before_any_request() {
    let state = StateMap::new();
    router().check(&state).unwrap();
    for (router, names) in [
        (router().route_path("docs#part", named("x")), "docs#part"),
        (router().route("product", named("x")), "product"),
        (
            router().fallback(named("x")).fallback(named("y")),
            "two fallbacks",
        ),
        (router().route("state", |_: State<u64>| ()), "u64"),
        (
            router().route_path("/s", |_: Html, _: State<u64>| ()),
            "u64",
        ),
        (router().fallback(|_: State<u64>| ()), "u64"),
    ] {
        let error = router.check(&state).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.message().contains(names), "{error}");
    }
}
