package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/signals"
	"github.com/listwatch/listwatch/kube"
)

// TestMain runs the program itself where a test has started this binary as it.
func TestMain(m *testing.M) {
	if os.Getenv("LISTWATCH_TEST_MAIN") != "" {
		main()
	}
	// Of what surrounds the tests: a proxy, and a pod.
	for _, k := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "KUBERNETES_SERVICE_HOST"} {
		os.Unsetenv(k)
	}
	if signal.Ignored(syscall.SIGHUP) { // under nohup: what the tests start must not inherit it
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	// Most tests wait for processes: more of them run at once than there are processors.
	flag.Parse()
	if n := flag.Lookup("test.parallel"); n.Value.String() == n.DefValue {
		flag.Set("test.parallel", "8")
	}
	os.Exit(m.Run())
}

// TestScripts plays testdata/script. Besides the commands of testscript there are
//
//	cluster [tls] [certificates] [token=T]  start a fake API server; $SERVER, $KUBECONFIG
//	fake WHAT ARGS...              change its world, or make it misbehave
//	user KEY VALUE                 the user of the kubeconfig has this key only
//	run CODE ARGS...               run the program to its end, which must be CODE
//	says ARGS...                   run the program to its end, and append what it said to the file messages
//	start ARGS...                  run it in the background
//	until stdout|stderr REGEXP     wait for a line of it
//	signal INT|TERM|PIPE           what withSignals makes of it; PIPE closes stdout
//	end CODE                       wait for its end
//
// What the program wrote is what testscript's stdout, stderr and cmp see, with
// times, durations and addresses replaced. All waits are bounded.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"cluster": cmdCluster, "user": cmdUser, "fake": cmdFake, "run": cmdRun, "says": cmdSays, "start": cmdStart,
			"get": cmdGet, "occupied": cmdOccupied, "sh": cmdSh,
			"peer": cmdPeer, "full": cmdFull, "entry": cmdEntry, "body": cmdBody,
			"until": cmdUntil, "signal": cmdSignal, "end": cmdEnd,
		},
		Setup: func(env *testscript.Env) error {
			// A process that was being forked while a program of the script was written holds
			// it open until it executes another, and nobody could run the program.
			syscall.ForkLock.Lock()
			defer syscall.ForkLock.Unlock()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			w := &world{ctx: ctx, options: apitest.Options{Seed: 1}, headers: map[string]http.Header{}}
			env.Values[worldKey{}] = w
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("KUBECACHEDIR", os.DevNull) // each command connects
			env.Setenv("KUBECONFIG", "")
			env.Defer(func() {
				cancel()
				if w.program != nil {
					<-w.program.done
				}
				if w.srv != nil {
					w.srv.Close()
				}
			})
			return nil
		},
	})
}

// world is what one script plays in.
type world struct {
	ctx     context.Context // of the script
	options apitest.Options
	srv     *apitest.Server
	ca      string // file of the server's CA
	program *process
	full    bool // see full

	mu      sync.Mutex
	headers map[string]http.Header // by path; see fake headers
}

type worldKey struct{}

func worldOf(ts *testscript.TestScript) *world { return ts.Value(worldKey{}).(*world) }

// process is the program, in this process.
type process struct {
	stop           context.CancelCauseFunc
	stdout, stderr *tail
	done           chan struct{}
	code           int
}

func (w *world) start(ts *testscript.TestScript, args []string) *process {
	ctx, stop := context.WithCancelCause(w.ctx)
	p := &process{stop: stop, stdout: newTail(), stderr: newTail(), done: make(chan struct{})}
	env := map[string]string{}
	for _, k := range []string{"HOME", "KUBECACHEDIR", "KUBECONFIG", "KUBERNETES_SERVICE_HOST", "NO_COLOR", "CLICOLOR_FORCE", "TERM"} {
		env[k] = ts.Getenv(k)
	}
	var stdout io.Writer = p.stdout
	if w.full {
		stdout = nowhere{}
	}
	go func() {
		defer close(p.done)
		defer stop(nil)
		p.code = run(ctx, args, func(k string) string { return env[k] }, strings.NewReader(""), stdout, p.stderr)
	}()
	return p
}

