# make shows what there is. Only Go, make and a C compiler (for the race
# detector) are needed; Go fetches the rest.

GO          ?= go
FUZZTIME    ?= 20s
STATICCHECK  = $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2
CC          ?= cc
MODULES      = e2e e2e/browser compat bench sink
OUT         ?= bin

# The tests that need a kube-controller-manager, which takes minutes to build, and
# what else e2e leaves out.
CONTROLLED   = ^(TestControllerManager|TestControllerManagerThatCannotStart|TestNodes|TestOperators|TestWrittenOperator)$$
APART        = $(CONTROLLED)|^TestTerminal

.DEFAULT_GOAL := help
.PHONY: help demo demo-ui test check lint unit race-ready e2e operators terminal shells pictures ui-pictures ui-test ui-e2e chromium compat compat-short sink postgresql ci fuzz attacks hostile soak bench ui-bench microbench install man completion notices base-images generate clean

help: ## show this
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## the program at work, on a fake API server of its own
	$(GO) run ./cmd/listwatch demo

demo-ui: ## the live page of a cluster that is played, in a browser
	$(GO) run ./cmd/listwatch demo --ui --open

test: check unit ## everything that needs no cluster: vet, staticcheck, gofmt, tests under the race detector

check:
	$(GO) vet ./...
	$(GO) vet -tags soak ./cmd/listwatch
	$(STATICCHECK) ./...
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "gofmt these files:"; echo "$$unformatted"; exit 1; }

lint: check ## go vet, staticcheck and gofmt of every module, and go vet for macOS and Windows
	GOOS=darwin $(GO) vet ./...
	GOOS=windows $(GO) vet ./...
	@set -e; for module in $(MODULES); do echo "cd $$module && go vet ./... && staticcheck ./..."; \
	  (cd $$module && $(GO) vet ./... && $(STATICCHECK) ./...); done

# A program with the race detector sleeps a second before it exits, for races that are
# being reported. There are a thousand such programs here, so it is a tenth of that.
unit: export GORACE := $(or $(GORACE),atexit_sleep_ms=100)
unit: race-ready ## the tests alone
	$(GO) test -race -shuffle=on -timeout=15m -skip '^TestHostile($$|Readers)' ./...

race-ready:
	@command -v $(firstword $(CC)) >/dev/null || { \
	  echo "*** NO C COMPILER: '$(CC)' is not there, and the race detector needs one. ***"; \
	  echo "*** Install gcc or clang (apt-get install gcc), or set CC.              ***"; \
	  echo "*** Without it: go test ./...  (which finds no data races)              ***"; \
	  exit 1; }
	@test "$$($(GO) env CGO_ENABLED)" = 1 || { \
	  echo "*** CGO_ENABLED is 0, and the race detector needs 1. ***"; exit 1; }

e2e: race-ready ## against a real kube-apiserver and etcd; the first time builds them, which takes minutes
	cd e2e && timeout 45m $(GO) run ./cmd/build
	cd e2e && $(GO) vet ./... && $(GO) test -race -count=1 -timeout=15m -skip '$(APART)' ./...

operators: ## the operators of examples/ on a real control plane, some 5 minutes; the first time builds it
	cd e2e && timeout 45m $(GO) run ./cmd/build kube-apiserver etcd kubectl kube-controller-manager
	cd e2e && $(GO) vet ./... && $(GO) test -count=1 -timeout=20m -run '$(CONTROLLED)' ./operators ./cluster ./node

terminal: shells ## the program and its completion in a real terminal, which is tmux, with bash, zsh and fish
	cd e2e && timeout 45m $(GO) run ./cmd/build kubectl
	cd e2e && $(GO) vet ./program && $(GO) test -count=1 -timeout=10m -run '^TestTerminal' ./program

