//! Behaviour of this module, test by test.

use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

use super::*;

const PAGE: &[u8] = b"<!doctype html><title>a page</title><p>some text, some text, some text";
const WHOLE: BodyLimit = BodyLimit {
    bytes: 1 << 20,
    keep_start: false,
};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn raw_deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn decoded(header: &str, body: &[u8]) -> Result<Decoded> {
    let codings = codings(std::iter::once(header.as_bytes()));
    decode(body.to_vec(), &codings, false, WHOLE)
}

fn plain(body: &[u8]) -> Decoded {
    Decoded {
        body: body.to_vec(),
        ..Decoded::default()
    }
}

#[test]
fn every_spelling_of_a_known_coding_is_undone() {
    for header in [
        "gzip",
        "GZIP",
        "x-gzip",
        " gzip ",
        "gzip, identity",
        ",gzip,",
    ] {
        assert_eq!(decoded(header, &gzip(PAGE)).expect(header), plain(PAGE));
    }
    for body in [zlib(PAGE), raw_deflate(PAGE)] {
        assert_eq!(decoded("deflate", &body).expect("deflate"), plain(PAGE));
    }
    let twice = gzip(&zlib(PAGE));
    assert_eq!(decoded("deflate, gzip", &twice).expect("both"), plain(PAGE));
}

#[test]
fn a_header_that_names_a_coding_the_bytes_do_not_have_is_not_believed() {
    for header in [
        "gzip", "x-gzip", "deflate", "none", "utf-8", "identity", "", "br",
    ] {
        assert_eq!(
            decoded(header, PAGE).expect(header),
            plain(PAGE),
            "{header}"
        );
    }
    // Gzip has a mark: what lacks it is not gzip, text or not.
    let picture = b"\x89PNG\r\n\x1a\n\0\0\0";
    assert_eq!(decoded("gzip", picture).expect("raw"), plain(picture));
}

#[test]
fn bytes_in_an_unknown_coding_are_kept_and_marked() {
    let zstd = b"\x28\xb5\x2f\xfd\x04\x58\x01\x00\x00some";
    for header in ["zstd", "compress", "gzip, zstd"] {
        let kept = decoded(header, zstd).expect(header);
        assert!(kept.undecoded, "{header}");
        assert_eq!(kept.body, zstd);
    }
    let many = decoded("gzip,gzip,gzip,gzip,gzip", PAGE).expect("many");
    assert!(many.undecoded);
}

#[test]
fn a_packed_body_without_its_end_is_never_a_body() {
    let packed = gzip(PAGE);
    for end in 2..packed.len() {
        let error = decoded("gzip", &packed[..end]).expect_err("cut");
        assert_eq!(error.kind(), ErrorKind::Connect, "at {end}");
    }
    let packed = zlib(&PAGE.repeat(50));
    let error = decoded("deflate", &packed[..packed.len() / 2]).expect_err("cut");
    assert_eq!(error.kind(), ErrorKind::Connect);
    let mut damaged = gzip(PAGE);
    let middle = damaged.len() - 6;
    damaged[middle] ^= 0xff;
    assert_eq!(
        decoded("gzip", &damaged).expect_err("crc").kind(),
        ErrorKind::Connect
    );
}

/// Each known coding, with a small page in it.
fn packed_pages() -> Vec<(&'static str, Vec<u8>)> {
    let stored = {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::none());
        encoder.write_all(PAGE).expect("memory");
        encoder.finish().expect("memory")
    };
    let mut pages = vec![
        ("gzip", gzip(PAGE)),
        ("x-gzip", gzip(PAGE)),
        ("deflate", zlib(PAGE)),
        ("deflate", raw_deflate(PAGE)),
        ("deflate", stored),
        ("deflate", raw_deflate(b"abc")),
        ("deflate", raw_deflate(&PAGE.repeat(20))),
        ("deflate, gzip", gzip(&raw_deflate(PAGE))),
        ("gzip, deflate", raw_deflate(&gzip(PAGE))),
        ("gzip, deflate", zlib(&gzip(PAGE))),
        ("gzip, gzip", gzip(&gzip(PAGE))),
        ("identity, gzip, utf-8", gzip(PAGE)),
    ];
    if cfg!(feature = "brotli") {
        pages.extend([
            ("br", BROTLI_SMALL.to_vec()),
            ("br", brotli_stored(PAGE)),
            ("br, gzip", gzip(BROTLI_SMALL)),
            ("gzip, br", brotli_stored(&gzip(PAGE))),
            ("deflate, br", brotli_stored(&raw_deflate(PAGE))),
        ]);
    }
    pages
}

/// [`PAGE`] as an encoder packs it at its best.
const BROTLI_SMALL: &[u8] = b"\x1b\x45\x00\x00\x1c\x07\x6e\xcc\xc5\x7e\x66\x7b\x1a\xa1\xd2\x1b\xa4\
    \xac\x0d\x4e\x85\xcd\x95\xcf\x1b\x38\xe4\xc0\xe9\x20\x27\x0c\xa8\x55\x5d\x6a\x07\x53\x75\x5a\x42\
    \x16\xbe\xde\x81\xd8\xf9\x87\xb8\x00";

/// As brotli keeps what it cannot pack: one uncompressed meta-block and one
/// last empty one (RFC 7932 section 9.2).
fn brotli_stored(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).expect("short") - 1;
    let header = 0x0b | length << 7 | 1 << 23;
    [&header.to_le_bytes()[..3], bytes, &[3]].concat()
}

