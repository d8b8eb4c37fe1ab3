package schema

import (
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/merge"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

const (
	kubectl     = "kubectl" // the manager of kubectl apply --server-side
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

	// annotationsLimit is how long all annotations together may be.
	annotationsLimit = 256 << 10
)

// without drops the conflicts about fields that are as kubectl apply, the one on
// the client's side, set them.
func (t *Type) without(conflicts merge.Conflicts, live map[string]any) merge.Conflicts {
	set := t.lastApplied(live)
	if set == nil {
		return conflicts
	}
	var left merge.Conflicts
	for _, c := range conflicts {
		if !set.Has(c.Path) {
			left = append(left, c)
		}
	}
	return left
}

// lastApplied returns the fields of live that kubectl apply set and that nobody
// has changed, nil where that is not known.
func (t *Type) lastApplied(live map[string]any) *fieldpath.Set {
	text, _ := annotations(live)[lastApplied].(string)
	if text == "" {
		return nil
	}
	config, err := DecodeObject([]byte(text))
	if err != nil || config["apiVersion"] != t.id.apiVersion() {
		return nil
	}
	was, err := t.Typed().FromUnstructured(config)
	if err != nil {
		return nil
	}
	is, err := t.typed(live, typed.AllowDuplicates)
	if err != nil {
		return nil
	}
	set, err := was.ToFieldSet()
	if err != nil {
		return nil
	}
	change, err := was.Compare(is)
	if err != nil {
		return nil
	}
	return set.Difference(change.Modified).Difference(change.Added).Difference(change.Removed)
}

// syncLastApplied sets the annotation of kubectl apply, where the object has one,
// to what was applied now.
func syncLastApplied(o, config map[string]any) {
	notes := annotations(o)
	if text, _ := notes[lastApplied].(string); text == "" {
		return
	}
	config = Copy(config)
	delete(annotations(config), lastApplied)
	b, err := Encode(config)
	if err != nil {
		return
	}
	notes[lastApplied] = string(b) + "\n"
	size := 0
	for name, v := range notes {
		text, _ := v.(string)
		size += len(name) + len(text)
	}
	if size > annotationsLimit {
		delete(notes, lastApplied)
	}
}

func annotations(o map[string]any) map[string]any {
	meta, _ := o["metadata"].(map[string]any)
	notes, _ := meta["annotations"].(map[string]any)
	return notes
}

func managedOf(o map[string]any) any {
	meta, _ := o["metadata"].(map[string]any)
	return meta["managedFields"]
}

func setManaged(o map[string]any, v any) {
	meta, ok := o["metadata"].(map[string]any)
	switch {
	case v == nil:
		delete(meta, "managedFields")
	case ok:
		meta["managedFields"] = v
	default:
		o["metadata"] = map[string]any{"managedFields": v}
	}
}

// withoutManaged returns a copy of o, as deep as needed, without managedFields.
func withoutManaged(o map[string]any) map[string]any {
	meta, ok := o["metadata"].(map[string]any)
	if !ok {
		return o
	}
	c, m := make(map[string]any, len(o)), make(map[string]any, len(meta))
	for name, v := range o {
		c[name] = v
	}
	for name, v := range meta {
		if name != "managedFields" {
			m[name] = v
		}
	}
	c["metadata"] = m
	return c
}

func isEmptyEntry(v any) bool {
	m, ok := v.(map[string]any)
	return ok && len(m) == 0
}

func kindOf(o map[string]any) gvk {
	version, _ := o["apiVersion"].(string)
	kind, _ := o["kind"].(string)
	return parseKind(version, kind)
}

func parseKind(apiVersion, kind string) gvk {
	for i := range len(apiVersion) {
		if apiVersion[i] == '/' {
			return gvk{apiVersion[:i], apiVersion[i+1:], kind}
		}
	}
	return gvk{"", apiVersion, kind}
}

// whatIs names an object as kube-apiserver's errors do.
func whatIs(o map[string]any) string {
	meta, _ := o["metadata"].(map[string]any)
	namespace, _ := meta["namespace"].(string)
	name, _ := meta["name"].(string)
	return namespace + "/" + name + "; " + kindOf(o).String()
}
