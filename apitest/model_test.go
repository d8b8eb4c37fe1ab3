package apitest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// Clients that list once and resume their watches after every cut end with
// what a list shows, having seen revisions only grow.
func TestFoldedWatchesEqualTheList(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			story(t, apitest.Options{Seed: seed}, func(t *testing.T, srv *apitest.Server) {
				random := rand.New(rand.NewPCG(seed, 1))
				clients := make(map[string]*folding)
				for _, q := range []string{"", "&labelSelector=l%3D1", "&labelSelector=l!%3D1", "&fieldSelector=metadata.name%3Do3"} {
					clients[q] = &folding{t: t, srv: srv, query: q, seen: 103, state: map[string]string{}}
					if q != "&labelSelector=l%3D1" && q != "&fieldSelector=metadata.name%3Do3" {
						clients[q].state = map[string]string{"x": "1", "y": "1", "z": "1"}
					}
				}
				for i := range 200 {
					name := fmt.Sprintf("o%d", random.IntN(6))
					switch random.IntN(8) {
					case 0, 1:
						srv.Delete(kube.ConfigMaps, kube.Key{Namespace: "a", Name: name})
					case 2:
						for _, c := range clients {
							c.follow(random.IntN(2) == 0)
						}
						srv.Compact(srv.Revision()) // all have come this far
					default:
						srv.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"namespace":"a","name":%q,"labels":{"l":"%d"}},"data":{"k":"%d"}}`, name, random.IntN(3), i/4))
					}
				}
				for q, c := range clients {
					c.follow(true)
					resp, err := send(t.Context(), srv, http.MethodGet, configMaps+"?"+q, "")
					if err != nil {
						t.Fatal(err)
					}
					var l struct{ Items []item }
					err = json.NewDecoder(resp.Body).Decode(&l)
					resp.Body.Close()
					if err != nil {
						t.Fatal(err)
					}
					want := map[string]string{}
					for _, o := range l.Items {
						want[o.Metadata.Name] = o.Data["k"]
					}
					if diff := cmp.Diff(want, c.state); diff != "" {
						t.Errorf("client %q (-list +watched):\n%s", q, diff)
					}
				}
			})
		})
	}
}

type item struct {
	Metadata struct{ Name, ResourceVersion string }
	Data     map[string]string
}

// folding is a client that keeps the state that its watches show.
type folding struct {
	t     *testing.T
	srv   *apitest.Server
	query string
	seen  uint64
	state map[string]string
}

// follow watches for a while and is closed, or cut.
func (f *folding) follow(closed bool) {
	end := f.srv.CloseWatches
	if !closed {
		end = f.srv.CutWatches
	}
	resp, err := send(f.t.Context(), f.srv, http.MethodGet, configMaps+"?watch=1&allowWatchBookmarks=1&resourceVersion="+strconv.FormatUint(f.seen, 10)+f.query, "")
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	f.srv.Bookmark()
	synctest.Wait()
	end()
	for dec := json.NewDecoder(resp.Body); ; {
		var e struct {
			Type   string
			Object item
		}
		if err := dec.Decode(&e); err != nil {
			if err != io.EOF && err != io.ErrUnexpectedEOF {
				f.t.Fatal(err)
			}
			return
		}
		rv, err := strconv.ParseUint(e.Object.Metadata.ResourceVersion, 10, 64)
		if err != nil || rv < f.seen || rv == f.seen && e.Type != "BOOKMARK" {
			f.t.Fatalf("%s at %d after %d (%v)", e.Type, rv, f.seen, err)
		}
		f.seen = rv
		name, value := e.Object.Metadata.Name, e.Object.Data["k"]
		old, had := f.state[name]
		switch {
		case e.Type == "ADDED" && !had, e.Type == "MODIFIED" && had:
			f.state[name] = value
		case e.Type == "DELETED" && had:
			if old != value {
				f.t.Errorf("DELETED %s carries %s, the last state was %s", name, value, old)
			}
			delete(f.state, name)
		case e.Type != "BOOKMARK":
			f.t.Fatalf("%s %s, known before: %v", e.Type, name, had)
		}
	}
}
