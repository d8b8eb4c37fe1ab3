package watch

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// FuzzFrame gives any bytes as the object of each type of event. Whatever comes of it is
// an event whose identity can be shown and whose revision can be resumed from, an object
// left out, or an error that ends the watch: of a Status, and never of nothing.
func FuzzFrame(f *testing.F) {
	for _, s := range []string{
		`{"kind":"ConfigMap","metadata":{"resourceVersion":"8"}}`,
		`{"kind":"ConfigMap","metadata":{"resourceVersion":"8","annotations":{"k8s.io/initial-events-end":"true"}}}`,
		`{"kind":"Table","metadata":{"resourceVersion":"9"},"rows":[{"object":{"metadata":{"resourceVersion":"8","annotations":{"k8s.io/initial-events-end":"true"}}}}]}`,
		`{"kind":"Pod","metadata":{"resourceVersion":"8"}}`, `{"metadata":{"annotations":{"k8s.io/initial-events-end":"true"}}}`, `{"metadata":{"resourceVersion":"\u001b[31m"}}`, `{"kind":"\u001b[31mPod","metadata":{"resourceVersion":"8"}}`,
		`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`, `{"code":429,"details":{"retryAfterSeconds":-5}}`,
		`{"code":429,"details":{"retryAfterSeconds":99999999999}}`, `{"kind":"Status","message":"\u001b]0;x\u0007","details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}}`,
		`{"metadata":{"name":"a","namespace":"d","uid":"u","resourceVersion":"7"}}`, `{"metadata":{"name":"../a"}}`, `{"metadata":{"name":5}}`, `{}`, `[]`, `null`, `{`,
	} {
		f.Add([]byte(s))
	}
	decode := map[string]func(codec.Frame) (kube.Key, kube.Revision, Type, error){
		"partial": identityOf(frameOf(client.Collection[kube.Partial]{Resource: kube.ConfigMaps}, kube.Shard{})),
		"raw":     identityOf(frameOf(client.Collection[codec.Raw]{Resource: kube.ConfigMaps}, kube.Shard{})),
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for name, decode := range decode {
			for _, typ := range []string{"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "\x1b[31m", string(b)} {
				key, rev, got, err := decode(codec.Frame{Type: typ, Object: b})
				if bad := kube.CheckIdentity(kube.Key{}, "", rev); bad != nil {
					t.Fatalf("%s %q of %q: revision %q", name, typ, b, rev)
				}
				if err == nil {
					checkFrame(t, b, key, rev, got, typ)
					continue
				}
				if st := (*kube.Status)(nil); errors.As(err, &st) && (st.RetryAfter < 0 || st.RetryAfter > maxRetryAfter) {
					t.Fatalf("%s %q of %q: RetryAfter %v", name, typ, b, st.RetryAfter)
				}
				known := slices.Contains([]Type{Added, Modified, Deleted, Bookmark}, Type(typ))
				if codec.IsItem(err) != known || known && string(got) != typ {
					t.Fatalf("%s %q of %q: %q, %v", name, typ, b, got, err)
				}
				if strings.ContainsAny(err.Error(), "\x1b\x07\n\r") {
					t.Fatalf("%s %q of %q: %q could control a terminal", name, typ, b, err)
				}
			}
		}
	})
}

// checkFrame checks an event that was made of b without an error.
func checkFrame(t *testing.T, b []byte, key kube.Key, rev kube.Revision, got Type, sent string) {
	t.Helper()
	if !json.Valid(b) {
		t.Fatalf("%s of %q, which is not JSON", got, b)
	}
	if bad := kube.CheckIdentity(key, "", rev); bad != nil {
		t.Fatalf("%s of %q: %v", got, b, bad)
	}
	switch {
	case got == Synced && (sent != "BOOKMARK" || rev == ""), got != Synced && string(got) != sent:
		t.Fatalf("%s at %q of %s %q", got, rev, sent, b)
	}
}

func identityOf[T kube.Object](decode func(codec.Frame) (Event[T], error)) func(codec.Frame) (kube.Key, kube.Revision, Type, error) {
	return func(f codec.Frame) (kube.Key, kube.Revision, Type, error) {
		ev, err := decode(f)
		return ev.Key, ev.Revision, ev.Type, err
	}
}
