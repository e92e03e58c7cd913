//! [`basic`]: a user name and a password as HTTP takes them.
//!
//! Invariant: this is the only place where credentials become text, and the
//! text goes into a request and nowhere else.

use url::Url;

/// The value of an `Authorization` field for Basic authentication (RFC 7617).
pub(super) fn basic(user: &[u8], password: &[u8]) -> String {
    format!("Basic {}", base64(&[user, b":", password].concat()))
}

/// The Basic credentials that a URL names, percent-encoding undone; `None`
/// when it names none.
pub(super) fn of_url(url: &Url) -> Option<String> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let user = percent_decoded(url.username());
    let password = percent_decoded(url.password().unwrap_or_default());
    Some(basic(&user, &password))
}

/// The URL without user name and password, for messages.
pub(super) fn without(url: &Url) -> Url {
    let mut url = url.clone();
    // Fails only for URLs without a host, which have none of both.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let digit = |at: Option<&u8>| at.and_then(|&byte| char::from(byte).to_digit(16));
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if byte == b'%'
            && let Some(high) = digit(bytes.get(at + 1))
            && let Some(low) = digit(bytes.get(at + 2))
        {
            decoded.push((high * 16 + low) as u8);
            at += 3;
        } else {
            decoded.push(byte);
            at += 1;
        }
    }
    decoded
}

/// RFC 4648 section 4, with padding.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            if place <= group.len() {
                let digit = bits >> (18 - 6 * place) & 0x3f;
                text.push(char::from(DIGITS[digit as usize]));
            } else {
                text.push('=');
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_agrees_with_the_vectors_of_rfc_4648() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn the_credentials_of_a_url_are_decoded_and_can_be_taken_out() {
        let url: Url = "http://us%40er:p%3As@a.test/p?q".parse().expect("url");
        let expected = format!("Basic {}", base64(b"us@er:p:s"));
        assert_eq!(of_url(&url), Some(expected));
        assert_eq!(without(&url).as_str(), "http://a.test/p?q");
        let plain: Url = "http://a.test/".parse().expect("url");
        assert_eq!(of_url(&plain), None);
    }
}
