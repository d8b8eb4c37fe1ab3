package columns

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/jsonpath"
)

// customColumn is a column with the path of its value.
type customColumn struct {
	object.Column
	path *jsonpath.Template // nil = invalid path: the column stays empty
}

// Custom returns the printer of a custom resource; see
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#additional-printer-columns.
// One of a definition has exactly the columns of the definition; one of a test has Age
// too, before the columns for -o wide.
func Custom(info *object.Info) Printer {
	age := object.Column{Name: "Age", Type: "date", Path: "metadata.creationTimestamp", Description: AgeColumn().Description}
	own := info.Columns
	if len(own) == 0 || !info.Defined() {
		var shown, hidden []object.Column
		for _, c := range own {
			if c.Priority > 0 {
				hidden = append(hidden, c)
			} else {
				shown = append(shown, c)
			}
		}
		own = slices.Concat(shown, []object.Column{age}, hidden)
	}
	var list []customColumn
	p := Printer{Columns: List()}
	for _, c := range own {
		c.Type = cmp.Or(c.Type, "string")
		path, _ := jsonpath.Parse("{." + strings.TrimPrefix(c.Path, ".") + "}")
		list = append(list, customColumn{c, path})
		d := Definition{Name: c.Name, Type: c.Type, Format: c.Format, Priority: c.Priority}
		d.Description = cmp.Or(c.Description, "Custom resource definition column (in JSONPath format): ."+c.Path)
		p.Columns = append(p.Columns, d)
	}
	p.Cells = func(r *Row) {
		r.Add(r.Meta.Name)
		t := tree{Object: r.Object}
		for i := range list {
			r.Add(list[i].value(r, &t))
		}
	}
	return p
}

// tree is an object whose members are decoded on demand, each once.
type tree struct {
	*object.Object
	members map[string]any
	whole   bool
}

// root returns an object in which the first member of path is decoded.
func (t *tree) root(path *jsonpath.Template) map[string]any {
	if t.whole {
		return t.members
	}
	name, ok := path.Root()
	if !ok || name == "kind" || name == "apiVersion" {
		t.members, _ = decodeTree(t.Body).(map[string]any)
		t.whole = true
		return t.members
	}
	if _, ok := t.members[name]; ok {
		return t.members
	}
	raw, ok := t.Field(name)
	if name == "metadata" {
		raw, ok = t.RawMeta, true
	}
	if ok {
		if t.members == nil {
			t.members = map[string]any{}
		}
		t.members[name] = decodeTree(raw)
	}
	return t.members
}

func decodeTree(b []byte) any {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil
	}
	return v
}

// value returns the value in the object, in the type of the column; nil if there is
// none or it has another type.
func (c *customColumn) value(r *Row, t *tree) any {
	if c.path == nil {
		return nil
	}
	found, err := c.path.Find(t.root(c.path))
	if err != nil || len(found) == 0 || len(found[0]) == 0 {
		return nil
	}
	value := found[0][0]
	if n, ok := value.(json.Number); ok {
		if value, err = n.Int64(); err != nil {
			value, _ = n.Float64()
		}
	}
	switch c.Type {
	case "string":
		switch value.(type) {
		case nil:
			return "<no value>"
		case map[string]any, []any:
			return string(object.Marshal(value))
		}
		return fmt.Sprint(value)
	case "integer":
		switch n := value.(type) {
		case int64:
			return n
		case float64:
			return int64(n)
		}
	case "number":
		switch n := value.(type) {
		case int64:
			return float64(n)
		case float64:
			return n
		}
	case "boolean":
		if b, ok := value.(bool); ok {
			return b
		}
	case "date":
		if s, ok := value.(string); ok {
			if _, err := time.Parse(time.RFC3339, s); err != nil && s != "" && s != "null" {
				return "<invalid>"
			}
			return r.Since(s)
		}
	}
	return nil
}
