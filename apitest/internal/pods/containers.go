package pods

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/apitest/internal/schema"
)

// mounts are the volumes that a container may mount, by name.
type mounts map[string]map[string]any

func refuseContainer(r *rules.Refusals, path string, c map[string]any, volumes mounts) {
	if rules.TextAt(c, "image") == "" {
		r.Required(path + ".image")
	}
	r.OneOf(path, c, "imagePullPolicy", "Always", "IfNotPresent", "Never")
	r.OneOf(path, c, "terminationMessagePolicy", "FallbackToLogsOnError", "File")
	refusePorts(r, path, c)
	refuseEnvironment(r, path, c)
	refuseMounts(r, path, c, volumes)
	refuseResizing(r, path, c)
	refuseResources(r, path+".resources", rules.ObjectAt(c, "resources"))
	if s := rules.ObjectAt(c, "securityContext"); s != nil {
		refuseContainerSecurity(r, path+".securityContext", s)
	}
	for _, name := range [...]string{"livenessProbe", "readinessProbe", "startupProbe"} {
		if p := rules.ObjectAt(c, name); p != nil {
			refuseProbe(r, path+"."+name, p, name == "readinessProbe")
		}
	}
	for _, name := range [...]string{"postStart", "preStop"} {
		if h := rules.ObjectAt(rules.ObjectAt(c, "lifecycle"), name); h != nil {
			refuseHandler(r, path+".lifecycle."+name, h)
		}
	}
}

// refuseRestarts validates the restart policy of a container, which is optional.
func refuseRestarts(r *rules.Refusals, path string, c map[string]any) {
	policy, some := c["restartPolicy"].(string)
	supported := []string{"Always", "Never", "OnFailure"}
	switch {
	case some && !slices.Contains(supported, policy):
		r.Unsupported(path+".restartPolicy", policy, supported...)
	case !some && !rules.Lacks(c, "restartPolicyRules"):
		r.Required(path+".restartPolicy", "must specify restartPolicy when restart rules are used")
	}
}

// withoutHooks returns an init container that is no sidecar without its probes and its
// lifecycle, which it may not have.
func withoutHooks(r *rules.Refusals, path string, c map[string]any) map[string]any {
	c = maps.Clone(c)
	for _, name := range [...]string{"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"} {
		if c[name] != nil {
			r.Forbidden(path+"."+name, "may not be set for init containers without restartPolicy=Always")
			delete(c, name)
		}
	}
	return c
}

// refuseResizing validates the resize policies of a container. Errors name the field of
// the list.
func refuseResizing(r *rules.Refusals, path string, c map[string]any) {
	field, seen := path+".resizePolicy", map[string]bool{}
	for at, p := range rules.Elements(path, c, "resizePolicy") {
		switch name := rules.TextAt(p, "resourceName"); {
		case name == "":
			r.Required(field)
			continue
		case seen[name]:
			r.Duplicate(at, name)
		default:
			r.Supported(field, name, "cpu", "memory")
			seen[name] = true
		}
		if policy := rules.TextAt(p, "restartPolicy"); policy == "" {
			r.Required(field)
		} else {
			r.Supported(field, policy, "NotRequired", "RestartContainer")
		}
	}
}

func refusePorts(r *rules.Refusals, path string, c map[string]any) {
	names := map[string]bool{}
	for at, p := range rules.Elements(path, c, "ports") {
		if name := rules.TextAt(p, "name"); name != "" {
			if wrong := rules.PortName(name); len(wrong) > 0 {
				r.Each(at+".name", name, wrong)
			} else if names[name] {
				r.Duplicate(at+".name", name)
			}
			names[name] = true
		}
		if n := p["containerPort"]; n == nil || n == int64(0) {
			r.Required(at + ".containerPort")
		} else {
			r.Port(at+".containerPort", n)
		}
		if n := p["hostPort"]; n != int64(0) {
			r.Port(at+".hostPort", n)
		}
		r.OneOf(at, p, "protocol", "SCTP", "TCP", "UDP")
	}
}

// environment is a regular expression of the characters that no variable's name has.
var environment = regexp.MustCompile(`[^ -<>-~]`)

