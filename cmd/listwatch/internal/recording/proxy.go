package recording

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/complete"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/listen"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/guard"
	"github.com/listwatch/listwatch/internal/printable"
)

// unixPrefix marks the path of a socket, where there could be an address.
const unixPrefix = "unix:"

// proxyFlags are the flags of record proxy.
type proxyFlags struct {
	recording       fileFlags
	address         string // the argument
	readOnly        bool
	allowProxyPaths bool
	acceptHosts     []string
}

const proxyLong = `Record the traffic of another client in a file, byte by byte, until stopped.
The program serves the API at a loopback address and port (0 = a free port), or at a
Unix socket, given as unix:PATH, and prints the URL for the client. "listwatch replay"
plays the recording.

The program replaces the credentials and the impersonation of each request by its own,
those of --as included. So anyone who can reach the address has the permissions of this
program: use a Unix socket, which only its owner can open, or --read-only. Requests of
web pages, exec, attach, port-forward and proxy paths are refused.`

func proxyCommand(p *cli.Program) *cobra.Command {
	o := &proxyFlags{}
	cmd := &cobra.Command{
		Use:   "proxy ADDRESS --file FILE",
		Short: "Record the traffic of another client",
		Long:  proxyLong,
		Example: `  listwatch record proxy 127.0.0.1:8001 --file kubectl.lwrec.ndjson
  listwatch record proxy unix:/tmp/api.sock --file curl.lwrec.ndjson --read-only`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usage("give one address to serve at, such as 127.0.0.1:0 or unix:/tmp/api.sock: what is recorded is up to the client")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runProxy(p, cmd, args[0], o) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.recording.registerFile(f)
	f.BoolVar(&o.readOnly, "read-only", false, "refuse all requests but GET and HEAD")
	f.BoolVar(&o.allowProxyPaths, "allow-proxy-paths", false, "forward requests to the proxy paths of pods, services and nodes")
	f.StringSliceVar(&o.acceptHosts, "accept-host", nil, "accept requests that name this host, besides those of the loopback")
	o.recording.registerRest(f)
	complete.Objects(p, cmd, &o.recording.connection)
	cmd.ValidArgsFunction = cobra.NoFileCompletions // of its flags only
	return cmd
}

func runProxy(p *cli.Program, cmd *cobra.Command, address string, o *proxyFlags) error {
	o.address = address
	if err := o.recording.check(cmd); err != nil {
		return err
	}
	network, at, err := o.at()
	if err != nil {
		return err
	}
	t := messages.New(p.Stderr, o.recording.logFormat, o.recording.quiet)
	defer t.Summary()
	ctx, release := o.recording.end(cmd.Context())
	defer release()
	o.recording.connection.HTTP1 = true // over HTTP/2 the answers that nobody reads would wait in our memory
	c, _, err := o.recording.connection.Load(p, t)
	if err != nil {
		return err
	}
	defer c.CloseIdleConnections()
	r, err := o.recording.recorder(ctx, c, t)
	if err != nil {
		return err
	}
	r.proxied = true
	return r.close(r.proxy(p, ctx, o, network, at))
}

// at returns where the API is served: the network, and the address in it.
func (o *proxyFlags) at() (network, address string, err error) {
	if path, ok := strings.CutPrefix(o.address, unixPrefix); ok {
		if path == "" {
			return "", "", exit.Usage("address %s: want the path of a socket, such as unix:/tmp/api.sock", o.address)
		}
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return "", "", exit.Usage("address %s: the file exists: remove it, or give another name", printable.Clip(o.address))
		}
		return "unix", path, nil
	}
	address, open, err := listen.Address("address", o.address)
	if err == nil && open {
		err = exit.Usage("address %s: whoever reaches it has the permissions of this program: give a loopback address", printable.Clip(o.address))
	}
	return "tcp", address, err
}

// proxyConnections is how many connections record proxy has open at once. Each may hold
// some megabytes, until the recorder knows whether they are of a Secret.
const proxyConnections = 150