SHELLS       = tmux bash zsh fish
shells: # installs what terminal needs, where this may be done
	@found() { for s in $(SHELLS); do command -v $$s >/dev/null || return 1; done; test -e /usr/share/bash-completion/bash_completion; }; \
	  root() { if test "$$(id -u)" = 0; then "$$@"; else sudo -n "$$@"; fi; }; \
	  found || { command -v apt-get >/dev/null && root apt-get update && root apt-get install -y --no-install-recommends $(SHELLS) bash-completion; } || true; \
	  found || { echo "*** tmux, zsh, fish or bash-completion are not there, and this user cannot ***"; \
	    echo "*** install them: apt-get install $(SHELLS) bash-completion   ***"; exit 1; }

pictures: shells ## the animations of README.md: recorded in tmux with the program and kubectl of now, then drawn
	cd e2e && timeout 45m $(GO) run ./cmd/build kubectl && $(GO) run ./cmd/pictures

ui-pictures: ## the pictures of the live page in README.md, taken in a real Chromium of the demonstration, two minutes
	cd e2e/browser && timeout 20m $(GO) run ./cmd/pictures

ui-test: ## the live page in a real Chromium, some minutes
	@command -v chromium chromium-browser google-chrome >/dev/null || { echo "*** Chromium is not there: apt-get install chromium (or, as root, make chromium) ***"; exit 1; }
	cd e2e/browser && $(GO) vet ./... && $(GO) test -count=1 -timeout=10m -skip '^TestRealCluster$$' ./...

ui-e2e: ## the live page of a real kube-apiserver that is killed; the first time builds it, which takes minutes
	cd e2e && timeout 45m $(GO) run ./cmd/build
	cd e2e/browser && $(GO) test -count=1 -timeout=10m -run '^TestRealCluster$$' .

chromium: # installs what ui-test needs, where this may be done
	@command -v chromium chromium-browser google-chrome >/dev/null || { apt-get update && apt-get install -y --no-install-recommends chromium fonts-dejavu-core; }

compat: ## client-go, controller-runtime and kubectl against the fake server and the real one
	cd e2e && timeout 45m $(GO) run ./cmd/build kube-apiserver etcd kubectl kubectl-1.36
	cd compat && $(GO) vet ./... && $(STATICCHECK) ./... && $(GO) test -count=1 -timeout=20m ./...

# What compat-short leaves out: the stories that take long, or need the kubectl of the
# release before.
LONG_COMPAT  = ^TestCompat$$/^(Kubectl.*|Election|Recorders|Lease)$$
compat-short: ## the cheap part of compat, a minute: requests, informers, decoders and definitions
	cd e2e && timeout 45m $(GO) run ./cmd/build
	cd compat && $(GO) test -count=1 -timeout=10m -skip '$(LONG_COMPAT)' ./... -operations=200
	cd e2e/cmd/protobuf && $(GO) test ./... # the table of field numbers, which is of another version of k8s.io

# Without the race detector, to stay below a minute; SINKTEST=-race has it.
SINKTEST    ?=
sink: postgresql ## the module of sinks: its contract, stories and soaks over each system; needs PostgreSQL; SINKTEST=-race
	cd sink && $(GO) vet ./... && $(GO) test $(SINKTEST) -timeout=10m ./...

postgresql: # installs what sink needs, where this may be done
	@found() { ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || command -v postgres >/dev/null; }; \
	  found || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update && apt-get install -y --no-install-recommends postgresql; } || true; \
	  found || { echo "*** PostgreSQL is not there, and this user cannot install it:    ***"; \
	    echo "*** apt-get install postgresql. The sinks are NOT tested without. ***"; exit 1; }

ci: lint unit sink attacks ui-test e2e terminal ui-e2e compat-short ## what CI runs

generate: ## what is made of the programs of Kubernetes: schemas, field numbers, the recordings of testdata; see each command's doc
	cd e2e && timeout 45m $(GO) run ./cmd/build
	cd e2e && $(GO) run ./cmd/schema && $(GO) run ./cmd/corpus
	cd e2e/cmd/protobuf && $(GO) run .

