package plugin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/listwatch/listwatch/client"
)

// Options are what a kubeconfig says of a plugin, and where it is run. They hold
// secrets: their String shows From and Command only.
type Options struct {
	// APIVersion is client.authentication.k8s.io/v1 or /v1beta1. The command is
	// told it, and must answer in it.
	APIVersion string

	// Command is a path, or a name that is looked up in PATH. A path must not be
	// relative to the kubeconfig any more.
	Command string
	Args    []string
	// Env are entries NAME=value. They outweigh the environment of the process,
	// which the command gets too.
	Env []string

	// InstallHint is shown where the command is not found.
	InstallHint string

	// Interactive says whether the command gets Stdin: "Never"; "IfAvailable", if
	// Stdin is a terminal; "Always", so that it is an error if it is none. Empty
	// means IfAvailable in v1beta1; v1 demands it.
	Interactive string

	// Cluster is told to the command; nil = it is not (provideClusterInfo).
	Cluster *Cluster

	// From says where this stands, for errors: user "dev" in /home/me/.kube/config.
	From string

	// Timeout is how long the command may take; then it is killed. Default: 1
	// minute, and 10 where Stdin is a terminal, whose owner may be logging in, be
	// it in a browser.
	Timeout time.Duration

	Stdin  *os.File  // nil = os.Stdin
	Stderr io.Writer // of the command, as it comes; nil = os.Stderr
}

// Cluster is what a command is told of the cluster.
type Cluster struct {
	Server             string
	TLSServerName      string
	Insecure           bool
	CAData             []byte // PEM
	ProxyURL           string
	DisableCompression bool
	// Config is that of the extension client.authentication.k8s.io/exec of the
	// cluster's entry, as JSON; empty = none.
	Config json.RawMessage
}

// The versions of ExecCredential.
const (
	v1      = "client.authentication.k8s.io/v1"
	v1beta1 = "client.authentication.k8s.io/v1beta1"
)

// The interactive modes.
const (
	never       = "Never"
	ifAvailable = "IfAvailable"
	always      = "Always"
)

// Plugin is a client.Source. It is safe for concurrent use.
type Plugin struct {
	o   *Options                              // a pointer: %v of a copy shows an address
	run func(context.Context) (answer, error) // one run

	mu     sync.Mutex
	held   answer    // without a credential at first
	due    time.Time // when held is to be replaced; zero = never
	flight *flight   // the run in progress
	err    error     // of the last run
	late   error     // that held had expired when it was printed; nil = it had not
	ended  time.Time // the last run
	next   time.Time // no run before
	row    int       // runs, one soon after the other, that failed or that a 401 caused
}

// New checks o. It starts nothing and looks for no command: that is done when a
// credential is asked for.
func New(o Options) (*Plugin, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", cmp.Or(o.From, "credential plugin"), err)
	}
	if o.Interactive == "" {
		o.Interactive = ifAvailable
	}
	return &Plugin{o: &o, run: o.run}, nil
}

func prefix(from string) string {
	if from == "" {
		return ""
	}
	return from + ": "
}

// check names the key of a kubeconfig that is wrong; it quotes no argument and no
// variable.
func (o Options) check() error {
	switch o.APIVersion {
	case v1, v1beta1:
	case "":
		return fmt.Errorf("exec.apiVersion is missing: want %s or v1beta1, whichever the command speaks", v1)
	default:
		return fmt.Errorf("exec.apiVersion %.200q is not supported: want %s or v1beta1; have the tool that wrote the entry write it anew, or update the tool", o.APIVersion, v1)
	}
	if o.Command == "" {
		return errors.New("exec.command is missing")
	}
	switch o.Interactive {
	case never, ifAvailable, always:
	case "":
		if o.APIVersion == v1 {
			return errors.New("exec.interactiveMode is missing, which v1 wants: Never, IfAvailable or Always")
		}
	default:
		return fmt.Errorf("exec.interactiveMode %.200q is none of Never, IfAvailable and Always", o.Interactive)
	}
	for i, e := range o.Env {
		switch {
		case strings.IndexByte(e, '=') <= 0:
			return fmt.Errorf("exec.env[%d] has no name", i)
		case strings.IndexByte(e, 0) >= 0:
			return fmt.Errorf("exec.env[%d] holds a NUL", i)
		}
	}
	if o.Cluster != nil && len(o.Cluster.Config) > 0 && !json.Valid(o.Cluster.Config) {
		return errors.New("the cluster's extension client.authentication.k8s.io/exec is not JSON")
	}
	if o.Timeout < 0 {
		return fmt.Errorf("the time limit %v is negative", o.Timeout)
	}
	return nil
}

// String shows neither arguments nor environment, which may hold secrets.
func (o Options) String() string {
	return fmt.Sprintf("plugin.Options(%s%q)", prefix(o.From), o.Command)
}

// GoString is String, for %#v.
func (o Options) GoString() string { return o.String() }

// String shows the server only.
func (c Cluster) String() string { return fmt.Sprintf("plugin.Cluster(%q)", c.Server) }

// GoString is String, for %#v.
func (c Cluster) GoString() string { return c.String() }

// Command returns the command, as in Options.
func (p *Plugin) Command() string { return p.o.Command }

// String shows neither credentials, arguments nor environment.
func (p *Plugin) String() string {
	return fmt.Sprintf("plugin.Plugin(%s%q)", prefix(p.o.From), p.o.Command)
}

// GoString is String, for %#v.
func (p *Plugin) GoString() string { return p.String() }

var _ client.Source = (*Plugin)(nil)
