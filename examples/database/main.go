// Command database is an operator of databases: for each Database it maintains a Secret
// with a password, a headless Service, a PodDisruptionBudget, and a StatefulSet with
// claims, which restarts its Pods when the ConfigMap of the Database changes. A webhook
// refuses to delete protected Databases, and converts those of example.com/v1alpha1.
// README.md shows how to run it.
package main

import (
	"context"
	"flag"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/config"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/events"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/lease"
	"github.com/listwatch/listwatch/manager"
	"github.com/listwatch/listwatch/webhook"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig file; by default as kubectl finds it, or the pod's service account")
	listen := flag.String("listen", "", "serve /healthz and /readyz at this address, such as :8080")
	elect := flag.Bool("leader-elect", false, "work only while holding the Lease database-operator in the namespace of the kubeconfig, or of the pod")
	printed := flag.Bool("print", false, "print the CustomResourceDefinition, the webhook configuration and its permissions, and end")
	hook := webhook.Options{Install: true}
	flag.StringVar(&hook.Listen, "webhook-listen", ":9443", "serve webhooks at this address")
	flag.StringVar(&hook.URL, "webhook-url", "", "where API servers reach the webhooks, without a Service")
	flag.Parse()

	cfg, err := config.Load(config.Options{Path: *kubeconfig})
	exitOn(err)
	cfg.Client.UserAgent, cfg.Client.FieldManager = "database-operator", "database-operator"
	cfg.Client.Warn = func(text string) { slog.Warn("the server warns", "text", text) }
	c, err := client.New(cfg.Client)
	exitOn(err)
	hook.Secret = kube.Key{Namespace: cfg.Namespace, Name: "database-webhook"}
	hooks, err := newHooks(c, hook)
	exitOn(err)
	if *printed {
		text, err := manifests(hooks)
		exitOn(err)
		_, err = os.Stdout.Write(text)
		exitOn(err)
		return
	}
	o := manager.Options{Listen: *listen, Signals: true, Logger: slog.Default()}
	if *elect {
		o.Elector, err = lease.New(c, kube.Key{Namespace: cfg.Namespace, Name: "database-operator"}, lease.Options{})
		exitOn(err)
	}
	m := newManager(c, o)
	m.Add(hooks)
	exitOn(m.Run(context.Background()))
}

func exitOn(err error) {
	if err != nil {
		log.Fatalln("database:", err)
	}
}

// newHooks returns the webhooks, which all replicas serve.
func newHooks(c *client.Client, o webhook.Options) (*webhook.Server, error) {
	hooks, err := webhook.New(c, o)
	if err != nil {
		return nil, err
	}
	webhook.Validate(hooks, databases, webhook.Rule{Operations: []webhook.Operation{webhook.Delete}}, protect)
	webhook.Convert(hooks, databases, "v1alpha1", fromV1alpha1, toV1alpha1)
	return hooks, nil
}

// manifests returns the definition, the webhook configuration, and the permissions to keep
// the certificate of the webhooks.
func manifests(hooks *webhook.Server) ([]byte, error) {
	def, err := definition()
	if err != nil {
		return nil, err
	}
	def.Spec.Conversion = hooks.Conversion(databases)
	text, err := def.YAML()
	if err != nil {
		return nil, err
	}
	more, err := hooks.Manifests()
	return append(append(text, "---\n"...), more...), err
}

// operator maintains the children of each Database.
type operator struct {
	client     *client.Client
	databases  *cache.Informer[Database]
	configs    *cache.Informer[configMap]
	children   map[kube.Resource]*cache.Informer[child]
	controller *controller.Controller[kube.Key]
	events     *events.Recorder
}

// newManager returns the operator. All parts use the logger of the Manager.
func newManager(c *client.Client, mo manager.Options) *manager.Manager {
	o := &operator{
		client:    c,
		databases: cache.New(client.Of[Database](c, databases), cache.Options[Database]{}),
		configs:   cache.New(client.Of[configMap](c, kube.ConfigMaps), cache.Options[configMap]{}),
		children:  map[kube.Resource]*cache.Informer[child]{},
		events:    events.New(c, events.Options{Component: "database-operator"}),
	}
	users := cache.By(o.databases.Store(), func(d Database) (kube.Key, bool) {
		return kube.Key{Namespace: d.Namespace, Name: d.Spec.Config}, d.Spec.Config != ""
	})
	o.controller = controller.New("database", o.reconcile, controller.Options[kube.Key]{Workers: 4, Timeout: 30 * time.Second})
	controller.For(o.controller, o.databases, controller.GenerationChanged)
	controller.Map(o.controller, o.configs, func(m configMap) []kube.Key { return users.Keys(kube.KeyOf(m)) })
	m := manager.New(mo)
	m.Add(o.databases, o.configs, o.events)
	m.AddLed(o.controller)
	for _, r := range kinds {
		children := client.Of[child](c, r)
		if r == kube.Secrets {
			children.Accept = client.Of[kube.Partial](c, r).Accept // metadata only: passwords are not read
		}
		o.children[r] = cache.New(children, cache.Options[child]{})
		controller.Owns(o.controller, databases, o.children[r])
		m.Add(o.children[r])
	}
	return m
}