// finish waits for the end, compares the code and hands over what was written.
func (w *world) finish(ts *testscript.TestScript, p *process, want string) {
	select {
	case <-p.done:
	case <-w.ctx.Done():
		ts.Fatalf("the program does not end\nstdout:\n%s\nstderr:\n%s", p.stdout, p.stderr)
	}
	io.WriteString(ts.Stdout(), w.scrub(p.stdout.String()))
	io.WriteString(ts.Stderr(), w.scrub(p.stderr.String()))
	if got := strconv.Itoa(p.code); got != want {
		ts.Fatalf("exit code %s, want %s\nstdout:\n%s\nstderr:\n%s", got, want, p.stdout, p.stderr)
	}
}

var scrubs = []struct {
	what *regexp.Regexp
	with string
}{
	// Fixtures were created in 2020; anything else is now.
	{regexp.MustCompile(`20(2[1-9]|[3-9]\d)-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`), "TIME"},
	{regexp.MustCompile(`\b\d+y\d*d?\b`), "AGE"},
	{regexp.MustCompile(`"(lived|gap)":\d+`), `"$1":N`},
	{regexp.MustCompile(`\b(\d+m)?\d+(\.\d+)?(ms|s)\b`), "DUR"},
	{regexp.MustCompile(`"go":"[^"]*","platform":"[^"]*"`), `"go":"GO","platform":"PLATFORM"`},
}

func (w *world) scrub(s string) string {
	if w.srv != nil {
		s = strings.ReplaceAll(s, w.srv.URL, "SERVER")
		_, host, _ := strings.Cut(w.srv.URL, "://")
		s = strings.ReplaceAll(s, host, "HOST")
	}
	for _, r := range scrubs {
		s = r.what.ReplaceAllString(s, r.with)
	}
	return s
}

func cmdCluster(ts *testscript.TestScript, neg bool, args []string) {
	w := worldOf(ts)
	for _, a := range args {
		switch name, value, _ := strings.Cut(a, "="); name {
		case "tls":
			w.options.TLS = true
		case "certificates":
			w.options.ClientCerts = true
		case "token":
			w.options.Token = value
		default:
			ts.Fatalf("cluster: unknown option %s", a)
		}
	}
	if w.srv != nil {
		w.srv.Close()
	}
	srv, err := apitest.Start(w.options)
	ts.Check(err)
	w.srv = srv
	ts.Setenv("SERVER", srv.URL)
	ts.Setenv("KUBECONFIG", ts.MkAbs("kubeconfig"))
	ca := ""
	if srv.CAPEM() != nil {
		ts.Check(os.WriteFile(ts.MkAbs("ca.pem"), srv.CAPEM(), 0o600))
		ca = "ca.pem"
	}
	if w.options.ClientCerts {
		cert, key := srv.ClientCertPEM()
		ts.Check(os.WriteFile(ts.MkAbs("client.crt"), cert, 0o600))
		ts.Check(os.WriteFile(ts.MkAbs("client.key"), key, 0o600))
	}
	w.ca = ca
	w.user(ts, "token", strconv.Quote(w.options.Token))
}

