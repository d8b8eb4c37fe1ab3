package codec

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/kube"
)

// podJSON is a pod as kube-apiserver sends it: about 6 KB, two managedFields
// entries, two containers, four conditions.
func podJSON(i int) []byte {
	name := fmt.Sprintf("web-7d9c6f5b8d-%05d", i)
	var b strings.Builder
	fmt.Fprintf(&b, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"generateName":"web-7d9c6f5b8d-","namespace":"prod","uid":"0f6c1e1c-8a57-4d55-9b0e-%012d","resourceVersion":"%d","generation":1,"creationTimestamp":"2026-03-01T10:00:00Z","labels":{"app":"web","pod-template-hash":"7d9c6f5b8d","team":"checkout","version":"v1.42.0"},"annotations":{"kubectl.kubernetes.io/restartedAt":"2026-03-01T09:59:58Z","prometheus.io/scrape":"true","prometheus.io/path":"/metrics"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-7d9c6f5b8d","uid":"5d7dbd2e-58a8-4d4b-8d53-6a9b4d0a1c77","controller":true,"blockOwnerDeletion":true}],`, name, i, 1000000+i)
	b.WriteString(`"managedFields":[{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","time":"2026-03-01T10:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/restartedAt":{},"f:prometheus.io/scrape":{}},"f:generateName":{},"f:labels":{".":{},"f:app":{},"f:pod-template-hash":{},"f:team":{},"f:version":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"5d7dbd2e-58a8-4d4b-8d53-6a9b4d0a1c77\"}":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{".":{},"f:env":{".":{},"k:{\"name\":\"POD_NAME\"}":{".":{},"f:name":{},"f:valueFrom":{".":{},"f:fieldRef":{}}}},"f:image":{},"f:imagePullPolicy":{},"f:livenessProbe":{".":{},"f:failureThreshold":{},"f:httpGet":{".":{},"f:path":{},"f:port":{},"f:scheme":{}},"f:periodSeconds":{},"f:successThreshold":{},"f:timeoutSeconds":{}},"f:name":{},"f:ports":{".":{},"k:{\"containerPort\":8080,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:name":{},"f:protocol":{}}},"f:resources":{".":{},"f:limits":{".":{},"f:cpu":{},"f:memory":{}},"f:requests":{".":{},"f:cpu":{},"f:memory":{}}},"f:terminationMessagePath":{},"f:terminationMessagePolicy":{}}},"f:dnsPolicy":{},"f:restartPolicy":{},"f:schedulerName":{}}}},{"manager":"kubelet","operation":"Update","apiVersion":"v1","time":"2026-03-01T10:00:07Z","fieldsType":"FieldsV1","fieldsV1":{"f:status":{"f:conditions":{"k:{\"type\":\"ContainersReady\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Initialized\"}":{".":{},"f:lastProbeTime":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Ready\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}},"f:containerStatuses":{},"f:hostIP":{},"f:phase":{},"f:podIP":{},"f:podIPs":{".":{},"k:{\"ip\":\"10.244.1.17\"}":{".":{},"f:ip":{}}},"f:startTime":{}}},"subresource":"status"}]},`)
	b.WriteString(`"spec":{"volumes":[{"name":"kube-api-access-x7k2p","projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},{"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"}}]}}],"defaultMode":420}}],"containers":[`)
	for c, container := range []string{"app", "proxy"} {
		if c > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":%q,"image":"registry.example.com/checkout/%s:v1.42.0","ports":[{"name":"http","containerPort":8080,"protocol":"TCP"}],"env":[{"name":"POD_NAME","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.name"}}},{"name":"LOG_LEVEL","value":"info"}],"resources":{"limits":{"cpu":"500m","memory":"512Mi"},"requests":{"cpu":"100m","memory":"128Mi"}},"volumeMounts":[{"name":"kube-api-access-x7k2p","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}],"livenessProbe":{"httpGet":{"path":"/healthz","port":8080,"scheme":"HTTP"},"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}`, container, container)
	}
	b.WriteString(`],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"default","serviceAccount":"default","nodeName":"worker-3","securityContext":{},"schedulerName":"default-scheduler","tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"},"status":{"phase":"Running","conditions":[`)
	for c, condition := range []string{"Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		if c > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"type":%q,"status":"True","lastProbeTime":null,"lastTransitionTime":"2026-03-01T10:00:07Z"}`, condition)
	}
	b.WriteString(`],"hostIP":"192.168.1.23","podIP":"10.244.1.17","podIPs":[{"ip":"10.244.1.17"}],"startTime":"2026-03-01T10:00:00Z","containerStatuses":[`)
	for c, container := range []string{"app", "proxy"} {
		if c > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":%q,"state":{"running":{"startedAt":"2026-03-01T10:00:05Z"}},"lastState":{},"ready":true,"restartCount":0,"image":"registry.example.com/checkout/%s:v1.42.0","imageID":"registry.example.com/checkout/%s@sha256:4f3c1e0a9b7d5c3f1e0a9b7d5c3f1e0a9b7d5c3f1e0a9b7d5c3f1e0a9b7d5c3f","containerID":"containerd://9b7d5c3f1e0a9b7d5c3f1e0a9b7d5c3f1e0a9b7d5c3f1e0a9b7d5c3f1e0a9b7d","started":true}`, container, container, container)
	}
	b.WriteString(`],"qosClass":"Burstable"}}`)
	return []byte(b.String())
}

// partialJSON is the metadata of podJSON, as kube-apiserver sends it alone.
func partialJSON(i int) []byte {
	pod := podJSON(i)
	pod = pod[:bytes.Index(pod, []byte(`,"spec":{`))]
	return append(bytes.Replace(pod, []byte(`{"kind":"Pod","apiVersion":"v1"`), []byte(`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1"`), 1), '}')
}

// pod8 is a projection of eight fields.
type pod8 struct {
	Metadata struct {
		Namespace       string            `json:"namespace"`
		Name            string            `json:"name"`
		UID             string            `json:"uid"`
		ResourceVersion string            `json:"resourceVersion"`
		Labels          map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		NodeName string `json:"nodeName"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase"`
		PodIP string `json:"podIP"`
	} `json:"status"`
}

// repeat reads the same bytes n times.
type repeat struct {
	b    []byte
	n, i int
}

func (r *repeat) Read(p []byte) (int, error) {
	total := 0
	for total < len(p) && r.n > 0 {
		n := copy(p[total:], r.b[r.i:])
		total += n
		if r.i += n; r.i == len(r.b) {
			r.n--
			r.i = 0
		}
	}
	if total == 0 {
		return 0, io.EOF
	}
	return total, nil
}

func BenchmarkScan(b *testing.B) {
	pod := podJSON(1)
	b.SetBytes(int64(len(pod)))
	b.ReportAllocs()
	for b.Loop() {
		var s scanner
		if n, done, _ := s.scan(pod); !done || n != len(pod) {
			b.Fatal("end not found")
		}
	}
}

func BenchmarkFrames(b *testing.B) {
	frame := fmt.Appendf(nil, "{\"type\":\"MODIFIED\",\"object\":%s}\n", podJSON(1))
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	stream := &repeat{b: frame, n: 1 << 62}
	for _, err := range Frames(stream, 0, size) {
		if err != nil {
			b.Fatal(err)
		}
		if !b.Loop() {
			break
		}
	}
}

// BenchmarkEvents makes a Raw of every frame: all that this package does for an
// event.
func BenchmarkEvents(b *testing.B) {
	frame := fmt.Appendf(nil, "{\"type\":\"MODIFIED\",\"object\":%s}\n", podJSON(1))
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	stream := &repeat{b: frame, n: 1 << 62}
	for _, err := range Frames(stream, 0, func(f Frame) (Raw, error) { return ParseRaw(f.Object) }) {
		if err != nil {
			b.Fatal(err)
		}
		if !b.Loop() {
			break
		}
	}
}

func BenchmarkSkim(b *testing.B) {
	pod := podJSON(1)
	b.SetBytes(int64(len(pod)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Skim(pod); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseRaw(b *testing.B) {
	pod := podJSON(1)
	b.SetBytes(int64(len(pod)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseRaw(pod); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeStruct8(b *testing.B) {
	pod := podJSON(1)
	decode := DecoderOf[*pod8]()
	b.SetBytes(int64(len(pod)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decode(pod); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodePartial(b *testing.B) {
	object := partialJSON(1)
	decode := DecoderOf[kube.Partial]()
	b.SetBytes(int64(len(object)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decode(object); err != nil {
			b.Fatal(err)
		}
	}
}

// A listReader is a LIST body of n pods that is never in memory as a whole.
type listReader struct {
	n, i int
	rest []byte
}

func (l *listReader) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		switch {
		case l.i == 0:
			l.rest = []byte(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1060000"},"items":[`)
		case l.i <= l.n:
			pod := bytes.TrimPrefix(podJSON(l.i), []byte(`{"kind":"Pod","apiVersion":"v1",`))
			l.rest = append([]byte("{"), pod...)
			if l.i < l.n {
				l.rest = append(l.rest, ',')
			}
		case l.i == l.n+1:
			l.rest = []byte("]}\n")
		default:
			return 0, io.EOF
		}
		l.i++
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

func BenchmarkItems(b *testing.B) {
	const n = 1000
	body, err := io.ReadAll(&listReader{n: n})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		_, seq := Items(bytes.NewReader(body), 0)
		for _, err := range seq {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkItemsPeak keeps a list of 50,000 pods as Raw and reports the memory
// at its highest as a multiple of what is kept: live is what a collection at
// that moment leaves, heap what the collector has let grow. With GOGC=100 heap
// may approach 2; GOMEMLIMIT or debug.SetGCPercent are the program's choice.
func BenchmarkItemsPeak(b *testing.B) {
	const n = 50000
	for b.Loop() {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		base := m.HeapAlloc
		var live, heap, kept uint64

		all := make([]Raw, 0, n)
		_, seq := Items(&listReader{n: n}, 0)
		for item, err := range seq {
			if err != nil {
				b.Fatal(err)
			}
			raw, err := ParseRaw(item)
			if err != nil {
				b.Fatal(err)
			}
			all = append(all, raw)
			kept += uint64(raw.MemorySize())
			if len(all)%500 == 0 {
				runtime.ReadMemStats(&m)
				heap = max(heap, m.HeapAlloc-base)
			}
			if len(all)%10000 == 0 {
				runtime.GC()
				runtime.ReadMemStats(&m)
				live = max(live, m.HeapAlloc-base)
			}
		}
		if len(all) != n {
			b.Fatalf("%d items", len(all))
		}
		b.ReportMetric(float64(live)/float64(kept), "live/kept")
		b.ReportMetric(float64(heap)/float64(kept), "heap/kept")
		b.ReportMetric(float64(kept)/n, "kept-B/object")
		runtime.KeepAlive(all)
	}
}
