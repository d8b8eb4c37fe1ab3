package ui

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/secret"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/ui/internal/describe"
	"github.com/listwatch/listwatch/ui/internal/gaps"
	"github.com/listwatch/listwatch/ui/internal/refs"
)

// TestHistory: each state with what changed in it, the diff of any two, and the object
// as it was.
func TestHistory(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		p := w.open()
		w.pod("a", "Pending")
		w.pass(time.Second)
		w.pod("a", "Running")
		w.pass(time.Second)
		before := now()
		w.pass(time.Second)
		w.pod("b", "Running")
		w.delete("a")
		w.pass(time.Second)
		var got struct {
			States []describe.State
			UIDs   []struct{ To int64 }
		}
		p.get("api/history?type=pods&ns=shop&name=a", &got)
		lines := []string{}
		for _, s := range got.States {
			line := s.Op + " " + s.Headline
			for _, c := range s.Changes {
				line += fmt.Sprintf(" %s %s→%s", c.Path, *c.Old, *c.New)
			}
			lines = append(lines, line)
		}
		if diff := cmp.Diff([]string{"DELETED Deleted", "MODIFIED Running status.phase Pending→Running", "ADDED Created"}, lines); diff != "" || got.UIDs[0].To == 0 {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		var d struct {
			Changes []struct{ Path, Old, New string }
		}
		p.get(fmt.Sprintf("api/diff?type=pods&ns=shop&name=a&a=%d&b=%d", got.States[2].Pos, got.States[1].Pos), &d)
		if len(d.Changes) != 1 || d.Changes[0].New != "Running" {
			t.Errorf("%+v", d)
		}
		var o wireObject
		p.get(fmt.Sprintf("api/object?type=pods&ns=shop&name=a&pos=%d", got.States[2].Pos), &o)
		if !strings.Contains(o.YAML, "phase: Pending") || !o.Exists {
			t.Errorf("%+v", o)
		}
		for at, want := range map[int64]string{got.States[2].At - 21_000: "created later, after 21s", before: ""} {
			if rec := p.do("GET", fmt.Sprintf("api/object?type=pods&ns=shop&name=a&at=%d", at), ""); rec.Code != map[bool]int{true: 200, false: 404}[want == ""] || !strings.Contains(rec.Body.String(), want) {
				t.Errorf("at %d: %d %s", at, rec.Code, rec.Body)
			}
		}
		var l wireWindow
		p.get(fmt.Sprintf("api/list?type=pods&at=%d", before), &l)
		if diff := cmp.Diff([]string{"a Running"}, rowsOf(l, 2)); diff != "" {
			t.Errorf("the list then (-want +got):\n%s", diff)
		}
		p.get("api/list?type=pods", &l)
		if diff := cmp.Diff([]string{"b Running"}, rowsOf(l, 2)); diff != "" {
			t.Errorf("the list now (-want +got):\n%s", diff)
		}
	})
}

// TestListAtTheTimeOfAChange: the list at the millisecond of a change has the change, the
// list of the millisecond before does not.
func TestListAtTheTimeOfAChange(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		p := w.open()
		w.pod("web", "Pending")
		w.pass(time.Second)
		w.pod("web", "Running")
		w.pod("later", "Running")
		w.pass(time.Second)
		var l wireWindow
		p.get("api/list?type=pods", &l)
		changed := l.Rows[0].Changed
		for _, c := range []struct {
			at   int64
			want []string
		}{
			{changed - 1, []string{"web Pending"}},
			{changed, []string{"later Running", "web Running"}},
		} {
			p.get(fmt.Sprintf("api/list?type=pods&at=%d", c.at), &l)
			if diff := cmp.Diff(c.want, rowsOf(l, 2)); diff != "" {
				t.Errorf("%d ms after the change (-want +got):\n%s", c.at-changed, diff)
			}
		}
	})
}

