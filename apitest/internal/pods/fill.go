package pods

import (
	"regexp"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/apitest/internal/schema"
)

// Fill fills in the spec of a Pod.
func Fill(d *rules.Defaults, spec map[string]any) {
	if n, ok := spec["terminationGracePeriodSeconds"].(int64); ok && n < 0 {
		d.Put(spec, "terminationGracePeriodSeconds", int64(1))
	}
	fillSpec(d, spec)
	d.Set(spec, "enableServiceLinks", true)
	for _, name := range ContainerLists[:2] {
		for c := range rules.ObjectsAt(spec, name) {
			requestsFromLimits(d, c)
			if spec["hostNetwork"] == true {
				for p := range rules.ObjectsAt(c, "ports") {
					if n, ok := p["containerPort"].(int64); ok {
						d.Number(p, "hostPort", n)
					}
				}
			}
		}
	}
}

// FillTemplate fills in a PodTemplateSpec.
func FillTemplate(d *rules.Defaults, t map[string]any) {
	d.Drop(d.Object(t, "metadata"), "creationTimestamp")
	fillSpec(d, d.Object(t, "spec"))
}

// ContainerLists are the members of a pod's spec that list containers.
var ContainerLists = [...]string{"initContainers", "containers", "ephemeralContainers"}

func fillSpec(d *rules.Defaults, spec map[string]any) {
	d.Drop(spec, "hostNetwork", "hostPID", "hostIPC", "nodeName", "hostname", "subdomain", "priorityClassName", "serviceAccount", "serviceAccountName")
	switch name, alias := rules.TextAt(spec, "serviceAccountName"), rules.TextAt(spec, "serviceAccount"); {
	case name == "" && alias != "":
		d.Put(spec, "serviceAccountName", alias)
	case name != alias:
		d.Put(spec, "serviceAccount", name)
	}
	d.Text(spec, "dnsPolicy", "ClusterFirst")
	d.Text(spec, "restartPolicy", "Always")
	d.Object(spec, "securityContext")
	d.Set(spec, "terminationGracePeriodSeconds", int64(30))
	d.Text(spec, "schedulerName", "default-scheduler")
	for v := range rules.ObjectsAt(spec, "volumes") {
		fillVolume(d, v)
	}
	for _, name := range ContainerLists {
		for c := range rules.ObjectsAt(spec, name) {
			fillContainer(d, c)
		}
	}
	d.DropIn(spec, "tolerations", "key", "operator", "value", "effect")
	d.DropIn(spec, "imagePullSecrets", "name")
	for s := range rules.ObjectsAt(rules.ObjectAt(spec, "securityContext"), "sysctls") {
		d.Set(s, "value", "")
	}
	nodes := rules.ObjectAt(rules.ObjectAt(spec, "affinity"), "nodeAffinity")
	for t := range rules.ObjectsAt(nodes, "preferredDuringSchedulingIgnoredDuringExecution") {
		d.Object(t, "preference")
	}
	d.Quantities(spec, "overhead")
	if r := rules.ObjectAt(spec, "resources"); r != nil {
		fillResources(d, r)
	}
}

func fillContainer(d *rules.Defaults, c map[string]any) {
	d.Drop(c, "stdin", "stdinOnce", "tty", "workingDir")
	d.Text(c, "imagePullPolicy", pullPolicy(rules.TextAt(c, "image")))
	d.Text(c, "terminationMessagePath", "/dev/termination-log")
	d.Text(c, "terminationMessagePolicy", "File")
	fillResources(d, d.Object(c, "resources"))
	for p := range rules.ObjectsAt(c, "ports") {
		d.Drop(p, "name", "hostPort", "hostIP")
		d.Text(p, "protocol", "TCP")
	}
	d.DropIn(c, "volumeMounts", "readOnly", "subPath", "subPathExpr")
	d.DropIn(c, "envFrom", "prefix")
	for e := range rules.ObjectsAt(c, "env") {
		d.Drop(e, "value")
		from := rules.ObjectAt(e, "valueFrom")
		fillFieldRef(d, from)
		if f := rules.ObjectAt(from, "fileKeyRef"); f != nil {
			d.Set(f, "optional", false)
		}
	}
	for _, name := range [...]string{"livenessProbe", "readinessProbe", "startupProbe"} {
		if p := rules.ObjectAt(c, name); p != nil {
			fillProbe(d, p)
		}
	}
	for _, name := range [...]string{"postStart", "preStop"} {
		fillHttpGet(d, rules.ObjectAt(rules.ObjectAt(c, "lifecycle"), name))
	}
}

