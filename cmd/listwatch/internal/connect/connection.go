package connect

import (
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/served"
	"github.com/listwatch/listwatch/config"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/target"
)

// Flags are the flags that say which cluster and who we are, spelled as
// kubectl's.
type Flags struct {
	Opts           config.Options
	Namespaces     target.NamespaceList
	requestTimeout string
	qps            float64
	burst          int
	extra          []string
	verbosity      int

	cacheDir string
	contexts contextList
	HTTP1    bool            // use HTTP/1.1 only
	warned   map[string]bool // of several contexts: what is said of their common files; nil = one context
}

func (c *Flags) Register(f *pflag.FlagSet) {
	o := &c.Opts
	f.StringVar(&o.Path, "kubeconfig", "", "read this kubeconfig file (default $KUBECONFIG, the pod's service account, ~/.kube/config)")
	c.contexts.first = &o.Context
	f.Var(&c.contexts, "context", "use this context of the kubeconfig")
	f.StringVar(&o.Cluster, "cluster", "", "use this cluster of the kubeconfig")
	f.StringVar(&o.User, "user", "", "use this user of the kubeconfig")
	c.Namespaces.Register(f, &o.Namespace)
	f.StringVarP(&o.Server, "server", "s", "", "use the API server at this URL")
	f.StringVar(&o.Token, "token", "", "use this bearer token")
	f.StringVar(&o.Username, "username", "", "use this user name for basic authentication")
	f.StringVar(&o.Password, "password", "", "use this password for basic authentication")
	f.StringVar(&o.As, "as", "", "impersonate this user")
	f.StringArrayVar(&o.AsGroups, "as-group", nil, "impersonate this group; may be repeated")
	f.StringVar(&o.AsUID, "as-uid", "", "impersonate this UID")
	f.StringArrayVar(&c.extra, "as-user-extra", nil, "impersonate this extra, KEY=VALUE; may be repeated")
	f.StringVar(&o.CAFile, "certificate-authority", "", "read the CA of the server's certificate from this file")
	f.StringVar(&o.CertFile, "client-certificate", "", "read the client certificate from this file")
	f.StringVar(&o.KeyFile, "client-key", "", "read the key of the client certificate from this file")
	f.StringVar(&o.TLSServerName, "tls-server-name", "", "expect this name in the server's certificate")
	f.BoolVar(&o.Insecure, "insecure-skip-tls-verify", false, "accept any server certificate: anyone on the network path can read and change everything")
	f.StringVar(&o.ProxyURL, "proxy-url", "", "reach the server through this proxy, such as http://proxy:3128 or socks5://proxy:1080")
	f.BoolVar(&o.DisableCompression, "disable-compression", false, "request responses without compression")
	f.StringVar(&c.requestTimeout, "request-timeout", "0", "end a request when the server is silent for this long, such as 30s; watches have --idle-timeout (0 = 1m)")
	f.Float64Var(&c.qps, "qps", 0, "send at most this many requests per second, watches excepted (0 = no limit)")
	f.IntVar(&c.burst, "burst", 0, "send at most this many requests at once with --qps (default twice --qps)")
	f.StringVar(&c.cacheDir, "cache-dir", "", "keep the resource types of servers in files below this folder (default $KUBECACHEDIR, ~/.kube/cache)")
	f.IntVarP(&c.verbosity, "v", "v", 0, "print a line on stderr for each request, with 6 or more")
}

// Load reads the configuration and makes the client.
func (c *Flags) Load(p *cli.Program, t *messages.Writer) (*client.Client, *config.Config, error) {
	cfg, err := c.Read(p)
	if err != nil {
		return nil, nil, err
	}
	for _, w := range cfg.Warnings {
		if !c.warned[w] {
			t.Note("warning: " + w)
		}
		if c.warned != nil {
			c.warned[w] = true
		}
	}
	cl, err := c.Dial(p, cfg, t)
	return cl, cfg, err
}

// Read reads the configuration.
func (c *Flags) Read(p *cli.Program) (*config.Config, error) {
	timeout, err := parseTimeout(c.requestTimeout)
	if err != nil {
		return nil, err
	}
	switch {
	case c.qps < 0:
		return nil, exit.Usage("--qps %v is negative", c.qps)
	case c.burst < 0:
		return nil, exit.Usage("--burst %d is negative", c.burst)
	case c.verbosity < 0:
		return nil, exit.Usage("-v %d is negative", c.verbosity)
	}
	o := c.Opts
	if o.AsExtra, err = parseExtra(c.extra); err != nil {
		return nil, err
	}
	o.Stderr = p.PluginStderr()
	o.RequestTimeout, o.Env, o.Home = timeout, p.Env, p.Env("HOME")
	cfg, err := config.Load(o)
	if err != nil {
		return nil, &exit.Error{Code: exit.CodeUsage, Err: err}
	}
	p.Cfg = cfg
	cfg.Client.QPS, cfg.Client.Burst, cfg.Client.DisableHTTP2 = c.qps, c.burst, c.HTTP1
	cfg.Client.UserAgent, cfg.Client.Dial = "listwatch/"+cli.ThisBuild().Version, p.Dial
	return cfg, nil
}

// Dial makes the client. It has not connected yet.
func (c *Flags) Dial(p *cli.Program, cfg *config.Config, t *messages.Writer) (*client.Client, error) {
	cfg.Client.Warn = func(text string) { t.Note("warning: " + text) }
	if c.verbosity >= messages.RequestLevel {
		cfg.Client.Trace = messages.RequestLog(t, cfg.Client.Server)
	}
	cl, err := client.New(cfg.Client)
	if err != nil { // a message of a library
		return nil, exit.Usage("%s", strings.TrimPrefix(err.Error(), "client: "))
	}
	t.Conceal(cl.Conceal)
	p.Conceal = append(p.Conceal, cl.Conceal)
	return cl, nil
}

// Types returns what the server of cl, which is that of cfg, serves.
func (c *Flags) Types(p *cli.Program, cl *client.Client, cfg *config.Config) *served.Types {
	return served.New(cl, cfg.Client, served.Dir(c.cacheDir, p.Env))
}

// parseExtra reads KEY=VALUE; a key may occur more than once.
func parseExtra(list []string) (map[string][]string, error) {
	if len(list) == 0 {
		return nil, nil
	}
	extra := map[string][]string{}
	for _, s := range list {
		k, v, ok := strings.Cut(s, "=")
		if k = strings.ToLower(k); !ok || k == "" {
			return nil, exit.Usage("--as-user-extra %q: want KEY=VALUE", printable.Clip(s))
		}
		extra[k] = append(extra[k], v)
	}
	return extra, nil
}

// parseTimeout reads a duration, or a number of seconds as kubectl does.
func parseTimeout(s string) (time.Duration, error) {
	if n, err := strconv.Atoi(s); err == nil && n >= 0 {
		return time.Duration(n) * time.Second, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, exit.Usage("--request-timeout %q: want a duration such as 30s, or 0", printable.Clip(s))
	}
	return d, nil
}
