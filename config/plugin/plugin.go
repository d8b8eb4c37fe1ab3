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

// Options describe a plugin, as a kubeconfig does, and how it runs. They hold secrets;
// their String returns From and Command only.
type Options struct {
	// APIVersion is client.authentication.k8s.io/v1 or /v1beta1. The command receives
	// it and must print the same version.
	APIVersion string

	// Command is a path, or a name that is looked up in PATH. A path relative to a
	// kubeconfig must be resolved by the caller.
	Command string
	Args    []string
	// Env holds entries NAME=value that override the environment of the process, which
	// the command inherits.
	Env []string

	// InstallHint is part of the error if the command is not found.
	InstallHint string

	// Interactive says whether the command receives Stdin: "Never"; "IfAvailable", if
	// Stdin is a terminal; "Always", with an error if Stdin is not a terminal. Empty
	// means IfAvailable in v1beta1 and is an error in v1.
	Interactive string

	// Cluster is passed to the command (provideClusterInfo); nil = not passed.
	Cluster *Cluster

	// From is the source of the entry, for errors: user "dev" in /home/me/.kube/config.
	From string

	// Timeout is the time after which the command is killed. Default: 1 minute; 10
	// minutes if Stdin is a terminal, whose user may be logging in with a browser.
	Timeout time.Duration

	Stdin  *os.File  // nil = os.Stdin
	Stderr io.Writer // receives the command's stderr; nil = os.Stderr
}

// Cluster is the description of the cluster that the command receives.
type Cluster struct {
	Server             string
	TLSServerName      string
	Insecure           bool
	CAData             []byte // PEM
	ProxyURL           string
	DisableCompression bool
	// Config is the extension client.authentication.k8s.io/exec of the cluster entry, as
	// JSON; empty = none.
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
	held   answer    // zero before the first run
	due    time.Time // time to replace held; zero = never
	flight *flight   // the run in progress
	err    error     // of the last run
	late   error     // error of a credential that was printed expired; nil = it was valid
	ended  time.Time // of the last run
	next   time.Time // earliest time of the next run
	row    int       // consecutive runs that failed or followed a 401
}

// New checks o. It neither starts nor looks for the command; Credential does.
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

// check returns an error that names the wrong key of the kubeconfig. It quotes no argument
// and no variable.
func (o Options) check() error {
	switch o.APIVersion {
	case v1, v1beta1:
	case "":
		return fmt.Errorf("exec.apiVersion is missing: want %s or v1beta1, whichever the command supports", v1)
	default:
		return fmt.Errorf("exec.apiVersion %.200q is not supported: want %s or v1beta1; update the tool that wrote the entry, and let it write the entry again", o.APIVersion, v1)
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

// String omits arguments and environment, which may hold secrets.
func (o Options) String() string {
	return fmt.Sprintf("plugin.Options(%s%q)", prefix(o.From), o.Command)
}

// GoString returns String, for %#v.
func (o Options) GoString() string { return o.String() }

// String returns the server only.
func (c Cluster) String() string { return fmt.Sprintf("plugin.Cluster(%q)", c.Server) }

// GoString returns String, for %#v.
func (c Cluster) GoString() string { return c.String() }

// Command returns the command, as in Options.
func (p *Plugin) Command() string { return p.o.Command }

// String omits credentials, arguments and environment.
func (p *Plugin) String() string {
	return fmt.Sprintf("plugin.Plugin(%s%q)", prefix(p.o.From), p.o.Command)
}

// GoString returns String, for %#v.
func (p *Plugin) GoString() string { return p.String() }

var _ client.Source = (*Plugin)(nil)