func refuseEnvironment(r *rules.Refusals, path string, c map[string]any) {
	for at, v := range rules.Elements(path, c, "env") {
		switch name := rules.TextAt(v, "name"); {
		case name == "":
			r.Required(at + ".name")
		case environment.MatchString(name):
			r.Invalid(at+".name", name, "a valid environment variable name must consist only of printable ASCII characters other than '='")
		}
		from, some := v["valueFrom"].(map[string]any)
		switch {
		case !some:
			continue
		case rules.TextAt(v, "value") != "":
			r.Invalid(at+".valueFrom", "", "may not be specified when `value` is not empty")
		case len(from) == 0:
			r.Invalid(at+".valueFrom", "", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`")
		case len(from) > 1:
			r.Invalid(at+".valueFrom", "", "may not have more than one field specified at a time")
		}
		if f := rules.ObjectAt(from, "fieldRef"); f != nil {
			refuseFieldRef(r, at+".valueFrom.fieldRef", f, variableFields)
		}
		if f := rules.ObjectAt(from, "resourceFieldRef"); f != nil {
			refuseResourceRef(r, at+".valueFrom.resourceFieldRef", f, false)
		}
		for _, name := range [...]string{"configMapKeyRef", "secretKeyRef"} {
			if k := rules.ObjectAt(from, name); k != nil {
				at := at + ".valueFrom." + name
				r.Each(at+".name", rules.TextAt(k, "name"), rules.Subdomain(rules.TextAt(k, "name")))
				r.Named(at, k, "key", rules.DataKey)
			}
		}
	}
	for at, e := range rules.Elements(path, c, "envFrom") {
		if p := rules.TextAt(e, "prefix"); environment.MatchString(p) {
			r.Invalid(at+".prefix", p, "a valid environment variable name must consist only of printable ASCII characters other than '='")
		}
		sources := 0
		for _, name := range [...]string{"configMapRef", "secretRef"} {
			if s := rules.ObjectAt(e, name); s != nil {
				sources++
				r.Named(at+"."+name, s, "name", rules.Subdomain)
			}
		}
		switch sources {
		case 0:
			r.Invalid(path+".envFrom", "", "must specify one of: `configMapRef` or `secretRef`")
		case 2:
			r.Invalid(path+".envFrom", "", "may not have more than one field specified at a time")
		}
	}
}

// The fields of a pod that a variable or a file may have.
var (
	variableFields = []string{"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
		"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"}
	fileFields = []string{"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"}

	// knownFields are those that the API knows, in whatever place.
	knownFields = append([]string{"metadata.annotations", "metadata.labels", "spec.restartPolicy", "status.phase"}, variableFields...)

	elementField = regexp.MustCompile(`^metadata\.(annotations|labels)\['(.*)'\]$`)
)

func refuseFieldRef(r *rules.Refusals, path string, f map[string]any, fields []string) {
	field := rules.TextAt(f, "fieldPath")
	if field == "spec.host" { // its name in old clients
		field = "spec.nodeName"
	}
	version := rules.TextAt(f, "apiVersion")
	element := elementField.FindStringSubmatch(field)
	known := element != nil
	for _, name := range knownFields {
		known = known || name == field
	}
	switch {
	case version == "":
		r.Required(path + ".apiVersion")
	case field == "":
		r.Required(path + ".fieldPath")
	case !known || version != "v1":
		r.Invalid(path+".fieldPath", field, "error converting fieldPath: field label not supported: "+field)
	case element != nil && element[1] == "annotations": // in any case, as those of metadata
		r.Each(path, element[2], rules.QualifiedName(strings.ToLower(element[2])))
	case element != nil:
		r.Each(path, element[2], rules.QualifiedName(element[2]))
	default:
		r.Supported(path+".fieldPath", field, fields...)
	}
}

func refuseResourceRef(r *rules.Refusals, path string, f map[string]any, file bool) {
	name := rules.TextAt(f, "resource")
	switch _, resource, _ := strings.Cut(name, "."); {
	case file && rules.TextAt(f, "containerName") == "":
		r.Required(path + ".containerName")
	case name == "":
		r.Required(path + ".resource")
	case !strings.HasPrefix(name, "limits.") && !strings.HasPrefix(name, "requests."),
		resource != "cpu" && resource != "memory" && resource != "ephemeral-storage" && !strings.HasPrefix(resource, "hugepages-"):
		r.Unsupported(path+".resource", name, "limits.cpu", "limits.ephemeral-storage", "limits.memory",
			"requests.cpu", "requests.ephemeral-storage", "requests.memory")
	default:
		refuseDivisor(r, path, rules.TextAt(f, "divisor"), name, resource)
	}
}

// refuseDivisor refuses a divisor that is no unit of the resource. name is that of the
// resource with its prefix.
func refuseDivisor(r *rules.Refusals, path, divisor, name, resource string) {
	units, what := "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei", resource
	switch {
	case resource == "cpu":
		units = "1m and 1"
	case resource == "ephemeral-storage":
		what = "local ephemeral storage"
	case resource != "memory":
		what = "hugepages"
	}
	valid := strings.FieldsFunc(strings.ReplaceAll(units, " and ", ", "), func(c rune) bool { return c == ',' || c == ' ' })
	if divisor != "" && divisor != "0" && !slices.Contains(valid, divisor) {
		r.Invalid(path+".divisor", name, "only divisor's values "+units+" are supported with the "+what+" resource")
	}
}

func refuseMounts(r *rules.Refusals, path string, c map[string]any, volumes mounts) {
	seen := map[string]bool{}
	once := func(field, where string) {
		if seen[where] {
			r.Invalid(field, where, "must be unique")
		}
		seen[where] = true
	}
	for at, m := range rules.Elements(path, c, "volumeMounts") {
		name, where := rules.TextAt(m, "name"), rules.TextAt(m, "mountPath")
		if name == "" {
			r.Required(at + ".name")
		}
		if where == "" {
			r.Required(at + ".mountPath")
		}
		if _, ok := volumes[name]; !ok {
			r.NotFound(at+".name", name)
		}
		once(at+".mountPath", where)
		if sub := rules.TextAt(m, "subPath"); sub != "" {
			r.LocalPath(path+".volumeMounts.subPath", sub) // without its place
		}
	}
	names := map[string]bool{}
	for at, d := range rules.Elements(path, c, "volumeDevices") {
		name, where := rules.TextAt(d, "name"), rules.TextAt(d, "devicePath")
		if name == "" {
			r.Required(at + ".name")
		}
		if names[name] {
			r.Invalid(at+".name", name, "must be unique")
		}
		names[name] = true
		v, ok := volumes[name]
		switch {
		case !ok:
			r.NotFound(at+".name", name)
		case v["persistentVolumeClaim"] == nil && v["ephemeral"] == nil:
			r.Invalid(at+".name", name, "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode")
		}
		if where == "" {
			r.Required(at + ".devicePath")
		}
		once(at+".devicePath", where)
		r.NoWayUp(at+".devicePath", where)
	}
}

// refuseResources refuses quantities below 0, and requests above the limits.
func refuseResources(r *rules.Refusals, path string, m map[string]any) {
	for _, list := range [...]string{"limits", "requests"} {
		for name := range rules.KeysOf(rules.ObjectAt(m, list)) {
			if q := rules.TextAt(rules.ObjectAt(m, list), name); strings.HasPrefix(q, "-") {
				r.Invalid(fmt.Sprintf("%s.%s[%s]", path, list, name), q, "must be greater than or equal to 0")
			}
		}
	}
	requests, limits := rules.ObjectAt(m, "requests"), rules.ObjectAt(m, "limits")
	for name := range rules.KeysOf(requests) {
		request, limit := rules.TextAt(requests, name), rules.TextAt(limits, name)
		if limit != "" && rules.CompareQuantities(request, limit) > 0 {
			r.Invalid(path+".requests", request, "must be less than or equal to "+name+" limit of "+limit)
		}
	}
}

func refuseProbe(r *rules.Refusals, path string, p map[string]any, ready bool) {
	refuseHandler(r, path, p)
	r.Natural(path, p, "initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
	grace, some := p["terminationGracePeriodSeconds"].(int64)
	switch {
	case some && ready:
		r.Invalid(path+".terminationGracePeriodSeconds", grace, "must not be set for readinessProbes")
	case some && grace <= 0:
		r.Invalid(path+".terminationGracePeriodSeconds", grace, "must be greater than 0")
	}
	if n := rules.IntAt(p, "successThreshold"); !ready && n != 1 {
		r.Invalid(path+".successThreshold", n, "must be 1")
	}
}

// headerName is a regular expression of the name of a header.
var headerName = regexp.MustCompile(`^[-A-Za-z0-9]+$`)

// refuseHandler validates the handler of a probe or a lifecycle hook.
func refuseHandler(r *rules.Refusals, path string, h map[string]any) {
	handlers := 0
	for _, name := range [...]string{"exec", "httpGet", "tcpSocket", "grpc", "sleep"} {
		c, ok := h[name].(map[string]any)
		if !ok {
			continue
		}
		at := path + "." + name
		if handlers++; handlers > 1 {
			r.Forbidden(at, "may not specify more than 1 handler type")
			continue
		}
		switch name {
		case "exec":
			if rules.Lacks(c, "command") {
				r.Required(at + ".command")
			}
		case "httpGet":
			r.Needed(at, c, "path")
			r.PortOrName(at+".port", c["port"])
			r.Supported(at+".scheme", rules.TextAt(c, "scheme"), "HTTP", "HTTPS")
			for v := range rules.ObjectsAt(c, "httpHeaders") {
				if name := rules.TextAt(v, "name"); !headerName.MatchString(name) {
					r.Invalid(at+".httpHeaders", name, "a valid HTTP header must consist of alphanumeric characters or '-'")
				}
			}
		case "tcpSocket":
			r.PortOrName(at+".port", c["port"])
		case "grpc":
			r.Port(at+".port", rules.IntAt(c, "port"))
		}
	}
	if handlers == 0 {
		r.Required(path, "must specify a handler type")
	}
}

// Resize sets the resources of spec's containers to those of sent.
func Resize(spec, sent map[string]any) {
	for _, list := range ContainerLists[:2] {
		for c := range rules.ObjectsAt(spec, list) {
			for s := range rules.ObjectsAt(sent, list) {
				if s["name"] == c["name"] {
					c["resources"] = schema.Copy(s["resources"])
				}
			}
		}
	}
}
