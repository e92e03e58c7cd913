//! Fuzzes state files: what the mutation tests promise holds for every input.

#![no_main]

#[path = "../../mutation/state.rs"]
mod state;

use std::sync::LazyLock;

static BENCH: LazyLock<state::Bench> = LazyLock::new(state::Bench::new);

libfuzzer_sys::fuzz_target!(|body: &[u8]| BENCH.state(body));
