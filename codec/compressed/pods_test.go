package compressed

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strings"
)

// A cluster makes pods in the order of a list: by namespace, then by name. The
// same number makes the same pod.
type cluster struct {
	perWorkload int // pods of one deployment; default 10
	perTeam     int // deployments of one namespace; default 20
}

// pod returns the n-th pod, revision rev, without managedFields: about 4 KB, two
// containers, four conditions. What one has of its own: name, UID, IPs, node,
// times, IDs of containers. What a deployment's have in common: image,
// environment, resources, owner.
func (c cluster) pod(n, rev int) string { return c.render(n, rev, "") }

// wire is pod with managedFields, about 6 KB.
func (c cluster) wire(n, rev int) string { return c.render(n, rev, managed) }

func (c cluster) render(n, rev int, managed string) string {
	workload := n / max(c.perWorkload, 1)
	if c.perWorkload == 0 {
		workload = n / 10
	}
	team := workload / 20
	if c.perTeam > 0 {
		team = workload / c.perTeam
	}
	of := rand.New(rand.NewPCG(uint64(workload), 1)) // what the deployment decides
	my := rand.New(rand.NewPCG(uint64(n), 2))        // what is the pod's own
	now := rand.New(rand.NewPCG(uint64(n), uint64(rev)))
	hex := func(r *rand.Rand, n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte("0123456789abcdef"[r.IntN(16)])
		}
		return b.String()
	}
	uid := func(r *rand.Rand) string {
		return hex(r, 8) + "-" + hex(r, 4) + "-4" + hex(r, 3) + "-a" + hex(r, 3) + "-" + hex(r, 12)
	}
	pick := func(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }
	short := func(r *rand.Rand) string {
		b := make([]byte, 5)
		for i := range b {
			b[i] = "bcdfghjklmnpqrstvwxz2456789"[r.IntN(27)]
		}
		return string(b)
	}
	when := func(r *rand.Rand) string {
		return fmt.Sprintf("2026-%02d-%02dT%02d:%02d:%02dZ", 1+r.IntN(6), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60))
	}

	namespace := fmt.Sprintf("team-%03d-%s", team, pick(rand.New(rand.NewPCG(uint64(team), 3)), "prod", "staging", "dev"))
	app := fmt.Sprintf("%s-%s-%d", pick(of, "checkout", "search", "ledger", "catalog", "mail", "session"), pick(of, "api", "worker", "web", "cron"), workload)
	template := hex(of, 10)
	set, setUID := app+"-"+template, uid(of)
	team2 := pick(of, "payments", "growth", "core", "data")
	version := fmt.Sprintf("v1.%d.%d", of.IntN(60), of.IntN(10))
	born, ready := when(my), when(my)
	ip := fmt.Sprintf("10.%d.%d.%d", 240+my.IntN(8), my.IntN(256), my.IntN(256))
	volume := "kube-api-access-" + short(my)

	var b strings.Builder
	fmt.Fprintf(&b, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"%s-%s","generateName":"%s-","namespace":%q,"uid":%q,"resourceVersion":"%d","generation":1,"creationTimestamp":%q,`,
		set, short(my), set, namespace, uid(my), rev, born)
	fmt.Fprintf(&b, `"labels":{"app":%q,"pod-template-hash":%q,"team":%q,"version":%q},"annotations":{"prometheus.io/path":"/metrics","prometheus.io/port":"%d","prometheus.io/scrape":"true"},`,
		app, template, team2, version, 8000+of.IntN(100))
	fmt.Fprintf(&b, `"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":%q,"uid":%q,"controller":true,"blockOwnerDeletion":true}]%s},`, set, setUID, managed)
	fmt.Fprintf(&b, `"spec":{"volumes":[{"name":%q,"projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},{"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"}}]}}],"defaultMode":420}}],"containers":[`, volume)
	images := []string{"registry.example.com/" + team2 + "/" + app + ":" + version, "registry.example.com/mesh/proxy:v2.11." + fmt.Sprint(of.IntN(4))}
	for i, name := range []string{"app", "proxy"} {
		if i > 0 {
			b.WriteByte(',')
		}
		port := 8000 + of.IntN(100)
		fmt.Fprintf(&b, `{"name":%q,"image":%q,"ports":[{"name":"http","containerPort":%d,"protocol":"TCP"}],"env":[{"name":"POD_NAME","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.name"}}},{"name":"LOG_LEVEL","value":%q},{"name":"DATABASE","value":"postgres://%s@db-%d.%s.svc:5432"}],`,
			name, images[i], port, pick(of, "info", "debug", "warn"), app, of.IntN(40), namespace)
		fmt.Fprintf(&b, `"resources":{"limits":{"cpu":"%dm","memory":"%dMi"},"requests":{"cpu":"%dm","memory":"%dMi"}},"volumeMounts":[{"name":%q,"readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}],`,
			500+100*of.IntN(8), 256<<of.IntN(4), 100+50*of.IntN(4), 64<<of.IntN(4), volume)
		fmt.Fprintf(&b, `"livenessProbe":{"httpGet":{"path":"/healthz","port":%d,"scheme":"HTTP"},"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}`, port)
	}
	fmt.Fprintf(&b, `],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":%q,"serviceAccount":%q,"nodeName":"worker-%d","schedulerName":"default-scheduler","tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"},"status":{"phase":"Running","conditions":[`, app, app, my.IntN(5000))
	for i, condition := range []string{"Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		if i > 0 {
			b.WriteByte(',')
		}
		status, at := "True", ready
		if condition == "Ready" || condition == "ContainersReady" {
			status, at = pick(now, "True", "True", "False"), when(now)
		}
		fmt.Fprintf(&b, `{"type":%q,"status":%q,"lastProbeTime":null,"lastTransitionTime":%q}`, condition, status, at)
	}
	fmt.Fprintf(&b, `],"hostIP":"192.168.%d.%d","podIP":%q,"podIPs":[{"ip":%q}],"startTime":%q,"containerStatuses":[`, my.IntN(20), my.IntN(256), ip, ip, born)
	for i, name := range []string{"app", "proxy"} {
		if i > 0 {
			b.WriteByte(',')
		}
		digest := sha256.Sum256([]byte(images[i]))
		fmt.Fprintf(&b, `{"name":%q,"state":{"running":{"startedAt":%q}},"lastState":{},"ready":true,"restartCount":%d,"image":%q,"imageID":"%s@sha256:%x","containerID":"containerd://%s","started":true}`,
			name, ready, now.IntN(3), images[i], images[i], digest, hex(my, 64))
	}
	b.WriteString(`],"qosClass":"Burstable"}}`)
	return b.String()
}

// managed is what two managers own of a pod.
var managed = `,"managedFields":[{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","time":"2026-03-01T10:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{".":{},"f:prometheus.io/path":{},"f:prometheus.io/port":{},"f:prometheus.io/scrape":{}},"f:generateName":{},"f:labels":{".":{},"f:app":{},"f:pod-template-hash":{},"f:team":{},"f:version":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"5d7dbd2e-58a8-4d4b-8d53-6a9b4d0a1c77\"}":{}}},"f:spec":{"f:containers":{` +
	managedContainer("app") + "," + managedContainer("proxy") + `},"f:dnsPolicy":{},"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{}}}},{"manager":"kubelet","operation":"Update","apiVersion":"v1","time":"2026-03-01T10:00:07Z","fieldsType":"FieldsV1","fieldsV1":{"f:status":{"f:conditions":{"k:{\"type\":\"ContainersReady\"}":{".":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Ready\"}":{".":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}},"f:containerStatuses":{},"f:hostIP":{},"f:phase":{},"f:podIP":{},"f:startTime":{}}},"subresource":"status"}]`

func managedContainer(name string) string {
	return `"k:{\"name\":\"` + name + `\"}":{".":{},"f:env":{".":{},"k:{\"name\":\"LOG_LEVEL\"}":{".":{},"f:name":{},"f:value":{}},"k:{\"name\":\"POD_NAME\"}":{".":{},"f:name":{},"f:valueFrom":{".":{},"f:fieldRef":{}}}},"f:image":{},"f:imagePullPolicy":{},"f:livenessProbe":{".":{},"f:failureThreshold":{},"f:httpGet":{".":{},"f:path":{},"f:port":{},"f:scheme":{}},"f:periodSeconds":{}},"f:name":{},"f:resources":{".":{},"f:limits":{".":{},"f:cpu":{}},"f:requests":{".":{},"f:cpu":{}}}}`
}
