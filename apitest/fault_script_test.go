package apitest_test

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/kube"
)

func TestParseFaults(t *testing.T) {
	const script = `# comment

watch pods ns=shop nth=2 after=5 times=1: cut 60
list configmaps query=continue=: status 410
*: delay 2s # and another
* deployments.apps :hang
  get path="/a b:" agent="robot \"7\"" header="Accept: as=Table" name=x : status 403 Forbidden "no, thank you"
watch: replace "{\"a\": 1}"
list: trickle 100 1500ms
*: throttle
`
	got, err := faults.Parse(strings.Replace(script, ":hang", ": hang", 1))
	if err != nil {
		t.Fatal(err)
	}
	want := []faults.Rule{
		{Match: apitest.Match{Verb: "watch", Resource: "pods", Namespace: "shop", Nth: 2, AfterEvent: 5}, Times: 1, Action: "cut 60"},
		{Match: apitest.Match{Verb: "list", Resource: "configmaps", Query: "continue="}, Action: "status 410"},
		{Action: "delay 2s"},
		{Match: apitest.Match{Resource: "deployments.apps"}, Action: "hang"},
		{Match: apitest.Match{Verb: "get", Path: "/a b:", UserAgent: `robot "7"`, Header: "Accept: as=Table", Name: "x"}, Action: `status 403 Forbidden "no, thank you"`},
		{Match: apitest.Match{Verb: "watch"}, Action: `replace "{\"a\": 1}"`},
		{Match: apitest.Match{Verb: "list"}, Action: "trickle 100 1.5s"},
		{Action: "throttle"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseFaultsSaysWhereAndWhat(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"wtch: cut 1", `line 1, column 1: there is no verb "wtch"; there are: *, list, watch`},
		{"# ü\nwatch ü ns=ü bad=1: cut 1", `line 2, column 14: there is no key "bad"; there are: ns, name, path, agent, header, query, nth, after, times`},
		{"watch", `line 1, column 6: want "MATCH: ACTION"`},
		{"watch:", `line 1, column 7: want an action after the colon; there are: behind, bookmark-behind`},
		{"watch: cutt 1", `line 1, column 8: there is no action "cutt"; there are: behind`},
		{"watch: cut", `line 1, column 8: want "cut BYTES"`},
		{"watch: cut x", `line 1, column 12: BYTES of cut: want a number from 0 to 268435456, not "x"`},
		{"watch: cut 1 2", `line 1, column 14: want "cut BYTES" and no more`},
		{"watch nth=0: cut 1", `line 1, column 7: nth: "0" is not a number from 1`},
		{"watch nth=1 nth=2: cut 1", `line 1, column 13: nth is there twice`},
		{"watch ns=: cut 1", `line 1, column 7: ns: want a value`},
		{"watch pods shop: cut 1", `line 1, column 12: "shop": want key=value`},
		{"list: cut 1", `line 1, column 7: cut strikes watches only`},
		{"watch: truncate 1", `line 1, column 8: truncate does not strike watches`},
		{"watch after=3: html 500", `line 1, column 16: html is about an answer as a whole: it cannot strike after=3`},
		{"list after=3: reset", `line 1, column 15: after=3 is for watches, not for list`},
		{"*: status 99", `line 1, column 11: CODE of status: want an HTTP status code from 200 to 599, not "99"`},
		{"*: delay 2", `line 1, column 10: DURATION of delay: want a duration such as 300ms or 2m, of a day at most, not "2"`},
		{"*: delay 25h", `line 1, column 10: DURATION of delay: want a duration`},
		{`* ns="a: hang`, `line 1, column 6: the quotes do not end`},
		{"*: hang\n*: hank\n*: hing", "line 2, column 4: there is no action \"hank\""},
	} {
		rules, err := faults.Parse(c.line)
		if err == nil || rules != nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q:\n got %v\nwant %s", c.line, err, c.want)
		}
		if strings.Contains(c.line, "hing") && !strings.Contains(err.Error(), "\nline 3, column 4: ") {
			t.Errorf("%q: only the first wrong line is reported: %v", c.line, err)
		}
	}
	if _, err := faults.Parse(strings.Repeat("#", 1<<20+1)); err == nil {
		t.Error("a script of any size is taken")
	}
}

// FuzzParseFaults: what is read is printed so that it reads the same.
func FuzzParseFaults(f *testing.F) {
	f.Add("watch pods ns=shop nth=2 after=5 times=1: cut 60\n*: delay 2s")
	f.Add("get path=\"/a b:\" agent=\"x\\\"\" : status 403 Forbidden \"no\"\r\n\xff: hang")
	f.Add("* query=\"a:\": hang\nget ns=\"b:\" name=c : delay 1s\n* ns=\"#\" path=/x:y: hang")
	f.Add("watch query=\"\\xff#\": inject \"# \\u00a0\"")
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := faults.Parse(text)
		if err != nil {
			return
		}
		var lines []string
		for _, r := range rules {
			lines = append(lines, r.String())
		}
		again, err := faults.Parse(strings.Join(lines, "\n"))
		if diff := cmp.Diff(rules, again); err != nil || diff != "" {
			t.Errorf("%q: %v\n%s", lines, err, diff)
		}
	})
}

