# The targets install what they need: a fresh Debian machine needs only Rust and make.

.PHONY: help build demo docs dist dist-try release-check test beam beam-test beam-test-current lint gate format deny bench many mutants soak hostile alarms fleet fleet-real fuzz miri tsan clean

help: ## The targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-17s %s\n", $$1, $$2}'

build: ## The release binary, target/release/candor
	@scripts/need-cc
	cargo build --release --bin candor

demo: build ## Half a minute against the embedded target: a healthy run, a stall, a peak
	@scripts/demo

test: ## Every test; installs the peers that tests need (nginx)
	@scripts/need-peers
	@scripts/test

beam: ## The Erlang kit: target servers and client drivers (installs Erlang and rebar3)
	@scripts/need-erlang
	cd beam && rebar3 compile

beam-test: ## Tests of the Erlang kit against real servers and clients (installs them)
	@scripts/need-erlang libraries
	cd beam && rebar3 compile
	@scripts/beam-test

beam-test-current: ## The same on a current Erlang, in a Debian chroot (root, debootstrap); LIBRARIES=FOLDER: servers' sources
	@scripts/beam-current

docs: ## The documentation as a site, target/docs/site (builds mdBook once)
	@scripts/need-mdbook
	@scripts/docs

dist: ## Archives, .deb and .rpm for x86-64 and aarch64, image, SBOM, checksums in target/dist (as root; builds in a Debian 11)
	scripts/dist/build x86_64
	scripts/dist/build aarch64
	scripts/dist/pack x86_64
	scripts/dist/pack aarch64
	scripts/dist/image

dist-try: ## Tries those in Debian 11, 12 and 13, aarch64 under qemu, and the image with podman (as root)
	scripts/dist/try

release-check: ## What has to hold before a version is given out, in order; it publishes nothing (as root; half an hour; QUICK=1: a minute)
	@scripts/dist/release $(if $(QUICK),--quick)

lint: ## Formatting and clippy, warnings denied
	@scripts/need-cc
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings

format: ## Formats the code
	cargo fmt --all

fuzz: ## Fuzzes every parser, guided by coverage: FUZZ_SECONDS=600 each
	@scripts/need-cc
	scripts/fuzz

miri: ## Unsafe code and atomics under Miri (needs the nightly toolchain with miri and rust-src)
	scripts/miri

tsan: ## Multi-threaded tests under ThreadSanitizer (needs the nightly toolchain with rust-src)
	@scripts/need-cc
	scripts/tsan

deny: ## Licences, advisories and sources of dependencies (needs cargo-deny)
	cargo deny check

gate: ## Instructions of the hot paths, compared with the recorded counts (needs valgrind)
	@scripts/need-cc
	@scripts/need-package valgrind python3
	bench/instructions

bench: build ## Side by side with wrk and h2load: CPU per request, rate, memory; and what events cost
	@scripts/need-package nginx:nginx-light wrk h2load:nghttp2-client openssl python3
	cargo build --release -p candor-engine --example floor
	bench/side-by-side
	bench/streams

mutants: ## The control of candor verify: it must detect builds with a fault; MUTANTS=late_parts: only this one
	@scripts/need-cc
	scripts/mutants $(MUTANTS)

soak: build ## Does memory grow? MINUTES=10 of closed, of open, and of widely spread load, and 100 million recorded samples
	@scripts/need-package python3
	cargo bench -p candor-record --bench hundred_million
	scripts/soak --minutes $(or $(MINUTES),10)

many: build ## Many connections: memory per connection, connect storms, start-up time
	@scripts/need-package nginx:nginx-light python3
	bench/many-connections $(if $(NAME),--name $(NAME))

hostile: ## The table of malicious servers: each on epoll and on io_uring, for a second; some minutes
	@scripts/need-cc
	CANDOR_MALICIOUS=full cargo test -p candor --test cli malicious:: -- --nocapture --test-threads=1

alarms: build ## How often candor ci is wrong here, beside another load: 40 comparisons without a difference, 20 with 5 % (some three hours)
	@scripts/need-package python3
	bench/alarms --same $(or $(SAME),40) --slower $(or $(SLOWER),20) $(if $(OUT),--out $(OUT))

fleet: ## Simulated fleets: SEEDS=100000 runs with faults; and the cost of a coordinator of 1,000 agents
	@scripts/need-cc
	CANDOR_FLEET_SEEDS=$(or $(SEEDS),100000) cargo test -p candor-fleet --test fleet simulation:: -- --nocapture
	cargo bench -p candor-fleet --bench thousand_agents

fleet-real: build ## Real fleets with real faults in namespaces of this machine, beside what was true (as root; a quarter of an hour)
	@scripts/need-package nginx:nginx-light nats-server ip:iproute2 python3
	cargo build --release -p candor-fleet-nats --example clocks
	bench/fleet $(if $(OUT),--out $(OUT))

clean: ## Removes all builds
	cargo clean
