package compat_test

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// apply applies a ConfigMap on the server's side, as two managers that come to
// disagree.
func (u *user) apply() {
	give := func(manager, key, value string, o ...client.ApplyOption) (*unstructured.Unstructured, error) {
		m := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{key: value}}}
		m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		m.SetNamespace(u.ns)
		m.SetName("applied")
		err := u.direct.Apply(u.ctx, client.ApplyConfigurationFromUnstructured(m), append(o, client.FieldOwner(manager))...)
		return m, err
	}
	must := func(step string, m *unstructured.Unstructured, err error) {
		u.t.Helper()
		if err != nil {
			u.t.Errorf("%s: %v", step, err)
			return
		}
		u.r.add(step, normalObject(u.t, m.Object)...)
	}
	m, err := give("one", "a", "1")
	must("applied by one", m, err)
	m, err = give("two", "b", "1")
	must("applied by two", m, err)
	_, err = give("two", "a", "2")
	u.refused("applied in conflict", err)
	m, err = give("two", "a", "2", client.ForceOwnership)
	must("applied by force", m, err)
	m, err = give("one", "c", "1")
	must("applied without what was owned", m, err)
}

// lists reads collections in the ways that a client can.
func (u *user) lists() {
	for i := range 5 {
		o := &corev1.ConfigMap{}
		o.Namespace, o.Name, o.Labels = u.ns, fmt.Sprintf("l-%d", i), map[string]string{"tier": fmt.Sprint(i % 2)}
		u.must(u.direct.Create(u.ctx, o))
	}
	list := func(step string, c client.Client, o ...client.ListOption) string {
		var l corev1.ConfigMapList
		if err := c.List(u.ctx, &l, append(o, client.InNamespace(u.ns))...); err != nil {
			u.r.add(step, normal(err.Error()))
			return ""
		}
		var names []string
		for _, o := range l.Items {
			names = append(names, o.Name)
		}
		slices.Sort(names) // those of a cache come in no order
		more := ""
		if l.Continue != "" {
			more = "there is more"
			if l.RemainingItemCount != nil {
				more += fmt.Sprint(", ", *l.RemainingItemCount)
			}
		}
		u.r.add(step, append(names, more)...)
		return l.Continue
	}
	list("list", u.direct)
	list("list by label", u.direct, client.MatchingLabels{"tier": "1"})
	list("list by field", u.direct, client.MatchingFields{"metadata.name": "l-3"})
	list("list by a field that cannot be", u.direct, client.MatchingFields{"data.key": "x"})
	next := list("first page", u.direct, client.Limit(3))
	list("second page", u.direct, client.Limit(3), client.Continue(next))
	if !eventually(u.ctx, func() bool {
		var l corev1.ConfigMapList
		return u.cached.List(u.ctx, &l, client.MatchingLabels{"tier": "0"}, client.InNamespace(u.ns)) == nil && len(l.Items) == 3
	}) {
		u.t.Error("the cache did not come to see three ConfigMaps of tier 0")
	}
	list("cached by label", u.cached, client.MatchingLabels{"tier": "0"})
	u.must(u.direct.DeleteAllOf(u.ctx, &corev1.ConfigMap{}, client.InNamespace(u.ns), client.MatchingLabels{"tier": "1"}))
	list("deleted by label", u.direct)
}

// readsItsWrites writes by the client of the manager, which reads from its cache,
// and reads at once what it wrote: the client holds the read back until a watch
// has delivered the write, and knows that by comparing revisions as numbers.
func (u *user) readsItsWrites() {
	o := &corev1.ConfigMap{}
	o.Namespace, o.Name = u.ns, "own"
	u.must(u.cached.Create(u.ctx, o))
	for i := range 20 {
		o.Data = map[string]string{"n": fmt.Sprint(i)}
		u.must(u.cached.Update(u.ctx, o))
		read := &corev1.ConfigMap{}
		u.must(u.cached.Get(u.ctx, u.key("own"), read))
		if read.ResourceVersion != o.ResourceVersion {
			u.t.Errorf("after update %d the cache has revision %s; want %s", i, read.ResourceVersion, o.ResourceVersion)
		}
	}
	u.must(u.cached.Delete(u.ctx, o))
	u.refused("get what was deleted, cached", u.cached.Get(u.ctx, u.key("own"), o))
}
