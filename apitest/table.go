package apitest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// columnDefinition describes a column of a Table on the wire.
type columnDefinition struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Format      string `json:"format"`
	Description string `json:"description"`
	Priority    int    `json:"priority"`
}

type tableRow struct {
	Cells  []any           `json:"cells"`
	Object json.RawMessage `json:"object,omitempty"`
}

// wireTable has null columns in the later frames of a watch.
type wireTable struct {
	Kind       string             `json:"kind"`
	APIVersion string             `json:"apiVersion"`
	Metadata   listMeta           `json:"metadata"`
	Columns    []columnDefinition `json:"columnDefinitions"`
	Rows       []tableRow         `json:"rows"`
}

// table returns objects as a Table; the first that v makes has the columns.
func (v *view) table(objects []*object, meta listMeta) []byte {
	t := wireTable{Kind: "Table", APIVersion: "meta.k8s.io/" + v.version, Metadata: meta, Rows: []tableRow{}}
	if !v.columns {
		v.columns = true
		t.Columns = v.info.definitions()
	}
	for _, o := range objects {
		row := tableRow{Cells: v.info.cells(o)}
		switch v.include {
		case "Metadata":
			row.Object = v.partial(nil, o)
		case "Object":
			row.Object = o.body
		}
		t.Rows = append(t.Rows, row)
	}
	return marshal(t)
}

// definitions returns NAME, the resource's own columns for everybody, AGE, and
// those that are only for -o wide.
func (r *ResourceInfo) definitions() []columnDefinition {
	defs := []columnDefinition{{Name: "Name", Type: "string", Format: "name", Description: "Name of the object, unique in its namespace."}}
	for i, age := range []bool{true, false} {
		for _, c := range r.Columns {
			if (c.Priority == 0) == (i == 0) {
				defs = append(defs, columnDefinition{Name: c.Name, Type: cmp.Or(c.Type, "string"), Priority: c.Priority, Description: c.Path})
			}
		}
		if age {
			defs = append(defs, columnDefinition{Name: "Age", Type: "string", Description: "Time since the object was created."})
		}
	}
	return defs
}

func (r *ResourceInfo) cells(o *object) []any {
	cells := []any{o.key.Name}
	for i, last := range []bool{false, true} {
		for _, c := range r.Columns {
			if (c.Priority == 0) == (i == 0) {
				cells = append(cells, c.value(o))
			}
		}
		if !last {
			cells = append(cells, age(o))
		}
	}
	return cells
}

func (c *Column) value(o *object) any {
	if c.cell != nil {
		return c.cell(o)
	}
	v := o.lookup(c.Path)
	if v == nil && (c.Type == "" || c.Type == "string") {
		return ""
	}
	return v
}

// age returns the time since the creation as people read it: 45s, 3m20s, 5h,
// 12d.
func age(o *object) string {
	t, err := time.Parse(time.RFC3339, o.meta.CreationTimestamp)
	if err != nil {
		return "<unknown>"
	}
	d := time.Since(t)
	unit := func(big int, b string, small int, s string) string {
		if small == 0 {
			return fmt.Sprintf("%d%s", big, b)
		}
		return fmt.Sprintf("%d%s%d%s", big, b, small, s)
	}
	s, m, h := int(d.Seconds()), int(d.Minutes()), int(d.Hours())
	switch {
	case s < 0:
		return "0s"
	case s < 120:
		return fmt.Sprintf("%ds", s)
	case m < 10:
		return unit(m, "m", s%60, "s")
	case m < 180:
		return fmt.Sprintf("%dm", m)
	case h < 8:
		return unit(h, "h", m%60, "m")
	case h < 48:
		return fmt.Sprintf("%dh", h)
	case h < 192:
		return unit(h/24, "d", h%24, "h")
	case h < 24*365*2:
		return fmt.Sprintf("%dd", h/24)
	}
	return unit(h/24/365, "y", h/24%365, "d")
}

