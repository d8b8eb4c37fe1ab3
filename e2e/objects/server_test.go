package objects_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// answer is what a server says to a create, without what differs from run to run.
type answer struct {
	Code   int
	Reason string
	Causes []string // the reason and field of each, sorted
	Stored any      // the object, of a create that succeeds

	message string
}

func (a answer) String() string {
	if a.Code < 300 {
		return fmt.Sprint(a.Code)
	}
	return strings.Join(append([]string{fmt.Sprint(a.Code)}, a.Causes...), "; ")
}

// create asks a server what it would make of an object.
func create(ctx context.Context, c *http.Client, base, path string, object any) (a answer, err error) {
	body, err := json.Marshal(object)
	if err != nil {
		return a, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+path+"?dryRun=All", bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.Do(req)
	if err != nil && ctx.Err() == nil {
		return a, nil // the handler has panicked: no code
	} else if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return a, err
	}
	a.Code = resp.StatusCode
	if a.Code < 300 {
		dec := json.NewDecoder(bytes.NewReader(b))
		dec.UseNumber()
		err = dec.Decode(&a.Stored)
		masked(a.Stored)
		return a, err
	}
	var st struct {
		Reason, Message string
		Details         struct {
			Causes []struct{ Reason, Field string }
		}
	}
	if err := json.Unmarshal(b, &st); err != nil {
		return a, fmt.Errorf("the answer %d is no Status: %w", a.Code, err)
	}
	a.Reason, a.message = st.Reason, st.Message
	for _, c := range st.Details.Causes {
		a.Causes = append(a.Causes, c.Reason+" "+c.Field)
	}
	slices.Sort(a.Causes)
	return a, nil
}

// masked takes away what is another in each server.
func masked(o any) {
	object, _ := o.(map[string]any)
	meta, _ := object["metadata"].(map[string]any)
	uid, _ := meta["uid"].(string)
	for _, name := range [...]string{"uid", "creationTimestamp", "resourceVersion", "managedFields"} {
		delete(meta, name)
	}
	mask(object, "", uid)
	unattended(object)
}

// unattended takes away what a real server adds for controllers that take it away again:
// apitest has none of them.
func unattended(o map[string]any) {
	meta, _ := o["metadata"].(map[string]any)
	drop := func(m map[string]any, name string, unwanted func(v any) bool) {
		list, _ := m[name].([]any)
		if list = slices.DeleteFunc(list, unwanted); len(list) == 0 {
			delete(m, name)
		} else {
			m[name] = list
		}
	}
	switch o["kind"] {
	case "PersistentVolume", "PersistentVolumeClaim":
		drop(meta, "finalizers", func(v any) bool {
			return v == "kubernetes.io/pv-protection" || v == "kubernetes.io/pvc-protection"
		})
	case "Node":
		if spec, ok := o["spec"].(map[string]any); ok {
			drop(spec, "taints", func(v any) bool {
				taint, _ := v.(map[string]any)
				return taint["key"] == "node.kubernetes.io/not-ready"
			})
		}
	case "DaemonSet": // nothing has read it since extensions/v1beta1 is gone
		if a, ok := meta["annotations"].(map[string]any); ok {
			if delete(a, "deprecated.daemonset.template.generation"); len(a) == 0 {
				delete(meta, "annotations")
			}
		}
	}
}

func mask(v any, name, uid string) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = mask(e, k, uid)
		}
	case []any:
		for i, e := range v {
			v[i] = mask(e, name, uid)
		}
	case string:
		if v == uid && uid != "" {
			return "UID"
		}
		if name == "clusterIP" || name == "clusterIPs" && strings.HasPrefix(v, "10.0.") {
			return "IP"
		}
		if strings.HasSuffix(name, "TransitionTime") {
			return "TIME"
		}
	case json.Number:
		if name == "nodePort" || name == "healthCheckNodePort" {
			return "PORT"
		}
	}
	return v
}

// clusterWide are the kinds that have no namespace.
var clusterWide = map[string]bool{
	"Namespace": true, "Node": true, "PersistentVolume": true, "IngressClass": true, "ClusterRole": true, "ClusterRoleBinding": true,
	"StorageClass": true, "CSIDriver": true, "CSINode": true, "VolumeAttachment": true, "PriorityClass": true, "RuntimeClass": true, "APIService": true,
}

// pathOf returns the path of the collection that an object belongs to.
func pathOf(o map[string]any) string {
	version, _ := o["apiVersion"].(string)
	kind, _ := o["kind"].(string)
	path := "/apis/" + version
	if !strings.Contains(version, "/") {
		path = "/api/" + version
	}
	if !clusterWide[kind] {
		path += "/namespaces/default"
	}
	plural := strings.ToLower(kind)
	switch {
	case kind == "Endpoints":
	case strings.HasSuffix(plural, "y"):
		plural = strings.TrimSuffix(plural, "y") + "ies"
	case strings.HasSuffix(plural, "s"):
		plural += "es"
	default:
		plural += "s"
	}
	return path + "/" + plural
}
