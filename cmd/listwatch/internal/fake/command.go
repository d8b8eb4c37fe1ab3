package fake

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/listen"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
)

// Command returns the command fake, with those below it.
func Command(p *cli.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fake",
		Short: "Serve a fake Kubernetes API, or test a client against it",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case cmd.ArgsLenAtDash() == 0 && len(args) > 0:
				return exit.Usage("a client after -- is tested by \"listwatch fake test -- CLIENT\"")
			case len(args) == 0:
				return cmd.Help()
			}
			return exit.Usage("unknown command %q (want one of listwatch fake serve, test, scenarios, faults)", printable.Clip(args[0]))
		},
	}
	cmd.AddCommand(serveCommand(p), testCommand(p), scenariosCommand(p), faultsCommand(p))
	return cmd
}

func faultsCommand(p *cli.Program) *cobra.Command {
	return &cobra.Command{
		Use:   "faults",
		Short: "Explain the syntax of the file of fake serve --faults",
		Args:  cli.NoArgs(""),
		RunE:  func(*cobra.Command, []string) error { return p.Put(faults.Help()) },
	}
}

// serverFlags say where a fake server listens, and who may use it.
type serverFlags struct {
	listen      string
	acceptHosts []string
	tls         bool
	token       string
	kubeconfig  string
	seed        uint64
	talk        talkFlags
}

func (o *serverFlags) register(f *pflag.FlagSet) {
	f.StringVar(&o.listen, "listen", "127.0.0.1:0", "serve at this address and port (0 = a free port)")
	f.StringSliceVar(&o.acceptHosts, "accept-host", nil, "accept requests that name this host, besides those of the loopback and, with another --listen, IP addresses")
	f.BoolVar(&o.tls, "tls", false, "serve https, with its own CA, which the kubeconfig contains")
	f.StringVar(&o.token, "token", "", "require this bearer token (default none)")
	f.StringVar(&o.kubeconfig, "kubeconfig-out", "", "write a kubeconfig for this server to this file")
	f.Uint64Var(&o.seed, "seed", 0, "use this seed for names, UIDs, delays and random faults; on a busy machine, timing changes some of them")
}

// check refuses flags that make no sense.
func (o *serverFlags) check() error {
	switch {
	case o.talk.format != "text" && o.talk.format != "json":
		return exit.Usage("--log-format %q: want one of text, json", printable.Clip(o.talk.format))
	case strings.ContainsAny(o.token, "\r\n"):
		return exit.Usage("--token has a line break in it")
	case o.token != "" && !o.tls:
		return exit.Usage("--token needs --tls: clients send no credentials over http")
	}
	return replaceable("--kubeconfig-out", o.kubeconfig)
}

// options returns what the server is started with, and warns if other machines reach it.
func (o *serverFlags) options(t *messages.Writer) (apitest.Options, error) {
	address, open, err := listen.Address("--listen", o.listen)
	if err != nil {
		return apitest.Options{}, err
	}
	if open {
		without := ""
		if o.token == "" {
			without = ", without a token"
		}
		t.Note("warning: --listen " + o.listen + " is not the loopback: whoever reaches this machine reaches the fake server" + without)
	}
	return apitest.Options{Address: address, Hosts: o.acceptHosts, TLS: o.tls, Token: o.token, Seed: o.seed, CollectGarbage: true}, nil
}

// talkFlags say what is written to stderr, and how.
type talkFlags struct {
	quiet  bool
	format string
}

func (o *talkFlags) register(f *pflag.FlagSet) {
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print nothing on stderr but why the program ended")
	f.StringVar(&o.format, "log-format", "text", "write messages to stderr as text or json")
}

func (o *talkFlags) writer(p *cli.Program) *messages.Writer {
	return p.Talk(o.format, o.quiet)
}
