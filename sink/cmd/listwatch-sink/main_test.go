package main

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// console is the stderr of a program, which can be waited for.
type console struct {
	mu      sync.Mutex
	text    bytes.Buffer
	written chan struct{} // closed at the next write
}

func newConsole() *console { return &console{written: make(chan struct{})} }

func (c *console) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.written)
	c.written = make(chan struct{})
	return c.text.Write(b)
}

func (c *console) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

// wait returns the text once it has n matches of a pattern.
func (c *console) wait(t *testing.T, pattern string, n int) string {
	t.Helper()
	re, limit := regexp.MustCompile(pattern), time.After(time.Minute)
	for {
		c.mu.Lock()
		text, written := c.text.String(), c.written
		c.mu.Unlock()
		if len(re.FindAllString(text, -1)) >= n {
			return text
		}
		select {
		case <-written:
		case <-limit:
			t.Fatalf("stderr does not have %d of %s:\n%s", n, pattern, text)
		}
	}
}

// stage is a cluster, and a folder with its kubeconfig and the database.
type stage struct {
	t      *testing.T
	server *apitest.Server
	db     string
	args   []string // to reach both
}

func newStage(t *testing.T) *stage {
	srv := apitest.New(t, apitest.Fixture{Resource: kube.Namespaces, Object: `{"metadata":{"name":"kube-system"}}`})
	dir := t.TempDir()
	config := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(config, srv.Kubeconfig(), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, server: srv, db: filepath.Join(dir, "cluster.db")}
	s.args = []string{"--kubeconfig", config, "--to", "sqlite:" + s.db}
	return s
}

func (s *stage) put(r kube.Resource, name, extra string) {
	s.t.Helper()
	s.server.Put(r, fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"shop"}%s}`, name, extra))
}

// run runs the program to its end.
func (s *stage) run(args ...string) (code int, stdout, stderr string) {
	s.t.Helper()
	var out bytes.Buffer
	errs := newConsole()
	code = run(s.t.Context(), append(args, s.args...), func(string) string { return "" }, &out, errs)
	return code, out.String(), errs.String()
}

// start runs the program until stop is called, which returns its exit code.
func (s *stage) start(args ...string) (errs *console, stop func() int) {
	s.t.Helper()
	errs = newConsole()
	ctx, cancel := context.WithCancel(s.t.Context())
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, append(args, s.args...), func(string) string { return "" }, io.Discard, errs)
	}()
	var code int
	stop = sync.OnceValue(func() int {
		cancel()
		code = <-ended
		return code
	})
	s.t.Cleanup(func() { stop() })
	return errs, stop
}

const webPod = `,"spec":{"nodeName":"node-1","containers":[{"name":"c","image":"nginx:1"}]},"status":{"phase":"Running"}`

func TestProgramMovesAndVerifies(t *testing.T) {
	s := newStage(t)
	s.put(kube.Pods, "web-0", webPod)
	s.put(kube.Pods, "web-1", webPod)
	s.put(kube.ConfigMaps, "settings", `,"data":{"a":"1"}`)
	errs, stop := s.start("pods,cm")
	errs.wait(t, "phase=LIVE", 2)
	if code, out, errs := s.run("verify"); code != exitOK {
		t.Errorf("verify: exit code %d\n%s%s", code, out, errs)
	}
	if code := stop(); code != exitOK {
		t.Errorf("exit code %d after a signal\n%s", code, errs)
	}
	code, out, _ := s.run("status")
	if !regexp.MustCompile(`(?m)^\S+ +configmaps +0/1 +LIVE .*\n\S+ +pods +0/1 +LIVE `).MatchString(out) || code != exitOK {
		t.Errorf("status: exit code %d\n%s", code, out)
	}

	s.plant(
		`UPDATE objects SET object = json_set(object, '$.data.a', '2') WHERE name = 'settings'`,
		`UPDATE objects SET name = 'ghost' WHERE name = 'web-1'`,
	)
	code, out, _ = s.run("verify", "--wait", "0")
	uid := regexp.MustCompile(`(table|cluster) \d+|at revision \d+`)
	want := "configmaps shop/settings: another object in the cluster, of the same revision (table N, cluster N)\n" +
		"configmaps: 1 objects at revision N, 1 differences\n" +
		"pods shop/ghost: not in the cluster (table N, cluster none)\n" +
		"pods shop/web-1: missing in the table (table none, cluster N)\n" +
		"pods: 2 objects at revision N, 2 differences\n"
	got := uid.ReplaceAllStringFunc(out, func(s string) string { return s[:strings.LastIndex(s, " ")] + " N" })
	if diff := cmp.Diff(want, got); code != exitDifference || diff != "" {
		t.Errorf("verify: exit code %d (-want +got):\n%s", code, diff)
	}
}

// TestInitMakesTheTables: without a cluster, and again without harm.
func TestInitMakesTheTables(t *testing.T) {
	s := newStage(t)
	for range 2 {
		if code, _, errs := s.run("init", "--kubeconfig", "/nowhere"); code != exitOK {
			t.Fatalf("exit code %d\n%s", code, errs)
		}
	}
	if diff := cmp.Diff([]string{"history", "objects", "positions"}, s.query(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name IN ('objects', 'history', 'positions') ORDER BY 1`)); diff != "" {
		t.Errorf("tables (-want +got):\n%s", diff)
	}
	if code, _, _ := s.run("init", "pods"); code != exitUsage {
		t.Errorf("init with an argument: exit code %d", code)
	}
}

