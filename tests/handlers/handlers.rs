//! What can be a handler.

use std::sync::Arc;

use canter::extract::{Attempt, Context, Depth, Head, Html, Queue, State, StateMap, Text};
use canter::handler::{self, Ended, Handler};
use canter::{BoxError, Error, ErrorKind, Outcome, Result, Tag, Url};

use crate::{PAGE, Site, assert_done, failure, get, run, run_with, services};

#[expect(clippy::needless_pass_by_value, reason = "extractors are values")]
fn by_url(url: Url) -> Option<()> {
    (url.path() == "/dir/page").then_some(())
}

fn fallible(_page: Html) -> Result<Outcome> {
    Err(Error::new(ErrorKind::Http).with_message("soft error page"))
}

fn boxed_error(_text: Text) -> Result<(), BoxError> {
    Err("no price".into())
}

#[test]
fn functions_and_closures_of_up_to_eight_extractors_are_handlers() {
    let site = Site::html("<title>Hello</title>");
    assert_done(&run(&site, || ()));
    assert_done(&run(&site, by_url));
    assert_done(&run(
        &site,
        |url: Url,
         tag: Tag,
         Depth(depth): Depth,
         Attempt(attempt): Attempt,
         queue: Queue,
         head: Head,
         page: Html,
         cx: Context|
         -> Result<Outcome> {
            assert_eq!(url.as_str(), PAGE);
            assert_eq!(tag, Tag::UNTAGGED);
            assert_eq!((depth, attempt), (0, 1));
            assert_eq!(head.status(), 200);
            assert_eq!(page.title(), Some("Hello"));
            assert_eq!(cx.request().url(), &url);
            queue.follow_all(page.links());
            Ok(Outcome::Done)
        },
    ));
}

#[test]
fn what_a_handler_returns_is_its_outcome() {
    let site = Site::html("");
    let report = run(&site, fallible);
    assert_eq!(failure(&report).kind(), ErrorKind::Http);
    let report = run(&site, boxed_error);
    assert_eq!(failure(&report).kind(), ErrorKind::Worker);
    assert_eq!(failure(&report).message(), "no price");
    let report = run(&site, || Outcome::Stop);
    assert!(matches!(report.ended, Ended::Outcome(Outcome::Stop)));
}

#[test]
fn a_handler_may_own_what_it_shares_between_threads() {
    let prices = Arc::new(std::sync::Mutex::new(Vec::new()));
    let shared = Arc::clone(&prices);
    let handler = handler::boxed(move |url: Url| shared.lock().unwrap().push(url));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let cx = Context::new(get(PAGE), Arc::new(services(&Site::html(""))));
                assert_done(&handler::run(&handler, cx));
            });
        }
    });
    assert_eq!(prices.lock().unwrap().len(), 4);
}

#[test]
fn a_type_can_be_a_handler_and_wrap_another() {
    struct Twice<H>(H);
    impl<H: Handler> Handler for Twice<H> {
        fn handle(&self, cx: &Context) -> Outcome {
            match self.0.handle(cx) {
                Outcome::Done => self.0.handle(cx),
                other => other,
            }
        }
    }
    let site = Site::html("");
    let twice = Twice(handler::boxed(|queue: Queue, page: Html| {
        queue.follow(page.url());
        queue.follow("/x");
    }));
    let report = run(&site, twice);
    assert_done(&report);
    assert_eq!(report.effects.links.len(), 2);
    assert_eq!(site.asked(), 1);
    let shared: Arc<dyn Handler> = Arc::from(handler::boxed(|| ()));
    assert_done(&run(&site, shared));
}

struct Database(u32);

#[test]
fn state_is_shared_and_a_missing_one_names_its_type() {
    let mut state = StateMap::new();
    state.insert(Database(1));
    state.insert(Database(7));
    let services_with = services(&Site::html("")).with_state(state);
    let report = run_with(services_with, get(PAGE), |database: State<Database>| {
        assert_eq!(database.0.0, 7);
    });
    assert_done(&report);
    let site = Site::html("");
    let report = run(&site, |_: State<Database>, _: Html| ());
    let error = failure(&report);
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.message().contains("Database"), "{error}");
    assert_eq!(site.asked(), 0);
}

#[test]
fn a_missing_state_is_found_before_any_request() {
    let handler = handler::boxed(|_: Html, _: State<Database>| ());
    let error = handler.check(&StateMap::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.message().contains("Database"), "{error}");
    let mut state = StateMap::new();
    state.insert_shared(Arc::new(Database(1)));
    handler.check(&state).unwrap();
    // Who can do without it says so.
    let lenient = handler::boxed(|_: Option<State<Database>>| ());
    lenient.check(&StateMap::new()).unwrap();
}
