# The few verbs of this repository; `make help` lists them. No build rules: cargo knows those.
# Rule: a verb is here when what it does exists, and each is a few commands that can be typed by hand.

LISTEN ?= 127.0.0.1:8080
ADMIN ?= 127.0.0.1:9090
DATA ?= ./data
PROFILE ?= test
APP ?= crates/bench/apps/hello.rb
ROUTE ?= /hello
SOAK_SECONDS ?= 600
VALGRIND_FAULTS ?= 25
FUZZ_SECONDS ?= 60
TARGET := $(or $(CARGO_TARGET_DIR),target)
# Without fair scheduling a busy loop keeps the thread that is to interrupt it from running.
VALGRIND := valgrind --quiet --fair-sched=yes --error-exitcode=9 --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite
BENCH_COMMON = $(TARGET)/release/tsumugi bench --peers $(PEERS) $(if $(NGX_MRUBY),--ngx-mruby $(NGX_MRUBY)) $(if $(QUICK),--quick) $(if $(TKRZW_RPC),--tkrzw-rpc $(TKRZW_RPC))
BENCH = $(BENCH_COMMON) $(if $(WRK),--wrk) $(if $(REPORT),--json $(REPORT).json --html $(REPORT).html)
PEERS := bench-peers/target/release
# rustup may have been installed after this shell was opened.
export PATH := $(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin

.DEFAULT_GOAL := help
.PHONY: help setup run release demo-cluster dist dist-reproducible dist-test publish test check valgrind growth alone deny rustdoc doc docs windows fmt clean bench bench-report bench-build bench-world-native bench-threads bench-arena bench-allocator bench-http bench-fibre bench-world bench-db bench-pg bench-async bench-builder bench-kv bench-jobs bench-firebird bench-hello bench-tax bench-parked bench-pool bench-peers bench-scheduling bench-validate soak screenshots fuzz profile costs scale-costs

help: ## this table
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' Makefile

setup: ## install what run and test need (PROFILE=run, cluster, test or bench)
	@scripts/setup $(PROFILE)

# `migrate up` and `seed` change nothing the second time. The addresses are printed with their variables first: the server's error about a port in use names no variable of make.
# A DATABASE_URL that is set for another application is not the demo's: its tables go to no database that was not named for it. What DEMO_DATABASE is, is not printed: it may have a password.
run: override export DATABASE_URL := $(value DEMO_DATABASE)
run: ## set up, build, serve the demo on http://LISTEN and its dashboard on ADMIN, none if that is empty (LISTEN=127.0.0.1:8080 ADMIN=127.0.0.1:9090 DATA=./data DEMO_DATABASE=)
	@scripts/setup run
	@test -x $(TARGET)/quick/tsumugi || echo 'run: building some 260 crates, without optimising: about four minutes on two cores, later only what has changed'
	cargo build --profile quick --package tsumugi-cli --no-default-features --features mimalloc
	@mkdir -p "$(DATA)"
	@test -s "$(DATA)/secret" || (umask 077; od -An -N32 -tx1 /dev/urandom | tr -d ' \n' > "$(DATA)/secret")
	@echo 'run: the tables of the demo are in $(if $(value DEMO_DATABASE),the database of DEMO_DATABASE,$(DATA)/app.db; DATABASE_URL is not looked at (another database: make run DEMO_DATABASE=URL))'
	@$(TARGET)/quick/tsumugi migrate up examples/demo/app.rb --data "$(DATA)"
	@$(TARGET)/quick/tsumugi seed examples/demo/app.rb --data "$(DATA)"
	@echo 'run: the demo on $(if $(filter unix:%,$(LISTEN)),$(LISTEN),http://$(LISTEN)) (another address: make run LISTEN=ADDRESS)'
	@echo 'run: $(if $(ADMIN),its dashboard on $(if $(filter unix:%,$(ADMIN)),$(ADMIN),http://$(ADMIN)/dashboard/) (another address: make run ADMIN=ADDRESS; none: make run ADMIN=),no dashboard: ADMIN is empty)'
	TSUMUGI_SECRET="$${TSUMUGI_SECRET:-$$(cat "$(DATA)/secret")}" \
	$(TARGET)/quick/tsumugi serve examples/demo/app.rb --listen $(LISTEN) --data "$(DATA)" --access-log - $(if $(ADMIN),--admin $(ADMIN))

release: ## build what is shipped, for this machine: target/release/tsumugi (`make dist` for others)
	@scripts/setup run
	cargo build --release --package tsumugi-cli --no-default-features --features full,mimalloc

dist: ## in dist/: static executables for x86-64 and arm64, Debian packages, archives, a container's files, SBOMs, checksums
	@scripts/setup dist
	@scripts/dist

dist-reproducible: dist ## the same once more, from a copy of the sources in another folder: every byte must be the same
	@scripts/dist-reproducible

dist-test: ## install each of dist/ in a clean root and ask an application there; needs root
	@scripts/setup dist-test
	@scripts/dist-test

publish: ## what `cargo publish` would send of the crates that are published; sends nothing
	cargo publish --workspace --dry-run --no-verify --allow-dirty

demo-cluster: ## the demo as three processes over three PostgreSQL, etcd and a balancer on http://LISTEN; says what to kill
	@scripts/setup cluster
	cargo build --profile quick --package tsumugi-cli --no-default-features --features mimalloc
	cargo build --profile quick --package tsumugi-testkit --bin tsumugi-demo-cluster
	@$(TARGET)/quick/tsumugi-demo-cluster --listen $(LISTEN)

test: ## set up, then format, clippy, tidy and every test; ends with "N passed, N failed"
	@scripts/setup test
	@cargo xtask test

check: valgrind growth alone deny rustdoc windows ## the slower checks: tests of the VM under valgrind, growth of time in Ruby's natives, each crate by itself, licences, documentation, the PostgreSQL crates for Windows

# Among them the tests faults, in which allocations of the VM fail: what is left behind then, or read after it was freed, is found here.
# VALGRIND_FAULTS places of each request of an application are taken.
valgrind:
	@scripts/setup test
	cargo test --config "target.'cfg(unix)'.runner = '$(VALGRIND)'" --package tsumugi-mruby --tests -- --test-threads=1
	TSUMUGI_FAULTS=$(VALGRIND_FAULTS) cargo test --config "target.'cfg(unix)'.runner = '$(VALGRIND)'" --package tsumugi-ruby --test faults -- --test-threads=1

# A crate that is built with others has the features of dependencies that those ask for: what it forgot to ask for itself is found here alone.
# What refuses in the place of a feature is compiled, and tested, only without it.
alone:
	@for manifest in crates/*/Cargo.toml; do \
		package=$$(sed -n 's/^name = "\(.*\)"/\1/p' $$manifest | head -n 1); \
		echo "cargo check --package $$package"; \
		cargo check --quiet --package $$package || exit 1; \
	done
	@for package in db http jobs kv server stores; do \
		echo "cargo test --lib --no-default-features --package tsumugi-$$package"; \
		cargo test --quiet --lib --no-default-features --package tsumugi-$$package || exit 1; \
	done
	@for feature in acme brotli cron disk firebird grpc mail otlp redis ruby; do \
		echo "cargo check --package tsumugi --features $$feature"; \
		cargo check --quiet --package tsumugi --features $$feature || exit 1; \
	done

# Ruby's natives over what clients send; `make test` has parsers, connections and values bound to SQL.
growth:
	cargo test --package tsumugi-ruby --test growth

# What needs the network comes last.
deny:
	@if cargo deny --version >/dev/null 2>&1; then \
		cargo deny check bans licenses sources && cargo deny check advisories; \
	else \
		echo 'deny: skipped, cargo-deny is not installed; `cargo install cargo-deny --locked` builds it in some minutes'; \
	fi

rustdoc: ## build the documentation of every crate; a warning is an error
	RUSTDOCFLAGS='--deny warnings' cargo doc --workspace --no-deps --features tsumugi/full,tsumugi-pg/blocking,tsumugi-pg/typed

# What it was called, one letter away from the site.
doc: rustdoc

docs: ## the documentation as a site: target/site/html/index.html, with search, light and dark, and one page for the printer
	@scripts/site $(TARGET)/site

bench: bench-build bench-peers ## every benchmark beside the peers found here (QUICK=1: shorter; WRK=1: load from wrk; REPORT=NAME: NAME.json, NAME.html)
	@$(BENCH) all

# For the documentation: what it shows is drawn from one run, in which nothing failed and PostgreSQL was there.
REPORTED := $(TARGET)/report
bench-report: bench-build bench-peers bench-allocator ## the same, by our own load, as a report in docs/bench, with two of its charts (RESUME=1: go on where one was ended)
	@$(if $(RESUME),,rm -rf $(REPORTED) &&) mkdir -p $(REPORTED) docs/bench
	@$(BENCH_COMMON) all $(if $(RESUME),--resume) --json $(REPORTED)/report.json --html $(REPORTED)/report.html
	@$(TARGET)/release/tsumugi bench show $(REPORTED)/report.json --charts $(REPORTED) >/dev/null
	@test -f $(REPORTED)/http-string.svg && test -f $(REPORTED)/db-reads.svg || { echo 'a chart of the README is missing: docs/bench stays as it was' >&2; exit 1; }
	@cp $(REPORTED)/report.json $(REPORTED)/report.html $(REPORTED)/http-string.svg $(REPORTED)/db-reads.svg docs/bench

SUITES := http fibre world world-native threads arena db pg async builder kv firebird jobs
bench-http: ## a one-line handler beside nginx+Lua and H2O; workers, allocator, collector; time to answer
bench-fibre: ## what a fibre costs beside a direct call, H2O and ngx_mruby (NGX_MRUBY=FOLDER); requests asleep at once
bench-world: ## World and Fortune on PostgreSQL beside axum, Bun and nginx+Lua, in own sessions and in one
bench-world-native: ## the same in Rust, and a one-line handler beside hyper alone
bench-threads: ## one worker and several, allocators, collectors, as allographer's tables have them; beside asynchttpserver and others
bench-arena: ## HttpArena's profiles in Ruby and in Rust, beside hyper, actix-web and Elysia on Bun
bench-db: ## 500 reads in one request, in four ways
bench-pg: ## the PostgreSQL driver alone beside tokio-postgres, libpq, pgx and postgres.js
bench-async: ## 10,000 reads awaited together: fibres, futures, a bounded pool of threads
bench-jobs: ## empty jobs a second on PostgreSQL, in Ruby and in Rust, beside graphile-worker and pg-boss
bench-builder: ## what the query builder costs over the same SQL, in Ruby and in Rust
bench-kv: ## the key-value store in the tables of Tkrzw-RPC; streams, batches, large values; in process from Ruby and Rust (TKRZW_RPC=FOLDER: beside tkrzw_server)
bench-firebird: ## the catalogue of a Firebird database as JSON in six ways, beside node-firebird and the Go driver
$(SUITES:%=bench-%): bench-%: bench-build bench-peers
	@$(BENCH) $*

bench-scheduling: bench-build bench-peers ## World and Fortune, Ruby and Rust, with --scheduling batches and inherited beside each other
	@$(BENCH) --scheduling batches,inherited world world-native

bench-validate: bench-build bench-peers ## the load of the benchmarks beside wrk: they must agree within a tenth, on ratios to a peer too
	@$(BENCH) generator

# What the suites were called.
bench-hello: bench-http
bench-tax bench-parked: bench-fibre
bench-pool: bench-db

# The server without mimalloc, in a folder of its own: its features are other ones.
bench-allocator: ## build the server with the allocator of the system, which bench-http then measures too
	cargo build --release --package tsumugi-cli --no-default-features --features full --target-dir $(TARGET)/system-allocator

profile: bench-build ## what a request costs: instructions by crate, system calls (APP=crates/bench/apps/hello.rb ROUTE=/hello OPTIONS="--admin 127.0.0.1:0")
	@scripts/profile $(APP) $(ROUTE) $(OPTIONS)

costs: bench-build bench-peers ## instructions of a request to each endpoint of World and Fortune: Ruby, Rust, axum
	@$(TARGET)/release/tsumugi-with-postgres scripts/endpoint-costs

scale-costs: ## memory of each of many connections, processor time and delay of a publish to many subscribers (PARTS="events fanout"; QUICK=1: up to 1,000)
	@scripts/setup run
	cargo build --release --package tsumugi-cli --package tsumugi-testkit --package tsumugi \
		--bin tsumugi --bin tsumugi-with-postgres --example scale
	@$(TARGET)/release/tsumugi-with-postgres scripts/scale-costs $(if $(QUICK),--quick) $(PARTS)

soak: bench-build bench-peers ## every allocation of the VM failing, the demo while database backends die, mixed load, parking, reloads, drains, PostgreSQL and Firebird killed under load, histories of transactions, leaders of cluster timers killed and stopped, a bank on three processes over a cluster of PostgreSQL under faults, the key-value store killed, damaged, raced, growth of time to 16 MiB (SOAK_SECONDS=600)
	@$(BENCH) generator soak --soak-seconds $(SOAK_SECONDS)
	TSUMUGI_FAULTS=full cargo test --package tsumugi-mruby --test faults
	TSUMUGI_FAULTS=full cargo test --package tsumugi-ruby --test faults
	KILL_ROUNDS=200 LINEAR_ROUNDS=1000 DAMAGE_STEPS=100 cargo test --package tsumugi-kv --test kill --test linear --test damage --test torn -- --nocapture
	LARGE_MIB=1024 cargo test --release --package tsumugi-kv --test large -- --nocapture
	TSUMUGI_CHAOS_ROUNDS=20 TSUMUGI_CHAOS_SECONDS=30 TSUMUGI_CHAOS_ROWS=10000000 cargo test --package tsumugi-db --test postgres -- --nocapture chaos:: load::
	TSUMUGI_CHAOS_ROUNDS=20 cargo test --package tsumugi-db --test firebird -- --nocapture chaos::
	TSUMUGI_LOST_ANSWERS_ROUNDS=2000 cargo test --package tsumugi-db --test transactions -- --nocapture lost_answers::
	TSUMUGI_JOB_KILLS=200 cargo test --package tsumugi-jobs --test engines -- --nocapture kills::process
	TSUMUGI_HISTORIES=10000 cargo test --package tsumugi-db --test transactions -- --nocapture histories::
	TSUMUGI_AUTOMATIC_HISTORIES=100 cargo test --package tsumugi-firebird --test live -- --nocapture automatic::
	TSUMUGI_LEASE_HISTORIES=200000 cargo test --release --package tsumugi-cluster --test model
	TSUMUGI_CLUSTER_ROUNDS=100 cargo test --package tsumugi-cli --test acceptance -- --nocapture cluster_timer
	TSUMUGI_LEASE_HISTORIES=100000 cargo test --package tsumugi-stores --test processes -- model::
	TSUMUGI_CLUSTER_FAULTS=30 cargo test --package tsumugi-stores --test processes -- --nocapture killed_and_stopped
	TSUMUGI_BANK_ROUNDS=20 cargo test --package tsumugi-cli --test acceptance -- --nocapture bank_over
	TSUMUGI_WALKS=20000 cargo test --package tsumugi-mruby --test walks -- --nocapture --test-threads=1
	TSUMUGI_WALKS=5000 cargo test --package tsumugi-ruby --test walks -- --nocapture
	TSUMUGI_GROWTH_LONG=1 cargo test --package tsumugi-fuzz --package tsumugi-http --package tsumugi-rpc --package tsumugi-db --package tsumugi-sql --test 'growth*' -- --nocapture
	TSUMUGI_GROWTH_LONG=1 cargo test --package tsumugi-ruby --test growth -- --nocapture --test-threads=1
	TSUMUGI_IDLE_CONNECTIONS=10000 LINEAR_ROUNDS=1000 KILL_ROUNDS=200 cargo test --package tsumugi-rpc --test service -- --nocapture idle linear:: kill::

# In few builds: packages built together agree on the features of what they share, so that it is compiled once for all of them. The last
# two are by themselves, since the tests of their packages stop the clock.
bench-build:
	@scripts/setup bench
	cargo build --release --package tsumugi-cli --package tsumugi-testkit \
		--bin tsumugi --bin tsumugi-with-postgres --bin tsumugi-with-firebird
	cargo build --release --package tsumugi-ruby --package tsumugi-http --package tsumugi-rpc --package tsumugi-kv --package tsumugi \
		--package tsumugi --example tax --example hello --example throughput --example builder \
		--example world-native --example arena --example threads --example threads-system --example native-soak --example firebird-blocking
	cargo build --release --package tsumugi-pg --package tsumugi-db --package tsumugi-jobs --example depth --example together --example empty_jobs

# Programs of others beside ours, libpq's where its header is, those of JavaScript where npm is, those of Go where Go is, asynchttpserver where nim
# is.
bench-peers:
	cargo build --release --manifest-path bench-peers/Cargo.toml --target-dir bench-peers/target
	@if include=$$(pg_config --includedir 2>/dev/null) && test -e "$$include/libpq-fe.h"; then \
		cc -O2 -Wall -Wextra -I"$$include" bench-peers/src/pg_libpq.c -lpq -pthread -o $(PEERS)/pg-libpq; \
	else \
		echo 'bench-peers: libpq skipped, its header is missing; the Debian package libpq-dev has it'; \
	fi
	@if command -v npm >/dev/null; then \
		mkdir -p $(PEERS)/node-firebird && cp bench-peers/node-firebird/* $(PEERS)/node-firebird/ && \
		npm ci --prefix $(PEERS)/node-firebird --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error; \
	else \
		echo 'bench-peers: node-firebird skipped, npm is missing; the Debian packages nodejs and npm have it'; \
	fi
	@if command -v npm >/dev/null; then \
		mkdir -p $(PEERS)/elysia && cp bench-peers/elysia/* $(PEERS)/elysia/ && \
		npm ci --prefix $(PEERS)/elysia --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error; \
	else \
		echo 'bench-peers: Elysia skipped, npm is missing; the Debian packages nodejs and npm have it'; \
	fi
	@if command -v npm >/dev/null; then \
		mkdir -p $(PEERS)/jobs && cp bench-peers/jobs/* $(PEERS)/jobs/ && \
		npm ci --prefix $(PEERS)/jobs --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error; \
	else \
		echo 'bench-peers: pg-boss and graphile-worker skipped, npm is missing; the Debian packages nodejs and npm have it'; \
	fi
	@if command -v nim >/dev/null; then \
		for mm in refc arc orc; do for threads in on off; do \
			test $(PEERS)/nim-$$mm-$$threads -nt bench-peers/nim/server.nim || \
			nim c --hints:off --verbosity:0 --mm:$$mm --threads:$$threads -d:useMalloc -d:useRealtimeGC -d:release \
				--nimcache:$(PEERS)/nimcache-$$mm-$$threads --out:$(PEERS)/nim-$$mm-$$threads bench-peers/nim/server.nim || \
			echo "bench-peers: asynchttpserver with $$mm, threads $$threads, skipped: nim did not build it, for the reason above"; \
		done; done; \
	else \
		echo 'bench-peers: asynchttpserver skipped, nim is missing; the Debian package nim has it'; \
	fi
	@if command -v npm >/dev/null; then \
		mkdir -p $(PEERS)/javascript && cp bench-peers/javascript/* $(PEERS)/javascript/ && \
		npm ci --prefix $(PEERS)/javascript --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error; \
	else \
		echo 'bench-peers: postgres.js skipped, npm is missing; the Debian packages nodejs and npm have it'; \
	fi
	@if command -v go >/dev/null; then \
		cd bench-peers/go && go build -o $(abspath $(PEERS))/pg-pgx ./pgx && go build -o $(abspath $(PEERS))/firebird-go ./firebird || \
		echo 'bench-peers: pgx and the Go driver for Firebird skipped: go did not build them, for the reason above; they need Go 1.25 or later, and the network once'; \
	else \
		echo 'bench-peers: pgx and the Go driver for Firebird skipped, go is missing; https://go.dev/dl has it'; \
	fi

# From its test, which has to pass: an application under load, in Chromium.
PICTURES := $(TARGET)/pictures
screenshots: ## the pictures of the dashboard in docs/dashboard, from its test in Chromium
	@scripts/setup test
	@fc-list :lang=ja | grep -q . || { echo 'screenshots: there is no font for Japanese; the Debian package fonts-noto-cjk has one' >&2; exit 1; }
	@rm -rf $(PICTURES) && mkdir -p $(PICTURES) docs/dashboard
	TSUMUGI_PICTURES=$(abspath $(PICTURES)) cargo test --package tsumugi-cli --test browser -- dashboard_of
	@for picture in overview overview-ja requests trace; do cp $(PICTURES)/dashboard-$$picture.png docs/dashboard/$$picture.png; done

fuzz: ## fuzz every parser of what clients send, FUZZ_SECONDS=60 each; needs nightly Rust
	@scripts/fuzz $(FUZZ_SECONDS)

# A check calls no C compiler's output: ring's build script may take anything for one.
windows:
	@if rustup target list --installed 2>/dev/null | grep -qx x86_64-pc-windows-gnu; then \
		CC_x86_64_pc_windows_gnu=true AR_x86_64_pc_windows_gnu=true \
		cargo check --target x86_64-pc-windows-gnu --package tsumugi-pg-proto --package tsumugi-wire --package tsumugi-pg --features tsumugi-pg/blocking,tsumugi-pg/typed; \
	else \
		echo 'windows: skipped, its standard library is missing; `rustup target add x86_64-pc-windows-gnu` fetches it'; \
	fi

fmt: ## format every crate
	cargo fmt --all

clean: ## remove what was built; ./data stays
	cargo clean
