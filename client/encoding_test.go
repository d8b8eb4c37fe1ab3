package client_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// packed serves body compressed, cut to a fraction, to whoever asks for what; a
// client of a server on the loopback does not ask for it.
func packed(t *testing.T, code int, body string, cut int) *client.Client {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Accept-Encoding"); got != "" {
			t.Errorf("asked for %q", got)
		}
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = io.WriteString(z, body)
		_ = z.Close()
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(code)
		_, _ = w.Write(b.Bytes()[:b.Len()-cut])
	}))
	t.Cleanup(srv.Close)
	c, err := client.New(client.Config{Server: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func TestDoUnpacksWhatNobodyAskedToCompress(t *testing.T) {
	resp, err := packed(t, 200, `{"kind":"PodList"}`, 0).Do(t.Context(), &client.Request{Path: "/x"})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if string(b) != `{"kind":"PodList"}` || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if resp.Header.Get("Content-Encoding") != "" || resp.ContentLength != -1 || !resp.Uncompressed {
		t.Errorf("the answer says it is still compressed: %v, length %d, uncompressed %v", resp.Header, resp.ContentLength, resp.Uncompressed)
	}
}

func TestDoSaysThatACompressedAnswerWasCut(t *testing.T) {
	for _, cut := range []int{1, 12, 35} {
		resp, err := packed(t, 200, `{"kind":"PodList"}`, cut).Do(t.Context(), &client.Request{Path: "/x"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.ReadAll(resp.Body)
		resp.Body.Close()
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes less: %v", cut, err)
		}
	}
}

func TestDoUnpacksFailures(t *testing.T) {
	_, err := packed(t, 403, `{"kind":"Status","code":403,"reason":"Forbidden","message":"not you"}`, 0).Do(t.Context(), &client.Request{Path: "/x"})
	var st *kube.Status
	if !errors.As(err, &st) || st.Message != "not you" {
		t.Errorf("%v", err)
	}
}

func TestDoRefusesACompressionThatItDoesNotKnow(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "br")
	}))
	defer srv.Close()
	c, err := client.New(client.Config{Server: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	_, err = c.Do(t.Context(), &client.Request{Path: "/x"})
	var content *client.ContentError
	if !errors.As(err, &content) || content.ContentType != "application/json compressed as br" {
		t.Errorf("%v", err)
	}
}

// A kube.Quantity is read from JSON and from protobuf.
func TestQuantitiesAreRead(t *testing.T) {
	type pod struct {
		kube.Meta `json:"metadata"`
		Spec      struct {
			Containers []struct {
				Resources struct {
					Requests map[string]kube.Quantity `json:"requests"`
				} `json:"resources"`
			} `json:"containers"`
		} `json:"spec"`
	}
	for _, encoding := range []client.Encoding{client.EncodingAuto, client.EncodingJSON} {
		srv := apitest.NewInMemory(t)
		srv.Put(kube.Pods, `{"metadata":{"namespace":"a","name":"web"},"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"memory":"1536Mi","cpu":"100m"}}}]}}`)
		c := newClient(t, client.Config{Server: srv.URL, Dial: srv.Dial, Encoding: encoding})
		p, err := client.Of[pod](c, kube.Pods).Get(t.Context(), web)
		if err != nil {
			t.Fatal(err)
		}
		if r := p.Spec.Containers[0].Resources.Requests; fmt.Sprint(r["memory"], " ", r["cpu"]) != "1536Mi 100m" {
			t.Errorf("%q: %v", encoding, r)
		}
	}
}