fuzz: ## each fuzz target of the main module and of sink for FUZZTIME (20s)
	@set -e; for module in . sink; do for pkg in $$($(GO) -C $$module list ./...); do \
	  for target in $$($(GO) -C $$module test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "== $$pkg $$target"; \
	    $(GO) -C $$module test -run='^$$' -fuzz="^$$target\$$" -fuzztime=$(FUZZTIME) -timeout=30m $$pkg; \
	  done; \
	done; done

attacks: ## the attacks of make hostile with 12 MB each (Linux), a minute
	$(GO) test ./cmd/listwatch -run '^TestHostile' -count=1 -parallel=2 -timeout=10m

# kubectl, if it is there, is attacked too, and only reported.
HOSTILE      ?= 4000000000
hostile: ## the program, and list and watch, under attacks of 4 GB each by servers and files (Linux): none may make them hold 300 MB; 20 minutes
	$(GO) test ./cmd/listwatch -run '^TestHostile$$' -count=1 -parallel=4 -v -timeout=60m -hostile.bytes=$(HOSTILE) -hostile.kubectl="$(KUBECTL)"
	$(GO) test ./watch -run '^TestMemoryIsLimitedWhateverAServerSends$$' -count=1 -parallel=4 -v -timeout=60m -attack=4096

# Each part is a target of its own: make -j2 soak runs two at a time.
SOAKS        = soak-program soak-models soak-stops soak-sink soak-webhook
.PHONY: $(SOAKS)
soak: $(SOAKS) ## what takes long, under an hour with -j2: each part below

soak-program: ## a day in virtual time, 10 minutes of kills and full disks with the program (Linux; as who may mount)
	cd cmd/listwatch && $(GO) vet -tags soak . && timeout 60m $(GO) test -tags soak -run '^TestSoak' -timeout 55m -count=1 -v . -soak.hours 24 -soak.minutes 10

soak-models: ## a million operations on the model of package cache, 300 elections and 100 rings
	cd cache && GOGC=400 timeout 100m $(GO) test -run TestInformerModel -timeout 95m . -model.ops 1000000
	cd lease && timeout 40m $(GO) test -run TestElectionModel -timeout 35m . -model.seeds 300
	cd lease && timeout 40m $(GO) test -run TestRingModel -timeout 35m . -model.seeds 100

soak-stops: ## informers that stop at random moments: 200 times with the fake server, 50 with a real one
	cd cache && timeout 30m $(GO) test -race -run '^TestInformerStops$$' -timeout 25m -count=1 -v . -stops 200
	cd e2e && timeout 60m $(GO) run ./cmd/build && timeout 40m $(GO) test -run '^TestInformerStops$$' -timeout 35m -count=1 -v ./library -stops 50

soak-sink: postgresql ## listwatch-sink on a full disk, and 20 leaders on a PostgreSQL
	cd sink && $(GO) vet -tags soak ./cmd/listwatch-sink && timeout 20m $(GO) test -tags soak -run '^TestSoakOnAFullDisk$$' -timeout 15m -count=1 -v ./cmd/listwatch-sink
	cd sink && timeout 20m $(GO) test -run '^TestReplicasShareADatabase$$' -timeout 15m -count=1 -v ./cmd/listwatch-sink -ha.rounds 10

soak-webhook: ## trust in certificates that rotate, and 20,000 writes through webhooks on a real server
	cd webhook && timeout 20m $(GO) test -run TestTrustHoldsWhateverHappens -timeout 15m . -long
	cd e2e && timeout 60m $(GO) run ./cmd/build && timeout 20m $(GO) test -run '^TestWebhook$$' -timeout 15m -count=1 -v ./library -webhook-writes 20000 -webhook-rate 200 -webhook-lifetime 60s

bench: ## the yardstick: beside client-go and controller-runtime, in one run of 12 to 18 minutes, on a quiet machine
	cd bench && timeout 40m $(GO) run ./cmd/bench

ui-bench: ## the live page of 50,000 pods in a real Chromium, 11 minutes, on a quiet machine
	cd e2e/browser && timeout 20m $(GO) run ./cmd/bench -out ../../bench/results/ui.md

microbench: ## the benchmarks of each package, for benchstat
	$(GO) test -run='^$$' -bench=. -benchmem -timeout=30m ./...

install: ## listwatch, the kubectl plugin of the same program and its completion, into Go's bin folder
	$(GO) install ./cmd/listwatch
	@dir=$$($(GO) env GOBIN); path=$$($(GO) env GOPATH); dir=$${dir:-$${path%%:*}/bin}; \
	  ln -sf listwatch "$$dir/kubectl-listwatch" && \
	  "$$dir/listwatch" completion kubectl > "$$dir/kubectl_complete-listwatch" && \
	  chmod +x "$$dir/kubectl_complete-listwatch" && \
	  echo "installed $$dir/listwatch, $$dir/kubectl-listwatch and its completion"

man: ## the man pages, into OUT/man (bin/man)
	$(GO) run ./cmd/listwatch man $(OUT)/man

completion: ## the completion scripts of all shells, into OUT/completions
	@mkdir -p $(OUT)/completions
	@set -e; for shell in bash zsh fish powershell kubectl; do \
	  $(GO) run ./cmd/listwatch completion $$shell > $(OUT)/completions/listwatch.$$shell; \
	done

# Of all systems of the release: what is linked differs by a few modules.
notices: ## the licences of what is linked, into OUT/THIRD_PARTY_NOTICES
	@mkdir -p $(OUT)
	@set -e; { for os in linux darwin windows; do \
	  GOOS=$$os $(GO) list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/listwatch; done; \
	  echo "Go $$($(GO) env GOVERSION) $$($(GO) env GOROOT)"; } | sort -u > $(OUT)/modules.txt
	@set -e; while read -r path version dir; do \
	  found=$$(find "$$dir" -maxdepth 1 -type f \( -iname 'LICEN[CS]E*' -o -iname 'COPYING*' -o -iname 'NOTICE*' -o -iname 'PATENTS*' \) | sort); \
	  test -n "$$found" || { echo "$$path has no licence" >&2; exit 1; }; \
	  printf '\n==== %s %s ====\n' "$$path" "$$version"; \
	  echo "$$found" | while read -r f; do printf '\n'; cat "$$f"; done; \
	done < $(OUT)/modules.txt > $(OUT)/THIRD_PARTY_NOTICES
	@rm $(OUT)/modules.txt

# A tag may be another image tomorrow. This needs a network and docker; commit the result.
DOCKERFILES  = packaging/Dockerfile examples/foo/Dockerfile examples/cloudmanager/Dockerfile examples/database/Dockerfile
base-images: ## the digests of the base images, as their tags are now, into the Dockerfiles
	@command -v docker >/dev/null || { echo "*** docker is not there ***"; exit 1; }
	@set -e; for image in $$(sed -n 's/^FROM \(--platform=[^ ]* \)\{0,1\}\([^ ]*\).*/\2/p' $(DOCKERFILES) | sort -u); do \
	  tag=$${image%@*}; \
	  digest=$$(docker buildx imagetools inspect "$$tag" --format '{{.Manifest.Digest}}'); \
	  case "$$digest" in sha256:*) ;; *) echo "*** $$tag has no digest: $$digest ***"; exit 1;; esac; \
	  sed -i "s|^\(FROM .*\)$$image|\1$$tag@$$digest|" $(DOCKERFILES); echo "$$tag@$$digest"; \
	done

clean: ## what the tests and builds left in this folder, nothing elsewhere
	rm -rf bin listwatch kubectl-listwatch *.test *.out *.prof