func TestApplySetsFaultsInOrder(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		rules, err := faults.Parse("list nth=2: status 503\nlist: delay 1s\nlist times=1: skew 1h\n*: truncate 9\nwatch after=1: end")
		if err != nil {
			t.Fatal(err)
		}
		faults, err := faults.Apply(srv, rules)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		resp, err := send(t.Context(), srv, "GET", configMaps, "")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.ContentLength < 100 || resp.Header.Get("Date") != "Sat, 01 Jan 2000 01:00:01 GMT" || time.Since(start) != time.Second {
			t.Errorf("after %v: %v", time.Since(start), resp.Header)
		}
		code, body := get(t, srv, configMaps)
		if code != 503 || !strings.Contains(body, `"message":"apitest: Service Unavailable","reason":"ServiceUnavailable"`) {
			t.Errorf("%d %s", code, body)
		}
		watch(t, srv, configMaps+"?watch=1&resourceVersion=101").want("ADDED y 102", "EOF")
		var hits []int
		for _, f := range faults {
			hits = append(hits, f.Hits())
		}
		if diff := cmp.Diff([]int{1, 2, 1, 3, 1}, hits); diff != "" {
			t.Error(diff)
		}
	})
}

func TestApplyRefusesWhatCannotBeWritten(t *testing.T) {
	srv := apitest.NewWith(t, apitest.Options{InMemory: true})
	for _, r := range []faults.Rule{
		{Action: "cut"}, {Action: "hang 1"}, {Action: ""}, {Action: "hang\n*: reset"}, {Action: "hang", Times: -1},
		{Action: "hang", Match: apitest.Match{Resource: "a b"}}, {Action: "hang", Match: apitest.Match{Verb: "*"}},
		{Action: "hang", Match: apitest.Match{Resource: "a=b"}},
	} {
		if faults, err := faults.Apply(srv, []faults.Rule{{Action: "reset"}, r}); err == nil || faults != nil {
			t.Errorf("%q was taken", r)
		}
	}
	if code, _ := get(t, srv, configMaps); code != 200 {
		t.Errorf("half of a script was set: %d", code)
	}
}

// TestEveryFaultHasAnAction: the constructors of faults are those that the table
// names, and the help names all of them.
func TestEveryFaultHasAnAction(t *testing.T) {
	table, err := os.ReadFile("faults/actions.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range []string{"faults/answer.go", "faults/network.go", "faults/server.go", "faults/frames.go"} {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || !fn.Name.IsExported() || fn.Name.Name == "EachEvent" { // which takes a function
				continue
			}
			n++
			if !regexp.MustCompile(`\b` + fn.Name.Name + `\b`).Match(table) {
				t.Errorf("there is no action for %s", fn.Name.Name)
			}
		}
	}
	help := faults.Help()
	if got := strings.Count(help, "\n  "); got < n {
		t.Errorf("%d lines for %d faults:\n%s", got, n, help)
	}
	for line := range strings.Lines(help) {
		if len(line) > 130 {
			t.Errorf("long: %s", line)
		}
	}
}

// TestEveryActionIsHarmlessElsewhere: an action with its least arguments can be
// set, and strikes lists, watches and what is no resource without a panic of its
// own.
func TestEveryActionIsHarmlessElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := probe{T: t}
		client.srv = apitest.NewWith(client, apitest.Options{InMemory: true})
		for i := range 6 {
			client.srv.Put(kube.ConfigMaps, configMap(fmt.Sprint("x", i), "1"))
		}
		args := map[string]string{"BYTES": "10", "PAUSE": "1ms", "DURATION": "1s", "REVISIONS": "1", "CODE": "503", "LOCATION": "/healthz", "TYPE": "text/plain",
			"REVISION": "101", "EVENTS": "2", "JSON": "null", "TEXT": "x", "LEVELS": "9", "KIND": "Pod", "RETRY-AFTER": "1", "REASON": "R", "MESSAGE": "M"}
		var names []string
		for line := range strings.Lines(faults.Help()) {
			usage, ok := strings.CutPrefix(line, "  ")
			words := strings.Fields(usage)
			if !ok || strings.HasSuffix(words[0], "=") {
				continue
			}
			for i := range words[1:] {
				arg, ok := args[strings.Trim(words[i+1], "[]")]
				if !ok && strings.Trim(words[i+1], "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") == "" {
					t.Errorf("%s: the test has no %s", words[0], words[i+1])
				}
				if !ok {
					words = words[:i+1]
					break
				}
				words[i+1] = arg
			}
			names = append(names, words[0])
			parsed := 0
			for _, match := range []string{"* times=3", "watch times=3", "watch after=1 times=1"} {
				rules, err := faults.Parse(match + ": " + strings.Join(words, " "))
				if err != nil {
					continue
				}
				parsed++
				faults, err := faults.Apply(client.srv, rules)
				if err != nil {
					t.Fatal(err)
				}
				for _, path := range []string{configMaps, configMaps + "?watch=1&timeoutSeconds=3", "/hello"} {
					client.try(path)
				}
				if faults[0].Hits() == 0 {
					t.Errorf("%s: it never struck", rules[0])
				}
				faults[0].Remove()
				time.Sleep(2 * time.Second) // a door is shut
			}
			if parsed == 0 && words[0] != "watch" && words[0] != "list" { // which say what a fault strikes
				t.Errorf("%s was not tried", words)
			}
		}
		if len(names) < 50 || !slices.Contains(names, "go-away") {
			t.Errorf("only %d actions were found: %q", len(names), names)
		}
	})
}

// probe sends requests that may fail in any way; a log line of the server, which
// is about a handler that panicked, fails the test.
type probe struct {
	*testing.T
	srv *apitest.Server
}

func (p probe) Logf(format string, args ...any) { p.Errorf(format, args...) }

func (p probe) try(path string) {
	ctx, cancel := context.WithTimeout(p.Context(), 10*time.Second)
	defer cancel()
	resp, err := send(ctx, p.srv, "GET", path, "", "Connection", "close")
	if err != nil {
		return
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
}
