//! [`nearest`]: which known word was probably meant.

/// The candidate that is the fewest slips away from `word`, if it is near
/// enough to be meant. Case counts for nothing, nor does `-` against `_`, nor
/// one against many: `policies` is `policy`.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let word = singular(plain(word));
    // One slip for every three letters: "dellay" finds "delay", "x" nothing.
    let limit = (word.len() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(&word, &singular(plain(candidate))), candidate))
        .filter(|&(slips, candidate)| slips <= limit && slips < candidate.len())
        .min_by_key(|&(slips, _)| slips)
        .map(|(_, candidate)| candidate)
}

fn plain(word: &str) -> Vec<char> {
    word.chars()
        .map(|c| {
            if c == '-' {
                '_'
            } else {
                c.to_ascii_lowercase()
            }
        })
        .collect()
}

/// The word for one of what a word for many may name.
fn singular(mut word: Vec<char>) -> Vec<char> {
    if word.ends_with(&['i', 'e', 's']) {
        word.truncate(word.len() - 3);
        word.push('y');
    } else if word.last() == Some(&'s') && word.len() > 1 {
        word.pop();
    }
    word
}

/// Letters put in, left out, changed, or swapped with their neighbour.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, &from) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &to) in b.iter().enumerate() {
            let mut slips = (last[j] + usize::from(from != to))
                .min(last[j + 1] + 1)
                .min(row[j] + 1);
            if i > 0 && j > 0 && from == b[j - 1] && to == a[i - 1] {
                slips = slips.min(before_last[j - 1] + 1);
            }
            row.push(slips);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_the_word_and_another_word_finds_nothing() {
        let known = ["delay", "concurrency", "name", "headers"];
        assert_eq!(nearest("dellay", known), Some("delay"));
        assert_eq!(nearest("dealy", known), Some("delay"));
        assert_eq!(nearest("Headers", known), Some("headers"));
        assert_eq!(nearest("concurency", known), Some("concurrency"));
        assert_eq!(nearest("threads", known), None);
        assert_eq!(nearest("", known), None);
        assert_eq!(nearest("policies", ["traps", "policy"]), Some("policy"));
        assert_eq!(nearest("trap", ["traps", "policy"]), Some("traps"));
        assert_eq!(nearest("s", known), None);
        assert_eq!(nearest("user-agent", ["user_agent"]), Some("user_agent"));
    }

    #[test]
    fn the_distance_counts_single_slips() {
        let slips = |a: &str, b: &str| distance(&plain(a), &plain(b));
        assert_eq!(slips("abc", "abc"), 0);
        assert_eq!(slips("abc", "acb"), 1);
        assert_eq!(slips("", "abc"), 3);
        assert_eq!(slips("kitten", "sitting"), 3);
    }
}
