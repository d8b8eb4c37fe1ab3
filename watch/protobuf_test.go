package watch_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec/protobuf"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
	"github.com/listwatch/listwatch/watch"
)

// TestProtobufIsAskedForAndGivenUp: what a server that refuses protobuf, answers in
// another form or sends garbage is asked for, request by request. The watcher follows
// in any case.
func TestProtobufIsAskedForAndGivenUp(t *testing.T) {
	notAcceptable := func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Accept"), "protobuf") {
			apitest.WriteStatus(w, &kube.Status{Code: http.StatusNotAcceptable, Reason: "NotAcceptable"})
			return
		}
		apitest.Continue(w, r)
	}
	onlyJSON := func(w http.ResponseWriter, r *http.Request) {
		_, plain, _ := strings.Cut(r.Header.Get("Accept"), ",")
		r.Header.Set("Accept", plain)
		apitest.Continue(w, r)
	}
	garbage := func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Accept"), "protobuf") {
			w.Header().Set("Content-Type", protobuf.MediaType)
			fmt.Fprint(w, `{"kind":"PartialObjectMetadataList"}`)
			return
		}
		apitest.Continue(w, r)
	}
	paged := watch.Options{Initial: watch.Paged}
	for _, c := range []struct {
		name    string
		opts    watch.Options
		handler http.HandlerFunc
		want    []string // verb, and whether protobuf was asked for
	}{
		{"it is served", paged, nil, []string{"list protobuf", "watch protobuf"}},
		{"it is streamed", watch.Options{}, nil, []string{"watch protobuf"}},
		{"406", paged, notAcceptable, []string{"list protobuf", "list json", "watch json"}},
		{"406 to a stream", watch.Options{}, notAcceptable, []string{"watch protobuf", "watch json"}},
		{"JSON", paged, onlyJSON, []string{"list protobuf", "watch protobuf"}},
		{"garbage instead of a list", paged, garbage, []string{"list protobuf", "list json", "watch json"}},
		{"garbage instead of a stream", watch.Options{}, garbage, []string{"watch protobuf", "watch json"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			playAs(t, client.EncodingAuto, apitest.Options{}, c.opts, func(t *testing.T, s *story) {
				var asked []string
				s.srv.On(apitest.Match{Resource: "configmaps"}, func(w http.ResponseWriter, r *http.Request) {
					verb, form := "list", "json"
					if r.URL.Query().Has("watch") {
						verb = "watch"
					}
					if strings.Contains(r.Header.Get("Accept"), "protobuf") {
						form = "protobuf"
					}
					asked = append(asked, verb+" "+form)
					apitest.Continue(w, r)
				})
				if c.handler != nil {
					s.srv.On(apitest.Match{Resource: "configmaps"}, c.handler)
				}
				s.start()
				s.churn("0")
				s.pass(10 * time.Second)
				s.equal()
				if len(asked) > len(c.want) {
					asked = asked[:len(c.want)]
				}
				if diff := cmp.Diff(c.want, asked); diff != "" {
					t.Errorf("asked for (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestProtobufStatus: the Status of an ERROR event, and that of a refusal, mean the same
// in protobuf.
func TestProtobufStatus(t *testing.T) {
	part := func(number int, body string) string {
		return string(binary.AppendUvarint(binary.AppendUvarint(nil, uint64(number)<<3|2), uint64(len(body)))) + body
	}
	status := "k8s\x00" + part(1, part(1, "v1")+part(2, "Status")) + part(2, part(2, "Failure")+part(3, "too old")+part(4, "Expired")+"\x30\x9a\x03")
	event := part(1, "ERROR") + part(2, part(1, status))
	event = string(binary.BigEndian.AppendUint32(nil, uint32(len(event)))) + event
	for name, answer := range map[string]http.HandlerFunc{
		"event": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", protobuf.MediaType+";stream=watch")
			fmt.Fprint(w, event)
		},
		"answer": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", protobuf.MediaType)
			w.WriteHeader(http.StatusGone)
			fmt.Fprint(w, status)
		},
	} {
		playAs(t, client.EncodingAuto, apitest.Options{}, watch.Options{}, func(t *testing.T, s *story) {
			s.srv.On(apitest.Match{Verb: "watch"}, answer)
			for _, err := range watch.Once(t.Context(), s.collection(), "1", watch.Options{}) {
				var st *kube.Status
				if !errors.Is(err, kube.ErrGone) || !errors.As(err, &st) || st.Message != "too old" {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

// TestProtobufListCutAfterItems: a list that breaks off is an error, and not garbage.
func TestProtobufListCutAfterItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewWith(t, apitest.Options{InMemory: true})
		for i := range 3 {
			srv.Put(kube.ConfigMaps, configMap(fmt.Sprint("first-", i), "0"))
		}
		c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial})
		if err != nil {
			t.Fatal(err)
		}
		srv.On(apitest.Match{Verb: "list"}, faults.Truncate(150)).Times(1)
		col := client.Of[kube.Partial](c, kube.ConfigMaps)
		for _, want := range []bool{true, false} {
			n, failed := 0, false
			for _, err := range list.New(col, list.Options{}).All(t.Context()) {
				if n++; err != nil {
					failed = true
				}
			}
			if failed != want || !failed && n != 3 {
				t.Errorf("%d objects, failed: %v, want %v", n, failed, want)
			}
		}
		c.CloseIdleConnections()
	})
}
