package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"
)

// An attack is as large as this; make hostile sends 4 GB.
var attackBytes = flag.Int64("hostile.bytes", 12<<20, "bytes of an attack of TestHostile")

// kubectlAttacked is attacked too, where it is given, and only reported.
var kubectlAttacked = flag.String("hostile.kubectl", "", "a kubectl to attack in the same ways")

const (
	memoryLimit = 300 << 20       // resident, at its peak
	memoryFall  = 700 << 20       // the process is killed
	attackTime  = 3 * time.Second // and as long again for 300 MB
)

// attack is what a server does to a client, or a file to a command.
type attack struct {
	name    string
	args    []string // SERVER, DIR and FILE are replaced
	kubectl []string // nil = kubectl has nothing like it
	table   bool     // rows are asked for
	list    func(a *sender)
	watch   func(a *sender)
	other   map[string]func(a *sender) // by path
	file    func(a *sender)            // writes FILE
}

// sender writes an attack until it is as large as was asked for, or nobody reads on.
type sender struct {
	w    io.Writer
	left int64
	req  *http.Request
}

func (s *sender) put(text string) bool {
	if s.left <= 0 {
		return false
	}
	n, err := io.WriteString(s.w, text)
	if s.left -= int64(n); err != nil {
		s.left = 0
	}
	return s.left > 0
}

// repeat writes text, in large pieces, until the attack is over.
func (s *sender) repeat(text string) {
	text = strings.Repeat(text, max(1, 64<<10/len(text)))
	for s.put(text) {
	}
}

// inside writes text again and again between a head and a tail.
func inside(head, text, tail string) func(*sender) {
	return func(s *sender) {
		s.put(head)
		s.repeat(text)
		s.left = int64(len(tail) + 1)
		s.put(tail)
	}
}

