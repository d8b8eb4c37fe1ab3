// Command database is the operator of examples/database with controller-runtime, as its
// book and its API suggest: for a comparison of lines, size, memory and requests. See
// cmd/operators.
package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	v1 "github.com/listwatch/listwatch/bench/client/database/api/v1"
	"github.com/listwatch/listwatch/bench/client/database/api/v1alpha1"
)

const (
	finalizer = "example.com/claims" // held until the claims are deleted, which have no owner
	configKey = "spec.config"
)

// errTaken means that an object of the name of a child belongs to somebody else.
var errTaken = errors.New("it is there already and does not belong to this Database")

func main() {
	var listen, namespace, certs, hookAddress string
	var hookPort int
	var elect bool
	flag.StringVar(&listen, "listen", "0", "serve /healthz and /readyz at this address")
	flag.StringVar(&namespace, "lease-namespace", "default", "the namespace of the Lease")
	flag.StringVar(&certs, "webhook-cert-dir", "", "the folder with the certificate of the webhooks")
	flag.StringVar(&hookAddress, "webhook-host", "", "serve webhooks at this address")
	flag.IntVar(&hookPort, "webhook-port", 9443, "serve webhooks at this port")
	flag.BoolVar(&elect, "leader-elect", false, "work only while holding the Lease")
	logs := zap.Options{}
	logs.BindFlags(flag.CommandLine)
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&logs)))
	if err := run(ctrl.SetupSignalHandler(), ctrl.Options{
		Scheme:                  runtime.NewScheme(),
		Metrics:                 metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress:  listen,
		LeaderElection:          elect,
		LeaderElectionID:        "database-operator",
		LeaderElectionNamespace: namespace,
		WebhookServer:           webhook.NewServer(webhook.Options{Host: hookAddress, Port: hookPort, CertDir: certs}),
	}); err != nil {
		fmt.Fprintln(os.Stderr, "database:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o ctrl.Options) error {
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(o.Scheme); err != nil {
			return err
		}
	}
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(cfg, o)
	if err != nil {
		return err
	}
	r := &reconciler{Client: mgr.GetClient(), scheme: mgr.GetScheme(), events: mgr.GetEventRecorder("database-operator")}
	if err := r.setup(ctx, mgr); err != nil {
		return err
	}
	if err := ctrl.NewWebhookManagedBy(mgr, &v1.Database{}).WithValidator(validator{}).Complete(); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// reconciler maintains the children of each Database.
type reconciler struct {
	client.Client
	scheme *runtime.Scheme
	events events.EventRecorder
}

// +kubebuilder:rbac:groups=example.com,resources=databases,verbs=get;list;watch;update;patch
// +kubebuilder:rbac:groups=example.com,resources=databases/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=example.com,resources=databases/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=statefulsets,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;update;patch
// +kubebuilder:rbac:groups="",resources=secrets;services,verbs=get;list;watch;create;update;patch
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=deletecollection
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

func (r *reconciler) setup(ctx context.Context, mgr ctrl.Manager) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &v1.Database{}, configKey, func(o client.Object) []string {
		if name := o.(*v1.Database).Spec.Config; name != "" {
			return []string{name}
		}
		return nil
	}); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1.Database{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&corev1.Secret{}, builder.OnlyMetadata).
		Owns(&corev1.Service{}).
		Owns(&policyv1.PodDisruptionBudget{}).
		Owns(&appsv1.StatefulSet{}).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.users)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4}).
		Complete(r)
}

// users returns the Databases that mount a ConfigMap.
func (r *reconciler) users(ctx context.Context, m client.Object) (all []reconcile.Request) {
	var list v1.DatabaseList
	if err := r.List(ctx, &list, client.InNamespace(m.GetNamespace()), client.MatchingFields{configKey: m.GetName()}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list users of a ConfigMap")
		return nil
	}
	for _, d := range list.Items {
		all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&d)})
	}
	return all
}

