package operator

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/crd"
	"github.com/listwatch/listwatch/events"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/lease"
	"github.com/listwatch/listwatch/manager"
	"github.com/listwatch/listwatch/webhook"
)

// Options describe an operator. Main sets those that have a flag.
type Options struct {
	// Name of the operator, such as "database". Its field manager, its Lease, its user
	// agent and the component of its Events are then "database-operator", and the Secret
	// and the Service of its webhooks "database-webhook". Required.
	Name string

	// Setup adds definitions, webhooks and reconcilers. It is called once, by New, and
	// sends no request. Required.
	Setup func(*Operator) error

	// Watched is the only namespace whose objects are reconciled and cached. Default: all.
	// The flag is -namespace.
	Watched string

	// Namespace is that of the Lease and of the Secret of the webhooks. Default: "default"; for
	// Main, that of the kubeconfig or of the pod. The flag is -system-namespace.
	Namespace string

	// Elect makes the reconcilers work only while this replica holds the Lease. The flag is
	// -leader-elect.
	Elect bool

	// Webhook has the options of the webhooks. Default of its Secret: see Name. The flags
	// are -webhook-listen and -webhook-url.
	Webhook webhook.Options

	// With NoServe Run does not serve the webhooks. It is for programs that call them
	// otherwise, as tests do by webhooktest.Admit.
	NoServe bool

	// Manager has the options of the Manager. Main sets Signals, Listen by the flag -listen,
	// and Logger to slog.Default if it is nil.
	Manager manager.Options
}

// suffixed returns the name of the operator for others.
func (o Options) suffixed() string { return o.Name + "-operator" }

// Operator is a program to which Setup adds parts.
type Operator struct {
	Client  *client.Client   // its field manager is that of its Config
	Manager *manager.Manager // for further parts
	Events  *events.Recorder // about the reconciled objects

	o     Options
	hooks *webhook.Server // nil = none
	defs  []*crd.Definition
	errs  []error // of Define and Webhooks
}

// New calls Setup and returns the operator, for tests and for programs with flags of
// their own. It sends no request.
func New(c *client.Client, o Options) (*Operator, error) {
	switch {
	case o.Name == "" || o.Setup == nil:
		return nil, errors.New("operator: the options have no Name or no Setup")
	case o.Namespace == "":
		o.Namespace = "default"
	}
	if o.Elect && o.Manager.Elector == nil {
		elector, err := lease.New(c, kube.Key{Namespace: o.Namespace, Name: o.suffixed()}, lease.Options{})
		if err != nil {
			return nil, fmt.Errorf("operator %s: %w", o.Name, err)
		}
		o.Manager.Elector = elector
	}
	op := &Operator{Client: c, Manager: manager.New(o.Manager), Events: events.New(c, events.Options{Component: o.suffixed()}), o: o}
	op.Manager.Add(op.Events)
	if err := errors.Join(o.Setup(op), errors.Join(op.errs...)); err != nil {
		return nil, fmt.Errorf("operator %s: %w", o.Name, err)
	}
	for _, d := range op.defs {
		op.convert(d)
	}
	return op, nil
}

// Run runs the operator until ctx ends, as [manager.Manager.Run] does.
func (op *Operator) Run(ctx context.Context) error { return op.Manager.Run(ctx) }

// Define adds a definition, which the flag -print prints. It takes the results of [crd.Of]; New
// returns the error. If webhooks convert the resource, New sets the conversion of the definition.
func (op *Operator) Define(d *crd.Definition, err error) {
	if err != nil {
		op.errs = append(op.errs, err)
		return
	}
	op.defs = append(op.defs, d)
}

// Definitions returns the definitions that Define added, for [crd.Ensure].
func (op *Operator) Definitions() []*crd.Definition { return op.defs }

// Webhooks returns the server of the webhooks, which all replicas run. The first call adds
// the server to the operator. Add webhooks by [webhook.Validate], [webhook.Mutate] and
// [webhook.Convert].
func (op *Operator) Webhooks() *webhook.Server {
	if op.hooks != nil {
		return op.hooks
	}
	o := op.o.Webhook
	if (o.Secret == kube.Key{}) && o.CertFile == "" {
		o.Secret = kube.Key{Namespace: op.o.Namespace, Name: op.o.Name + "-webhook"}
	}
	hooks, err := webhook.New(op.Client, o)
	if err != nil {
		op.errs = append(op.errs, err)
		hooks = new(webhook.Server) // New fails
		return hooks
	}
	if op.hooks = hooks; !op.o.NoServe {
		op.Manager.Add(hooks)
	}
	return hooks
}

// convert sets the conversion of a definition, if a webhook converts it.
func (op *Operator) convert(d *crd.Definition) {
	if op.hooks == nil {
		return
	}
	for _, h := range op.hooks.Webhooks() {
		if h.Converts && h.Resource.Group == d.Spec.Group && h.Resource.Plural == d.Spec.Names.Plural {
			d.Spec.Conversion = op.hooks.Conversion(h.Resource)
		}
	}
}

// whole reports whether T has every member of the objects of r: the program made the
// definition of T.
func whole[T kube.Object](op *Operator, r kube.Resource) bool {
	for _, d := range op.defs {
		if d.Spec.Group != r.Group || d.Spec.Names.Plural != r.Plural {
			continue
		}
		for _, v := range d.Spec.Versions {
			if v.Name == r.Version {
				return reflect.DeepEqual(v.Schema, crd.VersionOf[T](r.Version, crd.VersionOptions{}).Schema)
			}
		}
	}
	return false
}

// Watch returns an informer of further objects, which the Manager runs. Connect it with a
// reconciler by [controller.Map].
func Watch[T kube.Object](op *Operator, r kube.Resource) *cache.Informer[T] {
	inf := cache.New(of[T](op, r), cache.Options[T]{})
	op.Manager.Add(inf)
	return inf
}

// of returns the collection of r where the operator looks.
func of[T kube.Object](op *Operator, r kube.Resource) client.Collection[T] {
	c := client.Of[T](op.Client, r)
	if r.Namespaced {
		c = c.In(op.o.Watched)
	}
	return c
}

// Reconciler brings the actual state in line with objects of type T.
type Reconciler[T kube.Object] struct {
	// Reconcile is called with an object after a change of its generation (or any change, if
	// it has none, as a Service), after a change of a child, and when
	// [controller.Map] adds its key. The object is shared: Reconcile must not modify it.
	// Reconcile is not called for an object that is being deleted: the garbage collector
	// deletes the children. For errors and the result see [controller.Func]. Required.
	Reconcile func(context.Context, T) (controller.Result, error)

	// Finalizer, if set, is added to each object before Reconcile gets it, and holds a deleted
	// object until Finalize has returned true. Finalize is called again after a change of a child
	// and after an error. It may be called again after it has returned true, if the removal of the
	// finalizer fails, for instance because somebody changes the object.
	Finalizer string
	Finalize  func(context.Context, T) (done bool, err error)

	// Options of the controller. Default: 4 workers, and a limit of a minute for a run.
	Options controller.Options[kube.Key]
}

func (r Reconciler[T]) options() controller.Options[kube.Key] {
	o := r.Options
	if o.Workers == 0 {
		o.Workers = 4
	}
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	return o
}
