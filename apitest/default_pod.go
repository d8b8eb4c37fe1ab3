package apitest

import (
	"strings"

	"github.com/listwatch/listwatch/apitest/schema"
)

// The defaults of pods, and of the templates of pods, which have fewer.

func (d *defaults) pod(spec map[string]any) {
	if n, ok := spec["terminationGracePeriodSeconds"].(int64); ok && n < 0 {
		d.put(spec, "terminationGracePeriodSeconds", int64(1))
	}
	d.podSpec(spec)
	d.set(spec, "enableServiceLinks", true)
	for _, name := range containerLists[:2] {
		for c := range objects(spec, name) {
			d.requestsFromLimits(c)
			if spec["hostNetwork"] == true {
				for p := range objects(c, "ports") {
					if n, ok := p["containerPort"].(int64); ok {
						d.number(p, "hostPort", n)
					}
				}
			}
		}
	}
}

// template fills in a PodTemplateSpec.
func (d *defaults) template(t map[string]any) {
	d.drop(d.object(t, "metadata"), "creationTimestamp")
	d.podSpec(d.object(t, "spec"))
}

var containerLists = [...]string{"initContainers", "containers", "ephemeralContainers"}

func (d *defaults) podSpec(spec map[string]any) {
	d.drop(spec, "hostNetwork", "hostPID", "hostIPC", "nodeName", "hostname", "subdomain", "priorityClassName", "serviceAccount", "serviceAccountName")
	switch name, alias := string1(spec, "serviceAccountName"), string1(spec, "serviceAccount"); {
	case name == "" && alias != "":
		d.put(spec, "serviceAccountName", alias)
	case name != alias:
		d.put(spec, "serviceAccount", name)
	}
	d.text(spec, "dnsPolicy", "ClusterFirst")
	d.text(spec, "restartPolicy", "Always")
	d.object(spec, "securityContext")
	d.set(spec, "terminationGracePeriodSeconds", int64(30))
	d.text(spec, "schedulerName", "default-scheduler")
	for v := range objects(spec, "volumes") {
		d.podVolume(v)
	}
	for _, name := range containerLists {
		for c := range objects(spec, name) {
			d.container(c)
		}
	}
	d.quantities(spec, "overhead")
	if r := object1(spec, "resources"); r != nil {
		d.resources(r)
	}
}

