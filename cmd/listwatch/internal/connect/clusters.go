package connect

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/served"
	"github.com/listwatch/listwatch/config"
	"github.com/listwatch/listwatch/internal/exit"
)

// contextList is the value of --context: several by commas, or by giving the flag again,
// where that is allowed.
type contextList struct {
	names []string
	first *string
	many  bool
}

func (l *contextList) String() string { return strings.Join(l.names, ",") }
func (l *contextList) Type() string   { return "string" }

// Set adds the names in s; where one is allowed, s is the name.
func (l *contextList) Set(s string) error {
	if !l.many {
		l.names, *l.first = []string{s}, s
		return nil
	}
	for name := range strings.SplitSeq(s, ",") {
		if name = strings.TrimSpace(name); name == "" && s != "" {
			return errors.New("a name is missing beside a comma")
		}
		if !slices.Contains(l.names, name) {
			l.names = append(l.names, name)
		}
	}
	*l.first = l.names[0]
	return nil
}

// AllowClusters lets f's --context name several.
func (c *Flags) AllowClusters(f *pflag.FlagSet) {
	c.contexts.many = true
	f.Lookup("context").Usage = "use this context of the kubeconfig, or several: a,b; may be repeated; clusters are read together"
}

// Cluster is one of the clusters of a run.
type Cluster struct {
	Name   string // the context; empty where there is one cluster
	Client *client.Client
	Config *config.Config
	Types  *served.Types
	UID    string // of a run with a checkpoint: it identifies the cluster
}

// LoadAll is Load for each context. The caller closes the clients' connections.
func (c *Flags) LoadAll(p *cli.Program, t *messages.Writer) ([]Cluster, error) {
	if len(c.contexts.names) < 2 {
		cl, cfg, err := c.Load(p, t)
		if err != nil {
			return nil, err
		}
		return []Cluster{{Client: cl, Config: cfg, Types: c.Types(p, cl, cfg)}}, nil
	}
	o := &c.Opts
	if o.Server != "" || o.Cluster != "" || o.User != "" {
		return nil, exit.Usage("--context names several clusters, and --server, --cluster and --user are of one: give one context, or none of these")
	}
	var all []Cluster
	c.warned = map[string]bool{}
	for _, name := range c.contexts.names {
		one := *c
		one.Opts.Context = name
		cl, cfg, err := one.Load(p, t)
		if err != nil {
			return nil, err
		}
		all = append(all, Cluster{Name: name, Client: cl, Config: cfg, Types: c.Types(p, cl, cfg)})
	}
	return all, nil
}
