package kinds

import (
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/schema"
	"github.com/listwatch/listwatch/kube"
)

// podKinds are the kinds of the core group about pods.
func podKinds() []Kind {
	return []Kind{
		{
			Info: object.Info{Resource: kube.Pods, Returns: true, ShortNames: []string{"po"}, Categories: []string{"all"}, Status: true, Fields: []string{
				"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
				"status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName"}},
			Defaults: func(d *Defaults, o map[string]any) {
				d.pod(d.Object(o, "spec"))
				d.statusOfContainers(ObjectAt(o, "status"))
			},
			Validate: func(r *Refusals, o, old map[string]any) {
				spec, was := ObjectAt(o, "spec"), ObjectAt(old, "spec")
				if r.podSpec("spec", spec); old != nil {
					r.podUpdate(spec, was)
				}
			},
			Zero:      `"spec":{"containers":null},"status":{}`,
			Printer:   podPrinter,
			Strategy:  Strategy{hosts: "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: "},
			Assign:    (*Defaults).assignPod,
			NewStatus: statusOfNewPod,
		},
		{
			Info: object.Info{Resource: Bindings, NoCount: true},
		},
		{
			Info: object.Info{Resource: core("podtemplates", "PodTemplate"), Returns: true},
			Defaults: func(d *Defaults, o map[string]any) {
				d.template(d.Object(o, "template"))
			},
			Validate: func(r *Refusals, o, old map[string]any) {
				r.podSpec("template.spec", ObjectAt(ObjectAt(o, "template"), "spec"))
			},
			Zero:     `"template":` + zeroTemplate,
			Printer:  podTemplatePrinter,
			Strategy: Strategy{counts: true},
		},
	}
}

// Bindings is the resource that stores nothing: to create one is to say where a
// pod runs, as pods/binding does.
var Bindings = core("bindings", "Binding")

func (d *Defaults) pod(spec map[string]any) {
	if n, ok := spec["terminationGracePeriodSeconds"].(int64); ok && n < 0 {
		d.put(spec, "terminationGracePeriodSeconds", int64(1))
	}
	d.podSpec(spec)
	d.set(spec, "enableServiceLinks", true)
	for _, name := range ContainerLists[:2] {
		for c := range ObjectsAt(spec, name) {
			d.requestsFromLimits(c)
			if spec["hostNetwork"] == true {
				for p := range ObjectsAt(c, "ports") {
					if n, ok := p["containerPort"].(int64); ok {
						d.number(p, "hostPort", n)
					}
				}
			}
		}
	}
}

// template fills in a PodTemplateSpec.
func (d *Defaults) template(t map[string]any) {
	d.Drop(d.Object(t, "metadata"), "creationTimestamp")
	d.podSpec(d.Object(t, "spec"))
}

// ContainerLists are the members of a pod's spec that list containers.
var ContainerLists = [...]string{"initContainers", "containers", "ephemeralContainers"}

func (d *Defaults) podSpec(spec map[string]any) {
	d.Drop(spec, "hostNetwork", "hostPID", "hostIPC", "nodeName", "hostname", "subdomain", "priorityClassName", "serviceAccount", "serviceAccountName")
	switch name, alias := TextAt(spec, "serviceAccountName"), TextAt(spec, "serviceAccount"); {
	case name == "" && alias != "":
		d.put(spec, "serviceAccountName", alias)
	case name != alias:
		d.put(spec, "serviceAccount", name)
	}
	d.text(spec, "dnsPolicy", "ClusterFirst")
	d.text(spec, "restartPolicy", "Always")
	d.Object(spec, "securityContext")
	d.set(spec, "terminationGracePeriodSeconds", int64(30))
	d.text(spec, "schedulerName", "default-scheduler")
	for v := range ObjectsAt(spec, "volumes") {
		d.podVolume(v)
	}
	for _, name := range ContainerLists {
		for c := range ObjectsAt(spec, name) {
			d.container(c)
		}
	}
	d.quantities(spec, "overhead")
	if r := ObjectAt(spec, "resources"); r != nil {
		d.resources(r)
	}
}

