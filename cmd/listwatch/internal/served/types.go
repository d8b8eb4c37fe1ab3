package served

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/discovery"
	"github.com/listwatch/listwatch/internal/disk"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/wait"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
)

// TTL is how long what is on disk is used without a request.
const TTL = 10 * time.Minute

const maxCA = 1 << 20 // bytes of a file of authorities

// Types are what one server serves.
type Types struct {
	client *client.Client
	path   string // of the file; empty = there is none

	mu    sync.Mutex // held during requests: one process asks once at a time
	read  bool
	known discovery.Known
	at    time.Time // when the server described known
}

// New returns what the server of c serves. Its file is below dir, the folder that kubectl
// calls --cache-dir; empty = no file. There is no file either for a server whose
// certificate is not verified: it may be another one each time.
func New(c *client.Client, cfg client.Config, dir string) *Types {
	t := &Types{client: c}
	if u, err := url.Parse(c.Server()); err != nil || dir == "" || u.Scheme != "https" || cfg.TLS.Insecure {
		return t
	}
	// Clusters on one machine take the same address one after another, and each has its
	// own authority.
	ca := cfg.TLS.CAData
	if cfg.TLS.CAFile != "" {
		ca, _ = disk.ReadFile(cfg.TLS.CAFile, maxCA) // the client has read it
	}
	h := sha256.New()
	for _, part := range []string{c.Server(), cfg.TLS.ServerName, string(ca)} {
		sum := sha256.Sum256([]byte(part))
		h.Write(sum[:])
	}
	t.path = filepath.Join(dir, "listwatch", "discovery", hex.EncodeToString(h.Sum(nil)[:16]))
	return t
}

// Fetch asks the server what it serves. It sends only what has changed.
func (t *Types) Fetch(ctx context.Context) (*discovery.API, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.load()
	old := t.known
	api, err := t.known.Fetch(ctx, t.client)
	if err != nil {
		t.known = old
		return nil, err
	}
	t.at = time.Now()
	t.save(old)
	return api, nil
}

// A server lists a type some seconds after its definition is created.
const (
	newFor   = time.Minute // definitions of this age may be not served yet
	patience = 10 * time.Second
	again    = 250 * time.Millisecond
)

// Now calls use with what the server serves, as it says now. If use does not find a type
// and the type of a new definition is not served yet, it asks again for some seconds.
func (t *Types) Now(ctx context.Context, use func(*discovery.API) error) error {
	for began := time.Now(); ; {
		api, err := t.Fetch(ctx)
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return exit.Failed(err)
		}
		err = use(api)
		var unknown *discovery.UnknownError
		if !errors.As(err, &unknown) || time.Since(began) >= patience || !t.coming(ctx, api) {
			return err
		}
		if stopped := wait.For(ctx, again); stopped != nil {
			return exit.Failed(stopped)
		}
	}
}

// coming reports whether a definition is new and its type is not in api.
func (t *Types) coming(ctx context.Context, api *discovery.API) bool {
	have := map[string]bool{}
	for r := range api.All() {
		have[r.GroupResource()] = true
	}
	for d, err := range list.New(client.Of[kube.Partial](t.client, kube.CustomResourceDefinitions), list.Options{}).All(ctx) {
		if err != nil {
			return false
		}
		if !have[d.Name] && d.DeletionTimestamp == nil && time.Since(d.CreationTimestamp) < newFor {
			return true
		}
	}
	return false
}

// Known calls use with what the server served in the last minutes, see [TTL]. Where that
// is not known, or use fails with it, it is Now: no error is due to what was known.
func (t *Types) Known(ctx context.Context, use func(*discovery.API) error) error {
	if api := t.recent(); api != nil && use(api) == nil {
		return nil
	}
	return t.Now(ctx, use)
}

// recent returns what is known, if that is of the last minutes and in whole.
func (t *Types) recent() *discovery.API {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.load()
	if age := time.Since(t.at); age < 0 || age >= TTL {
		return nil
	}
	api, err := t.known.API()
	if err != nil || len(api.Broken()) > 0 {
		return nil
	}
	return api
}

// load reads the file once. A damaged one is none.
func (t *Types) load() {
	if t.read || t.path == "" {
		return
	}
	t.read = true
	t.known, t.at, _ = readFile(t.path)
}

// save writes the file, or where nothing has changed only its time. A file that cannot be
// written costs the next command its requests, and nothing else.
func (t *Types) save(old discovery.Known) {
	if t.path == "" || t.known.Core.ETag == "" || t.known.Groups.ETag == "" {
		return
	}
	if t.known.Core.ETag == old.Core.ETag && t.known.Groups.ETag == old.Groups.ETag && confirm(t.path, t.at) == nil {
		return
	}
	_ = writeFile(t.path, &t.known, t.at)
}

// Dir returns the folder of files that flag and the environment name, as kubectl does.
func Dir(flag string, env func(string) string) string {
	switch home := env("HOME"); {
	case flag != "":
		return flag
	case env("KUBECACHEDIR") != "":
		return env("KUBECACHEDIR")
	case home != "":
		return filepath.Join(home, ".kube", "cache")
	}
	return ""
}

var errDamaged = errors.New("damaged")

// line reports whether s may stand in a line of the file.
func line(s string) bool { return len(s) <= maxLine/4 && !strings.ContainsAny(s, "\r\n") }
