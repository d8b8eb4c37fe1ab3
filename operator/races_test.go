package operator_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// between lets change run before the server handles the next such request, which the cache
// does not show.
func (w *world) between(verb, resource string, change func()) {
	w.On(apitest.Match{Verb: verb, Resource: resource}, func(rw http.ResponseWriter, r *http.Request) {
		change()
		apitest.Continue(rw, r)
	}).Times(1)
}

const theirs = `[{"apiVersion":"v1","kind":"ConfigMap","name":"y","uid":"their-uid","controller":true}]`

// A child that gets another controller, or none, before the request arrives is not theirs any
// more: it is not changed.
func TestApplyChangesOnlyWhatItControls(t *testing.T) {
	for name, refs := range map[string]string{"taken": theirs, "released": `[]`} {
		t.Run(name, func(t *testing.T) {
			run(t, func(w *world) {
				w.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"y","uid":"their-uid"}}`)
				defer w.operate()()
				w.create(nil)
				w.between("patch", "services", func() {
					s := w.get(kube.Services)
					i := strings.Index(s, `"ownerReferences":[`)
					j := i + strings.Index(s[i:], "]") + 1
					w.Put(kube.Services, s[:i]+`"ownerReferences":`+refs+s[j:])
				})
				w.change(shops, `{"spec":{"ports":[443]}}`)
				if s := w.get(kube.Services); !strings.Contains(s, `"port":80`) || strings.Contains(s, `"kind":"Shop"`) {
					t.Errorf("it was changed: %s", s)
				}
				w.has(shops, `"problem":"foreign"`)
			})
		})
	}
}

func TestDeleteOnlyWhatItControls(t *testing.T) {
	for name, remove := range map[string]func(w *world, s shop) error{
		"Delete": func(w *world, s shop) error {
			_, err := w.services.Delete(w.Context(), s, "x", client.DeleteOptions{})
			return err
		},
		"Prune": func(w *world, s shop) error {
			_, err := w.services.Prune(w.Context(), s, client.DeleteOptions{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(w *world) {
				w.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"y","uid":"their-uid"}}`)
				defer w.operate()()
				w.create(nil)
				w.work = func(_ context.Context, s shop) error { return remove(w, s) }
				w.between("delete", "services", func() {
					s := w.get(kube.Services)
					i := strings.Index(s, `"ownerReferences":[`)
					j := i + strings.Index(s[i:], "]") + 1
					w.Put(kube.Services, s[:i]+`"ownerReferences":`+theirs+s[j:])
				})
				w.change(shops, `{"spec":{"ports":[443]}}`)
				w.has(kube.Services, `their-uid`)
			})
		})
	}
}

