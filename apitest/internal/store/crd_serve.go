package store

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/kinds"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

// resourcesOf returns the resources of a definition: the stored version, which may be
// unserved, and the other served ones. Nil = its names are not accepted.
func resourcesOf(o *object.Object) (kept *object.Info, others []*object.Info) {
	raw, _ := o.Field("spec")
	var s crdSpec
	names, served := heldNames(o)
	if json.Unmarshal(raw, &s) != nil || s.stored() == nil || !served {
		return nil, nil
	}
	s.Names = names
	stored := s.resource(s.stored())
	stored.Unserved = !s.stored().Served
	for i := range s.Versions {
		if v := &s.Versions[i]; v.Served && !v.Storage {
			r := s.resource(v)
			r.Kept = &stored
			others = append(others, &r)
		}
	}
	return &stored, others
}

// resource returns one version of s.
func (s *crdSpec) resource(v *crdVersion) object.Info {
	r := object.Info{
		Resource: kube.Resource{Group: s.Group, Version: v.Name, Plural: s.Names.Plural, Kind: s.Names.Kind, Namespaced: s.Scope == "Namespaced"},
		Singular: s.Names.Singular, ShortNames: s.Names.ShortNames, Categories: s.Names.Categories,
		Status: v.Subresources.Status != nil, Schema: v.Schema.OpenAPIV3Schema, ListKindName: cmp.Or(s.Names.ListKind, s.Names.Kind+"List"),
		Warning: s.deprecation(v),
	}
	if c := v.Subresources.Scale; c != nil {
		r.Scale = &object.Scale{SpecReplicas: dotted(c.Spec), StatusReplicas: dotted(c.Status), Selector: dotted(c.Selector)}
	}
	for _, c := range v.Columns {
		r.Columns = append(r.Columns, object.Column{Name: c.Name, Type: c.Type, Path: dotted(c.JSONPath), Priority: c.Priority, Format: c.Format, Description: c.Description})
	}
	for _, f := range v.Fields {
		r.Fields = append(r.Fields, dotted(f.JSONPath))
	}
	return kinds.Complete(r)
}

// deprecation is the warning for requests to v, if it is deprecated.
func (s *crdSpec) deprecation(v *crdVersion) string {
	switch {
	case !v.Deprecated:
		return ""
	case v.Warning != nil:
		return *v.Warning
	}
	text := fmt.Sprintf("%s/%s %s is deprecated", s.Group, v.Name, s.Names.Kind)
	better := ""
	for _, o := range s.Versions {
		if o.Served && !o.Deprecated && object.CompareVersions(o.Name, v.Name) > 0 && (better == "" || object.CompareVersions(o.Name, better) > 0) {
			better = o.Name
		}
	}
	if better != "" {
		text += fmt.Sprintf("; use %s/%s %s", s.Group, better, s.Names.Kind)
	}
	return text
}

// dotted converts the simple JSONPath of a definition to a dotted path.
func dotted(path string) string { return strings.TrimPrefix(path, ".") }

// define adds, changes or removes the resources of a definition that was written. One that
// has the name of a built-in resource serves nothing. The caller holds the lock.
func (st *Store) define(prev, next *object.Object) {
	builtIn := func(kept *object.Info) bool { t := st.tables[kept.GroupResource()]; return t != nil && t.Info.BuiltIn }
	var kept *object.Info
	var others []*object.Info
	var more *object.Object
	if next != nil {
		more = st.named(next)
		kept, others = resourcesOf(cmp.Or(more, next))
	}
	if prev != nil {
		if was, _ := resourcesOf(prev); was != nil && !builtIn(was) && (kept == nil || was.GroupResource() != kept.GroupResource()) {
			st.Drop(was.Resource)
		}
	}
	if kept != nil && !builtIn(kept) {
		if t := st.Table(kept.Resource); t != nil && (t.Info.Kind != kept.Kind || t.Info.Namespaced != kept.Namespaced) {
			st.Drop(kept.Resource) // of an earlier definition, or served without one
		}
		st.serve(kept).redefine(kept, others)
	}
	if more != nil {
		st.Commit(st.tables[kube.CustomResourceDefinitions.GroupResource()], more.Key, more)
	} else if prev != nil {
		st.released(prev, next)
	}
}

// defineAll does so for all definitions, as after a restart. The caller holds the lock.
func (st *Store) defineAll() {
	definitions := st.tables[kube.CustomResourceDefinitions.GroupResource()]
	for o := range definitions.sorted.All() { // as they were at the beginning
		if now := definitions.objects[o.Key]; now != nil {
			st.define(nil, now)
		}
	}
}

// serve returns the table of a definition, a new one if there is none. The caller holds
// the lock.
func (st *Store) serve(kept *object.Info) *Table {
	name := kept.GroupResource()
	if st.addLocked(*kept) {
		st.tables[name].defined = true
	}
	return st.tables[name]
}

// redefine sets the versions of t. If they have changed, the stored objects are stored
// again, with their revisions, and watches end.
func (t *Table) redefine(kept *object.Info, others []*object.Info) {
	names := func(kept *object.Info, others []*object.Info) string {
		list := []string{fmt.Sprint(kept.Version, kept.Unserved)}
		for _, r := range others {
			list = append(list, r.Version)
		}
		return strings.Join(list, " ")
	}
	changed := names(t.Info, t.forms) != names(kept, others)
	moved := t.Info.Version != kept.Version
	t.Info, t.forms = kept, others
	if changed {
		for w := range t.watches {
			w.end(EndClean)
		}
	}
	if !moved {
		return
	}
	converted := map[*object.Object]*object.Object{}
	again := func(o *object.Object) *object.Object {
		if o == nil {
			return nil
		}
		if converted[o] == nil {
			c := *o
			c.Seal(kept, o.Revision)
			c.Moved = true
			converted[o] = &c
		}
		return converted[o]
	}
	for key, o := range t.objects {
		t.objects[key] = again(o)
		t.sorted = t.sorted.with(again(o))
	}
	t.past = nil
	t.log = slices.Clone(t.log) // others may read it
	for i, e := range t.log {
		t.log[i] = Event{e.rv, again(e.prev), again(e.next), again(e.gone)}
	}
	t.bytes = pastOf(t.log)
}