// Reconcile brings the children in line with the Database.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (none ctrl.Result, err error) {
	d := &v1.Database{}
	if err := r.Get(ctx, req.NamespacedName, d); err != nil {
		return none, client.IgnoreNotFound(err)
	}
	if !d.DeletionTimestamp.IsZero() {
		return none, r.finalize(ctx, d)
	}
	before := d.DeepCopy()
	if controllerutil.AddFinalizer(d, finalizer) {
		if err := r.Patch(ctx, d, client.MergeFrom(before)); err != nil {
			return none, err
		}
	}
	hash, err := r.hash(ctx, d)
	if err != nil {
		return none, r.report(ctx, d, 0, "ConfigMissing", err.Error())
	}
	set, err := r.children(ctx, d, hash)
	if errors.Is(err, errTaken) {
		return ctrl.Result{RequeueAfter: 60e9}, r.report(ctx, d, 0, "NameTaken", err.Error())
	} else if err != nil {
		return none, err
	}
	ready := set.Status.ReadyReplicas
	if set.Status.ObservedGeneration < set.Generation || ready < d.Spec.Replicas {
		return none, r.report(ctx, d, ready, "Progressing", fmt.Sprintf("%d of %d replicas are ready", ready, d.Spec.Replicas))
	}
	return none, r.report(ctx, d, ready, "Available", "all replicas are ready")
}

// hash returns the hash of the configuration, empty if there shall be none.
func (r *reconciler) hash(ctx context.Context, d *v1.Database) (string, error) {
	if d.Spec.Config == "" {
		return "", nil
	}
	m := &corev1.ConfigMap{}
	if err := r.Get(ctx, types.NamespacedName{Namespace: d.Namespace, Name: d.Spec.Config}, m); apierrors.IsNotFound(err) {
		return "", fmt.Errorf("there is no ConfigMap %s", d.Spec.Config)
	} else if err != nil {
		return "", err
	}
	text, err := json.Marshal(m.Data)
	return fmt.Sprintf("%.8x", sha256.Sum256(text)), err
}

// children makes the children in the order of their creation.
func (r *reconciler) children(ctx context.Context, d *v1.Database, hash string) (*appsv1.StatefulSet, error) {
	named := metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name}
	labels := map[string]string{"database": d.Name}
	if err := r.secret(ctx, d, named); err != nil {
		return nil, err
	}
	service := &corev1.Service{ObjectMeta: named}
	if err := r.ensure(ctx, d, service, func() {
		service.Spec.ClusterIP, service.Spec.Selector = corev1.ClusterIPNone, labels
		if len(service.Spec.Ports) != 1 {
			service.Spec.Ports = make([]corev1.ServicePort, 1)
		}
		service.Spec.Ports[0].Name, service.Spec.Ports[0].Port = "sql", 5432
	}); err != nil {
		return nil, err
	}
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: named}
	if err := r.ensure(ctx, d, budget, func() {
		most := intstr.FromInt32(max(1, (d.Spec.Replicas-1)/2)) // of more than 2 a majority stays
		budget.Spec.MaxUnavailable, budget.Spec.Selector = &most, &metav1.LabelSelector{MatchLabels: labels}
	}); err != nil {
		return nil, err
	}
	size, err := resource.ParseQuantity(d.Spec.Storage.Size)
	if err != nil {
		return nil, err
	}
	set := &appsv1.StatefulSet{ObjectMeta: named}
	return set, r.ensure(ctx, d, set, func() { shape(set, d, labels, size, hash) })
}

// secret creates the Secret once. Its metadata alone are in the cache.
func (r *reconciler) secret(ctx context.Context, d *v1.Database, named metav1.ObjectMeta) error {
	was := &metav1.PartialObjectMetadata{}
	was.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	err := r.Get(ctx, client.ObjectKeyFromObject(d), was)
	if err == nil && !metav1.IsControlledBy(was, d) {
		return fmt.Errorf("own Secret: %w", errTaken)
	}
	if !apierrors.IsNotFound(err) {
		return err
	}
	secret := &corev1.Secret{ObjectMeta: named, Data: map[string][]byte{"POSTGRES_PASSWORD": []byte(rand.Text())}}
	if err := controllerutil.SetControllerReference(d, secret, r.scheme); err != nil {
		return err
	}
	if err := r.Create(ctx, secret); err != nil {
		return err
	}
	r.events.Eventf(d, secret, corev1.EventTypeNormal, "Synced", "Create", "Secret created")
	return nil
}