// count returns how many entries the object or array at path has.
func count(o *object, path string) int {
	switch v := o.lookup(path).(type) {
	case map[string]any:
		return len(v)
	case []any:
		return len(v)
	}
	return 0
}

func configMapColumns() []Column {
	return []Column{{Name: "Data", cell: func(o *object) any { return count(o, "data") + count(o, "binaryData") }}}
}

func secretColumns() []Column {
	return []Column{{Name: "Type", Path: "type"}, {Name: "Data", cell: func(o *object) any { return count(o, "data") }}}
}

func deploymentColumns() []Column {
	number := func(path string) func(o *object) any {
		return func(o *object) any { return cmp.Or(o.text(path), "0") }
	}
	replicas := func(path string) func(o *object) any {
		return func(o *object) any {
			if n, ok := o.lookup(path).(json.Number); ok {
				return n
			}
			return 0
		}
	}
	return []Column{
		{Name: "Ready", cell: func(o *object) any {
			return fmt.Sprintf("%v/%v", number("status.readyReplicas")(o), number("spec.replicas")(o))
		}},
		{Name: "Up-to-date", cell: replicas("status.updatedReplicas")},
		{Name: "Available", cell: replicas("status.availableReplicas")},
	}
}

func nodeColumns() []Column {
	return []Column{
		{Name: "Status", cell: func(o *object) any {
			status := "Unknown"
			for _, c := range entries(o, "status.conditions") {
				if c["type"] == "Ready" {
					status = map[any]string{"True": "Ready", "False": "NotReady"}[c["status"]]
				}
			}
			if o.lookup("spec.unschedulable") == true {
				status += ",SchedulingDisabled"
			}
			return cmp.Or(status, "Unknown")
		}},
		{Name: "Roles", cell: func(o *object) any {
			var roles []string
			for label := range o.meta.Labels {
				if role, ok := strings.CutPrefix(label, "node-role.kubernetes.io/"); ok {
					roles = append(roles, role)
				}
			}
			return cmp.Or(strings.Join(sorted(roles), ","), "<none>")
		}},
		{Name: "Version", Path: "status.nodeInfo.kubeletVersion"},
	}
}

func podColumns() []Column {
	text := func(path string) func(o *object) any {
		return func(o *object) any { return cmp.Or(o.text(path), "<none>") }
	}
	return []Column{
		{Name: "Ready", cell: func(o *object) any {
			ready := 0
			for _, c := range entries(o, "status.containerStatuses") {
				if c["ready"] == true {
					ready++
				}
			}
			return fmt.Sprintf("%d/%d", ready, count(o, "spec.containers"))
		}},
		{Name: "Status", cell: podStatus},
		{Name: "Restarts", cell: func(o *object) any {
			restarts := int64(0)
			for _, c := range entries(o, "status.containerStatuses") {
				if n, ok := c["restartCount"].(json.Number); ok {
					i, _ := n.Int64() // 0 for what is no integer
					restarts += i
				}
			}
			return fmt.Sprint(restarts)
		}},
		{Name: "IP", Priority: 1, cell: text("status.podIP")},
		{Name: "Node", Priority: 1, cell: text("spec.nodeName")},
		{Name: "Nominated Node", Priority: 1, cell: text("status.nominatedNodeName")},
		{Name: "Readiness Gates", Priority: 1, cell: func(*object) any { return "<none>" }},
	}
}

func podStatus(o *object) any {
	if o.meta.DeletionTimestamp != "" {
		return "Terminating"
	}
	for _, c := range entries(o, "status.containerStatuses") {
		state, _ := c["state"].(map[string]any)
		waiting, _ := state["waiting"].(map[string]any)
		if reason, ok := waiting["reason"].(string); ok {
			return reason
		}
	}
	return cmp.Or(o.text("status.reason"), o.text("status.phase"))
}

// entries returns the objects of the array at path.
func entries(o *object, path string) []map[string]any {
	list, _ := o.lookup(path).([]any)
	var out []map[string]any
	for _, e := range list {
		if m, ok := e.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }
