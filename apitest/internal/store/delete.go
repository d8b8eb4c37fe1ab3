package store

import (
	"slices"

	"github.com/listwatch/listwatch/apitest/internal/kinds"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

// Deletion has the options of a deletion.
type Deletion struct {
	Dry    bool
	Policy string // Foreground, Orphan or Background; the collector completes the first two
}

// Remove deletes o, or, if finalizers keep it, marks it as being deleted. It returns
// the last state. The caller holds the lock.
func (st *Store) Remove(t *Table, o *object.Object, d Deletion) (last *object.Object, kept bool) {
	st.unsettled = st.unsettled || !d.Dry
	if t.Info.Resource == kube.CustomResourceDefinitions && !d.Dry && o.Meta.DeletionTimestamp == "" {
		if marked := st.retire(t, o); marked != nil {
			if last := t.objects[o.Key]; last != nil {
				marked = last
			}
			return marked, true
		}
	}
	finalizers := d.finalizers(t.Info, o)
	same := slices.Equal(finalizers, o.Meta.Finalizers)
	if t.Info.Resource == kube.Pods && o.Meta.DeletionTimestamp == "" {
		o, same = st.mark(t, o, finalizers, d), true // as for a pod without a kubelet
	}
	if len(finalizers) == 0 && !Emptying(t.Info.Resource, o) {
		if !d.Dry {
			o = o.Stamped(t.Info, st.Commit(t, o.Key, nil))
		}
		return o, false
	}
	if o.Meta.DeletionTimestamp != "" && same {
		return o, true
	}
	return st.mark(t, o, finalizers, d), true
}

// mark writes that o is being deleted.
func (st *Store) mark(t *Table, o *object.Object, finalizers []string, d Deletion) *object.Object {
	marked := &object.Object{Key: o.Key, Meta: o.Meta, Fields: o.Fields, Revision: o.Revision}
	marked.Meta.Finalizers = finalizers
	if o.Meta.DeletionTimestamp == "" {
		marked.Meta.DeletionTimestamp = object.Timestamp()
		marked.Meta.DeletionGracePeriodSeconds = new(int64(0))
		if o.Meta.Generation > 0 && t.Info.Resource != kube.Namespaces {
			marked.Meta.Generation++
		}
	}
	if t.Info.Resource == kube.Namespaces && Emptying(t.Info.Resource, o) {
		marked.Meta.DeletionGracePeriodSeconds = nil
		setTerminating(marked)
	}
	if d.Dry {
		marked.Seal(t.Info, o.Revision)
		return marked
	}
	st.Commit(t, o.Key, marked)
	return marked
}

const Background = "Background"

// finalizers returns the finalizers of o after a deletion with d: the policy of d has
// precedence over that of earlier requests, and that over the default.
func (d Deletion) finalizers(info *object.Info, o *object.Object) []string {
	has := func(name string) bool { return slices.Contains(o.Meta.Finalizers, name) }
	add := ""
	switch {
	case kinds.StrategyOf(info).Plain || d.Policy == Background:
	case d.Policy == "Foreground", d.Policy == "" && has(foreground) && !has(orphan):
		add = foreground
	case d.Policy == "Orphan", d.Policy == "" && has(orphan):
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
