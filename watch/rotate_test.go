package watch_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// A mount is a directory as kubelet mounts a secret: the files are links to ..data,
// a link itself, that is swapped.
type mount struct {
	t     *testing.T
	dir   string
	n     int
	token string
}

func (m *mount) path(name string) string { return filepath.Join(m.dir, "..data", name) }

func (m *mount) put(files map[string][]byte) {
	m.t.Helper()
	check := func(err error) {
		m.t.Helper()
		if err != nil {
			m.t.Fatal(err)
		}
	}
	m.n++
	version := fmt.Sprint("..", m.n)
	check(os.Mkdir(filepath.Join(m.dir, version), 0o700))
	for name, b := range files {
		check(os.WriteFile(filepath.Join(m.dir, version, name), b, 0o600))
	}
	check(os.Symlink(version, filepath.Join(m.dir, "..new")))
	check(os.Rename(filepath.Join(m.dir, "..new"), filepath.Join(m.dir, "..data")))
}

// source gives what was put into it last.
type source struct {
	now atomic.Pointer[client.Credential]
}

func (s *source) Credential(context.Context, *client.Credential) (*client.Credential, error) {
	return s.now.Load(), nil
}

func (s *source) put(t *testing.T, srv *apitest.Server) {
	t.Helper()
	pair, err := tls.X509KeyPair(srv.ClientCertPEM())
	if err != nil {
		t.Fatal(err)
	}
	s.now.Store(&client.Credential{Certificate: &pair})
}

// rotation is a way to be known to a server, that changes.
type rotation struct {
	name    string
	options apitest.Options
	config  func(m *mount, src *source) client.Config
	rotate  func(srv *apitest.Server)                                      // what was valid is so no more
	follow  func(t *testing.T, m *mount, src *source, srv *apitest.Server) // the client's side
}

var rotations = []rotation{
	{
		"token file", apitest.Options{Token: "one"},
		func(m *mount, _ *source) client.Config {
			return client.Config{TokenFile: m.path("token"), TLS: client.TLS{CAFile: m.path("ca")}}
		},
		func(srv *apitest.Server) { srv.SetToken("two") },
		func(t *testing.T, m *mount, src *source, srv *apitest.Server) {
			m.token = "two"
			putFiles(t, m, src, srv)
		},
	},
	{
		"client certificate", apitest.Options{ClientCerts: true},
		func(m *mount, _ *source) client.Config {
			return client.Config{TLS: client.TLS{CAFile: m.path("ca"), CertFile: m.path("cert"), KeyFile: m.path("key")}}
		},
		(*apitest.Server).RotateClient,
		putFiles,
	},
	{
		"CA and certificate of the server", apitest.Options{Token: "one"},
		func(m *mount, _ *source) client.Config {
			return client.Config{TokenFile: m.path("token"), TLS: client.TLS{CAFile: m.path("ca")}}
		},
		(*apitest.Server).RotateCA,
		putFiles,
	},
	{
		"CA and all certificates", apitest.Options{ClientCerts: true},
		func(m *mount, _ *source) client.Config {
			return client.Config{TLS: client.TLS{CAFile: m.path("ca"), CertFile: m.path("cert"), KeyFile: m.path("key")}}
		},
		(*apitest.Server).RotateCA,
		putFiles,
	},
	{
		"credential of a source", apitest.Options{ClientCerts: true},
		func(m *mount, src *source) client.Config {
			return client.Config{Credentials: src, TLS: client.TLS{CAFile: m.path("ca")}}
		},
		(*apitest.Server).RotateClient,
		func(t *testing.T, _ *mount, src *source, srv *apitest.Server) { src.put(t, srv) },
	},
}

func putFiles(t *testing.T, m *mount, _ *source, srv *apitest.Server) {
	t.Helper()
	cert, key := srv.ClientCertPEM()
	m.put(map[string][]byte{"ca": srv.CAPEM(), "cert": cert, "key": key, "token": []byte(m.token)})
}

// TestRotationInMidWatchLosesNoEvent: whatever rotates, the client at once or later,
// and the connections cut or the watches ended in good order, so that the next request
// comes over the old connection: each write is delivered once, and nothing is listed again.
func TestRotationInMidWatchLosesNoEvent(t *testing.T) {
	for _, r := range rotations {
		for _, cut := range []bool{false, true} {
			for _, late := range []time.Duration{0, 10 * time.Second} {
				for _, plain := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s/cut=%t/late=%v/plain=%t", r.name, cut, late, plain), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) { r.play(t, cut, late, plain) })
					})
				}
			}
		}
	}
}

func (r rotation) play(t *testing.T, cut bool, late time.Duration, plain bool) {
	o := r.options
	o.InMemory, o.TLS = true, true
	srv := apitest.NewWith(t, o)
	srv.Put(kube.ConfigMaps, configMap("first", "0"))
	m, src := &mount{t: t, dir: t.TempDir(), token: o.Token}, new(source)
	putFiles(t, m, src, srv)
	src.put(t, srv)
	cfg := r.config(m, src)
	cfg.Server, cfg.Dial, cfg.DisableHTTP2 = srv.URL, srv.Dial, plain
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()

	var delivered []kube.Revision
	var errs []string
	restarts := 0
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w := watch.New(client.Of[kube.Partial](c, kube.ConfigMaps), watch.Options{})
		for ev, err := range w.Events(ctx) {
			if err != nil {
				errs = append(errs, fmt.Sprint(time.Now().Format("04:05.000"), " ", err))
			}
			switch ev.Type {
			case watch.Restart:
				restarts++
			case watch.Added, watch.Modified, watch.Deleted:
				delivered = append(delivered, ev.Revision)
			}
		}
	}()
	synctest.Wait()

	// A write every second, of which some fall on the moments of the rotation.
	_, first := srv.List(kube.ConfigMaps)
	want := []kube.Revision{first}
	for second := range 90 {
		name := fmt.Sprint("w-", second%7)
		want = append(want, srv.Put(kube.ConfigMaps, configMap(name, fmt.Sprint(second))))
		switch at := time.Duration(second) * time.Second; at {
		case 30 * time.Second:
			r.rotate(srv)
			if late == 0 {
				r.follow(t, m, src, srv)
			}
			if cut {
				srv.Cut()
			} else {
				srv.CloseWatches()
			}
		case 30*time.Second + late:
			r.follow(t, m, src, srv)
		}
		<-time.After(time.Second)
	}
	<-time.After(time.Minute)
	cancel()
	<-ended
	if diff := cmp.Diff(want, delivered); diff != "" {
		t.Errorf("revisions (-written +got):\n%s\nerrors: %q", diff, errs)
	}
	if restarts != 1 {
		t.Errorf("the collection was delivered %d times", restarts)
	}
	codes := make(map[int]int)
	for _, q := range srv.Requests() {
		if q.Verb == "watch" {
			codes[q.Code]++
		} else if q.Query.Get("limit") != "1" { // a probe
			t.Errorf("%s %s?%s", q.Verb, q.Path, q.Query.Encode())
		}
	}
	if codes[200] != 2 {
		t.Errorf("answers by code: %v, want 2 watches", codes)
	}
}
