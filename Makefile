# What a developer does with Canter. Plain `make` prints the targets.

CARGO ?= cargo
# What is built goes here; Cargo's own variable moves it.
BUILT := $(or $(CARGO_TARGET_DIR),target)

# What `make static` builds for, and with which profile.
TARGET ?= x86_64-unknown-linux-musl
PROFILE ?= release

# A target whose C library is linked dynamically unless told otherwise needs a
# flag, and a musl target none. It is the target's alone: procedural macros are
# built for this machine and cannot be static.
TARGET_VARIABLE = CARGO_TARGET_$(shell echo '$(TARGET)' | tr 'a-z-' 'A-Z_')_RUSTFLAGS
STATIC_FLAGS = $(if $(findstring musl,$(TARGET)),,$(TARGET_VARIABLE)='-C target-feature=+crt-static')
# cargo-zigbuild brings a linker and a C compiler for every target.
STATIC_BUILD = $(if $(shell command -v cargo-zigbuild),zigbuild,build)
STATIC_BINARY = $(BUILT)/$(TARGET)/$(PROFILE)/canter

.DEFAULT_GOAL := help
.PHONY: help build demo test check bench simulate torture fuzz install static

help: ## print this list
	@echo 'usage: make TARGET'
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build the program, optimised, with every feature
	$(CARGO) build --locked --release --all-features

demo: ## serve fixtures/site on this machine, crawl it, show what came of it
	$(CARGO) build --locked --bin canter --example serve
	@mkdir -p target/demo
	$(BUILT)/debug/examples/serve --addr 127.0.0.1 --addr 127.0.0.2 fixtures/site \
		-- $(BUILT)/debug/canter run fixtures/demo.toml
	@echo
	@echo 'target/demo/pages.jsonl: one record for each page; the first three:'
	@head -n 3 target/demo/pages.jsonl
	@echo
	@echo 'target/demo/log.jsonl: how each URL ended; those that did not simply end well:'
	@awk '!(/"end":"done"/ && /"attempts":1[,}]/)' target/demo/log.jsonl
	@echo
	@echo 'target/demo/summary.json:'
	@cat target/demo/summary.json

test: ## run every test: as it comes, the library alone, with every feature
	$(CARGO) rustc --locked --lib --no-default-features -- -D warnings
	$(CARGO) check --locked --tests --no-default-features
	$(CARGO) test --locked
	$(CARGO) test --locked --no-default-features --lib
	$(CARGO) test --locked --all-features --doc
	$(CARGO) test --locked --all-features --tests

check: ## formatting, lints, documentation, tests
	$(CARGO) fmt --check
	$(CARGO) clippy --locked --all-targets -- -D warnings
	$(CARGO) clippy --locked --all-targets --no-default-features -- -D warnings
	$(CARGO) clippy --locked --all-targets --all-features -- -D warnings
	@set -ex; for feature in cli select cookies brotli socks; do \
		$(CARGO) clippy --locked --lib --no-default-features --features $$feature -- -D warnings; \
	done
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --locked --no-deps --all-features
	$(MAKE) test

bench: export PATH := $(PATH):/usr/sbin
bench: ## run the benchmarks; as root, gets nginx and wget2 with apt when they are missing
	@missing="$$(command -v nginx >/dev/null || echo nginx-light) $$(command -v wget2 >/dev/null || echo wget2)"; \
	if [ "$$missing" = ' ' ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get -o DPkg::Lock::Timeout=240 update && \
		DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=240 install -y --no-install-recommends $$missing; \
	else \
		echo "The comparison needs what is not installed: $$missing" >&2; \
	fi
	$(CARGO) bench --locked --all-features --bench '*'

simulate: N = 10000
simulate: ## N made-up crawls in virtual time (N=10000)
	SIMULATE_CRAWLS=$(N) $(CARGO) test --locked --profile ci --test simulation -- --nocapture

torture: N = 300
torture: ## kill a real crawl N times and look for what is lost or twice (N=300)
	CANTER_KILLS=$(N) $(CARGO) test --locked --test torture -- --nocapture

fuzz: T = 600
fuzz: ## fuzz each parser for T seconds (T=600); needs cargo-fuzz and a nightly toolchain
	@set -e; for target in $(basename $(notdir $(wildcard tests/fuzz/fuzz_targets/*.rs))); do \
		mkdir -p tests/fuzz/corpus/$$target; \
		$(CARGO) +nightly fuzz run --fuzz-dir tests/fuzz --sanitizer none $$target \
			tests/fuzz/corpus/$$target fixtures/corpus/$$target -- \
			-dict=fixtures/corpus/$$target.dict -max_total_time=$(T) -max_len=4096; \
	done

install: ## install the program, with every feature, into Cargo's folder
	$(CARGO) install --path . --locked --all-features

static: ## build one static binary (TARGET=x86_64-unknown-linux-musl PROFILE=release)
	@test -n "$$(ls "$$(rustc --print target-libdir --target $(TARGET))" 2>/dev/null)" || { \
		echo "The standard library for $(TARGET) is not installed. Either"; \
		echo "    rustup target add $(TARGET)"; \
		echo "and, for the C parts, cargo-zigbuild (or musl-tools, on the same kind of machine);"; \
		echo "or link this machine's own C library into the binary:"; \
		echo "    make static TARGET=$$(rustc -vV | sed -n 's/^host: //p')"; \
		exit 1; } >&2
	$(STATIC_FLAGS) $(CARGO) $(STATIC_BUILD) --locked --all-features --bin canter \
		--profile $(PROFILE) --target $(TARGET)
	@if command -v readelf >/dev/null; then \
		if readelf -lW $(STATIC_BINARY) | grep -q INTERP || readelf -dW $(STATIC_BINARY) | grep -q NEEDED; then \
			echo "$(STATIC_BINARY) is not static" >&2; exit 1; \
		fi; \
		echo "$(STATIC_BINARY) needs no other file"; \
	else \
		echo "$(STATIC_BINARY) is built; without readelf nobody looked whether it is static"; \
	fi
	@ls -l $(STATIC_BINARY)