func (d *Defaults) container(c map[string]any) {
	d.Drop(c, "stdin", "stdinOnce", "tty", "workingDir")
	d.text(c, "imagePullPolicy", pullPolicy(TextAt(c, "image")))
	d.text(c, "terminationMessagePath", "/dev/termination-log")
	d.text(c, "terminationMessagePolicy", "File")
	d.resources(d.Object(c, "resources"))
	for p := range ObjectsAt(c, "ports") {
		d.Drop(p, "name", "hostPort", "hostIP")
		d.text(p, "protocol", "TCP")
	}
	for m := range ObjectsAt(c, "volumeMounts") {
		d.Drop(m, "readOnly", "subPath", "subPathExpr")
	}
	for e := range ObjectsAt(c, "env") {
		d.Drop(e, "value")
		from := ObjectAt(e, "valueFrom")
		d.fieldRef(from)
		if f := ObjectAt(from, "fileKeyRef"); f != nil {
			d.set(f, "optional", false)
		}
	}
	for _, name := range [...]string{"livenessProbe", "readinessProbe", "startupProbe"} {
		if p := ObjectAt(c, name); p != nil {
			d.probe(p)
		}
	}
	for _, name := range [...]string{"postStart", "preStop"} {
		d.httpGet(ObjectAt(ObjectAt(c, "lifecycle"), name))
	}
}

// pullPolicy is Always for the tag latest, which is the tag of an image without
// tag and digest.
func pullPolicy(image string) string {
	ref, _, digest := strings.Cut(image, "@")
	_, tag, tagged := strings.Cut(ref[strings.LastIndexByte(ref, '/')+1:], ":")
	if tag == "latest" || !tagged && !digest && ref != "" {
		return "Always"
	}
	return "IfNotPresent"
}

// statusOfContainers fills in what is always there of containers.
func (d *Defaults) statusOfContainers(status map[string]any) {
	for _, name := range [...]string{"containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"} {
		for s := range ObjectsAt(status, name) {
			d.Object(s, "state")
			d.Object(s, "lastState")
			d.set(s, "name", "")
			d.set(s, "image", "")
			d.set(s, "imageID", "")
			d.set(s, "ready", false)
			d.set(s, "restartCount", int64(0))
		}
	}
}

func (d *Defaults) probe(p map[string]any) {
	d.Drop(p, "initialDelaySeconds")
	d.number(p, "timeoutSeconds", 1)
	d.number(p, "periodSeconds", 10)
	d.number(p, "successThreshold", 1)
	d.number(p, "failureThreshold", 3)
	d.httpGet(p)
	if g := ObjectAt(p, "grpc"); g != nil {
		d.set(g, "service", "")
	}
}

func (d *Defaults) httpGet(handler map[string]any) {
	if g := ObjectAt(handler, "httpGet"); g != nil {
		d.text(g, "path", "/")
		d.text(g, "scheme", "HTTP")
	}
}

// fieldRef fills in the references to fields of the pod in a source of an
// environment variable or a file.
func (d *Defaults) fieldRef(from map[string]any) {
	if f := ObjectAt(from, "fieldRef"); f != nil {
		d.text(f, "apiVersion", "v1")
	}
	if r := ObjectAt(from, "resourceFieldRef"); r != nil {
		d.set(r, "divisor", "0")
		d.quantity(r, "divisor", nano)
	}
}