// open opens the database beside the program. It waits for locks, as a reader must: after a
// kill, the next process to open the file holds it while it recovers the write-ahead log.
func (s *stage) open() *sql.DB {
	s.t.Helper()
	db, err := sql.Open("sqlite", s.db+"?_pragma=busy_timeout(10000)")
	if err != nil {
		s.t.Fatal(err)
	}
	return db
}

// plant changes the database by hand.
func (s *stage) plant(statements ...string) {
	s.t.Helper()
	db := s.open()
	defer db.Close()
	for _, text := range statements {
		if _, err := db.Exec(text); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *stage) query(text string) (all []string) {
	s.t.Helper()
	db := s.open()
	defer db.Close()
	rows, err := db.Query(text)
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var line sql.NullString
		if err := rows.Scan(&line); err != nil {
			s.t.Fatal(err)
		}
		all = append(all, line.String)
	}
	return all
}

func TestViewsShowCommonColumns(t *testing.T) {
	s := newStage(t)
	s.put(kube.Pods, "web-0", `,"spec":{"nodeName":"node-1","containers":[{"name":"a","image":"nginx:1"},{"name":"b","image":"envoy:2"}]},`+
		`"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}],"containerStatuses":[{"name":"a","restartCount":2},{"name":"b","restartCount":3}]}`)
	errs, stop := s.start("*")
	errs.wait(t, "scope=pods phase=LIVE", 1)
	stop()
	got := s.query(`SELECT concat_ws(' ', namespace, name, pod_phase, ready, restarts, node, images) FROM pods`)
	if diff := cmp.Diff([]string{"shop web-0 Running True 5 node-1 nginx:1,envoy:2"}, got); diff != "" {
		t.Errorf("view pods (-want +got):\n%s", diff)
	}
	for _, view := range s.query(`SELECT name FROM sqlite_schema WHERE type = 'view'`) {
		s.query(`SELECT count(*) FROM (SELECT * FROM "` + view + `")`)
	}
	got = s.query(`SELECT DISTINCT resource FROM positions WHERE resource IN ('secrets', 'events', 'leases', 'pods')`)
	if diff := cmp.Diff([]string{"pods"}, got); diff != "" {
		t.Errorf("'*' moves of those that must be named (-want +got):\n%s", diff)
	}
}

func TestWhereProjectAndRescope(t *testing.T) {
	s := newStage(t)
	s.put(kube.Pods, "web-0", webPod)
	s.put(kube.Pods, "web-1", strings.Replace(webPod, "Running", "Pending", 1))
	selected := []string{"pods", "--where", `.status.phase == "Running"`, "--project", "{metadata, status}"}
	errs, stop := s.start(selected...)
	errs.wait(t, "phase=LIVE", 1)
	stop()
	if diff := cmp.Diff([]string{`{"phase":"Running"}`}, s.query(`SELECT object -> '$.status' FROM objects WHERE object -> '$.spec' IS NULL`)); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	code, _, text := s.run("pods")
	if code != exitFailed || !strings.Contains(text, "--rescope") {
		t.Errorf("another selection: exit code %d, %s", code, text)
	}
	errs, stop = s.start("pods", "--rescope")
	errs.wait(t, "phase=LIVE", 1)
	stop()
	if diff := cmp.Diff([]string{"web-0", "web-1"}, s.query(`SELECT name FROM objects ORDER BY 1`)); diff != "" {
		t.Errorf("table after --rescope (-want +got):\n%s", diff)
	}
}

func TestSecretsAreRedacted(t *testing.T) {
	s := newStage(t)
	s.put(kube.Secrets, "token", `,"data":{"password":"aHVudGVyMg=="}`)
	errs, stop := s.start("secrets")
	errs.wait(t, "phase=LIVE", 1)
	stop()
	b, err := os.ReadFile(s.db)
	if err != nil {
		t.Fatal(err)
	}
	wal, _ := os.ReadFile(s.db + "-wal")
	if n := len(s.query(`SELECT name FROM secrets`)); n != 1 || bytes.Contains(append(b, wal...), []byte("aHVudGVyMg")) {
		t.Errorf("%d Secrets in the table, want 1 whose value is in no file", n)
	}
}