// TestOpenedObjectIsSent: a page requests the history of an object and then subscribes to
// it. A change in between is sent.
func TestOpenedObjectIsSent(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		p := w.open()
		w.pod("a", "Pending")
		w.pass(time.Second)
		w.pod("a", "Running")
		w.pass(time.Second)
		p.post("api/subscribe", `{"client":"client-1","objects":[{"id":"o","type":"pods","ns":"shop","name":"a"}]}`)
		s := p.stream("client-1", "")
		s.read(time.Second)
		var got []string
		for _, e := range s.seen {
			if e.name != "object" {
				continue
			}
			var d struct{ State describe.State }
			if err := json.Unmarshal(e.data, &d); err != nil {
				t.Fatal(err)
			}
			got = append(got, d.State.Headline)
		}
		if diff := cmp.Diff([]string{"Created", "Running"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestObjectOfATypeThatIsListed: until the first list is complete, the answer is to ask
// again, not that there is no such object.
func TestObjectOfATypeThatIsListed(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		p := w.open()
		w.srv.On(apitest.Match{Verb: "list", Resource: "secrets"}, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		for _, c := range []struct {
			when, path string
			want       int
		}{
			{"before its list", "object?type=secrets&ns=shop&name=s", http.StatusServiceUnavailable},
			{"while it is listed", "object?type=secrets&ns=shop&name=s", http.StatusServiceUnavailable},
			{"while it is listed", "history?type=secrets&ns=shop&name=s", http.StatusServiceUnavailable},
			{"after its list", "object?type=pods&ns=shop&name=s", http.StatusNotFound},
		} {
			if rec := p.do("GET", "api/"+c.path, ""); rec.Code != c.want {
				t.Errorf("%s, %s: %d %s, want %d", c.when, c.path, rec.Code, rec.Body, c.want)
			}
			w.pass(time.Second)
		}
	})
}

// TestAGapIsShown: what happened while the server's history expired is found by
// comparing, and said to be.
func TestAGapIsShown(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		p := w.open()
		w.pod("a", "Running")
		w.pod("b", "Running")
		w.pass(time.Second)
		if err := w.srv.SetDoor(apitest.Refusing); err != nil {
			t.Fatal(err)
		}
		w.srv.CutWatches()
		w.pass(5 * time.Second)
		var types struct{ Types []wireType }
		p.get("api/types", &types)
		for _, k := range types.Types {
			if k.Type == "pods" && (k.State != stateStale || !strings.Contains(k.Reason, "no contact since")) {
				t.Errorf("while the server is away: %s %s", k.State, k.Reason)
			}
		}
		w.delete("a")
		w.pod("b", "Failed")
		w.srv.Expire()
		if err := w.srv.SetDoor(apitest.Open); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Minute)
		var l wireWindow
		p.get("api/list?type=pods", &l)
		if l.State != stateLive || len(l.Gaps) != 1 || l.Gaps[0].Modified != 1 || l.Gaps[0].Deleted != 1 || l.Gaps[0].To <= l.Gaps[0].From || l.Gaps[0].From == 0 {
			t.Errorf("%s %+v", l.State, l.Gaps)
		}
		var c struct {
			Changes []struct {
				Op, Name string
				Inferred bool
			}
		}
		p.get("api/changes?types=pods&limit=3", &c)
		ops := []string{}
		for _, e := range c.Changes {
			ops = append(ops, fmt.Sprint(e.Op, " ", e.Name, " ", e.Inferred))
		}
		if diff := cmp.Diff([]string{"GAP  false", "DELETED a true", "MODIFIED b true"}, ops); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		var of struct {
			Changes []wireChange
			Gaps    gaps.List
		}
		p.get("api/changes?limit=500", &of)
		p.get("api/activity", &of)
		about := func(id string) (n int) {
			for _, c := range of.Changes {
				if c.Gap != nil && c.Type == id {
					n++
				}
			}
			for _, g := range of.Gaps {
				if g.Type == id {
					n++
				}
			}
			return n
		}
		if about("nodes") != 2 || about("pods") != 2 {
			t.Errorf("gaps of all namespaces: %d of nodes and %d of pods, want 2 of each", about("nodes"), about("pods"))
		}
		of.Changes, of.Gaps = nil, nil
		p.get("api/changes?limit=500&ns=shop", &of)
		p.get("api/activity?ns=shop", &of)
		if about("nodes") != 0 || about("pods") != 2 {
			t.Errorf("gaps of a namespace: %d of nodes and %d of pods, want 0 and 2", about("nodes"), about("pods"))
		}
	})
}

