//! `Retry-After` and charsets against the conformance data.

mod facts;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use canter::charset::{decode, detect};
use canter::http::retry_after;
use facts::{Case, Score, cases};
use serde_json::Value;

fn class(case: &Case) -> &'static str {
    if case.flag("hard") {
        "hard"
    } else {
        "ordinary"
    }
}

/// An RFC 3339 instant in UTC, by way of the HTTP form.
fn instant(text: &str) -> SystemTime {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let month: usize = text[5..7].parse().expect(text);
    let wanted = format!(
        "{} {} {} {} GMT",
        &text[8..10],
        MONTHS[month - 1],
        &text[..4],
        &text[11..19]
    );
    ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
        .iter()
        .find_map(|day| httpdate::parse_http_date(&format!("{day}, {wanted}")).ok())
        .expect(text)
}

#[test]
fn every_retry_after_value_is_read_as_the_data_says() {
    let mut score = Score::default();
    for case in cases("retry_after.json") {
        let found = retry_after(case.text("value"), instant(case.text("now")));
        let expected = case.get("expected_seconds").as_u64();
        let also: Vec<Option<u64>> = case
            .get("also_ok")
            .as_array()
            .map(|list| list.iter().map(Value::as_u64).collect())
            .unwrap_or_default();
        let at_least = case.get("or_at_least").as_u64();
        let seconds = found.map(|delay| delay.as_secs());
        let right = seconds == expected
            || also.contains(&seconds)
            || at_least.is_some_and(|least| seconds.is_some_and(|seconds| seconds >= least));
        let result = if right {
            Ok(())
        } else {
            Err(format!("expected {expected:?}, found {found:?}"))
        };
        score.count(class(&case), &case, result);
    }
    score.finish("retry_after", &[]);
}

#[test]
fn every_body_is_decoded_as_the_data_says() {
    let mut score = Score::default();
    for case in cases("charset.json") {
        let body = case.bytes("body");
        let content_type = case.get("content_type").as_str();
        let (text, encoding) = decode(&body, content_type);
        assert_eq!(detect(&body, content_type), encoding, "{}", case.id());
        let prefix = case.text("expected_text_prefix");
        // Where nothing is declared any guess is right that fits the bytes.
        let fallback = case.flag("fallback");
        let is_right = encoding.name() == case.text("expected_encoding")
            || (fallback && encoding.name() == "UTF-8");
        let result = if is_right && text.starts_with(prefix) {
            Ok(())
        } else {
            Err(format!(
                "{}: {:?}",
                encoding.name(),
                text.chars().take(60).collect::<String>()
            ))
        };
        let class = if fallback { "fallback" } else { class(&case) };
        score.count(class, &case, result);
    }
    score.finish("charset", &[]);
}

#[test]
fn instants_of_the_data_are_read_exactly() {
    let noon = UNIX_EPOCH + Duration::from_secs(1_796_040_000);
    assert_eq!(instant("2026-11-30T12:00:00Z"), noon);
}
