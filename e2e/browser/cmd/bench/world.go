package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// world is a fake apiserver with many pods of 6.5 KB.
type world struct {
	api  *apitest.Server
	pods int
	n    []int // restarts of each pod
}

func newWorld(pods int) (*world, error) {
	api, err := apitest.Start(apitest.Options{NoValidation: true, Seed: 7})
	if err != nil {
		return nil, err
	}
	w := &world{api, pods, make([]int, pods)}
	for i := range pods {
		w.put(i)
	}
	return w, nil
}

func (w *world) close() { w.api.Close() }

// put writes a pod with its restarts.
func (w *world) put(i int) { w.api.Put(kube.Pods, pod(i, w.n[i])) }

func keyOf(i int) string { return fmt.Sprintf("team-%02d/%s", i%20, nameOf(i)) }

func nameOf(i int) string { return fmt.Sprintf("web-%05d", i) }

// write is a change of a pod that the page shows.
type write struct {
	key string
	n   int
	at  float64 // ms since 1970
}

type churn struct {
	changes int
	visible []write
}

// change changes random pods, rate a second until ctx ends, and of them 20 a second of
// the visible ones.
func (w *world) change(ctx context.Context, rate int, visible []string) churn {
	index := make(map[string]int, len(visible))
	for i := range w.pods {
		index[keyOf(i)] = i
	}
	rng := rand.New(rand.NewPCG(7, 7))
	var c churn
	began, next := time.Now(), 0
	for ctx.Err() == nil {
		due := int(time.Since(began).Seconds() * float64(rate))
		for ; c.changes < due && ctx.Err() == nil; c.changes++ {
			if c.changes%max(1, rate/20) != 0 {
				i := rng.IntN(w.pods)
				w.n[i]++
				w.put(i)
				continue
			}
			key := visible[next%len(visible)]
			next++
			i := index[key]
			w.n[i]++
			c.visible = append(c.visible, write{key, w.n[i], float64(time.Now().UnixMicro()) / 1000})
			w.put(i)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Millisecond):
		}
	}
	return c
}

// pod returns a pod as controllers and the kubelet write it.
func pod(i, restarts int) string {
	var env, managed strings.Builder
	for j := range 24 {
		fmt.Fprintf(&env, `%s{"name":"SETTING_%02d","value":"the value %d of pod %05d"}`, comma(j), j, j*7919%1000, i)
		fmt.Fprintf(&managed, `%s"k:{\"name\":\"SETTING_%02d\"}":{".":{},"f:name":{},"f:value":{}}`, comma(j), j)
	}
	const since = "2026-11-22T08:00:00Z"
	return fmt.Sprintf(`{"metadata":{"namespace":"team-%02d","name":%q,"labels":{"app":"web","pod-template-hash":"%x","tier":"front"},
"managedFields":[{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","time":%q,"fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{".":{},"f:app":{},"f:tier":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{"f:env":{%s}}}}}}]},
"spec":{"nodeName":"node-%03d","serviceAccountName":"default","containers":[{"name":"app","image":"registry.example.com/web:1.%d","env":[%s],
"resources":{"requests":{"cpu":"100m","memory":"128Mi"}},"ports":[{"containerPort":8080,"protocol":"TCP"}]}]},
"status":{"phase":"Running","podIP":"10.%d.%d.%d","startTime":%q,"conditions":[{"type":"Ready","status":"True","lastTransitionTime":%q},{"type":"ContainersReady","status":"True","lastTransitionTime":%q},{"type":"PodScheduled","status":"True","lastTransitionTime":%q}],
"containerStatuses":[{"name":"app","ready":true,"restartCount":%d,"image":"registry.example.com/web:1.%d","containerID":"containerd://%064x","state":{"running":{"startedAt":%q}}}]}}`,
		i%20, nameOf(i), i/10, since, managed.String(), i%400, i%9, env.String(), i>>16, i>>8&255, i&255, since, since, since, since, restarts, i%9, i, since)
}

func comma(j int) string {
	if j == 0 {
		return ""
	}
	return ","
}
