package conform

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/codec/protobuf"
)

// Protobuf returns a RoundTripper that requests protobuf where a request accepts plain
// JSON, and returns the response as JSON: with it, Run compares a server's protobuf
// with its expectations of JSON.
func Protobuf(next http.RoundTripper) http.RoundTripper { return viaProtobuf{next} }

type viaProtobuf struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (v viaProtobuf) RoundTrip(r *http.Request) (*http.Response, error) {
	resource := strings.Contains(r.URL.Path, "/namespaces") // and not a discovery document
	if accept := r.Header.Get("Accept"); resource && r.Method != http.MethodDelete && r.Header.Get("Accept-Encoding") == "" && (accept == "" || accept == "application/json") {
		r = r.Clone(r.Context())
		r.Header.Set("Accept", protobuf.MediaType+",application/json")
	}
	resp, err := v.next.RoundTrip(r)
	if err != nil || !strings.HasPrefix(resp.Header.Get("Content-Type"), protobuf.MediaType) {
		return resp, err
	}
	resp.Header.Set("Content-Type", "application/json")
	resp.Header.Del("Content-Length")
	resp.ContentLength = -1
	if r.URL.Query().Has("watch") && resp.StatusCode == http.StatusOK {
		resp.Body = events(resp.Body)
		return resp, nil
	}
	b, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err == nil {
		b, err = plain(b)
	}
	if err != nil {
		return nil, fmt.Errorf("%s in protobuf: %w", r.URL.Path, err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(append(b, '\n')))
	return resp, nil
}

// events returns the events of a watch, one per line.
func events(body io.ReadCloser) io.ReadCloser {
	r, w := io.Pipe()
	line := func(f codec.Frame) ([]byte, error) {
		b, err := protobuf.JSON(f.Object)
		return fmt.Appendf(nil, `{"type":%q,"object":%s}`+"\n", f.Type, b), err
	}
	go func() {
		for b, err := range protobuf.Frames(body, 0, line) {
			if err == nil {
				_, err = w.Write(b)
			}
			if err != nil {
				w.CloseWithError(err)
				return
			}
		}
		w.Close()
	}()
	return &both{r, body}
}

// both closes a reader and its source.
type both struct {
	*io.PipeReader
	body io.Closer
}

// Close implements io.Closer.
func (b *both) Close() error {
	b.PipeReader.Close()
	return b.body.Close()
}

// plain returns an object or a list as JSON. Items of a list have no kind.
func plain(b []byte) ([]byte, error) {
	meta, items := protobuf.Items(bytes.NewReader(b), 0)
	list := []json.RawMessage{}
	for item, err := range items {
		if err != nil {
			return protobuf.JSON(b) // not a list
		}
		text, err := protobuf.JSON(item)
		if err != nil {
			return nil, err
		}
		var o map[string]json.RawMessage
		if err := json.Unmarshal(text, &o); err != nil {
			return nil, err
		}
		delete(o, "kind")
		delete(o, "apiVersion")
		if text, err = json.Marshal(o); err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	m := map[string]any{"resourceVersion": meta.ResourceVersion}
	if meta.Continue != "" {
		m["continue"] = meta.Continue
	}
	if meta.Remaining >= 0 {
		m["remainingItemCount"] = meta.Remaining
	}
	return json.Marshal(map[string]any{"kind": meta.Kind, "apiVersion": meta.APIVersion, "metadata": m, "items": list})
}
