package operator

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/config"
)

// Main is the function main of an operator. It parses the command line, also the flags that
// the program has added by package flag, finds the cluster as kubectl does or by the service
// account of the pod, and runs the operator until a signal arrives. After an error the
// process exits with code 1.
//
// With -print, Main only prints the definitions, the webhook configurations and the
// permissions of the webhooks as YAML.
func Main(o Options) {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig file; by default as kubectl finds it, or the pod's service account")
	printed := flag.Bool("print", false, "print the CustomResourceDefinitions, and the webhook configurations with their permissions, and end")
	flag.StringVar(&o.Manager.Listen, "listen", o.Manager.Listen, "serve /healthz and /readyz at this address, such as :8080")
	flag.StringVar(&o.Watched, "namespace", o.Watched, "look after this namespace only (default all)")
	flag.StringVar(&o.Namespace, "system-namespace", o.Namespace, "keep the Lease and the certificate of the webhooks in this namespace (default that of the kubeconfig, or of the pod)")
	flag.BoolVar(&o.Elect, "leader-elect", o.Elect, "work only while holding the Lease "+o.suffixed())
	flag.StringVar(&o.Webhook.Listen, "webhook-listen", cmp.Or(o.Webhook.Listen, ":9443"), "serve webhooks, if there are any, at this address")
	flag.StringVar(&o.Webhook.URL, "webhook-url", o.Webhook.URL, "where API servers reach the webhooks, without a Service")
	flag.Parse()
	if err := start(context.Background(), o, *kubeconfig, *printed, flag.Args(), os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", o.Name, err)
		os.Exit(1)
	}
}

func start(ctx context.Context, o Options, kubeconfig string, printed bool, args []string, out io.Writer) error {
	if len(args) > 0 { // after "-leader-elect true" other flags would have no effect
		return fmt.Errorf("unexpected argument %q: the value of a flag is written as -name=value", args[0])
	}
	cfg, err := config.Load(config.Options{Path: kubeconfig})
	if printed && errors.Is(err, config.ErrNoCluster) { // it needs none
		cfg, err = &config.Config{Client: client.Config{Server: "http://localhost"}, Namespace: "default"}, nil
	}
	if err != nil {
		return err
	}
	for _, w := range cfg.Warnings {
		slog.Warn(w)
	}
	cfg.Client.UserAgent, cfg.Client.FieldManager = o.suffixed(), o.suffixed()
	c, err := client.New(cfg.Client)
	if err != nil {
		return err
	}
	defer c.CloseIdleConnections()
	o.Namespace = cmp.Or(o.Namespace, cfg.Namespace)
	o.Manager.Signals = true
	if o.Manager.Logger == nil {
		o.Manager.Logger = slog.Default()
	}
	op, err := New(c, o)
	if err != nil {
		return err
	}
	if !printed {
		return op.Run(ctx)
	}
	text, err := op.Manifests()
	if err == nil {
		_, err = out.Write(text)
	}
	return err
}

// Manifests returns what -print prints.
func (op *Operator) Manifests() ([]byte, error) {
	var parts [][]byte
	for _, d := range op.defs {
		text, err := d.YAML()
		if err != nil {
			return nil, err
		}
		parts = append(parts, text)
	}
	if op.hooks != nil {
		text, err := op.hooks.Manifests()
		if err != nil {
			return nil, err
		}
		parts = append(parts, text)
	}
	return bytes.Join(parts, []byte("---\n")), nil
}
