package simulate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/listwatch/listwatch/kube"
)

// controllerRevisions is the resource of the templates that StatefulSets and DaemonSets have
// and had.
var controllerRevisions = kube.Resource{Group: "apps", Version: "v1", Plural: "controllerrevisions", Kind: "ControllerRevision", Namespaced: true}

type controllerRevision struct {
	object
	Data struct {
		Spec struct {
			Template json.RawMessage `json:"template"`
		} `json:"spec"`
	} `json:"data"`
	Revision int64 `json:"revision"`
}

func (r *controllerRevision) base() *object {
	if r == nil {
		return nil
	}
	return &r.object
}

// revisionLabel is the label for the template of a pod.
const revisionLabel = "controller-revision-hash"

// sawRevision updates the index by owner. An owner makes again what it needs of deleted ones.
func (c *Cluster) sawRevision(old, r *controllerRevision) {
	if old != nil {
		o := old.Metadata.controller()
		delete(c.history[o.UID], old.Metadata.Name)
		if len(c.history[o.UID]) == 0 {
			delete(c.history, o.UID)
		}
		for _, of := range []kube.Resource{kube.StatefulSets, kube.DaemonSets} {
			if r == nil && o.Kind == of.Kind && o.APIVersion == of.APIVersion() {
				c.mark(task{of.Plural, kube.Key{Namespace: old.Metadata.Namespace, Name: o.Name}})
			}
		}
	}
	if r != nil {
		if uid := r.Metadata.controller().UID; uid != "" {
			if c.history[uid] == nil {
				c.history[uid] = map[string]*controllerRevision{}
			}
			c.history[uid][r.Metadata.Name] = r
		}
	}
}

// complete reports whether the server has set its defaults in o. If not, they are set now, and o is
// synced again: later they would look like another template.
func (c *Cluster) complete(ctx context.Context, r kube.Resource, o *object) bool {
	if len(c.history[o.Metadata.UID]) > 0 {
		return true
	}
	c.patch(ctx, r, o, map[string]any{}) // changes nothing else; o may do without
	return bytes.Equal(c.srv.Get(r, o.key()), o.body)
}

// revise makes the revision of the current template of o the last one, and creates it if there
// is none. It returns its name, which ends in hash.
func (c *Cluster) revise(r kube.Resource, o *object, template json.RawMessage, hash string) string {
	name := o.Metadata.Name + "-" + hash
	last := int64(0) // of the others
	for n, other := range c.history[o.Metadata.UID] {
		if n != name {
			last = max(last, other.Revision)
		}
	}
	if known := c.history[o.Metadata.UID][name]; known != nil {
		if known.Revision <= last {
			f := fieldsOf(known.body)
			f.set("revision", last+1)
			c.put(controllerRevisions, &known.object, f)
		}
		return name
	}
	var t struct {
		Metadata metadata `json:"metadata"`
	}
	_ = json.Unmarshal(template, &t) // on an error there are no labels
	labels := map[string]string{}
	maps.Copy(labels, t.Metadata.Labels)
	labels[revisionLabel] = hash
	whole := fieldsOf(template)
	whole.set("$patch", "replace")
	if !c.create(controllerRevisions, kube.Key{Namespace: o.Metadata.Namespace, Name: name}, map[string]any{
		"metadata": metadata{Name: name, Namespace: o.Metadata.Namespace, Labels: labels, Annotations: o.Metadata.Annotations, OwnerReferences: ownedBy(r, o)},
		"data":     map[string]any{"spec": map[string]any{"template": whole}},
		"revision": last + 1,
	}) {
		c.orphaned = true // it may be of an earlier owner with this name
		c.later(c.now.Add(time.Second), task{r.Plural, o.key()})
	}
	return name
}

// forget deletes the oldest revisions of o beyond the limit; those in use do not count.
func (c *Cluster) forget(o *object, limit *int, used map[string]bool) {
	keep := 10
	if limit != nil {
		keep = max(0, *limit)
	}
	var idle []*controllerRevision
	for name, r := range c.history[o.Metadata.UID] {
		if !used[name] {
			idle = append(idle, r)
		}
	}
	slices.SortFunc(idle, func(a, b *controllerRevision) int {
		return cmp.Or(cmp.Compare(a.Revision, b.Revision), cmp.Compare(a.Metadata.Name, b.Metadata.Name))
	})
	for _, r := range idle[:max(0, len(idle)-keep)] {
		c.remove(controllerRevisions, &r.object)
	}
}
