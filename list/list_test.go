package list_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
)

// cluster starts a fake with n config maps and returns a collection of them.
func cluster(t *testing.T, n int) (*apitest.Server, client.Collection[kube.Partial]) {
	t.Helper()
	srv := apitest.New(t)
	for i := range n {
		srv.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"namespace":"d","name":"c%02d"}}`, i))
	}
	c, err := client.New(client.Config{Server: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	return srv, client.Of[kube.Partial](c, kube.ConfigMaps)
}

func names(t *testing.T, l *list.Lister[kube.Partial]) []string {
	t.Helper()
	var got []string
	for o, err := range l.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, o.Name)
	}
	return got
}

func want(n int) []string {
	var w []string
	for i := range n {
		w = append(w, fmt.Sprintf("c%02d", i))
	}
	return w
}

func TestListerReadsAllPages(t *testing.T) {
	for _, limit := range []int{-1, 0, 1, 3, 10, 11} {
		t.Run(fmt.Sprint("limit=", limit), func(t *testing.T) {
			srv, col := cluster(t, 10)
			l := list.New(col, list.Options{Limit: limit})
			if diff := cmp.Diff(want(10), names(t, l)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if l.Revision() != srv.Revision() {
				t.Errorf("revision %s, want %s", l.Revision(), srv.Revision())
			}
		})
	}
}

// TestListerShowsOneSnapshot: what changes between two pages is not in it.
func TestListerShowsOneSnapshot(t *testing.T) {
	srv, col := cluster(t, 6)
	l := list.New(col, list.Options{Limit: 2})
	at := srv.Revision()
	var got []string
	for o, err := range l.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, o.Name); len(got) == 1 {
			srv.Delete(kube.ConfigMaps, kube.Key{Namespace: "d", Name: "c05"})
			srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"d","name":"c99"}}`)
		}
	}
	if diff := cmp.Diff(want(6), got); diff != "" || l.Revision() != at {
		t.Errorf("at %s, want %s (-want +got):\n%s", l.Revision(), at, diff)
	}
}