// pullPolicy is Always for the tag latest, which is the tag of an image without
// tag and digest. A text that is not an image has no tag.
func pullPolicy(image string) string {
	if !imageName.MatchString(image) || len(image) > 255 {
		return "IfNotPresent"
	}
	ref, _, digest := strings.Cut(image, "@")
	_, tag, tagged := strings.Cut(ref[strings.LastIndexByte(ref, '/')+1:], ":")
	if tag == "latest" || !tagged && !digest && ref != "" {
		return "Always"
	}
	return "IfNotPresent"
}

// imageName is a regular expression of images, near enough.
var imageName = regexp.MustCompile(`^[a-zA-Z0-9][-a-zA-Z0-9._:/@\[\]]*$`)

// FillStatus fills in the members that the statuses of containers always have, makes podIP
// and podIPs agree, and drops what Go omits.
func FillStatus(d *rules.Defaults, status map[string]any) {
	d.Drop(status, "observedGeneration", "phase", "message", "reason", "nominatedNodeName", "hostIP", "podIP", "qosClass")
	d.DropIn(status, "conditions", "observedGeneration", "reason", "message")
	ip, first := rules.TextAt(status, "podIP"), ""
	for of := range rules.ObjectsAt(status, "podIPs") {
		first = rules.TextAt(of, "ip")
		break
	}
	switch {
	case ip != "" && ip != first:
		d.Put(status, "podIPs", []any{map[string]any{"ip": ip}})
	case first != "" && ip == "":
		d.Put(status, "podIP", first)
	}
	for _, name := range [...]string{"containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"} {
		for s := range rules.ObjectsAt(status, name) {
			d.Object(s, "state")
			d.Object(s, "lastState")
			for _, in := range [...]string{"state", "lastState"} {
				if of := rules.ObjectAt(s, in); of != nil {
					d.Drop(rules.ObjectAt(of, "waiting"), "reason", "message")
					d.Drop(rules.ObjectAt(of, "terminated"), "signal", "reason", "message", "containerID")
				}
			}
			d.Drop(s, "containerID")
			d.Set(s, "name", "")
			d.Set(s, "image", "")
			d.Set(s, "imageID", "")
			d.Set(s, "ready", false)
			d.Set(s, "restartCount", int64(0))
		}
	}
}

func fillProbe(d *rules.Defaults, p map[string]any) {
	d.Drop(p, "initialDelaySeconds")
	d.Number(p, "timeoutSeconds", 1)
	d.Number(p, "periodSeconds", 10)
	d.Number(p, "successThreshold", 1)
	d.Number(p, "failureThreshold", 3)
	fillHttpGet(d, p)
	if g := rules.ObjectAt(p, "grpc"); g != nil {
		d.Set(g, "service", "")
	}
}

func fillHttpGet(d *rules.Defaults, handler map[string]any) {
	if g := rules.ObjectAt(handler, "httpGet"); g != nil {
		d.Drop(g, "host")
		d.Text(g, "path", "/")
		d.Text(g, "scheme", "HTTP")
		for h := range rules.ObjectsAt(g, "httpHeaders") {
			d.Set(h, "value", "")
		}
	}
	d.Drop(rules.ObjectAt(handler, "tcpSocket"), "host")
}

// fillFieldRef fills in the references to fields of the pod in a source of an
// environment variable or a file.
func fillFieldRef(d *rules.Defaults, from map[string]any) {
	if f := rules.ObjectAt(from, "fieldRef"); f != nil {
		d.Text(f, "apiVersion", "v1")
	}
	if r := rules.ObjectAt(from, "resourceFieldRef"); r != nil {
		d.Set(r, "divisor", "0")
		d.Quantity(r, "divisor", rules.Nano)
	}
}