func TestTree(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		p := w.open()
		w.srv.Put(kube.Deployments, `{"metadata":{"namespace":"shop","name":"web","uid":"u-web"}}`)
		uid := func(r kube.Resource, name string) string {
			var o struct{ Metadata struct{ UID string } }
			if err := json.Unmarshal(w.srv.Get(r, kube.Key{Namespace: "shop", Name: name}), &o); err != nil {
				t.Fatal(err)
			}
			return o.Metadata.UID
		}
		owned := func(r kube.Resource, name, kind, owner, uid string) {
			w.srv.Put(r, fmt.Sprintf(`{"metadata":{"namespace":"shop","name":%q,"ownerReferences":[{"apiVersion":"apps/v1","kind":%q,"name":%q,"uid":%q,"controller":true}]}}`, name, kind, owner, uid))
		}
		owned(kube.ReplicaSets, "web-1", "Deployment", "web", uid(kube.Deployments, "web"))
		for _, name := range []string{"web-1-a", "web-1-b"} {
			owned(kube.Pods, name, "ReplicaSet", "web-1", uid(kube.ReplicaSets, "web-1"))
		}
		owned(kube.Pods, "lost", "ReplicaSet", "gone", "no-such-uid")
		w.srv.Put(kube.Pods, `{"metadata":{"namespace":"shop","name":"batch","ownerReferences":[{"apiVersion":"v1","kind":"ServiceAccount","name":"hourly","uid":"u-account"}]}}`)
		w.pass(time.Second)
		var got struct{ Root node }
		p.get("api/tree?type=pods&ns=shop&name=web-1-b", &got)
		if diff := cmp.Diff("web(web-1(web-1-a()web-1-b*()))", got.Root.outline()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		p.get("api/tree?type=pods&ns=shop&name=lost", &got)
		if diff := cmp.Diff("gone?(lost*())", got.Root.outline()); diff != "" || got.Root.Type != "replicasets.apps" {
			t.Errorf("%+v (-want +got):\n%s", got.Root, diff)
		}
		before := now()
		w.pass(time.Second)
		owned(kube.Pods, "web-1-c", "ReplicaSet", "web-1", uid(kube.ReplicaSets, "web-1"))
		w.delete("web-1-a")
		w.pass(time.Second)
		for at, want := range map[int64]string{before: "web(web-1(web-1-a()web-1-b*()))", now(): "web(web-1(web-1-b*()web-1-c()))"} {
			got.Root = node{}
			p.get(fmt.Sprintf("api/tree?type=pods&ns=shop&name=web-1-b&at=%d", at), &got)
			if diff := cmp.Diff(want, got.Root.outline()); diff != "" {
				t.Errorf("at another moment (-want +got):\n%s", diff)
			}
		}
		for name, want := range map[string]string{"web-1-a": "web(web-1(web-1-a*()web-1-b()))", "batch": "hourly~(batch*())"} {
			got.Root = node{}
			for _, at := range []int64{0, now()} {
				p.get(fmt.Sprintf("api/tree?type=pods&ns=shop&name=%s&at=%d", name, at), &got)
				if diff := cmp.Diff(want, got.Root.outline()); diff != "" {
					t.Errorf("%s at %d (-want +got):\n%s", name, at, diff)
				}
			}
		}
	})
}

func (n *node) outline() string {
	s := n.Name
	if n.Self {
		s += "*"
	}
	if n.Unknown {
		s += "~"
	} else if n.Missing {
		s += "?"
	}
	s += "("
	for _, c := range n.Children {
		s += c.outline()
	}
	return s + ")"
}

