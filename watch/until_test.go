package watch_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

type untilMap struct {
	kube.Meta `json:"metadata"`
	Data      map[string]string `json:"data"`
}

var untilKey = kube.Key{Namespace: "a", Name: "web"}

// until runs a test of Until in virtual time.
func until(t *testing.T, f func(t *testing.T, srv *apitest.Server, maps client.Collection[untilMap])) {
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewInMemory(t)
		c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial})
		if err != nil {
			t.Fatal(err)
		}
		defer c.CloseIdleConnections()
		f(t, srv, client.Of[untilMap](c, kube.ConfigMaps))
	})
}

func TestUntilSeesEachState(t *testing.T) {
	until(t, func(t *testing.T, srv *apitest.Server, maps client.Collection[untilMap]) {
		put := func(name, n string) {
			srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"`+name+`"},"data":{"n":"`+n+`"}}`)
			time.Sleep(time.Minute)
		}
		put("other", "9")
		var acts sync.WaitGroup
		defer acts.Wait()
		acts.Go(func() {
			time.Sleep(time.Minute)
			put("web", "1")
			put("other", "8")
			srv.Delete(kube.ConfigMaps, untilKey)
			time.Sleep(time.Minute)
			srv.Cut()
			put("web", "2")
			srv.Expire()
			srv.Cut()
			put("web", "3")
		})
		var got []string
		o, err := watch.Until(t.Context(), maps.In("a"), kube.Key{Name: "web"}, func(m untilMap, exists bool) (bool, error) {
			got = append(got, fmt.Sprint(exists, " ", m.Data["n"]))
			return m.Data["n"] == "3", nil
		})
		if err != nil || o.Data["n"] != "3" {
			t.Errorf("%v, %v", o, err)
		}
		var changes []string // a listing may repeat the state
		for _, state := range got {
			if len(changes) == 0 || changes[len(changes)-1] != state {
				changes = append(changes, state)
			}
		}
		if diff := cmp.Diff([]string{"false ", "true 1", "false ", "true 2", "true 3"}, changes); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
	})
}

func TestUntilFails(t *testing.T) {
	done := errors.New("it failed")
	for name, c := range map[string]struct {
		prepare func(*apitest.Server)
		ns      string
		key     kube.Key
		done    error
		want    string
		is      error
	}{
		"done fails":        {key: untilKey, done: done, want: "wait for configmaps.v1 a/web: it failed", is: done},
		"no namespace":      {key: kube.Key{Name: "web"}, want: "wait for configmaps.v1 web: the key has no name, or no namespace although the resource is namespaced"},
		"another namespace": {key: untilKey, ns: "b", want: `wait for configmaps.v1 a/web: the collection is that of the namespace "b"`},
		"the time is over":  {key: untilKey, want: "wait for configmaps.v1 a/web: context deadline exceeded", is: context.DeadlineExceeded},
		"it is forbidden":   {key: untilKey, prepare: forbid, want: "context deadline exceeded; the last request: ", is: kube.ErrForbidden},
		"it cannot be decoded": {key: untilKey, prepare: func(srv *apitest.Server) {
			srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"web"},"data":[1]}`)
		}, want: "wait for configmaps.v1 a/web: "},
		"the resource is cluster": {key: kube.Key{}, want: "the key has no name"},
	} {
		t.Run(name, func(t *testing.T) {
			until(t, func(t *testing.T, srv *apitest.Server, maps client.Collection[untilMap]) {
				if c.prepare != nil {
					c.prepare(srv)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				_, err := watch.Until(ctx, maps.In(c.ns), c.key, func(untilMap, bool) (bool, error) { return false, c.done })
				if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
					t.Errorf("error %v, want %s", err, c.want)
				}
			})
		})
	}
}

func forbid(srv *apitest.Server) {
	srv.On(apitest.Match{}, func(w http.ResponseWriter, _ *http.Request) {
		apitest.WriteStatus(w, &kube.Status{Code: http.StatusForbidden, Reason: "Forbidden", Message: "no"})
	})
}

// A program waits until an object is ready.
func ExampleUntil() {
	srv, err := apitest.Start(apitest.Options{InMemory: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial})
	if err != nil {
		fmt.Println(err)
		return
	}
	maps := client.Of[untilMap](c, kube.ConfigMaps)
	m, err := watch.Until(context.Background(), maps, kube.Key{Namespace: "a", Name: "web"}, func(m untilMap, exists bool) (bool, error) {
		if !exists {
			srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"web"},"data":{"ready":"yes"}}`)
		}
		return m.Data["ready"] == "yes", nil
	})
	fmt.Println(m.Name, err)
	// Output: web <nil>
}
