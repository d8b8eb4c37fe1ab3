//go:build unix

package simulate_test

import (
	"bytes"
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/simulate"
	"github.com/listwatch/listwatch/kube"
)

// BenchmarkCrowd is the cost of a second of a cluster of 10,000 pods, in real
// time: busy is how much of it the process worked.
func BenchmarkCrowd(b *testing.B) {
	for _, churn := range []float64{0, 100} {
		b.Run(fmt.Sprintf("churn=%v", churn), func(b *testing.B) {
			srv, err := apitest.Start(apitest.Options{InMemory: true, CollectGarbage: true})
			if err != nil {
				b.Fatal(err)
			}
			defer srv.Close()
			c := simulate.New(srv, simulate.Options{Nodes: 100, Speed: 5})
			ctx, stop := context.WithCancel(b.Context())
			done := make(chan error, 1)
			go func() { done <- c.Run(ctx) }()
			defer func() { stop(); <-done }()
			srv.Put(kube.Services, `{"metadata":{"namespace":"a","name":"web"},"spec":{"selector":{"app":"web"},"ports":[{"port":80}]}}`)
			srv.Put(kube.Deployments, workload("web", "web:1", `,"replicas":10000`))
			began := time.Now()
			for ready := 0; ready < 10_000; {
				<-time.After(100 * time.Millisecond)
				ready = 0
				bodies, _ := srv.List(kube.Pods)
				for _, p := range bodies {
					if isReady(p) {
						ready++
					}
				}
			}
			b.ReportMetric(time.Since(began).Seconds(), "s-to-ready")
			c.Churn(churn)
			<-time.After(time.Second)
			for b.Loop() {
				before, at := busy(b), time.Now()
				<-time.After(time.Second)
				b.ReportMetric(100*(busy(b)-before).Seconds()/time.Since(at).Seconds(), "%busy")
			}
		})
	}
}

func isReady(pod []byte) bool { return bytes.Contains(pod, []byte(`"status":"True","type":"Ready"`)) }

// busy is the processor time of this process so far.
func busy(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