// proxy serves the API at address, and records what is requested there.
func (r *recorder) proxy(p *cli.Program, ctx context.Context, o *proxyFlags, network, address string) error {
	upstream, err := url.Parse(r.client.Server())
	if err != nil {
		return exit.Failed(err) // the client has checked it
	}
	l, err := listenAt(network, address)
	if err != nil {
		r.denied.Store(true)
		return listen.Error("address", o.address, err)
	}
	h := guard.Prompt(o.restrict(r.out.Proxy(upstream, r.client.RoundTripper())))
	stop := listen.Serve(ctx, l, h, o.acceptHosts, proxyConnections)
	at, try := "http://"+l.Addr().String(), "kubectl -s http://"+l.Addr().String()+" get pods -w"
	if network == "unix" {
		at, try = o.address, "curl --unix-socket "+address+" http://localhost/api/v1/pods"
	}
	r.talk.Info("record", "recording the requests to "+at+" in "+r.flags.file+"; try "+try, "recording", "file", r.flags.file, "url", at)
	if err = p.Put(at + "\n"); err == nil {
		err = r.untilFull(ctx)
	}
	if e := stop(); err == nil && e != nil {
		err = exit.Failed(e)
	}
	return err
}

// listenAt opens a listener. A socket in the file system is for its owner only.
func listenAt(network, address string) (net.Listener, error) {
	if network != "unix" {
		return net.Listen(network, address)
	}
	// It gets its mode where nobody else can reach it.
	dir, err := os.MkdirTemp(filepath.Dir(address), ".lw")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	err = os.Chmod(filepath.Join(dir, "s"), 0o600)
	if err == nil {
		err = os.Rename(filepath.Join(dir, "s"), address)
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return &socket{l, address}, nil
}

// socket is removed from the file system when it is closed.
type socket struct {
	net.Listener
	path string
}

// Close implements net.Listener.
func (s *socket) Close() error {
	err := s.Listener.Close()
	os.Remove(s.path) // the next run says so if it is still there
	return err
}

// untilFull waits for ctx, or for a recording that can take no more.
func (r *recorder) untilFull(ctx context.Context) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := r.tick(); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// restrict refuses what reaches further than the API, and with --read-only all that
// may change something.
func (o *proxyFlags) restrict(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		why := ""
		switch subresource, ok := reaches(r.URL); {
		case !ok:
			why = "the recording proxy refuses this path: it has an empty, dotted or escaped segment"
		case subresource == "proxy" && !o.allowProxyPaths:
			why = "the recording proxy refuses proxy paths, by which web pages inside the cluster are reached: allow them by --allow-proxy-paths"
		case subresource != "" && subresource != "proxy":
			why = "the recording proxy refuses " + subresource + ": it cannot record what is no HTTP"
		case o.readOnly && r.Method != http.MethodGet && r.Method != http.MethodHead:
			why = "the recording proxy is read-only: it refuses " + r.Method
		}
		if why != "" {
			http.Error(w, why, http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// reaches returns the subresource at u by which a client gets beyond the API, empty for
// what stays within; and false for a path that the server could read in another way.
// See https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-uris.
func reaches(u *url.URL) (subresource string, ok bool) {
	escaped := strings.Split(strings.TrimPrefix(u.EscapedPath(), "/"), "/")
	var path []string
	for i, s := range escaped {
		s, err := url.PathUnescape(s)
		if err != nil || s == "." || s == ".." || strings.ContainsAny(s, "/\\") || s == "" && i < len(escaped)-1 {
			return "", false
		}
		path = append(path, s)
	}
	switch { // the version comes second, the group before it
	case path[0] == "api" && len(path) > 2:
		path = path[2:]
	case path[0] == "apis" && len(path) > 3:
		path = path[3:]
	default:
		return "", true
	}
	if path[0] == "proxy" { // as it was before Kubernetes 1.10
		return "proxy", true
	}
	beyond := []string{"exec", "attach", "portforward", "proxy"}
	for _, i := range []int{2, 4} { // TYPE/NAME/SUB, and that in a namespace
		if len(path) > i && slices.Contains(beyond, path[i]) {
			return path[i], true
		}
	}
	return "", true
}