// user writes the kubeconfig.
func (w *world) user(ts *testscript.TestScript, key, value string) {
	ts.Check(os.WriteFile(ts.MkAbs("kubeconfig"), fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: test
contexts: [{name: test, context: {cluster: test, user: test, namespace: shop}}]
clusters: [{name: test, cluster: {server: %q, certificate-authority: %q}}]
users: [{name: test, user: {%s: %s}}]
`, w.srv.URL, w.ca, key, value), 0o600))
}

func cmdUser(ts *testscript.TestScript, neg bool, args []string) {
	worldOf(ts).user(ts, args[0], args[1])
}

// resources that scripts name.
var resources = map[string]kube.Resource{
	"pods": kube.Pods, "nodes": kube.Nodes, "secrets": kube.Secrets, "deployments": kube.Deployments, "statefulsets": kube.StatefulSets, "configmaps": kube.ConfigMaps, "namespaces": kube.Namespaces, "definitions": kube.CustomResourceDefinitions,
	"events":    {Version: "v1", Plural: "events", Kind: "Event", Namespaced: true},
	"widgets.a": {Group: "a.example.com", Version: "v1", Plural: "widgets", Kind: "Widget", Namespaced: true},
	"widgets.b": {Group: "b.example.com", Version: "v1", Plural: "widgets", Kind: "Widget", Namespaced: true},
	"crontabs2": {Group: "stable.example.com", Version: "v2", Plural: "crontabs", Kind: "CronTab", Namespaced: true},
	"crontabs":  {Group: "stable.example.com", Version: "v1", Plural: "crontabs", Kind: "CronTab", Namespaced: true},
}

func cmdFake(ts *testscript.TestScript, neg bool, args []string) {
	w := worldOf(ts)
	srv := w.srv
	switch what := args[0]; what {
	case "put": // RESOURCE FILE...
		for _, f := range args[2:] {
			srv.Put(resources[args[1]], ts.ReadFile(f))
		}
	case "many": // RESOURCE N SUFFIX BYTES: of their names, and of what is in them
		n, err := strconv.Atoi(args[2])
		ts.Check(err)
		size, err := strconv.Atoi(args[4])
		ts.Check(err)
		for i := range n {
			srv.Put(resources[args[1]], fmt.Sprintf(`{"metadata":{"namespace":"shop","name":"n%03d%s","annotations":{"a":%q}}}`, i, args[3], strings.Repeat("x", size)))
		}
	case "delete": // RESOURCE NAMESPACE/NAME
		key, err := kube.ParseKey(args[2])
		ts.Check(err)
		srv.Delete(resources[args[1]], key)
	case "resource": // RESOURCE
		srv.AddResource(apitest.ResourceInfo{Resource: resources[args[1]], ShortNames: []string{"ct"},
			Columns: []apitest.Column{{Name: "Spec", Path: "spec.cronSpec"}, {Name: "Image", Path: "spec.image", Priority: 1}}})
	case "remove": // RESOURCE
		srv.RemoveResource(resources[args[1]])
	case "expire":
		srv.Expire()
	case "close":
		srv.CloseWatches()
	case "cut":
		srv.CutWatches()
	case "drop":
		srv.DropWatches()
	case "bookmark":
		srv.Bookmark()
	case "refuse":
		ts.Check(srv.SetDoor(apitest.Refusing))
	case "open":
		ts.Check(srv.SetDoor(apitest.Open))
	case "watches": // N
		n, err := strconv.Atoi(args[1])
		ts.Check(err)
		ts.Check(srv.WaitForWatches(w.ctx, n))
	case "on": // VERB RESOURCE ACTION [TIMES]
		f := srv.On(apitest.Match{Verb: args[1], Resource: args[2]}, action(ts, args[3]))
		if len(args) > 4 {
			n, err := strconv.Atoi(args[4])
			ts.Check(err)
			f.Times(n)
		}
	case "deny": // VERB RESOURCE [NAMESPACE NAME]
		m := apitest.Match{Verb: args[1], Resource: args[2]}
		if len(args) > 4 {
			m.Namespace, m.Name = args[3], args[4]
		}
		srv.Deny("", m)
	case "warn": // TEXT...: every answer carries these warnings
		srv.On(apitest.Match{}, func(w http.ResponseWriter, r *http.Request) {
			for _, text := range args[1:] {
				w.Header().Add("Warning", fmt.Sprintf("299 - %q", text))
			}
			apitest.Continue(w, r)
		})
	case "late": // the server's clock is an hour behind
		srv.On(apitest.Match{}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
			apitest.Continue(w, r)
		})
	case "untrusted":
		ts.Check(srv.SetDoor(apitest.Untrusted))
	case "outdated":
		ts.Check(srv.SetDoor(apitest.Outdated))
	case "fault": // LINE, as of a script of faults
		rules, err := faults.Parse(args[1])
		ts.Check(err)
		_, err = faults.Apply(srv, rules)
		ts.Check(err)
	case "answer": // PATH TYPE BODY
		srv.On(apitest.Match{Path: args[1]}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", args[2])
			io.WriteString(w, args[3])
		})
	case "drip": // PATH: an answer that has no end, and no silence
		srv.On(apitest.Match{Path: args[1]}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for text := `{"a":"`; r.Context().Err() == nil; text = "x" {
				_, _ = io.WriteString(w, text) // to whoever still reads
				_ = http.NewResponseController(w).Flush()
				select {
				case <-r.Context().Done():
				case <-time.After(10 * time.Millisecond):
				}
			}
		})
	case "path": // PATH ACTION
		srv.On(apitest.Match{Path: args[1]}, action(ts, args[2]))
	case "headers": // from now on they are kept
		srv.On(apitest.Match{}, func(rw http.ResponseWriter, r *http.Request) {
			w.mu.Lock()
			w.headers[r.URL.Path] = r.Header.Clone()
			w.mu.Unlock()
			apitest.Continue(rw, r)
		})
	case "header": // PATH NAME VALUE: the last request for the path had it, values joined by commas
		w.mu.Lock()
		got := strings.Join(w.headers[args[1]].Values(args[2]), ",")
		w.mu.Unlock()
		if got != args[3] {
			ts.Fatalf("%s of %s: %q, want %q", args[2], args[1], got, args[3])
		}
	case "asked": // REGEXP: a request of this method, path and query came
		re := regexp.MustCompile(`(?m)` + args[1])
		var all []string
		for _, r := range srv.Requests() {
			all = append(all, fmt.Sprintf("%s %s?%s", r.Verb, r.Path, r.Query.Encode()))
		}
		if re.MatchString(strings.Join(all, "\n")) == neg {
			ts.Fatalf("requests:\n%s", strings.Join(all, "\n"))
		}
	default:
		ts.Fatalf("fake: unknown %s", what)
	}
}

