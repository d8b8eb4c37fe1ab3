package replay_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/replay"
	"github.com/listwatch/listwatch/watch"
)

// What a watcher sees is recorded, and delivered again without a server.
func Example() {
	srv, err := apitest.Start(apitest.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"b"}}`)
	c, err := client.New(client.Config{Server: srv.URL})
	if err != nil {
		fmt.Println(err)
		return
	}

	var file bytes.Buffer // or replay.Create("maps.lwrec.ndjson.gz", ...)
	w, err := replay.NewWriter(&file, replay.Header{}, replay.Options{Gzip: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	stream := w.Stream(replay.Target{Resource: kube.ConfigMaps})
	watcher := watch.New(client.Of[codec.RawFull](c, kube.ConfigMaps), watch.Options{Trace: stream.Trace(watch.Trace{})})
	for ev, err := range replay.Record(stream, watcher.Events(context.Background())) {
		if err != nil {
			fmt.Println(err)
		}
		if ev.Type == watch.Synced {
			srv.Delete(kube.ConfigMaps, kube.Key{Namespace: "a", Name: "b"})
		}
		if ev.Type == watch.Deleted {
			break
		}
	}
	if err := w.Close(); err != nil {
		fmt.Println(err)
	}

	rec, err := replay.Load(&file, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	src, err := replay.NewSource[kube.Partial](rec, 0, replay.SourceOptions{Pace: replay.Pace{Fast: true}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for ev, err := range src.Events(context.Background()) {
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%s %q\n", ev.Type, ev.Object.Name)
	}
	// Output:
	// RESTART ""
	// ADDED "b"
	// SYNCED ""
	// DELETED "b"
	// the recording ends here
}

// A script answers a client as the server once did.
func ExampleNewScript() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind":"Secret","metadata":{"name":"s"},"data":{"password":"aHVudGVyMg=="}}`)
	}))
	var file bytes.Buffer
	w, err := replay.NewWriter(&file, replay.Header{}, replay.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	get := func(url string, t http.RoundTripper) string {
		resp, err := (&http.Client{Transport: t}).Get(url + "/api/v1/namespaces/a/secrets/s")
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			return err.Error()
		}
		return string(b)
	}
	fmt.Println(get(server.URL, w.Transport(nil)))
	server.Close()
	if err := w.Close(); err != nil {
		fmt.Println(err)
	}

	rec, err := replay.Load(&file, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	again := httptest.NewServer(replay.NewScript(rec, replay.ScriptOptions{}))
	defer again.Close()
	fmt.Println(get(again.URL, nil))
	// Output:
	// {"kind":"Secret","metadata":{"name":"s"},"data":{"password":"aHVudGVyMg=="}}
	// {"kind":"Secret","metadata":{"name":"s"},"data":{"password":"REDACTEDRE=="}}
}
