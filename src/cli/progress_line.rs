//! [`ProgressLine`]: how a crawl goes, in as many columns as there are. Keeps:
//! a line never passes the width, and the most telling parts stay longest.

use std::time::Duration;

use super::progress::{View, grouped, whole_seconds};
use super::term::{Paint, Painted, columns, sanitize};
use crate::crawler::Stats;

/// A part of the line.
#[derive(Debug, Clone)]
struct Part {
    what: What,
    long: String,
    short: String,
    paint: Paint,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Done,
    Queued,
    InFlight,
    Failed,
    Rate,
    Left,
    Elapsed,
    Waiting,
}

/// What is done to a line that is too long, one after the other.
#[derive(Debug, Clone, Copy)]
enum Step {
    Shorten(What),
    Drop(What),
}

const STEPS: [Step; 13] = [
    Step::Drop(What::Elapsed),
    Step::Drop(What::InFlight),
    Step::Shorten(What::Waiting),
    Step::Shorten(What::Rate),
    Step::Shorten(What::Left),
    // From here on what is waited for is cut, as it stands at the end.
    Step::Drop(What::Waiting),
    Step::Shorten(What::Queued),
    Step::Shorten(What::Failed),
    Step::Shorten(What::Done),
    Step::Drop(What::Left),
    Step::Drop(What::Queued),
    Step::Drop(What::Rate),
    Step::Drop(What::Failed),
];

/// Between two parts.
const COMMA: &str = ", ";
/// The fewest columns in which what is waited for says something.
const LEAST_WAITING: usize = 10;

/// How a crawl goes.
#[derive(Debug)]
pub(super) struct ProgressLine {
    parts: Vec<Part>,
}

impl ProgressLine {
    /// The line for a moment; `rate` is how many requests start a minute.
    pub(super) fn new(now: &Stats, view: &View, rate: Option<f64>) -> Self {
        let mut parts = Vec::new();
        let mut part = |what, long: String, short: String, paint| {
            parts.push(Part {
                what,
                long,
                short,
                paint,
            });
        };
        let counted = |count: u64, name: &str| format!("{} {name}", grouped(count));
        let done = grouped(now.succeeded);
        part(What::Done, format!("{done} done"), done, Paint::Bold);
        let queued = counted(now.queued, "queued");
        part(
            What::Queued,
            queued,
            format!("+{}", grouped(now.queued)),
            Paint::Plain,
        );
        let in_flight = counted(now.in_flight, "in flight");
        part(What::InFlight, in_flight.clone(), in_flight, Paint::Plain);
        if now.failed > 0 {
            let short = format!("!{}", grouped(now.failed));
            part(
                What::Failed,
                counted(now.failed, "failed"),
                short,
                Paint::Red,
            );
        }
        if let Some(rate) = rate {
            let rate = show_rate(rate);
            let (long, short) = match view.per_minute.map(show_rate) {
                Some(bound) => (
                    format!("{rate} of {bound} a minute"),
                    format!("{rate}/{bound} a min"),
                ),
                None => (format!("{rate} a minute"), format!("{rate} a min")),
            };
            part(What::Rate, long, short, Paint::Plain);
        }
        if let Some(left) = Left::of(now, view, rate) {
            part(What::Left, left.long(), left.short(), Paint::Plain);
        }
        // The line is drawn several times a second; parts of one say nothing.
        let elapsed = whole_seconds(Duration::from_secs(now.elapsed.as_secs()));
        part(What::Elapsed, elapsed.clone(), elapsed, Paint::Plain);
        if let Some(waiting) = &now.waiting {
            let waiting = sanitize(&waiting.to_string()).into_owned();
            part(
                What::Waiting,
                format!("waiting for {waiting}"),
                waiting,
                Paint::Dim,
            );
        }
        ProgressLine { parts }
    }