// TestReadmeQuery: which deployments changed their image today, and who owns them.
func TestReadmeQuery(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(readme), "```sql\n")
	text, _, found := strings.Cut(text, "```")
	if !found {
		t.Fatal("README.md has no SQL")
	}
	s := newStage(t)
	put := func(name, image string, replicas int) {
		s.server.Put(kube.Deployments, fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"shop","labels":{"team":"red"}},"spec":{"replicas":%d,"selector":{"matchLabels":{"a":"b"}},`+
			`"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":%q}]}}}}`, name, replicas, image))
	}
	put("web", "nginx:1", 1)
	put("api", "api:1", 1)
	errs, stop := s.start("deploy", "--flush", "1ms")
	errs.wait(t, "phase=LIVE", 1)
	put("api", "api:1", 2)
	put("web", "nginx:2", 1)
	rev := string(s.server.Revision())
	for limit := time.Now().Add(time.Minute); len(s.query(`SELECT 1 FROM history WHERE revision = '`+rev+`'`)) == 0; {
		if time.Now().After(limit) {
			t.Fatalf("revision %s does not come\n%s", rev, errs)
		}
	}
	stop()
	got := s.query(`SELECT concat_ws(' ', namespace, name, image, team) FROM (` + strings.TrimSuffix(strings.TrimSpace(text), ";") + `)`)
	if diff := cmp.Diff([]string{"shop web nginx:2 red"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestServesMetricsAndReadiness(t *testing.T) {
	s := newStage(t)
	s.put(kube.Pods, "web-0", webPod)
	errs, _ := s.start("pods", "--listen", "127.0.0.1:0")
	text := errs.wait(t, "phase=LIVE", 1)
	address := regexp.MustCompile(`address=(\S+)`).FindStringSubmatch(text)[1]
	get := func(path string) (int, string) {
		resp, err := http.Get("http://" + address + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	if code, text := get("/readyz"); code != http.StatusOK {
		t.Errorf("/readyz: %d %s", code, text)
	}
	_, metrics := get("/metrics")
	for _, want := range []string{`listwatch_sink_live{resource="pods",shard="0"} 1`, `listwatch_sink_records_total{resource="pods",shard="0"} 1`, `listwatch_sink_lag_seconds{resource="pods",shard="0"} 0`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %s in\n%s", want, metrics)
		}
	}
}

func TestMistakesAreUsageErrors(t *testing.T) {
	s := newStage(t)
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{nil, exitUsage, "name the resources"},
		{[]string{"pods", "--mode", "log"}, exitUsage, "--mode"},
		{[]string{"pods", "--where", ".a |"}, exitUsage, "--where: jq"},
		{[]string{"pods", "--shards", "0"}, exitUsage, "--shards"},
		{[]string{"pods", "--shards", "2", "--shard", "2"}, exitUsage, "--shard"},
		{[]string{"pods", "--lease", "default/sink"}, exitUsage, "--lease with sqlite"},
		{[]string{"pods", "--lease", "sink"}, exitUsage, "NAMESPACE/NAME"},
		{[]string{"pods", "--nonsense"}, exitUsage, "unknown flag"},
		{[]string{"nosuchthing"}, exitFailed, "nosuchthing"},
		{[]string{"status", "pods"}, exitUsage, "no arguments"},
	} {
		code, _, text := s.run(tt.args...)
		if code != tt.code || !strings.Contains(text, tt.want) {
			t.Errorf("%v: exit code %d, want %d\n%s", tt.args, code, tt.code, text)
		}
	}
}

// TestPathsAreNotCut: what a URL takes for a query or a fragment would not be in the file's name.
func TestPathsAreNotCut(t *testing.T) {
	for _, to := range []string{"sqlite:a?b.db", "sqlite:a?", "file:a#b"} {
		t.Chdir(t.TempDir())
		errs := newConsole()
		code := run(t.Context(), []string{"init", "--to", to}, func(string) string { return "" }, io.Discard, errs)
		if made, _ := os.ReadDir("."); code != exitUsage || !strings.Contains(errs.String(), "%3F") || len(made) > 0 {
			t.Errorf("%s: exit code %d, %d files\n%s", to, code, len(made), errs)
		}
	}
}

func TestPasswordsInTheCommandLineAreRefused(t *testing.T) {
	for _, to := range []string{
		"postgres://user:hunter2@127.0.0.1:1/db", "postgres://user@127.0.0.1:1/db?password=hunter2", "postgres://127.0.0.1:1/db?sslmode=disable&pass%77ord=hunter2",
		"postgresql://user@127.0.0.1:1/db?sslpassword=hunter2", "kafka://127.0.0.1:1?password=hunter2", "nats://127.0.0.1:1?password=hunter2",
	} {
		for _, args := range [][]string{{"--to", to}, {"--to", "https://127.0.0.1:1", "--companion", to}} {
			var out bytes.Buffer
			errs := newConsole()
			code := run(t.Context(), append(args, "init"), func(string) string { return "" }, &out, errs)
			text := out.String() + errs.String()
			advises := strings.Contains(text, "has a password") && strings.Contains(text, "LISTWATCH_SINK_")
			if code != exitUsage || strings.Contains(text, "hunter2") || strings.HasPrefix(to, "postgres") && !advises {
				t.Errorf("%q: exit code %d\n%s", args, code, text)
			}
		}
	}
}
