package sink_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/sinktest"
)

// TestVerifyCountsUnreadableObjects has an object whose name no table may hold: there it is
// quarantined, under a clean name, which is no difference. One that the table lacks is. One
// without a UID is in no table.
func TestVerifyCountsUnreadableObjects(t *testing.T) {
	perform(t, func(t *testing.T, p *play) {
		p.Put("bad", "web", "1")
		p.Put("good", "web", "1")
		p.Server.On(apitest.Match{Verb: "list"}, func(w http.ResponseWriter, r *http.Request) {
			objects, rev := p.Server.List(sinktest.Resource)
			var items []string
			for _, o := range objects {
				items = append(items, strings.Replace(string(o), `"name":"bad`, `"name":"bad\u0007`, 1))
				items = append(items, `{"metadata":{"namespace":"default","name":"nobody"}}`)
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":%q},"items":[%s]}`, rev, strings.Join(items, ","))
		})
		p.start(nil)
		p.pass(time.Minute)
		c, err := p.Client()
		if err != nil {
			t.Fatal(err)
		}
		defer c.CloseIdleConnections()
		verify := func(what string, quarantined int, want ...string) {
			t.Helper()
			v, err := sink.Verify(t.Context(), sink.Options{Client: c, Scope: sink.Scope{Cluster: "c", Resource: sinktest.Resource}}, p.db, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range v.Differences {
				got = append(got, d.Key.Name+": "+d.Problem)
			}
			if diff := cmp.Diff(want, got); diff != "" || v.Quarantined != quarantined || v.Objects != 3+len(want) {
				t.Errorf("%s: %d objects, %d quarantined; differences (-want +got):\n%s", what, v.Objects, v.Quarantined, diff)
			}
		}
		verify("as the Runner left it", 2)
		p.stop()
		<-p.ended
		p.Put("bad-later", "web", "1")
		verify("while no Runner runs", 3, "bad\uFFFD-later\uFFFD: missing in the table")
	})
}

// TestVerifyOfAnIdleTypeDoesNotWait: what other types move is the revision of the list, which
// the position of an idle type reaches by the next bookmark only.
func TestVerifyOfAnIdleTypeDoesNotWait(t *testing.T) {
	perform(t, func(t *testing.T, p *play) {
		p.Put("a", "web", "1")
		p.start(nil)
		p.pass(time.Minute)
		p.stop()
		<-p.ended
		p.Server.Tick()
		c, err := p.Client()
		if err != nil {
			t.Fatal(err)
		}
		defer c.CloseIdleConnections()
		began := time.Now()
		v, err := sink.Verify(t.Context(), sink.Options{Client: c, Scope: sink.Scope{Cluster: "c", Resource: sinktest.Resource}}, p.db, time.Minute)
		if waited := time.Since(began); err != nil || waited > 0 || v.Behind || v.Objects != 1 || !v.Revision.Newer(v.Position) {
			t.Errorf("after %v: %+v, %v", waited, v, err)
		}
		p.Put("b", "web", "1")
		if v, err = sink.Verify(t.Context(), sink.Options{Client: c, Scope: sink.Scope{Cluster: "c", Resource: sinktest.Resource}}, p.db, time.Minute); err != nil || len(v.Differences) != 1 || !v.Behind {
			t.Errorf("while no Runner runs: %+v, %v", v, err)
		}
	})
}

// twin is a table with the row of one object in the place of another's, as a second shard has it.
type twin struct {
	sink.Reader
	name, instead string
}

func (r twin) Rows(ctx context.Context, cluster string, of kube.Resource) iter.Seq2[sink.Row, error] {
	return func(yield func(sink.Row, error) bool) {
		for row, err := range r.Reader.Rows(ctx, cluster, of) {
			if row.Name == r.instead {
				continue
			}
			if !yield(row, err) || row.Name == r.name && !yield(row, err) {
				return
			}
		}
	}
}

// TestVerifyCountsObjectsAndNotRows: two rows of one object do not hide that another has none.
func TestVerifyCountsObjectsAndNotRows(t *testing.T) {
	perform(t, func(t *testing.T, p *play) {
		p.Put("a", "web", "1")
		p.Put("b", "web", "1")
		p.start(nil)
		p.stop()
		<-p.ended
		v := p.verify(twin{p.db, "a", "b"}, 0)
		var got []string
		for _, d := range v.Differences {
			got = append(got, d.Key.Name+": "+d.Problem)
		}
		if diff := cmp.Diff([]string{"a: twice in the table, in two shards", "b: missing in the table"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestVerifyFindsThatTheServerWasRestored to a state before that of all rows.
func TestVerifyFindsThatTheServerWasRestored(t *testing.T) {
	perform(t, func(t *testing.T, p *play) {
		for _, round := range []string{"1", "2"} {
			for i := range 5 {
				p.Put(fmt.Sprint("n-", i), "web", round)
			}
		}
		p.start(nil)
		p.stop()
		<-p.ended
		at := p.verify(p.db, 0).Position
		p.Restore(5)
		if v := p.verify(p.db, 0); v.Ahead != at || len(v.Differences) != 5 || v.Objects != 5 {
			t.Errorf("%+v, want 5 differences, and that the server is behind %s", v, at)
		}
		go func() { // the first answers are those of a replica that lags
			time.Sleep(10 * time.Second)
			for i := range 5 {
				p.Put(fmt.Sprint("n-", i), "web", "2")
			}
		}()
		if v := p.verify(p.db, time.Minute); v.Ahead != "" || len(v.Differences) != 0 {
			t.Errorf("%+v, want no difference", v)
		}
	})
}

func (p *play) verify(from sink.Reader, wait time.Duration) sink.Verification {
	p.t.Helper()
	c, err := p.Client()
	if err != nil {
		p.t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	v, err := sink.Verify(p.t.Context(), sink.Options{Client: c, Scope: sink.Scope{Cluster: "c", Resource: sinktest.Resource}}, from, wait)
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}
