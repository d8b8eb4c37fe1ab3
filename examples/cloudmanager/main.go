// Command cloudmanager is an operator of a small product: a CloudManager has a front,
// an identity service and a db, for which the operator creates two Deployments, a
// Secret and a StatefulSet with a claim, in the order db, identity, front, each when a
// majority of the previous one is ready. Parts that are removed from the spec are
// deleted, and finally the claims. README.md shows how to run it.
package main

import (
	"context"
	"flag"
	"log"
	"log/slog"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/config"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/lease"
	"github.com/listwatch/listwatch/manager"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig file; by default as kubectl finds it, or the pod's service account")
	listen := flag.String("listen", "", "serve /healthz and /readyz at this address, such as :8080")
	namespace := flag.String("namespace", "", "look after this namespace only, for which manifests/rbac-namespaced.yaml is enough (default all)")
	elect := flag.Bool("leader-elect", false, "work only while holding the Lease cloudmanager-operator in the namespace of the kubeconfig, or of the pod")
	flag.Parse()
	cfg, err := config.Load(config.Options{Path: *kubeconfig})
	exitOn(err)
	cfg.Client.UserAgent = "cloudmanager-operator"
	cfg.Client.Warn = func(text string) { slog.Warn("the server warns", "text", text) }
	c, err := client.New(cfg.Client)
	exitOn(err)
	o := manager.Options{Listen: *listen, Signals: true, Logger: slog.Default()}
	if *elect {
		o.Elector, err = lease.New(c, kube.Key{Namespace: cfg.Namespace, Name: "cloudmanager-operator"}, lease.Options{})
		exitOn(err)
	}
	exitOn(newManager(c, *namespace, o).Run(context.Background()))
}

func exitOn(err error) {
	if err != nil {
		log.Fatalln("cloudmanager:", err)
	}
}