func TestEventsOfAnObject(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		p := w.open()
		w.pod("a", "Running")
		for _, name := range []string{"a", "aa"} {
			w.srv.Put(kube.Events, fmt.Sprintf(`{"metadata":{"namespace":"shop","name":"%s.1"},"involvedObject":{"kind":"Pod","namespace":"shop","name":%q},"type":"Warning","reason":"BackOff","message":"about %s","count":3}`, name, name, name))
		}
		w.pass(time.Second)
		var got struct{ Events []describe.Event }
		p.get("api/events?type=pods&ns=shop&name=a", &got)
		if len(got.Events) != 1 || got.Events[0].Message != "about a" || got.Events[0].Count != 3 {
			t.Errorf("%+v", got.Events)
		}
		before := now()
		w.pass(time.Second)
		w.srv.Delete(kube.Events, kube.Key{Namespace: "shop", Name: "a.1"}) // it expired
		w.pass(time.Second)
		for at, want := range map[int64]int{before: 1, now(): 0} {
			got.Events = nil
			if p.get(fmt.Sprintf("api/events?type=pods&ns=shop&name=a&at=%d", at), &got); len(got.Events) != want {
				t.Errorf("%d Events of a moment, want %d", len(got.Events), want)
			}
		}
		got.Events = nil
		if p.get("api/events?type=pods&ns=shop&name=a", &got); len(got.Events) != 1 || got.Events[0].Gone <= before {
			t.Errorf("%+v, want the Event that expired after %d", got.Events, before)
		}
	})
}

// TestSecretsAreRedacted: in every answer and every state; a change of a value is seen
// nevertheless.
func TestSecretsAreRedacted(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		p := w.open()
		put := func(value string) {
			w.srv.Put(kube.Secrets, fmt.Sprintf(`{"metadata":{"namespace":"shop","name":"s","annotations":{%q:"hunter2 %s"}},"data":{"password":%q}}`, secret.LastApplied, value, value))
		}
		put("aHVudGVyMg==")
		p.post("api/subscribe", `{"client":"client-1","windows":[{"id":"w","type":"secrets"}],"objects":[{"id":"o","type":"secrets","ns":"shop","name":"s"}],"activity":{}}`)
		w.pass(time.Second)
		s := p.stream("client-1", "")
		go func() { <-time.After(time.Second); put("aHVudGVyMw==") }()
		s.read(3 * time.Second)
		all := ""
		for _, e := range s.seen {
			all += string(e.data)
		}
		for _, path := range []string{"object", "history"} {
			all += p.do("GET", "api/"+path+"?type=secrets&ns=shop&name=s", "").Body.String()
		}
		for _, value := range []string{"aHVudGVyM", "hunter2"} {
			if strings.Contains(all, value) {
				t.Errorf("%s is in %s", value, all)
			}
		}
		if !strings.Contains(all, "data.password") || !strings.Contains(all, `"redacted":true`) {
			t.Errorf("no change of data.password in %s", all)
		}
	})
}

// TestTheFirstListIsNoChange at a moment of the past either.
func TestTheFirstListIsNoChange(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.srv.Put(accounts, `{"metadata":{"namespace":"shop","name":"a"}}`)
		p := w.open()
		var l wireWindow
		p.get("api/list?type=serviceaccounts", &l)
		w.pass(time.Second)
		p.get(fmt.Sprintf("api/list?type=serviceaccounts&at=%d", now()), &l)
		if len(l.Rows) != 1 || l.Rows[0].Op != "" || l.Rows[0].Changed != 0 {
			t.Errorf("%+v", l.Rows)
		}
	})
}

