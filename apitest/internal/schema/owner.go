package schema

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/merge"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/listwatch/listwatch/apitest/internal/causes"
	"github.com/listwatch/listwatch/kube"
)

func (t *Type) updater(w Write) *merge.Updater {
	version := fieldpath.APIVersion(t.id.apiVersion())
	u := merge.UpdaterBuilder{Converter: sameVersion{t.id}}
	if reset := t.resets(w); reset != nil {
		u.IgnoreFilter = map[fieldpath.APIVersion]fieldpath.Filter{version: fieldpath.NewExcludeSetFilter(reset)}
	}
	return u.BuildUpdater()
}

// resets returns the fields that w cannot change.
func (t *Type) resets(w Write) *fieldpath.Set {
	path := func(names ...any) fieldpath.Path { return fieldpath.MakePathOrDie(names...) }
	switch {
	case w.Subresource == "status":
		set := fieldpath.NewSet(path("spec"))
		switch {
		case !t.builtIn:
			set.Insert(path("metadata"))
		case t.id.kind == "Deployment":
			set.Insert(path("metadata", "labels"))
		case t.id.kind == "Pod":
			set.Insert(path("metadata", "deletionTimestamp"))
			set.Insert(path("metadata", "ownerReferences"))
		}
		return set
	case w.Subresource == "" && w.HasStatus:
		return fieldpath.NewSet(path("status"))
	}
	return nil
}

// strip takes from an entry what nobody owns.
func strip(m *managed, id string) {
	set, ok := m.fields[id]
	if !ok {
		return
	}
	fields := set.Set().Difference(unowned())
	if fields.Empty() {
		delete(m.fields, id)
		return
	}
	m.fields[id] = fieldpath.NewVersionedSet(fields, set.APIVersion(), set.Applied())
}

// unowned is what nobody owns; it is not changed.
var unowned = sync.OnceValue(func() *fieldpath.Set {
	set := fieldpath.NewSet(fieldpath.MakePathOrDie("apiVersion"), fieldpath.MakePathOrDie("kind"), fieldpath.MakePathOrDie("metadata"))
	for _, name := range []string{"name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation", "managedFields", "resourceVersion"} {
		set.Insert(fieldpath.MakePathOrDie("metadata", name))
	}
	return set
})

// sameVersion converts between versions of a group by doing nothing, which is
// right for custom resources without a webhook.
type sameVersion struct{ id gvk }

func (c sameVersion) Convert(v *typed.TypedValue, to fieldpath.APIVersion) (*typed.TypedValue, error) {
	group, _, found := strings.Cut(string(to), "/")
	if !found {
		group = ""
	}
	if group != c.id.group {
		return nil, errOtherGroup
	}
	return v, nil
}

func (c sameVersion) IsMissingVersionError(err error) bool { return errors.Is(err, errOtherGroup) }

var errOtherGroup = errors.New("another group")

// conflict is the answer to an apply that would take fields from others.
func conflict(conflicts merge.Conflicts) error {
	// One entry after the other, as kube-apiserver most often has them.
	slices.SortStableFunc(conflicts, func(a, b merge.Conflict) int { return strings.Compare(a.Manager, b.Manager) })
	var list causes.List
	var text strings.Builder
	last := ""
	for _, c := range conflicts {
		who, _ := managerOf(c.Manager) // one that we made
		path := short(c.Path.String())
		list.Add(kube.StatusCause{Reason: "FieldManagerConflict", Message: "conflict with " + who.String(), Field: path})
		if c.Manager != last {
			fmt.Fprintf(&text, "\nconflicts with %v:", who)
			last = c.Manager
		}
		if text.WriteString("\n- " + path); list.Full() {
			break
		}
	}
	st := &kube.Status{Code: http.StatusConflict, Reason: "Conflict", Details: &kube.StatusDetails{Causes: list.Causes},
		Message: fmt.Sprintf("Apply failed with %d conflicts: %s", len(conflicts), strings.TrimPrefix(text.String(), "\n"))}
	if c := list.Causes; len(c) == 1 {
		st.Message = fmt.Sprintf("Apply failed with 1 conflict: %s: %s", c[0].Message, c[0].Field)
	}
	return st
}

func internal(format string, args ...any) error {
	return &kube.Status{Code: http.StatusInternalServerError, Message: fmt.Sprintf(format, args...)}
}
