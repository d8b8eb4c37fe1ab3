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