// The replacement of lists after a 422 keeps the owners and finalizers of others.
func TestReplaceKeepsMetadata(t *testing.T) {
	run(t, func(w *world) {
		w.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"y","uid":"their-uid"}}`)
		defer w.operate()()
		w.create(nil)
		s := w.get(kube.Services)
		w.change(kube.Services, strings.Replace(`{"metadata":{"finalizers":["example.com/b"],"ownerReferences":[OURS{"apiVersion":"v1","kind":"ConfigMap","name":"y","uid":"their-uid"}]},"spec":{"ports":[{"name":"p","port":1}]}}`, "OURS",
			s[strings.Index(s, `"ownerReferences":[`)+len(`"ownerReferences":[`):strings.Index(s, `}]`)+1]+",", 1))
		w.has(kube.Services, `"port":80`)
		w.has(kube.Services, `their-uid`)
		w.has(kube.Services, `example.com/b`)
	})
}

// A replacement that is interrupted by a write of others leaves no second owner of the members.
func TestReplaceInterrupted(t *testing.T) {
	run(t, func(w *world) {
		w.work = func(ctx context.Context, s shop) error {
			tree := map[string]any{"ports": []map[string]any{{"name": "p", "port": s.Spec.Ports[0]}}}
			if len(s.Spec.Maps) == 0 {
				tree["sessionAffinity"] = "ClientIP"
			}
			_, err := w.services.Apply(ctx, s, map[string]any{"spec": tree})
			return err
		}
		defer w.operate()()
		w.create(nil)
		n := 0
		w.On(apitest.Match{Verb: "patch", Resource: "services"}, func(rw http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json-patch") && n == 0 {
				n++
				s := w.get(kube.Services)
				w.Put(kube.Services, strings.Replace(s, `"metadata":{`, `"metadata":{"labels":{"c":"d"},`, 1))
			}
			apitest.Continue(rw, r)
		})
		w.change(kube.Services, `{"spec":{"ports":[{"name":"p","port":1}],"sessionAffinity":"None"}}`)
		w.has(kube.Services, `"port":80`)
		w.has(kube.Services, `"sessionAffinity":"ClientIP"`)
		w.change(shops, `{"spec":{"maps":["m"]}}`)
		if s := w.get(kube.Services); n != 1 || strings.Contains(s, `"sessionAffinity":"ClientIP"`) {
			t.Errorf("%d: the previous member is left: %s", n, s)
		}
	})
}

// A replacement that is not ended, because the process is, is ended by the next one: the
// members have no second owner.
func TestReplaceEndsInAnotherProcess(t *testing.T) {
	run(t, func(w *world) {
		w.work = func(ctx context.Context, s shop) error {
			tree := map[string]any{"ports": []map[string]any{{"name": "p", "port": s.Spec.Ports[0]}}}
			if len(s.Spec.Maps) == 0 {
				tree["sessionAffinity"] = "ClientIP"
			}
			_, err := w.services.Apply(ctx, s, map[string]any{"spec": tree})
			return err
		}
		stop := w.operate()
		w.create(nil)
		down := w.On(apitest.Match{Verb: "patch", Header: "Content-Type: application/json-patch"}, faults.Reset())
		w.change(kube.Services, `{"spec":{"ports":[{"name":"p","port":1}],"sessionAffinity":"None"}}`)
		w.has(kube.Services, "listwatch.dev/replaced")
		stop()
		down.Remove()
		defer w.operate()()
		settle()
		w.has(kube.Services, `"sessionAffinity":"ClientIP"`)
		w.change(shops, `{"spec":{"maps":["m"]}}`)
		if s := w.get(kube.Services); strings.Contains(s, `"sessionAffinity":"ClientIP"`) || strings.Contains(s, "annotations") {
			t.Errorf("the previous member, or the annotation, is left: %s", s)
		}
	})
}

// A child that is released amid a replacement is not adopted again.
func TestReplaceOfAReleasedChild(t *testing.T) {
	run(t, func(w *world) {
		defer w.operate()()
		w.create(nil)
		n := 0
		w.On(apitest.Match{Verb: "patch", Header: "Content-Type: application/json-patch"}, func(rw http.ResponseWriter, r *http.Request) {
			n++
			s := w.get(kube.Services)
			i := strings.Index(s, `"ownerReferences":[`)
			w.Put(kube.Services, s[:i]+`"ownerReferences":[]`+s[i+strings.Index(s[i:], "]")+1:])
			apitest.Continue(rw, r)
		}).Times(1)
		w.change(kube.Services, `{"spec":{"ports":[{"name":"p","port":1}]}}`)
		if s := w.get(kube.Services); n != 1 || strings.Contains(s, `"kind":"Shop"`) {
			t.Errorf("%d: it is adopted: %s", n, s)
		}
		w.has(shops, `"problem":"foreign"`)
	})
}

// A desired state that stays invalid, here because a member of an immutable object is left
// out, is not replaced again and again: the events of the replacement begin the next run.
func TestReplaceOfWhatStaysInvalid(t *testing.T) {
	run(t, func(w *world) {
		w.work = func(ctx context.Context, s shop) error {
			if w.runs.Load() > 100 {
				return nil // the clock stands still while it runs
			}
			tree := map[string]any{"immutable": true, "data": map[string]string{"a": "b", "c": "d"}}
			if s.Spec.Ports[0] == 443 {
				tree["data"] = map[string]string{"a": "b"}
			}
			_, err := w.maps.Apply(ctx, s, tree)
			return err
		}
		defer w.operate()()
		w.create(nil)
		w.writes()
		w.change(shops, `{"spec":{"ports":[443]}}`)
		replaced := 0
		for _, r := range w.Requests() {
			if r.Verb == "patch" && strings.Contains(r.Header.Get("Content-Type"), "merge-patch") && r.Resource == kube.ConfigMaps {
				replaced++
			}
		}
		if n := w.runs.Load(); n > 20 || replaced != 1 {
			t.Errorf("%d runs, %d replacements", n, replaced)
		}
	})
}

// A server that was restored counts the generations again from where the backup was: a state
// with the UID and the generation of a known one may be another one.
func TestRestoredServerCountsGenerationsAgain(t *testing.T) {
	run(t, func(w *world) {
		restore := func(backup kube.Revision) {
			for n := range 20 { // the restored server does not reach the revisions of the caches
				for _, r := range []kube.Resource{shops, budgets} {
					w.change(r, fmt.Sprintf(`{"metadata":{"annotations":{"n":"%d"}}}`, n))
				}
			}
			w.change(budgets, `{"metadata":{"annotations":null}}`)
			w.RestoreTo(backup)
			settle()
		}
		w.work = func(ctx context.Context, s shop) error {
			_, err := w.budgets.Apply(ctx, s, map[string]any{"spec": map[string]any{"minAvailable": len(s.Spec.Maps)}})
			return err
		}
		stop := w.operate()
		w.create(func(s *shop) { s.Spec.Maps = []string{"a"} })
		backup := w.Revision()
		w.change(shops, `{"spec":{"maps":["a","b"]}}`)
		w.has(budgets, `"minAvailable":2`)
		restore(backup)
		w.change(shops, `{"spec":{"maps":["a","b","c"]}}`)
		<-time.After(10 * time.Minute) // the watches notice it after minutes of silence
		w.has(budgets, `"minAvailable":3`)

		backup = w.Revision()
		w.change(budgets, `{"spec":{"minAvailable":7}}`)
		w.has(budgets, `"minAvailable":3`)
		restore(backup)
		w.change(budgets, `{"spec":{"minAvailable":8}}`)
		w.change(budgets, `{"spec":{"minAvailable":9}}`)
		<-time.After(10 * time.Minute)
		w.has(budgets, `"minAvailable":3`)
		stop()
	})
}
