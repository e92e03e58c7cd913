//! Fuzzes header fields: what the mutation tests promise holds for every input.

#![no_main]

#[path = "../../mutation/promises.rs"]
mod promises;

libfuzzer_sys::fuzz_target!(|body: &[u8]| promises::retry_after_header(body));
