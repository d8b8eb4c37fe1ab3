// Command foo is an operator: for each Foo it maintains a Deployment with the name and
// size of the Foo's spec, and reports the available replicas in the Foo's status. It is
// the sample controller of Kubernetes' tutorials, with plain structs and without
// generated code:
//
//	kubectl apply -f examples/foo/manifests/crd.yaml
//	go run ./examples/foo
//	kubectl apply -f examples/foo/manifests/sample.yaml
package main

import (
	"context"
	"flag"
	"log"
	"log/slog"
	"time"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/config"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/events"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/lease"
	"github.com/listwatch/listwatch/manager"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig file; by default as kubectl finds it, or the pod's service account")
	listen := flag.String("listen", "", "serve /healthz and /readyz at this address, such as :8080")
	namespace := flag.String("namespace", "", "look after this namespace only, for which manifests/rbac-namespaced.yaml is enough (default all)")
	elect := flag.Bool("leader-elect", false, "work only while holding the Lease foo-operator in the namespace of the kubeconfig, or of the pod")
	flag.Parse()

	cfg, err := config.Load(config.Options{Path: *kubeconfig})
	exitOn(err)
	cfg.Client.UserAgent = "foo-operator"
	cfg.Client.Warn = func(text string) { slog.Warn("the server warns", "text", text) }
	c, err := client.New(cfg.Client)
	exitOn(err)
	o := manager.Options{Listen: *listen, Signals: true, Logger: slog.Default()}
	if *elect {
		o.Elector, err = lease.New(c, kube.Key{Namespace: cfg.Namespace, Name: "foo-operator"}, lease.Options{})
		exitOn(err)
	}
	exitOn(newManager(c, *namespace, o).Run(context.Background()))
}

func exitOn(err error) {
	if err != nil {
		log.Fatalln("foo:", err)
	}
}

// newManager returns the operator for one namespace, or for all if it is empty. All
// parts use the logger of the Manager.
func newManager(c *client.Client, namespace string, mo manager.Options) *manager.Manager {
	o := &operator{
		client:      c,
		foos:        cache.New(client.Of[Foo](c, foos).In(namespace), cache.Options[Foo]{}),
		deployments: cache.New(client.Of[Deployment](c, kube.Deployments).In(namespace), cache.Options[Deployment]{}),
		events:      events.New(c, events.Options{Component: "foo-operator"}),
	}
	o.owned = cache.ByOwner(o.deployments.Store())
	o.wanted = cache.By(o.foos.Store(), func(f Foo) (kube.Key, bool) {
		return kube.Key{Namespace: f.Namespace, Name: f.Spec.DeploymentName}, true
	})
	o.controller = controller.New("foo", o.reconcile, controller.Options[kube.Key]{Workers: 4, Timeout: 30 * time.Second})
	controller.For(o.controller, o.foos, controller.GenerationChanged)
	controller.Owns(o.controller, foos, o.deployments)
	controller.Map(o.controller, o.deployments, func(d Deployment) []kube.Key { return o.wanted.Keys(kube.KeyOf(d)) })

	m := manager.New(mo)
	m.Add(o.foos, o.deployments, o.events)
	m.AddLed(o.controller)
	return m
}
