package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/codec/compressed"
	"github.com/listwatch/listwatch/internal/archive"
	"github.com/listwatch/listwatch/kube"
)

// TestAgesOfAMoment: list --at prints the ages that objects had at that time, with the
// columns of the server and with those of the program.
func TestAgesOfAMoment(t *testing.T) {
	began := time.Now().Add(-24 * time.Hour).Truncate(time.Second)
	clock := func(after time.Duration) string { return began.Add(after).UTC().Format(time.RFC3339) }
	dir := t.TempDir()
	d, err := archive.Open(dir, "cluster", archive.Limits{Bytes: 1 << 20, Age: 48 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	for r, text := range map[kube.Resource]string{
		kube.Pods: fmt.Sprintf(`{"metadata":{"name":"o","namespace":"shop","uid":"1","resourceVersion":"1","creationTimestamp":%q},"spec":{"containers":[{"name":"c"}]},
			"status":{"phase":"Running","containerStatuses":[{"name":"c","ready":true,"restartCount":2,"state":{"running":{}},"lastState":{"terminated":{"finishedAt":%q}}}]}}`, clock(0), clock(4*time.Hour)),
		kube.CronJobs: fmt.Sprintf(`{"metadata":{"name":"o","namespace":"shop","uid":"2","resourceVersion":"1","creationTimestamp":%q},"spec":{"schedule":"@hourly","suspend":false},"status":{"lastScheduleTime":%q}}`,
			clock(0), clock(3*time.Hour)),
		{Group: "example.com", Version: "v1", Plural: "things", Kind: "Thing", Namespaced: true}: fmt.Sprintf(`{"metadata":{"name":"o","namespace":"shop","uid":"3","resourceVersion":"1","creationTimestamp":%q}}`, clock(0)),
	} {
		raw, err := codec.ParseRaw([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		at := began.Add(time.Hour).UnixMilli()
		s, err := d.Begin(r, []archive.Column{{Name: "Name"}}, at, "", slices.Values([]archive.State{{At: at, Op: archive.Added, Key: kube.KeyOf(raw),
			UID: raw.GetUID(), Revision: "1", Cells: archive.RowOf("o"), Object: compressed.Of(raw)}}))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Mark(began.Add(6 * time.Hour).UnixMilli()); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"pods":                      "o 1/1 Running 2 (60m ago) 5h",
		"cronjobs":                  "o @hourly <none> False 0 120m 5h",
		"things":                    "o 5h",
		"pods --server-print=false": "o 5h",
	}
	got := map[string]string{}
	for what := range want {
		code, stdout, stderr := runProgram(t, strings.NewReader(""), append([]string{"list", "-n", "shop", "--no-headers", "--at", clock(5 * time.Hour), "--history", dir}, strings.Fields(what)...)...)
		if code != 0 || stderr != "" {
			t.Errorf("%s: %d %s", what, code, stderr)
		}
		got[what] = strings.Join(strings.Fields(stdout), " ")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMomentLeavesOutWhatNoServerHas: an object that a server cannot have is reported, and the
// others are shown.
func TestMomentLeavesOutWhatNoServerHas(t *testing.T) {
	began := time.Now().Add(-time.Hour).Truncate(time.Second)
	long := strings.Repeat("n", 5000)
	meta := `"metadata":{"name":%[1]q,"namespace":"shop","uid":%[1]q,"resourceVersion":"7"`
	configmaps := []string{
		fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1",`+meta+`,"creationTimestamp":"2026-11-01T08:00:00Z"}}`, "good"),
		fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1",`+meta+`}}`, "kind"),
		fmt.Sprintf(`{"kind":%q,`+meta+`}}`, strings.Repeat("K", 5000), "long"),
		fmt.Sprintf(`{"apiVersion":"v2",`+meta+`}}`, "version"),
		fmt.Sprintf(`{`+meta+`,"labels":{"a":{}}}}`, "labels"),
		fmt.Sprintf(`{`+meta+`,"labels":"none"}}`, "label"),
		fmt.Sprintf(`{`+meta+`,"finalizers":[7]}}`, "finalizers"),
		fmt.Sprintf(`{`+meta+`,"generation":"one"}}`, "generation"),
		fmt.Sprintf(`{`+meta+`,"creationTimestamp":9}}`, "created"),
		fmt.Sprintf(`{`+meta+`,"annotations":%s1%s}}`, "deep", strings.Repeat("[", 9000), strings.Repeat("]", 9000)),
		`{"metadata":{"namespace":"shop","uid":"no-name","resourceVersion":"7"}}`,
		`{"metadata":{"name":"no-namespace","uid":"no-namespace","resourceVersion":"7"}}`,
		`{"metadata":{"name":"A name\u001b[31m/../of \u202e none","namespace":"shop","uid":"u","resourceVersion":"7"}}`,
		fmt.Sprintf(`{`+meta+`,"creationTimestamp":"2026-11-01T08:00:00Z","ownerReferences":7,"managedFields":{}},"data":[1]}`, "odd"),
		fmt.Sprintf(`{`+meta+`},"data":{"x":%q}}`, "huge", strings.Repeat("x", 5<<20)),
		fmt.Sprintf(`{`+meta+`}}`, long),
	}
	dir := historyOf(t, began, map[kube.Resource][]string{
		kube.ConfigMaps: configmaps,
		kube.Pods:       {fmt.Sprintf(`{`+meta+`},"spec":{"containers":7},"status":[]}`, "web")},
		kube.Nodes: {`{"metadata":{"name":"n","uid":"n","resourceVersion":"7"}}`,
			`{"metadata":{"name":"n","namespace":"shop","uid":"n2","resourceVersion":"7"}}`},
	})
	at := began.Add(time.Minute).UTC().Format(time.RFC3339)
	type listed struct {
		names string
		left  int
		some  []string // of those that are left out
	}
	for what, want := range map[string]listed{
		"configmaps": {"configmap/good configmap/huge configmap/odd", 13, []string{"configmap/kind in shop", "configmap/ in shop", "configmap/no-namespace"}},
		"pods":       {"pod/web", 0, nil},
		"nodes":      {"node/n", 1, []string{"node/n in shop"}},
	} {
		code, stdout, stderr := runProgram(t, strings.NewReader(""), "list", what, "-A", "-o", "name", "--at", at, "--history", dir)
		if code != 0 {
			t.Errorf("%s: exit code %d", what, code)
		}
		if diff := cmp.Diff(want.names, strings.Join(strings.Fields(stdout), " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
		if n := strings.Count(stderr, "is left out: "); n != want.left || slices.ContainsFunc(strings.Split(stderr, "\n"), func(line string) bool { return len(line) > 400 }) {
			t.Errorf("%s: %d objects are reported:\n%s", what, n, stderr)
		}
		for _, name := range want.some {
			if !strings.Contains(stderr, "listwatch: warning: "+name+" is left out: ") {
				t.Errorf("%s: nothing is said of %s:\n%s", what, name, stderr)
			}
		}
	}
	code, stdout, stderr := runProgram(t, strings.NewReader(""), "diff", "configmaps", "-A", "-o", "name", "--history", dir, "--from", began.Add(time.Second).UTC().Format(time.RFC3339), "--to", at)
	if code != 0 || stdout != "" || !strings.Contains(stderr, "warning: configmap/kind in shop is left out: ") || !strings.Contains(stderr, "0 added, 0 modified, 0 deleted") {
		t.Errorf("diff: %d %s %s", code, stdout, stderr)
	}
}

// historyOf returns a folder of ui --history with these objects, which exist for ten minutes.
func historyOf(t *testing.T, began time.Time, objects map[kube.Resource][]string) string {
	t.Helper()
	dir := t.TempDir()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	d, err := archive.Open(dir, "cluster", archive.Limits{Bytes: 64 << 20, Age: 48 * time.Hour})
	check(err)
	at := began.UnixMilli()
	for r, texts := range objects {
		var states []archive.State
		for _, text := range texts {
			raw, err := codec.ParseRaw([]byte(text))
			if err != nil {
				t.Fatalf("%.100s: %v", text, err)
			}
			states = append(states, archive.State{At: at, Op: archive.Added, Key: kube.KeyOf(raw), UID: raw.GetUID(), Revision: "7", Cells: archive.RowOf("o"), Object: compressed.Of(raw)})
		}
		s, err := d.Begin(r, []archive.Column{{Name: "Name"}}, at, "", slices.Values(states))
		check(err)
		check(s.Mark(began.Add(10 * time.Minute).UnixMilli()))
		check(s.Close())
	}
	check(d.Close())
	return dir
}