func action(ts *testscript.TestScript, name string) http.HandlerFunc {
	switch name {
	case "html":
		return faults.HTML(http.StatusOK)
	case "hang":
		return faults.Hang()
	case "endstream":
		return faults.EndStream()
	case "nostream":
		return faults.RejectInitialEvents()
	case "garbage":
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"type":"ADDED","object":{"metadata":{"name":7}}}`+"\n"+`{"type":"ADDED","object":{"metadata":{"name":"fine","namespace":"shop","resourceVersion":"900"}}}`+"\n")
		}
	}
	code, err := strconv.Atoi(name)
	ts.Check(err)
	return faults.Answer(&kube.Status{Code: code, Reason: strings.ReplaceAll(http.StatusText(code), " ", ""), Message: "because the test says so"})
}

func cmdRun(ts *testscript.TestScript, neg bool, args []string) {
	w := worldOf(ts)
	w.finish(ts, w.start(ts, args[1:]), args[0])
}

func cmdStart(ts *testscript.TestScript, neg bool, args []string) {
	w := worldOf(ts)
	if w.srv != nil {
		// The server may not have seen yet that the program of a line before is gone:
		// fake watches would take its watch for one of this program.
		ts.Check(w.srv.WaitForWatches(w.ctx, 0))
	}
	w.program = w.start(ts, args)
}

func cmdUntil(ts *testscript.TestScript, neg bool, args []string) {
	w := worldOf(ts)
	out := w.program.stdout
	if args[0] == "stderr" {
		out = w.program.stderr
	}
	if !out.wait(w.ctx, w.program.done, regexp.MustCompile(`(?m)`+args[1])) {
		ts.Fatalf("no line matches %s\nstdout:\n%s\nstderr:\n%s", args[1], w.program.stdout, w.program.stderr)
	}
}

func cmdSignal(ts *testscript.TestScript, neg bool, args []string) {
	p := worldOf(ts).program
	switch args[0] {
	case "INT":
		p.stop(signals.Signal{Sig: syscall.SIGINT})
	case "TERM":
		p.stop(signals.Signal{Sig: syscall.SIGTERM})
	case "PIPE":
		p.stdout.close()
	}
}

func cmdEnd(ts *testscript.TestScript, neg bool, args []string) {
	w := worldOf(ts)
	w.finish(ts, w.program, args[0])
	w.program = nil
}

// tail is a writer whose contents can be waited for.
type tail struct {
	mu      sync.Mutex
	b       bytes.Buffer
	closed  bool
	changed chan struct{}
}

func newTail() *tail { return &tail{changed: make(chan struct{})} }

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return 0, &os.PathError{Op: "write", Path: "stdout", Err: syscall.EPIPE}
	}
	close(t.changed)
	t.changed = make(chan struct{})
	return t.b.Write(b)
}

func (t *tail) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

// wait returns true once re matches, false if the program or the script ends first.
func (t *tail) wait(ctx context.Context, done <-chan struct{}, re *regexp.Regexp) bool {
	for {
		t.mu.Lock()
		found, changed := re.Match(t.b.Bytes()), t.changed
		t.mu.Unlock()
		if found {
			return true
		}
		select {
		case <-changed:
		case <-done:
			return re.MatchString(t.String())
		case <-ctx.Done():
			return false
		}
	}
}