func (d *defaults) container(c map[string]any) {
	d.drop(c, "stdin", "stdinOnce", "tty", "workingDir")
	d.text(c, "imagePullPolicy", pullPolicy(string1(c, "image")))
	d.text(c, "terminationMessagePath", "/dev/termination-log")
	d.text(c, "terminationMessagePolicy", "File")
	d.resources(d.object(c, "resources"))
	for p := range objects(c, "ports") {
		d.drop(p, "name", "hostPort", "hostIP")
		d.text(p, "protocol", "TCP")
	}
	for m := range objects(c, "volumeMounts") {
		d.drop(m, "readOnly", "subPath", "subPathExpr")
	}
	for e := range objects(c, "env") {
		d.drop(e, "value")
		from := object1(e, "valueFrom")
		d.fieldRef(from)
		if f := object1(from, "fileKeyRef"); f != nil {
			d.set(f, "optional", false)
		}
	}
	for _, name := range [...]string{"livenessProbe", "readinessProbe", "startupProbe"} {
		if p := object1(c, name); p != nil {
			d.probe(p)
		}
	}
	for _, name := range [...]string{"postStart", "preStop"} {
		d.httpGet(object1(object1(c, "lifecycle"), name))
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
func (d *defaults) statusOfContainers(status map[string]any) {
	for _, name := range [...]string{"containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"} {
		for s := range objects(status, name) {
			d.object(s, "state")
			d.object(s, "lastState")
			d.set(s, "name", "")
			d.set(s, "image", "")
			d.set(s, "imageID", "")
			d.set(s, "ready", false)
			d.set(s, "restartCount", int64(0))
		}
	}
}

func (d *defaults) probe(p map[string]any) {
	d.drop(p, "initialDelaySeconds")
	d.number(p, "timeoutSeconds", 1)
	d.number(p, "periodSeconds", 10)
	d.number(p, "successThreshold", 1)
	d.number(p, "failureThreshold", 3)
	d.httpGet(p)
	if g := object1(p, "grpc"); g != nil {
		d.set(g, "service", "")
	}
}

func (d *defaults) httpGet(handler map[string]any) {
	if g := object1(handler, "httpGet"); g != nil {
		d.text(g, "path", "/")
		d.text(g, "scheme", "HTTP")
	}
}

// fieldRef fills in the references to fields of the pod in a source of an
// environment variable or a file.
func (d *defaults) fieldRef(from map[string]any) {
	if f := object1(from, "fieldRef"); f != nil {
		d.text(f, "apiVersion", "v1")
	}
	if r := object1(from, "resourceFieldRef"); r != nil {
		d.set(r, "divisor", "0")
		d.quantity(r, "divisor", nano)
	}
}

// podVolume fills in a volume of a pod; one without a source is an emptyDir.
func (d *defaults) podVolume(v map[string]any) {
	sourced := false
	for name, source := range v {
		sourced = sourced || name != "name" && source != nil
	}
	if !sourced {
		d.object(v, "emptyDir")
	}
	if e := object1(v, "emptyDir"); e != nil {
		d.quantity(e, "sizeLimit", nano)
	}
	for _, name := range [...]string{"secret", "configMap", "downwardAPI", "projected"} {
		if s := object1(v, name); s != nil {
			d.set(s, "defaultMode", int64(0o644))
		}
	}
	for f := range objects(object1(v, "downwardAPI"), "items") {
		d.fieldRef(f)
	}
	for s := range objects(object1(v, "projected"), "sources") {
		for f := range objects(object1(s, "downwardAPI"), "items") {
			d.fieldRef(f)
		}
		if t := object1(s, "serviceAccountToken"); t != nil {
			d.set(t, "expirationSeconds", int64(3600))
		}
	}
	if i := object1(v, "image"); i != nil {
		d.text(i, "pullPolicy", pullPolicy(string1(i, "reference")))
	}
	if t := object1(object1(v, "ephemeral"), "volumeClaimTemplate"); t != nil {
		d.object(t, "metadata")
		d.claim(d.object(t, "spec"))
	}
	d.volumeSource(v)
}

// volumeSource fills in the sources that pods and PersistentVolumes share.
func (d *defaults) volumeSource(v map[string]any) {
	if h := object1(v, "hostPath"); h != nil {
		d.set(h, "type", "")
	}
	if i := object1(v, "iscsi"); i != nil {
		d.text(i, "iscsiInterface", "default")
	}
	if r := object1(v, "rbd"); r != nil {
		d.text(r, "pool", "rbd")
		d.text(r, "user", "admin")
		d.text(r, "keyring", "/etc/ceph/keyring")
	}
	if a := object1(v, "azureDisk"); a != nil {
		d.set(a, "cachingMode", "ReadWrite")
		d.set(a, "fsType", "ext4")
		d.set(a, "readOnly", false)
		d.set(a, "kind", "Shared")
	}
	if s := object1(v, "scaleIO"); s != nil {
		d.text(s, "storageMode", "ThinProvisioned")
		d.text(s, "fsType", "xfs")
	}
	for _, name := range [...]string{"persistentVolumeClaim", "nfs", "iscsi"} {
		if s := object1(v, name); s != nil {
			d.drop(s, "readOnly")
		}
	}
}

func (d *defaults) resources(r map[string]any) {
	d.quantities(r, "limits")
	d.quantities(r, "requests")
}

// requestsFromLimits makes a limit the request where there is none.
func (d *defaults) requestsFromLimits(c map[string]any) {
	r := object1(c, "resources")
	for name, limit := range object1(r, "limits") {
		d.set(d.object(r, "requests"), name, schema.Copy(limit))
	}
}
