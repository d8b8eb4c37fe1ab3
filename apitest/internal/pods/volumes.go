package pods

import (
	"fmt"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/rules"
)

func indexed(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// refuseVolumes validates the volumes of a pod, and returns the valid ones by name.
func refuseVolumes(r *rules.Refusals, path string, spec map[string]any) map[string]map[string]any {
	sound, seen := map[string]map[string]any{}, map[string]bool{}
	for at, v := range rules.Elements(path, spec, "volumes") {
		before := len(r.Causes)
		refuseVolume(r, at, v)
		name := rules.TextAt(v, "name")
		refuseName(r, at+".name", name, seen)
		if len(r.Causes) == before {
			sound[name] = v
		}
	}
	return sound
}

// RefuseClaimNames refuses ephemeral volumes of a pod whose claims would have invalid names.
func RefuseClaimNames(r *rules.Refusals, path, pod string, spec map[string]any) {
	for at, v := range rules.Elements(path, spec, "volumes") {
		name := rules.TextAt(v, "name")
		if pod == "" || name == "" || rules.ObjectAt(v, "ephemeral") == nil {
			continue
		}
		claim := pod + "-" + name
		for _, wrong := range rules.Subdomain(claim) {
			r.Invalid(at+".name", name, fmt.Sprintf("PVC name %q: %s", claim, wrong))
		}
	}
}

func refuseVolume(r *rules.Refusals, at string, v map[string]any) {
	if c := rules.ObjectAt(v, "configMap"); c != nil {
		r.Needed(at+".configMap", c, "name")
		refuseFiles(r, at+".configMap", c)
	}
	if s := rules.ObjectAt(v, "secret"); s != nil {
		r.Needed(at+".secret", s, "secretName")
		refuseFiles(r, at+".secret", s)
	}
	if c := rules.ObjectAt(v, "persistentVolumeClaim"); c != nil {
		r.Needed(at+".persistentVolumeClaim", c, "claimName")
	}
	if d := rules.ObjectAt(v, "downwardAPI"); d != nil {
		refuseMode(r, at+".downwardAPI", d, "defaultMode")
		for f := range rules.ObjectsAt(d, "items") {
			refuseDownward(r, at+".downwardAPI", f)
		}
	}
	if p := rules.ObjectAt(v, "projected"); p != nil {
		refuseProjected(r, at+".projected", p)
	}
	if c := rules.ObjectAt(v, "csi"); c != nil {
		RefuseDriver(r, at+".csi.driver", rules.TextAt(c, "driver"))
	}
	if e := rules.ObjectAt(v, "ephemeral"); e != nil {
		if t := rules.ObjectAt(e, "volumeClaimTemplate"); t == nil {
			r.Required(at + ".ephemeral.volumeClaimTemplate")
		} else {
			RefuseClaim(r, at+".ephemeral.volumeClaimTemplate.spec", rules.ObjectAt(t, "spec"))
		}
	}
	RefuseVolumeSource(r, at, v)
}

// RefuseVolumeSource validates the sources that pods and PersistentVolumes share.
func RefuseVolumeSource(r *rules.Refusals, at string, v map[string]any) {
	if h := rules.ObjectAt(v, "hostPath"); h != nil {
		r.Needed(at+".hostPath", h, "path")
		r.NoWayUp(at+".hostPath.path", rules.TextAt(h, "path"))
		r.OneOf(at+".hostPath", h, "type", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")
	}
	if n := rules.ObjectAt(v, "nfs"); n != nil {
		r.Needed(at+".nfs", n, "server", "path")
		if s := rules.TextAt(n, "path"); !strings.HasPrefix(s, "/") {
			r.Invalid(at+".nfs.path", s, "must be an absolute path")
		}
	}
}

// RefuseDriver refuses an invalid name of a CSI driver.
func RefuseDriver(r *rules.Refusals, field, name string) {
	if name == "" {
		r.Required(field)
		return
	}
	if len(name) > 63 {
		r.Add("FieldValueTooLong", field, "Too long: may not be more than 63 bytes")
	}
	for _, text := range rules.Subdomain(strings.ToLower(name)) {
		r.Invalid(field, name, text)
	}
}

func refuseProjected(r *rules.Refusals, path string, p map[string]any) {
	refuseMode(r, path, p, "defaultMode")
	used := map[string]bool{}
	once := func(file string, v any) {
		if file != "" && used[file] {
			r.Invalid(path, v, "conflicting duplicate paths")
		}
		used[file] = true
	}
	for at, s := range rules.Elements(path, p, "sources") {
		for _, name := range [...]string{"configMap", "secret"} {
			if c := rules.ObjectAt(s, name); c != nil {
				r.Needed(at+"."+name, c, "name")
				refuseFiles(r, at+"."+name, c)
				for f := range rules.ObjectsAt(c, "items") {
					once(rules.TextAt(f, "path"), c["name"])
				}
			}
		}
		for f := range rules.ObjectsAt(rules.ObjectAt(s, "downwardAPI"), "items") {
			refuseDownward(r, at+".downwardAPI", f)
			once(rules.TextAt(f, "path"), rules.TextAt(f, "path"))
		}
		if t := rules.ObjectAt(s, "serviceAccountToken"); t != nil {
			const field = ".serviceAccountToken.expirationSeconds"
			if n := rules.IntAt(t, "expirationSeconds"); n < 600 {
				r.Invalid(at+field, n, "may not specify a duration less than 10 minutes")
			} else if n > 1<<32 {
				r.Invalid(at+field, n, "may not specify a duration larger than 2^32 seconds")
			}
			if file := rules.TextAt(t, "path"); file == "" {
				r.Required(path + ".path")
			} else {
				r.LocalPath(path+".path", file)
			}
		}
	}
}

// refuseFiles validates the files of a volume that come from keys.
func refuseFiles(r *rules.Refusals, path string, s map[string]any) {
	refuseMode(r, path, s, "defaultMode")
	for at, f := range rules.Elements(path, s, "items") {
		r.Needed(at, f, "key", "path")
		r.LocalPath(at+".path", rules.TextAt(f, "path"))
		refuseMode(r, at, f, "mode")
	}
}

func refuseMode(r *rules.Refusals, path string, m map[string]any, name string) {
	if n, ok := m[name].(int64); ok && (n < 0 || n > 0o777) {
		r.Invalid(path+"."+name, n, "must be a number between 0 and 0777 (octal), both inclusive")
	}
}

// refuseDownward validates a file that comes from a field of the pod. The paths of the
// causes have no index of the list.
func refuseDownward(r *rules.Refusals, path string, f map[string]any) {
	if file := rules.TextAt(f, "path"); file == "" {
		r.Required(path + ".path")
	} else {
		r.LocalPath(path+".path", file)
	}
	field, resource := rules.ObjectAt(f, "fieldRef"), rules.ObjectAt(f, "resourceFieldRef")
	switch {
	case field != nil && resource != nil:
		r.Invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
	case field != nil:
		refuseFieldRef(r, path+".fieldRef", field, fileFields)
	case resource != nil:
		refuseResourceRef(r, path+".resourceFieldRef", resource, true)
	default:
		r.Required(path, "one of fieldRef and resourceFieldRef is required")
	}
	refuseMode(r, path, f, "mode")
}

// RefuseClaim validates the spec of a PersistentVolumeClaim.
func RefuseClaim(r *rules.Refusals, path string, spec map[string]any) {
	if rules.Lacks(spec, "accessModes") {
		r.Required(path+".accessModes", "at least 1 access mode is required")
	}
	r.LabelSelector(path+".selector", rules.ObjectAt(spec, "selector"))
	r.Among(path, spec, "accessModes", AccessModes...)
	switch size := rules.TextAt(rules.ObjectAt(rules.ObjectAt(spec, "resources"), "requests"), "storage"); {
	case size == "":
		r.Required(path + ".resources[storage]")
	case size == "0" || strings.HasPrefix(size, "-"):
		r.Invalid(path+".resources[storage]", size, "must be greater than zero")
	}
	r.Maybe(path, spec, "storageClassName", rules.Subdomain)
	if s, ok := spec["volumeMode"].(string); ok && s != "Block" && s != "Filesystem" {
		r.Unsupported(path+".volumeMode", s, "Block", "Filesystem")
	}
	for _, name := range [...]string{"dataSource", "dataSourceRef"} {
		if s := rules.ObjectAt(spec, name); s != nil {
			r.Needed(path+"."+name, s, "name", "kind")
			if rules.TextAt(s, "apiGroup") == "" && rules.TextAt(s, "kind") != "PersistentVolumeClaim" {
				r.Invalid(path+"."+name, rules.TextAt(s, "kind"), "must be 'PersistentVolumeClaim' when referencing the default apiGroup")
			}
		}
	}
}

// AccessModes are how a volume may be mounted.
var AccessModes = []string{"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"}
