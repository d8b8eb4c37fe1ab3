package schema

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// manager identifies an entry of managedFields. An Apply is the same
// entry whatever its apiVersion.
type manager struct {
	Manager     string `json:"manager,omitempty"`
	Operation   string `json:"operation,omitempty"`
	APIVersion  string `json:"apiVersion,omitempty"`
	Subresource string `json:"subresource,omitempty"`
}

const (
	opApply  = "Apply"
	opUpdate = "Update"
)

// id is the name under which structured-merge-diff knows m.
func (m manager) id() string {
	if m.Operation == opApply {
		m.APIVersion = ""
	}
	e := encoder{b: append(make([]byte, 0, 96), '{')}
	for _, part := range [...][2]string{{"manager", m.Manager}, {"operation", m.Operation}, {"apiVersion", m.APIVersion}, {"subresource", m.Subresource}} {
		if part[1] == "" {
			continue
		}
		if len(e.b) > 1 {
			e.b = append(e.b, ',')
		}
		e.string("", part[0])
		e.b = append(e.b, ':')
		e.string("", part[1])
	}
	return string(append(e.b, '}'))
}

func managerOf(id string) (manager, error) {
	var m manager
	err := json.Unmarshal([]byte(id), &m)
	return m, err
}

// String names m as in a conflict.
func (m manager) String() string {
	s := fmt.Sprintf("%q", m.Manager)
	if m.Subresource != "" {
		s += fmt.Sprintf(" with subresource %q", m.Subresource)
	}
	if m.Operation == opUpdate {
		s += " using " + m.APIVersion
	}
	return s
}

// managed is a decoded metadata.managedFields.
type managed struct {
	fields fieldpath.ManagedFields // some are written sets
	times  map[string]string
	who    map[string]manager // some of the ids, read
}

func newManaged() *managed {
	return &managed{fieldpath.ManagedFields{}, make(map[string]string), make(map[string]manager)}
}

// managedLimit is how many entries are read.
const managedLimit = 1000

// decodeManaged reads the value of metadata.managedFields.
func decodeManaged(v any) (*managed, error) {
	m := newManaged()
	list, ok := v.([]any)
	if !ok && v != nil || len(list) > managedLimit {
		return nil, errors.New("managedFields is not a list of reasonable length")
	}
	for i, e := range list {
		entry, ok := e.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("managed fields entry %d is not an object", i)
		}
		s := members{m: entry}
		who := manager{s.text("manager"), s.text("operation"), s.text("apiVersion"), s.text("subresource")}
		switch typ := s.text("fieldsType"); {
		case who.Operation != opApply && who.Operation != opUpdate:
			return nil, errors.New("operation must be `Apply` or `Update`")
		case who.APIVersion == "":
			return nil, errors.New("apiVersion must not be empty")
		case typ == "":
			return nil, fmt.Errorf("missing fieldsType in managed fields entry %d", i)
		case typ != "FieldsV1":
			return nil, fmt.Errorf("invalid fieldsType %q in managed fields entry %d", typ, i)
		}
		fields, ok := member[map[string]any](&s, "fieldsV1")
		if s.err != nil {
			return nil, s.err
		}
		set := fieldpath.NewSet()
		if ok {
			if err := readSet(set, fields); err != nil {
				return nil, fmt.Errorf("managed fields entry %d: %w", i, err)
			}
		}
		id := who.id()
		m.fields[id] = fieldpath.NewVersionedSet(set, fieldpath.APIVersion(who.APIVersion), who.Operation == opApply)
		if at := s.text("time"); at != "" {
			m.times[id] = at
		}
	}
	return m, nil
}

// readSet adds what fieldsV1 says to set.
func readSet(set *fieldpath.Set, fields map[string]any) error {
	for _, name := range sortedKeys(fields) { // in order an element goes to the end of the set
		e := fields[name]
		if name == "." {
			continue // its owner's
		}
		pe, err := fieldpath.DeserializePathElement(name)
		if err == fieldpath.ErrUnknownPathElementType {
			continue // of a newer version
		} else if err != nil {
			return err
		}
		below, ok := e.(map[string]any)
		if !ok {
			return fmt.Errorf("%s is not an object", name)
		}
		_, dot := below["."]
		if dot || len(below) == 0 {
			set.Members.Insert(pe)
		}
		if !dot && len(below) > 0 || len(below) > 1 {
			if err := readSet(set.Children.Descend(pe), below); err != nil {
				return err
			}
		}
	}
	return nil
}

// entry is one of managedFields.
type entry struct {
	manager
	set  fieldpath.VersionedSet
	time string
	at   int64 // the same, in seconds
}

// entries returns what m has, in its order.
func (m *managed) entries() []entry {
	entries := make([]entry, 0, len(m.fields))
	for id, set := range m.fields {
		who, ok := m.who[id]
		if !ok {
			who, _ = managerOf(id) // one that we made
		}
		who.APIVersion = string(set.APIVersion())
		e := entry{manager: who, set: set, time: m.times[id]}
		if t, err := time.Parse(time.RFC3339, e.time); err == nil {
			e.at = t.Unix()
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.at, b.at), cmp.Compare(a.Manager, b.Manager),
			cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Subresource, b.Subresource))
	})
	return entries
}

// encode returns m as the value of metadata.managedFields, nil where it is empty.
func (m *managed) encode() (any, error) {
	b, err := m.json(false)
	if b == nil || err != nil {
		return nil, err
	}
	return Decode(b)
}

// json is encode as JSON.
func (m *managed) json(builtIn bool) ([]byte, error) {
	if len(m.fields) == 0 {
		return nil, nil
	}
	e := encoder{b: make([]byte, 0, 512)}
	e.managed(m, builtIn)
	return e.b, e.err
}

// updatersLimit is how many entries of updates an object has; the oldest of more
// become one.
const updatersLimit = 10

// cap merges the oldest updates of each version into one entry.
func (m *managed) cap() {
	type updater struct {
		id string
		at int64
	}
	var updaters []updater
	for id, set := range m.fields {
		if !set.Applied() {
			at, _ := time.Parse(time.RFC3339, m.times[id])
			updaters = append(updaters, updater{id, at.Unix()})
		}
	}
	slices.SortFunc(updaters, func(a, b updater) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.id, b.id)) })
	first := make(map[fieldpath.APIVersion]string)
	left := len(updaters)
	for _, u := range updaters {
		if left <= updatersLimit {
			return
		}
		set := m.fields[u.id]
		old := manager{"ancient-changes", opUpdate, string(set.APIVersion()), ""}.id()
		head, ok := first[set.APIVersion()]
		if !ok {
			first[set.APIVersion()] = u.id
			continue
		}
		if m.fields[old] == nil {
			m.fields[old] = m.fields[head]
			delete(m.fields, head)
		}
		m.fields[old] = fieldpath.NewVersionedSet(set.Set().Union(m.fields[old].Set()), set.APIVersion(), false)
		m.times[old] = m.times[u.id]
		delete(m.fields, u.id)
		left--
	}
}