    /// The line in at most so many columns.
    pub(super) fn fitted(mut self, width: usize) -> Painted {
        for step in STEPS {
            let over = self.width().saturating_sub(width);
            if over == 0 {
                break;
            }
            match step {
                Step::Shorten(what) => {
                    if let Some(part) = self.part(what) {
                        part.long.clone_from(&part.short);
                    }
                }
                Step::Drop(what) => {
                    let cut = self
                        .part(what)
                        .filter(|_| what == What::Waiting)
                        .map(|part| {
                            let room = columns(&part.long).saturating_sub(over);
                            part.long = shorten(&part.long, room);
                            room
                        });
                    if cut.is_none_or(|room| room < LEAST_WAITING) {
                        self.parts.retain(|part| part.what != what);
                    }
                }
            }
        }
        let mut line = Painted::default();
        let mut left = width;
        for (at, part) in self.parts.iter().enumerate() {
            let comma = if at == 0 { "" } else { COMMA };
            let text = shorten(&format!("{comma}{}", part.long), left);
            left = left.saturating_sub(columns(&text));
            // The comma is nobody's colour.
            match text.strip_prefix(COMMA).filter(|_| at > 0) {
                Some(rest) => {
                    line.push(COMMA, Paint::Plain);
                    line.push(rest, part.paint);
                }
                None => line.push(&text, part.paint),
            }
        }
        line
    }

    fn part(&mut self, what: What) -> Option<&mut Part> {
        self.parts.iter_mut().find(|part| part.what == what)
    }

    fn width(&self) -> usize {
        let commas = COMMA.len() * self.parts.len().saturating_sub(1);
        let parts = self.parts.iter().map(|part| columns(&part.long));
        parts.sum::<usize>() + commas
    }
}

/// Cuts a text to a width; what was cut is told by two dots.
fn shorten(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let dots = "..";
    let kept = width.saturating_sub(dots.len());
    let mut out = String::new();
    for c in text.chars() {
        if columns(&out) + columns(c.encode_utf8(&mut [0; 4])) > kept {
            break;
        }
        out.push(c);
    }
    out.extend(dots.chars().take(width));
    out
}

/// A rate with as many digits as say something.
fn show_rate(rate: f64) -> String {
    if rate >= 10.0 {
        return grouped(rate.round() as u64);
    }
    let text = format!("{rate:.1}");
    text.strip_suffix(".0")
        .map_or(text.clone(), ToOwned::to_owned)
}

/// How long the run still takes, as far as that can be known.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Left {
    /// Every URL is known, and how fast they go.
    About(Duration),
    /// What is queued takes so long; more may be found.
    AtLeast(Duration),
    /// A bound ends it by then.
    AtMost(Duration),
}

impl Left {
    fn of(now: &Stats, view: &View, rate: Option<f64>) -> Option<Left> {
        let rate = rate.filter(|rate| *rate > 0.0);
        let takes = |requests: u64, rate: f64| {
            Duration::try_from_secs_f64(requests as f64 * 60.0 / rate).unwrap_or(Duration::MAX)
        };
        let until_deadline = view
            .deadline
            .map(|deadline| deadline.saturating_sub(now.elapsed));
        let until_spent = view
            .max_requests
            .zip(rate)
            .map(|(most, rate)| takes(most.saturating_sub(now.requests), rate));
        let bound = [until_deadline, until_spent].into_iter().flatten().min();
        if bound.is_some_and(|bound| bound.is_zero()) {
            // It waits for its last answers.
            return None;
        }
        let queue = rate
            .filter(|_| now.queued > 0)
            .map(|rate| takes(now.queued, rate));
        match (queue, bound) {
            (Some(queue), Some(bound)) if queue >= bound => Some(Left::AtMost(bound)),
            (Some(queue), _) if view.all_known => Some(Left::About(queue)),
            (Some(queue), _) => Some(Left::AtLeast(queue)),
            (None, Some(bound)) => Some(Left::AtMost(bound)),
            (None, None) => None,
        }
    }

    fn long(self) -> String {
        match self {
            Left::About(time) => format!("about {} left", coarse(time)),
            Left::AtLeast(time) => format!("{} or more left", coarse(time)),
            Left::AtMost(time) => format!("at most {} left", coarse(time)),
        }
    }

    fn short(self) -> String {
        match self {
            Left::About(time) => format!("~{}", coarse(time)),
            Left::AtLeast(time) => format!(">{}", coarse(time)),
            Left::AtMost(time) => format!("<{}", coarse(time)),
        }
    }
}

