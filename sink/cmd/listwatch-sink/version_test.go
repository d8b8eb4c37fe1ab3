package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/discovery"
	"github.com/listwatch/listwatch/kube"
)

// serve makes the server serve widgets.example.com in these versions, of which the first is
// preferred.
func (s *stage) serve(versions ...string) {
	s.t.Helper()
	s.serveType("widgets", "Widget", versions...)
}

// serveType is serve for another type of the group.
func (s *stage) serveType(plural, kind string, versions ...string) {
	s.t.Helper()
	var all []string
	for i, v := range versions {
		all = append(all, fmt.Sprintf(`{"name":%q,"served":true,"storage":%t,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}`, v, i == 0))
	}
	s.server.Put(kube.CustomResourceDefinitions, fmt.Sprintf(`{"metadata":{"name":"%s.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
		"names":{"plural":%q,"kind":%q},"versions":[%s]}}`, plural, plural, kind, strings.Join(all, ",")))
}

func widgets(version string) kube.Resource {
	return kube.Resource{Group: "example.com", Version: version, Plural: "widgets", Kind: "Widget", Namespaced: true}
}

// rows waits until the table has so many rows of the group example.com.
func (s *stage) rows(errs *console, n int) {
	s.t.Helper()
	for limit := time.Now().Add(time.Minute); len(s.query(`SELECT 1 FROM objects WHERE api_group = 'example.com'`)) != n; {
		if time.Now().After(limit) {
			s.t.Fatalf("the table does not get %d rows\n%s", n, errs)
		}
	}
}

// TestAnotherVersionIsFollowed, from the position, once the one that runs is not served any
// more.
func TestAnotherVersionIsFollowed(t *testing.T) {
	for _, name := range []string{"widgets.example.com", "*"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.serve("v1alpha1")
			s.put(widgets("v1alpha1"), "a", "")
			errs, stop := s.start(name, "--flush", "1ms")
			errs.wait(t, "scope=widgets.example.com phase=LIVE", 1)
			s.serve("v1", "v1alpha1")
			s.put(widgets("v1"), "b", "")
			s.rows(errs, 2)
			s.serve("v1")
			errs.wait(t, "scope=widgets.example.com phase=LIVE", 2)
			s.put(widgets("v1"), "c", "")
			s.rows(errs, 3)
			stop()
			got := s.query(`SELECT concat_ws(' ', type, name, api_version, 'epoch', epoch) FROM history WHERE api_group = 'example.com' ORDER BY seq`)
			want := []string{"ADDED a example.com/v1alpha1 epoch 1", "ADDED b example.com/v1alpha1 epoch 1", "ADDED c example.com/v1 epoch 1"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("history (-want +got):\n%s\n%s", diff, errs)
			}
		})
	}
}

// TestCurrentIsWhatIsServed: the version that runs stays while it is served, and a type that is
// not served at all stays too.
func TestCurrentIsWhatIsServed(t *testing.T) {
	s := newStage(t)
	s.serve("v2", "v1", "v1beta1")
	api, err := discovery.Fetch(t.Context(), s.source().client)
	if err != nil {
		t.Fatal(err)
	}
	clusterWide, unknown := widgets("v1"), widgets("v1")
	clusterWide.Namespaced, unknown.Plural = false, "gadgets"
	for _, tt := range []struct{ runs, want kube.Resource }{
		{widgets("v1"), widgets("v1")},
		{widgets("v2"), widgets("v2")},
		{widgets("v1alpha1"), widgets("v2")},
		{clusterWide, widgets("v1")},
		{unknown, unknown},
	} {
		if got := current(api, tt.runs); got != tt.want {
			t.Errorf("%+v: %+v, want %+v", tt.runs, got, tt.want)
		}
	}
}