const (
	listHead = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[`
	itemHead = `{"metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"7"},`
	rowsHead = `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7"},"columnDefinitions":[{"name":"Name","type":"string","format":"name"}],"rows":[`
	okPod    = itemHead + `"spec":{}}`
	added    = `{"type":"ADDED","object":`
)

// rows writes rows whose cells have so many bytes.
func bigRows(size int) func(*sender) {
	return func(s *sender) {
		s.put(rowsHead)
		cell := strings.Repeat("x", size)
		for i := 0; s.put(fmt.Sprintf(`{"cells":[%q],"object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a%d","namespace":"default","uid":"%d","resourceVersion":"7"}}},`, cell, i, i)); i++ {
		}
	}
}

// items writes items with a body.
func items(body string) func(*sender) {
	return func(s *sender) {
		s.put(listHead)
		for i := 0; s.put(fmt.Sprintf(`{"metadata":{"name":"a%d","namespace":"default","uid":"%d","resourceVersion":"7"},%s},`, i, i, body)); i++ {
		}
	}
}

// pages writes endless pages, each with a new token and of so many items.
func pages(n int) func(*sender) {
	return func(s *sender) {
		at, _ := strconv.Atoi(s.req.URL.Query().Get("continue"))
		if int64(at) > s.left>>10 {
			return
		}
		s.put(fmt.Sprintf(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"%d"},"items":[%s]}`, at+1, strings.TrimSuffix(strings.Repeat(okPod+",", n), ",")))
	}
}

var deepItem = `"spec":` + strings.Repeat("[", 400) + strings.TrimSuffix(strings.Repeat("1,", 300_000), ",") + strings.Repeat("]", 400)

func listingAs(format string) []string {
	return []string{"list", "pods", "-A", "-s", "SERVER", "-o", format}
}

func kubectlGet(format string) []string { return []string{"get", "pods", "-A", "-o", format} }

func watching(format string) []string {
	return []string{"watch", "pods", "-A", "-s", "SERVER", "-o", format, "--exit-after", "2s"}
}

// attacks are by servers unless they have a file.
var attacks = []attack{
	{name: "items without end, as names", args: listingAs("name"), kubectl: kubectlGet("name"), list: items(`"spec":{}`)},
	{name: "items without end, as JSON", args: listingAs("json"), kubectl: kubectlGet("json"), list: items(`"spec":{"a":"b"}`)},
	{name: "items without end, as YAML", args: listingAs("yaml"), list: items(`"spec":{"text":"` + strings.Repeat("x", 4000) + `"}`)},
	{name: "one item without end", args: listingAs("json"), kubectl: kubectlGet("json"), list: inside(listHead+itemHead+`"spec":"`, "x", "")},
	{name: "an item of empty lists", args: listingAs("json"), kubectl: kubectlGet("json"), list: inside(listHead+itemHead+`"spec":[`, "[],", "")},
	{name: "an item of nesting", args: listingAs("json"), kubectl: kubectlGet("json"), list: inside(listHead+itemHead+`"spec":`, "[", "")},
	{name: "items of 7 MB of empty lists", args: listingAs("json"), list: items(`"spec":[` + strings.Repeat("[],", 7<<20/3) + `0]`)},
	{name: "items of 3 MB of empty lists", args: listingAs("json"), list: items(`"spec":[` + strings.Repeat("[],", 1<<20) + `0]`)},
	{name: "events of 3 MB of empty lists, by jq", args: watching("jq=.spec|length"), watch: func(s *sender) {
		lists := strings.Repeat("[],", 1<<20)
		for i := 8; s.put(fmt.Sprintf(`{"type":"MODIFIED","object":{"metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"%d"},"spec":[%s0]}}`+"\n", i, lists)); i++ {
		}
	}},
	{name: "deep items, as JSON", args: listingAs("json"), kubectl: kubectlGet("json"), list: items(deepItem)},
	{name: "deep items, as YAML", args: listingAs("yaml"), list: items(deepItem)},
	{name: "a name without end", args: listingAs("name"), kubectl: kubectlGet("name"), list: inside(listHead+`{"metadata":{"name":"`, "x", "")},
	{name: "names of 1 MB", args: listingAs("name"), list: func(s *sender) {
		s.put(listHead)
		name := strings.Repeat("x", 1<<20)
		for s.put(`{"metadata":{"name":"` + name + `","uid":"u"}},`) {
		}
	}},
	{name: "a kind without end", args: listingAs("json"), kubectl: kubectlGet("json"), list: inside(`{"kind":"`, "x", "")},
	{name: "a kind of 20 MB before many items", args: listingAs("json"), list: func(s *sender) {
		s.put(`{"kind":"` + strings.Repeat("x", 20<<20) + `List","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[`)
		s.repeat(okPod + ",")
	}},
	{name: "an apiVersion of 20 MB before many items", args: listingAs("json"), list: func(s *sender) {
		s.put(`{"kind":"PodList","apiVersion":"` + strings.Repeat("x", 20<<20) + `","metadata":{"resourceVersion":"7"},"items":[`)
		s.repeat(okPod + ",")
	}},
	{name: "a continue token without end", args: listingAs("name"), list: inside(`{"kind":"PodList","apiVersion":"v1","metadata":{"continue":"`, "x", "")},
	{name: "a revision without end", args: listingAs("name"), list: inside(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"`, "x", "")},
	{name: "pages without end", args: listingAs("name"), kubectl: kubectlGet("name"), list: pages(100)},
	{name: "white space without end", args: listingAs("name"), kubectl: kubectlGet("name"), list: inside(listHead, " ", "")},
	{name: "members without end", args: listingAs("name"), list: func(s *sender) {
		s.put(`{"kind":"PodList"`)
		for i := 0; s.put(fmt.Sprintf(`,"k%d":1`, i)); i++ {
		}
	}},
	{name: "no JSON", args: listingAs("name"), list: inside("", "x", "")},
	{name: "cells of 6 MB", args: listingAs(""), table: true, kubectl: []string{"get", "pods", "-A"}, list: bigRows(6 << 20)},
	{name: "cells of 4 KB", args: listingAs(""), table: true, list: bigRows(4 << 10)},
	{name: "cells of 6 MB, watched", args: watching(""), table: true, list: func(s *sender) { s.put(rowsHead + "]}") }, watch: func(s *sender) {
		cell := strings.Repeat("x", 6<<20)
		for i := 8; s.put(fmt.Sprintf(`{"type":"MODIFIED","object":%s{"cells":[%q],"object":{"metadata":{"name":"a","namespace":"default","uid":"1","resourceVersion":"%d"}}}]}}`+"\n", rowsHead, cell, i)); i++ {
		}
	}},
	{name: "columns without end", args: listingAs(""), table: true, list: inside(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","columnDefinitions":[`, `{"name":"Name","type":"string"},`, "")},
	{name: "an error without end", args: listingAs("name"), kubectl: kubectlGet("name"), list: func(s *sender) {
		s.w.(http.ResponseWriter).WriteHeader(500)
		inside(`{"kind":"Status","message":"`, "x", "")(s)
	}},
	{name: "an event without end", args: watching("ndjson"), watch: inside(added+itemHead+`"spec":"`, "x", "")},
	{name: "events of 7 MB", args: watching("ndjson"), watch: func(s *sender) {
		text := strings.Repeat("x", 7<<20)
		for i := 8; s.put(fmt.Sprintf(`{"type":"MODIFIED","object":{"metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"%d"},"spec":%q}}`+"\n", i, text)); i++ {
		}
	}},
	{name: "deep events, as a diff", args: watching("diff"), watch: func(s *sender) {
		for i := 8; s.put(fmt.Sprintf(`{"type":"MODIFIED","object":{"metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"%d"},"status":"%d",%s}}`+"\n", i, i, deepItem)); i++ {
		}
	}},
	{name: "white space between events", args: watching("name"), watch: inside("", "\n", "")},
	{name: "bookmarks without end", args: watching("name"), watch: inside("", `{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"9"}}}`+"\n", "")},
	{name: "the error of a watch without end", args: watching("name"), watch: inside(`{"type":"ERROR","object":{"kind":"Status","message":"`, "x", "")},
	{name: "groups without end", args: listingAs("name"), kubectl: kubectlGet("name"), other: map[string]func(*sender){"/apis": inside(`{"kind":"APIGroupList","groups":[`, `{"name":"a.io","versions":[{"groupVersion":"a.io/v1","version":"v1"}]},`, "")}},
	{name: "resources without end", args: listingAs("name"), other: map[string]func(*sender){"/api/v1": inside(`{"kind":"APIResourceList","groupVersion":"v1","resources":[`, `{"name":"a","kind":"A","namespaced":true,"verbs":["list"]},`, "")}},
	{name: "a resource's name without end", args: listingAs("name"), other: map[string]func(*sender){"/api/v1": inside(`{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"`, "x", "")}},
	{name: "a version without end", args: []string{"auth", "check", "-s", "SERVER"}, other: map[string]func(*sender){"/version": inside(`{"gitVersion":"`, "x", "")}},
	{name: "a recording of words", args: []string{"replay", "FILE", "--fast", "-o", "none"}, file: zipped("x\n")},
	{name: "a recording of words, its summary", args: []string{"replay", "FILE", "--info"}, file: zipped("{}\n")},
	{name: "a recording of one line", args: []string{"replay", "FILE", "--fast"}, file: zipped("x")},
	{name: "a kubeconfig of aliases", args: []string{"list", "pods", "--kubeconfig", "FILE"}, kubectl: []string{"get", "pods", "--kubeconfig", "FILE"}, file: aliased("clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1', extensions: [{name: e, extension: [", "]}]}}]\n")},
	{name: "a manifest of aliases", args: []string{"fake", "-f", "FILE"}, file: aliased("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\ndata: [", "]\n")},
	{name: "a manifest of aliases of aliases", args: []string{"fake", "-f", "FILE"}, file: func(s *sender) {
		s.put("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
		for i := range 12 {
			s.put(fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 10), ",")))
		}
	}},
	{name: "a checkpoint of rubbish", args: []string{"watch", "pods", "-A", "-s", "SERVER", "--checkpoint", "FILE", "--exit-after", "1s"}, file: func(s *sender) { s.repeat("lwcheckpoint 1\n") }},
}

// zipped writes text until the attack is over, compressed.
func zipped(text string) func(*sender) {
	return func(s *sender) {
		z := gzip.NewWriter(s.w)
		plain := &sender{w: z, left: s.left}
		plain.put(`{"format":"lwrec","version":1}` + "\n")
		plain.repeat(text)
		z.Close()
	}
}

// aliased writes a scalar of 1 MB with many aliases between a head and a tail.
func aliased(head, tail string) func(*sender) {
	return func(s *sender) {
		s.put("x: &x " + strings.Repeat("x", 1<<20) + "\n" + head + strings.TrimSuffix(strings.Repeat("*x,", 4000), ",") + tail)
	}
}

// serve answers as an API server, but for what a attacks by.
func (a *attack) serve(t *testing.T) string {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		s := &sender{w: w, left: *attackBytes, req: r}
		q := r.URL.Query()
		switch other := a.other[r.URL.Path]; {
		case other != nil:
			other(s)
		case r.URL.Path == "/api":
			s.put(`{"kind":"APIVersions","versions":["v1"]}`)
		case r.URL.Path == "/apis":
			s.put(`{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`)
		case r.URL.Path == "/api/v1":
			s.put(`{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"pods","kind":"Pod","namespaced":true,"verbs":["list","watch","get"]}]}`)
		case q.Get("sendInitialEvents") != "":
			w.WriteHeader(http.StatusUnprocessableEntity)
			s.put(`{"kind":"Status","code":422,"reason":"Invalid","message":"no"}`)
		case q.Get("watch") != "" && a.watch != nil:
			w.WriteHeader(http.StatusOK)
			a.watch(s)
		case q.Get("watch") != "":
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		case a.list != nil && !strings.HasPrefix(r.URL.Path, "/apis"):
			a.list(s)
		default:
			s.put(listHead + okPod + "]}")
		}
	}))
	t.Cleanup(srv.CloseClientConnections)
	t.Cleanup(srv.Close)
	return srv.URL
}

// outcome is how a process bore an attack.
type outcome struct {
	peak  int64
	took  time.Duration
	ended string
}

// suffer runs exe under a and watches its memory.
func (a *attack) suffer(t *testing.T, exe string, args []string) outcome {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if a.file != nil {
		f, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		a.file(&sender{w: f, left: min(*attackBytes, 4<<30)})
		f.Close()
	}
	url := ""
	if a.file == nil || strings.Contains(strings.Join(args, " "), "SERVER") {
		url = a.serve(t)
	}
	replace := strings.NewReplacer("SERVER", url, "FILE", file, "DIR", dir)
	args = append([]string(nil), args...)
	for i := range args {
		args[i] = replace.Replace(args[i])
	}
	if filepath.Base(exe) != "listwatch" && url != "" {
		args = append(args, "-s", url)
	}
	ctx, cancel := context.WithTimeout(t.Context(), attackTime+time.Duration(*attackBytes>>20)*10*time.Millisecond)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe, args...)
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr // its lines are short
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var o outcome
	done := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			if peak := residentPeak(cmd.Process.Pid); peak > o.peak {
				o.peak = peak
			}
			if o.peak > memoryFall {
				_ = cmd.Process.Kill()
			}
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	})
	err := cmd.Wait()
	close(done)
	watcher.Wait()
	o.took, o.ended = time.Since(began), "exit 0"
	switch {
	case o.peak > memoryFall:
		o.ended = "fell"
	case ctx.Err() != nil:
		o.ended = "went on until it was stopped"
	case err != nil:
		o.ended = err.Error()
	}
	if n := stderr.Len(); n > 64<<10 {
		o.ended += fmt.Sprintf(", with %d bytes on stderr", n)
	}
	return o
}