// TestManagers are those that the server knows now, of an object that is still the same.
func TestManagers(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		pod, err := codec.ParseRawFull([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"shop","name":"web","labels":{"tier":"a"}},"spec":{"containers":[{"name":"app","image":"web:1"}]}}`))
		if err == nil {
			_, err = client.Of[codec.RawFull](w.client, kube.Pods).With(client.WriteOptions{FieldManager: "editor"}).Create(w.Context(), pod)
		}
		if err != nil {
			t.Fatal(err)
		}
		w.pass(time.Second)
		p := w.open()
		const path = "api/managers?type=pods&ns=shop&name=web"
		var got struct {
			Managers []struct {
				Manager string
				Fields  []string
			}
		}
		p.get(path, &got)
		if len(got.Managers) != 1 || got.Managers[0].Manager != "editor" || !slices.Contains(got.Managers[0].Fields, "spec.containers[name=app].image") {
			t.Errorf("%+v", got)
		}
		w.delete("web")
		w.pass(time.Second)
		if rec := p.do("GET", path, ""); rec.Code != 404 {
			t.Errorf("of a deleted object: %d %s", rec.Code, rec.Body)
		}
	})
}

// TestCreatedAgain: what differs from the object that had the name before stands in the
// history and in the log.
func TestCreatedAgain(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		p := w.open()
		put := func(image string, replicas int) {
			w.srv.Put(kube.Deployments, fmt.Sprintf(`{"metadata":{"namespace":"shop","name":"web"},"spec":{"replicas":%d,"template":{"spec":{"containers":[{"name":"app","image":%q}]}}}}`, replicas, image))
		}
		put("web:2", 3)
		w.pass(time.Second)
		w.srv.Delete(kube.Deployments, kube.Key{Namespace: "shop", Name: "web"})
		w.pass(time.Minute)
		put("web:1", 2)
		w.pass(time.Second)
		var got struct {
			States []describe.State
			UIDs   []struct{ UID string }
		}
		p.get("api/history?type=deployments.apps&ns=shop&name=web", &got)
		last := got.States[len(got.States)-1]
		if last.Headline != "Created again: Image changed web:2 → web:1, replicas 3 → 2" || len(last.Changes) != 2 || *last.Changes[1].Old != "web:2" || len(got.UIDs) != 2 {
			t.Errorf("%+v, %v", last, got.UIDs)
		}
		var c struct{ Changes []wireChange }
		p.get("api/changes?types=deployments.apps&limit=1", &c)
		if want := "Created again: Image changed web:2 → web:1, replicas 3 → 2"; len(c.Changes) != 1 || c.Changes[0].What != want {
			t.Errorf("%+v, want %q", c.Changes, want)
		}
		w.srv.Delete(kube.Deployments, kube.Key{Namespace: "shop", Name: "web"})
		w.pass(time.Minute)
		put("web:1", 2)
		w.pass(time.Second)
		p.get("api/changes?types=deployments.apps&limit=1", &c)
		if want := "Created again with the same content"; len(c.Changes) != 1 || c.Changes[0].What != want {
			t.Errorf("%+v, want %q", c.Changes, want)
		}
		p.get("api/history?type=deployments.apps&ns=shop&name=web", &got)
		if last := got.States[len(got.States)-1]; last.Headline != c.Changes[0].What || len(got.UIDs) != 3 {
			t.Errorf("%+v, %v", last, got.UIDs)
		}
		p.get("api/history?type=deployments.apps&ns=shop&name=web&uid="+got.UIDs[0].UID, &got)
		if first := got.States[len(got.States)-1]; first.Headline != "Created" || len(first.Changes) != 0 {
			t.Errorf("the first one: %+v", first)
		}
	})
}

// TestNamespacesOfThePast: a namespace whose objects are gone can be chosen for as long as any
// state of them is kept.
func TestNamespacesOfThePast(t *testing.T) {
	inWorld(t, Options{Limits: Limits{History: 64 << 10}}, func(w *world) {
		p := w.open()
		put := func(ns, name string) {
			w.srv.Put(kube.Pods, fmt.Sprintf(`{"metadata":{"namespace":%q,"name":%q}}`, ns, name))
		}
		namespaces := func() []string {
			w.pass(11 * time.Second)
			var st struct{ Namespaces, Emptied []string }
			p.get("api/state", &st)
			return append(append(st.Namespaces, "-"), st.Emptied...)
		}
		put("bank", "a")
		put("shop", "a")
		w.pass(time.Second)
		w.srv.Delete(kube.Pods, kube.Key{Namespace: "bank", Name: "a"})
		if diff := cmp.Diff([]string{"shop", "-", "bank"}, namespaces()); diff != "" {
			t.Errorf("one was emptied (-want +got):\n%s", diff)
		}
		for n := range 500 { // what is kept of bank is dropped
			put("shop", fmt.Sprint("pod-", n))
			w.srv.Delete(kube.Pods, kube.Key{Namespace: "shop", Name: fmt.Sprint("pod-", n)})
		}
		if diff := cmp.Diff([]string{"shop", "-"}, namespaces()); diff != "" {
			t.Errorf("nothing is kept of it (-want +got):\n%s", diff)
		}
	})
}

// TestNames: what an object names, and what names it, now and at a moment. A pod whose owner
// names the same is left out, and so is what is in another namespace.
func TestNames(t *testing.T) {
	rbac := func(plural, kind string, namespaced bool) kube.Resource {
		return kube.Resource{Group: "rbac.authorization.k8s.io", Version: "v1", Plural: plural, Kind: kind, Namespaced: namespaced}
	}
	bindings, allBindings := rbac("rolebindings", "RoleBinding", true), rbac("clusterrolebindings", "ClusterRoleBinding", false)
	accounts := kube.Resource{Version: "v1", Plural: "serviceaccounts", Kind: "ServiceAccount", Namespaced: true}
	inWorld(t, Options{Keep: []string{allBindings.GroupResource(), accounts.GroupResource()}}, func(w *world) {
		const uses = `"spec":{"containers":[{"name":"app","image":"a","envFrom":[{"configMapRef":{"name":"settings"}}]}]}`
		w.srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"shop","name":"settings"}}`)
		w.srv.Put(kube.Deployments, `{"metadata":{"namespace":"shop","name":"web"},"spec":{"template":{`+uses+`}}}`)
		w.srv.Put(kube.Pods, `{"metadata":{"namespace":"shop","name":"alone"},`+uses+`}`)
		w.srv.Put(kube.Pods, `{"metadata":{"namespace":"bank","name":"other"},`+uses+`}`)
		w.srv.Put(kube.Pods, `{"metadata":{"namespace":"shop","name":"web-1","ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-1","uid":"u"}]},`+uses+`}`)
		w.pass(time.Second)
		before := now()
		w.pass(time.Second)
		w.srv.Put(kube.Deployments, `{"metadata":{"namespace":"shop","name":"web"},"spec":{"template":{"spec":{"serviceAccountName":"robot"}}}}`)
		account := `,"subjects":[{"kind":"ServiceAccount","namespace":"shop","name":"robot"}]`
		w.srv.Put(bindings, `{"metadata":{"namespace":"bank","name":"cross"},"roleRef":{"kind":"Role","name":"r"}`+account+`}`)
		w.srv.Put(allBindings, `{"metadata":{"name":"all"},"roleRef":{"kind":"ClusterRole","name":"view"}`+account+`}`)
		w.srv.Put(accounts, `{"metadata":{"namespace":"shop","name":"robot"}}`)
		w.pass(time.Second)
		p := w.open()
		ref := func(typ, name, as string) refs.Ref { return refs.Ref{Type: typ, NS: "shop", Name: name, As: as} }
		const as = "environment of app"
		for path, want := range map[string][2][]refs.Ref{
			"type=configmaps&name=settings":                         {{}, {ref("pods", "alone", as)}},
			fmt.Sprint("type=configmaps&name=settings&at=", before): {{}, {ref("deployments.apps", "web", as), ref("pods", "alone", as)}},
			"type=deployments.apps&name=web":                        {{ref("serviceaccounts", "robot", "account")}, {}},
			"type=serviceaccounts&name=robot": {{}, {{Type: allBindings.GroupResource(), Name: "all", As: "subject"}, ref("deployments.apps", "web", "account"),
				{Type: bindings.GroupResource(), NS: "bank", Name: "cross", As: "subject"}}},
			fmt.Sprint("type=deployments.apps&name=web&at=", before): {{ref("configmaps", "settings", as)}, {}},
		} {
			var got struct{ Names, Named []refs.Ref }
			p.get("api/tree?refs=1&ns=shop&"+path, &got)
			if diff := cmp.Diff(want, [2][]refs.Ref{got.Names, got.Named}); diff != "" {
				t.Errorf("%s (-want +got):\n%s", path, diff)
			}
		}
	})
}

// TestTooManyNames: of more objects than are read, how many were not is said.
func TestTooManyNames(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"shop","name":"settings"}}`)
		for n := range maxNamers + 7 {
			w.srv.Put(kube.Pods, fmt.Sprintf(`{"metadata":{"namespace":"shop","name":"pod-%05d"},"spec":{"volumes":[{"name":"v","configMap":{"name":"settings"}}]}}`, n))
		}
		w.pass(time.Second)
		var got struct {
			Named  []refs.Ref
			Unread int
		}
		w.open().get("api/tree?refs=1&type=configmaps&ns=shop&name=settings", &got)
		if len(got.Named) != maxNamers || got.Unread != 7 {
			t.Errorf("%d are named, %d were not read", len(got.Named), got.Unread)
		}
	})
}