#[test]
fn whatever_the_coding_no_first_part_of_a_packed_page_is_a_page() {
    for (header, packed) in packed_pages() {
        let whole = decoded(header, &packed).expect(header);
        assert!(!whole.undecoded && !whole.truncated, "{header}");
        let text = String::from_utf8(whole.body).expect(header);
        assert!(text.starts_with("<!doctype") || text == "abc", "{header}");
        assert_eq!(decoded(header, b"").expect(header), plain(b""));
        for end in 1..packed.len() {
            let error = decoded(header, &packed[..end]).expect_err(header);
            assert_eq!(error.kind(), ErrorKind::Connect, "{header} at {end}");
            assert_eq!(
                error.message(),
                "the packed body is cut short",
                "{header} at {end}"
            );
        }
    }
}

#[test]
fn a_few_bytes_that_are_in_no_coding_are_never_taken_for_text() {
    let few: [&[u8]; 4] = [b"\xff\xff\xff", b"\xc3\x28\x80", b"\xfe\xff", b"\xe2"];
    for header in ["deflate", "br", "zstd", "gzip, br"] {
        for body in few {
            let page = decoded(header, body);
            assert!(
                page.is_err() || page.is_ok_and(|page| page.undecoded),
                "{header}"
            );
        }
    }
    let zstd = b"\x28\xb5\x2f\xfd\x24\x46some text, some text";
    for end in 1..zstd.len() {
        assert!(decoded("zstd", &zstd[..end]).expect("zstd").undecoded);
    }
}

#[test]
fn plain_text_of_any_beginning_is_plain_whatever_coding_was_named() {
    let cyrillic = encoding_rs::WINDOWS_1251.encode("<p>привет, мир</p>").0;
    let wide: Vec<u8> = "\u{feff}<p>some text</p>"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let mut texts = vec![
        PAGE.to_vec(),
        cyrillic.repeat(10),
        wide,
        "é".repeat(400).into_bytes(),
        "xé".repeat(400).into_bytes(),
    ];
    // Some of these characters begin a stream that ends soon.
    for first in b' '..=b'~' {
        for second in b' '..=b'~' {
            texts.push([&[first, second][..], PAGE].concat());
        }
    }
    for header in ["gzip", "deflate", "br", "zstd"] {
        for text in &texts {
            let shown = || format!("{header}: {}", String::from_utf8_lossy(text));
            let page = decoded(header, text).unwrap_or_else(|error| panic!("{}: {error}", shown()));
            assert!(page.body == *text, "{}", shown());
        }
    }
    for header in ["gzip", "utf-8", "ISO-8859-1", "none", "identity"] {
        assert_eq!(decoded(header, b"ok").expect(header), plain(b"ok"));
    }
}

#[test]
fn members_are_joined_and_padding_after_them_is_ignored() {
    let mut packed = gzip(&PAGE[..20]);
    packed.extend(gzip(&PAGE[20..]));
    packed.extend([0; 100]);
    assert_eq!(decoded("gzip", &packed).expect("members"), plain(PAGE));
    let many = gzip(b"").repeat(MAX_MEMBERS + 1);
    assert!(decoded("gzip", &many).is_err());
}

#[test]
fn no_more_than_the_limit_is_unpacked() {
    let bomb = gzip(&vec![b'x'; 5 << 20]);
    assert!(bomb.len() < 10_000);
    for (header, body) in [("gzip", bomb.clone()), ("gzip, gzip", gzip(&bomb))] {
        let error = decoded(header, &body).expect_err("a bomb");
        assert_eq!(error.kind(), ErrorKind::TooLarge);
    }
    let start = BodyLimit {
        bytes: 1000,
        keep_start: true,
    };
    let kept = decode(bomb, &[Coding::Gzip], false, start).expect("the start");
    assert!(kept.truncated);
    assert_eq!(kept.body, vec![b'x'; 1000]);
    let exact = BodyLimit {
        bytes: PAGE.len() as u64,
        keep_start: false,
    };
    let whole = decode(gzip(PAGE), &[Coding::Gzip], false, exact).expect("fits");
    assert_eq!(whole, plain(PAGE));
}

#[test]
fn the_start_of_a_packed_body_that_we_cut_ourselves_is_kept() {
    let start = BodyLimit {
        bytes: 4000,
        keep_start: true,
    };
    let mut rng = fastrand::Rng::with_seed(7);
    let noise: Vec<u8> = std::iter::repeat_with(|| rng.u8(..)).take(9000).collect();
    let packed = gzip(&noise);
    let cut = packed[..3000].to_vec();
    let kept = decode(cut, &[Coding::Gzip], true, start).expect("the start");
    assert!(kept.truncated);
    assert!(kept.body.len() > 2000 && noise.starts_with(&kept.body));
}

#[cfg(feature = "brotli")]
#[test]
fn brotli_is_undone_if_it_is_brotli() {
    // "hello" as one uncompressed and one last empty meta-block.
    let packed = [0x0b, 0x02, 0x80, b'h', b'e', b'l', b'l', b'o', 0x03];
    assert_eq!(decoded("br", &packed).expect("br"), plain(b"hello"));
    let cut = decoded("br", &packed[..6]).expect_err("cut");
    assert_eq!(cut.kind(), ErrorKind::Connect);
}
