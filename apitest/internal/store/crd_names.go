package store

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

// Two definitions of a group cannot have the same name: the second is not served until the
// first one releases it. This is the naming controller of kube-apiserver, and the
// establishing controller, which follows it at once; see
// https://github.com/kubernetes/apiextensions-apiserver/tree/master/pkg/controller/status.

// crdStatus is the part of a definition's status that these controllers write.
type crdStatus struct {
	Conditions []map[string]any `json:"conditions"`
	Names      crdNames         `json:"acceptedNames"`
}

// statusOf reads the status of a definition; false if it was stored without conditions, to
// which the controllers add nothing.
func statusOf(o *object.Object) (s crdStatus, ok bool) {
	raw, _ := o.Field("status")
	columns.DecodeLenient(raw, &s)
	return s, len(object.LookupJSON(raw, "conditions")) > 0
}

// condition returns a condition, nil if there is none.
func (s *crdStatus) condition(typ string) map[string]any {
	for _, c := range s.Conditions {
		if c["type"] == typ {
			return c
		}
	}
	return nil
}

// is reports whether a condition is true.
func (s *crdStatus) is(typ string) bool { return s.condition(typ)["status"] == "True" }

// set sets a condition.
func (s *crdStatus) set(typ, status, reason, message string) {
	c := s.condition(typ)
	if c == nil {
		c = map[string]any{"type": typ}
		s.Conditions = append(s.Conditions, c)
	}
	if c["status"] != status {
		c["lastTransitionTime"] = object.Timestamp()
	}
	c["status"], c["reason"], c["message"] = status, reason, message
}

// heldNames returns the names that a definition has, and whether it is served with them.
func heldNames(o *object.Object) (n crdNames, served bool) {
	s, ok := statusOf(o)
	if !ok {
		return askedNames(o), true
	}
	return s.Names, s.Names.Plural != "" && s.Names.Kind != "" && (s.is("NamesAccepted") || s.is("Established"))
}

// waits reports whether a resource has a definition that is not served, as another one has its
// names. The caller holds the lock.
func (st *Store) waits(r kube.Resource) bool {
	definitions := st.tables[kube.CustomResourceDefinitions.GroupResource()]
	if definitions == nil {
		return false // they are all being removed
	}
	o := definitions.objects[kube.Key{Name: r.GroupResource()}]
	if o == nil {
		return false
	}
	_, served := heldNames(o)
	return !served
}

// askedNames returns the names in the spec of a definition.
func askedNames(o *object.Object) (n crdNames) {
	spec, _ := o.Field("spec")
	columns.DecodeLenient(object.LookupJSON(spec, "names"), &n)
	return n
}

// same reports whether n and other differ in nothing that has a meaning.
func (n crdNames) same(other crdNames) bool {
	return bytes.Equal(object.Marshal(n), object.Marshal(other))
}

// named returns a definition, which has been stored, with what the controllers change in its
// status; nil if they change nothing. The caller holds the lock.
func (st *Store) named(o *object.Object) *object.Object {
	s, ok := statusOf(o)
	asked := askedNames(o)
	if t := st.tables[o.Key.Name]; !ok || asked.same(s.Names) || t != nil && t.Info.BuiltIn {
		return nil
	}
	before := object.Marshal(s)
	if reason, message := s.take(asked, st.namesIn(groupOf(o.Key))); reason != "" {
		s.set("NamesAccepted", "False", reason, message)
		if s.condition("Established") == nil {
			s.set("Established", "False", "NotAccepted", "not all names are accepted")
		}
	} else {
		s.set("NamesAccepted", "True", "NoConflicts", "no conflicts found")
		if !s.is("Established") {
			s.set("Established", "True", "InitialNamesAccepted", "the initial names have been accepted")
		}
	}
	if bytes.Equal(before, object.Marshal(s)) {
		return nil
	}
	next := &object.Object{Key: o.Key, Meta: o.Meta, Fields: o.Fields}
	status, _ := o.Field("status")
	next.SetField("status", object.SetAt(object.SetAt(status, "conditions", s.Conditions), "acceptedNames", s.Names), true)
	return next
}

// takenNames are the names that the definitions of a group have.
type takenNames struct{ resources, kinds map[string]bool }

// take accepts the names that are free or were accepted before, and returns the last
// conflict.
func (s *crdStatus) take(asked crdNames, taken takenNames) (reason, message string) {
	one := func(conflict string, held *string, asked string, taken map[string]bool) {
		if asked != *held && taken[asked] {
			reason, message = conflict, fmt.Sprintf("%q is already in use", asked)
			return
		}
		*held = asked
	}
	one("PluralConflict", &s.Names.Plural, asked.Plural, taken.resources)
	one("SingularConflict", &s.Names.Singular, asked.Singular, taken.resources)
	var used []string
	for _, name := range asked.ShortNames {
		if text := fmt.Sprintf("%q is already in use", name); taken.resources[name] && !slices.Contains(s.Names.ShortNames, name) && !slices.Contains(used, text) {
			used = append(used, text)
		}
	}
	switch len(used) {
	case 0:
		s.Names.ShortNames = asked.ShortNames
	case 1:
		reason, message = "ShortNamesConflict", used[0]
	default:
		reason, message = "ShortNamesConflict", "["+strings.Join(used, ", ")+"]"
	}
	one("KindConflict", &s.Names.Kind, asked.Kind, taken.kinds)
	one("ListKindConflict", &s.Names.ListKind, asked.ListKind, taken.kinds)
	s.Names.Categories = asked.Categories
	return reason, message
}

// groupOf returns the group in the name of a definition.
func groupOf(key kube.Key) string {
	_, group, _ := strings.Cut(key.Name, ".")
	return group
}

// namesIn returns the names that the definitions of a group have. The caller holds the lock.
func (st *Store) namesIn(group string) takenNames {
	taken := takenNames{map[string]bool{}, map[string]bool{}}
	for o := range st.tables[kube.CustomResourceDefinitions.GroupResource()].sorted.All() {
		if groupOf(o.Key) != group {
			continue
		}
		n, _ := heldNames(o)
		for _, name := range append([]string{n.Plural, n.Singular}, n.ShortNames...) {
			taken.resources[name] = true
		}
		taken.kinds[n.Kind], taken.kinds[n.ListKind] = true, true
	}
	return taken
}

// released has the controllers look at the other definitions of a group again, if a write of
// one of them releases a name. next is nil for a deletion. The caller holds the lock.
func (st *Store) released(prev, next *object.Object) {
	if next != nil {
		had, _ := heldNames(prev)
		if has, _ := heldNames(next); has.same(had) {
			return
		}
	}
	definitions := st.tables[kube.CustomResourceDefinitions.GroupResource()]
	if definitions == nil {
		return // they are all being removed
	}
	for o := range definitions.sorted.All() { // as they were at the beginning
		if now := definitions.objects[o.Key]; now != nil && groupOf(o.Key) == groupOf(prev.Key) {
			if more := st.named(now); more != nil {
				st.Commit(definitions, more.Key, more)
			}
		}
	}
}