// ensure creates or updates a child.
func (r *reconciler) ensure(ctx context.Context, d *v1.Database, child client.Object, shape func()) error {
	kind := fmt.Sprintf("%T", child)
	outcome, err := controllerutil.CreateOrUpdate(ctx, r.Client, child, func() error {
		if child.GetUID() != "" && !metav1.IsControlledBy(child, d) {
			return fmt.Errorf("%s: %w", kind, errTaken)
		}
		shape()
		return controllerutil.SetControllerReference(d, child, r.scheme)
	})
	if err == nil && outcome != controllerutil.OperationResultNone {
		r.events.Eventf(d, child, corev1.EventTypeNormal, "Synced", "Ensure", "%s %s", kind, outcome)
	}
	return err
}

// shape sets the desired members of the StatefulSet, and keeps what the server defaulted.
func shape(set *appsv1.StatefulSet, d *v1.Database, labels map[string]string, size resource.Quantity, hash string) {
	if set.UID == "" { // they are immutable
		claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}}
		claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: size}
		if d.Spec.Storage.Class != "" {
			claim.Spec.StorageClassName = &d.Spec.Storage.Class
		}
		set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim}
		set.Spec.ServiceName, set.Spec.Selector = d.Name, &metav1.LabelSelector{MatchLabels: labels}
	}
	set.Spec.Replicas = &d.Spec.Replicas
	t := &set.Spec.Template
	t.Labels = labels
	metav1.SetMetaDataAnnotation(&t.ObjectMeta, "example.com/config", hash) // another template: the Pods restart
	if len(t.Spec.Containers) != 1 {
		t.Spec.Containers = make([]corev1.Container, 1)
	}
	c := &t.Spec.Containers[0]
	c.Name, c.Image = "db", d.Spec.Image
	c.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: d.Name}}}}
	c.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/var/lib/postgresql"}}
	if hash == "" {
		t.Spec.Volumes = nil
		return
	}
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "config", MountPath: "/etc/postgresql"})
	if len(t.Spec.Volumes) != 1 || t.Spec.Volumes[0].ConfigMap == nil {
		t.Spec.Volumes = []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}}}
	}
	t.Spec.Volumes[0].ConfigMap.Name = d.Spec.Config
}

// finalize deletes the claims when the Pods are deleted, and removes the finalizer.
func (r *reconciler) finalize(ctx context.Context, d *v1.Database) error {
	if !controllerutil.ContainsFinalizer(d, finalizer) {
		return nil
	}
	set := &appsv1.StatefulSet{}
	err := r.Get(ctx, client.ObjectKeyFromObject(d), set)
	if err == nil && metav1.IsControlledBy(set, d) { // its end adds the key again
		if !set.DeletionTimestamp.IsZero() {
			return nil
		}
		return client.IgnoreNotFound(r.Delete(ctx, set, client.PropagationPolicy(metav1.DeletePropagationForeground), client.Preconditions{UID: &set.UID}))
	}
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if err := r.DeleteAllOf(ctx, &corev1.PersistentVolumeClaim{}, client.InNamespace(d.Namespace), client.MatchingLabels{"database": d.Name}); err != nil {
		return err
	}
	before := d.DeepCopy()
	controllerutil.RemoveFinalizer(d, finalizer)
	return client.IgnoreNotFound(r.Patch(ctx, d, client.MergeFrom(before)))
}

// report writes the status, if it has changed.
func (r *reconciler) report(ctx context.Context, d *v1.Database, ready int32, reason, message string) error {
	c := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, ObservedGeneration: d.Generation, Reason: reason, Message: message}
	if reason == "Available" {
		c.Status = metav1.ConditionTrue
	}
	before := d.DeepCopy()
	changed := meta.SetStatusCondition(&d.Status.Conditions, c)
	if !changed && d.Status.ReadyReplicas == ready {
		return nil
	}
	d.Status.ReadyReplicas = ready
	return client.IgnoreNotFound(r.Status().Patch(ctx, d, client.MergeFrom(before)))
}

// validator refuses to delete a Database that is protected.
type validator struct{}

var _ admission.Validator[*v1.Database] = validator{}

func (validator) ValidateCreate(context.Context, *v1.Database) (admission.Warnings, error) {
	return nil, nil
}

func (validator) ValidateUpdate(context.Context, *v1.Database, *v1.Database) (admission.Warnings, error) {
	return nil, nil
}

func (validator) ValidateDelete(_ context.Context, d *v1.Database) (admission.Warnings, error) {
	if d.Spec.Protect {
		return nil, apierrors.NewForbidden(v1.GroupVersion.WithResource("databases").GroupResource(), d.Name, errors.New("set spec.protect to false before you delete the Database"))
	}
	return nil, nil
}
