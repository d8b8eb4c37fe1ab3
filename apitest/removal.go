package apitest

import (
	"slices"

	"github.com/listwatch/listwatch/apitest/internal/kinds"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

// deletion is how objects are deleted.
type deletion struct {
	dry    bool
	policy string // Foreground, Orphan or Background; the collector ends the first two
}

// remove deletes o, or, where finalizers keep it, marks it as being deleted.
// It returns the last state. The caller holds mu.
func (st *store) remove(t *table, o *object.Object, d deletion) (last *object.Object, kept bool) {
	if t.info.Resource == kube.CustomResourceDefinitions && !d.dry && o.Meta.DeletionTimestamp == "" {
		if marked := st.retire(t, o); marked != nil {
			if last := t.objects[o.Key]; last != nil {
				marked = last
			}
			return marked, true
		}
	}
	finalizers := d.finalizers(t.info, o)
	same := slices.Equal(finalizers, o.Meta.Finalizers)
	if t.info.Resource == kube.Pods && o.Meta.DeletionTimestamp == "" {
		o, same = st.mark(t, o, finalizers, d), true // as for a pod that no kubelet has
	}
	if len(finalizers) == 0 && !emptying(t.info.Resource, o) {
		if !d.dry {
			o = o.Stamped(t.info, st.commit(t, o.Key, nil))
		}
		return o, false
	}
	if o.Meta.DeletionTimestamp != "" && same {
		return o, true
	}
	return st.mark(t, o, finalizers, d), true
}

// mark writes that o is being deleted.
func (st *store) mark(t *table, o *object.Object, finalizers []string, d deletion) *object.Object {
	marked := &object.Object{Key: o.Key, Meta: o.Meta, Fields: o.Fields, Revision: o.Revision}
	marked.Meta.Finalizers = finalizers
	if o.Meta.DeletionTimestamp == "" {
		marked.Meta.DeletionTimestamp = object.Timestamp()
		marked.Meta.DeletionGracePeriodSeconds = new(int64(0))
		if o.Meta.Generation > 0 && t.info.Resource != kube.Namespaces {
			marked.Meta.Generation++
		}
	}
	if t.info.Resource == kube.Namespaces && emptying(t.info.Resource, o) {
		marked.Meta.DeletionGracePeriodSeconds = nil
		setTerminating(marked)
	}
	if d.dry {
		marked.Seal(t.info, o.Revision)
		return marked
	}
	st.commit(t, o.Key, marked)
	return marked
}

const background = "Background"

// finalizers returns the finalizers of o once d is asked for: what d says of
// dependents counts more than what was asked before, and that more than what is
// usual.
func (d deletion) finalizers(info *object.Info, o *object.Object) []string {
	has := func(name string) bool { return slices.Contains(o.Meta.Finalizers, name) }
	add := ""
	switch {
	case kinds.StrategyOf(info).Plain || d.policy == background:
	case d.policy == "Foreground", d.policy == "" && has(foreground) && !has(orphan):
		add = foreground
	case d.policy == "Orphan", d.policy == "" && has(orphan):
		add = orphan
	case kinds.StrategyOf(info).Orphans:
		add = orphan
	}
	if has(foreground) == (add == foreground) && has(orphan) == (add == orphan) {
		return o.Meta.Finalizers
	}
	list := slices.DeleteFunc(slices.Clone(o.Meta.Finalizers), func(s string) bool { return s == orphan || s == foreground })
	if add != "" {
		list = append(list, add)
	}
	return list
}
