package ui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/discovery"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// podRow is the row of a Table with a pod of 6 KB, as kube-apiserver sends it.
func podRow(i, restarts int) string {
	var env, managed strings.Builder
	for j := range 24 {
		fmt.Fprintf(&env, `,{"name":"SETTING_%02d","value":"the value %d of pod %05d"}`, j, j*7919%1000, i)
		fmt.Fprintf(&managed, `,"k:{\"name\":\"SETTING_%02d\"}":{".":{},"f:name":{},"f:value":{}}`, j)
	}
	const since = "2026-11-22T08:00:00Z"
	return fmt.Sprintf(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"%[2]d"},"rows":[{"cells":["web-%05[1]d","1/1","Running","%[3]d","20h","10.0.%[4]d.%[5]d","node-%03[6]d","<none>","<none>"],"object":{"kind":"Pod","apiVersion":"v1",
"metadata":{"namespace":"team-%02[4]d","name":"web-%05[1]d","uid":"4b1dfb08-7b27-4c5d-9d7a-%012[1]d","resourceVersion":"%[2]d","creationTimestamp":%[7]q,"labels":{"app":"web","pod-template-hash":"%[6]x","tier":"front"},
"managedFields":[{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","time":%[7]q,"fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{".":{},"f:app":{},"f:tier":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{"f:env":{%[8]s}}}}}}]},
"spec":{"nodeName":"node-%03[6]d","serviceAccountName":"default","containers":[{"name":"app","image":"registry.example.com/web:1.%[4]d","env":[%[9]s],
"resources":{"requests":{"cpu":"100m","memory":"128Mi"}},"ports":[{"containerPort":8080,"protocol":"TCP"}]}]},
"status":{"phase":"Running","podIP":"10.0.%[4]d.%[5]d","startTime":%[7]q,"conditions":[{"type":"Ready","status":"True","lastTransitionTime":%[7]q},{"type":"PodScheduled","status":"True","lastTransitionTime":%[7]q}],
"containerStatuses":[{"name":"app","ready":true,"restartCount":%[3]d,"image":"registry.example.com/web:1.%[4]d","containerID":"containerd://%064[1]x","state":{"running":{"startedAt":%[7]q}}}]}}}]}`,
		i, 1000+i+restarts, restarts, i%20, i%251, i%400, since, managed.String()[1:], env.String()[1:])
}

// BenchmarkTake is the cost of one change of one of 20,000 pods, which a list shows.
func BenchmarkTake(b *testing.B) {
	c, err := client.New(client.Config{Server: "http://127.0.0.1:1"})
	if err != nil {
		b.Fatal(err)
	}
	u, err := New(Options{Client: c, Limits: Limits{History: 64 << 20}})
	if err != nil {
		b.Fatal(err)
	}
	const pods = 20_000
	k := newKind(u, discovery.Resource{Resource: kube.Pods})
	take := func(of watch.Type, i, restarts int) {
		raw, err := codec.ParseRawFull([]byte(podRow(i, restarts)))
		if err != nil {
			b.Fatal(err)
		}
		key := kube.Key{Namespace: fmt.Sprintf("team-%02d", i%20), Name: fmt.Sprintf("web-%05d", i)}
		if err := k.take(watch.Event[codec.RawFull]{Type: of, Key: key, UID: fmt.Sprint(i), Revision: "1", Object: raw}, nil); err != nil {
			b.Fatal(err)
		}
	}
	for _, name := range []string{"Name", "Ready", "Status", "Restarts", "Age", "IP", "Node", "Nominated Node", "Readiness Gates"} {
		k.columns = append(k.columns, column{Name: name, Age: name == "Age"})
	}
	for i := range pods {
		take(watch.Added, i, 0)
	}
	rows := make([]codec.RawFull, 1000)
	for n := range rows {
		rows[n], _ = codec.ParseRawFull([]byte(podRow(n%(len(rows)/2)*31%pods, 1+n)))
	}
	v := &view{kind: k}
	v.filter.by = -1
	k.views[v] = true
	v.refresh()
	for _, each := range []int{0, 50} {
		b.Run(fmt.Sprintf("refresh=%d", each), func(b *testing.B) {
			b.ReportAllocs()
			used := u.history.Used()
			for n := 0; b.Loop(); n++ {
				raw := rows[n%len(rows)]
				if err := k.take(watch.Event[codec.RawFull]{Type: watch.Modified, Object: raw}, nil); err != nil {
					b.Fatal(err)
				}
				if each > 0 && n%each == 0 {
					v.refresh()
				}
			}
			b.ReportMetric(float64(u.history.Used()-used)/float64(b.N), "history-B/op")
		})
	}
}