// TestVerifyAfterAnotherPreference: while the version of the rows is served, verify lists in it,
// whichever is preferred. After a restart in another one, it says that only the version differs,
// and a backfill mends that.
func TestVerifyAfterAnotherPreference(t *testing.T) {
	s := newStage(t)
	s.serve("v1alpha1")
	s.put(widgets("v1alpha1"), "a", "")
	errs, stop := s.start("widgets.example.com", "--flush", "1ms")
	errs.wait(t, "phase=LIVE", 1)
	s.serve("v1", "v1alpha1")
	for range 2 {
		if code, out, errs := s.run("verify", "--wait", "0"); code != exitOK {
			t.Fatalf("exit code %d\n%s%s", code, out, errs)
		}
		stop()
	}
	errs, stop = s.start("widgets.example.com")
	errs.wait(t, "phase=LIVE", 1)
	code, out, _ := s.run("verify", "--wait", "0")
	want := "widgets.example.com shop/a: written in version example.com/v1alpha1, the cluster lists example.com/v1: backfill writes the rows again (table"
	if code != exitDifference || !strings.HasPrefix(out, want) {
		t.Errorf("exit code %d\n%s, want %s", code, out, want)
	}
	stop()
	if code, _, errs := s.run("backfill"); code != exitOK {
		t.Fatalf("backfill: exit code %d\n%s", code, errs)
	}
	errs, stop = s.start("widgets.example.com")
	errs.wait(t, "phase=LIVE", 1)
	stop()
	if code, out, errs := s.run("verify", "--wait", "0"); code != exitOK {
		t.Errorf("after the backfill: exit code %d\n%s%s", code, out, errs)
	}
}

// TestEveryTypeInOneVersion, which need not be the one that the group prefers: each type is in
// the first version that can be listed and watched, for '*' and for a type that runs.
func TestEveryTypeInOneVersion(t *testing.T) {
	const both = `"list","watch"`
	api := offered(t, fmt.Sprintf(`
		{"version":"v1","resources":[%s,%s]},
		{"version":"v2beta1","resources":[%s,%s,%s]},
		{"version":"v2alpha1","resources":[%s,%s,%s,%s]}`,
		describe("widgets", both), describe("unwatched", `"list"`),
		describe("widgets", both), describe("unwatched", both), describe("gadgets", both),
		describe("widgets", both), describe("gadgets", both), describe("gizmos", both), describe("never", `"list"`)))
	var got, runs []string
	for _, r := range every(api) {
		got = append(got, r.Version+" "+r.Plural)
		r.Version = "v1alpha1"
		runs = append(runs, current(api, r).Version+" "+r.Plural)
	}
	want := []string{"v1 widgets", "v2beta1 unwatched", "v2beta1 gadgets", "v2alpha1 gizmos"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("'*' (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, runs); diff != "" {
		t.Errorf("types that run in a version that is not served (-want +got):\n%s", diff)
	}
}

// TestEveryTypeAfterAnotherPreference: a type that is not served in the version that its group
// prefers by now is still one of '*' after a restart, and for verify.
func TestEveryTypeAfterAnotherPreference(t *testing.T) {
	s := newStage(t)
	s.serve("v1")
	s.put(widgets("v1"), "a", "")
	errs, stop := s.start("*", "--flush", "1ms")
	errs.wait(t, "scope=widgets.example.com phase=LIVE", 1)
	stop()
	s.serveType("gadgets", "Gadget", "v2")
	s.put(kube.Resource{Group: "example.com", Version: "v2", Plural: "gadgets", Kind: "Gadget", Namespaced: true}, "g", "")
	s.put(widgets("v1"), "b", "")
	errs, stop = s.start("*", "--flush", "1ms")
	errs.wait(t, "scope=gadgets.example.com phase=LIVE", 1)
	s.rows(errs, 3)
	s.plant(`DELETE FROM objects WHERE name = 'a'`)
	code, out, _ := s.run("verify", "*", "--wait", "0")
	if code != exitDifference || !strings.Contains(out, "widgets.example.com shop/a: ") {
		t.Errorf("verify '*': exit code %d\n%s", code, out)
	}
	stop()
}

// TestVerifyGoesOnAfterATypeThatCannotBeListed: that type is one line, the others are compared.
func TestVerifyGoesOnAfterATypeThatCannotBeListed(t *testing.T) {
	s := newStage(t)
	s.serve("v1")
	s.serveType("gadgets", "Gadget", "v1")
	s.put(widgets("v1"), "a", "")
	errs, stop := s.start("gadgets.example.com,widgets.example.com", "--flush", "1ms")
	errs.wait(t, "phase=LIVE", 2)
	stop()
	s.server.On(apitest.Match{Path: "/apis"}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", form)
		fmt.Fprintf(w, `{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"example.com"},"versions":[{"version":"v1","resources":[%s,%s]}]}]}`,
			describe("gadgets", `"get"`), describe("widgets", `"list","watch"`))
	})
	const notCompared = "gadgets.example.com: not compared: in no version can it be listed and watched\n"
	code, out, failed := s.run("verify", "--wait", "0")
	if code != exitFailed || !strings.HasPrefix(out, notCompared+"widgets.example.com: 1 objects at revision ") || !strings.Contains(failed, "types were not compared: 1") {
		t.Errorf("exit code %d\n%s%s", code, out, failed)
	}
	s.plant(`DELETE FROM objects WHERE name = 'a'`)
	code, out, failed = s.run("verify", "--wait", "0")
	if code != exitDifference || !strings.HasPrefix(out, notCompared+"widgets.example.com shop/a: missing in the table") {
		t.Errorf("with a difference: exit code %d\n%s%s", code, out, failed)
	}
}