func TestListerReportsItsProgress(t *testing.T) {
	srv, col := cluster(t, 5)
	var got []list.Progress
	l := list.New(col, list.Options{Limit: 2, Progress: func(p list.Progress) { got = append(got, p) }})
	names(t, l)
	rv := srv.Revision()
	want := []list.Progress{
		{Pages: 1, Items: 2, Remaining: 3, Revision: rv},
		{Pages: 2, Items: 4, Remaining: 1, Revision: rv},
		{Pages: 3, Items: 5, Remaining: -1, Revision: rv, Done: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestListerGoesOnWhenItsSnapshotExpires(t *testing.T) {
	srv, col := cluster(t, 6)
	srv.On(apitest.Match{Verb: "list", Query: "continue=", Nth: 2}, faults.ExpireContinue()).Times(1)
	l := list.New(col, list.Options{Limit: 2})
	if diff := cmp.Diff(want(6), names(t, l)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestListerReportsAnInconsistentList(t *testing.T) {
	srv, col := cluster(t, 6)
	srv.On(apitest.Match{Verb: "list", Query: "continue=", Nth: 2}, faults.ExpireContinue()).Times(1)
	var got []bool
	names(t, list.New(col, list.Options{Limit: 2, Progress: func(p list.Progress) { got = append(got, p.Inconsistent) }}))
	if diff := cmp.Diff([]bool{false, false, true}, got); diff != "" {
		t.Errorf("Inconsistent of each page (-want +got):\n%s", diff)
	}
}

func TestListerBeginsAgainWithoutAToken(t *testing.T) {
	srv, col := cluster(t, 6)
	srv.On(apitest.Match{Verb: "list", Query: "continue="}, faults.ExpireContinueForGood())
	got := names(t, list.New(col, list.Options{Limit: 2}))
	slices.Sort(got)
	if diff := cmp.Diff(want(6), slices.Compact(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := len(srv.Requests()); n != 3 {
		t.Errorf("%d requests, want page, expired page, and everything", n)
	}
}

func TestListerEndsWithTheError(t *testing.T) {
	srv, col := cluster(t, 4)
	srv.On(apitest.Match{Verb: "list", Query: "continue="}, faults.Answer(apitest.StatusForbidden("jane", "list", kube.ConfigMaps, "")))
	var got []string
	var last error
	for o, err := range list.New(col, list.Options{Limit: 2}).All(t.Context()) {
		if last = err; err == nil {
			got = append(got, o.Name)
		}
	}
	if diff := cmp.Diff(want(2), got); diff != "" || !errors.Is(last, kube.ErrForbidden) {
		t.Errorf("error %v (-want +got):\n%s", last, diff)
	}
}

func TestListerStopsWhereTheLoopIsLeft(t *testing.T) {
	srv, col := cluster(t, 10)
	for range list.New(col, list.Options{Limit: 2}).All(t.Context()) {
		break
	}
	if n := len(srv.Requests()); n != 1 {
		t.Errorf("%d requests after a break at the first object, want 1", n)
	}
}

func TestListerQuarantinesWhatDoesNotDecode(t *testing.T) {
	type counted struct { // decodes no config map whose data.n is not a number
		kube.Meta `json:"metadata"`
		Data      struct {
			N int `json:"n"`
		} `json:"data"`
	}
	srv := apitest.New(t)
	for name, n := range map[string]string{"a": "1", "b": `"x"`, "c": "3"} {
		srv.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"namespace":"d","name":%q},"data":{"n":%s}}`, name, n))
	}
	c, err := client.New(client.Config{Server: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for o, err := range list.New(client.Of[counted](c, kube.ConfigMaps), list.Options{}).All(t.Context()) {
		var bad *codec.ItemError
		switch {
		case errors.As(err, &bad):
			got = append(got, "bad "+bad.Identity.Name)
		case err != nil:
			t.Fatal(err)
		default:
			got = append(got, o.Name)
		}
	}
	if diff := cmp.Diff([]string{"a", "bad b", "c"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestListerAsksForAnExactRevision(t *testing.T) {
	srv, col := cluster(t, 3)
	at := srv.Revision()
	srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"d","name":"c99"}}`)
	l := list.New(col, list.Options{Limit: 2, Revision: at, Match: list.Exact})
	if diff := cmp.Diff(want(3), names(t, l)); diff != "" || l.Revision() != at {
		t.Errorf("at %s, want %s (-want +got):\n%s", l.Revision(), at, diff)
	}
}

func Example() {
	srv, err := apitest.Start(apitest.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	srv.Put(kube.Pods, `{"metadata":{"namespace":"shop","name":"web-0","labels":{"app":"web"}}}`)
	srv.Put(kube.Pods, `{"metadata":{"namespace":"shop","name":"web-1","labels":{"app":"web"}}}`)
	srv.Put(kube.Pods, `{"metadata":{"namespace":"shop","name":"db-0","labels":{"app":"db"}}}`)

	c, err := client.New(client.Config{Server: srv.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	web := kube.LabelsSelector(map[string]string{"app": "web"})
	pods := client.Of[kube.Partial](c, kube.Pods).In("shop").Where(web, kube.FieldSelector{})
	for pod, err := range list.New(pods, list.Options{}).All(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(pod.Namespace, pod.Name)
	}
	// Output:
	// shop web-0
	// shop web-1
}

// TestListerPassesOverWhatIsTooLarge: one object above MaxItem does not keep the
// others from being listed, page after page.
func TestListerPassesOverWhatIsTooLarge(t *testing.T) {
	srv := apitest.New(t)
	for name, size := range map[string]int{"a": 1, "b": 200000, "c": 3, "d": 100000, "e": 5} {
		srv.Put(kube.Pods, fmt.Sprintf(`{"metadata":{"namespace":"d","name":%q},"spec":{"nodeName":%q}}`, name, strings.Repeat("x", size)))
	}
	c, err := client.New(client.Config{Server: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int{-1, 1, 2} {
		var got []string
		l := list.New(client.Of[codec.Raw](c, kube.Pods), list.Options{Limit: limit, MaxItem: 50000})
		for o, err := range l.All(t.Context()) {
			var bad *codec.ItemError
			switch {
			case errors.As(err, &bad):
				if !errors.Is(err, codec.ErrTooLarge) || bad.Identity.UID == "" || bad.Identity.ResourceVersion == "" || !o.IsZero() {
					t.Errorf("%v of %+v", err, bad.Identity)
				}
				got = append(got, fmt.Sprintf("%s %s/%s of %d KB", bad.Identity.Kind, bad.Identity.Namespace, bad.Identity.Name, bad.Size/1000))
			case err != nil:
				t.Fatal(err)
			default:
				got = append(got, o.GetName())
			}
		}
		if diff := cmp.Diff([]string{"a", "Pod d/b of 200 KB", "c", "Pod d/d of 100 KB", "e"}, got); diff != "" {
			t.Errorf("limit %d (-want +got):\n%s", limit, diff)
		}
		if l.Revision() != srv.Revision() {
			t.Errorf("limit %d: revision %s, want %s", limit, l.Revision(), srv.Revision())
		}
	}
}

// TestListerHidesCredentials: a server or a proxy can repeat them in what it sends in place
// of a list.
func TestListerHidesCredentials(t *testing.T) {
	const token = "SesameStreet4711"
	srv := apitest.New(t)
	srv.On(apitest.Match{Verb: "list"}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"kind":%q,"metadata":{"name":"a"}}`, token)
	})
	c, err := client.New(client.Config{Server: srv.URL, Token: token, PlainHTTP: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range list.New(client.Of[kube.Partial](c, kube.Pods), list.Options{}).All(t.Context()) {
		var other *codec.NotListError
		if !errors.As(err, &other) || strings.Contains(err.Error(), token) {
			t.Errorf("error %v: want a NotListError without the token", err)
		}
	}
}

// TestListerStopsWithItsContext, though the answer has more objects.
func TestListerStopsWithItsContext(t *testing.T) {
	_, col := cluster(t, 10)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []string
	var last error
	for o, err := range list.New(col, list.Options{}).All(ctx) {
		if last = err; err == nil {
			got = append(got, o.Name)
		}
		cancel()
	}
	if diff := cmp.Diff(want(1), got); diff != "" || !errors.Is(last, context.Canceled) {
		t.Errorf("error %v (-want +got):\n%s", last, diff)
	}
}