// residentPeak is the largest resident set of a process so far, in bytes.
func residentPeak(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	kb, _ := strconv.ParseInt(strings.TrimSpace(strings.SplitN(rest, "kB", 2)[0]), 10, 64)
	return kb << 10
}

// TestHostile: no server and no file makes the program hold more than 300 MB.
func TestHostile(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "listwatch")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", exe, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	var table strings.Builder
	tab := tabwriter.NewWriter(&table, 0, 0, 3, ' ', 0)
	fmt.Fprintln(tab, "ATTACK\tLISTWATCH\tENDS\tKUBECTL\tENDS")
	for _, a := range attacks {
		o := a.suffer(t, exe, a.args)
		row := fmt.Sprintf("%s\t%d MB\t%s", a.name, o.peak>>20, o.ended)
		if *kubectlAttacked != "" && a.kubectl != nil {
			k := a.suffer(t, *kubectlAttacked, a.kubectl)
			row += fmt.Sprintf("\t%d MB\t%s", k.peak>>20, k.ended)
		}
		fmt.Fprintln(tab, row)
		if o.peak > memoryLimit {
			t.Errorf("%s: %d MB resident, want at most %d; %s after %v", a.name, o.peak>>20, memoryLimit>>20, o.ended, o.took)
		}
	}
	tab.Flush()
	t.Logf("%d attacks of %d MB:\n%s", len(attacks), *attackBytes>>20, table.String())
}