// fillVolume fills in a volume of a pod; one without a source is an emptyDir.
func fillVolume(d *rules.Defaults, v map[string]any) {
	sourced := false
	for name, source := range v {
		sourced = sourced || name != "name" && source != nil
	}
	if !sourced {
		d.Object(v, "emptyDir")
	}
	if e := rules.ObjectAt(v, "emptyDir"); e != nil {
		d.Drop(e, "medium")
		d.Quantity(e, "sizeLimit", rules.Nano)
	}
	for _, name := range [...]string{"secret", "configMap", "downwardAPI", "projected"} {
		if s := rules.ObjectAt(v, name); s != nil {
			d.Set(s, "defaultMode", int64(0o644))
		}
	}
	for f := range rules.ObjectsAt(rules.ObjectAt(v, "downwardAPI"), "items") {
		fillFieldRef(d, f)
	}
	if p := rules.ObjectAt(v, "projected"); p != nil {
		d.NullEmpty(p, "sources")
	}
	for s := range rules.ObjectsAt(rules.ObjectAt(v, "projected"), "sources") {
		for f := range rules.ObjectsAt(rules.ObjectAt(s, "downwardAPI"), "items") {
			fillFieldRef(d, f)
		}
		if t := rules.ObjectAt(s, "serviceAccountToken"); t != nil {
			d.Set(t, "expirationSeconds", int64(3600))
			d.Drop(t, "audience")
		}
	}
	if i := rules.ObjectAt(v, "image"); i != nil {
		d.Text(i, "pullPolicy", pullPolicy(rules.TextAt(i, "reference")))
	}
	if t := rules.ObjectAt(rules.ObjectAt(v, "ephemeral"), "volumeClaimTemplate"); t != nil {
		d.Object(t, "metadata")
		FillClaim(d, d.Object(t, "spec"))
	}
	FillVolumeSource(d, v)
}

// FillVolumeSource fills in the sources that pods and PersistentVolumes share.
func FillVolumeSource(d *rules.Defaults, v map[string]any) {
	if h := rules.ObjectAt(v, "hostPath"); h != nil {
		d.Set(h, "type", "")
	}
	if i := rules.ObjectAt(v, "iscsi"); i != nil {
		d.Text(i, "iscsiInterface", "default")
	}
	if r := rules.ObjectAt(v, "rbd"); r != nil {
		d.Text(r, "pool", "rbd")
		d.Text(r, "user", "admin")
		d.Text(r, "keyring", "/etc/ceph/keyring")
	}
	if a := rules.ObjectAt(v, "azureDisk"); a != nil {
		d.Set(a, "cachingMode", "ReadWrite")
		d.Set(a, "fsType", "ext4")
		d.Set(a, "readOnly", false)
		d.Set(a, "kind", "Shared")
	}
	if s := rules.ObjectAt(v, "scaleIO"); s != nil {
		d.Text(s, "storageMode", "ThinProvisioned")
		d.Text(s, "fsType", "xfs")
	}
	for name := range v {
		if s := rules.ObjectAt(v, name); s != nil && name != "azureDisk" && name != "csi" { // theirs is a pointer in Go
			d.Drop(s, "readOnly")
		}
	}
	for _, name := range [...]string{"fc", "flexVolume", "rbd", "cinder", "gcePersistentDisk", "awsElasticBlockStore", "portworxVolume", "iscsi"} {
		d.Drop(rules.ObjectAt(v, name), "fsType", "partition", "chapAuthDiscovery", "chapAuthSession")
	}
	d.Drop(rules.ObjectAt(v, "cephfs"), "path", "user", "secretFile")
	d.Drop(rules.ObjectAt(v, "quobyte"), "user", "group", "tenant")
}

func fillResources(d *rules.Defaults, r map[string]any) {
	d.Quantities(r, "limits")
	d.Quantities(r, "requests")
}

// requestsFromLimits sets a missing request to the limit.
func requestsFromLimits(d *rules.Defaults, c map[string]any) {
	r := rules.ObjectAt(c, "resources")
	for name, limit := range rules.ObjectAt(r, "limits") {
		d.Set(d.Object(r, "requests"), name, schema.Copy(limit))
	}
}

// FillClaim fills in the spec of a PersistentVolumeClaim.
func FillClaim(d *rules.Defaults, spec map[string]any) {
	d.Set(spec, "volumeMode", "Filesystem")
	fillResources(d, d.Object(spec, "resources"))
	d.Drop(spec, "volumeName")
	for _, name := range [...]string{"dataSource", "dataSourceRef"} {
		if r := rules.ObjectAt(spec, name); r != nil {
			d.Null(r, "apiGroup")
		}
	}
}