// TestVerifyGoesOnAfterAListThatFails: that type is one line, the others are compared.
func TestVerifyGoesOnAfterAListThatFails(t *testing.T) {
	s := newStage(t)
	s.serve("v1")
	s.serveType("gadgets", "Gadget", "v1")
	s.put(widgets("v1"), "a", "")
	errs, stop := s.start("gadgets.example.com,widgets.example.com", "--flush", "1ms")
	errs.wait(t, "phase=LIVE", 2)
	stop()
	s.server.On(apitest.Match{Resource: "gadgets.example.com"}, faults.Answer(&kube.Status{Code: http.StatusForbidden, Reason: "Forbidden", Message: "no"}))
	code, out, failed := s.run("verify", "--wait", "0")
	if code != exitFailed || !strings.HasPrefix(out, "gadgets.example.com: not compared: list ") || !strings.Contains(out, "\nwidgets.example.com: 1 objects at revision ") || !strings.Contains(failed, "types were not compared: 1") {
		t.Errorf("exit code %d\n%s%s", code, out, failed)
	}
	s.plant(`DELETE FROM objects WHERE name = 'a'`)
	if code, out, failed := s.run("verify", "--wait", "0"); code != exitDifference || !strings.Contains(out, "\nwidgets.example.com shop/a: missing in the table") {
		t.Errorf("with a difference: exit code %d\n%s%s", code, out, failed)
	}
	if code, _, failed := s.run("verify", "gadgets.example.com", "--wait", "0"); code != exitFailed || !strings.Contains(failed, "list gadgets.example.com") {
		t.Errorf("alone: exit code %d\n%s", code, failed)
	}
}

// TestVerifyOfANamespaceWhileAVersionIsBroken: the selection says that the type is namespaced.
func TestVerifyOfANamespaceWhileAVersionIsBroken(t *testing.T) {
	s := newStage(t)
	s.serve("v1")
	s.put(widgets("v1"), "a", "")
	errs, stop := s.start("widgets.example.com", "--namespace", "shop", "--flush", "1ms")
	errs.wait(t, "phase=LIVE", 1)
	stop()
	s.server.On(apitest.Match{Path: "/apis"}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", form)
		fmt.Fprint(w, `{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"example.com"},"versions":[{"version":"v1","freshness":"Stale"}]}]}`)
	})
	for _, args := range [][]string{{"verify", "--wait", "0"}, {"verify", "widgets.example.com", "--wait", "0"}} {
		if code, out, failed := s.run(args...); code != exitOK || !strings.Contains(out, "widgets.example.com: 1 objects at revision ") {
			t.Errorf("%v: exit code %d\n%s%s", args, code, out, failed)
		}
	}
}