// podVolume fills in a volume of a pod; one without a source is an emptyDir.
func (d *Defaults) podVolume(v map[string]any) {
	sourced := false
	for name, source := range v {
		sourced = sourced || name != "name" && source != nil
	}
	if !sourced {
		d.Object(v, "emptyDir")
	}
	if e := ObjectAt(v, "emptyDir"); e != nil {
		d.quantity(e, "sizeLimit", nano)
	}
	for _, name := range [...]string{"secret", "configMap", "downwardAPI", "projected"} {
		if s := ObjectAt(v, name); s != nil {
			d.set(s, "defaultMode", int64(0o644))
		}
	}
	for f := range ObjectsAt(ObjectAt(v, "downwardAPI"), "items") {
		d.fieldRef(f)
	}
	for s := range ObjectsAt(ObjectAt(v, "projected"), "sources") {
		for f := range ObjectsAt(ObjectAt(s, "downwardAPI"), "items") {
			d.fieldRef(f)
		}
		if t := ObjectAt(s, "serviceAccountToken"); t != nil {
			d.set(t, "expirationSeconds", int64(3600))
		}
	}
	if i := ObjectAt(v, "image"); i != nil {
		d.text(i, "pullPolicy", pullPolicy(TextAt(i, "reference")))
	}
	if t := ObjectAt(ObjectAt(v, "ephemeral"), "volumeClaimTemplate"); t != nil {
		d.Object(t, "metadata")
		d.claim(d.Object(t, "spec"))
	}
	d.volumeSource(v)
}

// volumeSource fills in the sources that pods and PersistentVolumes share.
func (d *Defaults) volumeSource(v map[string]any) {
	if h := ObjectAt(v, "hostPath"); h != nil {
		d.set(h, "type", "")
	}
	if i := ObjectAt(v, "iscsi"); i != nil {
		d.text(i, "iscsiInterface", "default")
	}
	if r := ObjectAt(v, "rbd"); r != nil {
		d.text(r, "pool", "rbd")
		d.text(r, "user", "admin")
		d.text(r, "keyring", "/etc/ceph/keyring")
	}
	if a := ObjectAt(v, "azureDisk"); a != nil {
		d.set(a, "cachingMode", "ReadWrite")
		d.set(a, "fsType", "ext4")
		d.set(a, "readOnly", false)
		d.set(a, "kind", "Shared")
	}
	if s := ObjectAt(v, "scaleIO"); s != nil {
		d.text(s, "storageMode", "ThinProvisioned")
		d.text(s, "fsType", "xfs")
	}
	for _, name := range [...]string{"persistentVolumeClaim", "nfs", "iscsi"} {
		if s := ObjectAt(v, name); s != nil {
			d.Drop(s, "readOnly")
		}
	}
}

func (d *Defaults) resources(r map[string]any) {
	d.quantities(r, "limits")
	d.quantities(r, "requests")
}

// requestsFromLimits makes a limit the request where there is none.
func (d *Defaults) requestsFromLimits(c map[string]any) {
	r := ObjectAt(c, "resources")
	for name, limit := range ObjectAt(r, "limits") {
		d.set(d.Object(r, "requests"), name, schema.Copy(limit))
	}
}

// assignPod is Assign for pods.
func (d *Defaults) assignPod(o, old map[string]any, _ func(any) bool) {
	spec := ObjectAt(o, "spec")
	if spec == nil {
		return
	}
	if old == nil {
		d.priority(spec)
	} else {
		d.copyFrom(spec, "priority", ObjectAt(old, "spec"))
		d.copyFrom(spec, "preemptionPolicy", ObjectAt(old, "spec"))
	}
	d.tolerate(spec, "node.kubernetes.io/not-ready")
	d.tolerate(spec, "node.kubernetes.io/unreachable")
}

// priority is what the plugin Priority knows without a look at PriorityClasses.
func (d *Defaults) priority(spec map[string]any) {
	switch TextAt(spec, "priorityClassName") {
	case "":
		d.set(spec, "priority", int64(0))
	case "system-cluster-critical":
		d.set(spec, "priority", int64(2_000_000_000))
	case "system-node-critical":
		d.set(spec, "priority", int64(2_000_001_000))
	default:
		return
	}
	d.set(spec, "preemptionPolicy", "PreemptLowerPriority")
}

// tolerate adds a toleration of five minutes unless there is one.
func (d *Defaults) tolerate(spec map[string]any, taint string) {
	for t := range ObjectsAt(spec, "tolerations") {
		key, effect := TextAt(t, "key"), TextAt(t, "effect")
		if (key == taint || key == "") && (effect == "NoExecute" || effect == "") {
			return
		}
	}
	list, _ := spec["tolerations"].([]any)
	d.put(spec, "tolerations", append(list[:len(list):len(list)],
		map[string]any{"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": int64(300)}))
}