/// A time as it is said of the future.
fn coarse(time: Duration) -> String {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    let seconds = time.as_secs();
    match seconds {
        ..MINUTE => format!("{seconds}s"),
        MINUTE..HOUR => format!("{}m", seconds / MINUTE),
        HOUR..DAY => format!("{}h {}m", seconds / HOUR, seconds % HOUR / MINUTE),
        _ => format!("{}d {}h", seconds / DAY, seconds % DAY / HOUR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crawler::Waiting;

    fn stats() -> Stats {
        Stats {
            requests: 1_300,
            succeeded: 1_234,
            failed: 3,
            skipped: 20,
            queued: 56,
            in_flight: 4,
            elapsed: Duration::from_millis(1_263_500),
            waiting: Some(Waiting::HostGap("www.example.com".into())),
            ..Stats::default()
        }
    }

    fn view() -> View {
        View {
            per_minute: Some(60.0),
            ..View::default()
        }
    }

    fn line(width: usize) -> String {
        let line = ProgressLine::new(&stats(), &view(), Some(58.2));
        line.fitted(width).text().to_owned()
    }

    #[test]
    fn the_line_says_how_far_how_fast_how_long_and_what_it_waits_for() {
        assert_eq!(
            line(200),
            "1,234 done, 56 queued, 4 in flight, 3 failed, 58 of 60 a minute, 57s or more left, \
             21m 3s, waiting for gap of www.example.com"
        );
        let none = ProgressLine::new(&Stats::default(), &View::default(), None);
        assert_eq!(none.fitted(200).text(), "0 done, 0 queued, 0 in flight, 0s");
    }

    #[test]
    fn the_most_telling_parts_stay_on_a_narrow_terminal() {
        assert_eq!(
            line(79),
            "1,234 done, 56 queued, 3 failed, 58/60 a min, >57s, gap of www.example.com"
        );
        assert_eq!(
            line(70),
            "1,234 done, 56 queued, 3 failed, 58/60 a min, >57s, gap of www.examp.."
        );
        assert_eq!(line(39), "1,234 done, +56, !3, 58/60 a min, >57s");
        assert_eq!(line(20), "1,234, !3");
        assert_eq!(line(5), "1,234");
        assert_eq!(line(4), "1,..");
        assert_eq!(line(0), "");
    }

    #[test]
    fn a_line_never_passes_the_width() {
        for width in 0..160 {
            let mut stats = stats();
            stats.waiting = Some(Waiting::TagPause("\u{6f22}\u{5b57}\u{6f22}\u{5b57}".into()));
            let line = ProgressLine::new(&stats, &view(), Some(58.2)).fitted(width);
            assert!(columns(line.text()) <= width, "{width}: {}", line.text());
        }
        assert_eq!(shorten("abcdef", 5), "abc..");
        assert_eq!(shorten("abcde", 5), "abcde");
        assert_eq!(shorten("\u{6f22}\u{5b57}", 3), "..");
    }

    #[test]
    fn time_left_is_told_as_surely_as_it_is_known() {
        let minutes = |n: u64| Duration::from_secs(60 * n);
        let stats = Stats {
            queued: 600,
            requests: 100,
            elapsed: minutes(2),
            ..Stats::default()
        };
        let left = |view: View, rate| Left::of(&stats, &view, rate);
        assert_eq!(left(view(), Some(60.0)), Some(Left::AtLeast(minutes(10))));
        assert_eq!(left(view(), None), None);
        let known = View {
            all_known: true,
            ..view()
        };
        assert_eq!(left(known, Some(60.0)), Some(Left::About(minutes(10))));
        let bound = View {
            deadline: Some(minutes(5)),
            ..known
        };
        assert_eq!(left(bound, Some(60.0)), Some(Left::AtMost(minutes(3))));
        assert_eq!(left(bound, None), Some(Left::AtMost(minutes(3))));
        assert_eq!(left(bound, Some(600.0)), Some(Left::About(minutes(1))));
        let spent = View {
            max_requests: Some(220),
            ..view()
        };
        assert_eq!(left(spent, Some(60.0)), Some(Left::AtMost(minutes(2))));
        assert_eq!(coarse(Duration::from_secs(59)), "59s");
        assert_eq!(coarse(minutes(61)), "1h 1m");
        assert_eq!(coarse(minutes(60 * 49)), "2d 1h");
    }
}
